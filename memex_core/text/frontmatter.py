"""Front matter: read behind guards, changed key by key (DESIGN §3 row front matter; seed 000 §6.1).

Every scalar is read as the string that was typed; the schema of a page gives it a type. A change touches the
values of the keys it names and nothing else: unknown keys, their order, comments and line ends survive byte
for byte. The only importer of yaml, and only for front matter that this module did not write itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memex_core.text.clean import clean_text

MAX_CHARS = 64 * 1024
MAX_DEPTH = 32

Value = str | int | float | bool | None | list[str] | dict[str, Any] | list[Any]

_OPENING = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
_CLOSING = re.compile(r"^---[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_LOOKS_LIKE_A_KEY = re.compile(r"[\w\"'][^\r\n]{0,200}:(?:[ \t]|\r|\n|\Z)")
_OWN_LINE = re.compile(
    r'([A-Za-z_]\w*):(?: ("[^\r\n]*"|\[[^\r\n]*\]|-?[0-9][0-9.e+-]*|null|true|false))?\r?\Z'
)
_MUST_ESCAPE = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')
_NOT_OWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\r(?!\n)")
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_NULLS = {"", "~", "null", "Null", "NULL"}
_COLON = re.compile(r"[ \t]*:")
_MARKERS = re.compile(r"[ \t]*((?:[-?:][ \t]+)*)")


class FrontMatterError(ValueError):
    """Front matter that is not read; the message says why, in words a person can act on."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A page in four pieces that join to its text: up to the front matter, it, its closing line, the rest."""

    head: str
    front: str | None
    fence: str
    body: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One top-level key: its value, where its colon ends, and where the value stands in the text."""

    key: str
    value: Any
    colon: int
    start: int
    end: int


def split(text: str) -> tuple[str | None, str, str]:
    """`(front, body, problem)`: the text between the `---` lines, what follows them, and what is odd there.

    `front` is None where a page has no front matter; `problem` then says so if it seems to have been meant.
    A byte order mark belongs to neither. `replace` puts a page together again.
    """
    parts = _parts(text)
    return parts.front, parts.body, parts.problem


def replace(text: str, front: str, body: str) -> str:
    """The page `text` with another front matter and body; byte order mark and `---` lines stay as found."""
    parts = _parts(text)
    if parts.front is not None:
        return f"{parts.head}{front}{parts.fence}{body}"
    newline = "\r\n" if front.endswith("\r\n") else "\n"
    return f"{parts.head}---{newline}{front}---{newline}{body}"


def parse(front: str) -> dict[str, Any]:
    """The keys of `front`: values are strings, None, and lists and dicts of them. Raises FrontMatterError."""
    return {entry.key: entry.value for entry in _entries(front)}


def parse_counted(front: str) -> tuple[dict[str, Any], list[str]]:
    """`parse`, and the keys that stand there more than once: the last value of each counts."""
    entries = _entries(front)
    values = {entry.key: entry.value for entry in entries}
    counts = Counter(entry.key for entry in entries) if len(values) < len(entries) else {}
    return values, [key for key, times in counts.items() if times > 1]


def render(values: Mapping[str, Value], *, newline: str = "\n") -> str:
    """`values` as front matter without its `---` lines, one key a line, in the order given."""
    return "".join(f"{_render_key(key)}: {render_value(value)}{newline}" for key, value in values.items())


def edit(front: str, changes: Mapping[str, Value]) -> str:
    """`front` with the keys of `changes` set; a key that is not there is added at the end.

    Everything else stays as it is, byte for byte. Raises FrontMatterError where `front` cannot be read or the
    edited text would not read back as intended; nothing may be written then.
    """
    entries = {entry.key: entry for entry in _entries(front)}
    newline = "\r\n" if "\r\n" in front else "\n"
    edited = front
    for entry in sorted(entries.values(), key=lambda entry: entry.start, reverse=True):
        if entry.key in changes:
            edited = _set(edited, entry, render_value(changes[entry.key]))
    added = {key: value for key, value in changes.items() if key not in entries}
    if added and edited and not edited.endswith(("\n", "\r")):
        edited += newline
    edited += render(added, newline=newline)
    _verify(edited, {key: entry.value for key, entry in entries.items()}, changes)
    return edited


def render_value(value: Value) -> str:
    """`value` on one line: strings always double-quoted, valid both as JSON and as YAML 1.1."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return f'"{_MUST_ESCAPE.sub(_escape, clean_text(value))}"'
    if isinstance(value, list):
        return f"[{', '.join(render_value(item) for item in value)}]"
    return "{" + ", ".join(f"{render_value(str(k))}: {render_value(v)}" for k, v in value.items()) + "}"


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT_ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _render_key(key: str) -> str:
    return key if _PLAIN_KEY.match(key) and key not in ("null", "true", "false") else render_value(key)


