"""Dates and months as digits and English names say them, and what every rule of that script shares.

A date without a year is the latest one that is not in the future. What is glued to a sign of paths, numbers
or code is a name, not a time: `2026-07-21.md`, `v1.2026-07`, `date.today()`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from memex_core.text.calendar_days import (
    Days,
    every_day_of_month,
    every_month,
    every_month_day,
    every_quarter,
    one_day,
    whole_month,
    whole_year,
)
from memex_core.text.time_mentions import NOTHING, Meaning, Rule

DIGITS = tuple("0123456789")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
MONTHS_SHORT = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec")
MONTH = rf"{'|'.join(MONTHS)}|(?:{'|'.join(MONTHS_SHORT)})\b\.?"
FLAGS = re.I | re.A
OWN = r"(?:['’]s)?"
MOVES = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1}
LEFT_EDGE = r"(?:(?<=\.\.)|(?<![\w.\-/@#$%\\=&]))(?<![0-9][,:])"
_RIGHT_EDGE = r"(?![\w@\\(/=]|[-.:](?!ish\b)\w)"
_OTHER_WORDS = ("may", "march", "mar", "dec", "oct")
_DAY = r"[0-9]{1,2}"
_ORDINAL = r"(?:st|nd|rd|th)"
_YEAR = r"[12][0-9]{3}"
_IN = re.compile(r"\b(?:in|during|throughout|of|year)\s{1,8}(?:the\s{1,8})?\Z", FLAGS)
_ON = re.compile(r"\bon\s{1,8}(?:the\s{1,8})?\Z", FLAGS)
_BETWEEN = re.compile(r"\bbetween\s{1,8}(?:the\s{1,8})?\Z", FLAGS)
_ENDS = r"(?=,? [12][0-9]{3}\b|\s{0,8}(?:[^\w\s]|\Z))"
_CLAUSE_ENDS = re.compile(r"\s{0,8}(?:[^\w\s]|\Z)")
# Before any other word a number counts something ("in 2000 lines"); "1970's" is a decade.
_YEAR_ENDS = re.compile(
    r"(?!['’]s)\s{0,8}(?:[^\w\s]|\Z)|\s{1,8}(?:and|to|until|till|through|when|that|the|we|i|did|was|were|on|by|for|with"
    r"|in|a)\b",
    FLAGS,
)


def rule(begins: str, pattern: str, meaning: Callable[[re.Match[str], date], Meaning]) -> Rule:
    """A rule of words between spaces. `#` begins with a digit, `MONTH` with the name of one."""
    keys = {"#": DIGITS, "MONTH": (*MONTHS, *MONTHS_SHORT)}
    words = tuple(word for key in begins.split() for word in keys.get(key, (key,)))
    spaced = pattern.replace(" ", r"[\s\u00a0]{1,8}")
    return Rule(words, f"(?:{spaced}){_RIGHT_EDGE}", meaning, FLAGS)


def stands_before(pattern: re.Pattern[str], match: re.Match[str]) -> bool:
    return pattern.search(match.string, max(match.start() - 24, 0), match.start()) is not None


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name[:3].lower()))


def _month_day(match: re.Match[str], today: date) -> Meaning:
    name = match["month"]
    if name in _OTHER_WORDS and not (match["th"] or match["year"] or stands_before(_ON, match)):
        return NOTHING
    return _date_of(match, match["to"] or match["last"], today)


def _day_month(match: re.Match[str], today: date) -> Meaning:
    name = match["month"]
    plain = name.islower() and (name in _OTHER_WORDS or name not in MONTHS)
    if plain and not (match["th"] or match["of"]):
        return NOTHING
    return _date_of(match, match["to"], today)


def _date_of(match: re.Match[str], to: str | None, today: date) -> Meaning:
    """All days from the first to the last; of two that are no neighbours ("March 1 and 5") the first."""
    first, last, year = int(match["day"]), int(to or 0), match["year"]
    if match["and"] and last != first + 1 and not stands_before(_BETWEEN, match):
        last = first
    every = every_month_day(_month_number(match["month"]), first, last if last > first else None)
    if year:
        return Meaning(every.within(whole_year(int(year))), dated=True)
    return Meaning(every.latest(today), recurring=every, dated=True)


def _month(match: re.Match[str], today: date) -> Meaning:
    """A month needs a word that makes it one: "in July", "July 2025", "last July"; in lower case, "may"
    and the short names need more.
    """
    name, number, inside = match["month"], _month_number(match["month"]), stands_before(_IN, match)
    move = (match["move"] or "").lower()
    if match["year"]:
        return Meaning(whole_month(int(match["year"]), number))
    if name.islower() and (name not in MONTHS or (name in _OTHER_WORDS and not (inside and not move))):
        return NOTHING
    if move:
        return Meaning(_moved_month(number, MOVES[move], today))
    every = every_month(number)
    return Meaning(every.latest(today), recurring=every, alone=bool(inside or match["part"]))


def _moved_month(number: int, offset: int, today: date) -> Days:
    """One that is over for "last July", one that has not begun for "next July", else the one of this year."""
    year = today.year
    if offset < 0 and number >= today.month:
        year -= 1
    if offset > 0 and number <= today.month:
        year += 1
    return whole_month(year, number)


def _iso_day(match: re.Match[str], _today: date) -> Meaning:
    """One day, or all until the second one: `2026-03-01 to 03-05`."""
    first = date(int(match["y"]), int(match["m"]), int(match["d"]))
    last = first.replace(month=int(match["m2"]), day=int(match["d2"])) if match["m2"] else first
    return Meaning(Days(first, last) if first < last else one_day(first), dated=True)


def _iso_month(match: re.Match[str], _today: date) -> Meaning:
    return Meaning(whole_month(int(match["y"]), int(match["m"])))


def _year(match: re.Match[str], _today: date) -> Meaning:
    if not _YEAR_ENDS.match(match.string, match.end()):
        return NOTHING
    return Meaning(whole_year(int(match.group())), "year", alone=stands_before(_IN, match))


def _quarter(match: re.Match[str], today: date) -> Meaning:
    every = every_quarter(int(match["q"]))
    if match["year"]:
        return Meaning(every.within(whole_year(int(match["year"]))))
    return Meaning(every.latest(today), recurring=every, alone=stands_before(_IN, match))


def _day_of_month(match: re.Match[str], today: date) -> Meaning:
    """A day in "on the 21st" at the end of a clause; before a word it counts something: "on the 2nd try"."""
    every = every_day_of_month(int(match["day"]))
    alone = stands_before(_ON, match) and _CLAUSE_ENDS.match(match.string, match.end()) is not None
    return Meaning(every.latest(today), recurring=every, alone=alone)


DATE_RULES = (
    rule(
        "MONTH",
        rf"(?P<month>{MONTH}) (?P<day>{_DAY})(?P<th>{_ORDINAL})?"
        rf"(?:(?:-|–| to (?:the )?| through (?:the )?)(?P<to>{_DAY}){_ORDINAL}?"
        rf"|(?: (?P<and>and|&) | - | – | until | till )(?:the )?(?P<last>{_DAY}){_ORDINAL}?{_ENDS})?"
        rf"(?:,? (?P<year>{_YEAR}))?",
        _month_day,
    ),
    rule(
        "# the",
        rf"(?:the )?(?P<day>{_DAY})(?P<th>{_ORDINAL})?"
        rf"(?:(?:(?: )?[-–](?: )?| to | until | till | (?P<and>and|&) )(?:the )?(?P<to>{_DAY}){_ORDINAL}?)?"
        rf"(?P<of> of)?"
        rf" (?P<month>{MONTH})(?:,? (?:of )?(?P<year>{_YEAR}))?",
        _day_month,
    ),
    rule(
        "MONTH early mid late last this next previous",
        rf"(?:(?P<part>early|mid|late)(?:-| ))?(?:(?P<move>last|this|next|previous) )?(?P<month>{MONTH}){OWN}"
        rf"(?:,? (?:of )?(?P<year>{_YEAR}))?",
        _month,
    ),
    rule(
        "#",
        r"(?P<y>[0-9]{4})(?P<sign>[-/])(?P<m>[0-9]{1,2})(?P=sign)(?P<d>[0-9]{1,2})"
        r"(?:(?:T| )[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
        r"|(?: to | through | until |(?: )?[~–—至到](?: )?| - |\.\.)"
        r"(?P<m2>[0-9]{1,2})(?P=sign)(?P<d2>[0-9]{1,2}))?",
        _iso_day,
    ),
    rule("#", r"(?P<y>(?:19|20)[0-9]{2})-(?P<m>[0-9]{2})", _iso_month),
    rule("#", r"(?:19[7-9][0-9]|20[0-9]{2})", _year),
    rule("q", rf"q(?P<q>[1-4])(?:,?(?: of)? (?P<year>{_YEAR}))?", _quarter),
    rule("#", rf"(?P<year>{_YEAR})(?:-| )?q(?P<q>[1-4])", _quarter),
    rule("the", rf"the (?P<day>{_DAY}){_ORDINAL}", _day_of_month),
)
