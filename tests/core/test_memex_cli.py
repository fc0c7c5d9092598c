"""The command line `memex` as a whole (issue 2 item 8 and Bad input; issue 3 item 2): help, exit codes, one
line for every failure, and streams of every kind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memex_program import memex_cli, memex_program, on_a_terminal

from memex_core.cli.commands import PLACES
from memex_core.cli.commands import memex as group
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.open_memory import OpenMemory

PROGRAM = f"{sys.executable} -m memex_core.cli"


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(
        WriteInput("preference", "User preference: ruff", "I prefer ruff. Zwölf Boxkämpfer, 漢字, 🦆.")
    )
    memex.write(WriteInput("entity", "Entity: Zephyr", "Zephyr is our build server."))
    return memex


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, check=False, env={**os.environ, **environment}
    )


def every_command() -> list[tuple[str, ...]]:
    return [
        *((name,) for name in PLACES),
        ("sessions", "list"),
        ("sessions", "delete"),
        ("sessions", "prune"),
        *(("item", name) for name in ("add", "get", "remove", "list")),
        ("diary", "add"),
    ]


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_command_explains_itself_with_examples(command: tuple[str, ...]) -> None:
    done = memex_cli(*command, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: memex {' '.join(command)}" in done.stdout
    assert f"  memex {' '.join(command)}" in done.stdout.partition("Examples:")[2]
    assert "--data-dir" in done.stdout or command == ("completion",)
    assert done.stdout == memex_cli(*command, "--help").stdout


def test_the_help_of_memex_fits_a_screen_and_groups_its_commands() -> None:
    lines = memex_cli("--help").stdout.splitlines()
    assert len(lines) <= 44 and max(map(len, lines)) <= 80
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options:", "Find:", "Write:", "Sessions:", "Keep:", "Serve:"]
    assert "Exit status:" in " ".join(lines)
    assert memex_cli().stdout.splitlines() == lines


def test_every_command_is_where_the_table_says_and_named_so() -> None:
    with click.Context(group) as context:
        for name in PLACES:
            command = group.get_command(context, name)
            assert command is not None and command.name == name
            assert not command.get_short_help_str(90).endswith("..."), name


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a process has loaded when it ends."""
    code = f"""if True:
        import atexit, json, sys
        from memex_core.cli import main
        atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
        sys.argv[1:] = {list(arguments)!r}
        main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return set(json.loads(done.stderr.splitlines()[-1]))


HEAVY = {"mcp", "watchdog", "tarfile", "asyncio", "http.client", "urllib.request", "openai", "anthropic"}


@pytest.mark.parametrize("arguments", [["--help"], ["nonsense"], ["--version"], ["recall", "--top-k", "x"]])
def test_help_and_wrong_arguments_do_not_load_the_memory(arguments: list[str]) -> None:
    assert not loaded_by(*arguments) & {*HEAVY, "sqlite3", "yaml", "memex_core.memex"}


def test_recall_loads_nothing_that_only_other_commands_need(memex: Memex) -> None:
    loaded = loaded_by("recall", "ruff")
    assert "memex_core.cli.recall" in loaded and not loaded & HEAVY
    assert not loaded & {"memex_core.memex", "memex_core.remember", "memex_core.memory.extractor"}
    assert not loaded & {f"memex_core.cli.{name}" for name in ("write", "pages", "backup", "serve", "links")}


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall", "x", "--top-k", "0"],
        ["recall", "x", "--top-k", "many"],
        ["recall", "x", "--type", "nonsense"],
        ["recall", "x", "--since", "someday"],
        ["nonsense"],
        ["show"],
        ["sessions", "prune"],
        ["sessions", "prune", "--older-than", "soon"],
        ["info", "--nonsense"],
        ["journal", "--limit", "-1"],
        ["journal", "--since", "2026-13-40"],
        ["journal", "--action", "burn"],
        ["item", "add", "Not a file", "name", "text"],
        ["item", "add", "file", "a:b", "text"],
        ["item", "add", "file", "name", "## text"],
        ["item", "add", "file", "name", "text", "--body-file", "-"],
        ["item", "remove", "Not a file", "name", "--yes"],
        ["diary", "2026-02-30"],
        ["diary", "some", "day"],
        ["diary", "some", "day..today"],
        ["diary", "add", "text", "--time", "24:00"],
        ["diary", "add", "text", "--date", "last", "week"],
        ["diary", "add", "text", "--date", "2026-02-30"],
        ["diary", "add", "text", "--ts", "noon"],
        ["grep"],
        ["grep", "("],
        ["grep", "x", "--type", "nonsense"],
        ["graph", "--format", "png"],
        ["graph", "--output", "/dev/null"],
        ["consolidate", "--max-episodes", "0"],
        ["consolidate", "--mode", "full", "--dry-run"],
        ["ingest-transcript", "--session-id", "x"],
        ["backup"],
        ["backup", "--output", "a", "--verify", "b"],
        ["backup", "--output", "/dev/null"],
        ["export", "--output", "/dev/null"],
        ["restore"],
        ["import", "--input", "x", "--on-conflict", "fight"],
        ["watch", "--poll-interval", "-1"],
        ["completion", "tcsh"],
        ["--data-dir", __file__, "list"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_get_one_line_and_exit_2(root: Path, arguments: list[str]) -> None:
    done = memex_cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("memex: ") and len(done.stderr.splitlines()) == 1


def test_a_mistyped_command_or_option_gets_the_nearest_right_one() -> None:
    assert "did you mean recall?" in memex_cli("recal", "x").stderr
    assert "memex --help lists them" in memex_cli("frobnicate").stderr
    assert "--warnings" in memex_cli("list", "--warning").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "nope"],
        ["provenance", "nope"],
        ["links", "nope"],
        ["sessions", "delete", "nope", "--yes"],
        ["show", "../../etc/passwd"],
        ["forget", "../../etc/passwd", "--yes"],
        ["item", "get", "pets", "nope"],
        ["item", "get", "../docs/entities/entity-zephyr", "x"],
        ["item", "remove", "pets", "nope", "--yes"],
    ],
    ids=" ".join,
)
def test_what_is_not_there_gets_one_line_and_exit_1(memex: Memex, arguments: list[str]) -> None:
    done = memex_cli(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and "no " in done.stderr


def test_a_broken_configuration_is_named_with_its_line(memex: Memex) -> None:
    (memex.root / "memex.toml").write_text("[bm25]\nk1 = \n", "utf-8")
    done = memex_cli("recall", "ruff")
    assert done.returncode == 1 and "memex.toml" in done.stderr and "line 2" in done.stderr


def test_a_value_of_the_wrong_kind_is_named(memex: Memex) -> None:
    (memex.root / "memex.toml").write_text('[bm25]\ndefault_top_k = "ten"\n', "utf-8")
    done = memex_cli("recall", "ruff")
    assert done.returncode == 1 and "[bm25] default_top_k must be" in done.stderr


def test_data_dir_is_taken_before_and_behind_the_command(memex: Memex, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    assert memex_cli("--data-dir", other, "info").json["memory_root"] == other
    assert memex_cli("info", "--data-dir", other).json["memory_root"] == other


def test_what_is_unexpected_is_logged_where_data_dir_says(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: OpenMemory) -> None:
        raise ZeroDivisionError("as it happens")

    monkeypatch.setattr(OpenMemory, "info", fails)
    other = tmp_path / "other"
    done = memex_cli("info", "--data-dir", str(other))
    assert done.returncode == 3 and "unexpected ZeroDivisionError: as it happens" in done.stderr
    assert str(other / "logs") in done.stderr
    assert "ZeroDivisionError" in (other / "logs" / "memex.log").read_text("utf-8")
    assert not root.exists()


def test_an_interrupted_command_ends_with_130(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    command = [sys.executable, "-m", "memex_core.cli", "import", "--input", str(tmp_path / "never")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
    assert (process.returncode, said.strip()) == (130, "memex: interrupted")


def test_a_reader_that_leaves_early_is_no_failure(memex: Memex) -> None:
    for number in range(300):
        path = memex.root / "docs" / "entities" / f"page-{number}.md"
        path.write_text(f"# Page {number}\n" + "words " * 100, "utf-8")
    for command in ("list --json", "list --text", "export"):
        done = shell(f"{PROGRAM} {command} | head -c 1 > /dev/null; exit ${{PIPESTATUS[0]}}")
        assert (done.returncode, done.stderr) == (0, b""), command


@pytest.mark.parametrize("command", ["list", "recall ruff", "recall nothing --text", "show nope", "--help"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_closed_stream_crashes_nothing(memex: Memex, command: str, closed: str) -> None:
    before = sorted(path.name for path in memex.root.iterdir())
    done = shell(f"{PROGRAM} {command} {closed}")
    assert done.returncode == (1 if "nope" in command else 0), done.stderr
    assert b"Traceback" not in done.stderr
    assert [name for name in before if not (memex.root / name).exists()] == []
    assert Memex(memex.root).index_problems() == []


def test_a_full_disk_behind_standard_output_is_told(memex: Memex) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this machine has no /dev/full")
    for command in ("list", "recall ruff --text", "export", "--help"):
        done = shell(f"{PROGRAM} {command} > /dev/full")
        assert done.returncode == 1, command
        assert len(done.stderr.splitlines()) == 1 and b"No space left on device" in done.stderr, command


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16", "shift_jis"])
def test_no_encoding_of_the_terminal_crashes_the_output(memex: Memex, encoding: str) -> None:
    for arguments in (
        ["recall", "Boxkämpfer"],
        ["list"],
        ["show", "user-preference-ruff"],
        ["show", "naïve 漢"],
    ):
        done = memex_program(*arguments, "--text", env={"PYTHONIOENCODING": encoding})
        assert "Traceback" not in done.stderr
        assert done.returncode == (1 if "naïve 漢" in arguments else 0), done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_stays_json_and_whole_in_every_encoding(memex: Memex, encoding: str) -> None:
    done = shell(f"{PROGRAM} show user-preference-ruff", PYTHONIOENCODING=encoding)
    assert json.loads(done.stdout.decode(encoding))["body"].strip().endswith("Zwölf Boxkämpfer, 漢字, 🦆.")


def test_an_argument_that_is_not_utf_8_crashes_nothing(memex: Memex) -> None:
    for command in (b"recall caf\xe9", b"show caf\xe9", b"journal --page caf\xe9", b"links caf\xe9"):
        done = shell(f"{PROGRAM} ".encode().decode() + command.decode("utf-8", "surrogateescape"))
        assert done.returncode in (0, 1) and b"Traceback" not in done.stderr, command
    written = shell(f"{PROGRAM} write --type entity --title t --body caf".__add__("\udce9"))
    assert written.returncode == 0, written.stderr


def test_a_terminal_without_colours_gets_none(memex: Memex) -> None:
    assert "\x1b[" in on_a_terminal("recall", "ruff").stdout
    assert "\x1b[" not in memex_cli("recall", "ruff", "--text").stdout
    assert "\x1b[" not in on_a_terminal("recall", "ruff", env={"NO_COLOR": "1"}).stdout


def test_help_is_readable_on_the_narrowest_terminal() -> None:
    for columns in ("1", "20", "400"):
        for command in ([], ["write"], ["sessions", "prune"]):
            done = memex_program(*command, "--help", env={"COLUMNS": columns})
            assert (done.returncode == 0 and "Examples:" in done.stdout) or not command


@given(words=st.lists(st.text(st.characters(exclude_characters="\0"), max_size=40), max_size=3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_recalled_shown_or_searched_for_is_no_surprise(memex: Memex, words: list[str]) -> None:
    assert memex_cli("recall", "--", *words).returncode == 0
    for command in (["show"], ["links"], ["provenance"], ["forget", "--yes"]):
        done = memex_cli(*command, "--", "".join(words))
        assert done.returncode in (0, 1, 2) and len(done.stderr.splitlines()) <= 1
