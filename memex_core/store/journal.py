"""The append-only records beside the pages: journal.jsonl (what changed), recalls.jsonl (what was recalled),
forgotten.jsonl (what must never come back). One JSON object a line, one write a line (DESIGN §1, §4).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from memex_core import paths
from memex_core.errors import LockTimeout
from memex_core.files.atomic import append_line, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.files.operation_log import log_operation
from memex_core.files.regular import read_regular
from memex_core.text.clean import clean_text
from memex_core.text.slug import title_key

DELETED = "(deleted)"
EPISODE_CUE = "episode"
CONSOLIDATED_CUE = "consolidated"
TYPED_CUE = "typed"
"""Cues of forgotten.jsonl for what no phrase of a session gave: a session's own page, what a model made of
sessions (turn 0), what a person wrote (turn 0, no session)."""
_MAX_NESTED = 200
"""Brackets in a line; no line of ours or wikimem's has any but its own."""
_RECALL_WAIT_S = 0.2
_BREAKS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
"""wikimem ends a line of the journal there, too: raw in a value, they would cost it the whole journal."""


class Journal:
    """The three append-only files of one memory root. `now` is ISO 8601 UTC, given by the caller."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def page_changed(
        self, action: Literal["add", "update", "remove"], page: str, title: str, now: str, detail: str = ""
    ) -> None:
        """One line in wikimem's shape; `page` is "<type folder>/<slug>" (DESIGN §3, row journal)."""
        line = {"ts": now, "action": action, "file": page, "item": title}
        if detail:
            line["detail"] = detail
        self._note(line)

    def _note(self, line: dict[str, Any]) -> None:
        """Append a line about what is done already: that it cannot be noted undoes nothing, and who is told
        that it failed would do it again.
        """
        try:
            _append(paths.journal_path(self.root), line)
        except OSError as error:
            log_operation(self.root, "journal", "journal.jsonl", "not noted", detail=error.strerror or "")

    def page_deleted(self, page: str, now: str, detail: str) -> None:
        """One line about a page whose words are to be forgotten, too: its title and slug are not in it."""
        folder = page.rpartition("/")[0]
        self.page_changed("remove", f"{folder}/{DELETED}" if folder else DELETED, DELETED, now, detail)

    def forget_source(self, session_id: str) -> None:
        """Take a deleted session's id out of the lines about its events. The caller holds the memory lock."""
        _rewrite(paths.journal_path(self.root), lambda line: _without_source(line, session_id))

    def item_changed(
        self,
        action: Literal["add", "update", "remove"],
        file: str,
        item: str,
        now: str,
        *,
        owner: str | None = None,
        source_conv: str | None = None,
    ) -> None:
        """One line about an item of a RecallFile, as wikimem writes it (formats page 1.8)."""
        line = {"ts": now, "action": action, "file": file, "item": item}
        self._note(line | _given(owner=owner, source_conv=source_conv))

    def event_added(
        self, date: str, time: str, now: str, *, owner: str | None = None, source_conv: str | None = None
    ) -> None:
        """One line about a new event of the diary, as wikimem writes it; `now` is the time of the write."""
        line = {"ts": now, "action": "diary", "date": date, "time": time}
        self._note(line | _given(owner=owner, source_conv=source_conv))

    def scrub(self, pages: set[str]) -> None:
        """Take the words of deleted pages out of what is only appended otherwise: their titles out of
        journal.jsonl, their paths out of recalls.jsonl. `pages` are "<type folder>/<slug>".
        """
        _rewrite(paths.journal_path(self.root), lambda line: _without_title(line, pages))
        recalled = {f"docs/{page}.md" for page in pages}
        _rewrite(paths.recalls_path(self.root), lambda line: _without_paths(line, recalled))

    def recalled(self, pages: list[str], now: str) -> None:
        """Which pages a recall returned; `pages` are paths relative to the memory root."""
        if not pages:
            return
        with contextlib.ExitStack() as held:
            with contextlib.suppress(LockTimeout):  # against a fold, which trims the file, at that moment
                held.enter_context(memory_lock(self.root, _RECALL_WAIT_S))
            _append(paths.recalls_path(self.root), {"ts": now, "paths": pages})

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line of journal.jsonl that can be read, oldest first: ts, action, file, item, detail."""
        yield from _lines(paths.journal_path(self.root))

    def forget_session(self, gone: ForgottenSession, now: str) -> None:
        line = {
            "ts": now,
            "session": gone.session_id,
            "born_at": gone.born_at,
            "forked_from": gone.forked_from,
            "turn_ids": sorted(gone.turn_ids),
            "response_ids": sorted(gone.response_ids),
        }
        _append(paths.forgotten_path(self.root), line)

    def forget_node(
        self, session_id: str, turn: int, cue: str, title: str, now: str, *, said: str = ""
    ) -> None:
        """A node must not come back; `said` is its statement, by which it is known under another title."""
        line = {"ts": now, "session": session_id, "turn": turn, "cue": cue, "title": title_digest(title)}
        if said:
            line["said"] = title_digest(said)
        _append(paths.forgotten_path(self.root), line)

    def wrote_again(self, title: str, now: str) -> None:
        """A person wrote a page of that title anew: what they had forgotten of it is theirs to have again."""
        digest = title_digest(title)
        if ("", 0, TYPED_CUE, digest) in self.forgotten().nodes:
            line = {"ts": now, "session": "", "turn": 0, "cue": TYPED_CUE, "title": digest, "again": True}
            _append(paths.forgotten_path(self.root), line)

    def forgotten(self) -> Forgotten:
        """Everything that was deleted on purpose."""
        return Forgotten(_lines(paths.forgotten_path(self.root)))


@dataclass(slots=True)
class ForgottenSession:
    """A session deleted on purpose. The ids of its own turns and responses keep them from coming back
    through a fork that copied them; `paths` are the logs it was read from.
    """

    session_id: str
    born_at: str = ""
    forked_from: str = ""
    turn_ids: set[str] = field(default_factory=set)
    response_ids: set[str] = field(default_factory=set)


class Forgotten:
    """What was deleted on purpose: whole sessions, and single nodes by (session, turn, cue, `title_digest`);
    `statements` are (session, digest of what such a node said).
    """

    def __init__(self, lines: Iterable[dict[str, Any]]) -> None:
        self.sessions: dict[str, ForgottenSession] = {}
        self.nodes: set[tuple[str, int, str, str]] = set()
        self.statements: set[tuple[str, str]] = set()
        said: dict[str, set[tuple[str, str]]] = {}
        for line in lines:
            session, turn, cue = line.get("session"), line.get("turn"), line.get("cue")
            if isinstance(session, str) and isinstance(turn, int) and isinstance(cue, str):
                title = str(line.get("title", ""))
                statements = said.setdefault(title, set()) if cue == TYPED_CUE else set()
                if line.get("again") is True:  # a person wrote it anew
                    self.nodes.discard((session, turn, cue, title))
                    self.statements -= statements
                    continue
                self.nodes.add((session, turn, cue, title))
                if line.get("said"):
                    statements.add((session, str(line["said"])))
                    self.statements.add((session, str(line["said"])))
            elif isinstance(session, str) and turn is None:
                self.sessions[session] = _forgotten_session(session, line)


def _forgotten_session(session_id: str, line: dict[str, Any]) -> ForgottenSession:
    gone = ForgottenSession(session_id, str(line.get("born_at", "")), str(line.get("forked_from", "")))
    for name in ("turn_ids", "response_ids"):
        values = line.get(name)
        known = values if isinstance(values, list) else ()
        getattr(gone, name).update(value for value in known if isinstance(value, str))
    return gone


def title_digest(title: str) -> str:
    """How a forgotten node's title is remembered: its words are forgotten too."""
    return hashlib.sha256(title_key(title).encode("utf-8", "replace")).hexdigest()[:16]


