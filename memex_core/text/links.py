"""Wiki links in Markdown: `[[slug]]`, `[[slug|label]]`, `[[Title]]` (DESIGN §3; seed 000 §6.1).

A link is known by its key: two spellings with one key are the same link, in any script. Links inside fenced
or inline code are text. Every function is linear in the length of its input.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache

from memex_core.paths import FOLDER_OF_TYPE, TYPE_OF_FOLDER
from memex_core.text.blocks import item_of_link
from memex_core.text.slug import slugify, title_key

MAX_LINKS = 10_000
"""Of one page, item or event; nobody writes so many."""

_LINK = re.compile(r"(?<!\\)\[\[([^\[\]|\r\n]{1,300}?)(?:\\?\|[^\[\]\r\n]{0,300})?\]\]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"(?<=\S)#[^\s\d].*\Z")
_TICKS = re.compile(r"`+")


def parse_links(text: str) -> list[str]:
    """The keys of the links in `text`, in the order of their first appearance."""
    keys = map(link_key, link_targets(text))
    return list(dict.fromkeys(key for key in keys if key))


def page_links(text: str) -> list[str]:
    """Those of `parse_links` that are no `[[file:item]]`, which leads to an item first of all."""
    keys = (link_key(target) for target in link_targets(text) if item_of_link(target) is None)
    return list(dict.fromkeys(key for key in keys if key))


def link_targets(text: str) -> Iterator[str]:
    """What each link in `text` leads to, as it is spelled there, without its label; MAX_LINKS at most."""
    if "[[" in text:
        found = (match.group(1) for part in prose(text) for match in _LINK.finditer(part))
        yield from itertools.islice(found, MAX_LINKS)


@lru_cache(maxsize=4096)
def link_key(target: str) -> str:
    """What the target of a link is matched by; empty where nothing of it is left.

    `entities/ruff` and `entity/ruff` keep their type, as `entity/ruff`; other folders are dropped, and so is
    a `#heading` (a `#` beside a space or before a digit belongs to a title: `C# tips`, `Fix #1`).
    """
    path = _HEADING.sub("", target).strip().removesuffix(".md")
    folder, _, name = path.rpartition("/")
    kind = _type_named(folder.rpartition("/")[2].strip())
    if folder and kind is None and " " in path:
        name = path  # "A / B" is a title with a slash in it, not a path
    key = name_key(name)
    return f"{kind}/{key}" if kind and key else key


def name_key(name: str) -> str:
    """What a slug or a title answers to: `Ruff Linter`, `ruff-linter` and `RUFF-LINTER` are one name.

    A title without a letter or digit keeps its folded text.
    """
    return slugify(name) or title_key(name)


def _type_named(folder: str) -> str | None:
    if folder in FOLDER_OF_TYPE:
        return folder
    return TYPE_OF_FOLDER.get(folder)


def prose(text: str) -> Iterator[str]:
    """`text` without its code, paragraph by paragraph."""
    paragraph: list[str] = []
    fence = ""
    for line in text.splitlines():
        opening = _FENCE.match(line)
        if fence:
            closes = opening and opening.group(1).startswith(fence) and not opening.group(2).strip()
            fence = "" if closes else fence
        elif opening and not (opening.group(1)[0] == "`" and "`" in opening.group(2)):
            fence = opening.group(1)
            yield _without_code_spans("\n".join(paragraph))
            paragraph = []
        elif line.strip():
            paragraph.append(line)
        else:
            yield _without_code_spans("\n".join(paragraph))
            paragraph = []
    yield _without_code_spans("\n".join(paragraph))


def _without_code_spans(paragraph: str) -> str:
    """A run of backticks opens a code span if a run of the same length follows; the span is cut out."""
    runs = [match.span() for match in _TICKS.finditer(paragraph)]
    closers: dict[int, list[int]] = {}
    for index, (start, end) in enumerate(runs):
        closers.setdefault(end - start, []).append(index)
    for waiting in closers.values():
        waiting.reverse()
    kept: list[str] = []
    position = index = 0
    while index < len(runs):
        start, end = runs[index]
        same = closers[end - start]
        while same and same[-1] <= index:
            same.pop()
        if same:
            closer = same.pop()
            kept.append(paragraph[position:start])
            position, index = runs[closer][1], closer
        index += 1
    return "".join(kept) + paragraph[position:]
