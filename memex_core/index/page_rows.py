"""Between a page and its rows in the index, and what items and events share with pages.

Every function works inside the caller's transaction.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from memex_core.index.item_links import ItemLink, find_item_links, origin_path, put_item_links
from memex_core.index.kinds import PAGES, new_id
from memex_core.model.node import WikiNode
from memex_core.text.clean import clean_text
from memex_core.text.generated import without_markers
from memex_core.text.instant import to_seconds
from memex_core.text.links import name_key
from memex_core.text.query_terms import index_terms
from memex_core.text.slug import fold, slugify

BODY_LIMIT = 4_194_304
"""Characters of a body that are searched; what lies behind is kept in the page but not found."""

_NAMES = """
id slug slug_key title title_key node_type importance tags links sources created updated own_access_count
own_last_access expires_at valid_from valid_to content_hash transcript_ref project project_label session_id
harness kind started_at ended_at origin warning moment expires_s valid_from_s
"""
_COLUMNS = _NAMES.split()
_SLUG = _COLUMNS.index("slug")
_REALS = ("importance", "moment", "expires_s", "valid_from_s")
_INSERT = f"""INSERT INTO wiki_index (page_id, path, {", ".join(_COLUMNS)}, digest, access_count)
              VALUES ({", ".join("?" * (len(_COLUMNS) + 3))}, 0)"""
_UPDATE = (
    f"UPDATE wiki_index SET {', '.join(f'{name} = ?' for name in _COLUMNS)}, digest = ? WHERE page_id = ?"
)
_ALL_ROWS = (
    f"SELECT path, {', '.join(_COLUMNS)} FROM wiki_index WHERE page_id = ?",
    "SELECT slug, title, body, tags, extra FROM wiki_fts WHERE rowid = ?",
    "SELECT length FROM page_lengths WHERE page_id = ?",
    "SELECT tag FROM page_tags WHERE page_id = ? ORDER BY tag",
    """SELECT target_slug, l.source_slug FROM wiki_index JOIN wiki_links l ON l.source_path = path
       WHERE page_id = ? ORDER BY target_slug""",
    """SELECT target_path, place, page_key FROM wiki_index JOIN item_links l ON l.source_path = path
       WHERE page_id = ? ORDER BY target_path""",
    "SELECT file, place, heading, hash, owner, source_conv FROM blocks WHERE page_id = ?",
)


@dataclass(frozen=True, slots=True)
class Row:
    """All that the tables hold of one page, item or event. `values` are those of `_COLUMNS`, `searched` the
    columns of wiki_fts, `block` what the table blocks holds of an item or event behind its id.
    """

    kind: int
    path: str
    values: list[object]
    searched: tuple[str, str, str, str, str]
    tags: list[str]
    links: list[str]
    item_links: list[ItemLink]
    block: tuple[object, ...] | None = None

    @property
    def length(self) -> int:
        return max(len(self.searched[2].split()) + self.searched[4].count(" "), 1)

    def parts(self) -> Iterator[object]:
        """What `page_digest` reads of these rows."""
        yield self.path
        for name, value in zip(_COLUMNS, self.values, strict=True):
            yield value if value is None or name not in _REALS else float(cast(float, value))
        yield from self.searched
        yield self.length
        yield from self.tags
        for key in sorted(set(self.links)):
            yield from (key, self.values[_SLUG])
        for place, link in sorted(enumerate(self.item_links), key=lambda pair: pair[1].target_path):
            yield from (link.target_path, place, link.page_key)
        yield from self.block or ()


def put_page(db: sqlite3.Connection, path: str, node: WikiNode) -> None:
    """Bring the rows of the page at `path` to what `node` says."""
    item_links = find_item_links(node.body)
    links = [*map(clean_text, node.links), *(link.page_key for link in item_links)]
    tags = sorted({fold(clean_text(tag)) for tag in node.tags})
    row = Row(PAGES, path, column_values(node), _searched(node), tags, links, item_links)
    put_row(db, row)


def put_row(db: sqlite3.Connection, row: Row) -> None:
    """Bring everything of the page, item or event at `row.path` to `row`."""
    known = db.execute("SELECT page_id FROM wiki_index WHERE path = ?", (row.path,)).fetchone()
    page_id = int(known[0]) if known else new_id(db, row.kind)
    values = [*row.values, _digest(row.parts())]
    if known is None:
        db.execute(_INSERT, [page_id, row.path, *values])
    else:
        _drop_dependents(db, page_id, row.path)
        db.execute(_UPDATE, [*values, page_id])
    _put_dependents(db, page_id, row)
    if row.kind == PAGES:
        count_access(db, [row.path])


def drop_page(db: sqlite3.Connection, path: str) -> bool:
    """Take the page, item or event at `path` out of the index; False where it was not there."""
    row = db.execute("SELECT page_id FROM wiki_index WHERE path = ?", (path,)).fetchone()
    if row is None:
        return False
    _drop_dependents(db, row[0], path)
    db.execute("DELETE FROM wiki_index WHERE page_id = ?", (row[0],))
    return True


def put_links(db: sqlite3.Connection, path: str, slug: str, keys: Iterable[str]) -> None:
    """Replace all links that go out of the page at `path`."""
    db.execute("DELETE FROM wiki_links WHERE source_path = ?", (path,))
    db.executemany("INSERT OR IGNORE INTO wiki_links VALUES (?, ?, ?)", [(path, key, slug) for key in keys])


def count_access(db: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Bring access_count and last_access of these pages to what page and recalls.jsonl say together."""
    db.executemany(
        """UPDATE wiki_index SET
             access_count = own_access_count
               + ifnull((SELECT count FROM recall_counts r WHERE r.path = :path), 0),
             last_access = nullif(max(ifnull(own_last_access, ''),
               ifnull((SELECT last_access FROM recall_counts r WHERE r.path = :path), '')), '')
           WHERE path = :path""",
        [{"path": path} for path in paths],
    )


