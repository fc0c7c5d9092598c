"""From a file to its rows, and what the index remembers of the file (DESIGN §4 Index)."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from memex_core.files.walk import Stamp, stamp_of
from memex_core.index.page_rows import drop_page, put_page
from memex_core.index.session_rows import drop_session, put_session
from memex_core.model.page import read_page
from memex_core.text.instant import to_iso

RACY_NS = 2_000_000_000
"""A file changed less than this before it was read may change again without a new time."""

_UNREAD: Stamp = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Read:
    """A file as it was read, or the problem that kept it from being read."""

    path: str
    stamp: Stamp
    racy: bool
    sha256: str
    data: bytes = b""
    problem: str = ""


def read_file(root: Path, path: str) -> Read | None:
    """The file at `path` (relative to `root`) as it is now; None where it is gone."""
    try:
        with (root / path).open("rb") as file:
            stamp = stamp_of(os.fstat(file.fileno()))
            read_at = time.time_ns()
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Read(path, _UNREAD, racy=True, sha256="", problem=f"cannot be read: {error.strerror}")
    racy = stamp[1] >= read_at - RACY_NS
    return Read(path, stamp, racy, hashlib.sha256(data).hexdigest(), data)


def put_file(db: sqlite3.Connection, read: Read) -> str:
    """Bring every row that derives from this file to what it says; returns the problem with it, or ""."""
    problem = read.problem
    if not problem and read.path.startswith("docs/"):
        node = read_page(read.data, PurePosixPath(read.path), modified=read.stamp[1] / 1e9)
        put_page(db, read.path, node)
        problem = node.warning
    elif not problem:
        try:
            put_session(db, read.path, read.data)
        except (ValueError, RecursionError) as error:
            drop_session(db, read.path)
            problem = f"this sidecar cannot be read: {error}"
    _remember(db, read, problem)
    return problem


def restamp_file(db: sqlite3.Connection, read: Read, problem: str, modified_ns: int) -> None:
    """Note how a file with unchanged bytes looks now; a page that takes its times from the file takes the
    new one.

    `modified_ns` is the file's time as the index knew it.
    """
    if read.stamp[1] != modified_ns:
        row = db.execute("SELECT created, updated FROM wiki_index WHERE path = ?", (read.path,)).fetchone()
        if row is not None and to_iso(modified_ns / 1e9) in tuple(row):
            put_file(db, read)
            return
    _remember(db, read, problem)


def _remember(db: sqlite3.Connection, read: Read, problem: str) -> None:
    db.execute(
        "INSERT OR REPLACE INTO indexed_files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (read.path, *signed_stamp(read.stamp), int(read.racy), read.sha256, problem),
    )


def drop_file(db: sqlite3.Connection, path: str) -> None:
    """Take out everything that derived from a file that is gone."""
    if path.startswith("docs/"):
        drop_page(db, path)
    else:
        drop_session(db, path)
    db.execute("DELETE FROM indexed_files WHERE path = ?", (path,))


def signed_stamp(stamp: Stamp) -> Stamp:
    """`stamp` as SQLite returns it: some file systems have inode numbers beyond 63 bits."""
    return (*stamp[:3], _signed(stamp[3]))


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
