"""BM25 over what the full-text index knows, with k1 and b that act (seed 000 §7; DESIGN §3 rows k1, b, FTS).

The index gives the places of each term; the score is our own, because SQLite's bm25() is fixed at 1.2 and
0.75 and gives words of more than half of the pages no weight. The rarest terms come first: once no page that
is not yet among the found ones could still be one of the best, the common terms are asked for the found ones
only, which changes no result. A long query stops at a budget.
"""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memex_core.index.kinds import EVENTS, KIND_BITS, first_id, kind_of

EQUAL = 1e-6
"""Scores this close are equal."""
_FIELD_WEIGHTS = {"title": 2.0, "tags": 1.5, "slug": 0.5}  # the rest counts 1
_SURE_TERMS = 6  # a query of so few terms is answered whole
_BUDGET = 8_000  # matching pages over all terms of a longer query, about 1 ms a thousand

Stem = tuple[str, bool]
"""What the tokenizer makes of a term, and whether it stands for all that begin so."""


@dataclass(slots=True)
class Weighed:
    """A stem that `pages` pages hold. No page can gain more by it than `idf`, which has k1 + 1 in it."""

    stem: str
    prefix: bool
    pages: int
    idf: float = 0.0


class Scorer:
    """Scores for one query and connection. The diary counts, and is found, only with `diary`.

    A page's length is compared with the average of its kind: many short facts do not make every page long.
    """

    def __init__(self, db: sqlite3.Connection, k1: float, b: float, *, diary: bool) -> None:
        self._db = db
        self._k1 = k1
        rows = db.execute("SELECT kind, documents, words FROM corpus ORDER BY kind").fetchall()
        self._has_events = rows[EVENTS][1] > 0
        self._without_events = self._has_events and not diary
        self.total = sum(row[1] for row in rows)
        self.documents = sum(row[1] for row in rows[: None if diary else EVENTS])
        self._flat = k1 * (1 - b)
        self._steep = [k1 * b * row[1] / row[2] if row[2] else 0.0 for row in rows]

    def best(
        self, stems: Iterable[Stem], top_k: int, is_visible: Callable[[int], bool] | None
    ) -> dict[int, float]:
        """Scores of the `top_k` best pages, of all that tie with the last of them, and maybe of others."""
        scores: dict[int, float] = {}
        weighed = self._weighed(stems) if top_k > 0 else []
        left = sum(each.idf for each in weighed)
        for each in weighed:
            found = _candidates(scores, top_k, left)
            if found is not None:
                scores = {page: scores[page] for page in found}
            for page, gain in self._gains(each, found):
                if page in scores:
                    scores[page] += gain
                elif is_visible is None or is_visible(page):
                    scores[page] = gain
            left -= each.idf
        return scores

    def gains(self, stem: Stem, pages: list[int]) -> dict[int, float]:
        """What these pages gain by one stem."""
        return {page: gain for each in self._weighed([stem]) for page, gain in self._gains(each, pages)}

    def _weighed(self, stems: Iterable[Stem]) -> list[Weighed]:
        """The stems that are asked for, the rarest first."""
        wanted = list(stems)
        counted = [Weighed(stem, prefix, self._count(stem, prefix)) for stem, prefix in wanted]
        counted = [each for each in counted if each.pages]
        counted.sort(key=lambda each: (each.pages, each.stem, each.prefix))
        if len(wanted) > _SURE_TERMS:
            counted = _affordable(counted)
        for each in counted:
            rarity = (self.documents - each.pages + 0.5) / (each.pages + 0.5)
            each.idf = math.log(1 + rarity) * (self._k1 + 1)
        return counted

    def _count(self, stem: str, prefix: bool) -> int:
        """How many pages hold the stem."""
        if prefix or self._without_events:
            which = "AND doc < :events" if self._without_events else ""
            query = f"SELECT count(DISTINCT doc) FROM wiki_terms WHERE {_condition(prefix)} {which}"
        else:
            query = "SELECT doc FROM wiki_term_counts WHERE term = :stem"
        row = self._db.execute(query, {"stem": stem, "events": first_id(EVENTS)}).fetchone()
        return int(row[0]) if row else 0

    def _gains(self, each: Weighed, pages: list[int] | None) -> list[tuple[int, float]]:
        """(page, gain) of every page that holds the stem, or of those of `pages` that do."""
        where = [_condition(each.prefix)]
        if pages is not None:
            where.append("doc IN (SELECT value FROM json_each(:pages))")
        elif self._without_events:
            where.append("doc < :events")
        weights = " ".join(f"WHEN '{column}' THEN {weight}" for column, weight in _FIELD_WEIGHTS.items())
        rows = self._db.execute(
            f"""SELECT doc, frequency, length FROM (
                  SELECT doc, sum(CASE col {weights} ELSE 1.0 END) AS frequency
                  FROM wiki_terms WHERE {" AND ".join(where)} GROUP BY doc
                ) JOIN page_lengths ON page_id = doc""",
            {"stem": each.stem, "events": first_id(EVENTS), "pages": json.dumps(pages)},
        )
        rows.row_factory = None
        idf, flat, steep = each.idf, self._flat, self._steep
        return [(page, idf * f / (f + flat + steep[page >> KIND_BITS] * length)) for page, f, length in rows]


def best_of(db: sqlite3.Connection, scores: dict[int, float], top_k: int) -> list[tuple[int, float]]:
    """The `top_k` pages by score; those that tie are told apart by path, events by their time, the last one
    first.
    """
    if not scores or top_k < 1:
        return []
    edge = heapq.nlargest(top_k, scores.values())[-1] - EQUAL
    rounded = {page: round(score, 6) for page, score in scores.items() if score >= edge}
    order = list(rounded) if len(set(rounded.values())) == len(rounded) else _in_order(db, rounded)
    return sorted(((page, rounded[page]) for page in order), key=lambda found: -found[1])[:top_k]


def _in_order(db: sqlite3.Connection, pages: Iterable[int]) -> list[int]:
    query = """SELECT page_id, w.path, moment, place FROM json_each(?) p
               JOIN wiki_index w ON page_id = p.value LEFT JOIN blocks USING (page_id)"""
    events, others = [], []
    for page, path, moment, place in db.execute(query, (json.dumps(list(pages)),)):
        if kind_of(page) == EVENTS:
            events.append((-moment, -place, page))
        else:
            others.append((path, page))
    return [page for *_, page in (*sorted(others), *sorted(events))]


def _candidates(scores: dict[int, float], top_k: int, left: float) -> list[int] | None:
    """The found pages that may still be among the `top_k` best, where no page but these can be: no page gains
    more than `left` from now on. None while others can.
    """
    if len(scores) < top_k or left >= max(scores.values()):
        return None
    floor = heapq.nlargest(top_k, scores.values())[-1] - 2 * EQUAL
    return [page for page, score in scores.items() if score + left >= floor] if left < floor else None


def _affordable(counted: list[Weighed]) -> list[Weighed]:
    """Of the stems of a long query the rarest, while the pages they match fit the budget."""
    spent = 0
    for place, each in enumerate(counted):
        spent += each.pages
        if spent > _BUDGET and place >= _SURE_TERMS:
            return counted[:place]
    return counted


def _condition(prefix: bool) -> str:
    return "term >= :stem AND term < :stem || char(1114111)" if prefix else "term = :stem"
