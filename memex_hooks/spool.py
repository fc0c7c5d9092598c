"""Envelopes: what the hooks dropped in `spool/` and no worker has finished yet (DESIGN §4 Capture).

An envelope is a file `<harness>.<Event>.<pid>.<n>.json`: a line `memex-envelope 1 <harness> <Event>`, a
line with the harness's configuration folder (may be empty), then the hook's raw standard input. It is raw,
private and deleted when drained.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.files.atomic import STALE_AFTER_S, make_dir, remove_stale_temps

MAX_ATTEMPTS = 3
_MAGIC = b"memex-envelope 1 "


@dataclass(slots=True)
class Envelope:
    """One event that a hook noted."""

    path: Path
    harness: str
    event: str
    config_dir: str = ""
    payload: dict[str, Any] = field(default_factory=dict)


def pending(root: Path) -> list[Path]:
    """The envelopes that wait, oldest first."""
    return _listed(paths.spool_dir(root))


def failed(root: Path) -> list[Path]:
    """The envelopes that no worker could finish in MAX_ATTEMPTS tries."""
    return _listed(paths.spool_dir(root) / "failed")


def read_envelope(path: Path) -> Envelope | None:
    """The envelope at `path`; None where it is no envelope. A payload that is not a JSON object becomes
    {}.
    """
    raw = path.read_bytes()
    first, _, rest = raw.partition(b"\n")
    words = first.decode("utf-8", "replace").split(" ")
    if not first.startswith(_MAGIC) or len(words) != 4:
        return None
    config_dir, _, body = rest.partition(b"\n")
    try:
        payload = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        payload = {}
    return Envelope(
        path,
        words[2],
        words[3],
        config_dir.decode("utf-8", "replace").strip(),
        payload if isinstance(payload, dict) else {},
    )


def done(envelope: Envelope) -> None:
    with contextlib.suppress(FileNotFoundError):
        envelope.path.unlink()


def give_back(path: Path) -> None:
    """Note a failed attempt; after MAX_ATTEMPTS the envelope moves to `spool/failed/`, where doctor reports
    it.
    """
    attempts = _attempts(path) + 1
    stem = path.name.removesuffix(".json").split(".try", 1)[0]
    target = path.with_name(f"{stem}.try{attempts}.json")
    if attempts >= MAX_ATTEMPTS:
        make_dir(path.parent / "failed")
        target = path.parent / "failed" / path.name
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, target)


def retry_failed(root: Path) -> int:
    """Put failed envelopes back in line; returns how many."""
    moved = 0
    for path in failed(root):
        os.replace(
            path, paths.spool_dir(root) / (path.name.split(".try", 1)[0].removesuffix(".json") + ".json")
        )
        moved += 1
    return moved


def remove_stale(root: Path, now: float) -> None:
    """Delete what killed hooks and writers left half-written over an hour ago; the sweep finds their
    sessions.
    """
    for folder in (paths.spool_dir(root), paths.logs_dir(root)):
        for temp in folder.glob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):
                if now - temp.stat().st_mtime > STALE_AFTER_S:
                    temp.unlink()
    for folder in (root, paths.transcripts_dir(root), *paths.docs_dir(root).glob("*/")):
        remove_stale_temps(folder, now=now)


def _attempts(path: Path) -> int:
    _, found, count = path.name.removesuffix(".json").rpartition(".try")
    return int(count) if found and count.isdigit() else 0


def _listed(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [
                (e.stat().st_mtime_ns, e.path)
                for e in entries
                if e.name.endswith(".json") and e.name[0] != "."
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [Path(path) for _, path in sorted(found)]
