"""The index as a whole (seed 000 §7, Utility 2): made, brought up to date page by page, asked for what it
holds.

Pages are known by their path relative to the memory root. Every method opens one short connection; failures
are IndexUnusable. `sync.sync` keeps the index equal to the files; nothing here needs to be called for that.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from memex_core.files.lock import memory_lock
from memex_core.index.connection import IndexUnusable, reading, require_version, writing
from memex_core.index.file_rows import drop_file, put_file, read_file
from memex_core.index.health import find_damage
from memex_core.index.journal_mode import choose_journal_mode
from memex_core.index.kinds import EVENT, ITEM, ITEMS, PAGES, first_id
from memex_core.index.page_rows import put_page
from memex_core.index.rebuild import build_new, fill_from_files, is_as_left, remember_file_as_left
from memex_core.index.recall_counts import count_recalls
from memex_core.model.node import WikiNode
from memex_core.paths import FOLDER_OF_TYPE, NODE_TYPES, TYPE_OF_FOLDER
from memex_core.text.clean import clean_text
from memex_core.text.instant import to_iso
from memex_core.text.links import name_key
from memex_core.text.slug import title_key

RECALL_WAIT_S = 0.2
"""How long a recall waits to count itself; the next heal counts it otherwise."""
_TYPE_ORDER = " ".join(f"WHEN '{kind}' THEN {i}" for i, kind in enumerate(NODE_TYPES))
BY_TYPE = f"CASE node_type {_TYPE_ORDER} ELSE 9 END, path"
"""The order in which pages of one slug are meant."""


class IndexManager:
    """The index file `db_path` of the memory root `root` (the folder of `db_path` unless given)."""

    def __init__(self, db_path: Path, *, root: Path | None = None, journal_mode: str = "auto") -> None:
        self.db_path = db_path
        self.root = db_path.parent if root is None else root
        self.journal_mode, self.journal_mode_reason = choose_journal_mode(db_path, journal_mode)

    def initialize(self) -> None:
        """Make an empty index where there is no usable one; otherwise do nothing."""
        if self.why_unusable() is not None:
            build_new(self.db_path, self.root, lambda db: None, journal_mode=self.journal_mode)

    def why_unusable(self) -> IndexUnusable | None:
        """None where the index can be read and is of this version, else what is wrong with it."""
        try:
            with reading(self.db_path) as db:
                require_version(db)
        except IndexUnusable as error:
            return error
        return None

    def check_health(self) -> str:
        """Empty where the index is whole, else what is wrong: the thorough check, 0.1 s per 1,000 pages."""
        unusable = self.why_unusable()
        if unusable is not None:
            return unusable.why
        try:
            return self.find_damage()
        except IndexUnusable as error:
            return error.why

    def find_damage(self) -> str:
        """As `check_health`; raises IndexUnusable where the index cannot be checked now (locked,
        read-only).
        """
        try:
            with writing(self.db_path) as db:
                return find_damage(db)
        except IndexUnusable as error:
            if error.trouble == "damaged":
                return error.why
            raise

    def is_as_left(self) -> bool:
        """False where something else changed the file; then `check_health` decides."""
        return is_as_left(self.db_path)

    def remember_as_left(self) -> None:
        remember_file_as_left(self.db_path)

    def build(self, nodes: Iterable[WikiNode]) -> int:
        """A new index of just these nodes, in place of the old one; returns how many."""
        kept = list(nodes)

        def fill(db: sqlite3.Connection) -> None:
            for node in kept:
                self._put(db, node)

        build_new(self.db_path, self.root, fill, journal_mode=self.journal_mode)
        return len(kept)

    def rebuild_from_wiki(self, wiki_dir: Path | None = None) -> int:
        """A new index from the files of the memory root (`wiki_dir` is its docs/); returns the number of
        pages.

        What is odd about a page is kept with it: see `warnings`.
        """
        root = self.root if wiki_dir is None else wiki_dir.parent
        fill = fill_from_files(root, time.time(), [])
        build_new(self.db_path, self.root, fill, journal_mode=self.journal_mode)
        return self.count()

    def update_record(self, node: WikiNode, *, upsert: bool = True) -> None:
        """Bring one page's rows to its file, or to `node` where it has none.

        Raises IndexError without `upsert`.
        """
        with self.changing() as db:
            path = self.path_of(node)
            if not upsert and not db.execute("SELECT 1 FROM wiki_index WHERE path = ?", (path,)).fetchone():
                raise IndexError(f"no page at {path}")
            self._put(db, node)

    def remove_record(self, slug: str, node_type: str | None = None) -> None:
        """Take a page out of the index; nothing happens where it is not there."""
        with self.changing() as db:
            path = find_path(db, slug, node_type)
            if path is not None:
                drop_file(db, path)

    def get_meta(self, key: str) -> str | None:
        with reading(self.db_path) as db:
            row = db.execute("SELECT value FROM index_meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        with self.changing() as db:
            db.execute("INSERT OR REPLACE INTO index_meta VALUES (?, ?)", (key, value))

    def get_all_slugs(self) -> list[str]:
        """The slugs of all pages, in the order of their paths; one that two types use comes twice."""
        return self._column(
            "SELECT slug FROM wiki_index WHERE page_id < ? ORDER BY path", first_id(PAGES + 1)
        )

    def get_by_type(self, node_type: str) -> list[str]:
        return self._column("SELECT slug FROM wiki_index WHERE node_type = ? ORDER BY path", node_type)

    def count(self) -> int:
        """How many pages the index holds; items and events are none."""
        with reading(self.db_path) as db:
            return int(db.execute("SELECT documents FROM corpus WHERE kind = ?", (PAGES,)).fetchone()[0])

    def count_by_type(self) -> dict[str, int]:
        """Pages by type, in the order of `paths.NODE_TYPES`, then items and events, where there are any."""
        with reading(self.db_path) as db:
            rows = db.execute("SELECT node_type, count(*) FROM wiki_index GROUP BY node_type").fetchall()
        found = {row[0]: row[1] for row in rows}
        return {kind: found[kind] for kind in (*NODE_TYPES, ITEM, EVENT) if kind in found}

    def warnings(self) -> list[tuple[str, str]]:
        """(path, what is odd about it) of every page and sidecar that is only partly understood."""
        with reading(self.db_path) as db:
            rows = db.execute("SELECT path, problem FROM indexed_files WHERE problem <> '' ORDER BY path")
            return [(row[0], row[1]) for row in rows]

    def increment_access(self, slug: str, node_type: str | None = None) -> None:
        """Count one access now.

        The lasting record is a line in recalls.jsonl: `sync` counts those, and only those.
        """
        with self.changing() as db:
            path = find_path(db, slug, node_type)
            if path is None:
                raise IndexError(f"no page named {slug}")
            db.execute(
                "UPDATE wiki_index SET access_count = access_count + 1, last_access = ? WHERE path = ?",
                (to_iso(time.time()), path),
            )

    def note_recalls(self, timeout: float = RECALL_WAIT_S) -> None:
        """Bring the access counts to what recalls.jsonl says by now. Raises LockTimeout, IndexUnusable."""
        with self.changing(timeout) as db:
            count_recalls(db, self.root)

    def get_access(self, slug: str, node_type: str | None = None) -> tuple[int, str | None]:
        """How often a page was recalled and when last; (0, None) for one that is not there."""
        with reading(self.db_path) as db:
            row = db.execute(
                "SELECT access_count, last_access FROM wiki_index WHERE path = ?",
                (find_path(db, slug, node_type),),
            ).fetchone()
        return (row[0], row[1]) if row else (0, None)

    def slug_of_title(self, title: str, node_type: str) -> str:
        """The slug of the page of that title, "" where there is none; case and spacing aside."""
        with reading(self.db_path) as db:
            rows = db.execute(
                "SELECT slug, title FROM wiki_index WHERE title_key = ? AND node_type = ? ORDER BY path",
                (name_key(title), node_type),
            ).fetchall()
        return next((str(row[0]) for row in rows if title_key(row[1]) == title_key(title)), "")

    def purge(self) -> None:
        """Leave no word of deleted pages in the file: the full-text index drops what it only marked deleted,
        and SQLite overwrites what it frees.
        """
        with self.changing() as db:
            db.execute("INSERT INTO wiki_fts (wiki_fts) VALUES ('optimize')")

    def close(self) -> None:
        """Nothing is held open between operations."""

    def path_of(self, node: WikiNode) -> str:
        """The page's path relative to the memory root, with forward slashes."""
        if node.file_path is not None:
            with contextlib.suppress(ValueError):
                return node.file_path.relative_to(self.root).as_posix()
        return f"docs/{FOLDER_OF_TYPE[node.type]}/{node.slug}.md"

    def _put(self, db: sqlite3.Connection, node: WikiNode) -> None:
        path = self.path_of(node)
        read = read_file(self.root, path)
        if read is not None:
            put_file(db, read)
        else:
            put_page(db, path, node)

    @contextlib.contextmanager
    def changing(self, timeout: float = 10.0) -> Iterator[sqlite3.Connection]:
        """One transaction under the memory lock.

        Raises LockTimeout after `timeout` seconds, IndexUnusable.
        """
        with memory_lock(self.root, timeout):
            as_left = self.is_as_left()
            with writing(self.db_path, self.journal_mode) as db:
                yield db
            if as_left:  # what something else changed stays in question
                self.remember_as_left()

    def _column(self, query: str, *values: object) -> list[str]:
        with reading(self.db_path) as db:
            return [str(row[0]) for row in db.execute(query, values)]


def find_path(db: sqlite3.Connection, slug: str, node_type: str | None = None) -> str | None:
    """The path of the page that `slug` or `<type>/<slug>` means (letter case and title count
    last), else of the item `<file>:<name>` or the event `<date>#<ordinal>`, or None.
    """
    prefix, _, name = slug.rpartition("/")
    kind = node_type or TYPE_OF_FOLDER.get(prefix, prefix) or None
    for column, value in (
        ("slug", clean_text(name)),
        ("slug_key", name_key(name)),
        ("title_key", name_key(name)),
    ):
        row = db.execute(
            f"""SELECT path FROM wiki_index WHERE {column} = :value AND page_id < :items
                  AND (:kind IS NULL OR node_type = :kind)
                ORDER BY {BY_TYPE}""",
            {"value": value, "kind": kind, "items": first_id(ITEMS)},
        ).fetchone()
        if row is not None:
            return str(row[0])
    row = db.execute(
        "SELECT path FROM wiki_index WHERE slug = ? AND page_id >= ?", (clean_text(slug), first_id(ITEMS))
    ).fetchone()
    return str(row[0]) if row and node_type in (None, ITEM, EVENT) else None
