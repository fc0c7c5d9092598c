"""The event layer: diary/YYYY-MM-DD.md, one `## HH:MM` block per event (seed 002; formats page 1.6).

Append-only: nothing here changes or deletes an event. The file's name is the local day, the heading the local
wall clock, `ts` the exact instant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from memex_core import paths
from memex_core.errors import WrongValue
from memex_core.model.item import DiaryEvent, checked_content, checked_provenance, utc_now, utc_stamp
from memex_core.store.block_file import BlockFiles, Problem
from memex_core.store.journal import Journal
from memex_core.text.block_splice import inserted, titled
from memex_core.text.blocks import Provenance, parse, read_body, render, render_file

_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]\Z")


class Diary:
    """The days of one memory root. Reads take no lock; `append` does, and leaves a journal line."""

    def __init__(
        self, root: Path, journal: Journal | None = None, now: Callable[[], datetime] = utc_now
    ) -> None:
        self.root = root
        self.journal = journal or Journal(root)
        self._now = now
        self._days = BlockFiles(root, paths.diary_dir(root))

    def append(
        self,
        content: str,
        *,
        ts: str | None = None,
        date: str | None = None,
        time: str | None = None,
        owner: str | None = None,
        source_conv: str | None = None,
        tz: tzinfo | None = None,
    ) -> DiaryEvent:
        """Add an event to its day, behind those of the same minute.

        `ts` is ISO 8601, UTC unless it says otherwise. `date` and `time` (`HH:MM`) are those of `ts` in `tz`,
        the zone of this machine if that is None, unless they are given; they are not compared with it.
        Without a `ts` it is the instant that they say, each that of now where it is not given. Raises
        ValueError (InvalidName for the date), with nothing written, for what would not be read back as it is
        given; WikiStoreError where the day cannot be read or written; LockTimeout.
        """
        moment = self._now() if ts is None else _moment(ts)
        was_now = _wall_clock(moment, None, None, tz) if ts is None else None
        date, time = _wall_clock(moment, date, time, tz)
        paths.day_path(self.root, date)
        if was_now not in (None, (date, time)):
            moment = _instant(date, time, tz) or moment
        content = checked_content(content)
        if not content:
            raise WrongValue("an event needs a content")
        said = checked_provenance(owner, source_conv, utc_stamp(moment))
        with self._days.changing():
            ordinal = self._days.rewrite(date, lambda text: _with_event(text, date, time, content, said))
            now = utc_stamp(self._now())
            self.journal.event_added(date, time, now, owner=owner, source_conv=source_conv)
        return DiaryEvent(date, time, content, *said, ordinal)

    def day(self, date: str) -> list[DiaryEvent]:
        """The events of a day, in the order of its file. ValueError for what is neither a day nor a file of
        `dates`.
        """
        events = self._events(date) if paths.is_day_name(date) else []
        if not events:
            paths.day_path(self.root, date)
        return events

    def event(self, date: str, ordinal: int) -> DiaryEvent | None:
        """The event at that place of the day's file, or None."""
        events = self.day(date)
        return events[ordinal] if 0 <= ordinal < len(events) else None

    def event_at(self, date: str, time: str, nth: int = 1) -> DiaryEvent | None:
        """The n-th event under that heading, from 1: the same one after later appends, unlike an ordinal."""
        found = [event for event in self.day(date) if event.time == time]
        return found[nth - 1] if 0 < nth <= len(found) else None

    def dates(self) -> list[str]:
        """The days that have a file, ascending; by the shape of its name, so `2026-13-40` may be one."""
        return [stem for stem in self._days.stems() if paths.is_day_name(stem)]

    def events(self) -> Iterator[DiaryEvent]:
        """Every event of every day, ascending by day."""
        for date in self.dates():
            yield from self._events(date)

    def window(self, start: str, end: str) -> list[DiaryEvent]:
        """The events from `start` to `end`, both days included, in either order. ValueError for no day."""
        for date in (start, end):
            paths.day_path(self.root, date)
        first, last = sorted((start, end))
        return [event for date in self.dates() if first <= date <= last for event in self._events(date)]

    def problems(self) -> list[Problem]:
        """(path relative to the memory root, why) of the days that cannot be read. Reads all files."""
        return [found for found in self._days.problems() if paths.is_day_name(Path(found[0]).stem)]

    def _events(self, date: str) -> list[DiaryEvent]:
        return _events(date, self._days.readable(date))


def _moment(ts: str) -> datetime:
    try:
        if not ts.isascii():
            raise ValueError("digits of another script")
        moment = datetime.fromisoformat(ts)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise WrongValue(f"not a time: {ts[:80]!r}; write it as 2026-09-15T10:00:00Z") from None


def _instant(date: str, time: str, tz: tzinfo | None) -> datetime | None:
    """When the clocks of a zone show this; None for a day beyond what a clock can show."""
    try:
        return datetime.fromisoformat(f"{date}T{time}").replace(tzinfo=tz).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _wall_clock(moment: datetime, date: str | None, time: str | None, tz: tzinfo | None) -> tuple[str, str]:
    """The local day and minute of `moment`, each only where it is not given."""
    if date is None or time is None:
        try:
            local = moment.astimezone(tz)
        except (ValueError, OverflowError, OSError):
            raise WrongValue(f"no local time is known for {utc_stamp(moment)}") from None
        date = local.date().isoformat() if date is None else date
        time = local.strftime("%H:%M") if time is None else time
    if not _TIME.match(time):
        raise WrongValue(f"not a time of the day: {time[:80]!r}; write it as 09:30")
    return date, time


def _with_event(text: str, date: str, time: str, content: str, said: Provenance) -> tuple[str, int]:
    """The text of a day with one more event, and the place of that event.

    In a day as wikimem writes it, all events are then in the order of their times. In one that a person
    edited, nothing else moves.
    """
    sections = parse(text)
    times = [section.heading for section in sections]
    if times != sorted(times) and all(map(_TIME.match, times)):
        blocks = [(section.heading, *read_body(text, section)) for section in sections]
        if render_file(date, blocks) == text:
            blocks = sorted([*blocks, (time, content, said)], key=lambda block: block[0])
            return render_file(date, blocks), sum(block[0] <= time for block in blocks) - 1
    ordinal = _ordinal(times, time)
    headed = titled(text, date)
    place = sections[ordinal].start + len(headed) - len(text) if ordinal < len(sections) else None
    return inserted(headed, render(time, content, said), place), ordinal


def _ordinal(times: list[str], time: str) -> int:
    """Behind the last event that is not later, else before the first one that is, else at the end. Headings
    that are no time of the day count for nothing.
    """
    before = [index for index, other in enumerate(times) if _TIME.match(other) and other <= time]
    after = (index for index, other in enumerate(times) if _TIME.match(other) and other > time)
    return before[-1] + 1 if before else next(after, len(times))


def _events(date: str, text: str) -> list[DiaryEvent]:
    found = ((section.heading, *read_body(text, section)) for section in parse(text))
    return [
        DiaryEvent(date, time, content, *said, ordinal) for ordinal, (time, content, said) in enumerate(found)
    ]
