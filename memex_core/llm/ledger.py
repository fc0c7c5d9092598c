"""logs/model_calls.jsonl: what every call to a model cost, never what was said ([llm] daily_token_limit).

A line is {ts, call, outcome, provider, model, tokens, ...}; `tokens` is what counts for the day, and the last
line of a `call` counts. Under a daily limit a call is written down before it is made, with the most it may
cost (outcome "reserved"): a crash leaves that counted, and two processes cannot both take the last tokens.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.errors import LLMError, LockTimeout
from memex_core.files.atomic import append_line
from memex_core.files.lock import memory_lock
from memex_core.files.operation_log import log_operation
from memex_core.model.llm import ModelCall


def ledger_path(root: Path) -> Path:
    """Where the calls of this memory root are written down."""
    return paths.logs_dir(root) / "model_calls.jsonl"


def tokens_today(root: Path) -> int:
    """The tokens that calls begun since the last local midnight used, or may use. 0 without a ledger.

    OSError where there is one that cannot be read.
    """
    now = datetime.now().astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    dates = {f'"{day.astimezone(UTC):%Y-%m-%d}'.encode() for day in (midnight, now, now + timedelta(hours=1))}
    try:
        data = ledger_path(root).read_bytes()
    except FileNotFoundError:
        return 0
    counted: dict[str, int] = {}
    for line in data.splitlines():
        if not any(date in line for date in dates):
            continue
        entry = _entry(line)
        if entry is not None and entry[0] >= midnight:
            counted[entry[1]] = entry[2]
    return sum(counted.values())


def _entry(line: bytes) -> tuple[datetime, str, int] | None:
    """(when the call began, call, tokens) of a line; None for a line that a crash or a person spoiled."""
    try:
        value: Any = json.loads(line)
        begun = datetime.fromisoformat(value["ts"])
        tokens = value["tokens"]
        whole = begun.tzinfo is not None and type(tokens) is int and tokens >= 0
        return (begun, str(value["call"]), tokens) if whole else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class Ticket:
    """A call that may be made: `reserved` tokens are counted until it is settled."""

    call: str
    ts: str
    reserved: int


class Ledger:
    """The calls of one client. `daily_limit` 0 means that there is none."""

    def __init__(self, root: Path, provider: str, model: str, daily_limit: int) -> None:
        self._root = root
        self._provider = provider
        self._model = model
        self._daily_limit = daily_limit

    def reserve(self, most: int) -> Ticket:
        """Leave to make a call that costs at most `most` tokens. LLMError where today's limit forbids it."""
        ticket = Ticket(secrets.token_hex(8), _now(), most if self._daily_limit else 0)
        if not self._daily_limit:
            return ticket
        try:
            with memory_lock(self._root):
                used = tokens_today(self._root)
                if used + most <= self._daily_limit:
                    self._append(ticket, "reserved", most)
                    return ticket
        except (OSError, LockTimeout) as error:
            raise LLMError(
                f"{self._provider} was not asked: the call cannot be written down, so the daily limit cannot "
                f"be kept ({getattr(error, 'strerror', None) or error})",
                hint="make logs/ in the memory root writable",
            ) from error
        self.settle(ticket, ModelCall(self._provider, self._model, 0, 0, False, 0.0, "refused"))
        raise LLMError(
            f"{self._provider} was not asked: {used:,} of today's {self._daily_limit:,} tokens are used, and "
            f"this call may take {most:,}",
            hint="wait until tomorrow, or raise [llm] daily_token_limit",
        )

    def settle(self, ticket: Ticket, call: ModelCall, *, cost_is_known: bool = True) -> None:
        """Write down what the call was; its tokens take the place of what was reserved.

        Of a call whose cost nobody knows, no less than the reservation counts.
        """
        used = call.prompt_tokens + call.completion_tokens
        try:
            self._append(
                ticket,
                call.outcome,
                used if cost_is_known else max(used, ticket.reserved),
                prompt_tokens=call.prompt_tokens,
                completion_tokens=call.completion_tokens,
                estimated=call.estimated,
                ms=round(call.ms),
            )
        except OSError as error:  # the answer is there and paid for; under a limit the reservation stays
            log_operation(
                self._root, "ask-model", "model_calls.jsonl", "not noted", detail=str(error.strerror)
            )
        log_operation(
            self._root,
            "ask-model",
            f"{self._provider} {self._model}",
            call.outcome,
            call.ms / 1000,
            prompt_tokens=call.prompt_tokens,
            completion_tokens=call.completion_tokens,
        )

    def _append(self, ticket: Ticket, outcome: str, tokens: int, **more: int | bool) -> None:
        line = {
            "ts": ticket.ts,
            "call": ticket.call,
            "outcome": outcome,
            "provider": self._provider,
            "model": self._model,
            "tokens": tokens,
            **more,
        }
        append_line(ledger_path(self._root), json.dumps(line).encode())
