"""Items and events ranked as wikimem ranks them (formats page 2.1 to 2.3), without jieba or vectors.

`memex recall` ranks otherwise. This is what wikimem itself would answer: the measure of its conformance
cases, and of a directory that is served in place. One deviation: events of one minute are all returned.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from memex_core.model.item import DiaryEvent, RecallItem

K1 = 1.5
B = 0.75
LIMIT = 10
_LATIN = re.compile(r"[a-z0-9]+")
_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff]+")


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line of an answer. `score` is None for a link and in a list that no word chose."""

    item: RecallItem | DiaryEvent
    source: Literal["hit", "link"]
    tokens: int
    score: float | None = None
    matched_terms: tuple[str, ...] = ()
    via: str | None = None


@dataclass(slots=True)
class Ranking:
    """The answer in its order, what the budget cut off its end, and the links that lead nowhere."""

    items: list[Ranked] = field(default_factory=list)
    dropped: list[Ranked] = field(default_factory=list)
    unresolved_links: list[str] = field(default_factory=list)

    @property
    def tokens_used(self) -> int:
        return sum(ranked.tokens for ranked in self.items)


@dataclass(frozen=True, slots=True)
class OpenedWindow:
    """The events of a window of days (both inclusive), and whether it had to be widened to hold any."""

    entries: list[DiaryEvent]
    start: date
    end: date
    widened: bool = False


def tokens(text: str) -> list[str]:
    """Latin words and numbers in lower case, then of each run of Chinese or kana the pairs of neighbours.

    A run of one character is that character. Other scripts and accents are dropped, as wikimem drops them.
    """
    lower = text.lower()
    return _LATIN.findall(lower) + [pair for run in _CJK.findall(lower) for pair in _pairs(run)]


def est_tokens(text: str) -> int:
    """What `text` costs of a budget: its latin words plus its Chinese and kana characters."""
    lower = text.lower()
    return len(_LATIN.findall(lower)) + sum(map(len, _CJK.findall(lower)))


def open_window(events: Iterable[DiaryEvent], start: date, end: date) -> OpenedWindow:
    """The events from `start` to `end` (either order), or of one day more at both sides if there are none."""
    start, end = min(start, end), max(start, end)
    known = list(events)
    inside = _between(known, start, end)
    if not inside:
        first, last = _day_beside(start, -1), _day_beside(end, 1)
        around = _between(known, first, last)
        if around:
            return OpenedWindow(around, first, last, widened=True)
    return OpenedWindow(inside, start, end)


def rank(
    documents: Sequence[RecallItem],
    query: str,
    *,
    window_entries: Sequence[DiaryEvent] = (),
    limit: int = LIMIT,
    budget_tokens: int | None = None,
    expand_links: bool = True,
) -> Ranking:
    """`documents`, and the events of an open window beside them, by BM25; each hit followed by its links.

    A query without a single token lists the window, newest first. `limit` counts hits, not links; the budget
    cuts the list where it is exceeded, but never its first line.
    """
    ranking = Ranking()
    terms = tokens(query)
    found = _best([*documents, *window_entries], terms) if terms else _newest(window_entries)
    hits = found[: max(limit, 0)]
    if terms and expand_links:
        targets = {(item.file, item.name): item for item in documents}
        hits = list(_with_links(hits, targets, ranking))
    _cut(hits, budget_tokens, ranking)
    return ranking


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [first + second for first, second in itertools.pairwise(run)]


def _between(events: list[DiaryEvent], first: date, last: date) -> list[DiaryEvent]:
    return [event for event in events if first.isoformat() <= event.date <= last.isoformat()]


def _day_beside(day: date, step: int) -> date:
    try:
        return day + timedelta(days=step)
    except OverflowError:
        return day


def _text(item: RecallItem | DiaryEvent) -> str:
    return f"{item.name if isinstance(item, RecallItem) else item.time}\n{item.content}"


def _key(item: RecallItem | DiaryEvent) -> tuple[str, str]:
    return (item.file, item.name) if isinstance(item, RecallItem) else (item.date, item.time)


def _ranked(
    item: RecallItem | DiaryEvent,
    source: Literal["hit", "link"],
    score: float | None = None,
    matched_terms: tuple[str, ...] = (),
    via: str | None = None,
) -> Ranked:
    return Ranked(item, source, est_tokens(_text(item)), score, matched_terms, via)


def _newest(entries: Sequence[DiaryEvent]) -> list[Ranked]:
    ordered = sorted(entries, key=lambda event: (event.date, event.time), reverse=True)
    return [_ranked(event, "hit") for event in ordered]


def _best(items: Sequence[RecallItem | DiaryEvent], terms: list[str]) -> list[Ranked]:
    """The items with a score above 0, highest first, ties in document order."""
    wanted = set(terms)
    counts: list[Counter[str]] = []
    lengths: list[int] = []
    for item in items:
        words = tokens(_text(item))
        lengths.append(len(words))
        counts.append(Counter(word for word in words if word in wanted))
    holding = Counter(term for count in counts for term in count)
    average = sum(lengths) / len(items) if items else 0.0
    idf = {term: math.log(1 + (len(items) - n + 0.5) / (n + 0.5)) for term, n in holding.items()}
    scored = [
        (_bm25(terms, idf, count, B * length / average), item, tuple(sorted(count)))
        for item, count, length in zip(items, counts, lengths, strict=True)
        if count
    ]
    scored.sort(key=lambda found: -found[0])
    return [_ranked(item, "hit", score, matched) for score, item, matched in scored]


def _bm25(terms: list[str], idf: dict[str, float], count: Counter[str], length: float) -> float:
    """A term that the query repeats counts each time. No `sum`: from 3.12 on it rounds otherwise."""
    score = 0.0
    for term in terms:
        if count[term]:
            score += idf[term] * (count[term] * (K1 + 1) / (count[term] + K1 * (1 - B + length)))
    return score


def _with_links(
    hits: list[Ranked], targets: dict[tuple[str, str], RecallItem], ranking: Ranking
) -> Iterator[Ranked]:
    """Each hit and the items it links to, one hop, none twice; a hit that a link led to is not repeated."""
    seen: set[tuple[str, str]] = set()
    for hit in hits:
        key = _key(hit.item)
        if key in seen and isinstance(hit.item, RecallItem):
            continue
        seen.add(key)
        yield hit
        for link in hit.item.links:
            if link in seen:
                continue
            target = targets.get(link)
            if target is None:
                ranking.unresolved_links.append(f"[[{link[0]}:{link[1]}]]")
                continue
            seen.add(link)
            yield _ranked(target, "link", via=key[1])


def _cut(listed: list[Ranked], budget_tokens: int | None, ranking: Ranking) -> None:
    used = itertools.accumulate(ranked.tokens for ranked in listed)
    over = (place for place, sum_ in enumerate(used) if budget_tokens is not None and sum_ > budget_tokens)
    kept = max(next(over, len(listed)), 1)
    ranking.items, ranking.dropped = listed[:kept], listed[kept:]
