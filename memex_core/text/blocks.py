"""The block format of RecallFiles and diary days: `## heading`, content, one metadata comment (seed 002).

A line starts a block iff it begins with `##`, a space of any kind, and more; everything up to the next such
line belongs to it. Fences mean nothing here: a heading inside one is a heading. What stands before the first
block (title, preamble) belongs to none. Lines end as `str.splitlines` says. Every function takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

BOM = "\ufeff"
BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_HEADING = re.compile(rf"##[^\S{BREAKS}][^{BREAKS}]+")
_LINK = re.compile(r"\[\[([^\[\]\n:]+):([^\[\]\n:]+)\]\]")
_MARK = "wikimem:"
_ESCAPED_HEADING = re.compile(r"(\\*)##\s")
_ESCAPED_METADATA = re.compile(rf"\s*<!--\s*(\\*){_MARK}")


class Section(NamedTuple):
    """Where a block lies in the text of its file: from `start`, where its heading line begins, to `end`,
    where the next block or the file ends; its body begins at `body`. `heading` is stripped, may be empty.
    """

    start: int
    body: int
    end: int
    heading: str


class Provenance(NamedTuple):
    """The three fields of a metadata comment; None where it does not name them."""

    owner: str | None = None
    source_conv: str | None = None
    ts: str | None = None


def parse(text: str) -> list[Section]:
    """The blocks of a file, in file order. A byte order mark before the first heading does not hide it."""
    return [Section(*span, text[span[0] + 2 : span[1]].strip()) for span in _spans(text)]


def named(text: str, name: str) -> list[Section]:
    """The blocks of `parse` whose item has that name, found without making the others."""
    words = name.split()
    if words and words[0] not in text:
        return []
    found = (span for span in _spans(text) if text[span[0] + 2 : span[1]].split() == words)
    return [Section(*span, text[span[0] + 2 : span[1]].strip()) for span in found]


def _spans(text: str) -> Iterable[tuple[int, int, int]]:
    """Start, end of the heading line, and end of every block."""
    found = [match.span() for match in _HEADING.finditer(text) if _is_line_start(text, match.start())]
    starts, bodies = [start for start, _ in found], [body for _, body in found]
    return zip(starts, bodies, [*starts[1:], len(text)], strict=False)


def _is_line_start(text: str, place: int) -> bool:
    return place == 0 or text[place - 1] in BREAKS or (place == 1 and text[0] == BOM)


def is_heading(text: str) -> bool:
    """True where the first line of `text` starts a block."""
    return _HEADING.match(text) is not None


def read_body(text: str, section: Section) -> tuple[str, Provenance]:
    """The content of a block, stripped and with LF only, and what the last metadata comment in it says."""
    content = []
    said = Provenance()
    for line in text[section.body : section.end].splitlines():
        inner = _metadata(line) if _MARK in line else None
        if inner is None:
            content.append(line)
        else:
            said = _provenance(inner)
    return "\n".join(content).strip(), said


def _metadata(line: str) -> str | None:
    """What stands inside a metadata comment; None for a line that is none."""
    line = line.strip()
    if not (line.startswith("<!--") and line.endswith("-->")):
        return None
    said = line[4:].lstrip()
    return said[len(_MARK) : -len("-->")] if said.startswith(_MARK) else None


def _provenance(inner: str) -> Provenance:
    """`key=value` pairs between bars: each cut at its first `=`, empty ones left out, the last one wins."""
    fields = {}
    for part in inner.split("|"):
        key, _, value = part.partition("=")
        if value := value.strip():
            fields[key.strip()] = value
    return Provenance(fields.get("owner"), fields.get("source"), fields.get("ts"))


def item_name(heading: str) -> str:
    """The name of an item: runs of white space are one space. (Diary headings keep theirs.)"""
    return " ".join(heading.split())


def item_links(content: str) -> list[tuple[str, str]]:
    """(file, name) of every `[[file:name]]`, in order, code and repetitions included (formats page 1.7)."""
    found = ((file.strip(), name.strip()) for file, name in _LINK.findall(content))
    return [(file, name) for file, name in found if file and name]


def item_of_link(target: str) -> tuple[str, str] | None:
    """(file, name) of the item that `[[target]]` leads to; None where it says no file and name."""
    file, _, name = target.partition(":")
    file, name = file.strip(), item_name(name)
    return (file, name) if file and name and ":" not in name else None


def render(heading: str, content: str, said: Provenance) -> str:
    """A block as wikimem writes it, with LF only, up to and with the empty line behind it."""
    comment = _comment(said)
    return f"## {heading}\n\n{content}\n\n" + (f"{comment}\n\n" if comment else "")


def _comment(said: Provenance) -> str:
    fields = zip(("owner", "source", "ts"), said, strict=True)
    parts = [f"{key}={kept}" for key, value in fields if (kept := field_value(value))]
    return f"<!-- {_MARK} {' | '.join(parts)} -->" if parts else ""


def field_value(value: str | None) -> str | None:
    """What a metadata comment holds of `value`: a bar would end it and becomes a slash; None for blank."""
    return (value or "").replace("|", "/").strip() or None


def render_file(title: str, blocks: Iterable[tuple[str, str, Provenance]]) -> str:
    """A whole file of (heading, content, provenance), byte for byte as wikimem writes it."""
    return f"# {title}\n\n{''.join(render(*block) for block in blocks)}".rstrip("\n") + "\n"


def normalized(content: str) -> str:
    """`content` as it would be read back: every line end is LF, nothing blank at either end."""
    return "\n".join(content.splitlines()).strip()


def flaw_in(content: str) -> str:
    """Which line of `content` would not be read back as content, and why; "" where all would be."""
    if "##" not in content and _MARK not in content:
        return ""
    for number, line in enumerate(content.splitlines(), 1):
        kind = (
            "heading" if _HEADING.match(line) else "metadata comment" if _metadata(line) is not None else ""
        )
        if kind:
            return f"line {number} would be read as a {kind}: {line[:60]!r}"
    return ""


def is_representable(content: str) -> bool:
    """True where `content`, written as it is, is read back exactly (formats page 3.1)."""
    is_text = content.isascii() or content.encode("utf-8", "ignore").decode() == content
    return is_text and content == normalized(content) and not flaw_in(content)


def escape(content: str) -> str:
    """`content`, normalized, with a backslash before each heading and each `wikimem:` of a comment: no line
    is read as either, and `unescape` gives it back. For export; the store itself refuses such content.
    """
    return _each_line(normalized(content), lambda slashes: slashes + "\\")


def unescape(content: str) -> str:
    """Undo `escape`. Only for what `escape` made: a person may have written such a backslash themselves."""
    return _each_line(content, lambda slashes: slashes[1:])


def _each_line(content: str, change: Callable[[str], str]) -> str:
    if "##" not in content and _MARK not in content:
        return content
    return "\n".join(_changed_line(line, change) for line in content.split("\n"))


def _changed_line(line: str, change: Callable[[str], str]) -> str:
    found = _ESCAPED_HEADING.match(line) or _ESCAPED_METADATA.match(line)
    return line if found is None else line[: found.start(1)] + change(found[1]) + line[found.end(1) :]
