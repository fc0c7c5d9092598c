"""What names a response and a turn in every copy of a log (formats/claude-code.md §2).

A fork by the SDK gives every record a new uuid, names the one in the log it was forked from (not the first of
a line of forks) and sets the time of the last record anew. Everything else is copied: message ids, request
ids, ids of calls, prompt ids, words. Those name a turn; a time does where there are none, and a uuid where
there is no time.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from memex_core.text.clean import clean_text
from memex_hooks.harnesses.claude_code.content import compact_json
from memex_hooks.harnesses.claude_code.times import iso_utc

_UNIQUE_CALLS = ("toolu_", "srvtoolu_", "mcptoolu_")
"""Ids of calls that begin so are given once. A gateway's may come again in any session."""


def response_id(record: dict[str, Any]) -> str:
    """The id of the response that an `assistant` record is of. A gateway may use its ids again."""
    message = record.get("message")
    message_id = _name(message.get("id")) if isinstance(message, dict) else ""
    request_id = _name(record.get("requestId"))
    if message_id.startswith("msg_"):
        return message_id
    if message_id:
        return f"{message_id}/{request_id}" if request_id else message_id
    return request_id or _fingerprint(record)


def turn_key(record: dict[str, Any]) -> str:
    """What the turns of a record have in common and no other record's turns have, as far as it can be
    told.
    """
    if record.get("type") == "assistant":
        name = response_id(record)
        is_unique = name.startswith(("msg_", "req_")) or "/" in name
        return name if is_unique else f"{name}/{_time_or_uuid(record)}"
    return _name(record.get("promptId")) or _time_or_uuid(record)


def call_key(record: dict[str, Any], call_id: str) -> str:
    """What the turn of a call is known by, besides its id; "" where the id says it all."""
    return "" if call_id.startswith(_UNIQUE_CALLS) else turn_key(record)


def _time_or_uuid(record: dict[str, Any]) -> str:
    return iso_utc(record.get("timestamp")) or _original_uuid(record)


def _fingerprint(record: dict[str, Any]) -> str:
    """A name for a response that has no id: when it came and what it says; its uuid where that is unknown."""
    ts = iso_utc(record.get("timestamp"))
    if not ts:
        return _original_uuid(record)
    said = f"{ts}{compact_json(record.get('message'))}"
    return blake2b(said.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _original_uuid(record: dict[str, Any]) -> str:
    fork = record.get("forkedFrom")
    origin = fork.get("messageUuid") if isinstance(fork, dict) else None
    return _name(origin) or _name(record.get("uuid"))


def _name(value: Any) -> str:
    return clean_text(value) if isinstance(value, str) else ""
