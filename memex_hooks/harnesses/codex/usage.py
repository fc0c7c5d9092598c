"""Token counts of a rollout, one response at a time (formats/codex.md §3). Nothing cumulative is summed."""

from __future__ import annotations

from memex_core.model.session import Response
from memex_core.text.clean import clean_text
from memex_hooks.harnesses.codex.fields import Fields, count, mapping, text, utc

USAGE_FIELDS = {
    "input_tokens": ["input", "cache_read", "cache_write_5m"],
    "cached_input_tokens": ["cache_read"],
    "cache_write_input_tokens": ["cache_write_5m"],
    "output_tokens": ["output"],
    "reasoning_output_tokens": ["reasoning"],
    "total_tokens": ["input", "cache_read", "cache_write_5m", "output"],
}
"""Codex's names as sums of ours: cached and written tokens are parts of its input."""

_COUNTS = tuple(USAGE_FIELDS)
_Counts = tuple[int, ...]


class Usage:
    """The responses of one thread: exact records where there are any, before the first `token_count` steps.

    `seeded`: a fork's counters may start at its parent's, and be told again before it has had a response.
    """

    def __init__(self, thread_id: str, *, seeded: bool) -> None:
        self.responses: list[Response] = []
        self.models: list[str] = []
        self.efforts: list[str] = []
        self._thread_id = thread_id
        self._model = ""
        self._ids: set[str] = set()
        self._records = 0
        self._steps = 0
        self._total: _Counts | None = None
        self._last: _Counts | None = None
        self._silent = seeded

    def inherit(self, record: Fields) -> None:
        """A copied record: its counts are the parent's, but ours go on from there, and with its model."""
        payload = mapping(record, "payload")
        if text(payload, "type") == "token_count":
            if mapping(payload, "info"):
                self._total = _counts(mapping(mapping(payload, "info"), "total_token_usage"))
        else:
            self._note_model(record.get("type"), payload)

    def take(self, record: Fields, turn: int) -> None:
        """One of the thread's own records; `turn` is the turn that a response ending here belongs to."""
        kind, payload = record.get("type"), mapping(record, "payload")
        if kind == "token_usage_record":
            self._record(payload, text(record, "timestamp"), turn)
        elif kind == "response_item":
            self._silent = self._silent and text(payload, "role") in ("user", "developer", "system")
        elif kind == "turn_context":
            self._note_model(kind, payload)
            self._note(self.models, self._model)
            self._note(self.efforts, text(payload, "effort"))
        elif kind == "event_msg":
            if text(payload, "type") == "token_count":
                self._token_count(mapping(payload, "info"), text(record, "timestamp"), turn)
            else:
                self._note_model(kind, payload)

    def _note_model(self, kind: object, payload: Fields) -> None:
        if kind == "turn_context":
            self._model = clean_text(text(payload, "model")) or self._model
        elif text(payload, "type") == "thread_settings_applied":
            self._model = clean_text(text(mapping(payload, "thread_settings"), "model")) or self._model

    def _note(self, names: list[str], name: str) -> None:
        if name and name not in names:
            names.append(clean_text(name))

    def _record(self, payload: Fields, stamp: str, turn: int) -> None:
        if text(payload, "thread_id") not in ("", self._thread_id):
            return
        self._records += 1
        response_id = text(payload, "response_id") or f"{self._thread_id}:r{self._records}"
        if response_id not in self._ids:
            self._ids.add(response_id)
            self._add(clean_text(response_id), _counts(mapping(payload, "usage")), stamp, turn)

    def _token_count(self, info: Fields, stamp: str, turn: int) -> None:
        """§3.3. A count that is told again is known by its total, which then has not moved."""
        if self._records or not info:
            return
        total = _counts(mapping(info, "total_token_usage"))
        last = _counts(mapping(info, "last_token_usage"))
        before, self._total = self._total, total
        if total == before if any(total) else last == self._last:
            return
        if self._silent and before is None:  # the parent's figures, told before this thread's first response
            return
        if last[0] + last[3] == 0:  # an estimate after compaction, or the fill after an overflow
            return
        self._last = last
        self._steps += 1
        self._add(f"{self._thread_id}:tc{self._steps}", last, stamp, turn)

    def _add(self, response_id: str, counts: _Counts, stamp: str, turn: int) -> None:
        whole_input, cached, written, output, reasoning, _ = counts
        self._note(self.models, self._model)
        self.responses.append(
            Response(
                id=response_id,
                model=self._model,
                ts=utc(stamp),
                turn=turn,
                input=max(0, whole_input - cached - written),
                cache_read=cached,
                cache_write_5m=written,
                output=output,
                reasoning=reasoning,
            )
        )


def _counts(usage: Fields) -> _Counts:
    return tuple(count(usage, name) for name in _COUNTS)
