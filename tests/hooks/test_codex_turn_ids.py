"""Turn ids: the same in every copy of a thread, never the same in two threads (formats/codex.md §1.9)."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from codex_rollouts import START, Rollout, read, said, uuid7

from memex_core.model.session import Session
from memex_hooks.harnesses import codex

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LATER = START + timedelta(days=1)
MODERN_IDS = ["47a674a61e2d", "8007f2a514df", "846dba83df0b"]
STAMPED_IDS = ["4915c95ea42a", "259be7667d7d"]
Lines = list[dict[str, Any]]


def ids(session: Session) -> list[str]:
    return [turn.id for turn in session.turns]


def message(role: str, words: str, **fields: Any) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}], **fields}


def bare(thread: str, lines: Lines, home: Path) -> Path:
    """A rollout from before records had an envelope."""
    head = {"id": thread, "timestamp": "2025-06-01T10:00:00.000Z", "instructions": None}
    path = home / "sessions" / f"rollout-2025-06-01-{thread}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in [head, *lines]))
    return path


def exchange(**fields: Any) -> Lines:
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "call_0"}
    output = {"type": "function_call_output", "call_id": "call_0", "output": "ok"}
    return [message("user", "fix the tests", **fields), call, output, message("assistant", "Done.", **fields)]


@pytest.mark.parametrize("stamp", ["", "2025-06-01", "2025-06-01T10:00:01Z", "soon"])
def test_equal_turns_of_two_pre_envelope_threads_have_ids_of_their_own(tmp_path: Path, stamp: str) -> None:
    lines = exchange(timestamp=stamp) if stamp else exchange()
    first = ids(read(bare(uuid7(START, 1), lines, tmp_path)))
    second = ids(read(bare(uuid7(LATER, 2), lines, tmp_path)))
    assert len({*first, *second}) == 6


def without_stamps(log: Rollout) -> Rollout:
    records = [json.loads(line) for line in log.lines]
    log.lines = [
        json.dumps({key: value for key, value in record.items() if key != "timestamp"}).encode() + b"\n"
        for record in records
    ]
    return log


def old_log(salt: int, turn_id: str, turns: int = 1) -> Rollout:
    """As before turns had UUIDs: they have a number, or nothing."""
    log = Rollout(start=START + timedelta(days=salt), salt=salt, history_mode="legacy", cli_version="0.80.0")
    for _ in range(turns):
        log.event("task_started", turn_id=turn_id).prompt("go on")
        log.call("call_0", f"ls {log.now}").output("call_0", "ok").answer("Done.")
        log.event("task_complete", turn_id=turn_id)
    return log


@pytest.mark.parametrize("turn_id", ["1", ""])
def test_equal_turns_under_a_number_or_nothing_have_ids_of_their_own(tmp_path: Path, turn_id: str) -> None:
    first, second = (
        ids(read(without_stamps(old_log(salt, turn_id)).write(tmp_path / str(salt)))) for salt in (1, 2)
    )
    assert len({*first, *second}) == 6


@pytest.mark.parametrize("turn_id", ["1", ""])
def test_equal_turns_within_one_thread_have_ids_of_their_own(tmp_path: Path, turn_id: str) -> None:
    """Numbers begin again at every resume, and some providers number their calls."""
    session = read(without_stamps(old_log(1, turn_id, turns=2)).write(tmp_path))
    assert len(said(session)) == len(set(ids(session))) == 6


def test_a_call_id_used_again_within_a_turn_makes_a_turn_of_its_own(tmp_path: Path) -> None:
    log = Rollout().begin().prompt("one").call("call_0", "ls").output("call_0", "x")
    session = read(log.call("call_0", "pwd").output("call_0", "y").answer("1").end().write(tmp_path))
    assert len(said(session)) == len(set(ids(session))) == 4


def test_every_copy_of_a_pre_envelope_thread_has_the_same_ids(tmp_path: Path) -> None:
    path = bare(uuid7(START, 1), exchange(), tmp_path / "a")
    expected = ids(read(path))
    archived = tmp_path / "b" / "archived_sessions" / (path.name + ".zst")
    archived.parent.mkdir(parents=True)
    archived.write_bytes(zstd.compress(path.read_bytes()))
    assert ids(read(archived)) == expected
    elsewhere = tmp_path / "copy.jsonl"
    elsewhere.write_bytes(path.read_bytes())
    assert ids(read(elsewhere)) == expected


def test_a_compressed_copy_of_a_log_without_any_identity_is_the_same_session(tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in exchange()))
    packed = tmp_path / "copy.jsonl.zst"
    packed.write_bytes(zstd.compress(path.read_bytes()))
    assert read(path).header.session_id == read(packed).header.session_id
    assert ids(read(path)) == ids(read(packed))


@pytest.mark.parametrize("turn_id", ["", "1"])
def test_migrating_a_log_whose_turns_have_no_uuid_keeps_their_ids(tmp_path: Path, turn_id: str) -> None:
    def log(mode: str) -> Rollout:
        made = Rollout(history_mode=mode, cli_version="0.80.0").event("task_started", turn_id=turn_id)
        return without_stamps(made.prompt("one").answer("1").event("task_complete", turn_id=turn_id))

    before = ids(read(log("legacy").write(tmp_path / "a")))
    assert len(before) == 2
    assert ids(read(log("paginated").write(tmp_path / "b"))) == before


def test_a_turn_with_a_uuid_or_an_exact_time_keeps_the_id_it_always_had(tmp_path: Path) -> None:
    """What was forgotten is known by these ids."""
    modern = Rollout().begin().prompt("one").call("c1", "ls").output("c1", "x").answer("1").end()
    assert ids(read(modern.write(tmp_path / "a"))) == MODERN_IDS
    stamped = Rollout(history_mode="legacy").prompt("one").answer("1")
    assert ids(read(stamped.write(tmp_path / "b"))) == STAMPED_IDS


def test_ids_changed_so_older_readings_are_read_again() -> None:
    assert codex.READER_VERSION == 2
