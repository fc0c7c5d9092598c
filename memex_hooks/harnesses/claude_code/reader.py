"""Log -> Session in two passes (formats/claude-code.md §3, §4): the first gathers everything but the turns'
texts, the second gives the turns, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memex_core.model.session import Session, Source, Turn
from memex_hooks.harness import LogFile
from memex_hooks.harnesses.claude_code.branches import Branches
from memex_hooks.harnesses.claude_code.content import plain, query_text, result_text
from memex_hooks.harnesses.claude_code.conversation import Conversation, Draft
from memex_hooks.harnesses.claude_code.header import Facts
from memex_hooks.harnesses.claude_code.subagents import Spawns, agent_of
from memex_hooks.harnesses.claude_code.usage import USAGE_FIELDS, Accountant, Place
from memex_hooks.log_lines import LogLines

READER_VERSION = 2


def read_session(log: LogFile) -> Session | None:
    """The session in `log` and its parts; None when it holds no prompt, no answer and no tool call.

    Raises OSError when the log cannot be opened. A part that has gone in the meantime is passed over.
    """
    reading = _Reading(log.path)
    reading.read_main()
    for part in log.parts:
        reading.read_part(part)
    return reading.session() if reading.conversation.has_words else None


class Turns:
    """The turns of the log's first `limit` bytes, read again at each iteration."""

    def __init__(self, log: Path, limit: int) -> None:
        self._log = log
        self._limit = limit

    def __iter__(self) -> Iterator[Turn]:
        conversation = Conversation()
        repeats: dict[int, int] = {}
        for _, record in LogLines(self._log, limit=self._limit):
            if conversation.is_copy(record):
                continue
            conversation.feed(record)
            for draft in conversation.ready():
                yield _turn(draft, self._log, repeats)


class _Reading:
    """The first pass over a session's files."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.conversation = Conversation()
        self._branches = Branches()
        self._accountant = Accountant()
        self._spawns = Spawns()
        self._facts = Facts()
        self._sources: list[Source] = []
        self._skipped: dict[str, int] = {}
        self._turn_count = 0
        self._end = 0

    def read_main(self) -> None:
        lines = LogLines(self._log, digest=True)
        for offset, record in lines:
            if not self.conversation.is_copy(record):
                self._take(record, offset)
        self._end = lines.end
        self._close(lines)

    def read_part(self, part: Path) -> None:
        """A subagent's log: its tokens count, its text makes no turns."""
        lines = LogLines(part, digest=True)
        agents: set[str] = set()
        try:
            for offset, record in lines:
                agent = agent_of(part, record)
                agents.add(agent)
                self._spawns.note_part(agent, record)
                self._accountant.add(record, Place(agent=agent), f"{part.name}@{offset}")
        except OSError:
            return
        for agent in agents:
            self._spawns.note_meta(agent, part)
        self._close(lines)

    def session(self) -> Session:
        responses = list(self._accountant.responses(self._turn_of))
        models = list(dict.fromkeys(response.model for response in responses if response.model != "unknown"))
        return Session(
            header=self._facts.header(self._log, models),
            turns=Turns(self._log, self._end),
            responses=responses,
            usage_fields=USAGE_FIELDS,
            title=self._facts.title(self.conversation.has),
            born_at=self._facts.born_at(self._log),
            retracted={number for number in self._branches.retracted() if number <= self._turn_count},
            open_calls=[
                {"tool_name": plain(draft.content), "query": query_text(draft.query)}
                for draft in self.conversation.open()
            ],
            skipped=self._skipped,
            sources=self._sources,
            reader_version=READER_VERSION,
            turn_count=self._turn_count,
        )

    def _take(self, record: dict[str, Any], offset: int) -> None:
        self._facts.add(record)
        begun = self.conversation.feed(record)
        for draft in begun:
            self._spawns.note_turn(draft)
        is_prompt = bool(begun) and begun[0].role == "user" and record.get("type") == "user"
        self._branches.add(record, len(begun), is_prompt)
        kind = record.get("type")
        if kind == "user":
            self._spawns.note_result(record)
        if kind in ("user", "assistant", "progress"):
            self._accountant.add(record, self._place(record, begun), f"{self._log.name}@{offset}")
        self._turn_count += sum(1 for _ in self.conversation.ready())

    def _place(self, record: dict[str, Any], begun: list[Draft]) -> Place:
        last = self.conversation.count
        if record.get("isSidechain"):
            agent = record.get("agentId")
            if isinstance(agent, str) and agent:
                return Place(agent=agent)
            return Place(before=self._spawns.side_turn(record, last))
        if record.get("type") == "progress":
            return Place(before=self._spawns.turn_of_call(record.get("parentToolUseID")) or last)
        return Place(produced=begun[0].number if begun else 0, before=last)

    def _turn_of(self, place: Place) -> int:
        """The turn a response is attributed to; 0 only when the session has no turns."""
        turn = place.produced or (self._spawns.turn_of(place.agent) if place.agent else place.before)
        return min(max(turn, 1), self._turn_count)

    def _close(self, lines: LogLines) -> None:
        self._sources.append(lines.source())
        for reason, count in lines.skipped.items():
            self._skipped[reason] = self._skipped.get(reason, 0) + count


def _turn(draft: Draft, log: Path, repeats: dict[int, int]) -> Turn:
    turn = Turn(draft.role, plain(draft.content).strip(), draft.ts, draft.number)
    if draft.role == "tool":
        turn.tool_name = turn.content
        turn.query = query_text(draft.query) if draft.query is not None else None
        turn.result = result_text(draft.result, log) if draft.result is not None else None
    turn.id = _turn_id(draft, turn, repeats)
    return turn


def _turn_id(draft: Draft, turn: Turn, repeats: dict[int, int]) -> str:
    """12 hex digits, the same in every copy of the log; `repeats` tells equal ones of one log apart.

    A result is no part of it: a copy may have been cut before the result came.
    """
    name = draft.name or "\x00".join((turn.role, turn.content, turn.query or ""))
    identity = f"{draft.key}\x00{name}".encode("utf-8", "replace")
    known = int.from_bytes(blake2b(identity, digest_size=8).digest(), "big")
    repeats[known] = repeats.get(known, 0) + 1
    return blake2b(f"{known}#{repeats[known]}".encode(), digest_size=6).hexdigest()
