"""Turns on their way out: numbered when they are appended, given out when nothing before them is open."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from memex_core.model.session import Role, Turn
from memex_core.text.clean import clean_text
from memex_hooks.harnesses.codex.fields import is_uuid, utc
from memex_hooks.harnesses.codex.outputs import ToolText

_EXACT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}")
"""A time that two threads do not share: to the millisecond."""


@dataclass(slots=True)
class Entry:
    """A turn to be. `words` is asked for when the turn is written; a call is `ready` when it is answered.

    `key` identifies the turn in every copy of the log.
    """

    role: Role
    stamp: str
    key: str
    words: Callable[[], str | ToolText]
    ready: bool = True

    def turn(self, number: int) -> Turn:
        said = self.words()
        turn_id = blake2b(self.key.encode("utf-8", "replace"), digest_size=6).hexdigest()
        if isinstance(said, str):
            return Turn(self.role, clean_text(said), utc(self.stamp), number, id=turn_id)
        name = clean_text(said.name)
        result = None if said.result is None else clean_text(said.result)
        return Turn("tool", name, utc(self.stamp), number, name, result, clean_text(said.query), turn_id)


class Outbox:
    """The entries of one pass. A `silent` one takes none: an internal thread has no turns."""

    def __init__(self, thread_id: str, *, silent: bool) -> None:
        self.appended = 0
        self.before_turn = 0
        """Entries appended before the current turn of Codex (prompt to end) began."""
        self.turn_id = ""
        """Codex's id of that turn, "" in logs that name none."""
        self.retracted: set[int] = set()
        self._thread_id = thread_id
        self._silent = silent
        self._queue: deque[Entry] = deque()
        self._user_turns: list[int] = []

    def scope(self, stamp: str = "") -> str:
        """What tells equal turns of two threads apart, the same in every copy of a thread.

        A turn id that is no UUID is a number that begins again in every thread. `stamp`: the time of the
        turn, where the copies agree on it.
        """
        if is_uuid(self.turn_id):
            return self.turn_id
        if not self.turn_id and _EXACT.match(stamp):
            return stamp
        return f"{self._thread_id}|{self.turn_id}"

    def append(self, entry: Entry) -> None:
        if self._silent:
            return
        self._queue.append(entry)
        self.appended += 1
        if entry.role == "user":
            self._user_turns.append(self.appended)

    def ready(self) -> Iterator[Entry]:
        """The entries that nothing holds back any more, each once, in the order of their numbers."""
        while self._queue and self._queue[0].ready:
            yield self._queue.popleft()

    def roll_back(self, turns: int) -> None:
        """Retract the last `turns` prompts that still stand, and everything behind the first of them."""
        if turns > 0 and self._user_turns:
            beyond = turns > len(self._user_turns)  # reaches into history that is not this log's own
            self.retract_from(1 if beyond else self._user_turns[-turns])

    def retract_from(self, number: int) -> None:
        """Retract every turn from `number` on."""
        self.retracted.update(range(number, self.appended + 1))
        while self._user_turns and self._user_turns[-1] >= number:
            self._user_turns.pop()
