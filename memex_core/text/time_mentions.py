"""Where a text speaks of a time: the words of a language, found one after the other, the longest first.

Each position that may begin a time is tried with the rules that begin so, the longest match is taken and the
search goes on behind it: a word that only looks like a time is a rule too, and swallows what it holds. Rules
are bounded, so the search is linear.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from memex_core.text.calendar_days import Days, Recurring, Unit


@dataclass(frozen=True, slots=True)
class Meaning:
    """What words say of time.

    `days` is None where they name none. `unit` is set where they are one whole week, month or year,
    `recurring` where a neighbour may say which one is meant ("Monday" beside "last week"). Words that are not
    `alone` need such a neighbour to mean a time. `dated` words name a day of the calendar.
    """

    days: Days | None
    unit: Unit | None = None
    recurring: Recurring | None = None
    dated: bool = False
    alone: bool = True


NOTHING = Meaning(None)


@dataclass(frozen=True, slots=True)
class Mention:
    """`text[start:end]` and what it means."""

    start: int
    end: int
    meaning: Meaning


@dataclass(frozen=True, slots=True)
class Rule:
    """`meaning(match, today)` of what `pattern` matches. ValueError or OverflowError there mean NOTHING."""

    begins: tuple[str, ...]
    pattern: str
    meaning: Callable[[re.Match[str], date], Meaning]
    flags: re.RegexFlag = re.NOFLAG


@dataclass(frozen=True, slots=True)
class Language:
    """The rules by how they begin; `begin` finds such a place, its match is the key in lower case."""

    begin: str
    rules: Mapping[str, tuple[Rule, ...]]
    flags: re.RegexFlag = re.NOFLAG


# Most texts need few rules, and whoever asks is in a hurry: a rule is compiled when it is tried.
_compiled = functools.cache(re.compile)


def by_beginning(rules: Iterable[Rule]) -> dict[str, tuple[Rule, ...]]:
    """The rules under each way they begin."""
    sorted_: dict[str, tuple[Rule, ...]] = {}
    for rule in rules:
        for word in rule.begins:
            sorted_[word] = (*sorted_.get(word, ()), rule)
    return sorted_


def find_mentions(text: str, today: date, language: Language) -> list[Mention]:
    """Every time `text` speaks of, in order, without overlaps."""
    mentions: list[Mention] = []
    begin = _compiled(language.begin, language.flags)
    position = 0
    while begun := begin.search(text, position):
        place = begun.start()
        rules = language.rules.get(begun.group().lower(), ())
        matches = [
            (rule, match)
            for rule in rules
            if (match := _compiled(rule.pattern, rule.flags).match(text, place))
        ]
        if not matches:
            position = max(begun.end(), place + 1)
            continue
        rule, match = max(matches, key=lambda found: found[1].end())
        mentions.append(Mention(place, match.end(), _meaning(rule, match, today)))
        position = max(match.end(), place + 1)
    return mentions


def _meaning(rule: Rule, match: re.Match[str], today: date) -> Meaning:
    try:
        return rule.meaning(match, today)
    except (ValueError, OverflowError):
        return NOTHING
