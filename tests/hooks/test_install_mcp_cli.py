"""The MCP server on the command line `memex-hooks`, and what doctor says of consolidation and restores."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hooks_program import hooks_cli as run

from memex_hooks.self_check import sample_log

MEMEX = Path(sysconfig.get_path("scripts")) / "memex"
SESSION = "0f6d2c52-6a41-4c39-9b0e-5f0f6f1c7a10"


def doctor() -> tuple[int, list[dict[str, str]]]:
    """Exit status, and what is not ok."""
    done = run("doctor", "--harness", "claude-code")
    return done.returncode, [finding for finding in json.loads(done.stdout) if finding["level"] != "ok"]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A machine with Claude Code and one session on disk; its .claude.json."""
    home = tmp_path / "home"
    log = home / ".claude" / "projects" / "-home-dev-demo-app" / f"{SESSION}.jsonl"
    log.parent.mkdir(parents=True)
    shutil.copyfile(sample_log("claude-code"), log)
    (home / ".claude.json").write_text('{\n  "numStartups": 1\n}\n', "utf-8")
    return home / ".claude.json"


@pytest.fixture
def wired(state: Path) -> Path:
    """The same, set up with the MCP server and nothing left to do."""
    assert run("install", "--mcp", "--harness", "claude-code").returncode == 0
    run("capture", "--all")
    return state


def test_install_says_where_the_server_is_registered_and_uninstall_where_it_was(state: Path) -> None:
    done = run("install", "--mcp")
    assert f"Claude Code: MCP server registered in {state}\n" in done.stdout
    assert "Claude Code: MCP server was registered already\n" in run("install", "--mcp").stdout
    assert f"Claude Code: MCP server removed from {state}\n" in run("uninstall").stdout
    assert "MCP" not in run("uninstall").stdout
    assert state.read_text("utf-8") == '{\n  "numStartups": 1\n}\n'


def test_a_dry_run_prints_the_difference_and_changes_nothing(state: Path) -> None:
    done = run("install", "--mcp", "--dry-run")
    assert f"+++ {state}\n" in done.stdout and '+    "memex": {\n' in done.stdout
    assert f'+      "command": "{MEMEX}",\n' in done.stdout
    assert state.read_text("utf-8") == '{\n  "numStartups": 1\n}\n'


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_server_that_cannot_be_registered_is_an_error_of_one_line_after_the_hooks(
    state: Path, dry: list[str]
) -> None:
    state.write_text('{"mcpServers": []}', "utf-8")
    done = run("install", "--mcp", *dry)
    assert done.returncode == 1
    assert done.stderr.startswith("Claude Code: MCP server not registered: ")
    assert len(done.stderr.splitlines()) == 1 and '"mcpServers" is not an object' in done.stderr
    assert (state.parent / ".claude" / "settings.json").exists() is not bool(dry)


def test_a_plugin_user_gets_the_server_without_a_second_set_of_hooks(state: Path) -> None:
    done = run("install", "--mcp", "--no-hooks")
    assert done.returncode == 0 and "MCP server registered in" in done.stdout
    assert not (state.parent / ".claude" / "settings.json").exists()
    assert not (state.parent / ".local" / "share" / "memex" / "hook.sh").exists()
    run("uninstall")
    assert state.read_text("utf-8") == '{\n  "numStartups": 1\n}\n'
    assert run("install", "--no-hooks").returncode == 2


def test_status_says_whether_the_server_is_registered(state: Path) -> None:
    assert json.loads(run("status").stdout)["harnesses"][0]["mcp"] == "not registered"
    run("install", "--mcp")
    assert json.loads(run("status").stdout)["harnesses"][0]["mcp"] == "registered"
    assert json.loads(run("status").stdout)["harnesses"][1]["mcp"] == "not found"


def test_doctor_is_content_with_a_registered_server(wired: Path) -> None:
    assert doctor() == (0, [])
    assert f"the MCP server is registered in {wired}" in run("doctor").stdout


def test_doctor_names_a_server_whose_program_is_gone(wired: Path) -> None:
    wired.write_text(wired.read_text("utf-8").replace(str(MEMEX), "/gone/memex"), "utf-8")
    status, (finding,) = doctor()
    assert (status, finding["level"]) == (1, "fail")
    assert finding["fix"] == "memex-hooks install --mcp --harness claude-code"
    assert (
        subprocess.run([sys.executable, "-m", "memex_hooks.cli", *finding["fix"].split()[1:]]).returncode == 0
    )
    assert doctor() == (0, [])


def test_doctor_counts_answers_of_a_model_that_wait_to_be_read(wired: Path, root: Path) -> None:
    from memex_core.store.kept_answers import KeptAnswers

    kept = KeptAnswers(root).keep({"an-episode": "0" * 64}, "no JSON")
    status, (finding,) = doctor()
    assert (status, finding["level"], finding["fix"]) == (1, "warn", "memex consolidate")
    assert finding["what"].endswith(f": 1, in {kept.parent}")


@pytest.mark.parametrize(("used", "warned"), [(800, False), (801, True)])
def test_doctor_warns_when_most_of_the_tokens_of_today_are_used(
    wired: Path, root: Path, used: int, warned: bool
) -> None:
    from memex_core.llm.ledger import ledger_path

    (root / "memex.toml").write_text("[llm]\ndaily_token_limit = 1000\n", "utf-8")
    line = {"ts": datetime.now(UTC).isoformat(), "call": "a", "outcome": "answered", "tokens": used}
    ledger_path(root).write_text(json.dumps(line) + "\n", "utf-8")
    status, findings = doctor()
    assert (status, [finding["level"] for finding in findings]) == (int(warned), ["warn"] * warned)
    assert all("801 of the 1,000 tokens of today" in finding["what"] for finding in findings)


@pytest.mark.parametrize("cut_off", ["before anything was moved", "halfway"])
def test_doctor_finishes_a_restore_that_was_cut_off_and_says_so(
    wired: Path, root: Path, cut_off: str
) -> None:
    _leave_a_restore(root, halfway=cut_off == "halfway")
    done = run("doctor", "--harness", "claude-code", "--json")
    first = json.loads(done.stdout)[0]
    assert (first["level"], first["about"]) == ("ok", "memory")
    assert first["what"].startswith("a restore that was cut off is finished; what was there before is in ")
    assert (root / "docs" / "note.md").read_bytes() == b"restored"


def test_doctor_ends_at_a_restore_that_can_be_neither_finished_nor_undone(wired: Path, root: Path) -> None:
    from memex_core.archive.swap import NOTE

    (root / NOTE).write_text("not a note", "utf-8")
    status, (finding,) = doctor()
    assert (status, finding["level"]) == (1, "fail")
    assert str(root / NOTE) in finding["what"]


def _leave_a_restore(root: Path, *, halfway: bool) -> None:
    """What a restore of docs/ leaves when its process is killed."""
    from memex_core.archive.swap import NOTE

    staging, previous = ".memex-restore-1.tmp", "backups/restore-20260101T000000Z"
    (root / staging / "docs").mkdir(parents=True)
    (root / staging / "docs" / "note.md").write_bytes(b"restored")
    note = {
        "staging": staging,
        "previous": previous,
        "arriving": ["docs"],
        "leaving": ["docs"],
        "forward": True,
    }
    (root / NOTE).write_text(json.dumps(note), "utf-8")
    if halfway:
        (root / previous).mkdir(parents=True)
        (root / "docs").rename(root / previous / "docs")
