"""The command line `memex` (issue 2 item 8 and Bad input): output, exit codes, one line for every failure."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memex_core.memex import Memex
from memex_core.model.node import WriteInput


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(
        WriteInput(
            "preference", "User preference: ruff", "I prefer ruff. See POL-358, don't use foo.bar in c++."
        )
    )
    memex.write(WriteInput("entity", "Entity: Zephyr", "Zephyr is our build server."))
    return memex


def run(
    *arguments: str, program: str = "memex_core.cli", stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, input=stdin)


def on_a_terminal(*arguments: str) -> str:
    """What a person sees: standard output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "memex_core.cli", *arguments], stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        process.wait()
    os.close(ours)
    return shown.decode()


@pytest.mark.parametrize(
    "query", ["POL-358", "don't", "c++", "foo.bar", "ruff AND", 'ruff "', "ruff NEAR(", "(ruff*"]
)
def test_recall_answers_whatever_people_type(memex: Memex, query: str) -> None:
    done = run("recall", query)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hits"][0]["slug"] == "user-preference-ruff"


@pytest.mark.parametrize("query", ["", "   ", "?!", "\u0000".replace("\0", "\\0"), "word " * 10_000])
def test_recall_of_nothing_or_far_too_much_is_no_failure(memex: Memex, query: str) -> None:
    done = run("recall", query)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["query"] == query


def test_recall_as_json_is_the_recall_result_of_the_specification(memex: Memex) -> None:
    result = json.loads(run("recall", "ruff").stdout)
    assert {"query", "hits", "total_indexed", "search_engine", "search_time_ms"} <= set(result)
    wanted = {
        "slug",
        "file_path",
        "title",
        "node_type",
        "importance",
        "score",
        "rank",
        "snippet",
        "snippet_source",
    }
    wanted |= {"tags", "created", "updated", "last_access", "transcript_ref", "links"}
    assert wanted <= set(result["hits"][0])
    assert (result["total_indexed"], result["search_engine"]) == (2, "bm25")


def test_recall_on_a_terminal_is_text_for_a_person(memex: Memex) -> None:
    shown = on_a_terminal("recall", "ruff")
    assert "User preference: ruff" in shown and "{" not in shown
    assert "nothing found" in on_a_terminal("recall", "zzzz")


def test_recall_in_the_context_format_is_the_block_of_the_specification(memex: Memex) -> None:
    lines = run("recall", "ruff", "--format", "context").stdout.splitlines()
    assert lines[:3] == ["=== memex MEMORY ===", '[Search: "ruff"]', "---"]
    assert lines[3].startswith("1. User preference: ruff (preference) | importance: 0.5 | updated: ")
    assert lines[4].startswith("   File: ") and lines[-1] == "=== END memex MEMORY ==="


def test_show_prints_the_page_by_slug_or_by_title(memex: Memex) -> None:
    assert json.loads(run("show", "user-preference-ruff").stdout)["title"] == "User preference: ruff"
    assert json.loads(run("show", "entity: zephyr").stdout)["slug"] == "entity-zephyr"
    assert on_a_terminal("show", "entity-zephyr").startswith("---")


def test_list_names_every_page_and_can_be_narrowed(memex: Memex) -> None:
    assert {page["slug"] for page in json.loads(run("list").stdout)} == {
        "user-preference-ruff",
        "entity-zephyr",
    }
    assert [page["slug"] for page in json.loads(run("list", "--type", "entity").stdout)] == ["entity-zephyr"]


def test_info_says_where_memory_is_and_how_the_index_runs(memex: Memex) -> None:
    facts = json.loads(run("info").stdout)
    assert facts["memory_root"] == str(memex.root) and facts["pages_indexed"] == 2
    assert facts["journal_mode"] and facts["journal_mode_reason"]


def test_rebuild_index_counts_the_files(memex: Memex) -> None:
    assert json.loads(run("rebuild-index", "--force").stdout)["nodes_indexed"] == 2


