"""One recall from its words to its answer (seed 000 §9.2; issue 4 item 5): which days of the diary it is
about, what is near to it in meaning, and how much of the answer fits a budget. Finding is the index's work.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memex_core import paths
from memex_core.config import EmbedConfig
from memex_core.errors import ConfigError
from memex_core.index.bm25_retriever import Found, Question
from memex_core.index.diary_window import FIRST_DAY, LAST_DAY, Window
from memex_core.index.documents import Document
from memex_core.index.kinds import EVENT
from memex_core.model.results import RecallHit, RecallResult

if TYPE_CHECKING:
    from memex_core.embedding import Nearest

TimeRange = tuple[str | None, str | None]

# A word, or a character of a script that puts no spaces between words.
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+")
_INSTALL = f"{sys.executable} -m pip install 'memex-hooks[embed]'"
_MENTIONS = 8
"""More times than anybody speaks of in one question."""


class ByMeaning:
    """What [embed] adds to the questions that one memory is asked: nothing unless it is configured."""

    def __init__(self, root: Path, config: EmbedConfig) -> None:
        self.root = root
        self.config = config
        self.is_on = bool(config.api_base.strip() or config.model.strip())
        self._nearest: Nearest | None = None
        self._told: set[str] = set()

    def add_to(
        self, question: Question, documents: Callable[[Question], list[Document] | None]
    ) -> tuple[Question, str]:
        """The question with what is near to it among `documents`, and a note of what somebody has to do; the
        same note only once.
        """
        if not self.is_on or not question.query.strip():
            return question, ""
        try:
            nearest = self.nearest()
        except ConfigError as error:
            return question, self._once(f"{error} ({error.hint}); words alone rank")
        chosen = documents(question)
        if chosen is None:
            return question, ""
        nearness = nearest.to(question.query, chosen)
        return replace(question, meaning=nearness.meaning), self._once(nearness.note)

    def nearest(self) -> Nearest:
        """Raises ConfigError where [embed] is not set up, cannot act, or its libraries are missing."""
        for key in ("api_base", "model"):
            if not getattr(self.config, key).strip():
                what = (
                    f"[embed] has no {key}" if self.is_on else "[embed] is off: it has no api_base and model"
                )
                raise ConfigError(what, hint="set it in memex.toml; memex info says what holds")
        if self._nearest is None:
            try:
                from memex_core.embedding import Nearest  # numpy takes 0.1 s: only who uses it pays for it
            except ImportError:
                raise ConfigError(
                    "[embed] is set up, but numpy is not installed",
                    hint=_INSTALL,
                ) from None
            self._nearest = Nearest(self.root, self.config)
        return self._nearest

    def state(self) -> str:
        """Whether vectors take part in a recall, and what keeps them from it."""
        if not self.is_on:
            return "off"
        try:
            return self.nearest().state()
        except ConfigError as error:
            return f"words alone rank: {error} ({error.hint})"

    def problem(self) -> tuple[str, str]:
        """What keeps vectors from taking part although they are configured, and the command that mends it;
        ("", "") where nothing does. Asks the endpoint once.
        """
        if not self.is_on:
            return "", ""
        edit = f"${{EDITOR:-vi}} {paths.config_path(self.root)}"
        try:
            nearest = self.nearest()
        except ConfigError as error:
            return str(error), _INSTALL if error.hint == _INSTALL else edit
        from memex_core.embedding import ANEW

        what = nearest.problem()
        if what.endswith(ANEW):
            return what, "memex embed --anew"
        return (f"{what}; start it, or correct [embed] in memex.toml", edit) if what else ("", "")

    def _once(self, note: str) -> str:
        new = note not in self._told
        self._told.add(note)
        return note if new else ""


def diary_window(query: str, time_range: TimeRange | None, now: str) -> Callable[[], Window | None]:
    """What says which days a recall is about: those of its range, else those that its words name. It is asked
    only where there is a diary.

    `now` is ISO 8601; days are those of this machine's zone, as the diary's are.
    """

    def window() -> Window | None:
        places, days, said = _mentioned(query, datetime.fromisoformat(now).astimezone().date())
        if time_range is not None and any(time_range):
            first, last = (_local(text) for text in time_range)
            since, until = (bound if len(bound) > 10 else "" for bound in (first, last))
            return Window(first[:10] or FIRST_DAY, last[:10] or LAST_DAY, places, since=since, until=until)
        return Window(days[0], days[1], places, said) if days else None

    return window


def recall_result(question: Question, found: Found, note: str, budget: int | None) -> RecallResult:
    """`found` as an answer, cut where it costs more than `budget` tokens, but never before its second hit."""
    costs = [cost(hit) for hit in found.hits] if question.explain or budget is not None else []
    kept = len(found.hits)
    if budget is not None and costs:
        sums = itertools.accumulate(costs)
        kept = max(next((place for place, spent in enumerate(sums) if spent > budget), kept), 1)
    window = found.window
    return RecallResult(
        question.query,
        found.hits[:kept],
        found.total,
        note="; ".join(filter(None, (note, *_notes(question, found)))),
        window=_days(window) if window else None,
        window_words=window.said if window else "",
        window_widened=window is not None and window.widened,
        search_engine="bm25" if question.meaning is None else "bm25+vectors",
        tokens=sum(costs[:kept]),
        dropped=[hit.slug for hit in found.hits[kept:]],
        terms=found.terms,
        broken_links=list(dict.fromkeys(found.broken_links)),
    )


def said_days(first: str | None, last: str | None) -> str:
    """The days of a window in words; None is an open side."""
    if first is None or last is None:
        return f"from {first} on" if first else f"up to {last}" if last else "all days"
    return first if first == last else f"{first} to {last}"


def cost(hit: RecallHit) -> int:
    """About how many tokens the title and snippet of a hit take: as wikimem estimates (formats page 2.1), but
    of words in any script.
    """
    shown = f"{hit.title}\n{hit.snippet}".replace("<mark>", "").replace("</mark>", "")
    return len(_TOKEN.findall(shown))


def _mentioned(query: str, today: date) -> tuple[tuple[tuple[int, int], ...], tuple[str, str] | None, str]:
    """(where words speak of a time, the first and last day that are meant, the words that mean them)."""
    from memex_core.text.time_words import time_window  # only a memory with a diary pays for it

    places: list[tuple[int, int]] = []
    meant = found = time_window(query, today)
    while found and len(places) < _MENTIONS:
        start, end = found.place
        places.append(found.place)
        query = query[:start] + "\n" * (end - start) + query[end:]  # the places of the others stay
        found = time_window(query, today)
    if meant is None:
        return (), None, ""
    return tuple(places), (meant.start.isoformat(), meant.end.isoformat()), meant.words


def _days(window: Window) -> tuple[str | None, str | None]:
    first = None if window.start == FIRST_DAY else window.start
    return first, None if window.end == LAST_DAY else window.end


def _local(text: str | None) -> str:
    """A bound as the clocks of this machine show it: a day, or a day and a time to the minute, as headings of
    the diary have it. "" for one that is open, or no date: the filter of pages refuses that.
    """
    text = (text or "").strip()
    try:
        moment = datetime.fromisoformat(text)
        if len(text) > 10:
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone()
            return moment.strftime("%Y-%m-%dT%H:%M")
    except (ValueError, OverflowError):
        return ""
    return moment.date().isoformat()


def _notes(question: Question, found: Found) -> Iterator[str]:
    window = found.window
    if window is None and question.filters.node_type == EVENT:
        yield "the diary is closed: neither the query nor a range names days"
    if window is not None and window.widened:
        yield f"no event in the days asked for; a day more at both sides: {said_days(*_days(window))}"
    if window is not None and not found.events:
        yield f"no event in the days asked for ({said_days(*_days(window))}), nor a day before or after them"
    shown = sum(hit.node_type == EVENT and hit.source == "hit" for hit in found.hits)
    if not found.terms and shown < found.events:
        yield f"the newest {shown} of {found.events} events of these days"
    if found.links_left_out:
        yield f"{found.links_left_out} more linked items are not listed"
