"""Where a log's own part starts: a fork or subagent may begin with its parent's (formats/codex.md §2.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memex_hooks.harnesses.codex.fields import Fields, is_uuid, mapping, millis, text, uuid_millis, whole
from memex_hooks.harnesses.codex.identity import Identity
from memex_hooks.log_lines import LogLines

TURN_MARKS = ("task_started", "turn_started")
_UUID_TURNS_VERSION = (0, 100)
"""The first version whose turns have an id, and it is a version 7 UUID (#11246)."""
_UUID_TURNS_SINCE = 1_770_768_000_000
"""2026-02-11, when that was merged, in milliseconds since 1970: for logs that name no version."""
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,6})\.")

_BURST_GAP = 5
"""Milliseconds between two lines of one copying: it writes without waiting for anything."""


class OwnPart:
    """Tells the records of the thread from the copied ones before them; once open, it stays open.

    `parent_log` is the parent's file where that is known: it decides for logs whose turn ids are no UUIDs.
    """

    def __init__(self, identity: Identity, parent_log: Path | None) -> None:
        payload = identity.payload
        self._thread_id = identity.thread_id
        self._born = _born(identity)
        self._has_uuid_turns = _has_uuid_turns(identity)
        self._start_ordinal = whole(payload, "subagent_history_start_ordinal")
        self._copy = _Copy(parent_log)
        self._began = False
        referenced = bool(mapping(payload, "history_base"))
        self.open = referenced or not (
            identity.parent_id or identity.is_spawned or self._start_ordinal is not None
        )
        self._may_close = self.open and not referenced

    @staticmethod
    def needs_parent(identity: Identity) -> bool:
        """Only threads from before turns had UUIDs are compared with their parent's file."""
        return bool(identity.parent_id) and not _has_uuid_turns(identity)

    def admits(self, record: Fields) -> bool:
        """Does `record` belong to the thread itself? To be asked of every record, in the order of the log."""
        if self.open:
            if self._may_close:
                self._watch(record)
            return self.open
        self._copy.note(record)
        self.open = self._starts(record)
        return self.open

    def _watch(self, record: Fields) -> None:
        """A foreign session_meta before anything was said: what follows is copied, named parent or not."""
        if record.get("type") == "session_meta":
            foreign = text(mapping(record, "payload"), "id") not in ("", self._thread_id)
            self.open = not foreign or self._began
            self._copy.note(record)
        elif text(mapping(record, "payload"), "type") != "thread_settings_applied":
            self._began, self._may_close = True, False

    def _starts(self, record: Fields) -> bool:
        kind, payload = record.get("type"), mapping(record, "payload")
        if kind == "session_meta":
            return False
        ordinal = whole(record, "ordinal")
        if self._start_ordinal is not None and ordinal is not None:
            return ordinal >= self._start_ordinal
        is_mark = kind == "turn_context" or (kind == "event_msg" and payload.get("type") in TURN_MARKS)
        turn_id = text(payload, "turn_id")
        made = uuid_millis(turn_id) if is_mark else None
        if made is not None:
            return made >= self._born
        if self._has_uuid_turns and (not is_mark or is_uuid(turn_id)):
            return False
        return not self._copy.holds(record)


def _has_uuid_turns(identity: Identity) -> bool:
    version = _VERSION.match(text(identity.payload, "cli_version"))
    number = (int(version[1]), int(version[2])) if version else (0, 0)
    return number >= _UUID_TURNS_VERSION if any(number) else _born(identity) >= _UUID_TURNS_SINCE


def _born(identity: Identity) -> int:
    return uuid_millis(identity.thread_id) or millis(identity.born_at) or 0


class _Copy:
    """Is a record copied? By the parent's file, else by the burst in which copies are written."""

    def __init__(self, parent_log: Path | None) -> None:
        self._parent: Iterator[tuple[int, Fields]] | None = iter(LogLines(parent_log)) if parent_log else None
        self._matched = False
        self._first_second = ""
        self._last: int | None = None
        self._in_burst = True

    def note(self, record: Fields) -> None:
        """Follow the line times: a copy shares the second of the first line, or goes on without a pause."""
        stamp = text(record, "timestamp")
        now = millis(stamp)
        if not self._first_second:
            self._first_second = stamp[:19]
        elif self._in_burst:
            near = now is not None and self._last is not None and 0 <= now - self._last <= _BURST_GAP
            self._in_burst = near or stamp[:19] == self._first_second
        self._last = now

    def holds(self, record: Fields) -> bool:
        if self._in_parent(record):
            self._matched = True
            return True
        return self._in_burst and not self._matched

    def _in_parent(self, record: Fields) -> bool:
        """Copied lines keep the parent's order, some left out; a record that never comes up is not copied."""
        try:
            for _, candidate in self._parent or ():
                if candidate.get("payload") == record.get("payload") and candidate.get("type") == record.get(
                    "type"
                ):
                    return True
        except (OSError, RecursionError):
            pass
        self._parent = None
        return False