def _parts(text: str) -> _Parts:
    mark = text[: text.startswith("\ufeff")]
    opening = _OPENING.match(text, len(mark))
    if opening is None:
        return _Parts(mark, None, "", text[len(mark) :])
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        meant = _LOOKS_LIKE_A_KEY.match(text, opening.end())
        problem = "its front matter has no closing ---" if meant else ""
        return _Parts(mark, None, "", text[len(mark) :], problem)
    front = text[opening.end() : closing.start()]
    return _Parts(text[: opening.end()], front, closing.group(), text[closing.end() :])


def _set(front: str, entry: _Entry, rendered: str) -> str:
    """`front` with another value for one key; a value that began on a later line moves up to its colon."""
    between = front[entry.colon : entry.start]
    if "\n" in between or "\r" in between or not between:
        return f"{front[: entry.colon]} {rendered}{between.rstrip()}{front[entry.end :]}"
    return f"{front[: entry.start]}{rendered}{front[entry.end :]}"


def _verify(edited: str, before: dict[str, Any], changes: Mapping[str, Value]) -> None:
    wanted = before | {key: _as_read(value) for key, value in changes.items()}
    if parse(edited) != wanted:
        raise FrontMatterError("its front matter could not be changed without changing something else")


def _as_read(value: Value) -> Any:
    """What `parse` gives for a rendered `value`."""
    if value is None:
        return None
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_as_read(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(str(key)): _as_read(item) for key, item in value.items()}
    return render_value(value)


def _entries(front: str) -> list[_Entry]:
    own = _own_entries(front)
    return _yaml_entries(front) if own is None else own


def _own_entries(front: str) -> list[_Entry] | None:
    """Entries of front matter as `render` writes it, without yaml; None where any line looks different."""
    if _NOT_OWN.search(front) or len(front) > MAX_CHARS:
        return None
    entries: list[_Entry] = []
    position = 0
    for line in front.split("\n"):
        if line:
            match = _OWN_LINE.match(line)
            if match is None:
                return None
            try:
                value = _own_value(match.group(2))
            except ValueError:
                return None
            colon = match.end(1) + 1
            start, end = match.span(2) if match.group(2) else (colon, colon)
            entries.append(_Entry(match.group(1), value, position + colon, position + start, position + end))
        position += len(line) + 1
    return entries


def _own_value(text: str | None) -> Any:
    if text is None or text == "null":
        return None
    if text[0] == '"':
        return text[1:-1] if text.count('"') == 2 and "\\" not in text else clean_text(json.loads(text))
    if text[0] == "[":
        items = json.loads(text)
        if not all(isinstance(item, str) for item in items):
            raise ValueError("not a list of strings")
        return [clean_text(item) for item in items]
    return text


