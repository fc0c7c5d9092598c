"""Records in file order -> turns to be: who said what, and which result belongs to which call.

Causal: what a record does depends on the records before it only, so the turns of a log's beginning are the
beginning of the log's turns. A call without its result holds back itself and everything behind it, until it
is answered or the conversation shows that it never will be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memex_core.model.session import Role
from memex_hooks.harnesses.claude_code import prompts
from memex_hooks.harnesses.claude_code.content import block_text, block_type, blocks, first_text, plain
from memex_hooks.harnesses.claude_code.identity import call_key, turn_key
from memex_hooks.harnesses.claude_code.times import iso_utc

COMMAND = "command"
SHELL = "bash-input"
UNKNOWN_TOOL = "unknown"
"""The name of a tool whose result is in the log while its call is not."""

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_GOES_ON = ("tool_use", "pause_turn")
_HELD = 256
"""Turns: more are never held back behind an open call, so that memory does not grow with the log."""
_SHORT = 64
"""Characters: a longer text has something in it besides control characters."""
_LATER_RESPONSES = 16
"""A call that so many later responses have passed by lost its result."""


@dataclass(slots=True, eq=False)
class Draft:
    """A turn to be. `content`, `query` and `result` are as the log has them. `key` and `name` identify it in
    every copy of the log; what has no `name`, the id of a call, is told apart by what it says."""

    number: int
    role: Role
    ts: str
    key: str
    name: str
    content: str
    query: Any = None
    result: Any = None
    is_open: bool = False
    call_id: str = ""
    response: str = ""
    response_no: int = 0


class Conversation:
    """Feed it every record once; take what is `ready` after each. `count` includes the turns held back."""

    def __init__(self) -> None:
        self.count = 0
        self.has_words = False
        """True once there was anything but slash commands."""
        self._queue: deque[Draft] = deque()
        self._calls: dict[str, list[Draft]] = {}
        self._typed: Draft | None = None
        self._seen: set[int] = set()
        self._called: set[int] = set()
        self._response = ""
        self._response_no = 0

    def is_copy(self, record: dict[str, Any]) -> bool:
        """True for a record that was given before: compaction appends old records again."""
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            return False
        known = hash(uuid)  # a set of numbers: the uuids of a long log would fill the memory
        if known in self._seen:
            return True
        self._seen.add(known)
        return False

    def has(self, uuid: str) -> bool:
        """True when a record of that uuid was given."""
        return hash(uuid) in self._seen

    def feed(self, record: dict[str, Any]) -> list[Draft]:
        """The drafts that this record begins."""
        if record.get("isSidechain"):
            return []
        kind = record.get("type")
        begun: list[Draft] = []
        if kind == "assistant":
            self._assistant(record, begun)
        elif kind == "user":
            self._user(record, begun)
        elif kind == "attachment":
            self._say(record, begun, "user", prompts.queued_words(record))
        elif kind == "system":
            self._system(record, begun)
        return begun

    def ready(self) -> Iterator[Draft]:
        """The drafts that are complete and have nothing open before them, once."""
        queue = self._queue
        while queue:
            if queue[0].is_open:
                if len(queue) <= _HELD:
                    return
                self._give_up(queue[0])
            yield queue.popleft()

    def open(self) -> list[Draft]:
        """The calls that wait for their result."""
        return [draft for draft in self._queue if draft.is_open]

    def _assistant(self, record: dict[str, Any], begun: list[Draft]) -> None:
        message = record.get("message")
        if not isinstance(message, dict) or record.get("isMeta"):
            return
        if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
            return
        self._answer_typed(None)
        self._note_response(record, message)
        for block in blocks(message.get("content")):
            kind = block_type(block)
            if kind == "text":
                text = block_text(block)
                self._say(record, begun, "agent", "" if text.strip() == "(no content)" else text)
            elif kind in _CALLS:
                self._call(record, begun, block)
            elif kind.endswith("tool_result"):
                self._answer(record, begun, block)

    def _user(self, record: dict[str, Any], begun: list[Draft]) -> None:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in blocks(content):
            if block_type(block) == "tool_result":
                self._answer(record, begun, block)
        text = first_text(content)
        if text.startswith(prompts.INTERRUPTED) or record.get("isCompactSummary"):
            self._give_up_calls()
        if not prompts.is_typed(record, content):
            return
        words = prompts.own_words(content)
        if words:
            self._give_up_calls()
            self._answer_typed(None)
            self._say(record, begun, "user", words)
        elif not record.get("sourceToolUseID"):
            self._typed_line(record, begun, text)

    def _system(self, record: dict[str, Any], begun: list[Draft]) -> None:
        subtype = record.get("subtype")
        if subtype in ("compact_boundary", "turn_duration"):
            self._give_up_calls()
        content = record.get("content")
        if subtype == "local_command" and isinstance(content, str):
            self._typed_line(record, begun, content.lstrip())

    def _typed_line(self, record: dict[str, Any], begun: list[Draft], text: str) -> None:
        """A slash command or a line for the shell, or what it printed."""
        command = prompts.command_line(text)
        if command or text.startswith(f"<{SHELL}>"):
            self._answer_typed(None)
            query = command or prompts.between(text, SHELL)
            name = COMMAND if command else SHELL
            self._typed = self._begin(record, begun, Draft(0, "tool", "", "", "", name, query, is_open=True))
            return
        for name, output in ((COMMAND, prompts.command_output(text)), (SHELL, prompts.shell_output(text))):
            if output is not None and self._typed and self._typed.content == name:
                self._answer_typed(output)

    def _answer_typed(self, output: str | None) -> None:
        if self._typed:
            self._typed.result = output
            self._typed.is_open = False
            self._typed = None

    def _say(self, record: dict[str, Any], begun: list[Draft], role: Role, text: str) -> None:
        if text and not text.isspace() and (len(text) > _SHORT or plain(text).strip()):
            self._begin(record, begun, Draft(0, role, "", "", "", text))

    def _call(self, record: dict[str, Any], begun: list[Draft], block: dict[str, Any]) -> None:
        name, call_id = block.get("name"), block.get("id")
        tool = name if isinstance(name, str) and name else UNKNOWN_TOOL
        draft = Draft(0, "tool", "", "", "", tool, block.get("input"))
        if isinstance(call_id, str):
            draft.is_open, draft.call_id, draft.name = True, call_id, call_id
            draft.response, draft.response_no = self._response, self._response_no
            self._calls.setdefault(call_id, []).append(draft)
            self._called.add(hash(call_id))
        self._begin(record, begun, draft)

    def _answer(self, record: dict[str, Any], begun: list[Draft], block: dict[str, Any]) -> None:
        call_id = block.get("tool_use_id")
        if not isinstance(call_id, str):
            return
        result = block.get("content")
        result = "" if result is None else result
        waiting = self._calls.get(call_id)
        if waiting:
            draft = waiting.pop(0)
            draft.result, draft.is_open = result, False
            if not waiting:
                del self._calls[call_id]
        elif hash(call_id) not in self._called:
            self._called.add(hash(call_id))
            self._begin(record, begun, Draft(0, "tool", "", "", call_id, UNKNOWN_TOOL, result=result))

    def _begin(self, record: dict[str, Any], begun: list[Draft], draft: Draft) -> Draft:
        self.count += 1
        draft.number = self.count
        draft.ts = iso_utc(record.get("timestamp"))
        draft.key = call_key(record, draft.name) if draft.name else turn_key(record)
        self.has_words = self.has_words or draft.content != COMMAND or draft.role != "tool"
        self._queue.append(draft)
        begun.append(draft)
        return draft

    def _note_response(self, record: dict[str, Any], message: dict[str, Any]) -> None:
        """Give up the calls of earlier responses that this one shows to be without a result."""
        names = (message.get("id"), record.get("requestId"), record.get("uuid"))
        name = next((name for name in names if isinstance(name, str) and name), "")
        if name != self._response:
            self._response = name
            self._response_no += 1
        if not self._calls:
            return
        stop = message.get("stop_reason")
        parent = record.get("parentUuid")
        ends_turn = isinstance(stop, str) and stop not in _GOES_ON
        follows_lost_line = isinstance(parent, str) and not self.has(parent)
        for draft in [draft for waiting in self._calls.values() for draft in waiting]:
            is_far = self._response_no - draft.response_no >= _LATER_RESPONSES
            if draft.response != name and (ends_turn or follows_lost_line or is_far):
                self._give_up(draft)

    def _give_up_calls(self) -> None:
        for waiting in self._calls.values():
            for draft in waiting:
                draft.is_open = False
        self._calls.clear()

    def _give_up(self, draft: Draft) -> None:
        draft.is_open = False
        if draft is self._typed:
            self._typed = None
        waiting = [other for other in self._calls.pop(draft.call_id, []) if other is not draft]
        if waiting:
            self._calls[draft.call_id] = waiting
