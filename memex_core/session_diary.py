"""The diary's part of a capture: one event for each run of a session, from its start or resume to its end
(issue 4 item 6).

The sidecar remembers which events tell of its session. It is written after them: an event that no sidecar
knows is found in the diary and taken for what it is. A part of the session that reads otherwise now (its run
goes on, an answer came later, turns were taken back) is told again, unless a person changed or deleted its
event: then it is theirs, and what the run says later is an event of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from pathlib import Path

from memex_core import paths
from memex_core.config import MemexConfig
from memex_core.files.operation_log import log_operation, where
from memex_core.memory.accounting import local_day
from memex_core.memory.episode import Exchange
from memex_core.memory.session_event import (
    could_be_ours,
    event_content,
    is_come_back_to,
    parts_told,
    runs_of,
)
from memex_core.model.item import DiaryEvent
from memex_core.model.sidecar import Sidecar, ToldEvent
from memex_core.store.block_file import BadBlockFile, BlockFiles
from memex_core.store.diary import Diary
from memex_core.store.journal import EPISODE_CUE, Forgotten, Journal, title_digest
from memex_core.text.block_splice import is_ours, titled, without
from memex_core.text.blocks import BOM, Section, parse, read_body, render_file
from memex_core.text.instant import to_seconds

Meant = Callable[[str, str | None], bool]
"""(content, ts) of an event -> whether it is meant."""
Part = tuple[ToldEvent | None, list[Exchange]]
"""Exchanges of a session that follow one another, and the event that tells of them so far."""
Known = tuple[ToldEvent, list[Exchange]]


class SessionDiary:
    """Writes and removes the events of sessions in one memory root, under the memory lock, which the caller
    holds. `now` gives ISO 8601 UTC.
    """

    def __init__(self, root: Path, config: MemexConfig, now: Callable[[], str]) -> None:
        self.root = root
        self.config = config
        self.now = now
        self.journal = Journal(root)
        self._diary = Diary(root, self.journal, lambda: datetime.fromisoformat(now()))
        self._days = BlockFiles(root, paths.diary_dir(root))

    def tell(
        self,
        sidecar: Sidecar,
        previous: Sidecar | None,
        exchanges: Sequence[Exchange],
        forgotten: Forgotten,
        *,
        goes_on: bool,
        last_turns: Sequence[int] = (),
    ) -> None:
        """Bring the diary to what the exchanges of a session say; notes in `sidecar` which events tell of it.
        Runs of the session are over with `last_turns`, and the last one is unless it `goes_on`.

        A day that cannot be read or written, or a time that is none, costs the event and nothing else. Raises
        WikiStoreError where the disk fails.
        """
        told = list(previous.diary) if previous else []
        open_still = goes_on and not any(last_turns)
        sidecar.diary = [replace(event, open=event.open and open_still) for event in told]
        if not self._is_told(sidecar, forgotten):
            return
        *parts, rest = parts_told(exchanges, told, sidecar.turn_ids)
        if parts and any(_begins_in(parts[-1], turn) for turn in last_turns):
            told[-1] = replace(told[-1], open=True)  # what ended it came to know of the next run first
        known = list(zip(told, parts, strict=True))
        if rest or any(event.open or not _says(event, event_content(part, sidecar)) for event, part in known):
            sidecar.diary = _Telling(self, sidecar, told).tell(known, rest, goes_on, last_turns)

    def forget(self, sidecar: Sidecar, exchanges: Sequence[Exchange]) -> list[str]:
        """Take the session's events out of the diary, as far as they are as they were written. `exchanges`:
        all that the session ever said.

        Gives what stays, as `diary/<date> <time>`: events that a person changed, or added in the name of the
        session, and those in a file that cannot be written.
        """
        session_id, known = sidecar.session_id, {event.sha256 for event in sidecar.diary}

        def is_ours(content: str, _: str | None) -> bool:
            return _digest(content) in known or could_be_ours(content, exchanges, sidecar)

        kept = []
        for date in self._diary.dates():
            if session_id in self._days.readable(date):
                try:
                    self.take_out(date, session_id, is_ours, "session deleted")
                except BadBlockFile as error:
                    self.left_alone(session_id, error)
                kept += [f"diary/{date} {event.time}" for event in self.events_of(date, session_id)]
        self.journal.forget_source(session_id)
        return kept

    def days(self) -> list[str]:
        """The days that have a file, ascending."""
        return self._diary.dates()

    def events_of(self, date: str, session_id: str) -> list[DiaryEvent]:
        """The events of a day in the name of a session."""
        try:
            return [event for event in self._diary.day(date) if event.source_conv == session_id]
        except ValueError:  # a file without events whose name only looks like a day
            return []

    def append(self, sidecar: Sidecar, content: str, ended_at: str) -> DiaryEvent:
        """Add an event at its local time. Raises ValueError for a time that is none, WikiStoreError."""
        owner = sidecar.harness or None
        return self._diary.append(content, ts=ended_at, owner=owner, source_conv=sidecar.session_id)

    def take_out(self, date: str, session_id: str, is_meant: Meant, why: str) -> None:
        """Delete the events of a session that are meant. The rest of the day keeps its bytes; the day goes
        with its last event, unless it holds words of a person. Raises WikiStoreError.
        """
        text = self._days.read(date) or ""
        gone = []
        for section in parse(text):
            content, said = read_body(text, section)
            if said.source_conv == session_id and is_meant(content, said.ts):
                gone.append(section)
        if not gone:
            return
        rest = _without(text, date, gone)
        if is_ours(rest, date):
            self._days.remove(date, rest)
        else:
            self._days.replace(date, rest)
        for section in gone:
            self.journal.page_changed("remove", f"diary/{date}", section.heading, self.now(), why)

    def left_alone(self, session_id: str, error: Exception) -> None:
        """Log what kept an event from being written or removed."""
        detail = str(error) if isinstance(error, BadBlockFile) else where(error)
        log_operation(self.root, "write-diary", session_id, "left alone", detail=detail)

    def _is_told(self, sidecar: Sidecar, forgotten: Forgotten) -> bool:
        episode = (sidecar.session_id, 0, EPISODE_CUE, title_digest(""))
        return self.config.capture.diary and sidecar.kind == "user" and episode not in forgotten.nodes


class _Telling:
    """The events of one session while they are brought up to date. `strays` are those in its name that no
    sidecar knows: their writer was killed before it wrote one, or a person added them.
    """

    def __init__(self, diary: SessionDiary, sidecar: Sidecar, told: Sequence[ToldEvent]) -> None:
        self.diary = diary
        self.sidecar = sidecar
        first, last = local_day(sidecar.started_at), local_day(sidecar.ended_at)
        known = {event.date for event in told}
        days = [date for date in diary.days() if date in known or first <= date <= last]
        self.own = [event for date in days for event in diary.events_of(date, sidecar.session_id)]
        self.strays = [event for event in self.own if not any(_is_that(event, each) for each in told)]

    def tell(
        self, known: list[Known], rest: list[Exchange], goes_on: bool, last_turns: Sequence[int]
    ) -> list[ToldEvent]:
        """What tells of the session from now on; nothing told of `rest` so far."""
        over, runs = self._over_and_open(known, rest, last_turns)
        kept: list[ToldEvent] = []
        for event, part in over:
            is_end = event is over[-1][0] and not any(later for _, later in runs)
            kept += self._tell_again(event, part, self._end(part, is_end))
        return kept + self._tell_runs(runs, goes_on)

    def _over_and_open(
        self, known: list[Known], rest: list[Exchange], last_turns: Sequence[int]
    ) -> tuple[list[Known], list[Part]]:
        """The parts that are told of for good, and the runs since, with what tells of them so far. An event
        that a person changed, moved or deleted tells for good.
        """
        if not known or not known[-1][0].open:
            return known, self._in_parts(runs_of(rest, last_turns), [])
        *over, (last, part) = known
        runs = runs_of([*part, *rest], last_turns)
        here, left = self._find(last), self._left(runs[0], runs[1:])
        if left:
            self._drop(here)
        elif here is not None and (here.date, here.time) == _wall_clock(last.ts):
            left = [(last, runs[0][: len(part)])]
        else:
            return self._over_and_open([*over, (replace(last, open=False), part)], rest, last_turns)
        return over, self._in_parts(runs, left)

    def _in_parts(self, runs: list[list[Exchange]], told: list[Known]) -> list[Part]:
        """The runs, each with what tells of it so far: `told` of the first."""
        parts: list[Part] = []
        for place, run in enumerate(runs, 1):
            parts += self._parts(run, [] if parts else told, runs[place:])
        return parts

    def _parts(self, run: list[Exchange], told: list[Known], later: list[list[Exchange]]) -> list[Part]:
        """A run in the parts that `told` or a writer that was killed told of it, the last with what follows;
        or this is a part of its own, if it came so much later.
        """
        rest = run[sum(len(part) for _, part in told) :]
        left = self._left(rest, later)
        rest = rest[sum(len(part) for _, part in left) :]
        parts: list[Part] = [*told, *left]
        if not parts or not rest:
            return parts or [(None, rest)]
        event, part = parts.pop()
        if event is not None and is_come_back_to(event.ts, rest[0]):
            return [*parts, (event, part), (None, rest)]
        return [*parts, (event, [*part, *rest])]

    def _left(self, run: list[Exchange], later: list[list[Exchange]]) -> list[Known]:
        """The strays that tell of the first exchanges of a run, then of those that follow."""
        left: list[Known] = []
        following = [exchange for each in later for exchange in each]
        while self.strays and run:
            event, count = self._stray_about(run, following)
            if event is None:
                break
            part, run = run[:count], run[count:]
            left.append((self._until(_told(event), [*run, *following], goes_on=True), part))
        return left

    def _stray_about(self, run: list[Exchange], following: list[Exchange]) -> tuple[DiaryEvent | None, int]:
        """The stray that tells of the most of the first exchanges, and of how many. Others that tell of these
        were on their way out.
        """
        found, most = None, 0
        for count in range(len(run), 0, -1):
            part, rest = run[:count], [*run[count:], *following][:1]
            event = self._stray(event_content(part, self.sidecar), part[-1:], rest)
            if event is not None and found is None:
                found, most = event, count
            elif event is not None and found is not None and not _is_that(event, _told(found)):
                self._drop(event)
        return found, most

    def _tell_again(self, told: ToldEvent, part: list[Exchange], ended_at: str) -> list[ToldEvent]:
        """What tells of a part whose run is over: `told` did so far."""
        content = event_content(part, self.sidecar)
        if _says(told, content):
            return [told]
        old, new = self._find(told), self._stray(content)
        if content and old is None and new is None:
            return [replace(told, sha256=_digest(content))]
        try:
            if content and new is None:
                new = self.diary.append(self.sidecar, content, ended_at)
            self._take_out(old, content)
        except (BadBlockFile, ValueError) as error:
            self.diary.left_alone(self.sidecar.session_id, error)
            return [told]
        return [replace(_told(new), turn=told.turn, turn_id=told.turn_id)] if new is not None else []

    def _tell_runs(self, runs: list[Part], goes_on: bool) -> list[ToldEvent]:
        """What tells of these runs: those before the last one are over, and it is unless it `goes_on`."""
        kept: list[ToldEvent] = []
        for place, (event, part) in enumerate(runs, 1):
            following = [exchange for _, later in runs[place:] for exchange in later]
            is_last = place == len(runs)
            try:
                now = self._tell_run(event, part, self._end(part, is_last), following)
            except (BadBlockFile, ValueError) as error:
                self.diary.left_alone(self.sidecar.session_id, error)
                return kept + ([event] if event else [])
            if now is not None:
                kept.append(self._until(now, following, goes_on=is_last and goes_on))
        return kept

    def _tell_run(
        self, told: ToldEvent | None, part: list[Exchange], ended_at: str, following: list[Exchange]
    ) -> ToldEvent | None:
        """What tells of a run up to its end so far: `told` did. Raises BadBlockFile, ValueError."""
        content = event_content(part, self.sidecar)
        if content and not ended_at:
            return told
        if told is not None and _says(told, content):
            was_longer = bool(following) and following[0].turn <= told.turn
            later = _minute(ended_at) - _minute(told.ts)
            if not (later < 0 if was_longer else later > 0):
                return told
        new = self.diary.append(self.sidecar, content, ended_at) if content else None
        self._take_out(self._find(told) if told else None, content)
        return _told(new) if new else None

    def _end(self, part: list[Exchange], is_last: bool) -> str:
        own = part[-1].ended_at if part and not is_last else ""
        return own or self.sidecar.ended_at

    def _until(self, told: ToldEvent, following: list[Exchange], *, goes_on: bool) -> ToldEvent:
        """`told` as the event that tells of all up to the exchanges `following`."""
        turn = following[0].turn - 1 if following else self.sidecar.turn_count
        return replace(told, turn=turn, turn_id=self.sidecar.turn_ids[turn - 1], open=goes_on)

    def _find(self, told: ToldEvent) -> DiaryEvent | None:
        """The event in the diary, as it was written."""
        return next((event for event in self.own if _is_that(event, told)), None)

    def _stray(
        self, content: str, after: Sequence[Exchange] = (), before: Sequence[Exchange] = ()
    ) -> DiaryEvent | None:
        """The first of `strays` that says this, and of a time when one exchange had ended and another had
        not, to the second; taken out of them.
        """
        since = max((to_seconds(exchange.ended_at) or 0.0 for exchange in after), default=0.0)
        until = min((to_seconds(exchange.ended_at) or inf for exchange in before), default=inf)
        same = ((event, to_seconds(event.ts) or 0.0) for event in self.strays if event.content == content)
        found = next((event for event, ts in same if since - 1 < ts <= until - 1), None)
        if found is not None:
            self.strays.remove(found)
        return found

    def _drop(self, event: DiaryEvent | None) -> None:
        """Take out an event that another one tells of, too, where that can be done."""
        try:
            self._take_out(event, "told again")
        except BadBlockFile as error:
            self.diary.left_alone(self.sidecar.session_id, error)

    def _take_out(self, event: DiaryEvent | None, content: str) -> None:
        """Take out an event, which now says `content`; "" where nothing of it is left."""
        if event is not None:
            why = "told again" if content else "its turns were taken back"
            self.diary.take_out(event.date, self.sidecar.session_id, _only(_told(event)), why)


def _without(text: str, date: str, gone: list[Section]) -> str:
    """A day less the events `gone`: as wikimem would write it where it is so written, else spliced."""
    blocks = {section: (section.heading, *read_body(text, section)) for section in parse(text)}
    if render_file(date, blocks.values()) == text:
        return render_file(date, [block for section, block in blocks.items() if section not in gone])
    rest = without(text, gone)
    hidden = text.startswith(BOM) and gone[0].start == len(BOM)
    return titled(rest, date) if hidden else rest


def _begins_in(part: list[Exchange], last_turn: int) -> bool:
    """True where a run is over in the midst of a part."""
    return bool(part) and part[0].turn <= last_turn < part[-1].turn


def _says(told: ToldEvent, content: str) -> bool:
    return _digest(content) == told.sha256


def _is_that(event: DiaryEvent, told: ToldEvent) -> bool:
    return _only(told)(event.content, event.ts)


def _only(told: ToldEvent) -> Meant:
    return lambda content, ts: (ts, _digest(content)) == (told.ts, told.sha256)


def _told(event: DiaryEvent) -> ToldEvent:
    return ToldEvent(event.date, event.ts or "", _digest(event.content), 0)


def _wall_clock(ts: str) -> tuple[str, str]:
    """The day and the minute under which an event is written."""
    local = datetime.fromtimestamp(to_seconds(ts) or 0.0)
    return local.date().isoformat(), local.strftime("%H:%M")


def _minute(ts: str) -> float:
    return (to_seconds(ts) or 0.0) // 60


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
