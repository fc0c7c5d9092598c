"""Token accounting: lines -> responses (formats/claude-code.md §4).

One response is written as several lines with the same `message.id`, each with a copy of the counts that may
be a running one. The copy with the greatest output counts, whole; of equal ones the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from memex_core.model.session import Response
from memex_core.text.clean import clean_text
from memex_hooks.harnesses.claude_code.identity import response_id
from memex_hooks.harnesses.claude_code.times import iso_utc

USAGE_FIELDS = {
    "input_tokens": ["input"],
    "cache_creation_input_tokens": ["cache_write_5m", "cache_write_1h"],
    "cache_read_input_tokens": ["cache_read"],
    "output_tokens": ["output"],
    "total_tokens": ["input", "cache_read", "cache_write_5m", "cache_write_1h", "output"],
}
"""The harness's own names of the counts -> the disjoint fields of `Response` that each sums."""

_BILLED_APART = ("advisor_message", "compaction")
"""Iterations that the counts of their response leave out."""
_LARGEST = 1 << 53

Counts = tuple[int, int, int, int, int, int]
"""input, cache_read, cache_write_5m, cache_write_1h, output, reasoning"""


@dataclass(slots=True)
class Place:
    """Where in the session a response belongs: the first turn it produced, else the last turn before it; or
    the subagent that it answered."""

    produced: int = 0
    before: int = 0
    agent: str = ""


@dataclass(slots=True)
class _Entry:
    ts: str
    place: Place
    model: str = ""
    counts: Counts = (0, 0, 0, 0, 0, 0)
    apart: tuple[tuple[str, Counts], ...] = ()
    final: bool = False


class Accountant:
    """Gathers responses over all files of a session, a few numbers per response."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def add(self, record: dict[str, Any], place: Place, fallback_id: str) -> None:
        """Count an `assistant` record, or one in an old `progress` record; not errors and made-up rows."""
        if record.get("type") == "progress":
            record = _relayed(record)
        message = record.get("message")
        if record.get("type") != "assistant" or not isinstance(message, dict):
            return
        usage = message.get("usage")
        if not isinstance(usage, dict) or not usage:
            return
        if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
            return
        self._count(response_id(record) or fallback_id, record, message, usage, place)

    def responses(self, turn_of: Callable[[Place], int]) -> Iterator[Response]:
        """What was asked of models, in order of appearance; `turn_of` says which turn a place belongs to."""
        for name, entry in self._entries.items():
            turn = turn_of(entry.place)
            yield _response(name, entry, entry.model, turn, entry.counts, requests=1)
            for n, (model, counts) in enumerate(entry.apart, start=1):
                yield _response(f"{name}#{n}", entry, model, turn, counts, requests=0)

    def _count(
        self,
        name: str,
        record: dict[str, Any],
        message: dict[str, Any],
        usage: dict[str, Any],
        place: Place,
    ) -> None:
        entry = self._entries.get(name)
        is_new = entry is None
        if entry is None:
            entry = self._entries[name] = _Entry("", place)
        entry.ts = entry.ts or iso_utc(record.get("timestamp"))
        entry.place.produced = entry.place.produced or place.produced
        entry.final = entry.final or message.get("stop_reason") is not None
        counts = _counts(usage)
        if is_new or counts[4] >= entry.counts[4]:
            model = _name(message.get("model"), "unknown")
            entry.model, entry.counts, entry.apart = model, counts, tuple(_apart(usage, model))


def _response(
    response_id: str, entry: _Entry, model: str, turn: int, counts: Counts, requests: int
) -> Response:
    return Response(response_id, model, entry.ts, turn, *counts, requests=requests, final=entry.final)


def _relayed(record: dict[str, Any]) -> dict[str, Any]:
    data = record.get("data")
    relayed = data.get("message") if isinstance(data, dict) else None
    return relayed if isinstance(relayed, dict) else {}


def _counts(usage: dict[str, Any]) -> Counts:
    """Disjoint counts. What the flat cache count has beyond the detailed ones is five-minute cache (§4.1)."""
    detail = usage.get("cache_creation")
    detail = detail if isinstance(detail, dict) else {}
    written_5m = _number(detail.get("ephemeral_5m_input_tokens"))
    written_1h = _number(detail.get("ephemeral_1h_input_tokens"))
    written_5m += max(0, _number(usage.get("cache_creation_input_tokens")) - written_5m - written_1h)
    output = _number(usage.get("output_tokens"))
    thought = usage.get("output_tokens_details")
    reasoning = _number(thought.get("thinking_tokens")) if isinstance(thought, dict) else 0
    return (
        _number(usage.get("input_tokens")),
        _number(usage.get("cache_read_input_tokens")),
        written_5m,
        written_1h,
        output,
        min(reasoning, output),
    )


def _apart(usage: dict[str, Any], model: str) -> Iterator[tuple[str, Counts]]:
    iterations = usage.get("iterations")
    for iteration in iterations if isinstance(iterations, list) else []:
        if isinstance(iteration, dict) and iteration.get("type") in _BILLED_APART:
            yield _name(iteration.get("model"), model), _counts(iteration)


def _number(value: Any) -> int:
    """A count; 0 for null, bool, string, negative, NaN and what no counter reaches."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < _LARGEST else 0


def _name(value: Any, otherwise: str = "") -> str:
    return clean_text(value) if isinstance(value, str) and value else otherwise
