"""Access counts from recalls.jsonl (DESIGN §3 row read / recall counts): `{"ts", "paths": [...]}`, a line a
recall.

Only new lines are read; a file that was trimmed or replaced is counted again from its start.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memex_core.files.regular import open_regular
from memex_core.index.page_rows import count_access
from memex_core.paths import recalls_path
from memex_core.text.clean import clean_text

_SEEN = "recalls_seen"


def recalls_state(root: Path) -> tuple[int, int, int]:
    """(ino, size, mtime_ns) of recalls.jsonl; zeros where it does not exist."""
    try:
        status = os.stat(recalls_path(root))
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns


def recalls_changed(db: sqlite3.Connection, root: Path) -> bool:
    return _seen(db)[0] != recalls_state(root)


def count_recalls(db: sqlite3.Connection, root: Path) -> None:
    """Bring the counts to what recalls.jsonl says, inside the caller's transaction."""
    state = recalls_state(root)
    (seen_ino, seen_size, _), offset = _seen(db)
    touched: set[str] = set()
    if state[0] != seen_ino or state[1] < seen_size:
        touched = {row[0] for row in db.execute("SELECT path FROM recall_counts")}
        db.execute("DELETE FROM recall_counts")
        offset = 0
    for moment, paths, behind in _lines(root, offset):
        offset = behind
        touched.update(paths)
        db.executemany(
            """INSERT INTO recall_counts VALUES (?, 1, ?)
               ON CONFLICT (path) DO UPDATE
               SET count = count + 1, last_access = max(last_access, excluded.last_access)""",
            [(path, moment) for path in paths],
        )
    value = json.dumps([*state, offset])
    db.execute("INSERT OR REPLACE INTO index_meta VALUES (?, ?)", (_SEEN, value))
    count_access(db, sorted(touched))


def _seen(db: sqlite3.Connection) -> tuple[tuple[int, int, int], int]:
    row = db.execute("SELECT value FROM index_meta WHERE key = ?", (_SEEN,)).fetchone()
    try:
        ino, size, mtime_ns, offset = json.loads(row[0]) if row else (0, 0, 0, 0)
    except (ValueError, TypeError):
        ino, size, mtime_ns, offset = 0, 0, 0, 0
    return (ino, size, mtime_ns), offset


def _lines(root: Path, offset: int) -> Iterator[tuple[str, set[str], int]]:
    """(ts, paths, offset behind the line) of each whole line from `offset` on; others are passed over."""
    try:
        with open_regular(recalls_path(root), root) as file:
            file.seek(offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return  # still being written
                offset += len(raw)
                try:
                    line = json.loads(raw)
                    paths = {clean_text(path) for path in line["paths"] if isinstance(path, str)}
                    yield clean_text(str(line["ts"])), paths, offset
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue
    except OSError:
        return
