"""What neighbouring times mean together: "Monday last week", `去年的7月`, "from X to Y", "since X"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from memex_core.text.calendar_days import Days, Recurring, Unit, moved, unit_at, weekend_at
from memex_core.text.time_mentions import NOTHING, Meaning, Mention
from memex_core.text.time_surroundings import (
    AND,
    BEFORE,
    BESIDE,
    BETWEEN,
    COMMA,
    LEAD,
    LISTED,
    ON,
    OUTSIDE,
    THAT_WEEK,
    TO,
)

_NEIGHBOURS = re.compile(r"[\s,，]{0,8}(?:(?:of|on|in)\b|的)?\s{0,8}(?:the\s{1,8})?", re.I)
_FROM = ("between", "from", "since", "starting", "beginning", "as from", "从", "自", "自从", "介于")
_UNITS: dict[str, Unit] = {"week": "week", "month": "month", "year": "year"}
_UNITS_CHINESE = {"周": "week", "星期": "week", "礼拜": "week", "月": "month"}
_SINCE = ("since", "starting", "beginning", "as from", "after", "自", "自从")
_THE = re.compile(r"(?<![A-Za-z0-9_-])the\s{1,8}\Z", re.I)
_BESIDE = re.compile(r"\s{1,8}(?P<word>before|after)\s{1,8}(?:the\s{1,8})?", re.I)
_DAY = timedelta(days=1)
_REACH = 64
"""How far back a preposition is looked for, in characters."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`text[start:end]` means these days; `explicit` where it says where they begin and end."""

    start: int
    end: int
    days: Days
    explicit: bool = False
    dated: bool = False


