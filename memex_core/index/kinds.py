"""Pages, items of RecallFiles and events of the diary: rows of the same tables, told apart by their ids.

An id says its kind by its range, so that a query leaves the diary out with one comparison.
"""

from __future__ import annotations

import sqlite3

PAGES, ITEMS, EVENTS = 0, 1, 2
"""The kinds, as table `corpus` has them."""
ITEM, EVENT = "item", "event"
"""Their `node_type`; that of a page is one of paths.NODE_TYPES."""
KIND_BITS = 40
"""An id says its kind above these bits; schema.sql says so, too."""


def first_id(kind: int) -> int:
    """The least id that a row of this kind can have."""
    return kind << KIND_BITS


def kind_of(page_id: int) -> int:
    return page_id >> KIND_BITS


def new_id(db: sqlite3.Connection, kind: int) -> int:
    """The id of the next row of this kind."""
    last = db.execute(
        "SELECT max(page_id) FROM wiki_index WHERE page_id < ?", (first_id(kind + 1),)
    ).fetchone()[0]
    return max(last or 0, first_id(kind)) + 1
