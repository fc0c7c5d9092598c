"""Which pages and items a recall may return: type, time, tags, project, and whether they still hold. Events
of the diary are let in by a window of days (index/diary_window.py).
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from memex_core.errors import WrongValue
from memex_core.index.kinds import EVENTS, first_id
from memex_core.text.instant import local_bound, to_seconds
from memex_core.text.slug import fold


@dataclass(frozen=True, slots=True)
class Filters:
    """What a caller asks for; None and empty mean no restriction."""

    node_type: str | None
    time_range: tuple[str | None, str | None] | None
    tags: list[str]
    project: str | None


def allowed_pages(db: sqlite3.Connection, filters: Filters) -> set[int] | None:
    """The ids of the pages and items that pass, None where all do. Raises ValueError for a time range that is
    none.
    """
    conditions: list[str] = []
    values: list[object] = []
    if filters.node_type is not None:
        conditions.append("node_type = ?")
        values.append(filters.node_type)
    if filters.project is not None:
        conditions.append("project = ?")
        values.append(filters.project)
    if filters.time_range is not None:
        begin, end = filters.time_range
        for text, operator, is_end in ((begin, ">=", False), (end, "<=", True)):
            if text:
                conditions.append(f"moment {operator} ?")
                values.append(_seconds(text, is_end))
    for tag in filters.tags:
        conditions.append("page_id IN (SELECT page_id FROM page_tags WHERE tag = ?)")
        values.append(fold(tag.lstrip("#")))
    if not conditions:
        return None
    conditions.append("page_id < ?")
    values.append(first_id(EVENTS))
    query = f"SELECT page_id FROM wiki_index WHERE {' AND '.join(conditions)}"
    return {row[0] for row in db.execute(query, values)}


def hidden_pages(db: sqlite3.Connection, now: float) -> set[int]:
    """The ids of the pages that do not hold at `now` (seconds): expired, not valid any more, or not yet."""
    rows = db.execute(
        """SELECT page_id FROM wiki_index
           WHERE (expires_s IS NOT NULL OR valid_from_s IS NOT NULL)
             AND (expires_s <= :now OR valid_from_s > :now)""",
        {"now": now},
    )
    return {row[0] for row in rows}


def _seconds(text: str, is_end: bool) -> float:
    """A bound in seconds; a date alone is a day of this machine's zone, as those of the diary are."""
    seconds = to_seconds(local_bound(text, end=is_end))
    if seconds is None:
        raise WrongValue(f"not a date or time: {text!r}; write 2026-09-15 or 2026-09-15T10:00:00Z")
    return seconds
