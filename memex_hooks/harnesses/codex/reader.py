"""A rollout -> Session: one pass for header and tokens, another whenever the turns are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex_core.model.session import Header, Session, Source, Turn
from memex_core.text.clean import clean_text
from memex_hooks.harness import LogFile
from memex_hooks.harnesses.codex import log as logs
from memex_hooks.harnesses.codex.conversation import Conversation, Layer
from memex_hooks.harnesses.codex.fields import Fields, moment, text, utc
from memex_hooks.harnesses.codex.identity import Identity, header_meta, identify
from memex_hooks.harnesses.codex.outbox import Entry
from memex_hooks.harnesses.codex.own_part import OwnPart
from memex_hooks.harnesses.codex.usage import USAGE_FIELDS, Usage
from memex_hooks.log_lines import LogLines

READER_VERSION = 2

_TASK_LENGTH = 500
"""Characters of a subagent's task that its header keeps."""

_NOT_TALK = ("thread_settings_applied", "token_count")
"""Written again on resume, when nobody has said anything yet."""


def read_session(log: LogFile) -> Session | None:
    """What `log` holds, None when it has neither turns nor tokens of its own. Raises OSError only.

    Turns and tokens of a copied parent are left out (§2.4). After a revert the older file is read first, and
    what was reverted is retracted. The turns of a prefix of the log are a prefix of its turns, under the same
    numbers. A log that holds only the model's own messages (no event or item has them) takes a pass more.
    """
    paths = [*log.parts, log.path]
    identity = identify(paths[0])
    reading = _Reading(identity, paths, "model" if identity.pre_envelope else "told")
    turn_count = sum(1 for _ in reading.entries())
    if reading.conversation.unheard and not reading.conversation.heard and identity.kind == "user":
        reading = _Reading(identity, paths, "model")
        turn_count = sum(1 for _ in reading.entries())
    if not turn_count and not reading.usage.responses:
        return None
    return _session(reading, turn_count)


class RolloutTurns:
    """The turns of a log, read again from its start each time, up to where the first pass stopped."""

    def __init__(self, identity: Identity, paths: list[Path], layer: Layer, ends: list[int]) -> None:
        self._identity = identity
        self._paths = paths
        self._layer = layer
        self._ends = ends

    def __iter__(self) -> Iterator[Turn]:
        entries = _Reading(self._identity, self._paths, self._layer, self._ends).entries()
        for number, entry in enumerate(entries, start=1):
            yield entry.turn(number)


@dataclass(slots=True)
class _Mark:
    """How many turns there were at `byte` of a rollout that a later file goes on from."""

    rollout: str
    byte: int | None
    turns: int | None = None


