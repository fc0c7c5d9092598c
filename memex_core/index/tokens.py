"""What the index's tokenizer makes of a term: asked of the tokenizer itself, so that the two never
disagree.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import sqlite3
import threading
from collections.abc import Iterable, Iterator

from memex_core.index.connection import IndexUnusable, schema
from memex_core.text.query_terms import is_prefix

_lock = threading.Lock()


def stems_of(terms: Iterable[str]) -> list[tuple[str, bool]]:
    """`(stem, prefix)` for each different stem of the terms, in their order; `prefix` as `is_prefix` says."""
    wanted = list(terms)
    with tokenizer() as db:
        rows = [(i, term) for i, term in enumerate(wanted)]
        db.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", rows)
        found = db.execute("SELECT doc, term FROM word_terms ORDER BY doc, offset").fetchall()
    return list(dict.fromkeys((stem, is_prefix(wanted[doc])) for doc, stem in found))


@contextlib.contextmanager
def tokenizer() -> Iterator[sqlite3.Connection]:
    """Empty tables in memory with the tokenizer of wiki_fts, for one question at a time: `words` (word) with
    its terms in `word_terms`, and one that stands for wiki_fts. What is put into them is gone at the end.
    """
    with _lock:
        db = _scratch()
        db.execute("BEGIN")
        try:
            yield db
        finally:
            db.execute("ROLLBACK")


@functools.cache
def _scratch() -> sqlite3.Connection:
    options = next(line.strip() for line in schema().splitlines() if line.strip().startswith("tokenize"))
    db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    try:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5 (word, {options})")
        db.execute("CREATE VIRTUAL TABLE word_terms USING fts5vocab ('words', 'instance')")
        db.execute(f"CREATE VIRTUAL TABLE wiki_fts USING fts5 (slug, title, body, {options})")
    except sqlite3.OperationalError as error:
        db.close()
        raise IndexUnusable("no fts5", f"this Python's SQLite was built without FTS5 ({error})") from error
    atexit.register(db.close)
    return db
