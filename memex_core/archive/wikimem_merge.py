"""One file of a wikimem directory brought to what another store says, three ways (formats page 3.4).

What changed on one side only is taken from that side; what changed on both is left as it stands and told. A
block that nobody changed keeps its bytes, and so does everything that a person wrote between blocks.
"""

from __future__ import annotations

import bisect
import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memex_core.archive.wikimem_items import item_hash, items_of
from memex_core.archive.wikimem_records import digest
from memex_core.model.item import RecallItem
from memex_core.text.block_splice import inserted, is_ours, titled, without
from memex_core.text.blocks import (
    BOM,
    Provenance,
    Section,
    item_name,
    parse,
    read_body,
    render,
    render_file,
)

EXPORT_DETAIL = "memex export"
"""The `detail` of a journal line that an export wrote: what it tells happened in the memory long before."""
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]\Z")
_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an item should be. `instead` is the name it had, where that was another; `same`: nothing about it
    has changed on our side, so whatever stands there may stay. `block` is how it is written, with LF only, ""
    for as wikimem would.
    """

    name: str
    content: str
    said: Provenance
    same: bool = False
    instead: str | None = None
    block: str = ""

    @property
    def place(self) -> str:
        return self.name if self.instead is None else self.instead


@dataclass(slots=True)
class Merged:
    """`text` is "" where nothing is left but a title; `changes` (what was done, name); `kept` the names of
    items that changed on both sides, or are gone on ours and changed there; `again` of those that were
    deleted there and are not here.
    """

    text: str
    changes: list[tuple[str, str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)


def merge_items(
    text: str,
    title: str,
    base: Mapping[str, Collection[str]],
    wanted: Sequence[Wanted],
    gone: Collection[str] = (),
) -> Merged:
    """The text of a RecallFile with the items `wanted`, and without the `gone`; all others stay.

    `base` holds the hashes by which items were last seen: one that has another hash changed since.
    """
    merged = Merged(text)
    current = {item.name: item for item in items_of(title, text)}
    by_place = {each.place: each for each in wanted}
    for name, item in current.items():
        _decide(item, by_place.get(name), base.get(name, ()), name in gone, merged)
    done = dict(merged.changes)
    new = [each for each in wanted if each.place not in current]
    if not merged.changes and not new:
        return merged
    replaced = {name: by_place[name] for name, action in done.items() if action == "update"}
    rest = _spliced(text, replaced, {name for name, action in done.items() if action == "remove"})
    if text.startswith(BOM) or not text.strip():
        rest = titled(rest, title)
    merged.text = inserted(rest, "".join(map(_block, new))) if new else rest
    merged.again = [each.name for each in new if each.place in base]
    merged.changes = [*_told(merged.changes, by_place), *(("add", each.name) for each in new)]
    if is_ours(merged.text, title):
        merged.text = ""
    return merged


def _decide(
    item: RecallItem, wanted: Wanted | None, base: Collection[str], is_gone: bool, merged: Merged
) -> None:
    """What becomes of an item that stands there: "update", "remove", a conflict, or nothing."""
    as_seen = item_hash(item.name, item.content) in base
    if wanted is None:
        if is_gone and as_seen:
            merged.changes.append((item.name, "remove"))
        elif is_gone:
            merged.kept.append(item.name)
        return
    said = Provenance(item.owner, item.source_conv, item.ts)
    same_words = (item.name, item.content) == (wanted.name, wanted.content)
    if wanted.same or (same_words and (said == wanted.said or not as_seen)):
        return
    if as_seen:
        merged.changes.append((item.name, "update"))
    else:
        merged.kept.append(item.name)


def _told(changes: Sequence[tuple[str, str]], by_place: Mapping[str, Wanted]) -> Iterator[tuple[str, str]]:
    """Changes as a journal tells them: another name is a removal and an addition."""
    for name, action in changes:
        if action == "update" and by_place[name].name != name:
            yield "remove", name
            yield "add", by_place[name].name
        else:
            yield action, name


def _spliced(text: str, replaced: Mapping[str, Wanted], removed: Collection[str]) -> str:
    """`text` with other blocks in the places of some; of a name that stands there twice, in the first."""
    sections = parse(text)
    found = _LINE_END.search(text)
    end = found.group() if found else "\n"
    pieces, written, changed = [text[: sections[0].start] if sections else text], set(), False
    for section in sections:
        name = item_name(section.heading)
        changed = name in replaced or name in removed
        if name in replaced and name not in written:
            written.add(name)
            pieces.append(_block(replaced[name]).replace("\n", end))
        elif not changed:
            pieces.append(text[section.start : section.end])
    joined = "".join(pieces)
    return joined.rstrip("\r\n") + end if changed and joined else joined


def _block(wanted: Wanted) -> str:
    return wanted.block or render(wanted.name, wanted.content, wanted.said)


def holds_events(text: str, other: str) -> bool:
    """True where the day `text` has every event of the day `other`."""
    have = Counter(_event(text, section) for section in parse(text))
    return Counter(_event(other, section) for section in parse(other)) <= have


def merge_events(text: str, other: str, date: str) -> tuple[str, int]:
    """The text of a day with the events of `other` that it lacks, each as it stands there, and how many.

    An event goes before the first one that is later; one whose heading is no time of the day to the end.
    """
    have = Counter(_event(text, section) for section in parse(text))
    new = []
    for section in parse(other):
        event = _event(other, section)
        if have[event]:
            have[event] -= 1
        else:
            block = other[section.start : section.end].lstrip(BOM).rstrip("\r\n") + "\n\n"
            new.append((section.heading, block))
    if not new:
        return text, 0
    text = titled(text, date)
    for place, blocks in reversed(_by_place(text, new)):
        text = inserted(text, "".join(blocks), place)
    return text, len(new)


def _by_place(text: str, new: list[tuple[str, str]]) -> list[tuple[int | None, list[str]]]:
    """The blocks of (heading, block) by where they go in a day, in the order of these places; None is its
    end, where those come last whose heading is no time of the day.
    """
    timed = [section for section in parse(text) if _TIME.match(section.heading)]
    latest = list(itertools.accumulate((section.heading for section in timed), max))
    found: dict[int, list[tuple[bool, str, str]]] = {}
    for heading, block in new:
        is_odd = not _TIME.match(heading)
        gap = len(timed) if is_odd else bisect.bisect_right(latest, heading)
        found.setdefault(gap, []).append((is_odd, "" if is_odd else heading, block))
    return [
        (
            timed[gap].start if gap < len(timed) else None,
            [block for _, _, block in sorted(found[gap], key=lambda each: each[:2])],
        )
        for gap in sorted(found)
    ]


def _event(text: str, section: Section) -> tuple[str, str, Provenance]:
    return section.heading, *read_body(text, section)


def without_sources(text: str, sources: Container[str]) -> str:
    """`text` less the blocks that have one of these sources."""
    gone = [section for section in parse(text) if (read_body(text, section)[1].source_conv or "") in sources]
    return without(text, gone) if gone else text


def newer(ours: bytes | None, theirs: bytes, base: Collection[str]) -> bytes | None:
    """Which of two files is to be: None for ours as it is. ValueError where both changed since they were last
    seen, with one of the hashes `base`.
    """
    if ours == theirs or (ours is not None and digest(theirs) in base):
        return None
    if ours is None or digest(ours) in base:
        return theirs
    raise ValueError("both changed")


def was_rewritten(ours: str, theirs: str, title: str) -> bool:
    """True where `theirs` is a file as wikimem writes it and `ours` is not: what ours holds beside its items
    was lost on that way, and nobody took it out.
    """
    return _is_canonical(theirs, title) and not _is_canonical(ours, title)


def _is_canonical(text: str, title: str) -> bool:
    return render_file(title, (_event(text, section) for section in parse(text))) == text


def missing_lines(have: bytes, offered: bytes) -> list[bytes]:
    """The lines of the journal `offered` that `have` lacks, in their order; of equal lines as many as it has
    less. What is no JSON object is no line, nor is what an export told.
    """
    counts = Counter(have.split(b"\n"))
    found = []
    for raw in offered.split(b"\n"):
        if counts[raw]:
            counts[raw] -= 1
        elif _is_line(raw):
            found.append(raw)
    return found


def _is_line(raw: bytes) -> bool:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and line.get("detail") != EXPORT_DETAIL
