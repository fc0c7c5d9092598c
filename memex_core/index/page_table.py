"""Pages as rows, for lists that need no search: the rules of a project, all pages with their warnings."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memex_core.index.connection import reading
from memex_core.index.filters import hidden_pages
from memex_core.index.memory_index import index_in_memory

BODY_CHARS = 600


@dataclass(frozen=True, slots=True)
class PageRow:
    """What a list shows of a page. `path` is relative to the memory root, `body` the beginning of its
    text.
    """

    path: str
    slug: str
    title: str
    node_type: str
    updated: str
    importance: float
    project_label: str
    body: str


class PageTable:
    """What the index knows of pages. Raises IndexUnusable."""

    def __init__(self, db_path: Path | str) -> None:
        self.db_path = db_path

    def of_project(self, project: str, node_types: Sequence[str], *, now: float, limit: int) -> list[PageRow]:
        """Pages of the project and pages of no project, of these types, that hold at `now` (seconds); the
        most important first, then the latest.
        """
        marks = ", ".join("?" * len(node_types))
        with reading(self.db_path) as db:
            hidden = hidden_pages(db, now)
            rows = db.execute(
                f"""SELECT page_id, path, w.slug, w.title, node_type, updated, importance, project_label,
                      substr(f.body, 1, {BODY_CHARS}) AS body
                    FROM wiki_index w JOIN wiki_fts f ON f.rowid = w.page_id
                    WHERE node_type IN ({marks}) AND (project = ? OR project IS NULL OR project = '')
                    ORDER BY importance DESC, updated DESC, path""",
                (*node_types, project),
            )
            kept = [_row(row) for row in rows if row["page_id"] not in hidden]
        return kept[:limit]


def _row(row: sqlite3.Row) -> PageRow:
    values = {name: row[name] for name in PageRow.__slots__}
    return PageRow(**values | {"project_label": row["project_label"] or ""})


def pages_of_project(
    root: Path, project: str, node_types: Sequence[str], *, now: float, limit: int
) -> list[PageRow]:
    """What `PageTable.of_project` would answer, from the files alone."""
    with index_in_memory(root) as uri:
        return PageTable(uri).of_project(project, node_types, now=now, limit=limit)
