"""Private key blocks (PEM, OpenSSH, PGP), whatever ends their lines, cut off at either end."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN = re.compile(rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(rb"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BETWEEN = rb"(?:\s|\\{1,8}[nrt]|[\"'`+,>|]|\d{1,5}[\t:|?])*"
"""Between two lines: line ends, escaped or not, quotes and signs of joined strings, line numbers."""
_LINE = re.compile(_BETWEEN + rb"(?:[A-Za-z0-9+/=]{16,}|[A-Z][A-Za-z-]{2,20}: [^\n\\\"]{0,200})")
_LAST = re.compile(
    _BETWEEN + rb"(?:[A-Za-z0-9+/=]{1,80})?" + _BETWEEN + rb"(?:=[A-Za-z0-9+/]{4})?" + _BETWEEN
)
_BROKEN_OFF = re.compile(
    rb"(?:\s|\\{1,8}[nr])+(?=[A-Za-z+/]{0,15}\d)(?=[a-z0-9+/]{0,15}[A-Z])[A-Za-z0-9+/=]{4,15}(?![\w-])"
)
_SEPARATORS = re.compile(rb"(?:\s|\\{1,8}[nrt])+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=]+")
_HEAD_LIMIT = 16_384


def find(data: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of every block, in order."""
    if b"PRIVATE KEY" not in data:
        return
    at = data.find(b"-----BEGIN ")
    position = 0
    while at >= 0:
        begin = _BEGIN.match(data, at)
        if begin:
            yield from _ends_without_begin(data, position, at)
            position = _material_end(data, begin.end())
            yield at, position
        at = data.find(b"-----BEGIN ", max(at + 1, position))
    yield from _ends_without_begin(data, position, len(data))


def _material_end(data: bytes, position: int) -> int:
    while line := _LINE.match(data, position):
        position = line.end()
    last = _LAST.match(data, position)
    if last and (end := _END.match(data, last.end())):
        return end.end()
    broken = _BROKEN_OFF.match(data, position)
    return broken.end() if broken else position


def _ends_without_begin(data: bytes, position: int, limit: int) -> Iterator[tuple[int, int]]:
    """The tail of a block whose head was cut off."""
    at = data.find(b"-----END ", position, limit)
    while at >= 0:
        end = _END.match(data, at)
        if end and (start := _tail_start(data, max(position, at - _HEAD_LIMIT), at)) < at:
            yield start, end.end()
        position = at + len(b"-----END ")
        at = data.find(b"-----END ", position, limit)


def _tail_start(data: bytes, position: int, at: int) -> int:
    start = at
    gaps = [*_SEPARATORS.finditer(data, position, at)]
    if not gaps or gaps[-1].end() != at:
        return at
    for gap, before in zip(reversed(gaps), [*reversed(gaps[:-1]), None], strict=True):
        piece_start = before.end() if before else position
        piece = data[piece_start : gap.start()]
        if not _BASE64.fullmatch(piece) or (len(piece) < 16 and gap.end() != at):
            return start
        start = piece_start
    return start
