"""Which events tell of a session from now on, and what has to be written for that (issue 4 item 6).

Nothing is written here: a plan is noted before its first event is, so that whoever comes after a writer that
was killed knows which events are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from memex_core.memory.episode import Exchange
from memex_core.memory.session_event import event_content, is_come_back_to, runs_of
from memex_core.model.item import DiaryEvent, utc_stamp
from memex_core.model.sidecar import Sidecar, ToldEvent
from memex_core.text.instant import to_seconds

Part = tuple[ToldEvent | None, list[Exchange]]
"""Exchanges of a session that follow one another, and the event that tells of them so far."""
Known = tuple[ToldEvent, list[Exchange]]


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one part of a session: `before` tells of it so far, `after` from now on. `content` is
    what `after` says where it has to be written; `before` is taken out then, and where nothing is left of it.
    """

    before: ToldEvent | None
    after: ToldEvent | None
    content: str = ""

    @property
    def takes_out(self) -> bool:
        return self.before is not None and (bool(self.content) or self.after is None)


class Plan:
    """The steps for one session. `is_there` says whether an event is in the diary as it was written: one that
    is not is a person's, and tells for good. `goes_on` and `last_turns`: as for `SessionDiary.tell`.
    """

    def __init__(
        self,
        sidecar: Sidecar,
        is_there: Callable[[ToldEvent], bool],
        goes_on: bool | None,
        last_turns: Sequence[int],
    ) -> None:
        self.sidecar = sidecar
        self.is_there = is_there
        self.goes_on = goes_on
        self.last_turns = last_turns

    def steps(self, known: list[Known], rest: list[Exchange]) -> list[Step]:
        """A step for each part, in their order; nothing told of `rest` so far. Those behind a part whose time
        is none wait for it.
        """
        over, runs = self._over_and_open(known, rest)
        is_said = any(part for _, part in runs)
        steps = [
            self._told_again(event, part, is_last=not is_said and place == len(over))
            for place, (event, part) in enumerate(over, 1)
        ]
        for place, (told, part) in enumerate(runs, 1):
            following = [exchange for _, later in runs[place:] for exchange in later]
            step = self._told_so_far(told, part, following, is_last=place == len(runs))
            if step is None:
                break
            steps.append(step)
        return steps

    def _over_and_open(self, known: list[Known], rest: list[Exchange]) -> tuple[list[Known], list[Part]]:
        """The parts that are told of for good, and the runs since. What follows an open event belongs to its
        run, unless it came so much later.
        """
        if not known or not known[-1][0].open:
            return known, [(None, run) for run in runs_of(rest, self.last_turns)]
        *over, (last, part) = known
        if not self.is_there(last):
            return self._over_and_open([*over, (replace(last, open=False), part)], rest)
        run, *later = runs_of([*part, *rest], self.last_turns)
        parts: list[Part] = [(last, run)]
        if run[len(part) :] and is_come_back_to(last.ts, run[len(part)]):
            parts = [(last, run[: len(part)]), (None, run[len(part) :])]
        return over, [*parts, *((None, each) for each in later)]

    def _told_again(self, told: ToldEvent, part: list[Exchange], *, is_last: bool) -> Step:
        """What becomes of a part whose run is over."""
        content = event_content(part, self.sidecar)
        if says(told, content):
            return Step(told, told)
        if not self.is_there(told):
            return Step(told, told) if content else Step(None, None)
        if not content:
            return Step(told, None)
        new = self._event(content, part, is_last)
        after = replace(new, turn=told.turn, turn_id=told.turn_id) if new else None
        return Step(told, after, content) if after else Step(told, told)

    def _told_so_far(
        self, told: ToldEvent | None, part: list[Exchange], following: list[Exchange], *, is_last: bool
    ) -> Step | None:
        """What becomes of a run up to its end so far; None where its time is none and nothing told of it."""
        content = event_content(part, self.sidecar)
        if not content:
            return Step(told, None)
        new = self._event(content, part, is_last)
        if told is not None and (new is None or _stands(told, new, following)):
            return Step(told, self._until(told, told, following, is_last=is_last))
        return Step(told, self._until(new, told, following, is_last=is_last), content) if new else None

    def _event(self, content: str, part: list[Exchange], is_last: bool) -> ToldEvent | None:
        """The event that says this at the end of a part; None where no time of that is known."""
        own = part[-1].ended_at if part and not is_last else ""
        return event_at(own, content) or event_at(self.sidecar.ended_at, content)

    def _until(
        self, event: ToldEvent, told: ToldEvent | None, following: list[Exchange], *, is_last: bool
    ) -> ToldEvent:
        """`event` as the one that tells of all up to the exchanges `following`. Where nobody knows whether
        its run goes on, it is as open as `told` was.
        """
        was_open = told is not None and told.open
        is_open = is_last and (was_open if self.goes_on is None else self.goes_on)
        return replace(up_to(event, following, self.sidecar), open=is_open)


def events_known_again(
    events: Sequence[DiaryEvent], exchanges: Sequence[Exchange], sidecar: Sidecar
) -> list[ToldEvent]:
    """Events of ours whose sidecar is lost, as ones that tell of what had ended by their time."""
    told = []
    for event in sorted(events, key=lambda event: to_seconds(event.ts) or 0.0):
        limit = (to_seconds(event.ts) or 0.0) + 1
        following = [each for each in exchanges if (to_seconds(each.ended_at) or 0.0) >= limit]
        if len(following) < len(exchanges):
            known = ToldEvent(event.date, event.ts or "", digest(event.content), 0, time=event.time)
            told.append(up_to(known, following, sidecar))
    return told


def up_to(event: ToldEvent, following: Sequence[Exchange], sidecar: Sidecar) -> ToldEvent:
    """`event` as the one that tells of all before the exchanges `following`."""
    turn = following[0].turn - 1 if following else sidecar.turn_count
    return replace(event, turn=turn, turn_id=sidecar.turn_ids[turn - 1])


def event_at(ended_at: str, content: str) -> ToldEvent | None:
    """An event of that instant, under its local day and minute; None for a time that is none."""
    try:
        moment = datetime.fromisoformat(ended_at.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        ts, local = utc_stamp(moment), moment.astimezone()
    except (ValueError, OverflowError, OSError):  # no time, or one outside the calendar of the zone
        return None
    if not ended_at.isascii():
        return None
    return ToldEvent(local.date().isoformat(), ts, digest(content), 0, time=local.strftime("%H:%M"))


def says(told: ToldEvent, content: str) -> bool:
    return digest(content) == told.sha256


def is_that(event: DiaryEvent, told: ToldEvent) -> bool:
    """True for an event that says what it was written to say, where it was written."""
    place = (event.date, event.ts, event.time if told.time else "")
    return place == (told.date, told.ts, told.time) and says(told, event.content)


def without(events: Sequence[ToldEvent], others: Sequence[ToldEvent]) -> list[ToldEvent]:
    """The events that say something, or at a time, that none of the `others` does."""
    known = {(event.ts, event.sha256) for event in others}
    return [event for event in events if (event.ts, event.sha256) not in known]


def digest(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


def _stands(told: ToldEvent, new: ToldEvent, following: list[Exchange]) -> bool:
    """True where `told` says what `new` would, and need not move to another minute: forward with its run, or
    back where turns that it told of are the next run's.
    """
    if told.sha256 != new.sha256:
        return False
    was_longer = bool(following) and following[0].turn <= told.turn
    later = _minute(new.ts) - _minute(told.ts)
    return not (later < 0 if was_longer else later > 0)


def _minute(ts: str) -> float:
    return (to_seconds(ts) or 0.0) // 60
