"""The diary's part of a capture: one event for what is new in a session (issue 4 item 6).

The sidecar remembers which events tell of its session. It is written after them: an event that no sidecar
knows is found in the diary and taken for what it is. A part of the session that reads otherwise now (an
answer came later, turns were taken back) is told again, unless a person changed or deleted its event: then
it is theirs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from memex_core import paths
from memex_core.config import MemexConfig
from memex_core.files.operation_log import log_operation, where
from memex_core.memory.accounting import local_day
from memex_core.memory.episode import Exchange
from memex_core.memory.session_event import event_content, parts_told
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
    ) -> None:
        """Bring the diary to what the exchanges of a session say; notes in `sidecar` which events tell of it.

        A day that cannot be read or written, or a time that is none, costs the event and nothing else. Raises
        WikiStoreError where the disk fails.
        """
        told = list(previous.diary) if previous else []
        sidecar.diary = told
        if not self._is_told(sidecar, forgotten):
            return
        *parts, rest = parts_told(exchanges, told, sidecar.turn_ids)
        contents = [event_content(part, sidecar) for part in parts]
        if not rest and [_digest(content) for content in contents] == [event.sha256 for event in told]:
            return
        telling = _Telling(self, sidecar, told)
        ends = [part[-1].ended_at if part else "" for part in parts]
        if ends and not rest:
            ends[-1] = sidecar.ended_at
        sidecar.diary = []
        for event, content, ended_at in zip(told, contents, ends, strict=True):
            sidecar.diary += telling.again(event, content, ended_at)
        while rest:
            events, rest = telling.anew(rest)
            sidecar.diary += events

    def forget(self, sidecar: Sidecar) -> list[str]:
        """Take the session's events out of the diary, as far as they are as they were written.

        Gives what stays, as `diary/<date> <time>`: events that a person changed, or added in the name of the
        session, and those in a file that cannot be written.
        """
        session_id, ours = sidecar.session_id, {event.sha256 for event in sidecar.diary}
        kept = []
        for date in self._diary.dates():
            if session_id in self._days.readable(date):
                try:
                    self.take_out(
                        date, session_id, lambda content, _: _digest(content) in ours, "session deleted"
                    )
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

    def again(self, told: ToldEvent, content: str, ended_at: str) -> list[ToldEvent]:
        """What tells of a part of the session from now on: `told` did so far, it now says `content`."""
        if _digest(content) == told.sha256:
            return [told]
        old = next((event for event in self.own if _is_that(event, told)), None)
        new = self._stray(content)
        if content and old is None and new is None:
            return [replace(told, sha256=_digest(content))]
        try:
            if content and new is None:
                new = self.diary.append(self.sidecar, content, ended_at)
            if old is not None:
                why = "told again" if content else "its turns were taken back"
                self.diary.take_out(old.date, self.sidecar.session_id, _only(told), why)
        except (BadBlockFile, ValueError) as error:
            self.diary.left_alone(self.sidecar.session_id, error)
            return [told]
        return [_told(new, told.turn, told.turn_id)] if new is not None else []

    def anew(self, exchanges: list[Exchange]) -> tuple[list[ToldEvent], list[Exchange]]:
        """The event about `exchanges`, or about the first of them where it is there already; the others."""
        for count in range(len(exchanges), 0, -1) if self.strays else ():
            part, rest = exchanges[:count], exchanges[count:]
            found = self._stray(event_content(part, self.sidecar), part[-1].ended_at)
            if found is not None:
                return [self._told_until(found, rest[0].turn - 1 if rest else self.sidecar.turn_count)], rest
        content = event_content(exchanges, self.sidecar)
        if not content or not self.sidecar.ended_at:
            return [], []
        try:
            event = self.diary.append(self.sidecar, content, self.sidecar.ended_at)
        except (BadBlockFile, ValueError) as error:
            self.diary.left_alone(self.sidecar.session_id, error)
            return [], []
        return [self._told_until(event, self.sidecar.turn_count)], []

    def _told_until(self, event: DiaryEvent, turn: int) -> ToldEvent:
        return _told(event, turn, self.sidecar.turn_ids[turn - 1])

    def _stray(self, content: str, ended_at: str = "") -> DiaryEvent | None:
        """The first of `strays` that says this, and not of a time before `ended_at`; taken out of them."""
        since = int(to_seconds(ended_at) or 0.0)
        same = (event for event in self.strays if event.content == content)
        found = next((event for event in same if (to_seconds(event.ts) or 0.0) >= since), None)
        if found is not None:
            self.strays.remove(found)
        return found


def _without(text: str, date: str, gone: list[Section]) -> str:
    """A day less the events `gone`: as wikimem would write it where it is so written, else spliced."""
    blocks = {section: (section.heading, *read_body(text, section)) for section in parse(text)}
    if render_file(date, blocks.values()) == text:
        return render_file(date, [block for section, block in blocks.items() if section not in gone])
    rest = without(text, gone)
    hidden = text.startswith(BOM) and gone[0].start == len(BOM)
    return titled(rest, date) if hidden else rest


def _is_that(event: DiaryEvent, told: ToldEvent) -> bool:
    return _only(told)(event.content, event.ts)


def _only(told: ToldEvent) -> Meant:
    return lambda content, ts: (ts, _digest(content)) == (told.ts, told.sha256)


def _told(event: DiaryEvent, turn: int, turn_id: str) -> ToldEvent:
    return ToldEvent(event.date, event.ts or "", _digest(event.content), turn, turn_id)


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
