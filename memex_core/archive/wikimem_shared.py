"""RecallFiles in which a memory's own items stand beside those of its pages: it has a RecallFile of the name
of one that was imported, or that its pages go to (formats page 3.3).

What was imported keeps names and bytes, and the memory's own items stand behind it, in their order. One whose
name stands for a page already has another name there, `<name> (2)`; the side file knows it by its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from memex_core.archive.wikimem_folder import text_of
from memex_core.archive.wikimem_items import item_hash, items_of
from memex_core.archive.wikimem_merge import Merged, Wanted
from memex_core.archive.wikimem_records import FileRecord, Records, digest
from memex_core.model.item import RecallItem
from memex_core.text.block_splice import without
from memex_core.text.blocks import Provenance, Section, item_name, parse

_COPY = re.compile(r"(.+)-[0-9]{1,3}\Z", re.DOTALL)


@dataclass(slots=True)
class OwnPart:
    """The memory's own RecallFile `text`; `seen` is how its items were last seen there, `taken` the hashes of
    what an import took from there. `places` says under which names they stand there, by their own.
    """

    file: str
    text: str
    seen: FileRecord
    taken: Mapping[str, str]
    items: dict[str, RecallItem] = field(init=False)
    places: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.items = {item.name: item for item in items_of(self.file, self.text)}
        names = {self.seen.names.get(place, place): place for place in self.seen.items}
        self.places = {name: place for name, place in names.items() if name in self.items}

    @property
    def base(self) -> dict[str, set[str]]:
        """The hashes by which its items were last seen, by their names there."""
        base: dict[str, set[str]] = {}
        for hashes in (self.seen.items, self.taken):
            for place, sha256 in hashes.items():
                base.setdefault(place, set()).add(sha256)
        return base

    def wanted(self) -> list[Wanted]:
        """What its items should be there, each as it is written here."""
        before, now = _blocks(self.seen.own), _blocks(self.text)
        is_same = digest(self.text.encode()) == self.seen.sha256
        found = []
        for name, item in self.items.items():
            place = self.places[name]
            same = is_same or (
                before.get(name) == now[name] and item_hash(place, item.content) == self.seen.items.get(place)
            )
            found.append(Wanted(place, item.content, said_of(item), same, block=_named(now[name], place)))
        return found

    def record(self, kind: str, merged: Merged) -> FileRecord:
        """How the file is seen from now on. Where both had changed an item, how it was seen before."""
        items = {place: item_hash(place, self.items[name].content) for name, place in self.places.items()}
        items |= {place: self.seen.items[place] for place in merged.kept if place in self.seen.items}
        names = {place: name for name, place in self.places.items() if place != name}
        names |= {place: self.seen.names[place] for place in merged.kept if place in self.seen.names}
        return FileRecord("", "pages", kind, items, names, self.text)


def _blocks(text: str) -> dict[str, str]:
    """The blocks of the items of a RecallFile as they are written, by name, with LF only and one empty line
    behind each.
    """
    latest = {item_name(section.heading): section for section in parse(text)}
    return {name: _block(text, section) for name, section in latest.items()}


def _block(text: str, section: Section) -> str:
    return text[section.start : section.end].replace("\r\n", "\n").rstrip("\r\n") + "\n\n"


def _named(block: str, name: str) -> str:
    section = parse(block)[0]
    return block if item_name(section.heading) == name else f"## {name}{block[section.body :]}"


def said_of(item: RecallItem) -> Provenance:
    return Provenance(item.owner, item.source_conv, item.ts)


def without_items(text: str, names: Collection[str]) -> str:
    """The text of a RecallFile less the items of these names; it ends as it did before they were added."""
    gone = [section for section in parse(text) if item_name(section.heading) in names]
    if not gone:
        return text
    rest = without(text, gone)
    end = "\r\n" if "\r\n" in text else "\n"
    return rest.rstrip("\r\n") + end if gone[-1].end == len(text) and rest else rest


def is_named_as_copy(file: str) -> bool:
    return _COPY.match(file) is not None


def copied_from(file: str, text: str) -> str | None:
    """The RecallFile that `file` is a copy of, as exports left them that moved pages beside a RecallFile of
    the memory: `<file>-<number>` under the title of the first. None for any other.
    """
    found = _COPY.match(file)
    if found is None:
        return None
    sections = parse(text)
    title = text[: sections[0].start] if sections else text
    return found[1] if title.strip() == f"# {found[1]}" else None


def is_copy(file: str, text: str, known: Records, raw: Callable[[str], bytes | None]) -> bool:
    """True for a RecallFile that says nothing of its own: a copy of one that was imported, whose items are
    those of the other, and none of them that of a page which is not there.
    """
    origin = copied_from(file, text)
    kept = known.files.get(f"wiki/{origin}.md")
    if kept is None or kept.kind != "pages":
        return False
    at_origin = {record.page for record in known.items if record.file == origin}
    if any(record.file == file and record.page not in at_origin for record in known.items):
        return False
    first = text_of(raw(f"wiki/{origin}.md") or b"") or ""
    there = {(item.name, item.content) for item in items_of(file, first)}
    return all((item.name, item.content) in there for item in items_of(file, text))
