"""Envelope -> log -> session -> memory, and the sweep (DESIGN §4 Capture; issue 2 items 9 and 11)."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from memex_core.files.lock import memory_lock
from memex_core.memex import Memex
from memex_hooks import spool
from memex_hooks.capture import behind, capture_log, drain, sweep
from memex_hooks.harnesses import HARNESSES
from memex_hooks.self_check import sample_log

CLAUDE = HARNESSES["claude-code"]
SESSION = "0f6d2c52-6a41-4c39-9b0e-5f0f6f1c7a10"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The bundled session where Claude Code would have written it."""
    path = tmp_path / "home" / ".claude" / "projects" / "-home-dev-demo-app" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copyfile(sample_log("claude-code"), path)
    return path


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": ""}


def drop(root: Path, event: str, log: Path, number: int = 0) -> Path:
    path = root / "spool" / f"claude-code.{event}.{number}.0.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    payload = {
        "session_id": log.stem,
        "transcript_path": str(log),
        "cwd": "/home/dev/demo-app",
        "source": "startup",
    }
    path.write_text(f"memex-envelope 1 claude-code {event}\n\n{json.dumps(payload)}", "utf-8")
    return path


def test_an_envelope_brings_its_session_into_memory_and_is_deleted(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    drop(root, "SessionEnd", log)
    (result,) = drain(root, env, settle_s=0.0)
    assert (result.outcome, result.session_id) == ("new", SESSION)
    assert spool.pending(root) == []
    assert any(hit.node_type == "preference" for hit in Memex(root).recall("ruff").hits)


def test_a_burst_of_envelopes_is_captured_once(root: Path, log: Path, env: dict[str, str]) -> None:
    for number in range(5):
        drop(root, "Stop", log, number)
    assert len(drain(root, env, settle_s=0.0)) == 1
    assert spool.pending(root) == []


def test_an_envelope_for_a_log_that_never_appears_is_done_quietly(
    root: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    drop(root, "SessionEnd", tmp_path / "phantom.jsonl")
    assert [result.outcome for result in drain(root, env, settle_s=0.0)] == ["gone"]
    assert spool.pending(root) == []


def test_session_start_sweeps_in_the_sessions_whose_hook_never_ran(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    drop(root, "SessionStart", log.with_name("11111111-2222-4333-8444-555555555555.jsonl"))
    outcomes = {result.session_id: result.outcome for result in drain(root, env, settle_s=0.0)}
    assert outcomes[SESSION] == "new"


def test_a_second_worker_leaves_at_once(root: Path, log: Path, env: dict[str, str]) -> None:
    drop(root, "Stop", log)
    code = f"""
import sys
from pathlib import Path
from memex_core.files.lock import memory_lock
with memory_lock(Path({str(root / "spool")!r})):
    print("held", flush=True)
    sys.stdin.read()
"""
    import subprocess
    import sys

    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        assert drain(root, env, settle_s=0.0) == []
        other.communicate(b"")
    assert len(drain(root, env, settle_s=0.0)) == 1


def test_the_spool_lock_is_not_the_memory_lock(root: Path, log: Path, env: dict[str, str]) -> None:
    drop(root, "Stop", log)
    with memory_lock(root):
        assert [result.outcome for result in drain(root, env, settle_s=0.0)] == ["new"]


def test_a_junk_envelope_is_set_aside_after_three_tries_and_stops_nothing(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    junk = root / "spool" / "junk.json"
    junk.parent.mkdir(parents=True)
    junk.write_bytes(b"\x00\xff")
    drop(root, "Stop", log)
    for _ in range(3):
        drain(root, env, settle_s=0.0)
    assert spool.pending(root) == [] and len(spool.failed(root)) == 1
    assert Memex(root).read(SESSION) is not None


def test_a_capture_that_fails_keeps_its_envelope_for_the_next_worker(
    root: Path, log: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(root, "Stop", log)
    with monkeypatch.context() as patch:
        patch.setattr(
            Memex, "remember", lambda self, session: (_ for _ in ()).throw(OSError(28, "No space left"))
        )
        assert [result.outcome for result in drain(root, env, settle_s=0.0)] == ["failed"]
    assert len(spool.pending(root)) == 1
    assert [result.outcome for result in drain(root, env, settle_s=0.0)] == ["new"]


def test_one_log_that_cannot_be_read_does_not_cost_the_others(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    other = log.with_name("11111111-2222-4333-8444-555555555555.jsonl")
    other.mkdir()
    results = sweep(Memex(root), CLAUDE, env)
    assert {r.session_id: r.outcome for r in results}[SESSION] == "new"


def test_a_second_sweep_reads_nothing_again(root: Path, log: Path, env: dict[str, str]) -> None:
    sweep(Memex(root), CLAUDE, env)
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["current"]


def test_a_log_that_grew_is_captured_again(root: Path, log: Path, env: dict[str, str]) -> None:
    sweep(Memex(root), CLAUDE, env)
    record = json.loads(log.read_text("utf-8").splitlines()[0])
    record |= {"uuid": "5a0c0999-1111-4222-8333-0123456789ab", "timestamp": "2026-09-14T09:05:00.000Z"}
    record["message"] = {"role": "user", "content": "I always use pytest."}
    record["parentUuid"] = "5a0c0009-1111-4222-8333-0123456789ab"
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["extended"]
    assert any("pytest" in page.title for page in Memex(root).list_pages("preference"))


def test_a_log_touched_without_change_rewrites_nothing(root: Path, log: Path, env: dict[str, str]) -> None:
    sweep(Memex(root), CLAUDE, env)
    page = Memex(root).read(SESSION)
    assert page is not None and page.file_path is not None
    before = page.file_path.stat().st_mtime_ns
    os.utime(log, (time.time() + 5, time.time() + 5))
    sweep(Memex(root), CLAUDE, env)
    assert page.file_path.stat().st_mtime_ns == before


def test_what_memory_has_stays_when_the_harness_deletes_its_log(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    sweep(Memex(root), CLAUDE, env)
    log.unlink()
    assert sweep(Memex(root), CLAUDE, env) == []
    assert Memex(root).read(SESSION) is not None and len(list(Memex(root).transcripts.turns(SESSION))) > 3


def test_a_dry_run_writes_nothing(root: Path, log: Path, env: dict[str, str]) -> None:
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env, dry_run=True)] == ["would capture"]
    assert not root.exists() or not list(root.rglob("*.jsonl"))


def test_a_file_without_a_conversation_is_nothing_to_capture(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    log.write_text('{"type":"summary","summary":"x","leafUuid":"y"}\n', "utf-8")
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["empty"]
    assert behind(Memex(root), CLAUDE, env) == ([], 1)


def test_behind_names_the_logs_that_memory_lacks(root: Path, log: Path, env: dict[str, str]) -> None:
    missing, total = behind(Memex(root), CLAUDE, env)
    assert ([entry.session_id for entry in missing], total) == ([SESSION], 1)


def test_a_secret_in_a_log_reaches_no_file_of_the_memory(root: Path, log: Path, env: dict[str, str]) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    text = log.read_text("utf-8").replace("- run: flake8 src tests", f"export GITHUB_TOKEN={secret}")
    text = text.replace("Can you switch it?", f"My token is {secret}.")
    log.write_text(text.replace("Switch the linter in CI to ruff", f"Use {secret}"), "utf-8")
    sweep(Memex(root), CLAUDE, env)
    assert secret in log.read_text("utf-8")
    for path in root.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_redaction_can_be_switched_off(root: Path, log: Path, env: dict[str, str]) -> None:
    root.mkdir()
    (root / "memex.toml").write_text("[capture]\nredact = false\n", "utf-8")
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    log.write_text(log.read_text("utf-8").replace("Can you switch it?", f"My token is {secret}."), "utf-8")
    found = CLAUDE.log_file(log)
    assert found is not None
    capture_log(Memex(root), CLAUDE, found)
    assert secret in (root / "transcripts" / f"{SESSION}.jsonl").read_text("utf-8")


def test_an_unfamiliar_configuration_folder_travels_in_the_envelope(
    root: Path, tmp_path: Path, log: Path
) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(str(tmp_path / "home" / ".claude"), moved)
    path = root / "spool" / "claude-code.SessionStart.1.0.json"
    path.parent.mkdir(parents=True)
    path.write_text(f'memex-envelope 1 claude-code SessionStart\n{moved}\n{{"session_id": "x"}}', "utf-8")
    outcomes = [r.outcome for r in drain(root, {"HOME": str(tmp_path / "home"), "PATH": ""}, settle_s=0.0)]
    assert "new" in outcomes


def test_a_fault_outside_a_capture_counts_as_an_attempt_for_its_envelopes(
    root: Path, log: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(root, "Stop", log)
    monkeypatch.setattr(Memex, "heal", lambda self: (_ for _ in ()).throw(RuntimeError("planted")))
    monkeypatch.setattr(
        CLAUDE, "parse_event", lambda name, payload: (_ for _ in ()).throw(KeyError("planted"))
    )
    for _ in range(3):
        assert [result.outcome for result in drain(root, env, settle_s=0.0)] == ["failed"]
    assert spool.pending(root) == [] and len(spool.failed(root)) == 1
    assert "KeyError at " in (root / "logs" / "memex.log").read_text("utf-8")


def test_a_slip_in_the_configuration_does_not_stop_the_capture(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    drop(root, "Stop", log)
    (root / "memex.toml").write_text("[recall] session_start = false\n", "utf-8")
    assert [result.outcome for result in drain(root, env, settle_s=0.0)] == ["new"]
    assert "defaults taken" in (root / "logs" / "memex.log").read_text("utf-8")


def test_one_impossible_path_does_not_cost_the_other_envelopes(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    drop(root, "Stop", log)
    drop(root, "Stop", log.with_name("x" * 300 + ".jsonl"), 1)
    assert "new" in [result.outcome for result in drain(root, env, settle_s=0.0)]
    assert Memex(root).read(SESSION) is not None


@pytest.mark.parametrize("name", [f"{SESSION}.jsonl", "agent-a1.jsonl"])
def test_a_fifo_among_the_logs_is_passed_over(root: Path, log: Path, env: dict[str, str], name: str) -> None:
    fifo = log.parent.parent / "-other" / name
    fifo.parent.mkdir()
    os.mkfifo(fifo)
    drop(root, "SessionStart", fifo)
    assert "new" in [result.outcome for result in drain(root, env, settle_s=0.0)]


def test_a_transcript_that_was_lost_is_captured_again(root: Path, log: Path, env: dict[str, str]) -> None:
    sweep(Memex(root), CLAUDE, env)
    path = root / "transcripts" / f"{SESSION}.jsonl"
    before = path.read_bytes().partition(b"\n")[2]
    path.unlink()
    sweep(Memex(root), CLAUDE, env)
    assert path.read_bytes().partition(b"\n")[2] == before


def test_a_log_named_for_another_session_is_read_once(root: Path, log: Path, env: dict[str, str]) -> None:
    log.rename(log.with_name("11111111-2222-4333-8444-555555555555.jsonl"))
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["new"]
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["current"]
    Memex(root).delete_sessions([session.session_id for session in Memex(root).list_sessions()])
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["current"]
    assert behind(Memex(root), CLAUDE, env) == ([], 1)


def test_a_secret_in_names_and_paths_reaches_no_file_of_the_memory(
    root: Path, log: Path, env: dict[str, str]
) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    text = log.read_text("utf-8").replace('"name": "Bash"', f'"name": "{secret}"')
    text = text.replace("msg_sample_3", f"msg_{secret}").replace("claude-sonnet-4-5", f"model {secret}")
    folder = log.parent.with_name(f"-home-{secret}")
    folder.mkdir()
    (folder / log.name).write_text(text.replace("/home/dev/demo-app", f"/home/{secret}/app"), "utf-8")
    log.unlink()
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["new"]
    for path in root.rglob("*"):
        assert secret not in path.name
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path
    assert [result.outcome for result in sweep(Memex(root), CLAUDE, env)] == ["current"]
