"""The diary's part of a capture: one event for each run of a session, from its start or resume to its end
(issue 4 item 6).

The sidecar remembers which events tell of its session. A part of it that reads otherwise now (its run goes
on, an answer came later, turns were taken back) is told again, unless a person changed, moved or deleted its
event: then it is theirs, and what the run says later is an event of its own.

The sidecar also says which events will tell of the session, from before the first of them is written until
the last one is: a writer that was killed meanwhile, or a day that could not be written, is made good by the
next capture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from memex_core import paths
from memex_core.config import MemexConfig
from memex_core.files.operation_log import log_operation, where
from memex_core.memory.accounting import local_day
from memex_core.memory.episode import Exchange
from memex_core.memory.session_event import could_be_ours, event_content, parts_told, turn_now
from memex_core.memory.session_plan import (
    Plan,
    Step,
    digest,
    events_known_again,
    is_that,
    says,
    without,
)
from memex_core.model.item import DiaryEvent
from memex_core.model.sidecar import Sidecar, ToldEvent
from memex_core.store.block_file import BadBlockFile, BlockFiles
from memex_core.store.diary import Diary
from memex_core.store.journal import EPISODE_CUE, Forgotten, Journal, title_digest
from memex_core.store.transcripts import Transcripts
from memex_core.text import block_splice
from memex_core.text.block_splice import is_ours, titled
from memex_core.text.blocks import BOM, Section, parse, read_body, render_file

Meant = Callable[[DiaryEvent], bool]


class SessionDiary:
    """Writes and removes the events of sessions in one memory root, under the memory lock, which the caller
    holds. `now` gives ISO 8601 UTC.
    """

    def __init__(
        self, root: Path, config: MemexConfig, transcripts: Transcripts, now: Callable[[], str]
    ) -> None:
        self.root = root
        self.config = config
        self.transcripts = transcripts
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
        goes_on: bool | None,
        last_turns: Sequence[int] = (),
    ) -> None:
        """Bring the diary to what the exchanges of a session say; sets in `sidecar` which events tell of it.
        Runs of the session are over with `last_turns`, and the last one is unless it `goes_on`; where that is
        None, one that is told of as open stays so.

        A day that cannot be read or written costs the event until it can, a time that is none for good, and
        either nothing else. Raises WikiStoreError where the disk fails.
        """
        ends = _ends_waiting(previous, sidecar)
        # What the sidecar on disk says until all is told; `previous` may be `sidecar` itself.
        before = replace(previous) if previous else replace(sidecar, ended_at="")
        sidecar.planned = None
        try:
            before.diary = self._told(sidecar, before if previous else None, exchanges, goes_on)
            before.planned = before.diary
            if not self._is_told(sidecar, forgotten):
                still = goes_on is not False and not any(last_turns)
                sidecar.diary = [replace(event, open=event.open and still) for event in before.diary]
                return
            steps = self._steps(sidecar, before.diary, exchanges, goes_on, last_turns, ends)
            self._carry_out(steps, sidecar, before, ends)
        except BadBlockFile as error:
            self.left_alone(sidecar.session_id, error)
            sidecar.diary, sidecar.planned = before.diary, before.planned
        if sidecar.planned is not None:
            is_open = any(event.open for event in before.diary) if goes_on is None else goes_on
            turns = {*last_turns, *(end.turn for end in ends), 0 if is_open else sidecar.turn_count}
            told = [event for event in sidecar.planned if event.sha256]
            sidecar.planned = told + [_end_at(turn, sidecar) for turn in sorted(turns - {0})]

    def forget(self, sidecar: Sidecar, exchanges: Sequence[Exchange]) -> list[str]:
        """Take the session's events out of the diary, as far as they are as they were written. `exchanges`:
        all that the session ever said.

        Gives what stays, as `diary/<date> <time>`: events that a person changed, or added in the name of the
        session, those that lead to it, and those in a file that cannot be written.
        """
        session_id = sidecar.session_id
        known = {event.sha256 for event in [*sidecar.diary, *(sidecar.planned or [])]}

        def is_meant(event: DiaryEvent) -> bool:
            return digest(event.content) in known or could_be_ours(event.content, exchanges, sidecar)

        kept = []
        for date in self.days():
            if session_id in self._days.readable(date):
                try:
                    self.take_out(date, session_id, is_meant, "session deleted")
                except BadBlockFile as error:
                    self.left_alone(session_id, error)
                kept += [f"diary/{date} {event.time}" for event in self._naming(date, session_id)]
        self.journal.forget_source(session_id)
        return kept

    def days(self) -> list[str]:
        """The days that have a file, ascending."""
        return self._diary.dates()

    def events_of(self, date: str, session_id: str) -> list[DiaryEvent]:
        """The events of a day in the name of a session."""
        return [event for event in self._naming(date, session_id) if event.source_conv == session_id]

    def append(self, sidecar: Sidecar, content: str, event: ToldEvent) -> None:
        """Add an event where it is planned. Raises ValueError for what would not be read back, and
        WikiStoreError.
        """
        self._diary.append(
            content,
            ts=event.ts,
            date=event.date,
            time=event.time,
            owner=sidecar.harness or None,
            source_conv=sidecar.session_id,
        )

    def take_out(self, date: str, session_id: str, is_meant: Meant, why: str, only_one: bool = False) -> None:
        """Delete the events of a session that are meant, or the first. The rest of the day keeps its bytes;
        the day goes with its last event, unless it holds words of a person. Raises WikiStoreError.
        """
        text = self._days.read(date) or ""
        gone: list[Section] = []
        for section in parse(text):
            content, said = read_body(text, section)
            event = DiaryEvent(date, section.heading, content, *said)
            if said.source_conv == session_id and is_meant(event) and not (gone and only_one):
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

    def _is_there(self, told: ToldEvent, session_id: str) -> bool:
        """True where an event is in the diary as it was written. Raises BadBlockFile."""
        self._days.read(told.date)
        return any(is_that(event, told) for event in self.events_of(told.date, session_id))

    def _naming(self, date: str, session_id: str) -> list[DiaryEvent]:
        """The events of a day in the name of a session, and those that lead to it."""
        try:
            events = self._diary.day(date)
        except ValueError:  # a file without events whose name only looks like a day
            return []
        return [
            event
            for event in events
            if event.source_conv == session_id or f"[[{session_id}]]" in event.content
        ]

    def _told(
        self,
        sidecar: Sidecar,
        previous: Sidecar | None,
        exchanges: Sequence[Exchange],
        goes_on: bool | None,
    ) -> list[ToldEvent]:
        """The events that tell of a session so far. What a killed writer had begun is finished, or undone
        where it had not written every event; and it has ended no run that may go on. Raises BadBlockFile.
        """
        if previous is None:
            return self._known_again(sidecar, exchanges, goes_on)
        if previous.planned is None:
            return list(previous.diary)
        session_id = sidecar.session_id
        planned = [event for event in previous.planned if event.sha256]
        new, old = without(planned, previous.diary), without(previous.diary, planned)
        there = [event for event in new if self._is_there(event, session_id)]
        if len(there) < len(new):
            planned, old = list(previous.diary), there
        elif new and goes_on is not None:
            was_over = any(not event.open and event.turn >= planned[-1].turn for event in previous.diary)
            planned[-1] = replace(planned[-1], open=planned[-1].open or not was_over)
        for event in old:
            self._take_out(event, session_id, "told again")
        return planned

    def _steps(
        self,
        sidecar: Sidecar,
        told: Sequence[ToldEvent],
        exchanges: Sequence[Exchange],
        goes_on: bool | None,
        last_turns: Sequence[int],
        ends: Sequence[ToldEvent],
    ) -> list[Step]:
        """What has to be done for each part of the session. Raises BadBlockFile."""
        told = list(told)
        *parts, rest = parts_told(exchanges, told, sidecar.turn_ids)
        if parts and any(_begins_in(parts[-1], turn) for turn in last_turns):
            told[-1] = replace(told[-1], open=True)  # what ended it came to know of the next run first
        known = list(zip(told, parts, strict=True))
        if not rest and all(
            not event.open and says(event, event_content(part, sidecar)) for event, part in known
        ):
            return [Step(event, event) for event in told]
        cuts = [*last_turns, *(end.turn for end in ends)]
        plan = Plan(sidecar, lambda event: self._is_there(event, sidecar.session_id), goes_on, cuts)
        return plan.steps(known, rest)

    def _known_again(
        self, sidecar: Sidecar, exchanges: Sequence[Exchange], goes_on: bool | None
    ) -> list[ToldEvent]:
        """What tells of a session that no sidecar describes: it is new, or its sidecar was lost."""
        first, last = sorted(map(local_day, (sidecar.started_at, sidecar.ended_at)))
        days = [date for date in self.days() if first <= date <= last]
        events = [event for date in days for event in self.events_of(date, sidecar.session_id)]
        ours = [event for event in events if could_be_ours(event.content, exchanges, sidecar)]
        told = events_known_again(ours, exchanges, sidecar)
        return [*told[:-1], *(replace(event, open=goes_on is not None) for event in told[-1:])]

    def _carry_out(self, steps: list[Step], sidecar: Sidecar, before: Sidecar, ends: list[ToldEvent]) -> None:
        """Write what is new, then take out what it replaces. A step that fails keeps those behind it waiting;
        `planned` in the sidecar then says that there is more to tell. Raises BadBlockFile, with `planned` in
        `before`, where an event cannot be taken out.
        """
        planned = [step.after for step in steps if step.after]
        if any(step.content or step.takes_out for step in steps):
            self.transcripts.write_sidecar(replace(before, planned=planned + ends))
        done = self._append(steps, sidecar)
        if done < len(steps):
            planned = [event for step in steps[:done] if (event := step.after)]
            planned += [event for step in steps[done:] if (event := step.before)]
            self.transcripts.write_sidecar(replace(before, planned=planned + ends))
            sidecar.planned = planned
        before.planned = planned
        for step in steps[:done]:
            if step.before is not None and step.takes_out:
                why = "told again" if step.content else "its turns were taken back"
                self._take_out(step.before, sidecar.session_id, why)
        sidecar.diary = planned

    def _append(self, steps: list[Step], sidecar: Sidecar) -> int:
        """Write the events that are new; gives how many steps are done: all, up to the first that fails."""
        for done, step in enumerate(steps):
            try:
                if step.content and step.after is not None:
                    self.append(sidecar, step.content, step.after)
            except (BadBlockFile, ValueError) as error:
                self.left_alone(sidecar.session_id, error)
                return done
        return len(steps)

    def _take_out(self, told: ToldEvent, session_id: str, why: str) -> None:
        self.take_out(told.date, session_id, lambda event: is_that(event, told), why, True)


def _ends_waiting(previous: Sidecar | None, sidecar: Sidecar) -> list[ToldEvent]:
    """The ends of runs that no event could tell of yet."""
    planned = (previous.planned if previous else None) or []
    return [_end_at(turn_now(event, sidecar.turn_ids), sidecar) for event in planned if not event.sha256]


def _end_at(turn: int, sidecar: Sidecar) -> ToldEvent:
    return ToldEvent("", "", "", turn, "".join(sidecar.turn_ids[turn - 1 : turn]))


def _begins_in(part: list[Exchange], last_turn: int) -> bool:
    """True where a run is over in the midst of a part."""
    return bool(part) and part[0].turn <= last_turn < part[-1].turn


def _without(text: str, date: str, gone: list[Section]) -> str:
    """A day less the events `gone`: as wikimem would write it where it is so written, else spliced."""
    blocks = {section: (section.heading, *read_body(text, section)) for section in parse(text)}
    if render_file(date, blocks.values()) == text:
        return render_file(date, [block for section, block in blocks.items() if section not in gone])
    rest = block_splice.without(text, gone)
    hidden = text.startswith(BOM) and gone[0].start == len(BOM)
    return titled(rest, date) if hidden else rest
