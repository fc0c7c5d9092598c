"""The days of the diary that a recall may answer from (formats page 2.3). Without a window it is closed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from memex_core.index.filters import Filters
from memex_core.index.kinds import EVENT, EVENTS
from memex_core.text.instant import to_seconds
from memex_core.text.query_terms import query_terms
from memex_core.text.stop_words import STOP_WORDS

FIRST_DAY, LAST_DAY = "0000-00-00", "9999-99-99"
"""What stands for a side of a window that is open."""
# What is left of "what did we do on Monday" in Chinese: particles, pronouns, "what", "did".
_EMPTY_WORDS = re.compile(
    r"[我你您他她它们咱的了吗呢啊吧过着都些什么哪做干在是有没那这和与\s，。？！、?!,.]+"
)


_DATE = re.compile(r"[0-9]\D+[0-9]")
"""A term for a whole date, not for one of its numbers."""

_ASKING = {
    *("work", "works", "worked", "working", "happen", "happens", "happened", "happening", "go", "going"),
    *("went", "gone", "get", "got", "make", "made", "doing", "done", "event", "events", "diary", "day"),
    *("days", "accomplish", "accomplished", "achieve", "achieved"),
}
"""What is left of "what did I work on yesterday": it asks for whatever there was."""


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` to `end`, both inclusive, YYYY-MM-DD. `places` are all of the query that speaks of a time:
    from the first character to behind the last one; `said` are the words that mean this window; "" where the
    caller asked for it. `widened` by a day at both sides, because it held no event. `since` and `until` cut
    within these days: local times of day, as ISO 8601.
    """

    start: str
    end: str
    places: tuple[tuple[int, int], ...] = ()
    said: str = ""
    widened: bool = False
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A window with the ids of its events, which may be none. `terms` are what the query asks for beside the
    time; in a window without events its dates are asked for, too, as others may write them.
    """

    window: Window
    events: frozenset[int]
    terms: list[str]


def open_diary(
    db: sqlite3.Connection, query: str, filters: Filters, ask: Callable[[], Window | None]
) -> Opened | None:
    """The window that `ask` gives, widened where that helps an empty one; None where the diary stays closed:
    nobody asked for a time, the filters let no event pass, or there is no diary.
    """
    if filters.node_type not in (None, EVENT) or filters.tags or not _has_events(db):
        return None
    window = ask()
    if window is None:
        return None
    is_closed = window.start > FIRST_DAY and window.end < LAST_DAY and not (window.since or window.until)
    for tried in (window, _widened(window)) if is_closed else (window,):
        events = _events(db, tried, filters.project)
        if events:
            return Opened(tried, frozenset(events), _other_terms(query, window))
    said = (query[start:end] for start, end in window.places)
    dates = [term for words in said for term in query_terms(words) if _DATE.search(term)]
    return Opened(window, frozenset(), [*_other_terms(query, window), *dates])


def newest(db: sqlite3.Connection, opened: Opened, limit: int) -> list[int]:
    """The ids of the window's last events, the last one first."""
    rows = db.execute(
        """SELECT page_id FROM blocks JOIN wiki_index USING (page_id) WHERE file BETWEEN ? AND ?
           ORDER BY moment DESC, place DESC""",
        _files(opened.window),
    )
    return [row[0] for row in rows if row[0] in opened.events][:limit]


def _has_events(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT documents FROM corpus WHERE kind = ?", (EVENTS,)).fetchone()[0])


def _events(db: sqlite3.Connection, window: Window, project: str | None) -> list[int]:
    """The ids of the window's events; with a project only those of its sessions."""
    query = "SELECT page_id FROM blocks JOIN wiki_index USING (page_id) WHERE file BETWEEN ? AND ?"
    values: list[object] = [*_files(window)]
    for bound, operator in ((window.since, ">="), (window.until, "<=")):
        if bound:
            query += f" AND moment {operator} ?"
            values.append(to_seconds(bound))
    if project is not None:
        query += " AND source_conv IN (SELECT session_id FROM sessions WHERE project = ?)"
        values.append(project)
    return [row[0] for row in db.execute(query, values)]


def _files(window: Window) -> tuple[str, str]:
    return f"diary/{window.start}.md", f"diary/{window.end}.md"


def _widened(window: Window) -> Window:
    return replace(window, start=_beside(window.start, -1), end=_beside(window.end, 1), widened=True)


def _beside(day: str, step: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=step)).isoformat()
    except (ValueError, OverflowError):
        return day


def _other_terms(query: str, window: Window) -> list[str]:
    """The search terms of `query` without the words that speak of time or of nothing."""
    for start, end in window.places:
        query = query[:start] + " " * (end - start) + query[end:]
    if not query.isascii() and not _EMPTY_WORDS.sub("", query):
        return []
    return [term for term in query_terms(query) if term not in STOP_WORDS and term not in _ASKING]
