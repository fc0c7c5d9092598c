"""From a file to its rows, and what the index remembers of the file (DESIGN §4 Index)."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from memex_core.files.walk import Stamp, stamp_of
from memex_core.index.block_rows import drop_blocks, put_blocks
from memex_core.index.page_rows import drop_page, put_page
from memex_core.index.session_rows import drop_session, put_session
from memex_core.model.page import read_page
from memex_core.store.block_file import BadBlockFile, BlockFiles
from memex_core.text.blocks import BOM, is_heading
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
    if _holds_blocks(path):
        return _read_blocks(root, path)
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


def _read_blocks(root: Path, path: str) -> Read | None:
    """A RecallFile or day, read with the patience that such files need (`store.block_file`)."""
    folder, _, name = path.partition("/")
    if not name:
        return Read(
            path, _UNREAD, racy=True, sha256="", problem="cannot be listed, or leads outside the memory root"
        )
    try:
        stamp = stamp_of(os.stat(root / path))
        read_at = time.time_ns()
        text = BlockFiles(root, root / folder).read(PurePosixPath(name).stem)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Read(path, _UNREAD, racy=True, sha256="", problem=f"cannot be read: {error.strerror}")
    except BadBlockFile as error:
        return Read(path, _UNREAD, racy=True, sha256="", problem=error.reason)
    if text is None:
        return None
    data = text.encode("utf-8")
    racy = stamp[1] >= read_at - RACY_NS
    return Read(path, stamp, racy, hashlib.sha256(data).hexdigest(), data)


def _holds_blocks(path: str) -> bool:
    return path.partition("/")[0] in ("wiki", "diary")


def put_file(db: sqlite3.Connection, read: Read) -> str:
    """Bring every row that derives from this file to what it says; returns the problem with it, or ""."""
    problem = read.problem
    if not problem and read.path.startswith("docs/"):
        node = read_page(read.data, PurePosixPath(read.path), modified=read.stamp[1] / 1e9)
        put_page(db, read.path, node)
        problem = node.warning
    elif _holds_blocks(read.path):
        problem = _put_block_file(db, read)
    elif not problem:
        try:
            put_session(db, read.path, read.data)
        except (ValueError, RecursionError) as error:
            drop_session(db, read.path)
            problem = f"this sidecar cannot be read: {error}"
    _remember(db, read, problem)
    return problem


def _put_block_file(db: sqlite3.Connection, read: Read) -> str:
    """A file that cannot be read has no items: the words of its last readable state may be gone from it."""
    if read.problem:
        drop_blocks(db, read.path)
        return read.problem
    text = read.data.decode("utf-8")
    put_blocks(db, read.path, text)
    hidden = text.startswith(BOM) and is_heading(text[1:])
    return "begins with a byte order mark, which hides its first item from wikimem" if hidden else ""


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
    elif _holds_blocks(path):
        drop_blocks(db, path)
    else:
        drop_session(db, path)
    db.execute("DELETE FROM indexed_files WHERE path = ?", (path,))


def signed_stamp(stamp: Stamp) -> Stamp:
    """`stamp` as SQLite returns it: some file systems have inode numbers beyond 63 bits."""
    return (_storable(stamp[0]), _storable(stamp[1]), _storable(stamp[2]), _signed(stamp[3]))


def _storable(number: int) -> int:
    """Times beyond the year 2262 do not fit SQLite's integers."""
    return max(min(number, 2**63 - 1), -(2**63))


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