def seal(db: sqlite3.Connection, page_id: int) -> None:
    """Note a digest of all rows of a page, for the health check."""
    db.execute("UPDATE wiki_index SET digest = ? WHERE page_id = ?", (page_digest(db, page_id), page_id))


def page_digest(db: sqlite3.Connection, page_id: int) -> str:
    """A digest of all rows of a page as they are, its access counts aside."""
    parts: list[object] = []
    for query in _ALL_ROWS:
        for row in db.execute(query, (page_id,)):
            parts.extend(tuple(row))
    return _digest(parts)


def _digest(parts: Iterable[object]) -> str:
    text = "\0".join(map(str, parts)).encode("utf-8", "replace")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _searched(node: WikiNode) -> tuple[str, str, str, str, str]:
    """The columns of wiki_fts: slug, title, body, tags, extra."""
    body = clean_text(without_markers(node.body)[:BODY_LIMIT])
    title, tags = clean_text(node.title), clean_text(" ".join(node.tags))
    extra = index_terms(f"{title}\n{tags}\n{body}")
    if node.slug != slugify(node.title):
        extra += index_terms(node.slug)
    return clean_text(node.slug), title, body, tags, " ".join(extra)


def column_values(node: WikiNode, **own_values: object) -> list[object]:
    """What the columns of wiki_index hold of `node`; `own_values` are meant where given."""
    own = {
        "node_type": node.type,
        "own_access_count": node.access_count,
        "own_last_access": node.last_access,
        "slug_key": name_key(node.slug),
        "title_key": name_key(node.title),
        "tags": json.dumps(node.tags, ensure_ascii=False),
        "links": json.dumps(node.links, ensure_ascii=False),
        "sources": json.dumps(node.sources, ensure_ascii=False),
        "origin": origin_path(node),
        "moment": _moment(node),
        "expires_s": _expires(node),
        "valid_from_s": to_seconds(node.valid_from),
        **own_values,
    }
    return [_storable(own[name] if name in own else getattr(node, name)) for name in _COLUMNS]


def _storable(value: object) -> object:
    return clean_text(value) if isinstance(value, str) else value


def _moment(node: WikiNode) -> float:
    """What a time range means for the page (DESIGN §3): `updated`; for episodes when the session began."""
    started = to_seconds(node.started_at) if node.type == "episode" else None
    return started if started is not None else to_seconds(node.updated) or 0.0


def _expires(node: WikiNode) -> float | None:
    ends = [to_seconds(text, end=True) for text in (node.expires_at, node.valid_to)]
    return min((end for end in ends if end is not None), default=None)


def _put_dependents(db: sqlite3.Connection, page_id: int, row: Row) -> None:
    db.execute(
        "INSERT INTO wiki_fts (rowid, slug, title, body, tags, extra) VALUES (?, ?, ?, ?, ?, ?)",
        (page_id, *row.searched),
    )
    db.execute("INSERT INTO page_lengths VALUES (?, ?)", (page_id, row.length))
    if row.tags:
        db.executemany("INSERT INTO page_tags VALUES (?, ?)", [(tag, page_id) for tag in row.tags])
    if row.links:
        put_links(db, row.path, str(row.values[_SLUG]), row.links)
    put_item_links(db, row.path, row.item_links)
    if row.block is not None:
        db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", (page_id, *row.block))


def _drop_dependents(db: sqlite3.Connection, page_id: int, path: str) -> None:
    for table, column in (
        ("wiki_fts", "rowid"),
        ("page_lengths", "page_id"),
        ("page_tags", "page_id"),
        ("blocks", "page_id"),
    ):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (page_id,))
    for table in ("wiki_links", "item_links"):
        db.execute(f"DELETE FROM {table} WHERE source_path = ?", (path,))
