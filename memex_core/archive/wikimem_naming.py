"""Which item a page becomes (formats page 3.3): its file by its type, its name by its title; the same ones as
before, where it was an item before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memex_core import paths
from memex_core.archive.wikimem_items import (
    Key,
    PageLinks,
    content_of,
    item_hash,
    items_of,
    name_for,
    provenance_of,
    type_of_file,
)
from memex_core.archive.wikimem_merge import Wanted
from memex_core.archive.wikimem_records import Record
from memex_core.archive.wikimem_shared import OwnPart
from memex_core.errors import InvalidName
from memex_core.model.item import checked_name, origin_of
from memex_core.model.node import WikiNode
from memex_core.text.blocks import Provenance


@dataclass(slots=True)
class Named:
    """A page and its item. `record` is how the two were last seen; `escaped`: its content has backslashes."""

    page: WikiNode
    key: str
    file: str
    name: str
    record: Record | None = None
    escaped: bool = False
    wanted: Wanted = field(default_factory=lambda: Wanted("", "", Provenance()))

    @property
    def item(self) -> Key:
        return self.file, self.name


@dataclass(slots=True)
class Naming:
    """`pages` by their keys; `records` what is known of items, of one once or twice; `types` the page type of
    RecallFiles that do not say so by name; `blocked` those that pages cannot stand in; `own` the parts that
    the memory's own RecallFiles have in theirs; `moved` items that go back to another file; `read` gives the
    text that a RecallFile begins with, None for one that cannot be used.
    """

    pages: Mapping[str, WikiNode]
    records: Collection[Record]
    types: dict[str, str]
    blocked: Collection[str]
    own: Mapping[str, OwnPart]
    moved: Collection[Key]
    read: Callable[[str], str | None]
    named: list[Named] = field(default_factory=list)
    base: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    _texts: dict[str, str | None] = field(default_factory=dict)
    _there: dict[str, dict[str, str]] = field(default_factory=dict)
    _taken: dict[str, set[str]] = field(default_factory=dict)
    _owned: dict[str, set[str]] = field(default_factory=dict)

    def name_all(self) -> None:
        """Give every page its item, and every own item a name beside them: pages that were items before
        first, then own items, then the others.
        """
        for record in self.records:
            names = self.base.setdefault(record.file, {})
            names.setdefault(record.name, set()).add(record.sha256)
        for file, part in self.own.items():
            names = self.base.setdefault(file, {})
            for place, hashes in part.base.items():
                names.setdefault(place, set()).update(hashes)
        recorded = self._recorded()
        for key, record in recorded.items():
            self._named_before(key, record)
        for part in self.own.values():
            self._name_own(part)
        for key in sorted(self.pages.keys() - recorded.keys(), key=lambda key: _order(self.pages[key])):
            self._named_anew(key)
        self.named.sort(key=lambda each: _order(each.page))
        self._want()

    def gone(self, file: str, named: Iterable[Named]) -> set[str]:
        """The names of a file that were items of pages or own ones, and are no longer."""
        now = {name for each in named for name in (each.name, each.wanted.place)}
        if file in self.own:
            now.update(self.own[file].places.values())
        return set(self.base.get(file, {})) - now

    def text(self, file: str) -> str | None:
        """The text that a RecallFile begins with."""
        if file not in self._texts:
            text = self._texts[file] = self.read(file)
            there = {item.name: item_hash(item.name, item.content) for item in items_of(file, text or "")}
            pages = self.pages
            gone = {each.name for each in self.records if each.file == file and each.page not in pages}
            base = self.base.get(file, {})
            self._there[file] = there
            self._taken[file] = {name for name in there if name not in gone or there[name] not in base[name]}
            self._owned[file] = set(self.own[file].places.values()) if file in self.own else set()
            self._taken[file] |= self._owned[file]
        return self._texts[file]

    def _recorded(self) -> dict[str, Record]:
        """The record that counts of each page: that of an item that stands there as it was seen, if any."""
        found: dict[str, tuple[int, Record]] = {}
        for record in self.records:
            page = self.pages.get(record.page)
            if page is None or (record.file, record.name) in self.moved:
                continue
            if not self._fits(record.file, page) or record.name in self._owned[record.file]:
                continue
            there = self._there.get(record.file, {}).get(record.name)
            rank = 0 if there == record.sha256 else 1 if there is not None else 2
            if record.page not in found or rank < found[record.page][0]:
                found[record.page] = rank, record
        return {key: record for key, (_, record) in found.items()}

    def _fits(self, file: str, page: WikiNode) -> bool:
        """False for the file of another page type, or one that cannot be used."""
        return (
            file not in self.blocked and self._type(file) in (None, page.type) and self.text(file) is not None
        )

    def _type(self, file: str) -> str | None:
        return self.types.get(file) or type_of_file(file)

    def _named_before(self, key: str, record: Record) -> None:
        page = self.pages[key]
        taken = self._taken[record.file]
        may_stay = record.name in self._there[record.file] or _is_name(record.name)
        name = record.name if may_stay and page.title == record.title else name_for(page.title, taken)
        taken.add(name)
        self.named.append(Named(page, key, record.file, name, record))

    def _name_own(self, part: OwnPart) -> None:
        """A name for each own item: the one that it has there, else its own, where that is free."""
        if self.text(part.file) is None:
            return
        taken, there = self._taken[part.file], self._there[part.file]
        of_pages = {each.name for each in self.named if each.file == part.file}
        for name in [name for name in part.items if name not in part.places]:
            is_there = there.get(name) == item_hash(name, part.items[name].content) and name not in of_pages
            place = name if is_there or name not in taken else name_for(name, taken)
            taken.add(place)
            part.places[name] = place

    def _named_anew(self, key: str) -> None:
        page = self.pages[key]
        origin = origin_of(page)
        file = origin.get("file", "")
        if not (file in self._texts or _is_file(file)) or not self._fits(file, page):
            file = self._file_of_type(page)
        taken = self._taken[file]
        name = origin.get("name", "")
        if name in taken or not _is_name(name):
            name = name_for(page.title, taken)
        taken.add(name)
        self.named.append(Named(page, key, file, name))

    def _file_of_type(self, page: WikiNode) -> str:
        """The RecallFile of the page's type; where that name is not free, one beside it."""
        known = [page.type, *sorted(file for file, kind in self.types.items() if kind == page.type)]
        for file in known:
            if self._fits(file, page):
                return file
        free = (file for file in numbered_files(page.type) if file not in self.blocked)
        file = next(file for file in free if self.text(file) == "")
        self.types[file] = page.type
        return file

    def _want(self) -> None:
        """What each item is to be, now that every link can be written."""
        links = PageLinks.of(self.pages.values())
        item_of = {id(each.page): each.item for each in self.named}
        items = set(item_of.values())

        def find(key: str, source_type: str) -> Key | None:
            page = links.find(key, source_type)
            return None if page is None else item_of[id(page)]

        for each in self.named:
            content, each.escaped = content_of(each.page, find, items.__contains__)
            said, record = provenance_of(each.page), each.record
            same = record is not None and record.name == each.name and _is_same(each, record, content, said)
            if not same and not each.name:  # wikimem reads a heading without a name, but none that we write
                each.name = name_for(each.page.title, self._taken[each.file])
            instead = record.name if record is not None and record.name != each.name else None
            each.wanted = Wanted(each.name, content, said, same, instead)


def _is_same(named: Named, record: Record, content: str, said: Provenance) -> bool:
    """True where nothing of the page has changed since it was last seen."""
    if record.taken and named.page.content_hash == record.body_sha256:
        return True
    return item_hash(named.name, content) == record.sha256 and list(said) == record.said


def numbered_files(file: str) -> Iterable[str]:
    return (f"{file}-{number}" for number in range(2, 1000))


def _order(page: WikiNode) -> tuple[str, int, str, str]:
    """Pages that were items keep the order that those had; the others follow by name."""
    origin = origin_of(page)
    order = origin.get("order", "")
    return origin.get("file", ""), int(order[:9]) if order.isdecimal() else 0, page.type, page.slug


def _is_file(file: str) -> bool:
    try:
        return bool(paths.recallfile_path(Path(), file))
    except InvalidName:
        return False


def _is_name(name: str) -> bool:
    try:
        return checked_name(name) == name
    except ValueError:
        return False
