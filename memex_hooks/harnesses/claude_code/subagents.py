"""Which turn spawned a subagent (formats/claude-code.md §2 Subagents): its tokens belong there."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from pathlib import Path
from typing import Any

import orjson

from memex_hooks.harnesses.claude_code.content import block_type, blocks, first_text
from memex_hooks.harnesses.claude_code.conversation import Draft
from memex_hooks.harnesses.claude_code.times import iso_utc, seconds
from memex_hooks.log_lines import open_regular

_AGENT_TOOLS = ("Agent", "Task")
_META_BYTES = 1 << 20


class Spawns:
    """Gathers calls, results and what subagents say of themselves; then `turn_of` an agent."""

    def __init__(self) -> None:
        self._turn_of_call: dict[int, int] = {}
        self._turn_of_task: dict[int, int] = {}
        self._turn_of_agent: dict[str, int] = {}
        self._turn_of_side: dict[int, int] = {}
        self._last_task = 0
        self._parent_of_agent: dict[str, str] = {}
        self._agent_of_call: dict[int, str] = {}
        self._meta_of_agent: dict[str, dict[str, Any]] = {}
        self._began: dict[str, float] = {}
        self._times = array("d")

    def note_turn(self, draft: Draft) -> None:
        """A turn of the main log begins."""
        latest = self._times[-1] if self._times else 0.0
        self._times.append(max(latest, seconds(draft.ts)))
        if draft.call_id:
            self._turn_of_call[hash(draft.call_id)] = draft.number
        if draft.content in _AGENT_TOOLS and draft.role == "tool":
            self._last_task = draft.number
            prompt = draft.query.get("prompt") if isinstance(draft.query, dict) else None
            if isinstance(prompt, str):
                self._turn_of_task[hash(prompt.strip())] = draft.number

    def note_result(self, record: dict[str, Any]) -> None:
        """A result in the main log may name the agent that gave it."""
        for call_id, agent in _answered_agents(record):
            if turn := self._turn_of_call.get(hash(call_id), 0):
                self._turn_of_agent.setdefault(agent, turn)

    def side_turn(self, record: dict[str, Any], last_turn: int) -> int:
        """The turn that spawned a record of an inline sidechain without agent id (1.x): its prompt tells."""
        parent, uuid = record.get("parentUuid"), record.get("uuid")
        if isinstance(parent, str):
            turn = self._turn_of_side.get(
                hash(parent), last_turn
            )  # without a root: a /btw beside the last turn
        else:
            message = record.get("message")
            prompt = first_text(message.get("content")) if isinstance(message, dict) else ""
            turn = self._turn_of_task.get(hash(prompt.strip()), 0) or self._last_task or last_turn
        if isinstance(uuid, str):
            self._turn_of_side[hash(uuid)] = turn
        return turn

    def turn_of_call(self, call_id: Any) -> int:
        """The turn of a call in the main log, 0 when there is none."""
        return self._turn_of_call.get(hash(call_id), 0) if isinstance(call_id, str) else 0

    def note_part(self, agent: str, record: dict[str, Any]) -> None:
        """A record of a subagent's own log: when it began, which calls it made, which agents it spawned."""
        if agent not in self._began and (ts := iso_utc(record.get("timestamp"))):
            self._began[agent] = seconds(ts)
        message = record.get("message")
        for block in blocks(message.get("content") if isinstance(message, dict) else None):
            if block_type(block) == "tool_use" and isinstance(block.get("id"), str):
                self._agent_of_call[hash(block["id"])] = agent
        for _, spawned in _answered_agents(record):
            self._parent_of_agent.setdefault(spawned, agent)

    def note_meta(self, agent: str, log: Path) -> None:
        """What stands beside a subagent's log: `agent-x.meta.json`."""
        try:
            with open_regular(log.with_name(f"{log.stem}.meta.json")) as file:
                meta = orjson.loads(file.read(_META_BYTES))
        except (OSError, ValueError):
            return
        if isinstance(meta, dict):
            self._meta_of_agent[agent] = meta

    def turn_of(self, agent: str) -> int:
        """The turn that spawned `agent`, itself or through others; else the last turn before it began."""
        visited: set[str] = set()
        name = agent
        while name and name not in visited:
            visited.add(name)
            turn = self._spawning_turn(name)
            if turn:
                return turn
            name = self._parent(name)
        began = self._began.get(agent, 0.0)
        return bisect_right(self._times, began) if began else len(self._times)

    def _spawning_turn(self, agent: str) -> int:
        call_id = self._meta_of_agent.get(agent, {}).get("toolUseId")
        return self.turn_of_call(call_id) or self._turn_of_agent.get(agent, 0)

    def _parent(self, agent: str) -> str:
        meta = self._meta_of_agent.get(agent, {})
        parent, call_id = meta.get("parentAgentId"), meta.get("toolUseId")
        if isinstance(parent, str) and parent:
            return parent
        by_call = self._agent_of_call.get(hash(call_id), "") if isinstance(call_id, str) else ""
        return by_call or self._parent_of_agent.get(agent, "")


def agent_of(log: Path, record: dict[str, Any]) -> str:
    """The id of the agent that a record of its log belongs to: what the record says, else the log's name."""
    agent = record.get("agentId")
    return agent if isinstance(agent, str) and agent else log.stem.removeprefix("agent-")


def _answered_agents(record: dict[str, Any]) -> list[tuple[str, str]]:
    """(id of the call, agent) for a result that a subagent gave."""
    result = record.get("toolUseResult")
    agent = result.get("agentId") if isinstance(result, dict) else None
    message = record.get("message")
    if not isinstance(agent, str) or not isinstance(message, dict):
        return []
    ids = [
        block.get("tool_use_id")
        for block in blocks(message.get("content"))
        if block_type(block) == "tool_result"
    ]
    return [(call_id, agent) for call_id in ids if isinstance(call_id, str)]
