"""The part of a page that shows why it was found, with `<mark>` around the words (seed 000 §7, Utility 3)."""

from __future__ import annotations

import re
import sqlite3
from typing import Literal

from memex_core.text.query_terms import quoted

WORDS = 32
_MAX_CHARS = 400
_BEFORE = 80
_OPEN, _CLOSE = "\x02", "\x03"  # never in indexed text: the cleaner drops them


def snippet_of(db: sqlite3.Connection, page: int, terms: list[str]) -> tuple[str, Literal["body", "title"]]:
    """`(snippet, source)`: about 32 words around the best place in the body, else the title."""
    row = db.execute(
        f"""SELECT snippet(wiki_fts, 2, :open, :close, '…', {WORDS}), highlight(wiki_fts, 1, :open, :close)
            FROM wiki_fts WHERE wiki_fts MATCH :terms AND rowid = :page""",
        {"open": _OPEN, "close": _CLOSE, "terms": quoted(terms), "page": page},
    ).fetchone()
    body, title = row or ("", "")
    if _OPEN in body:
        return _marked(_cut(body)), "body"
    if _OPEN in title:
        return _marked(title), "title"
    text, plain_title = db.execute("SELECT body, title FROM wiki_fts WHERE rowid = ?", (page,)).fetchone()
    inside = _inside_words(text, terms)
    return (
        (_marked(inside), "body")
        if inside
        else (_marked(_inside_words(plain_title, terms) or plain_title), "title")
    )


def _inside_words(text: str, terms: list[str]) -> str:
    """A part of `text` that holds terms within longer words: `读取` in a sentence, `file` in `readFile`."""
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(term) for term in longest_first), re.IGNORECASE)
    first = pattern.search(text)
    if first is None:
        return ""
    start = max(first.start() - _BEFORE, 0)
    start = 0 if start == 0 else _next_break(text, start, first.start())
    end = min(start + 3 * _BEFORE, len(text))
    part = pattern.sub(lambda match: f"{_OPEN}{match.group()}{_CLOSE}", text[start:end])
    part = part.replace(f"{_CLOSE}{_OPEN}", "")
    return ("…" if start else "") + part + ("…" if end < len(text) else "")


def _next_break(text: str, start: int, limit: int) -> int:
    """The start of the next word, if one starts before `limit`."""
    space = text.find(" ", start, limit)
    return start if space < 0 else space + 1


def _cut(snippet: str) -> str:
    """At most `_MAX_CHARS` characters around the first mark: 32 words can be long ones."""
    if len(snippet) <= _MAX_CHARS:
        return snippet
    start = max(snippet.index(_OPEN) - _BEFORE, 0)
    part = snippet[start : start + _MAX_CHARS]
    if part.count(_OPEN) > part.count(_CLOSE):
        part += _CLOSE
    return ("…" if start else "") + part + ("…" if start + _MAX_CHARS < len(snippet) else "")


def _marked(text: str) -> str:
    joined = " ".join(text.split())
    return joined.replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>")
