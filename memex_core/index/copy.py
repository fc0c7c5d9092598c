"""A copy of mem.db through SQLite itself, whole while others write (DESIGN §3 row backup)."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from memex_core.files.atomic import FILE_MODE
from memex_core.index.connection import IndexUnusable, patience, reading


def copy_database(db_path: Path, dest: Path) -> None:
    """Write the database as it is at one moment to `dest`, a new private file without a journal beside it.

    Raises FileExistsError, IndexUnusable; `dest` is then not there.
    """
    os.close(os.open(dest, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    try:
        with reading(db_path) as db:
            deadline = time.monotonic() + patience.get()
            with contextlib.closing(sqlite3.connect(dest, isolation_level=None)) as copy:
                db.backup(copy, progress=lambda *_: _be_patient(deadline), sleep=0.01)
                copy.execute("PRAGMA journal_mode = DELETE")
    except BaseException:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{dest}{suffix}")
        raise


def _be_patient(deadline: float) -> None:
    """SQLite asks again for ever while another process writes."""
    if time.monotonic() > deadline:
        raise IndexUnusable("locked", "another process is writing to it")
