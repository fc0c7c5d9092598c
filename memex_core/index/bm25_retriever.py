"""Recall: what answers a query, the best first (seed 000 §7, Utility 3; issue 4 item 5).

Pages and items compete with one another; events of the diary join in while a window of days is open, and
answer alone where nothing else does. Each hit brings the items that it links to.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memex_core.index.connection import IndexUnusable, reading
from memex_core.index.diary_window import Opened, Window, newest, open_diary
from memex_core.index.documents import Document, documents
from memex_core.index.filters import Filters, allowed_pages, hidden_pages
from memex_core.index.hits import Followed, Listed, follow_links, read_hits
from memex_core.index.kinds import EVENTS, ITEM, kind_of
from memex_core.index.meaning import Meaning, Signals, signals
from memex_core.index.scoring import Scorer, Stem, best_of
from memex_core.index.tokens import stems_of
from memex_core.model.results import RecallHit
from memex_core.text.query_terms import query_terms

TUNED_K1 = 0.9
TUNED_B = 0.4


@dataclass(frozen=True, slots=True)
class Question:
    """A query with what narrows it. `window` says which days of the diary it is about, if any; it is asked
    only where there is a diary. `meaning`: what is near to the query, where that is to count beside its
    words. `explain`: say what each term brought each hit.
    """

    query: str
    top_k: int
    filters: Filters
    include_expired: bool = False
    window: Callable[[], Window | None] = lambda: None
    meaning: Meaning | None = None
    explain: bool = False


@dataclass(slots=True)
class Found:
    """The answer to a question. `window` is the one that was open, with so many `events`, `terms` what was
    asked for, `broken_links` the item links of the hits that lead nowhere, `links_left_out` counts linked
    items that are not among the hits, `total` all pages, items and events there are.
    """

    hits: list[RecallHit]
    terms: list[str]
    total: int
    window: Window | None = None
    events: int = 0
    broken_links: list[str] = field(default_factory=list)
    links_left_out: int = 0


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
        """The best `top_k` pages and items, the best first, equal scores by path. Any text is a query; none
        gives no hits. Neither the diary nor links are looked at.

        `tags` must all be there; `time_range` is ISO 8601, both ends inclusive, on `updated` (episodes:
        `started_at`); `project` is a project id. Raises IndexUnusable.
        """
        filters = Filters(node_type, time_range, tags or [], project)
        question = Question(query, top_k, filters, include_expired)
        return self.answer(question, now=now, with_links=False).hits

    def answer(self, question: Question, *, now: float | None = None, with_links: bool = True) -> Found:
        """The best `top_k` pages, items and events, each followed by the items it links to, which count for
        nothing: "hit" and "link" are their `source`. Raises IndexUnusable.
        """
        filters = question.filters
        with reading(self.db_path) as db:
            opened = open_diary(db, question.query, filters, question.window)
            terms = query_terms(question.query) if opened is None else opened.terms
            scorer = Scorer(db, self.k1, self.b, diary=opened is not None and bool(opened.events))
            stems = stems_of(terms)
            hidden = (
                set() if question.include_expired else hidden_pages(db, time.time() if now is None else now)
            )
            visible = _visible(allowed_pages(db, filters), hidden, opened)
            said: Signals | None = None
            if question.meaning is None:
                scores = scorer.best(stems, question.top_k, visible)
            else:
                said = signals(db, scorer, stems, question.meaning, question.top_k, visible)
                scores = said.fused(question.meaning.weight)
            best = best_of(db, scores, question.top_k)
            if opened is not None:
                fused = said.fused(question.meaning.weight) if said and question.meaning else None
                best = _with_events(db, scorer, stems, best, opened, question.top_k, fused)
            if with_links and filters.node_type in (None, ITEM) and not (filters.tags or filters.project):
                followed = follow_links(db, best, hidden, only_items=filters.node_type == ITEM)
            else:
                followed = Followed([Listed(page, score) for page, score in best])
            try:
                unsaid = said.near.keys() - said.words.keys() if said else ()
                hits = read_hits(db, self.root, followed.listed, terms, unsaid)
            except (ValueError, TypeError) as error:
                raise IndexUnusable("damaged", f"a row cannot be read: {error}") from error
            if said is not None:
                _tell_signals(said, best, hits)
            if question.explain:
                _explain(scorer, terms, best, hits)
            found = Found(hits, terms, scorer.total, broken_links=followed.broken)
            found.links_left_out = followed.left_out
            if opened is not None:
                found.window, found.events = opened.window, len(opened.events)
            return found

    def documents(self, question: Question) -> list[Document] | None:
        """The texts among which `answer` will choose: all pages and items, and the events of an open window.
        None where the query asks for nothing but a time, which no meaning is near to. Raises IndexUnusable.
        """
        with reading(self.db_path) as db:
            opened = open_diary(db, question.query, question.filters, question.window)
            return list(documents(db, opened)) if opened is None or opened.terms else None

    def search_fts(self, query: str, top_k: int) -> list[tuple[str, float]]:
        """(slug, score) of the best pages and items, without filters; a higher score is better."""
        with reading(self.db_path) as db:
            scorer = Scorer(db, self.k1, self.b, diary=False)
            best = best_of(db, scorer.best(stems_of(query_terms(query)), top_k, None), top_k)
            return [
                (
                    str(db.execute("SELECT slug FROM wiki_index WHERE page_id = ?", (page,)).fetchone()[0]),
                    score,
                )
                for page, score in best
            ]


def _visible(
    allowed: set[int] | None, hidden: set[int], opened: Opened | None
) -> Callable[[int], bool] | None:
    """Whether a page, item or event may be a hit; None where all may."""
    if allowed is None and not hidden and opened is None:
        return None
    events = opened.events if opened else frozenset()

    def is_visible(page: int) -> bool:
        if kind_of(page) == EVENTS:
            return page in events
        return page not in hidden and (allowed is None or page in allowed)

    return is_visible


def _with_events(
    db: sqlite3.Connection,
    scorer: Scorer,
    stems: list[Stem],
    best: list[tuple[int, float]],
    opened: Opened,
    top_k: int,
    fused: dict[int, float] | None,
) -> list[tuple[int, float]]:
    """`best`, and where no event is among them, the window's events in the places that are left.

    Where the query itself speaks of a time, half of the places are theirs: somebody asks what happened then,
    in whatever words. `fused`: what words and meaning say, where meaning was asked.
    """
    if any(kind_of(page) == EVENTS for page, _ in best):
        return best
    if best and not opened.window.said:
        return best
    room = max(top_k - len(best), top_k // 2)
    events = _chosen(db, scorer, stems if best else [], opened, room, fused)
    return best[: top_k - len(events)] + events


def _chosen(
    db: sqlite3.Connection,
    scorer: Scorer,
    stems: list[Stem],
    opened: Opened,
    room: int,
    fused: dict[int, float] | None,
) -> list[tuple[int, float]]:
    """The window's events that fit best, or none fits, the newest."""
    scores = {event: fused[event] for event in opened.events if event in fused} if fused else {}
    for stem in stems if fused is None else ():
        for event, gain in scorer.gains(stem, sorted(opened.events)).items():
            scores[event] = scores.get(event, 0.0) + gain
    return best_of(db, scores, room) or [(event, 0.0) for event in newest(db, opened, room)]


def _tell_signals(said: Signals, best: list[tuple[int, float]], hits: list[RecallHit]) -> None:
    """Say of each hit what its score is made of."""
    found = (hit for hit in hits if hit.source == "hit")
    for (page, _), hit in zip(best, found, strict=True):
        words, near = said.words.get(page), said.near.get(page)
        hit.bm25_score = None if words is None else round(words, 6)
        hit.cos_score = None if near is None else round(near, 6)


def _explain(scorer: Scorer, terms: list[str], best: list[tuple[int, float]], hits: list[RecallHit]) -> None:
    """Say of each hit what each of the terms brought it. Of two terms that are one word, the first one."""
    found = dict(zip((page for page, _ in best), (hit for hit in hits if hit.source == "hit"), strict=True))
    asked: set[Stem] = set()
    for term in terms:
        for stem in stems_of([term]):
            gains = scorer.gains(stem, list(found)) if stem not in asked else {}
            asked.add(stem)
            for page, gain in gains.items():
                terms_of_hit = found[page].matched_terms
                terms_of_hit[term] = round(terms_of_hit.get(term, 0.0) + gain, 6)
