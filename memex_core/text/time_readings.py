"""What neighbouring times mean together: "Monday last week", `去年的7月`, "from X to Y", "since X"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from memex_core.text.calendar_days import Days, Unit, moved
from memex_core.text.time_mentions import NOTHING, Meaning, Mention

_NEIGHBOURS = re.compile(r"[\s,，]{0,8}(?:(?:of|on|in)\b|的)?\s{0,8}(?:the\s{1,8})?", re.I)
_TO = re.compile(r"\s{0,8}(?:\b(?:to|through|thru|until|till)\b|\.\.|[-–—~到至])\s{0,8}(?:the\s{1,8})?", re.I)
_AND = re.compile(r"\s{0,8}(?:\band\b|[和与跟])\s{0,8}(?:the\s{1,8})?", re.I)
_LEAD = re.compile(
    r"(?<![A-Za-z0-9_-])(?:(?P<word>between|from|since|after|before|until|till|by|prior\s{1,8}to|up\s{1,8}to)"
    r"\s{1,8}(?:the\s{1,8})?"
    r"|(?P<beside>(?:the\s{1,8})?(?P<unit>day|night|morning|week|month|year)\s{1,8}(?:before|after))\s{1,8}"
    r"|(?P<char>自从|(?<![来亲各独])自|从|截至|截止到?|介于)\s{0,8})\Z",
    re.I,
)
_ON = re.compile(
    r"\s{0,8}(?:以来|至今|到现在|之后|以后|后(?![来面端台续果半期天])|开始|起(?![来床草飞点步码初因源])"
    r"|onwards?\b|on(?=\s{0,8}(?:[^\w\s]|\Z))|(?:until|till|to|up\s{1,8}to|through)\s{1,8}now\b)",
    re.I,
)
_BEFORE = re.compile(r"\s{0,8}(?:之前|以前|前(?![端天台后往提面期所])|为止)")
_BETWEEN = re.compile(r"\s{0,8}之间")
_FROM = ("between", "from", "since", "从", "自", "自从", "介于")
_UNITS: dict[str, Unit] = {"week": "week", "month": "month", "year": "year"}
_SINCE = ("since", "after", "自", "自从")


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
        span = _range(text, lead, mention, other) if other else None
        found = span or _single(text, lead, mention, today)
        if found:
            yield found
        place += 2 if span else 1


def _lead(text: str, place: int) -> re.Match[str] | None:
    """The preposition that ends before `place`."""
    if place and (text[place - 1].isspace() or text[place - 1] in "从自至止到于"):
        return _LEAD.search(text, max(place - 32, 0), place)
    return None


def _one_of_two(text: str, first: Mention, second: Mention) -> Mention | None:
    gap = text[first.end : min(second.start, first.end + 32)]
    if not _NEIGHBOURS.fullmatch(gap):
        return None
    for part, whole in ((first.meaning, second.meaning), (second.meaning, first.meaning)):
        if part.recurring and whole.days and part.recurring.part_of == whole.unit:
            return Mention(first.start, second.end, _within(part, whole.days))
    return None


def _within(part: Meaning, whole: Days) -> Meaning:
    try:
        days = part.recurring.within(whole) if part.recurring else None
    except (ValueError, OverflowError):
        days = None
    return Meaning(days, dated=part.dated) if days else NOTHING


def _range(text: str, lead: re.Match[str] | None, first: Mention, last: Mention) -> Reading | None:
    gap = text[first.end : min(last.start, first.end + 40)]
    word = _word(lead)
    closing = _BETWEEN.match(text, last.end)
    if not _TO.fullmatch(gap) and not (_AND.fullmatch(gap) and (closing or word in ("between", "介于"))):
        return None
    if not (first.meaning.alone or last.meaning.alone or word in _FROM):
        return None
    days = _from_to(first.meaning, last.meaning)
    start = lead.start() if lead and word in _FROM else first.start
    return Reading(start, closing.end() if closing else last.end, days, explicit=True) if days else None


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
    if not (begin and end):
        return None
    return Days(min(begin.start, end.start), max(begin.end, end.end))


def _single(text: str, lead: re.Match[str] | None, mention: Mention, today: date) -> Reading | None:
    days, word = mention.meaning.days, _word(lead)
    if days is None:
        return None
    if lead and lead["beside"]:
        beside = _beside(lead["unit"].lower(), word.endswith("before"), days)
        return Reading(lead.start(), mention.end, beside, explicit=True) if beside else None
    on = _ON.match(text, mention.end)
    if on or word in _SINCE:
        start = lead.start() if lead else mention.start
        if days.start > today:
            return None
        return Reading(start, on.end() if on else mention.end, Days(days.start, today), explicit=True)
    if _BEFORE.match(text, mention.end) or (lead and word not in _FROM) or not mention.meaning.alone:
        return None
    return Reading(mention.start, mention.end, days, dated=mention.meaning.dated)


def _beside(name: str, before: bool, days: Days) -> Days | None:
    """The seven days that end on July 20 for "the week before July 21"."""
    unit = _UNITS.get(name, "day")
    try:
        if before:
            return Days(moved(days.start, unit, -1), days.start - timedelta(days=1))
        return Days(days.end + timedelta(days=1), moved(days.end, unit, 1))
    except (ValueError, OverflowError):
        return None


def _word(lead: re.Match[str] | None) -> str:
    """The preposition before a mention, without its white space; empty where there is none."""
    return " ".join((lead["word"] or lead["char"] or lead["beside"]).lower().split()) if lead else ""
