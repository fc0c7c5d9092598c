"""Links between pages (seed 000 §7, Utility 4; DESIGN §3 rows slug, `[[slug]]`), and from and to items of
RecallFiles (`[[file:item]]`), and to the pages that were imported from such.

A link is stored as its key and resolved when it is asked for: a page that appears later mends it. A key
means the page whose slug it is, else the page whose title it is; of several, one of the source's own type
first. An item's slug, which names it here, is `<file>:<name>`, an event's `<date>#<ordinal>`.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from memex_core.files.lock import memory_lock
from memex_core.index.connection import reading, writing
from memex_core.index.index_manager import BY_TYPE, find_path
from memex_core.index.item_links import item_label
from memex_core.index.page_rows import put_links, seal
from memex_core.index.rebuild import is_as_left, remember_file_as_left
from memex_core.paths import NODE_TYPES
from memex_core.text.links import parse_links

ITEM_OF_LINK = f"""ifnull(
  (SELECT page_id FROM wiki_index WHERE path = l.target_path),
  (SELECT page_id FROM wiki_index WHERE origin = l.target_path ORDER BY {BY_TYPE} LIMIT 1))"""
"""SQL: the id of the item to which `l`, a row of item_links, leads, or of the page that was imported from it;
NULL where there is neither."""


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """One end of a link. `path` is relative to the memory root."""

    path: str
    node_type: str
    slug: str
    title: str


class LinkManager:
    """Links in the index at `db_path`.

    A page is named by its slug or `<type>/<slug>`. Raises IndexUnusable.
    """

    def __init__(self, db_path: Path | str, *, root: Path | None = None) -> None:
        self.db_path = db_path
        self.root = Path(db_path).parent if root is None else root

    def parse_links(self, body: str) -> list[str]:
        """The keys of the links in a body, without duplicates."""
        return parse_links(body)

    def sync_links(self, source_slug: str, body: str) -> list[str]:
        """Replace the links that go out of a page by those in `body`; returns their keys."""
        keys = parse_links(body)
        with memory_lock(self.root):
            as_left = is_as_left(Path(self.db_path))
            with writing(self.db_path) as db:
                path = find_path(db, source_slug)
                if path is None:
                    raise IndexError(f"no page named {source_slug}")
                page_id, slug = db.execute(
                    "SELECT page_id, slug FROM wiki_index WHERE path = ?", (path,)
                ).fetchone()
                put_links(db, path, slug, keys)
                seal(db, page_id)
            if as_left:
                remember_file_as_left(Path(self.db_path))
        return keys

    def find(self, name: str) -> LinkedPage | None:
        """The page, item or event that a slug names, `<type>/<slug>` too."""
        with reading(self.db_path) as db:
            return _page(db, name)

    def get_outgoing(self, slug: str) -> list[str]:
        """The slugs of what the page, item or event links to, and the keys of its broken links, sorted."""
        with reading(self.db_path) as db:
            source = _page(db, slug)
            if source is None:
                return []
            return sorted({target.slug if target else key for key, target in _edges(db, source)})

    def get_backlinks(self, slug: str) -> list[str]:
        """The slugs of the pages that link to this one, sorted."""
        return sorted({page.slug for page in self.linking_pages(slug)})

    def linking_pages(self, slug: str, node_type: str | None = None) -> list[LinkedPage]:
        """The pages that link to this one, sorted by path."""
        with reading(self.db_path) as db:
            target = _page(db, slug, node_type)
            if target is None:
                return []
            return [page for page in _candidates(db, target) if _links_to(db, page, target)]

    def link_exists(self, source_slug: str, target_slug: str) -> bool:
        """True where the source links to the page `target_slug`, or holds a broken link of that key."""
        return target_slug.rpartition("/")[2] in self.get_outgoing(source_slug)

    def validate_links(self, slug: str) -> list[str]:
        """The keys of the broken links of a page, item or event, sorted."""
        with reading(self.db_path) as db:
            source = _page(db, slug)
            if source is None:
                return []
            return sorted({key for key, target in _edges(db, source) if target is None})

    def broken_links(self) -> list[tuple[str, str]]:
        """(path of the page, item or event, key) of every broken link, sorted. The key of a link to an item
        is `<file>:<name>`.
        """
        with reading(self.db_path) as db:
            page_links = db.execute(
                """SELECT l.source_path, l.target_slug, w.node_type
                   FROM wiki_links l JOIN wiki_index w ON w.path = l.source_path
                   WHERE NOT EXISTS (
                     SELECT 1 FROM item_links i
                     WHERE i.source_path = l.source_path AND i.page_key = l.target_slug)"""
            ).fetchall()
            item_links = db.execute(
                f"""SELECT l.source_path, l.target_path, w.node_type, l.page_key
                    FROM item_links l JOIN wiki_index w ON w.path = l.source_path
                    WHERE {ITEM_OF_LINK} IS NULL"""
            ).fetchall()
            found = {(row[0], row[1]) for row in page_links if resolve(db, row[1], row[2]) is None}
            return sorted(
                found
                | {(row[0], item_label(row[1])) for row in item_links if resolve(db, row[3], row[2]) is None}
            )

    def get_link_graph(self) -> dict[str, list[str]]:
        """Slug -> slugs and broken keys it links to, for every page, item and event with links."""
        with reading(self.db_path) as db:
            query = "SELECT source_path FROM wiki_links UNION SELECT source_path FROM item_links"
            sources = db.execute(
                f"SELECT path, node_type, slug, title FROM wiki_index WHERE path IN ({query}) ORDER BY slug"
            ).fetchall()
            graph: dict[str, list[str]] = {}
            for source in (LinkedPage(*row) for row in sources):
                targets = {target.slug if target else key for key, target in _edges(db, source)}
                graph[source.slug] = sorted({*graph.get(source.slug, ()), *targets})
            return graph


def resolve(db: sqlite3.Connection, key: str, source_type: str) -> LinkedPage | None:
    """The page that a link key in a page of `source_type` means, or None where the link is broken."""
    kind, _, name = key.rpartition("/")
    for column in ("slug_key", "title_key") if name else ():
        row = db.execute(
            f"""SELECT path, node_type, slug, title FROM wiki_index
                WHERE {column} = :name AND (:kind = '' OR node_type = :kind)
                ORDER BY node_type <> :source, {BY_TYPE} LIMIT 1""",
            {"name": name, "kind": kind, "source": source_type},
        ).fetchone()
        if row is not None:
            return LinkedPage(*row)
    return None


def _page(db: sqlite3.Connection, slug: str, node_type: str | None = None) -> LinkedPage | None:
    path = find_path(db, slug, node_type)
    if path is None:
        return None
    row = db.execute("SELECT path, node_type, slug, title FROM wiki_index WHERE path = ?", (path,)).fetchone()
    return LinkedPage(*row)


def _keys(db: sqlite3.Connection, path: str) -> list[str]:
    rows = db.execute("SELECT target_slug FROM wiki_links WHERE source_path = ?", (path,))
    return [str(row[0]) for row in rows]


def _edges(db: sqlite3.Connection, source: LinkedPage) -> list[tuple[str, LinkedPage | None]]:
    """(key, where it leads or None) of every link that goes out.

    `[[file:item]]` in an item or event means the item first, in a page the page of that name; the other one
    where there is no such.
    """
    item_links = db.execute(
        f"""SELECT l.page_key, l.target_path, t.path, t.node_type, t.slug, t.title
            FROM item_links l LEFT JOIN wiki_index t ON t.page_id = {ITEM_OF_LINK}
            WHERE l.source_path = ? ORDER BY l.place""",
        (source.path,),
    ).fetchall()
    keys, as_items = _keys(db, source.path), {row[0] for row in item_links}
    pages = {key: resolve(db, key, source.node_type) for key in {*keys, *as_items}}
    edges = [(key, pages[key]) for key in keys if pages[key] or key not in as_items]
    for page_key, path, *found in item_links:
        item, page = LinkedPage(*found) if found[0] else None, pages[page_key]
        if source.node_type not in NODE_TYPES or page is None:
            edges.append((item_label(path), item or page))
    return edges


def _candidates(db: sqlite3.Connection, target: LinkedPage) -> list[LinkedPage]:
    """What holds a link whose key could mean the target."""
    rows = db.execute(
        """SELECT DISTINCT s.path, s.node_type, s.slug, s.title
           FROM wiki_index t
           JOIN wiki_links l ON l.target_slug IN
             (t.slug_key, t.title_key, t.node_type || '/' || t.slug_key, t.node_type || '/' || t.title_key)
           JOIN wiki_index s ON s.path = l.source_path
           WHERE t.path = :path AND t.slug_key <> ''
           UNION SELECT s.path, s.node_type, s.slug, s.title
           FROM wiki_index t
           JOIN item_links l ON l.page_key IN
             (t.slug_key, t.title_key, t.node_type || '/' || t.slug_key, t.node_type || '/' || t.title_key)
           JOIN wiki_index s ON s.path = l.source_path
           WHERE t.path = :path AND t.slug_key <> ''
           UNION SELECT s.path, s.node_type, s.slug, s.title
           FROM wiki_index t
           JOIN item_links l ON l.target_path IN (t.path, t.origin)
           JOIN wiki_index s ON s.path = l.source_path
           WHERE t.path = :path ORDER BY 1""",
        {"path": target.path},
    )
    return [LinkedPage(*row) for row in rows.fetchall()]


def _links_to(db: sqlite3.Connection, source: LinkedPage, target: LinkedPage) -> bool:
    return any(found == target for _, found in _edges(db, source))
