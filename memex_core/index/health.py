"""Is the index whole? SQLite's own checks miss damage that changes answers; together with a digest of every
page's rows they do not (DESIGN §4 Index).
"""

from __future__ import annotations

import re
import sqlite3

from memex_core.index.connection import schema
from memex_core.index.page_rows import page_digest
from memex_core.index.session_rows import session_digest

_CREATED = re.compile(r"^CREATE (?:VIRTUAL TABLE|TABLE|INDEX|TRIGGER) (\w+)", re.MULTILINE)


def find_damage(db: sqlite3.Connection) -> str:
    """Empty, or the first thing found wrong. `db` must be inside a write transaction; nothing is changed."""
    try:
        answer = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if answer != "ok":
            return str(answer).splitlines()[0]
        db.execute("INSERT INTO wiki_fts (wiki_fts, rank) VALUES ('integrity-check', 1)")
        return _missing_tables(db) or _missing_rows(db) or _changed_rows(db)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return str(error)


def _missing_tables(db: sqlite3.Connection) -> str:
    present = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    missing = sorted(set(_CREATED.findall(schema())) - present)
    return f"{missing[0]} is missing" if missing else ""


def _missing_rows(db: sqlite3.Connection) -> str:
    for table, column in (
        ("wiki_fts_docsize", "id"),
        ("wiki_fts_content", "id"),
        ("page_lengths", "page_id"),
    ):
        counted = f"SELECT {column} FROM {table}"
        for one, other in (
            ("SELECT page_id FROM wiki_index", counted),
            (counted, "SELECT page_id FROM wiki_index"),
        ):
            if db.execute(f"{one} EXCEPT {other} LIMIT 1").fetchone():
                return f"{table} does not hold the same pages as wiki_index"
    if db.execute(
        """SELECT kind, documents, words FROM corpus EXCEPT
           SELECT k.kind, count(page_id), CAST(total(length) AS INTEGER)
           FROM corpus k LEFT JOIN page_lengths ON page_id >> 40 = k.kind GROUP BY k.kind"""
    ).fetchone():
        return "what it says of all pages together has changed"
    if db.execute("SELECT page_id FROM blocks EXCEPT SELECT page_id FROM wiki_index LIMIT 1").fetchone():
        return "it holds a block of no item or event"
    lost = db.execute(
        "SELECT path FROM indexed_files WHERE path LIKE 'docs/%' AND sha256 <> '' "
        "EXCEPT SELECT path FROM wiki_index LIMIT 1"
    ).fetchone()
    return f"{lost[0]} is missing" if lost else ""


def _changed_rows(db: sqlite3.Connection) -> str:
    for page_id, path, digest in db.execute("SELECT page_id, path, digest FROM wiki_index").fetchall():
        if page_digest(db, page_id) != digest:
            return f"what it says of {path} has changed"
    for session_id, digest in db.execute("SELECT session_id, digest FROM sessions").fetchall():
        if session_digest(db, session_id) != digest:
            return f"what it says of session {session_id} has changed"
    return ""
