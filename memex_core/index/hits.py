"""Rows as hits: a page, an item or an event that answers a query (seed 000 §5.1)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from memex_core.index.item_links import item_label
from memex_core.index.kinds import EVENTS, ITEMS, PAGES, kind_of
from memex_core.index.link_manager import ITEM_OF_LINK, resolve
from memex_core.index.snippets import Snippet, snippets_of
from memex_core.model.results import RecallHit

MAX_LINKED = 100
"""More linked items than an answer is read for."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of the answer: found with a score, or linked to by the row `via`."""

    page: int
    score: float
    via: int | None = None


@dataclass(slots=True)
class Followed:
    """What a step along the links of the found rows leads to. `broken` are the item links that lead nowhere,
    `left_out` counts what is behind MAX_LINKED.
    """

    listed: list[Listed] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    left_out: int = 0


def follow_links(
    db: sqlite3.Connection, best: list[tuple[int, float]], hidden: Container[int], *, only_items: bool
) -> Followed:
    """The found rows, each followed by the items that it links to, or the pages that were imported from them,
    but for `hidden` ones: one hop, none twice, and what is found itself keeps its place.
    """
    links = _item_links(db, [page for page, _ in best])
    followed = Followed()
    seen = {page for page, _ in best}
    for page, score in best:
        followed.listed.append(Listed(page, score))
        for target, label in links.get(page, ()):
            if target is None:
                followed.broken.append(label)
            elif target not in seen and target not in hidden and (kind_of(target) == ITEMS or not only_items):
                seen.add(target)
                if len(seen) - len(best) > MAX_LINKED:
                    followed.left_out += 1
                else:
                    followed.listed.append(Listed(target, 0.0, page))
    return followed


def read_hits(
    db: sqlite3.Connection, root: Path, listed: list[Listed], terms: list[str], unsaid: Iterable[int] = ()
) -> list[RecallHit]:
    """The hits that these rows are, ranked in this order; `unsaid` hold none of the terms. Raises ValueError
    or TypeError for a row that cannot be one.
    """
    pages = [each.page for each in listed]
    rows = db.execute(
        """SELECT w.*, b.file, b.heading, b.owner FROM json_each(?) p JOIN wiki_index w ON w.page_id = p.value
           LEFT JOIN blocks b USING (page_id)""",
        (json.dumps(pages),),
    )
    found = {row["page_id"]: row for row in rows}
    linked = {each.page for each in listed if each.via is not None}
    snippets = snippets_of(db, pages, terms, unmarked=linked.union(unsaid))
    hits = []
    for rank, each in enumerate(listed, 1):
        via = None if each.via is None else found[each.via]["slug"]
        hits.append(_hit(root, found[each.page], snippets[each.page], each.score, rank, via))
    return hits


def _hit(
    root: Path, row: sqlite3.Row, snippet: Snippet, score: float, rank: int, via: str | None
) -> RecallHit:
    is_event = kind_of(row["page_id"]) == EVENTS
    return RecallHit(
        slug=row["slug"],
        file_path=f"{root}/{row['file'] or row['path']}",
        title=row["title"],
        node_type=row["node_type"],
        importance=row["importance"],
        score=score,
        rank=rank,
        snippet=snippet[0],
        snippet_source=snippet[1],
        tags=_list(row["tags"]),
        created=row["created"],
        updated=row["updated"],
        last_access=row["last_access"],
        transcript_ref=row["transcript_ref"],
        links=_list(row["links"]),
        project=row["project"],
        project_label=row["project_label"],
        sources=_list(row["sources"]),
        source="hit" if via is None else "link",
        via=via,
        owner=row["owner"],
        date=PurePath(row["file"]).stem if is_event else None,
        time=row["heading"] if is_event else None,
    )


def _list(text: str) -> list[str]:
    found: list[str] = json.loads(text) if text != "[]" else []
    return found


def _item_links(db: sqlite3.Connection, pages: list[int]) -> dict[int, list[tuple[int | None, str]]]:
    """(id of the item, or of the page that was imported from it, or None; `<file>:<name>`) of each item that
    a row links to, in the order of its links, by row.
    """
    rows = db.execute(
        f"""SELECT s.page_id, s.node_type, l.target_path, l.page_key, {ITEM_OF_LINK}
            FROM json_each(?) p JOIN wiki_index s ON s.page_id = p.value
            JOIN item_links l ON l.source_path = s.path
            ORDER BY s.page_id, l.place""",
        (json.dumps(pages),),
    ).fetchall()
    found: dict[int, list[tuple[int | None, str]]] = {}
    for page, node_type, target_path, page_key, target in rows:
        is_page = kind_of(page) == PAGES
        if (is_page or target is None) and resolve(db, page_key, node_type) is not None:
            continue  # the page of that name is meant
        found.setdefault(page, []).append((target, item_label(target_path)))
    return found
