"""Recall: BM25 over pages, with k1 and b that act (seed 000 §7, Utility 3; DESIGN §3 rows score, k1, FTS).

The full-text index gives the places of each term; the score is our own, because SQLite's bm25() is fixed at
1.2 and 0.75 and gives words of more than half of the pages no weight. Time is linear in the places read, so
a long query asks for its rare terms first and stops at a budget.
"""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from memex_core.index.connection import IndexUnusable, reading
from memex_core.index.filters import Filters, allowed_pages, hidden_pages
from memex_core.index.snippets import snippet_of
from memex_core.index.tokens import stems_of
from memex_core.model.results import RecallHit
from memex_core.text.query_terms import query_terms

TUNED_K1 = 0.9
TUNED_B = 0.4
_FIELD_WEIGHTS = {"title": 2.0, "tags": 1.5, "slug": 0.5}  # the rest counts 1
_SURE_TERMS = 6  # a query of so few terms is answered whole
_EQUAL = 1e-6  # scores this close are equal
_BUDGET = 8_000  # matching pages over all terms of a longer query, about 1 ms a thousand


@dataclass(slots=True)
class _Scored:
    """Scores by page, and the terms that were asked for."""

    scores: dict[int, float] = field(default_factory=dict)
    terms: list[str] = field(default_factory=list)


class BM25Retriever:
    """Answers queries from the index at `db_path`. `k1` and `b` None: values tuned for memory pages."""

    def __init__(
        self,
        db_path: Path | str,
        k1: float | None = None,
        b: float | None = None,
        *,
        root: Path | None = None,
    ) -> None:
        self.db_path = db_path
        self.k1 = TUNED_K1 if k1 is None else k1
        self.b = TUNED_B if b is None else b
        self.root = Path(db_path).parent if root is None else root

    def retrieve(
        self,
        query: str,
        top_k: int = 10,
        node_type: str | None = None,
        time_range: tuple[str | None, str | None] | None = None,
        tags: list[str] | None = None,
        include_expired: bool = False,
        project: str | None = None,
        *,
        now: float | None = None,
    ) -> list[RecallHit]:
        """The best `top_k` pages, the best first, equal scores by path. Any text is a query; none gives no
        hits.

        `tags` must all be there; `time_range` is ISO 8601, both ends inclusive, on `updated` (episodes:
        `started_at`); `project` is a project id. Raises IndexUnusable.
        """
        filters = Filters(node_type, time_range, tags or [], project)
        with reading(self.db_path) as db:
            found = self._score(db, query)
            allowed = allowed_pages(db, filters)
            hidden = set() if include_expired else hidden_pages(db, time.time() if now is None else now)
            pages = [p for p in found.scores if p not in hidden and (allowed is None or p in allowed)]
            best = _best(db, {page: found.scores[page] for page in pages}, top_k)
            try:
                return [
                    self._hit(db, page, score, rank, found.terms)
                    for rank, (page, score) in enumerate(best, 1)
                ]
            except (ValueError, TypeError) as error:
                raise IndexUnusable("damaged", f"a row cannot be read: {error}") from error

    def search_fts(self, query: str, top_k: int) -> list[tuple[str, float]]:
        """(slug, score) of the best pages, without filters; a higher score is better."""
        with reading(self.db_path) as db:
            best = _best(db, self._score(db, query).scores, top_k)
            return [
                (
                    str(db.execute("SELECT slug FROM wiki_index WHERE page_id = ?", (page,)).fetchone()[0]),
                    score,
                )
                for page, score in best
            ]

    def _score(self, db: sqlite3.Connection, query: str) -> _Scored:
        found = _Scored(terms=query_terms(query))
        pages, words = db.execute("SELECT count(*), total(length) FROM page_lengths").fetchone()
        if not found.terms or not pages:
            return found
        average = words / pages
        flat, steep = self.k1 * (1 - self.b), self.k1 * self.b / average
        for stem, prefix in _affordable(db, stems_of(found.terms)):
            matches = _matches(db, stem, prefix)
            idf = math.log(1 + (pages - len(matches) + 0.5) / (len(matches) + 0.5)) * (self.k1 + 1)
            for page, frequency, length in matches:
                gain = idf * frequency / (frequency + flat + steep * length)
                found.scores[page] = found.scores.get(page, 0.0) + gain
        return found

    def _hit(self, db: sqlite3.Connection, page: int, score: float, rank: int, terms: list[str]) -> RecallHit:
        row = db.execute("SELECT * FROM wiki_index WHERE page_id = ?", (page,)).fetchone()
        snippet, source = snippet_of(db, page, terms)
        return RecallHit(
            slug=row["slug"],
            file_path=str(self.root / row["path"]),
            title=row["title"],
            node_type=row["node_type"],
            importance=row["importance"],
            score=round(score, 6),
            rank=rank,
            snippet=snippet,
            snippet_source=source,
            tags=json.loads(row["tags"]),
            created=row["created"],
            updated=row["updated"],
            last_access=row["last_access"],
            transcript_ref=row["transcript_ref"],
            links=json.loads(row["links"]),
            project=row["project"],
            project_label=row["project_label"],
            sources=json.loads(row["sources"]),
        )


def _affordable(db: sqlite3.Connection, stems: Iterable[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """All stems of a short query; of a long one the rarest, while the pages they match fit the budget."""
    wanted = list(stems)
    if len(wanted) <= _SURE_TERMS:
        return wanted
    counted = []
    for stem, prefix in wanted:
        row = db.execute("SELECT doc FROM wiki_term_counts WHERE term = ?", (stem,)).fetchone()
        if row is not None or prefix:
            counted.append((row[0] if row else 0, stem, prefix))
    chosen: list[tuple[str, bool]] = []
    spent = 0
    for pages, stem, prefix in sorted(counted):
        spent += pages
        if spent > _BUDGET and len(chosen) >= _SURE_TERMS:
            break
        chosen.append((stem, prefix))
    return chosen


def _matches(db: sqlite3.Connection, stem: str, prefix: bool) -> list[tuple[int, float, int]]:
    """(page, weighted frequency, length) of every page that holds the stem."""
    weights = " ".join(f"WHEN '{column}' THEN {weight}" for column, weight in _FIELD_WEIGHTS.items())
    condition = "term >= :stem AND term < :stem || char(1114111)" if prefix else "term = :stem"
    rows = db.execute(
        f"""SELECT doc, frequency, length FROM (
              SELECT doc, sum(CASE col {weights} ELSE 1.0 END) AS frequency
              FROM wiki_terms WHERE {condition} GROUP BY doc
            ) JOIN page_lengths ON page_id = doc""",
        {"stem": stem},
    )
    rows.row_factory = None
    return rows.fetchall()


def _best(db: sqlite3.Connection, scores: dict[int, float], top_k: int) -> list[tuple[int, float]]:
    """The `top_k` pages by score; those that tie at its edge are told apart by path."""
    if not scores or top_k < 1:
        return []
    edge = heapq.nlargest(top_k, scores.values())[-1] - _EQUAL
    rounded = {page: round(score, 6) for page, score in scores.items() if score >= edge}
    paths = {
        page: db.execute("SELECT path FROM wiki_index WHERE page_id = ?", (page,)).fetchone()[0]
        for page in rounded
    }
    return sorted(rounded.items(), key=lambda item: (-item[1], paths[item[0]]))[:top_k]
