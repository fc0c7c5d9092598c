"""JSON as models write it: prose and fences around it, a comma too many, quotes of the wrong kind, no end.

One pass with a stack of our own: linear in the length of the text, and no nesting can exhaust anything. Where
JSON breaks off, what was whole before is kept and the search goes on behind it. Never raises.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

MAX_DEPTH = 16
MAX_TOKENS = 100_000
"""No answer of a model has as many brackets, texts and numbers; behind them, the rest counts as cut off."""

REPEATED = "\0repeated"
"""In an object that gave a key twice with different values: the name of that key."""

_TOKEN = re.compile(
    r"""[\s\ufeff]*+(?:
    (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<comma>,) | (?P<colon>:)
    | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<single>'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'(?=\s*+[:,\]}]))
    | (?P<number>-?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,4})?(?![\w.]))
    | (?P<word>-?Infinity|NaN|[Tt]rue|[Ff]alse|null|None)\b
    )""",
    re.VERBOSE | re.DOTALL,
)
_OPENING = re.compile(r"[\[{]")
_ENDS_HERE = re.compile(r"[\s\ufeff]*+(?:\Z|\"|'[^'\n]*\Z|-?[\w.+]{0,40}\Z)")
_BAD_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[\"\\/bfnrt])|\\")
_TO_DOUBLE = re.compile(r"\\.|\"", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_DECODER = json.JSONDecoder(strict=False)

Wanted = Literal["item", "colon", "value", "comma"]


class Value(NamedTuple):
    """A list or object, and where in the text it begins and ends."""

    value: Any
    start: int
    end: int


@dataclass(slots=True)
class Found:
    """What JSON a text holds. `values` in order: whole ones, and the whole objects of lists that were not.
    `broken`: what could be read of objects that were not whole. `cut`: the text ends inside a value.
    """

    values: list[Value] = field(default_factory=list)
    broken: list[dict[str, Any]] = field(default_factory=list)
    cut: bool = False


@dataclass(slots=True)
class _Open:
    """A list or object that is not closed yet; `wants` is what may come next, "item" and "comma" also an
    end.
    """

    value: list[Any] | dict[str, Any]
    start: int
    key: str = ""
    wants: Wanted = "item"


def find_values(text: str) -> Found:
    """The lists and objects in `text`."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.found = Found()
        self.stack: list[_Open] = []

    def read(self) -> Found:
        position, last_text = 0, -1
        for _ in range(MAX_TOKENS):
            if not self.stack:
                opening = _OPENING.search(self.text, position)
                if opening is None:
                    return self.found
                position, last_text = opening.start(), -1
            token = _TOKEN.match(self.text, position)
            if token is None and _ENDS_HERE.match(self.text, position):
                break
            if token is not None and self._take(token):
                is_text = token.lastgroup == "string"
                last_text = token.start("string") if is_text else last_text if token["colon"] else -1
                position = token.end()
                continue
            self._give_up()
            position = self._resume(position, token, last_text)
        self.found.cut = position < len(self.text.rstrip()) or not self._lacks_only_brackets()
        self._give_up(at_end=True)
        return self.found

    def _lacks_only_brackets(self) -> bool:
        top = self.stack[-1] if self.stack else None
        return top is None or (top.wants == "comma" and _holds_objects(top.value))

    def _resume(self, position: int, token: re.Match[str] | None, last_text: int) -> int:
        """Where to look on after an error: a text that swallowed a bracket was none, but a stray quote."""
        if last_text >= 0 and _OPENING.search(self.text, last_text, position):
            return last_text + 1
        if token is None:
            return position + 1
        return token.start("open") if token["open"] else token.end()

    def _take(self, token: re.Match[str]) -> bool:
        """False where `token` may not stand."""
        kind, top = token.lastgroup, self.stack[-1] if self.stack else None
        if kind == "close":
            return self._close(token)
        if kind == "comma" or kind == "colon":
            if top is None or top.wants != kind:
                return False
            top.wants = "item" if kind == "comma" else "value"
            return True
        if top is not None and isinstance(top.value, dict) and top.wants == "item":
            return self._key(top, token)
        if top is not None and top.wants not in ("item", "value"):
            return False
        if kind == "open":
            if len(self.stack) >= MAX_DEPTH:
                return False
            value: list[Any] | dict[str, Any] = [] if token["open"] == "[" else {}
            self.stack.append(_Open(value, token.start("open")))
            return True
        self._put(_scalar(token))
        return True

    def _key(self, top: _Open, token: re.Match[str]) -> bool:
        key = _scalar(token) if token.lastgroup in ("string", "single") else None
        if not isinstance(key, str):
            return False
        top.key, top.wants = key, "colon"
        return True

    def _close(self, token: re.Match[str]) -> bool:
        top = self.stack[-1] if self.stack else None
        if top is None or top.wants not in ("item", "comma"):
            return False
        if isinstance(top.value, dict) != (token["close"] == "}"):
            return False
        self.stack.pop()
        if self.stack:
            self._put(top.value)
        else:
            self.found.values.append(Value(top.value, top.start, token.end()))
        return True

    def _put(self, value: Any) -> None:
        top = self.stack[-1]
        top.wants = "comma"
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if top.key in top.value and top.value[top.key] != value:
            top.value[REPEATED] = top.key
        top.value[top.key] = value

    def _give_up(self, *, at_end: bool = False) -> None:
        """Close everything that is open: what is whole in it is found, the rest is broken."""
        for each in self.stack:
            lists = [each.value] if isinstance(each.value, list) else list(each.value.values())
            whole = [part for part in lists if _holds_objects(part)]
            self.found.values += [Value(part, each.start, each.start) for part in whole]
            if isinstance(each.value, dict) and not whole and not at_end:
                self.found.broken.append(each.value)
        self.stack.clear()


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _scalar(token: re.Match[str]) -> Any:
    if token["number"]:
        return float(token["number"])
    if token["word"]:
        return _WORDS.get(token["word"].lower(), float("nan"))
    raw = token["string"] or _double_quoted(token["single"])
    try:
        return _DECODER.decode(raw)
    except ValueError:
        return _DECODER.decode(_BAD_ESCAPE.sub(lambda found: found[0] if found[1] else r"\\", raw))


def _double_quoted(single: str) -> str:
    def change(found: re.Match[str]) -> str:
        return {"\\'": "'", '"': '\\"'}.get(found[0], found[0])

    return f'"{_TO_DOUBLE.sub(change, single[1:-1])}"'
