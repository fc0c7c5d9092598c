"""The part of a page that shows why it was found, with `<mark>` around the words (seed 000 §7, Utility 3)."""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Literal

from memex_core.index.kinds import ITEMS, PAGES, first_id, kind_of
from memex_core.index.tokens import tokenizer
from memex_core.text.query_terms import quoted

WORDS = 32
Snippet = tuple[str, Literal["body", "title"]]
_MAX_CHARS = 400
_SHORT = 4_096  # characters: such a body is tokenized anew sooner than its places are looked up
_CROWDED = 500  # places of a term: SQLite takes their number squared to choose one
_BEFORE = 80
_OPEN, _CLOSE = "\x02", "\x03"  # never in indexed text: the cleaner drops them
_MARKED = f"""
SELECT rowid,
  CASE WHEN rowid >= {first_id(ITEMS)} AND length(body) <= {_MAX_CHARS}
    THEN highlight(wiki_fts, 2, :open, :close)
    ELSE snippet(wiki_fts, 2, :open, :close, '…', {WORDS}) END,
  highlight(wiki_fts, 1, :open, :close)
FROM wiki_fts WHERE wiki_fts MATCH :terms AND rowid IN (SELECT value FROM json_each(:pages))"""


def snippets_of(
    db: sqlite3.Connection, pages: list[int], terms: list[str], *, unmarked: set[int]
) -> dict[int, Snippet]:
    """`(snippet, source)` by page: about 32 words around the best place in the body, else the title. Of an
    item or event all of a short one, else its beginning where no term stands in it. Of what is `unmarked`
    the beginning.
    """
    rows = db.execute(
        "SELECT rowid, title, body FROM wiki_fts WHERE rowid IN (SELECT value FROM json_each(?))",
        (json.dumps(pages),),
    )
    texts = {row[0]: (row[1], row[2]) for row in rows}
    wanted = {page: text for page, text in texts.items() if page not in unmarked}
    marked = _marked_texts(db, wanted, terms) if terms else {}
    return {
        page: _snippet(page, () if page in unmarked else terms, *texts[page], *marked.get(page, ("", "")))
        for page in pages
    }


def _marked_texts(
    db: sqlite3.Connection, texts: dict[int, tuple[str, str]], terms: list[str]
) -> dict[int, tuple[str, str]]:
    """As `_marked_rows`, of (title, body) by page."""
    short, long = [], []
    for page, (title, body) in texts.items():
        part = _uncrowded(body, terms)
        if len(part) <= _SHORT:
            short.append((page, title, part))
        else:
            long.append(page)
    marked = _marked_rows(db, long, terms) if long else {}
    with tokenizer() as scratch:
        scratch.executemany("INSERT INTO wiki_fts (rowid, title, body) VALUES (?, ?, ?)", short)
        return marked | _marked_rows(scratch, [page for page, _, _ in short], terms)


def _uncrowded(body: str, terms: list[str]) -> str:
    """`body`, or where it is crowded with terms a part of it, from the first one on. Of a long term the end
    is not looked at: that is what the tokenizer changes.
    """
    if len(body) <= 2 * _CROWDED:
        return body
    plain = body.lower()
    begins = [term if len(term) < 6 else term[:-3] for term in terms]
    if sum(map(plain.count, begins)) <= _CROWDED:
        return body
    places = re.finditer(rf"\b(?:{'|'.join(map(re.escape, begins))})", plain)
    first = next(places, None)
    if first is None or next(itertools.islice(places, _CROWDED, None), None) is None:
        return body
    return body[max(first.start() - _BEFORE, 0) :][: 2 * _CROWDED]


def _marked_rows(db: sqlite3.Connection, pages: list[int], terms: list[str]) -> dict[int, tuple[str, str]]:
    """(body, title) with the terms marked, of the pages that hold any: of the body a part, unless it is that
    of an item or event and short.
    """
    values = {"open": _OPEN, "close": _CLOSE, "terms": quoted(terms), "pages": json.dumps(pages)}
    return {row[0]: (row[1], row[2]) for row in db.execute(_MARKED, values)}


def _snippet(
    page: int,
    terms: Sequence[str],
    title: str,
    body: str,
    marked_body: str,
    marked_title: str,
) -> Snippet:
    is_block = kind_of(page) != PAGES
    if _OPEN in marked_body:
        is_whole = is_block and len(body) <= _MAX_CHARS
        return _marked(marked_body if is_whole else _cut(marked_body)), "body"
    if _OPEN in marked_title and not is_block:
        return _marked(marked_title), "title"
    inside = _inside_words(body, terms, _MAX_CHARS if is_block else 0)
    if inside or (body and (is_block or not terms)):
        return _marked(inside or body[:_MAX_CHARS] + ("…" if len(body) > _MAX_CHARS else "")), "body"
    return _marked(_inside_words(title, terms) or title), "title"


def _inside_words(text: str, terms: Sequence[str], whole: int = 0) -> str:
    """A part of `text` that holds terms within longer words: `读取` in a sentence, `file` in `readFile`. A
    text of no more than `whole` characters is that part itself.
    """
    if not terms:
        return ""
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(term) for term in longest_first), re.IGNORECASE)
    first = pattern.search(text)
    if first is None:
        return ""
    start, end = 0, len(text)
    if len(text) > whole:
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
