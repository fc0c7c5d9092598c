"""Calendar arithmetic for spoken times: whole days, weeks (from Monday), months, quarters and years.

What leaves the years 1 to 9999, or is no date, raises ValueError or OverflowError, as `datetime` does.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Unit = Literal["day", "week", "month", "quarter", "year"]
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, slots=True)
class Days:
    """From `start` to `end`, both inclusive; `start` is never later."""

    start: date
    end: date


@dataclass(frozen=True, slots=True)
class Recurring:
    """What comes back in every `part_of`: Monday in a week, the 21st in a month, July in a year.

    `latest(day)` is the last one that began on `day` or earlier; None where it never does (February 30).
    """

    part_of: Unit
    latest: Callable[[date], Days | None]

    def within(self, whole: Days) -> Days | None:
        """The one that begins inside `whole`."""
        found = self.latest(whole.end)
        return found if found and found.start >= whole.start else None

    def first(self, day: date) -> Days | None:
        """The first one that begins on `day` or later, within a year."""
        for ahead in (0, 6, 13, 20, 27, 30, 60, 182, 364, 366):
            found = self.latest(day + timedelta(days=ahead))
            if found and found.start >= day:
                return found
        return None


def one_day(day: date) -> Days:
    return Days(day, day)


def unit_at(unit: Unit, today: date, offset: int) -> Days:
    """The whole `unit` that holds `today`, moved by `offset` units."""
    if unit == "day":
        return one_day(today + timedelta(days=offset))
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=offset)
        return Days(monday, monday + timedelta(days=6))
    months = _MONTHS[unit]
    number = (today.year * 12 + today.month - 1) // months + offset
    year, month = divmod(number * months, 12)
    return _months(year, month + 1, months)


def moved(today: date, unit: Unit, offset: int) -> date:
    """The same day `offset` units later; the last day of the month where that month is shorter."""
    if unit in ("day", "week"):
        return today + timedelta(days=offset if unit == "day" else 7 * offset)
    year, month = divmod(today.year * 12 + today.month - 1 + offset * _MONTHS[unit], 12)
    start = date(year, month + 1, 1)
    return start.replace(day=min(today.day, calendar.monthrange(year, month + 1)[1]))


def whole_month(year: int, month: int) -> Days:
    return _months(year, month, 1)


def whole_year(year: int) -> Days:
    return Days(date(year, 1, 1), date(year, 12, 31))


def weekend_at(today: date, offset: int) -> Days:
    """Saturday and Sunday of the week that holds `today`, moved by `offset` weeks."""
    week = unit_at("week", today, offset)
    return Days(week.start + timedelta(days=5), week.end)


def weekday_at(number: int, today: date, offset: int) -> Days:
    """Monday (0) to Sunday (6) of the week that holds `today`, moved by `offset` weeks."""
    return one_day(unit_at("week", today, offset).start + timedelta(days=number))


def every_weekday(number: int) -> Recurring:
    return Recurring("week", lambda day: one_day(day - timedelta(days=(day.weekday() - number) % 7)))


def every_month_day(month: int, first: int, last: int | None = None) -> Recurring:
    """`first` (to `last`) of `month`. ValueError where no year has it."""
    date(2000, month, max(first, last or first))

    def latest(day: date) -> Days | None:
        for year in range(day.year, max(day.year - 9, 0), -1):
            length = calendar.monthrange(year, month)[1]
            if max(first, last or first) <= length and (start := date(year, month, first)) <= day:
                return Days(start, start.replace(day=last or first))
        return None

    return Recurring("year", latest)


def every_day_of_month(number: int) -> Recurring:
    def latest(day: date) -> Days | None:
        for back in range(3):
            month = unit_at("month", day, -back)
            found = month.start + timedelta(days=number - 1)
            if found <= min(month.end, day):
                return one_day(found)
        return None

    return Recurring("month", latest)


def every_month(month: int, last: int | None = None) -> Recurring:
    """`month` (to `last` of the same year). ValueError where that is earlier."""
    count = (last or month) - month + 1
    if count < 1:
        raise ValueError(f"from month {month} to month {last}")
    return Recurring("year", lambda day: _months(day.year - (month > day.month), month, count))


def every_quarter(number: int) -> Recurring:
    return Recurring("year", lambda day: _months(day.year - (number * 3 - 2 > day.month), number * 3 - 2, 3))


def _months(year: int, month: int, count: int) -> Days:
    start = date(year, month, 1)
    last = month + count - 1
    return Days(start, date(year, last, calendar.monthrange(year, last)[1]))
