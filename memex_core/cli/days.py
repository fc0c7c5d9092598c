"""The days that a person means: dates, and words such as yesterday or last week."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import click

from memex_core import paths
from memex_core.cli.output import Command, shown
from memex_core.text.instant import to_seconds

_WORD = re.compile(r"\w+")
_SMALL_WORDS = {"a", "at", "during", "for", "from", "in", "of", "on", "the"}
"""What may stand beside the words that name days, and says no more."""


def first_and_last_day(text: str) -> tuple[str, str] | None:
    """The first and last day that a date or words name; None where they name none, or say more than that."""
    from memex_core.text.time_words import time_window  # most commands get a date, or none

    if paths.is_day_name(text):
        return text, text
    found = time_window(text, date.today())
    if found is None or not _SMALL_WORDS.issuperset(
        _WORD.findall(text[: found.place[0]] + " " + text[found.place[1] :].lower())
    ):
        return None
    return found.start.isoformat(), found.end.isoformat()


def since_option(help: str) -> Callable[[Command], Command]:
    """--since: an ISO 8601 date or time as it was typed, of words the first day."""
    return _option("--since", help, 0)


def until_option(help: str) -> Callable[[Command], Command]:
    """--until: an ISO 8601 date or time as it was typed, of words the last day."""
    return _option("--until", help, 1)


def _option(name: str, help: str, end: int) -> Callable[[Command], Command]:
    def checked(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
        if value is None or to_seconds(value) is not None:
            return value.strip() if value else None
        days = first_and_last_day(value)
        if days is None or to_seconds(days[end]) is None:
            raise click.BadParameter(
                f"{shown(value)[:80]!r} is not a date such as 2026-09-15 or 2026-09-15T10:00:00Z, "
                "nor words such as yesterday or last week"
            )
        return days[end]

    return click.option(name, default=None, metavar="DATE", callback=checked, help=help)
