"""Changing one block of a file and nothing else: what a person wrote around it keeps its bytes (DESIGN §3).

A new block takes the line ends of its file. On a file as wikimem writes it, the result is what wikimem would
write.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memex_core.text.blocks import BOM, BREAKS, Section, is_heading

_LINE_END = re.compile(r"\r\n?|\n")


def without(text: str, gone: Sequence[Section]) -> str:
    """`text` less the blocks `gone`, which are in file order."""
    kept, position = [], 0
    for section in gone:
        kept.append(text[position : section.start])
        position = section.end
    return "".join((*kept, text[position:]))


def inserted(text: str, block: str, place: int | None = None) -> str:
    """`text` with `block`, as `blocks.render` gives it, at `place`, where a block begins, else at the end."""
    end = _line_end(text)
    if place is None:
        place = len(text)
        block = block.rstrip("\n") + "\n"
    before = text[:place]
    return "".join((before, _gap(before, end), _with_ends(block, end), text[place:]))


def titled(text: str, title: str) -> str:
    """`text` with its title where it begins with a block, or is blank.

    To be asked before a change: a byte order mark hides a heading right behind it from wikimem.
    """
    mark = BOM if text.startswith(BOM) else ""
    rest = text[len(mark) :]
    blank = not rest or rest.isspace()
    if not blank and not is_heading(rest):
        return text
    return mark + _with_ends(f"# {title}\n\n", _line_end(text)) + ("" if blank else rest)


def is_ours(text: str, title: str) -> bool:
    """True where `text` holds nothing that a person wrote: it is blank, or the title alone."""
    return text.removeprefix(BOM).strip() in ("", f"# {title}")


def _gap(before: str, end: str) -> str:
    """What must stand between `before` and a heading: one empty line."""
    if not before:
        return ""
    last = _last_line(before, end)
    if is_heading(last) and last == f"## {last[3:].strip()}":
        return end * 3  # wikimem gives an empty item three, and trims them at the end of a file
    tail = before[-4:]
    ends = len(tail[len(tail.rstrip(BREAKS)) :].splitlines())
    return end * max(0, 2 - ends)


def _last_line(text: str, end: str) -> str:
    """The last line of `text` if `end` ends it, else ""."""
    if not text.endswith(end):
        return ""
    stop = len(text) - len(end)
    start = text.rfind(end, 0, stop)
    return text[start + len(end) if start >= 0 else 0 : stop]


def _line_end(text: str) -> str:
    found = _LINE_END.search(text)
    return found.group() if found else "\n"


def _with_ends(block: str, end: str) -> str:
    return block if end == "\n" else block.replace("\n", end)