def test_data_dir_is_taken_before_and_behind_the_command(memex: Memex, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    assert json.loads(run("--data-dir", other, "info").stdout)["memory_root"] == other
    assert json.loads(run("info", "--data-dir", other).stdout)["memory_root"] == other


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall", "x", "--top-k", "0"],
        ["recall", "x", "--top-k", "many"],
        ["recall", "x", "--type", "nonsense"],
        ["nonsense"],
        ["show"],
        ["sessions", "prune"],
        ["sessions", "prune", "--older-than", "soon"],
        ["info", "--nonsense"],
    ],
)
def test_wrong_arguments_get_one_line_and_exit_2(root: Path, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("memex: ") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "nope"],
        ["provenance", "nope"],
        ["sessions", "delete", "nope", "--yes"],
        ["show", "../../etc/passwd"],
    ],
)
def test_what_is_not_there_gets_one_line_and_exit_1(memex: Memex, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and "no " in done.stderr


def test_a_wrong_time_gets_one_line_and_exit_1_or_2(memex: Memex) -> None:
    done = run("recall", "ruff", "--since", "tuesday")
    assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1


def test_a_broken_configuration_is_named_with_its_line(memex: Memex) -> None:
    (memex.root / "memex.toml").write_text("[bm25]\nk1 = \n", "utf-8")
    done = run("recall", "ruff")
    assert done.returncode == 1 and "memex.toml" in done.stderr and "line 2" in done.stderr


def test_a_value_of_the_wrong_kind_is_named(memex: Memex) -> None:
    (memex.root / "memex.toml").write_text('[bm25]\ndefault_top_k = "ten"\n', "utf-8")
    done = run("recall", "ruff")
    assert done.returncode == 1 and "[bm25] default_top_k must be int" in done.stderr


def test_deleting_without_a_terminal_needs_yes(memex: Memex) -> None:
    (memex.root / "transcripts").mkdir()
    (memex.root / "transcripts" / "s1.meta.json").write_text('{"session_id": "s1"}', "utf-8")
    done = run("sessions", "delete", "s1")
    assert done.returncode == 1 and "--yes" in done.stderr
    assert json.loads(run("sessions", "delete", "s1", "--yes").stdout)["deleted"] == ["s1"]


def test_prune_deletes_what_ended_long_ago_and_nothing_else(memex: Memex) -> None:
    (memex.root / "transcripts").mkdir()
    for name, ended in (("old", "2020-01-01T00:00:00Z"), ("young", "2999-01-01T00:00:00Z")):
        meta = json.dumps({"session_id": name, "started_at": ended, "ended_at": ended})
        (memex.root / "transcripts" / f"{name}.meta.json").write_text(meta, "utf-8")
    assert json.loads(run("sessions", "prune", "--older-than", "30d", "--dry-run").stdout)["matched"] == [
        "old"
    ]
    assert json.loads(run("sessions", "prune", "--older-than", "30", "--yes").stdout)["deleted"] == ["old"]
    assert [s["session_id"] for s in json.loads(run("sessions").stdout)] == ["young"]


def test_a_reader_that_leaves_early_is_no_failure(memex: Memex) -> None:
    command = f"{sys.executable} -m memex_core.cli list | head -c 1 > /dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_help_with_the_exit_status() -> None:
    for command in ("recall", "show", "list", "sessions", "provenance", "info", "rebuild-index"):
        done = run(command, "--help")
        assert done.returncode == 0 and "--data-dir" in done.stdout, command
    assert "Exit status:" in run("--help").stdout


def test_a_memory_that_cannot_be_written_still_recalls() -> None:
    with tempfile.TemporaryDirectory() as name:  # root needs a folder that another user may enter
        memex = Memex(Path(name) / "memory")
        memex.write(WriteInput("preference", "User preference: ruff", "I prefer ruff."))
        assert memex.recall("ruff").hits
        _make_read_only(Path(name))
        found = _as_nobody(lambda: Memex(memex.root).recall("ruff").hits[0].slug)
        os.chmod(name, 0o755)
        for path in Path(name).rglob("*"):
            os.chmod(path, 0o755)
    assert found == "user-preference-ruff"


def _as_nobody(ask: Callable[[], str]) -> str:
    """What `ask` gives in a child that may not do what root may."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = ""
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65_534)
                os.setuid(65_534)
            answer = ask()
        except BaseException as error:
            answer = repr(error)
        finally:
            os.write(writer, answer.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    os.waitpid(child, 0)
    return answer


def _make_read_only(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        os.chmod(path, 0o555 if path.is_dir() else 0o444)
