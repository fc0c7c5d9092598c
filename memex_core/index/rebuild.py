"""A new index beside the old one, then swapped in (DESIGN §4 Index). Nothing is ever repaired in place."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from memex_core.files.atomic import FILE_MODE, TEMP_PREFIX, TEMP_SUFFIX, make_dir, sync_dir, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.files.walk import walk_blocks, walk_pages, walk_sidecars
from memex_core.index.connection import SCHEMA_VERSION, schema, writing
from memex_core.index.file_rows import put_file, read_file
from memex_core.index.recall_counts import count_recalls
from memex_core.text.instant import to_iso

Fill = Callable[[sqlite3.Connection], None]


def build_new(
    db_path: Path,
    root: Path,
    fill: Fill,
    *,
    journal_mode: str,
    unless: Callable[[], bool] = lambda: False,
) -> None:
    """Put an index that `fill` fills in the place of whatever is at `db_path`.

    Only the swap holds the memory lock: what changes meanwhile has another stamp than the new index saw.
    `unless` is asked last, under the lock. Raises IndexUnusable, LockTimeout, OSError; the old index then
    stays.
    """
    make_dir(db_path.parent)
    with _temp_database(db_path) as temp:
        with writing(temp, bulk=True) as db:
            create_schema(db)
            fill(db)
        _sync_file(temp)
        with memory_lock(root):
            if unless():
                return
            _remove_old(db_path)
            temp.replace(db_path)
            sync_dir(db_path.parent)
            with writing(db_path, journal_mode):
                pass
            remember_file_as_left(db_path)


def create_schema(db: sqlite3.Connection) -> None:
    """Make the tables of an empty index."""
    for statement in _statements(schema()):
        db.execute(statement)
    db.execute("INSERT INTO index_meta VALUES ('schema_version', ?)", (SCHEMA_VERSION,))


def fill_from_files(root: Path, now: float, problems: list[tuple[str, str]]) -> Fill:
    """Fills an index with every page, RecallFile, day and sidecar under `root`; what is odd about a file is
    added to `problems`.
    """

    def fill(db: sqlite3.Connection) -> None:
        count_recalls(db, root)
        pages = 0
        for path, _ in (*sorted(walk_pages(root)), *sorted(walk_blocks(root)), *sorted(walk_sidecars(root))):
            read = read_file(root, path)
            if read is not None:
                problem = put_file(db, read)
                pages += path.startswith("docs/")
                if problem:
                    problems.append((path, problem))
        db.executemany(
            "INSERT OR REPLACE INTO index_meta VALUES (?, ?)",
            [("last_index_rebuild", to_iso(now)), ("wiki_file_count", str(pages))],
        )
        db.execute("INSERT INTO wiki_fts (wiki_fts) VALUES ('optimize')")  # a term is then in one place

    return fill


def remember_file_as_left(db_path: Path) -> None:
    """Note how mem.db looks after our own write, so that a change by anything else is seen."""
    with contextlib.suppress(OSError):
        write_atomic(_left_path(db_path), _looks(db_path).encode(), durable=False)


def is_as_left(db_path: Path) -> bool:
    """False where something other than this program has changed or replaced mem.db since we last wrote it."""
    try:
        return _left_path(db_path).read_text("ascii") == _looks(db_path)
    except (OSError, ValueError):
        return False


def _left_path(db_path: Path) -> Path:
    return db_path.with_name(f".{db_path.name}.left")


def _looks(db_path: Path) -> str:
    status = os.stat(db_path)
    if db_path.with_name(f"{db_path.name}-wal").exists():
        return f"{status.st_ino} wal"  # readers move pages from the log into the file, too
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


@contextlib.contextmanager
def _temp_database(db_path: Path) -> Iterator[Path]:
    """A fresh private file in the same directory; it and its journal are gone at the end if they
    still exist.
    """
    temp = db_path.with_name(f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}")
    os.close(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    try:
        temp.chmod(FILE_MODE)
        yield temp
    finally:
        for leftover in (temp, temp.with_name(f"{temp.name}-journal")):
            with contextlib.suppress(OSError):
                leftover.unlink()


def _remove_old(db_path: Path) -> None:
    """Clear the way: a journal of the old file would be rolled back into the new one; a directory
    is set aside.
    """
    for suffix in ("-journal", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            db_path.with_name(db_path.name + suffix).unlink()
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(db_path).st_mode):
            db_path.rename(db_path.with_name(f"{db_path.name}.was-a-directory-{os.urandom(4).hex()}"))


def _sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: `executescript` would end the transaction first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
