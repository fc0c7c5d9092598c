"""Which turns a rewind took back (formats/claude-code.md §3.9).

Rewinding makes a new child of an earlier record; the branch that it leaves stays in the log. Taken back is
what hangs on the active line through a prompt of the user's: several children alone mean nothing, parallel
tool calls have them too. A log with a missing parent or a second root outside compaction keeps file order:
nothing is taken back.
"""

from __future__ import annotations

from array import array
from typing import Any

_UNKNOWN, _ACTIVE, _KEPT, _RETRACTED, _LOOSE = range(5)


class Branches:
    """Gathers the tree during a pass, a few numbers per record."""

    def __init__(self) -> None:
        self._node_of: dict[int, int] = {}
        self._parents = array("q")
        self._is_prompt = bytearray()
        self._node_of_turn = array("l")
        self._roots = 0
        self._leaf = -1

    def add(self, record: dict[str, Any], turns: int, is_prompt: bool) -> None:
        """Note a record that begins `turns` turns. Turns are numbered in the order of these calls."""
        node = -1
        uuid = record.get("uuid")
        if isinstance(uuid, str):
            node = len(self._parents)
            self._node_of[hash(uuid)] = node
            self._parents.append(_parent(record))
            self._is_prompt.append(is_prompt)
            if not record.get("isSidechain"):
                self._note_line(record, node)
        self._node_of_turn.extend([node] * turns)

    def retracted(self) -> set[int]:
        """The numbers of the turns on branches that were left."""
        if self._roots > 1 or any(parent and parent not in self._node_of for parent in self._parents):
            return set()
        states = bytearray(len(self._parents))
        self._mark_active(states)
        numbered = enumerate(self._node_of_turn, start=1)
        return {number for number, node in numbered if node >= 0 and self._state(node, states) == _RETRACTED}

    def _note_line(self, record: dict[str, Any], node: int) -> None:
        if not self._parents[node] and record.get("subtype") != "compact_boundary":
            self._roots += 1
        if record.get("type") in ("user", "assistant"):
            self._leaf = node

    def _above(self, node: int) -> int:
        return self._node_of.get(self._parents[node], -1)

    def _mark_active(self, states: bytearray) -> None:
        node = self._leaf
        while node >= 0 and states[node] == _UNKNOWN:
            states[node] = _ACTIVE
            node = self._above(node)

    def _state(self, node: int, states: bytearray) -> int:
        path = []
        while node >= 0 and states[node] == _UNKNOWN:
            states[node] = _LOOSE  # stays so where the way up is a cycle
            path.append(node)
            node = self._above(node)
        state = _LOOSE if node < 0 else states[node]
        if state == _ACTIVE:
            # What hangs on the leaf follows it: the first records of a log are not always written in order.
            state = _LOOSE if node == self._leaf else _KEPT
        for below in reversed(path):
            if state == _KEPT and self._is_prompt[below]:
                state = _RETRACTED
            states[below] = state
        return state


def _parent(record: dict[str, Any]) -> int:
    """The hash of the parent's uuid, 0 for none. Compaction starts a root that names what it continues."""
    parent = record.get("parentUuid")
    if parent is None and record.get("subtype") == "compact_boundary":
        parent = record.get("logicalParentUuid")
    return hash(parent) if isinstance(parent, str) else 0
