"""The command line `memex-hooks`: capture, status, doctor, usage, install (issue 2 items 9 and 10)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hooks_program import hooks_cli as run

from memex_hooks.self_check import sample_log

SESSION = "0f6d2c52-6a41-4c39-9b0e-5f0f6f1c7a10"


def doctor(*arguments: str) -> tuple[int, dict[str, list[str]]]:
    """Exit status, and what is not ok by level."""
    done = run("doctor", *arguments)
    found: dict[str, list[str]] = {"warn": [], "fail": []}
    for finding in json.loads(done.stdout):
        if finding["level"] != "ok":
            assert finding["fix"], finding
            found[finding["level"]].append(finding["what"])
    return done.returncode, found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A machine with Claude Code and one session on disk."""
    path = tmp_path / "home" / ".claude" / "projects" / "-home-dev-demo-app" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copyfile(sample_log("claude-code"), path)
    return path


def test_capture_all_brings_in_what_is_on_disk_once(log: Path) -> None:
    assert [r["outcome"] for r in json.loads(run("capture", "--all").stdout)] == ["new"]
    assert [r["outcome"] for r in json.loads(run("capture", "--all").stdout)] == ["current"]


def test_capture_dry_run_says_what_it_would_do_and_does_nothing(log: Path, root: Path) -> None:
    assert [r["outcome"] for r in json.loads(run("capture", "--all", "--dry-run").stdout)] == [
        "would capture"
    ]
    assert not (root / "transcripts").exists()


def test_capture_takes_one_session_by_id_or_by_path(log: Path, root: Path) -> None:
    assert json.loads(run("capture", "--session", SESSION, "--dry-run").stdout)[0]["session_id"] == SESSION
    assert json.loads(run("capture", "--path", str(log)).stdout)[0]["outcome"] == "new"
    codex = json.loads(run("capture", "--path", str(sample_log("codex"))).stdout)
    assert (codex[0]["harness"], codex[0]["outcome"]) == ("codex", "new")