class _Reading:
    """One pass over the files of a thread. Without `ends` it is the first: it counts tokens and hashes."""

    def __init__(
        self, identity: Identity, paths: list[Path], layer: Layer, ends: list[int] | None = None
    ) -> None:
        self.identity = identity
        self.paths = paths
        self.layer: Layer = layer
        self.conversation = Conversation(identity, layer)
        self.usage = Usage(identity.thread_id, seeded=_is_fork(identity))
        self.sources: list[Source] = []
        self.ends: list[int] = []
        self.skipped: dict[str, int] = {}
        self.began = identity.born_at
        self.ended = ""
        self._limits = ends
        self._gate = OwnPart(identity, _parent_log(identity, paths[0]))
        self._marks = [_Mark(*logs.reverted_at(path)) for path in paths[1:]]

    def entries(self) -> Iterator[Entry]:
        """Every turn-to-be, in order, as soon as nothing holds it back."""
        for place, path in enumerate(self.paths):
            if place:
                self._revert(self._marks[place - 1])
            limit = self._limits[place] if self._limits else None
            lines = LogLines(path, limit=limit, digest=self._limits is None)
            for offset, record in lines:
                if self._marks:
                    self._reach(path, offset)
                self._take(record)
                yield from self.conversation.outbox.ready()
            self._close(lines)

    def _take(self, record: Fields) -> None:
        if not self._gate.admits(record):
            self.usage.inherit(record)
            return
        self.conversation.feed(record)
        if self._limits is not None:
            return
        outbox = self.conversation.outbox
        self.usage.take(record, outbox.appended + (outbox.appended == outbox.before_turn))
        payload = record.get("payload")
        if isinstance(payload, dict) and payload.get("type") not in _NOT_TALK:
            self._note_time(utc(text(record, "timestamp")))

    def _note_time(self, said_at: str) -> None:
        """Lines need not be in the order of their times: a clock was set, or a file was put together."""
        if said_at:
            self.began = min(self.began or said_at, said_at)
            self.ended = max(self.ended, said_at)

    def _close(self, lines: LogLines) -> None:
        self.ends.append(lines.end)
        if self._limits is None:
            self.sources.append(lines.source())
            for reason, times in lines.skipped.items():
                self.skipped[reason] = self.skipped.get(reason, 0) + times

    def _reach(self, path: Path, offset: int) -> None:
        for mark in self._marks:
            beyond = mark.byte is not None and offset >= mark.byte
            if beyond and mark.turns is None and mark.rollout == logs.rollout_id(path):
                mark.turns = self.conversation.outbox.appended

    def _revert(self, mark: _Mark) -> None:
        if mark.turns is not None and mark.turns < self.conversation.outbox.appended:
            self.conversation.revert_to(mark.turns)


def _is_fork(identity: Identity) -> bool:
    return bool(identity.payload.get("forked_from_id") or identity.payload.get("history_base"))


def _parent_log(identity: Identity, path: Path) -> Path | None:
    """The parent's file, looked for only where turn ids cannot tell what was copied."""
    home = logs.home_of(path)
    if not home or not OwnPart.needs_parent(identity):
        return None
    return logs.find_thread(home, identity.parent_id)


def _session(reading: _Reading, turn_count: int) -> Session:
    identity, conversation, usage = reading.identity, reading.conversation, reading.usage
    for response in usage.responses:
        if response.turn > conversation.outbox.appended:
            response.turn = 0  # no turn followed it
        response.turn = min(response.turn, turn_count)  # what an open call holds back is no turn yet
    return Session(
        header=_header(reading),
        turns=RolloutTurns(identity, reading.paths, reading.layer, reading.ends),
        responses=usage.responses,
        usage_fields={name: list(fields) for name, fields in USAGE_FIELDS.items()},
        usage_known=not identity.pre_envelope,
        kind=identity.kind,
        title=_title(reading),
        born_at=identity.born_at,
        retracted=conversation.outbox.retracted,
        open_calls=[] if identity.kind == "internal" else conversation.tools.still_open(),
        skipped={reason: times for reason, times in reading.skipped.items() if reason != "partial_tail"},
        sources=[*reading.sources[-1:], *reading.sources[:-1]],
        reader_version=READER_VERSION,
        turn_count=turn_count,
    )


def _title(reading: _Reading) -> str:
    if reading.identity.kind == "internal":
        return ""
    return logs.thread_name(logs.home_of(reading.paths[-1]), reading.identity.thread_id)


def _header(reading: _Reading) -> Header:
    identity, conversation, usage = reading.identity, reading.conversation, reading.usage
    meta: dict[str, Any] = header_meta(identity)
    found = {
        "cwd": clean_text(conversation.cwd),
        "models": usage.models,
        "reasoning_efforts": usage.efforts,
        "task": clean_text(conversation.task[:_TASK_LENGTH]) if identity.kind == "subagent" else "",
    }
    meta.update({key: value for key, value in found.items() if value and key not in meta})
    start, end = moment(reading.began), moment(reading.ended)
    return Header(
        harness="codex",
        session_id=identity.thread_id,
        started_at=reading.began,
        ended_at=reading.ended,
        duration_s=round(max(0.0, (end - start).total_seconds()), 3) if start and end else 0.0,
        meta=meta,
    )
