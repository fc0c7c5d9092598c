"""Times as English says them. Weeks begin on Monday; "a week ago" is that whole week; a bare weekday is the
latest one before today. Approximate words ("recently", "a few days ago") mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from memex_core.text.calendar_days import (
    Days,
    Unit,
    every_weekday,
    moved,
    unit_at,
    weekday_at,
    weekend_at,
)
from memex_core.text.time_mentions import NOTHING, Language, Meaning, by_beginning
from memex_core.text.time_words_dates import (
    DATE_RULES,
    DIGITS,
    FLAGS,
    LEFT_EDGE,
    MONTH,
    MOVES,
    OWN,
    rule,
    stands_before,
)

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = (
    {word: number for number, word in enumerate(_ONES + _TEENS, 1)}
    | {word: number for number, word in zip(range(20, 100, 10), _TENS, strict=True)}
    | {"a": 1, "an": 1, "couple": 2, "dozen": 12, "hundred": 100}
)
_UNITS: dict[str, Unit] = {"d": "day", "n": "day", "w": "week", "m": "month", "q": "quarter", "y": "year"}

_NUMBER = (
    r"[0-9]{1,9}|(?:a )?couple(?: of)?|a dozen|(?:a|one) hundred"
    rf"|(?:{'|'.join(_TENS)})(?: |-)(?:{'|'.join(_ONES)})|{'|'.join(_ONES + _TEENS + _TENS)}|an?"
)
_SOME = "(?P<{}>days?|weeks?|fortnights?|months?|years?)"
_NUMBER_BEGINS = " ".join(DIGITS + tuple(_NUMBERS))
_WEEKDAY = "|".join(_WEEKDAYS)
_WEEKDAY_SHORT = "mon|tues?|wed|thu(?:rs?)?|fri"  # "sat" and "sun" are words
_NO_NAME = rf"(?! (?:{_WEEKDAY}|weekend|week|month|quarter|year|night|evening|{MONTH})\b)"
_WEEKDAY_MOVE = r"this past|this coming|last|past|previous|coming|this|next"
_HOURS = r"(?: (?:early |late )?(?:morning|afternoon|evening|night|noon))?"
_TIME_FOLLOWS = re.compile(
    rf"(?:{_NUMBER}|and|or|to|at|before|after|until|till?|through|thru|i|we|did|what|last|of)\b", FLAGS
)
_HALF = re.compile(r"\bhalf\s{1,8}\Z", FLAGS)


_BOUND = re.compile(
    r"\b(?:(?:more|less|fewer|longer|later|earlier|older|newer|sooner|further)\s{1,8}than"
    r"|over|under|beyond|at\s{1,8}(?:least|most))"
    r"\s{1,8}\Z",
    FLAGS,
)
"""Before an amount: other times are meant than the one that long ago."""

_ON_A_DAY = re.compile(r"\b(?:on|by|since|until|till|til|from|for|at|of|and|or|to)[\s\u00a0]{1,8}\Z", FLAGS)


def _goes_on(match: re.Match[str]) -> bool:
    """True for a weekday before another word: "Friday deploys" are deploys, not a Friday."""
    rest = match.string[match.end() : match.end() + 24].lstrip(" \t\u00a0")
    return rest[:1].isalnum() and not _TIME_FOLLOWS.match(rest)


def _number(words: str) -> int:
    if words.isdigit():
        return int(words)
    values = [_NUMBERS[word] for word in re.split(r"[\s\u00a0-]+", words.lower()) if word in _NUMBERS]
    return values[-1] if values[0] == 1 else sum(values)


def _nothing(_match: re.Match[str], _today: date) -> Meaning:
    return NOTHING


def _a_day(offset: int) -> Callable[[re.Match[str], date], Meaning]:
    return lambda _match, today: Meaning(unit_at("day", today, offset))


def _ago(match: re.Match[str], today: date) -> Meaning:
    """A day for days; the whole week, month or year for these, unless "today" asks for its day."""
    if stands_before(_HALF, match) or stands_before(_BOUND, match):
        return NOTHING
    near, far = sorted((_number(match["n"]), _number(match["m"] or match["n"])))
    letter = match["unit"][0].lower()
    if match["unit"].lower().startswith("weekend"):
        return Meaning(Days(weekend_at(today, -far).start, weekend_at(today, -near).end))
    if letter == "f":
        near, far, letter = 2 * near, 2 * far, "w"
    unit = _UNITS[letter]
    if match["today"]:
        return Meaning(Days(moved(today, unit, -far), moved(today, unit, -near)))
    days = Days(unit_at(unit, today, -far).start, unit_at(unit, today, -near).end)
    return Meaning(days, unit if near == far else None)


def _two_units_ago(match: re.Match[str], today: date) -> Meaning:
    """From the one to the other for "3 days to a week ago"; "a week and 2 days ago" means nothing."""
    if not match["between"] and match["to"].strip().lower() not in ("to", "or"):
        return NOTHING
    ends = [
        unit_at(_UNITS["w" if name[0].lower() == "f" else name[0].lower()], today, -_number(number))
        for number, name in ((match["n"], match["first"]), (match["m"], match["unit"]))
    ]
    return Meaning(Days(min(end.start for end in ends), max(end.end for end in ends)))


def _until_today(match: re.Match[str], today: date) -> Meaning:
    """Three full days and today for "the last three days"."""
    number, letter = _number(match["n"] or "one"), match["unit"][0].lower()
    if letter == "h":
        return Meaning(Days(today - timedelta(days=-(-number // 24)), today))
    if letter == "f":
        number, letter = 2 * number, "w"
    return Meaning(Days(moved(today, _UNITS[letter], -number), today))


def _calendar_unit(match: re.Match[str], today: date) -> Meaning:
    return _unit(match["unit"].lower(), MOVES[match["move"].lower()], today)


def _before_last(match: re.Match[str], today: date) -> Meaning:
    return _unit(match["unit"].lower(), -2, today)


def _unit(name: str, offset: int, today: date) -> Meaning:
    if name == "weekend":
        return Meaning(weekend_at(today, offset))
    unit = _UNITS[name[0]]
    return Meaning(unit_at(unit, today, offset), unit)


def _weekday_number(name: str) -> int:
    return next(n for n, weekday in enumerate(_WEEKDAYS) if weekday.startswith(name[:3].lower()))


def _weekday_before_last(match: re.Match[str], today: date) -> Meaning:
    last = every_weekday(_weekday_number(match["name"])).latest(today - timedelta(days=1))
    if _goes_on(match) or not last:
        return NOTHING
    return Meaning(unit_at("day", last.start, -7))


def _weekday(match: re.Match[str], today: date) -> Meaning:
    number = _weekday_number(match["name"])
    move = (match["move"] or "").lower().split()
    if match[0].lower() in _WEEKDAYS and not stands_before(_ON_A_DAY, match) and _goes_on(match):
        return NOTHING
    if move in (["this"], ["next"]):
        return Meaning(weekday_at(number, today, MOVES[move[0]]))
    every = every_weekday(number)
    if move[-1:] == ["coming"]:
        return Meaning(every.first(today + timedelta(days=1)))
    return Meaning(every.latest(today - timedelta(days=1)), recurring=every)


_LOOKALIKES = (
    r"(?:black|good|cyber|easter|blue|manic|super|ruby|fat|ash|palm|bloody|casual|freaky|happy|any given)"
    rf" (?:{_WEEKDAY})"
    rf"|(?:every|each|any|most|a)(?: (?:other|single|second))? (?:{_WEEKDAY}|{_WEEKDAY_SHORT}|{MONTH})"
    rf"|(?:first|second|third|fourth|fifth) (?:{_WEEKDAY})|last (?:{_WEEKDAY})(?= of\b)"
    r"|(?:sunday|saturday) school|sunday times|(?:monday|thursday) night football|friday the 13th"
    r"|usa today|may day|march madness|april fools?['’]?s?(?: day)?|ides of march"
)
_LOOKALIKES_BEGIN = (
    "black good cyber easter blue manic super ruby fat ash palm bloody casual freaky happy any every each a"
    " most first second third fourth fifth last saturday sunday monday thursday friday usa may march april"
    " ides"
)

_RULES = (
    rule(_LOOKALIKES_BEGIN, _LOOKALIKES, _nothing),
    rule("today tonight tonite", rf"(?:today|tonight|tonite)(?:-ish|{OWN})", _a_day(0)),
    rule("this", r"this (?:morning|afternoon|evening)", _a_day(0)),
    rule("yesterday", rf"yesterday{OWN}{_HOURS}", _a_day(-1)),
    rule("last", rf"last (?:night|evening){OWN}", _a_day(-1)),
    rule("the day", rf"(?:the )?day before yesterday{OWN}", _a_day(-2)),
    rule("the night", r"(?:the )?night before last", _a_day(-2)),
    rule("tomorrow", rf"tomorrow{OWN}{_HOURS}", _a_day(1)),
    rule("the day", rf"(?:the )?day after tomorrow{OWN}", _a_day(2)),
    rule(
        _NUMBER_BEGINS,
        rf"(?P<n>{_NUMBER})(?: or so)?(?:(?:-|–| to | or )(?P<m>{_NUMBER}))?(?: |-)?"
        r"(?P<unit>days?|nights?|weekends?|weeks?|wks?|fortnights?|months?|years?|yrs?|(?<=[0-9])(?:d|w|mo|y))"
        r"(?: or so)? ago(?P<today> today)?",
        _ago,
    ),
    rule(
        "between",
        rf"between (?P<n>{_NUMBER}) and (?P<m>{_NUMBER}) {_SOME.format('unit')} ago(?P<today> today)?",
        _ago,
    ),
    rule(
        f"{_NUMBER_BEGINS} between from",
        rf"(?P<between>(?:between|from) )?(?P<n>{_NUMBER})(?: |-)?{_SOME.format('first')}"
        rf"(?P<to> (?:to|and|or) |,? )(?P<m>{_NUMBER})(?: |-)?{_SOME.format('unit')} ago",
        _two_units_ago,
    ),
    rule(
        "a one",
        r"(?P<n>a|one) (?P<unit>day|week|month|year) or (?P<m>two) ago(?P<today> today)?",
        _ago,
    ),
    rule(
        "last past previous",
        rf"(?:last|past|previous) (?P<n>{_NUMBER})(?: |-)?"
        r"(?P<unit>days?|nights?|weeks?|fortnights?|months?|years?|hours?|(?<=[0-9])(?:d|w|mo|y|h))(?! of\b)",
        _until_today,
    ),
    rule(
        "in over during within for",
        r"(?:in|over|during|within|for) the (?:last|past)(?P<n>)"
        r" (?P<unit>day|week|fortnight|month|year|hour)(?! of\b)",
        _until_today,
    ),
    rule("past the", r"(?:the )?past(?P<n>) (?P<unit>day|week|fortnight|month|year)(?! of\b)", _until_today),
    rule(
        "last previous this next",
        rf"(?P<move>last|previous|this|next) (?P<unit>weekend|week|month|quarter|year){OWN}(?! of\b)",
        _calendar_unit,
    ),
    rule("this past the", r"(?:(?:this|the) )?(?P<move>past) (?P<unit>weekend)", _calendar_unit),
    rule(
        "the week month year weekend",
        rf"(?:the )?(?P<unit>weekend|week|month|year) before last(?! (?:{_WEEKDAY}|week|month|year))",
        _before_last,
    ),
    rule(
        " ".join(_WEEKDAYS) + " the",
        rf"(?:the )?(?P<name>{_WEEKDAY}) before last{_NO_NAME}",
        _weekday_before_last,
    ),
    rule(" ".join(_WEEKDAYS) + " the", rf"(?:the )?(?:{_WEEKDAY}) after next{_NO_NAME}", _nothing),
    rule(
        " ".join(_WEEKDAYS) + " last past previous this coming next",
        rf"(?:(?P<move>{_WEEKDAY_MOVE}) )?(?P<name>{_WEEKDAY}){OWN}{_HOURS}",
        _weekday,
    ),
    rule(
        "on last past previous this coming next",
        rf"(?:(?P<move>{_WEEKDAY_MOVE})|on) (?P<name>{_WEEKDAY_SHORT}){_HOURS}",
        _weekday,
    ),
)

_TABLE = by_beginning((*_RULES, *DATE_RULES))
_WORDS = "|".join(sorted((key for key in _TABLE if key.isalpha() and key != "q"), key=len, reverse=True))
ENGLISH = Language(rf"{LEFT_EDGE}(?:[0-9]|q(?=[1-4])|(?:{_WORDS})(?![a-z]))", _TABLE, FLAGS)