def _without_title(line: dict[str, Any], pages: set[str]) -> dict[str, Any]:
    if not isinstance(line.get("file"), str) or line["file"] not in pages:
        return line
    return {**line, "file": str(line["file"]).split("/")[0] + "/" + DELETED, "item": DELETED}


def _without_source(line: dict[str, Any], session_id: str) -> dict[str, Any]:
    if line.get("action") != "diary" or line.get("source_conv") != session_id:
        return line
    return {key: value for key, value in line.items() if key != "source_conv"}


def _without_paths(line: dict[str, Any], gone: set[str]) -> dict[str, Any]:
    kept = line.get("paths")
    return (
        {**line, "paths": [path for path in kept if not isinstance(path, str) or path not in gone]}
        if isinstance(kept, list)
        else line
    )


def _rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change lines of a record; lines that cannot be read stay as they are. The caller holds the memory
    lock.
    """
    try:
        before = read_regular(path, path.parent)
    except FileNotFoundError:
        return
    after = b"\n".join(_changed_line(raw, change) for raw in before.split(b"\n"))
    if after != before:
        write_atomic(path, after)


def _changed_line(raw: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    changed = change(line) if isinstance(line, dict) else line
    return raw if changed == line else _encoded(changed)


def _given(**fields: str | None) -> dict[str, str]:
    return {name: clean_text(value) for name, value in fields.items() if value is not None}


def _append(path: Path, line: dict[str, Any]) -> None:
    append_line(path, _encoded(line))


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False).translate(_BREAKS).encode()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        data = read_regular(path, path.parent)
    except FileNotFoundError:
        return
    for raw in data.split(b"\n"):
        try:
            line = orjson.loads(raw)  # not of NaN, of 1e999, or of what is nested without end
        except ValueError:
            continue
        if isinstance(line, dict) and max(raw.count(b"["), raw.count(b"{")) <= _MAX_NESTED:
            yield line
