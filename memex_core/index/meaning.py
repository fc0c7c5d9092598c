"""Ranking by words and by what is near in meaning (formats page 2.2)."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memex_core.index.kinds import EVENTS, kind_of
from memex_core.index.scoring import Scorer, Stem
from memex_core.memory.fusion import fuse

CANDIDATES = 4
"""For each hit that is wanted so many of the nearest pages and items are looked at."""
_EVERYTHING = 1 << 40
_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Meaning:
    """How near pages, items and events are to a query: (path in the index, cosine above 0), nearest first.
    `weight` is the share of the words in a score.
    """

    nearest: list[tuple[str, float]]
    weight: float


@dataclass(slots=True)
class Signals:
    """What words and meaning say of pages, items and events: BM25 and cosine, above 0."""

    words: dict[int, float]
    near: dict[int, float]

    def fused(self, weight: float) -> dict[int, float]:
        return fuse(self.words, self.near, weight)


def signals(
    db: sqlite3.Connection,
    scorer: Scorer,
    stems: list[Stem],
    meaning: Meaning,
    top_k: int,
    is_visible: Callable[[int], bool] | None,
) -> Signals:
    """What is found by either; all words count, also common ones."""
    words = scorer.best(stems, _EVERYTHING, is_visible)
    near: dict[int, float] = {}
    room = CANDIDATES * top_k
    for page, cosine in _pages(db, meaning.nearest):
        if is_visible is not None and not is_visible(page):
            continue
        if kind_of(page) == EVENTS:  # those of the window, all of them
            near[page] = cosine
        elif room:
            near[page] = cosine
            room -= 1
    return Signals(words, near)


def _pages(db: sqlite3.Connection, nearest: list[tuple[str, float]]) -> Iterable[tuple[int, float]]:
    """The id of each path that is still there, with its cosine, in the order of `nearest`."""
    rest = iter(nearest)
    while part := list(itertools.islice(rest, _AT_ONCE)):
        query = "SELECT path, page_id FROM wiki_index WHERE path IN (SELECT value FROM json_each(?))"
        ids = dict(map(tuple, db.execute(query, (json.dumps([path for path, _ in part]),))))
        yield from ((ids[path], cosine) for path, cosine in part if path in ids)
