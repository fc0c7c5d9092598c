"""The texts that a recall can find, as the index holds them: what is embedded (formats page 2.2)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from memex_core.index.diary_window import Opened
from memex_core.index.kinds import EVENTS, first_id, kind_of


@dataclass(frozen=True, slots=True)
class Document:
    """A page, item or event. `path` is how the index knows it, `kind` one of index/kinds.py.

    `file` is `<folder>/<slug>` of a page, the RecallFile of an item, the day of an event; `name` the title,
    the item's name, the event's time. `is_asked` False: an event of a day that is asked about, but of another
    project.
    """

    path: str
    kind: int
    file: str
    name: str
    content: str
    is_asked: bool = True


def documents(db: sqlite3.Connection, opened: Opened | None) -> Iterator[Document]:
    """All pages, then all items by their files, both in the order in which they were indexed, then all events
    of the days of `opened`, as they stand there.
    """
    columns = """SELECT w.page_id, w.path, f.title, f.body, b.file, b.heading FROM wiki_index w
                 JOIN wiki_fts f ON f.rowid = w.page_id LEFT JOIN blocks b USING (page_id)"""
    query = f"""{columns} WHERE w.page_id < ?
                ORDER BY b.file IS NOT NULL, substr(b.file, 1, length(b.file) - 3), w.page_id"""
    yield from map(_document, db.execute(query, (first_id(EVENTS),)))
    if opened is not None:
        window = f"{columns} WHERE b.file BETWEEN ? AND ? ORDER BY b.file, b.place"
        start, end = f"diary/{opened.window.start}.md", f"diary/{opened.window.end}.md"
        for row in db.execute(window, (start, end)):
            yield _document(row, is_asked=row["page_id"] in opened.events)


def _document(row: sqlite3.Row, *, is_asked: bool = True) -> Document:
    place = str(row["file"] or row["path"])
    file = place.partition("/")[2].removesuffix(".md")
    name = row["title"] if row["heading"] is None else row["heading"]
    return Document(row["path"], kind_of(row["page_id"]), file, name, row["body"], is_asked)
