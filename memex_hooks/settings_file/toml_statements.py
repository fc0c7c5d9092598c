"""TOML with positions: where each statement of a text stands, and which key it sets.

Only for a text that tomllib has read already: what it means is tomllib's to say, here it is only cut.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_COMMENT = re.compile(r"#[^\n]*")
_PLAIN = re.compile(r"[^\"'#\[\]{}=\n]+")
_SPACE = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Statement:
    """A header, or a key with its value: `text[start:end]`, whole lines.

    `path` is the full key, its table included. `key_start:key_end` is the key as it is written,
    `key_end:value_end` the equals sign and the value; a header has no value.
    """

    start: int
    end: int
    path: tuple[str, ...]
    header: bool
    key_start: int
    key_end: int
    value_end: int = 0


def statements(text: str) -> Iterator[Statement]:
    """Every statement, in order. Blank lines and comments belong to none."""
    start = 0
    table: tuple[str, ...] = ()
    while start < len(text):
        at = _end_of(_SPACE, text, start)
        if text[at : at + 1] == "[":
            inner = at + (2 if text.startswith("[[", at) else 1)
            close = _find(text, inner, "]")
            end, table = _line_end(text, close), _path(text[inner:close])
            yield Statement(start, end, table, True, inner, close)
        elif text[at : at + 1] in ("", "\r", "\n", "#"):
            end = _line_end(text, at)
        else:
            equals = _find(text, at, "=")
            value_end = _find(text, equals + 1, "\n#")
            end, path = _line_end(text, value_end), table + _path(text[at:equals])
            written = text[:value_end].rstrip()
            yield Statement(start, end, path, False, at, equals, len(written))
        start = end


def _find(text: str, at: int, closing: str) -> int:
    """Where a character of `closing` stands next, outside of strings, brackets and comments; else the end."""
    depth = 0
    while at < len(text):
        char = text[at]
        if depth == 0 and char in closing:
            return at
        depth += (char in "[{") - (char in "]}")
        pattern = _STRING if char in "\"'" else _COMMENT if char == "#" else _PLAIN
        at = max(_end_of(pattern, text, at), at + 1)
    return at


def _path(key: str) -> tuple[str, ...]:
    node, names = tomllib.loads(f"{key.strip()} = 0"), []
    while isinstance(node, dict):
        ((name, node),) = node.items()
        names.append(name)
    return tuple(names)


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
