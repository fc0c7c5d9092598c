"""The body of a response: read up to a bound, never unpacked, and only ever a JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memex_core.llm.answer import MAX_BYTES
from memex_core.llm.failures import broken

PIECE = 1 << 16
MAX_EXPLANATION = 1 << 16
"""Bytes of an error's body that are read."""


def read_bounded(claimed: str | None, next_piece: Callable[[], bytes]) -> bytes:
    """The pieces up to the first empty one, MAX_BYTES at most, or CallFailed; `claimed`: Content-Length."""
    too_long = broken(f"the answer is longer than {MAX_BYTES >> 20} MB")
    if claimed and claimed.isdecimal() and int(claimed[:20]) > MAX_BYTES:
        raise too_long
    pieces: list[bytes] = []
    size = 0
    while piece := next_piece():
        size += len(piece)
        if size > MAX_BYTES:
            raise too_long
        pieces.append(piece)
    return b"".join(pieces)


def read_explanation(next_piece: Callable[[], bytes]) -> bytes:
    """The first MAX_EXPLANATION bytes, at most, of a body that only says why there is no answer."""
    body = b""
    while len(body) < MAX_EXPLANATION and (piece := next_piece()):
        body += piece
    return body[:MAX_EXPLANATION]


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object that `body` is. Raises CallFailed."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise broken("answered something that is not JSON") from None
    if not isinstance(value, dict):
        raise broken("answered JSON of another shape")
    return value
