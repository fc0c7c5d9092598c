"""What the index's tokenizer makes of a term: asked of the tokenizer itself, so that the two never
disagree.
"""

from __future__ import annotations

import atexit
import functools
import sqlite3
import threading
from collections.abc import Iterable

from memex_core.index.connection import IndexUnusable, schema
from memex_core.text.query_terms import is_prefix

_lock = threading.Lock()


def stems_of(terms: Iterable[str]) -> list[tuple[str, bool]]:
    """`(stem, prefix)` for each different stem of the terms, in their order; `prefix` as `is_prefix` says."""
    wanted = list(terms)
    with _lock:
        db = _scratch()
        db.execute("BEGIN")
        try:
            rows = [(i, term) for i, term in enumerate(wanted)]
            db.executemany("INSERT INTO scratch (rowid, word) VALUES (?, ?)", rows)
            found = db.execute("SELECT doc, term FROM scratch_terms ORDER BY doc, offset").fetchall()
        finally:
            db.execute("ROLLBACK")
    return list(dict.fromkeys((stem, is_prefix(wanted[doc])) for doc, stem in found))


@functools.cache
def _scratch() -> sqlite3.Connection:
    """An empty table in memory with the tokenizer of wiki_fts."""
    options = next(line.strip() for line in schema().splitlines() if line.strip().startswith("tokenize"))
    db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    try:
        db.execute(f"CREATE VIRTUAL TABLE scratch USING fts5 (word, {options})")
        db.execute("CREATE VIRTUAL TABLE scratch_terms USING fts5vocab ('scratch', 'instance')")
    except sqlite3.OperationalError as error:
        db.close()
        raise IndexUnusable("no fts5", f"this Python's SQLite was built without FTS5 ({error})") from error
    atexit.register(db.close)
    return db
