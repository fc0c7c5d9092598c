"""JSON with positions: the tree of a settings file, and where in the text each of its parts stands.

Strict on purpose. A file that its own program could not read, or would read differently from us, is not ours
to edit: anything but RFC 8259 is Refused with line and column, and so are a byte order mark and a name that
occurs twice.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Literal, NoReturn

from memex_core.errors import Refused

MAX_DEPTH = 100
HINT = "nothing was changed; correct the file and run the same command again"

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(slots=True)
class Node:
    """One value and its span `text[start:end]`. `names` are the names of an object's `children`, in order.

    `value` is what a scalar means; a number stays the text that was typed.
    """

    kind: Literal["object", "array", "string", "number", "word"]
    start: int
    end: int = 0
    value: str | bool | None = None
    names: list[str] = field(default_factory=list)
    name_starts: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)

    def get(self, name: str) -> Node | None:
        """The member of that name; None where there is none or where this is no object."""
        return self.children[self.names.index(name)] if name in self.names else None


def decode(data: bytes, path: Path) -> str:
    """The text of a settings file. Raises Refused for a byte order mark and for what is not UTF-8."""
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise Refused(
            f"{path}:1:1: starts with a byte order mark", hint=f"save it as UTF-8 without BOM; {HINT}"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data[: error.start].decode("utf-8")
        raise Refused(f"{path}:{_place(text, len(text))}: not UTF-8", hint=HINT) from None


def encode(text: str, path: Path) -> bytes:
    """The bytes of a settings file. Raises Refused where one of our own paths in it is not UTF-8."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(
            f"{path}: the path of memex or of the hook script is not UTF-8",
            hint=f"set XDG_DATA_HOME or MEMEX_DATA_DIR; {HINT}",
        ) from None


def parse(text: str, path: Path) -> Node:
    """Text -> tree. Raises Refused with `path:line:column` and what is wrong there."""
    parser = _Parser(text, path)
    root = parser.value(parser.skip(0), 0)
    rest = parser.skip(root.end)
    if rest != len(text):
        parser.refuse(rest, "something follows the end of the JSON value")
    return root


def parse_object(text: str, path: Path) -> Node:
    """`parse` for a file that is one object. Raises Refused where it is anything else."""
    root = parse(text, path)
    if root.kind != "object":
        raise Refused(f"{path}:1:1: the whole is not a JSON object", hint=HINT)
    return root


def plain(node: Node) -> object:
    """The tree as Python's json module would give it; a number that Python refuses stays text."""
    if node.kind == "object":
        return {name: plain(child) for name, child in zip(node.names, node.children, strict=True)}
    if node.kind == "array":
        return [plain(child) for child in node.children]
    if node.kind == "number":
        return _number(str(node.value))
    return node.value


def _number(text: str) -> int | float | str:
    try:
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:  # thousands of digits
        return text


class _Parser:
    """Recursive descent over one text; every method takes the offset to start from."""

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path

    def refuse(self, at: int, why: str) -> NoReturn:
        raise Refused(f"{self.path}:{_place(self.text, at)}: {why}", hint=HINT)

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.refuse(at, f"nested deeper than {MAX_DEPTH} levels")
        char = self.text[at : at + 1]
        if char == "{":
            return self._object(at, depth)
        if char == "[":
            return self._array(at, depth)
        if char == '"':
            value, end = self._string(at)
            return Node("string", at, end, value)
        number = _NUMBER.match(self.text, at)
        if number:
            return Node("number", at, number.end(), number.group())
        for word, meaning in _WORDS.items():
            if self.text.startswith(word, at):
                return Node("word", at, at + len(word), meaning)
        return self.refuse(at, self._what_stands_there(at))

    def _object(self, start: int, depth: int) -> Node:
        node, seen = Node("object", start), set[str]()
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "}":
            node.end = at + 1
        while not node.end:
            if self.text[at : at + 1] != '"':
                self.refuse(at, self._what_stands_there(at, "a name in double quotes"))
            name, end = self._string(at)
            if name in seen:
                self.refuse(at, f"the name {name!r} occurs twice in one object")
            seen.add(name)
            node.names.append(name)
            node.name_starts.append(at)
            colon = self.skip(end)
            if self.text[colon : colon + 1] != ":":
                self.refuse(colon, self._what_stands_there(colon, "':'"))
            node.children.append(self.value(self.skip(colon + 1), depth + 1))
            at = self._after_child(node, "}")
        return node

    def _array(self, start: int, depth: int) -> Node:
        node = Node("array", start)
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "]":
            node.end = at + 1
        while not node.end:
            node.children.append(self.value(at, depth + 1))
            at = self._after_child(node, "]")
        return node

    def _after_child(self, node: Node, closing: str) -> int:
        """Where the next child starts; at `closing` sets `node.end`, which is 0 until then."""
        at = self.skip(node.children[-1].end)
        char = self.text[at : at + 1]
        if char == closing:
            node.end = at + 1
            return node.end
        if char != ",":
            self.refuse(at, self._what_stands_there(at, f"',' or '{closing}'"))
        following = self.skip(at + 1)
        if self.text[following : following + 1] == closing:
            self.refuse(at, "a comma before the closing bracket")
        return following

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = scanstring(self.text, at + 1, True)
        except json.JSONDecodeError as error:
            self.refuse(error.pos, error.msg.lower())
        return str(value), int(end)

    def _what_stands_there(self, at: int, expected: str = "a value") -> str:
        rest = self.text[at : at + 2]
        if not rest:
            return f"the file ends where {expected} should stand"
        if rest in ("//", "/*") or rest[0] == "#":
            return "a comment, which JSON does not allow"
        return f"expected {expected}"


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"{line}:{at - (text.rfind(chr(10), 0, at) + 1) + 1}"
