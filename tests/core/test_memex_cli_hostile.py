"""Arguments that fit nothing, names that a shell would run, and readers that leave early."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from memex_program import memex_cli, memex_program

from memex_core.cli.arguments import completions, refusing_arguments
from memex_core.errors import WrongValue
from memex_core.memex import Memex
from memex_core.model.node import WriteInput

NOT_UTF8 = os.fsdecode(b"\xff")
HOSTILE = [
    "aa$(touch PWNED)x",
    "aa;touch PWNED",
    "aa`touch PWNED`",
    "aa b",
    "aa*",
    "aa\nplain,evil",
    "aa,c:d",
]


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "Our build server."))
    return memex


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall", "--project", f"/none/{NOT_UTF8}", "x"],
        ["recall", "--tag", NOT_UTF8, "x"],
        ["journal", "--limit", "9" * 22],
        ["consolidate", "--max-episodes", "9" * 22],
        ["watch", "--poll-interval", "nan"],
        ["watch", "--poll-interval", "inf"],
        ["watch", "--poll-interval", "1e-9"],
        ["watch", "--poll-interval", "86401"],
        ["info", "--data-dir", "~nobody/x"],
        ["--data-dir", "~nobody", "info"],
    ],
    ids=ascii,
)
def test_an_argument_that_fits_nothing_gets_one_line_and_exit_2(memex: Memex, arguments: list[str]) -> None:
    done = memex_program(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("memex: ") and len(done.stderr.splitlines()) == 1


def test_a_poll_interval_that_is_none_is_told_the_range() -> None:
    assert "0.1 to 86400 seconds, or 0" in memex_cli("watch", "--poll-interval", "-1").stderr


def test_a_memory_root_in_the_home_of_someone_else_makes_no_folder(tmp_path: Path) -> None:
    done = memex_program("info", "--data-dir", "~/mine", env={"HOME": str(tmp_path)})
    assert done.json["memory_root"] == str(tmp_path / "mine")
    command = [sys.executable, "-m", "memex_core.cli", "write", "entity", "a", "b"]
    env = {**os.environ, "MEMEX_DATA_DIR": "~nobody/x"}
    refused = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "~nobody").exists()


def test_only_what_was_called_a_wrong_value_is_a_wrong_argument() -> None:
    with pytest.raises(click.UsageError, match="no date"), refusing_arguments():
        raise WrongValue("no date")
    with pytest.raises(ValueError, match="invalid literal"), refusing_arguments():
        int("x")
    with pytest.raises(ValueError, match="broken inside"), refusing_arguments():
        raise ValueError("broken inside")


def test_a_fault_of_ours_is_no_wrong_argument(memex: Memex, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: object, **__: object) -> None:
        raise ValueError("a fault inside")

    monkeypatch.setattr("memex_core.open_memory.OpenMemory.recall", faulty)
    assert memex_cli("recall", "x").returncode == 3


def test_no_completion_is_more_than_letters_digits_and_plain_signs() -> None:
    names = [
        *HOSTILE,
        "aa-漢字.v2_x",
        "aa\x1b]0;t\x07",
        "-aa",
        "--help",
        ".aa",
        "aa",
        "aa'b",
        "ab",
        "aa\u200b",
    ]
    assert [item.value for item in completions(names, "aa")] == ["aa-漢字.v2_x", "aa"]
    assert [item.value for item in completions(names, "-")] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full here")
@pytest.mark.parametrize("words", ["show zephyr", "grep .", "graph", "journal", "item list", "diary"])
def test_output_that_cannot_be_written_is_called_so(memex: Memex, words: str) -> None:
    command = f"{sys.executable} -m memex_core.cli {words} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "memex: standard output: No space left on device\n")


@pytest.mark.parametrize("command", [["graph"], ["export"]], ids=str)
def test_an_output_file_that_cannot_be_written_is_named_by_its_folder(
    memex: Memex, command: list[str]
) -> None:
    done = memex_cli(*command, "--output", "/proc/memex-is-not-here")
    assert (done.returncode, done.stderr) == (1, "memex: /proc: No such file or directory\n")
    empty = memex_cli(*command, "--output", "")
    assert empty.returncode == 2 and "--output" in empty.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_of_hostile_files_are_offered_to_no_shell(root: Path, shell: str) -> None:
    for folder in ("docs/entities", "wiki", "transcripts"):
        (root / folder).mkdir(parents=True)
        for name in [*HOSTILE, "aa-fine"]:
            suffix = ".meta.json" if folder == "transcripts" else ".md"
            (root / folder / f"{name}{suffix}").write_text("x", "utf-8")
    for words in ("show aa", "item list aa", "sessions delete aa", "journal --page aa"):
        cword = "aa" if shell == "fish" else str(len(words.split()))
        env = {"_MEMEX_COMPLETE": f"{shell}_complete", "COMP_WORDS": f"memex {words}", "COMP_CWORD": cword}
        offered = memex_program(env=env).stdout
        assert "aa-fine" in offered and "PWNED" not in offered and "evil" not in offered, words
        assert offered.count("aa") == 1, words


FAILING = {
    "consolidate": ["consolidate", "--text"],
    "consolidate as JSON": ["consolidate", "--json"],
    "import": ["import", "--input", "nodes.json"],
    "backup --verify": ["backup", "--verify", "nodes.json", "--text"],
}


@pytest.mark.parametrize("arguments", FAILING.values(), ids=FAILING.keys())
def test_a_reader_that_leaves_early_hides_no_failure(memex: Memex, arguments: list[str]) -> None:
    folder = memex.root.parent
    (folder / "nodes.json").write_text('[{"type": "spell"}]', "utf-8")
    command = '[llm]\nprovider = "command"\ncommand = ["false"]\n'
    (memex.root / "memex.toml").write_text(command, "utf-8")
    memex.write(WriteInput("episode", "A session", "> We release on Zephyr.", session_id="s-1"))
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-m", "memex_core.cli", *arguments]
    done = subprocess.run(program, cwd=folder, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 1, done.stderr
    assert "BrokenPipe" not in done.stderr and "Traceback" not in done.stderr


SECRET = "hunter2xyzzyQ9a"


@pytest.mark.parametrize(
    "settings",
    [
        f'command = ["model", "--token", "{SECRET}", "--fast"]',
        f'command = ["model", "--api-key={SECRET}", "--fast"]',
        f'command = ["env", "MODEL_TOKEN={SECRET}", "model", "--fast"]',
        f'command = "model --auth-token {SECRET} --fast"',
        f'command = ["sh", "-c", "model --password {SECRET}", "--fast"]',
        f'api_base = "https://me:{SECRET}@models.example/--fast"',
        f'api_key = "{SECRET}"\nmodel = "--fast"',
    ],
)
def test_info_shows_no_secret_of_the_configuration(memex: Memex, settings: str) -> None:
    (memex.root / "memex.toml").write_text(f"[llm]\n{settings}\n", "utf-8")
    for form in ("--json", "--text"):
        shown = memex_cli("info", form)
        assert shown.returncode == 0
        assert SECRET not in shown.stdout and "--fast" in shown.stdout
