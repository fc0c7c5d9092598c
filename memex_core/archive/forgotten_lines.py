"""What was forgotten stays forgotten across a restore, except what the backup itself brings back.

Without its line in forgotten.jsonl, the next sweep would capture a deleted session from its log again. With
it, a session that the backup holds would be deleted again.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from memex_core.files.atomic import write_atomic


def keep_forgotten(current: Path, restored: Path, paths: Collection[str]) -> int:
    """Add the lines of `current` about sessions that are not among `paths` to `restored`; returns how many
    others there were: things that are back.
    """
    lines, since = _lines(restored), _lines(current)
    known, kept = set(lines), set(paths)
    new = [line for line in since if line not in known]
    stay = [line for line in new if not _is_in(kept, line)]
    if stay:
        write_atomic(restored, b"".join(line + b"\n" for line in [*lines, *stay]))
    return len(new) - len(stay)


def _is_in(paths: set[str], line: bytes) -> bool:
    try:
        session = json.loads(line)["session"]
    except (ValueError, KeyError, TypeError):
        return False
    return bool({f"transcripts/{session}.jsonl", f"docs/episodes/{session}.md"} & paths)


def _lines(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().split(b"\n") if line]
    except OSError:
        return []