def joined(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions, where "Monday" and "last week", or `去年` and `7月21日`, side by side are one."""
    kept: list[Mention] = []
    for mention in mentions:
        both = _one_of_two(text, kept[-1], mention) if kept else None
        if both:
            kept[-1] = both
        else:
            kept.append(mention)
    return kept


def readings(text: str, mentions: Sequence[Mention], today: date) -> Iterator[Reading]:
    """What the text says with its times, in order."""
    place = 0
    while place < len(mentions):
        mention = mentions[place]
        lead = _lead(text, mention.start)
        other = mentions[place + 1] if place + 1 < len(mentions) else None
        span = _range(text, lead, mention, other, today) if other else None
        taken = 2 if span else 1
        found = span or _single(text, lead, mention, today)
        if not span and (listed := _listed(text, mentions[place : place + 8])):
            together = _list(text, lead, listed)
            if together or _says_no(text, lead, mention):
                found, taken = together, len(listed)
        if found:
            yield found
        place += taken


def _lead(text: str, place: int) -> re.Match[str] | None:
    """The preposition that ends before `place`."""
    if place and (text[place - 1].isspace() or text[place - 1] in "从自至止到于"):
        return LEAD.search(text, max(place - _REACH, 0), place)
    return None


def _outside(text: str, place: int) -> bool:
    return OUTSIDE.search(text, max(place - _REACH, 0), place) is not None


def _one_of_two(text: str, first: Mention, second: Mention) -> Mention | None:
    gap = text[first.end : min(second.start, first.end + 32)]
    if (beside := _BESIDE.fullmatch(gap)) and _THE.search(text, max(first.start - 12, 0), first.start):
        return _weekday_beside(first, beside["word"].lower(), second)
    if not _NEIGHBOURS.fullmatch(gap):
        return None
    for part, whole in ((first.meaning, second.meaning), (second.meaning, first.meaning)):
        if part.recurring and whole.days and part.recurring.part_of == whole.unit:
            return Mention(first.start, second.end, _within(part, whole.days))
    return None


def _weekday_beside(day: Mention, word: str, other: Mention) -> Mention | None:
    """The latest Friday before March 1 for "the Friday before March 1"."""
    every, days = day.meaning.recurring, other.meaning.days
    if not every or every.part_of != "week" or not days:
        return None
    try:
        before = word == "before"
        found = every.latest(days.start - _DAY) if before else every.first(days.end + _DAY)
    except (ValueError, OverflowError):
        found = None
    return Mention(day.start, other.end, Meaning(found) if found else NOTHING)


def _within(part: Meaning, whole: Days) -> Meaning:
    try:
        days = part.recurring.within(whole) if part.recurring else None
    except (ValueError, OverflowError):
        days = None
    return Meaning(days, dated=part.dated) if days else NOTHING


def _range(
    text: str, lead: re.Match[str] | None, first: Mention, last: Mention, today: date
) -> Reading | None:
    gap = text[first.end : min(last.start, first.end + 40)]
    word = _word(lead)
    closing = BETWEEN.match(text, last.end)
    if not TO.fullmatch(gap) and not (AND.fullmatch(gap) and (closing or word in ("between", "介于"))):
        return None
    if not (first.meaning.alone or last.meaning.alone or word in _FROM):
        return None
    days = _from_to(first.meaning, last.meaning)
    if days and days.end > today and AND.fullmatch(gap):  # "between yesterday and Monday" says no order
        days = _around(first.meaning.days, last.meaning.days)
    start = lead.start() if lead and word in _FROM else first.start
    return Reading(start, closing.end() if closing else last.end, days, explicit=True) if days else None


def _says_no(text: str, lead: re.Match[str] | None, mention: Mention) -> bool:
    """True where the word before a time says that it is not meant: then nor is what is listed with it."""
    word = _word(lead)
    return _outside(text, mention.start) or bool(word and word not in (*_FROM, *_SINCE))


def _list(text: str, lead: re.Match[str] | None, listed: Sequence[Mention]) -> Reading | None:
    """Neighbours of one kind: "Monday and Tuesday", `昨天、今天`. Each of others is meant for itself."""
    if _word(lead) not in ("", "from", "从") or (lead and not (lead["word"] or lead["char"])):
        return None
    days = _neighbours([mention.meaning for mention in listed])
    last = listed[-1].end
    if not days or any(_outside(text, mention.start) for mention in listed):
        return None
    if ON.match(text, last) or BEFORE.match(text, last):
        return None
    dated = any(mention.meaning.dated for mention in listed)
    return Reading(listed[0].start, last, days, dated=dated)


def _listed(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The first mentions, as long as they are one list; what has only commas is none."""
    if not mentions[0].meaning.days:
        return []
    listed, ended = [mentions[0]], False
    for last, following in itertools.pairwise(mentions):
        gap = text[last.end : min(following.start, last.end + 40)]
        linked = LISTED.fullmatch(gap) or (not gap and not text[last.end - 1].isascii())
        if not following.meaning.days or (not linked and (ended or not COMMA.fullmatch(gap))):
            break
        ended = ended or bool(linked)
        listed.append(following)
    return listed if ended else []


def _neighbours(meanings: Sequence[Meaning]) -> Days | None:
    """The days of all, where each begins behind another: as they are, else those that recur as the last one
    or the first one says.
    """
    if len({_kind(meaning) for meaning in meanings}) > 1 or not any(meaning.alone for meaning in meanings):
        return None
    try:
        ways = (
            [meaning.days for meaning in meanings],
            _recurred(meanings[::-1], lambda every, day: every.latest(day)),
            _recurred(meanings, lambda every, day: every.first(day)),
        )
        return next((days for way in ways if (days := _without_gap(way))), None)
    except (ValueError, OverflowError):
        return None


def _kind(meaning: Meaning) -> str:
    if meaning.days and meaning.days.start == meaning.days.end:
        return "day"
    return meaning.unit or (f"in a {meaning.recurring.part_of}" if meaning.recurring else "")


def _recurred(
    meanings: Sequence[Meaning], nearest: Callable[[Recurring, date], Days | None]
) -> list[Days | None]:
    """The first one as it is, each other as near to the one before it as it recurs."""
    found = [meanings[0].days]
    for meaning in meanings[1:]:
        before = found[-1]
        found.append(
            nearest(meaning.recurring, before.start) if meaning.recurring and before else meaning.days
        )
    return found


def _without_gap(found: Sequence[Days | None]) -> Days | None:
    days = sorted((one for one in found if one), key=lambda one: one.start)
    if len(days) < len(found) or any(
        later != earlier and later.start != earlier.end + _DAY for earlier, later in itertools.pairwise(days)
    ):
        return None
    return Days(days[0].start, days[-1].end)


def _from_to(first: Meaning, last: Meaning) -> Days | None:
    """The one that may recur is meant as the other says; of two, the first is the latest before the last,
    unless that has no meaning alone (the 23rd).
    """
    leads = not first.recurring or (first.alone and not last.alone)
    try:
        begin, end = first.days, last.days
        if leads and begin and last.recurring:
            end = last.recurring.first(begin.start)
        elif end and first.recurring:
            begin = first.recurring.latest(end.end)
    except (ValueError, OverflowError):
        return None
    return _around(begin, end)


def _around(one: Days | None, other: Days | None) -> Days | None:
    return Days(min(one.start, other.start), max(one.end, other.end)) if one and other else None


def _single(text: str, lead: re.Match[str] | None, mention: Mention, today: date) -> Reading | None:
    days, word = mention.meaning.days, _word(lead)
    if days is None or _outside(text, mention.start) or (lead and lead["away"]):
        return None
    if lead and lead["whole"] and days.start == days.end:
        whole = _whole(lead["whole"].lower(), lead["how"].lower(), days.start)
        return Reading(lead.start(), mention.end, whole, explicit=True) if whole else None
    if behind := _behind(text, mention.end, days):
        return Reading(mention.start, behind[0], behind[1], explicit=True) if behind[1] else None
    if lead and lead["beside"]:
        beside = _beside(lead["unit"].lower(), word.endswith("before"), days)
        return Reading(lead.start(), mention.end, beside, explicit=True) if beside else None
    on = ON.match(text, mention.end)
    if on or word in _SINCE:
        start = lead.start() if lead else mention.start
        if days.start > today:
            return None
        return Reading(start, on.end() if on else mention.end, Days(days.start, today), explicit=True)
    if BEFORE.match(text, mention.end) or (word and word not in _FROM) or not mention.meaning.alone:
        return None
    return Reading(mention.start, mention.end, days, dated=mention.meaning.dated)


def _whole(name: str, how: str, day: date) -> Days | None:
    """The week of March 2, the week that begins or ends on it, the weekend of March 7."""
    try:
        if name == "weekend":
            return weekend_at(day, 0)
        if how == "ending":
            return Days(day - 6 * _DAY, day)
        return unit_at("week", day, 0) if how in ("of", "containing") else Days(day, day + 6 * _DAY)
    except (ValueError, OverflowError):
        return None


def _behind(text: str, place: int, days: Days) -> tuple[int, Days | None] | None:
    """(end of the words, days) for `那周` and `的前一天` behind a day."""
    if days.start != days.end:
        return None
    if found := THAT_WEEK.match(text, place):
        return found.end(), _whole("week", "of", days.start)
    if found := BESIDE.match(text, place):
        name = _UNITS_CHINESE.get(found["unit"] or "", "day")
        return found.end(), _beside(name, bool(found["before"]), days)
    return None


def _beside(name: str, before: bool, days: Days) -> Days | None:
    """The seven days that end on July 20 for "the week before July 21"."""
    unit = _UNITS.get(name, "day")
    try:
        if before:
            return Days(moved(days.start, unit, -1), days.start - _DAY)
        return Days(days.end + _DAY, moved(days.end, unit, 1))
    except (ValueError, OverflowError):
        return None


def _word(lead: re.Match[str] | None) -> str:
    """The preposition before a mention, without its white space; empty where there is none."""
    said = lead and (lead["word"] or lead["char"] or lead["beside"])
    return " ".join(said.lower().split()) if said else ""
