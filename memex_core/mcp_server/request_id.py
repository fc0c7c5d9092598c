"""The id of a request that cannot be read as a whole, from how its line begins and ends."""

from __future__ import annotations

import json
import re
from typing import Any

from mcp_types import RequestId

END_BYTES = 1 << 10
"""How much of an end of a line is looked through."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.S)
_LAST_ID = re.compile(
    rb'[{,]\s*"id"\s*:\s*(?P<id>-?\d+|"(?:[^"\\]|\\.){0,512}")\s*'
    rb'(?:,\s*"jsonrpc"\s*:\s*"[0-9.]*"\s*)?\}\s*\Z',
    re.S,
)


def id_of(value: object) -> RequestId | None:
    """The id that a message gives, None where that is none."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def id_at_head(head: bytes) -> RequestId | None:
    """The id among the keys with which a JSON object begins, at its first level."""
    depth, tokens = 0, [b""] * 4
    for found in _TOKEN.finditer(head[:END_BYTES]):
        tokens = [*tokens[1:], found[0]]
        before, key, colon, value = tokens
        if depth == 1 and (key, colon) == (b'"id"', b":") and before in (b"{", b","):
            return _scalar(value) if found.end() < len(head) else None
        depth += (value in (b"{", b"[")) - (value in (b"}", b"]"))
        if value == b'"' or depth < 1 or (depth == 1 and value == b"["):  # a text that goes on; no object
            return None
    return None


def id_at_tail(tail: bytes) -> RequestId | None:
    """The id where it is the last key of a JSON object, or only the version comes after it: as most clients
    write it. `tail` must end as the object does.
    """
    found = _LAST_ID.search(tail[-END_BYTES:])
    return _scalar(found["id"]) if found else None


def _scalar(token: bytes) -> RequestId | None:
    try:
        value: Any = json.loads(token)
    except ValueError:
        return None
    return id_of({"id": value})