def _yaml_entries(front: str) -> list[_Entry]:
    import yaml

    _guard(front)
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(front)
    try:
        return _Builder(front).entries(_allowed_events(loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 2}: " if mark is not None else ""
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
        raise FrontMatterError(f"front matter, {where}{what}") from None
    finally:
        loader.dispose()


def _guard(front: str) -> None:
    """Refuse what could exhaust the parser before it sees it; `_Builder` counts the depth exactly."""
    if len(front) > MAX_CHARS:
        raise FrontMatterError(f"its front matter is longer than {MAX_CHARS // 1024} KiB")
    depth = 0
    for line in front.splitlines():
        markers = _MARKERS.match(line)
        width = len(markers.group(1).split()) if markers else 0
        for char in line:
            depth = depth + 1 if char in "[{" else max(depth - 1, 0) if char in "]}" else depth
            if depth + width > MAX_DEPTH:
                raise _too_deep()


def _too_deep() -> FrontMatterError:
    return FrontMatterError(f"its front matter is nested more than {MAX_DEPTH} levels deep")


def _allowed_events(loader: Any) -> Iterator[tuple[str, Any]]:
    """yaml's events by name; anchors, aliases, tags, directives and a second document are refused."""
    documents = 0
    while loader.check_event():
        event = loader.get_event()
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            documents += 1
            if documents > 1 or event.tags or event.version:
                raise FrontMatterError("its front matter holds more than one document or a directive")
        if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            raise FrontMatterError("its front matter uses anchors or aliases, which are not read")
        if getattr(event, "tag", None) is not None:
            raise FrontMatterError("its front matter uses tags (!), which are not read")
        yield kind, event


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being read, and the key of it that waits for a value."""

    value: Any
    start: int
    key: str | None = None
    colon: int = -1


class _Builder:
    """Builds the entries from yaml's events without recursion: depth costs memory, never the stack."""

    def __init__(self, front: str) -> None:
        self.front = front
        self.found: list[_Entry] = []
        self.open: list[_Open] = []
        self.last_end = 0

    def entries(self, events: Iterator[tuple[str, Any]]) -> list[_Entry]:
        for kind, event in events:
            if kind in ("MappingStartEvent", "SequenceStartEvent"):
                self._begin(kind, event)
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                closed = self.open.pop()
                if self.front[event.start_mark.index : event.end_mark.index] in ("]", "}"):
                    self.last_end = event.end_mark.index
                if self.open:
                    self._place(closed.value, closed.start, self.last_end)
            elif kind == "ScalarEvent":
                self._scalar(event)
        return self.found

    def _begin(self, kind: str, event: Any) -> None:
        if not self.open and kind == "SequenceStartEvent":
            raise FrontMatterError("its front matter is a list, not keys and values")
        if len(self.open) > MAX_DEPTH:
            raise _too_deep()
        self.open.append(_Open({} if kind == "MappingStartEvent" else [], event.start_mark.index))

    def _scalar(self, event: Any) -> None:
        plain = not event.style
        if not self.open:
            if event.value or not plain:
                raise FrontMatterError("its front matter is one text, not keys and values")
            return
        start, end = event.start_mark.index, event.end_mark.index
        end = start + len(self.front[start:end].rstrip())
        self.last_end = end
        waits = isinstance(self.open[-1].value, dict) and self.open[-1].key is None
        if waits and plain and event.value == "<<":
            raise FrontMatterError("its front matter uses a merge key (<<), which is not read")
        null = plain and not waits and event.value in _NULLS
        self._place(None if null else clean_text(event.value), start, end)

    def _place(self, value: Any, start: int, end: int) -> None:
        holder = self.open[-1]
        if isinstance(holder.value, list):
            holder.value.append(value)
        elif holder.key is None:
            if not isinstance(value, str):
                raise FrontMatterError("its front matter has a key that is not a text")
            colon = _COLON.match(self.front, end)
            holder.key, holder.colon = value, colon.end() if colon else -1
        else:
            holder.value[holder.key] = value
            if len(self.open) == 1:
                # An empty value has no place of its own; an explicit "? key" has no colon behind it.
                start, end = (holder.colon, holder.colon) if start == end else (start, end)
                self.found.append(_Entry(holder.key, value, max(holder.colon, 0), start, end))
            holder.key = None