@pytest.mark.parametrize(
    "arguments",
    [
        ["capture"],
        ["capture", "--all", "--session", "x"],
        ["capture", "--all", "--harness", "vim"],
        ["nonsense"],
    ],
)
def test_wrong_arguments_get_one_line_and_exit_2(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["capture", "--session", "no-such"],
        ["capture", "--session", "../x"],
        ["capture", "--path", "/no/such.jsonl"],
    ],
)
def test_what_is_not_there_gets_one_line_and_exit_1(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


def test_a_file_that_is_no_log_is_nothing_to_capture(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\x00\xff\n[1]\n")
    done = run("capture", "--path", str(tmp_path / "x.jsonl"))
    assert (done.returncode, json.loads(done.stdout)[0]["outcome"]) == (0, "empty")


def test_doctor_is_content_with_a_machine_that_is_set_up(log: Path, root: Path) -> None:
    assert run("install", "--harness", "claude-code").returncode == 0
    run("capture", "--all")
    assert doctor("--harness", "claude-code") == (0, {"warn": [], "fail": []})


def test_doctor_names_the_missing_hooks(log: Path) -> None:
    run("capture", "--all")
    status, found = doctor("--harness", "claude-code")
    assert status == 1 and any("no memex hook in" in what for what in found["fail"])


def test_doctor_names_sessions_that_are_not_in_memory(log: Path) -> None:
    import os

    os.utime(log, (1_700_000_000, 1_700_000_000))
    run("install", "--harness", "claude-code")
    status, found = doctor("--harness", "claude-code")
    assert status == 1 and any("1 of 1 session logs are not in memory" in what for what in found["fail"])


def test_doctor_names_events_that_failed_or_wait(log: Path, root: Path) -> None:
    import os

    run("install", "--harness", "claude-code")
    run("capture", "--all")
    (root / "spool" / "failed").mkdir(parents=True, mode=0o700)
    for path in (root / "spool" / "failed" / "x.json", root / "spool" / "y.json"):
        path.write_text("memex-envelope 1 claude-code Stop\n\n{}")
        path.chmod(0o600)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    status, found = doctor("--harness", "claude-code")
    assert status == 1
    assert any("could not be captured" in what for what in found["fail"])
    assert any("waited for more than 10 minutes" in what for what in found["warn"])


def test_doctor_names_a_memory_that_others_can_reach(log: Path, root: Path) -> None:
    run("install", "--harness", "claude-code")
    run("capture", "--all")
    root.chmod(0o755)
    status, found = doctor("--harness", "claude-code")
    assert status == 1 and any("others can reach" in what for what in found["warn"])


def test_doctor_repairs_a_damaged_index_by_looking_at_it(log: Path, root: Path) -> None:
    run("install", "--harness", "claude-code")
    run("capture", "--all")
    (root / "mem.db").write_bytes(b"\0" * 65_536)
    (root / "mem.db").chmod(0o600)
    assert doctor("--harness", "claude-code") == (0, {"warn": [], "fail": []})


def test_status_counts_what_is_on_disk_and_what_is_captured(log: Path) -> None:
    before = json.loads(run("status").stdout)["harnesses"][0]
    assert (before["on_disk"], before["captured"], before["behind"]) == (1, 0, 1)
    run("capture", "--all")
    after = json.loads(run("status").stdout)["harnesses"][0]
    assert (after["on_disk"], after["captured"], after["behind"]) == (1, 1, 0)


def test_usage_prints_tokens_by_model(log: Path) -> None:
    run("capture", "--all")
    table = json.loads(run("usage", "--by", "model").stdout)
    assert table["rows"][0]["key"] == "claude-sonnet-4-5"
    assert table["total"]["counts"] == {
        "input": 4_800,
        "cache_read": 16_000,
        "cache_write_5m": 1_200,
        "cache_write_1h": 0,
        "output": 191,
        "reasoning": 0,
        "requests": 4,
    }


def test_install_dry_run_prints_the_difference_and_changes_nothing(log: Path, tmp_path: Path) -> None:
    done = run("install", "--harness", "claude-code", "--dry-run")
    assert done.returncode == 0 and "+" in done.stdout and "SessionEnd" in done.stdout
    assert not (tmp_path / "home" / ".claude" / "settings.json").exists()


def test_install_then_uninstall_leaves_the_settings_byte_for_byte(log: Path, tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.write_bytes(b'{"model":"opus",\r\n  "hooks": {}}')
    assert run("install", "--harness", "claude-code").returncode == 0
    assert b"hook.sh" in settings.read_bytes()
    assert run("uninstall").returncode == 0
    assert settings.read_bytes() == b'{"model":"opus",\r\n  "hooks": {}}'


def test_install_refuses_settings_it_cannot_read_and_exits_1(log: Path, tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.write_text('{"model": "opus",}', "utf-8")
    done = run("install", "--harness", "claude-code")
    assert done.returncode == 1 and "settings.json" in done.stderr
    assert settings.read_text("utf-8") == '{"model": "opus",}'


def test_setup_wires_captures_checks_and_says_what_comes_next(log: Path, root: Path) -> None:
    done = run("setup")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Claude Code: 1 captured" in done.stdout and "Self-check" in done.stdout
    assert "NOT DONE" not in done.stdout
    assert "recalled" in done.stdout and "memex recall" in done.stdout
    assert doctor("--harness", "claude-code")[0] == 0


def test_the_demonstration_shows_session_page_and_recall_and_touches_nothing(tmp_path: Path) -> None:
    done = run("setup", "--demo")
    assert done.returncode == 0
    for part in (
        "A session goes in:",
        "The page that came out",
        "memex recall ruff:",
        "User preference: ruff",
    ):
        assert part in done.stdout
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[recall] session_start = false\n", "line 1"),
        ("[recall]\nsesion_start = false\n", "did you mean session_start?"),
        ("[recal]\nsession_start = false\n", "did you mean recall?"),
    ],
)
def test_doctor_names_what_is_wrong_with_the_configuration(
    log: Path, root: Path, text: str, said: str
) -> None:
    run("install", "--harness", "claude-code")
    run("capture", "--all")
    (root / "memex.toml").write_text(text, "utf-8")
    status, found = doctor("--harness", "claude-code")
    assert status == 1 and any(said in what for what in found["fail"])


@pytest.mark.parametrize("program", ["memex_core.cli", "memex_hooks.cli"])
def test_a_bare_command_prints_its_help(program: str) -> None:
    done = subprocess.run([sys.executable, "-m", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(done.stdout.splitlines()) > 10


def test_usage_refuses_what_is_no_date() -> None:
    done = run("usage", "--since", "tuesday")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_setup_without_hooks_leaves_the_settings_alone(log: Path, tmp_path: Path) -> None:
    done = run("setup", "--no-hooks")
    assert done.returncode == 0 and "1 captured" in done.stdout
    assert not (tmp_path / "home" / ".claude" / "settings.json").exists()


def test_setup_repeats_at_its_end_what_was_not_done(log: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude" / "settings.json").write_text("{ // mine\n}", "utf-8")
    done = run("setup")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("NOT DONE: Claude Code: not wired: ")
