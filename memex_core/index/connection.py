"""One short connection per operation to mem.db (DESIGN §3 row journal mode, §4 Files and Index).

mem.db is never opened as a plain file: closing such a descriptor would drop every lock that this process
holds on it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Literal

from memex_core.errors import MemexError

SCHEMA_VERSION = "3"
BUSY_TIMEOUT_S = 5.0
patience: ContextVar[float] = ContextVar("patience", default=BUSY_TIMEOUT_S)
"""How long an operation waits for another process, in seconds: less where a person waits for us."""

Trouble = Literal["missing", "locked", "unwritable", "full", "damaged", "foreign", "no fts5"]

_SQLITE_TROUBLE: dict[int, Trouble] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_READONLY: "unwritable",
    sqlite3.SQLITE_PERM: "unwritable",
    sqlite3.SQLITE_CANTOPEN: "unwritable",
    sqlite3.SQLITE_AUTH: "unwritable",
    sqlite3.SQLITE_FULL: "full",
}


class IndexUnusable(MemexError):
    """The index cannot answer or be brought up to date; `trouble` says how, the message says why."""

    def __init__(self, trouble: Trouble, why: str) -> None:
        super().__init__(f"the index cannot be used: {why}", hint="memex rebuild-index builds a new one")
        self.trouble = trouble
        self.why = why


def schema() -> str:
    """The statements that make an empty index."""
    return Path(__file__).with_name("schema.sql").read_text("utf-8")


@contextlib.contextmanager
def reading(db_path: Path | str) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write. Raises IndexUnusable."""
    with _connected(db_path) as db:
        db.execute("PRAGMA query_only = 1")
        db.execute("BEGIN")  # one state of the index for every question inside
        yield db


@contextlib.contextmanager
def writing(
    db_path: Path | str, journal_mode: str = "", *, bulk: bool = False
) -> Iterator[sqlite3.Connection]:
    """A connection inside one transaction, committed at the end, undone on any error. Raises IndexUnusable.

    `bulk` leaves out every wait for the disk: for a file that nobody else knows yet.
    """
    with _connected(db_path) as db:
        if bulk:
            db.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")
        elif journal_mode:
            with contextlib.suppress(sqlite3.OperationalError):  # in use: the mode can change another time
                db.execute(f"PRAGMA journal_mode = {journal_mode}")
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise


def require_file(db_path: Path | str) -> None:
    """Raise IndexUnusable unless `db_path` is a regular file (a FIFO would make SQLite wait for ever)."""
    if isinstance(db_path, str):
        return
    try:
        mode = os.stat(db_path).st_mode
    except FileNotFoundError:
        raise IndexUnusable("missing", "it does not exist yet") from None
    except OSError as error:
        raise IndexUnusable("unwritable", error.strerror or str(error)) from error
    if not stat.S_ISREG(mode):
        raise IndexUnusable("damaged", f"{db_path} is not a regular file")


def require_version(db: sqlite3.Connection) -> None:
    """Raise IndexUnusable for an index that another version of this program made."""
    row = db.execute("SELECT value FROM index_meta WHERE key = 'schema_version'").fetchone()
    if row is None or row[0] != SCHEMA_VERSION:
        raise IndexUnusable("foreign", f"it is of version {row[0] if row else 'unknown'}")


@contextlib.contextmanager
def _connected(db_path: Path | str) -> Iterator[sqlite3.Connection]:
    require_file(db_path)
    uri = db_path if isinstance(db_path, str) else f"file:{_escaped(db_path)}?mode=rw"
    try:
        db = sqlite3.connect(uri, uri=True, timeout=patience.get(), isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            db.executescript(
                "PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1; PRAGMA synchronous = NORMAL;"
                "PRAGMA secure_delete = ON"
            )
            yield db
        finally:
            db.close()
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise
    except sqlite3.DatabaseError as error:
        raise _unusable(error) from error
    except UnicodeDecodeError as error:  # damage can reach SQLite's own messages
        raise IndexUnusable("damaged", "it holds text that is not UTF-8") from error


def _escaped(path: Path) -> str:
    """`path` inside a SQLite address."""
    text = path.absolute().as_posix()
    return text.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _unusable(error: sqlite3.DatabaseError) -> IndexUnusable:
    if "no such module: fts5" in str(error):
        return IndexUnusable("no fts5", "this Python's SQLite was built without FTS5; use another Python")
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return IndexUnusable(_SQLITE_TROUBLE.get(code & 0xFF, "damaged"), str(error))
