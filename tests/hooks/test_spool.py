"""Envelopes (DESIGN §4 Capture)."""

from __future__ import annotations

import os
from pathlib import Path

from memex_hooks import spool


def drop(root: Path, name: str, payload: bytes, *, age: float = 0.0) -> Path:
    path = root / "spool" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"memex-envelope 1 codex Stop\n/etc/codex\n" + payload)
    os.utime(path, (path.stat().st_mtime - age,) * 2)
    return path


def test_an_envelope_gives_harness_event_folder_and_payload(root: Path) -> None:
    envelope = spool.read_envelope(drop(root, "codex.Stop.1.0.json", b'{"session_id": "s1"}'))
    assert envelope is not None
    assert (envelope.harness, envelope.event, envelope.config_dir) == ("codex", "Stop", "/etc/codex")
    assert envelope.payload == {"session_id": "s1"}


def test_a_payload_that_is_no_object_becomes_empty(root: Path) -> None:
    for payload in (b"", b"[1]", b"\xff\xfe{", b'{"a":', b"[" * 100_000):
        envelope = spool.read_envelope(drop(root, "codex.Stop.1.0.json", payload))
        assert envelope is not None and envelope.payload == {}


def test_a_file_that_is_no_envelope_is_none(root: Path) -> None:
    path = drop(root, "x.json", b"")
    path.write_bytes(b"{}")
    assert spool.read_envelope(path) is None


def test_pending_lists_oldest_first_and_no_temp_files(root: Path) -> None:
    drop(root, "codex.Stop.2.0.json", b"{}")
    drop(root, "codex.Stop.1.0.json", b"{}", age=60)
    drop(root, ".codex.Stop.3.0.tmp", b"{}")
    assert [path.name for path in spool.pending(root)] == ["codex.Stop.1.0.json", "codex.Stop.2.0.json"]


def test_an_envelope_that_fails_three_times_is_set_aside_and_can_be_retried(root: Path) -> None:
    drop(root, "codex.Stop.1.0.json", b"{}")
    for _ in range(3):
        (path,) = spool.pending(root)
        spool.give_back(path)
    assert spool.pending(root) == []
    assert len(spool.failed(root)) == 1
    assert spool.retry_failed(root) == 1
    assert [path.name for path in spool.pending(root)] == ["codex.Stop.1.0.json"]


def test_no_spool_is_an_empty_spool(root: Path) -> None:
    assert spool.pending(root) == [] and spool.failed(root) == []


def test_half_written_envelopes_are_swept_after_an_hour(root: Path) -> None:
    young = drop(root, ".codex.Stop.1.0.tmp", b"{}")
    old = drop(root, ".codex.Stop.2.0.tmp", b"{}", age=4_000)
    spool.remove_stale(root, young.stat().st_mtime)
    assert young.exists() and not old.exists()
