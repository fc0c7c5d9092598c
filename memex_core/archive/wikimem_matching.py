"""Which item of a wikimem directory is which page (formats page 3.4): by what was recorded, by what a page
says of itself, by title and words; and what has become of each since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from memex_core.archive.wikimem_items import (
    Key,
    item_hash,
    page_keys,
    text_hash,
    type_of_file,
)
from memex_core.archive.wikimem_records import Record
from memex_core.model.item import RecallItem, origin_of
from memex_core.model.node import WikiNode
from memex_core.paths import FOLDER_OF_TYPE
from memex_core.text.blocks import item_name, normalized
from memex_core.text.clean import clean_text
from memex_core.text.slug import SlugAlgo, fold, numbered, slugify, title_key

Fate = Literal["same", "restore", "edit", "rename", "new"]


@dataclass(slots=True)
class Match:
    """One item. `item` as it stands in the directory; `clean` without secrets and control characters.

    `fate`: "same": nothing is new about it; "restore": it is as we exported it, and its page is not here;
    "edit": its words may be new to the page; "rename": its name is; "new": it has no page. `type` and `slug`
    are those of the page it has or is to have, `body` what is to be in it. `records` are what is known of
    the item: the first counts, each says how the page was when it was last seen. `is_forgotten`: its page was
    deleted for good, and does not come back.
    """

    item: RecallItem
    clean: RecallItem
    order: int
    fate: Fate = "new"
    records: list[Record] = field(default_factory=list)
    page: WikiNode | None = None
    type: str = ""
    slug: str = ""
    body: str = ""
    is_forgotten: bool = False

    @property
    def place(self) -> str:
        """`<folder>/<slug>` of its page."""
        return f"{FOLDER_OF_TYPE.get(self.type, '')}/{self.slug}"

    @property
    def title(self) -> str:
        return self.clean.name or self.clean.file

    @property
    def record(self) -> Record | None:
        return self.records[0] if self.records else None

    @property
    def node(self) -> dict[str, Any]:
        """Its page as a directory that we exported holds it; {} where none does."""
        return next((record.node for record in self.records if record.node), {})

    @property
    def label(self) -> str:
        return f"{self.clean.file}:{self.clean.name}"


class Matching:
    """The items of one directory against the pages of one memory.

    `base` is what was recorded, of one item once or twice; `types` says of a file which page type its items
    are, where its name does not.
    """

    def __init__(
        self,
        base: Sequence[Record],
        pages: Sequence[WikiNode],
        docs: Path,
        types: Mapping[str, str],
        algo: SlugAlgo,
    ) -> None:
        self._records: dict[Key, list[Record]] = {}
        for record in base:
            self._records.setdefault((record.file, record.name), []).append(record)
        self._types = types
        self._algo = algo
        self._by_key = page_keys(pages, docs)
        self._key_of = {id(page): key for key, page in self._by_key.items()}
        self._claimed = {record.page for record in base}
        self._by_origin: dict[Key, WikiNode] = {}
        self._by_title: dict[tuple[str, str], list[WikiNode]] = {}
        for page in pages:
            origin = origin_of(page)
            if origin:
                self._by_origin.setdefault((origin.get("file", ""), origin.get("name", "")), page)
            else:
                self._by_title.setdefault((page.type, title_key(page.title)), []).append(page)
        self._slugs = {(page.type, fold(page.slug)) for page in pages}

    def match(self, items: Iterable[tuple[RecallItem, RecallItem, int]]) -> tuple[list[Match], list[Record]]:
        """Every item (as it stands, clean, its place) matched; and a record of each page without its item."""
        matches = [Match(*item) for item in items]
        left = dict(self._records)
        for name_of in (_name, _clean_name):
            for match in matches:
                records = [] if match.records else left.pop((match.item.file, name_of(match)), [])
                if records:
                    self._as_recorded(match, records)
        found = {record.page for match in matches for record in match.records[:1]}
        gone = {
            records[0].page: records[0]
            for records in left.values()
            if records[0].page in self._by_key and records[0].page not in found
        }
        unknown = [match for match in matches if not match.records]
        self._renamed(unknown, gone)
        for match in unknown:
            if not match.records:
                self._without_record(match, gone)
        for match in matches:
            self._place(match)
        return matches, list(gone.values())

    def page_of(self, record: Record) -> WikiNode:
        """The page of a record that `match` gave."""
        return self._by_key[record.page]

    def _as_recorded(self, match: Match, records: Sequence[Record]) -> None:
        hashes = {item_hash(each.name, each.content) for each in (match.item, match.clean)}
        known = sorted(records, key=lambda record: record.sha256 not in hashes)
        record = known[0]
        match.records = [each for each in known if each.page == record.page]
        match.page = self._by_key.get(record.page)
        if record.sha256 not in hashes:
            match.fate = "edit"
        elif match.page is not None:
            match.fate = "same"
        else:
            match.fate = "restore" if match.node else "new"

    def _renamed(self, unknown: Sequence[Match], gone: dict[str, Record]) -> None:
        """An item with the words of exactly one that is gone is that one under another name."""
        words = Counter(record.content_sha256 for record in gone.values())
        offered = Counter(text_hash(match.clean.content) for match in unknown)
        by_words = {record.content_sha256: record for record in gone.values()}
        for match in unknown:
            found = text_hash(match.clean.content)
            if match.clean.content and words[found] == 1 == offered[found]:
                match.records = [by_words[found]]
                match.page, match.fate = self._by_key[by_words[found].page], "rename"
                del gone[by_words[found].page]

    def _without_record(self, match: Match, gone: dict[str, Record]) -> None:
        page = self._by_origin.get((match.clean.file, match.clean.name))
        known = gone.pop(self._key_of[id(page)], None) if page is not None else None
        if page is not None and known is not None:  # it was another item of a directory since
            match.records, match.page, match.fate = [known], page, "edit"
            return
        if page is not None and self._claim(page):
            match.page, match.fate = page, "edit"
            return
        for page in self._by_title.get((self._type(match), title_key(match.title)), []):
            if normalized(page.body) == match.clean.content and self._claim(page):
                match.page, match.fate = page, "same"
                return

    def _claim(self, page: WikiNode) -> bool:
        key = self._key_of[id(page)]
        if key in self._claimed:
            return False
        self._claimed.add(key)
        return True

    def _type(self, match: Match) -> str:
        file = match.item.file
        return self._types.get(file) or type_of_file(file) or "entity"

    def _place(self, match: Match) -> None:
        if match.page is not None:
            match.type, match.slug = match.page.type, match.page.slug
        elif match.node:
            match.type, match.slug = str(match.node.get("type")), str(match.node.get("slug"))
        else:
            self.give_slug(match)

    def give_slug(self, match: Match) -> None:
        """A place of its own for the page of a new item: the slug of its title, with a part of the hash of
        its name where another page has that (formats page 3.3).
        """
        match.type = self._type(match)
        base = slugify(match.title, algo=self._algo)
        mark = text_hash(match.item.name)[:8]
        slug, number = base or mark, 1
        while (match.type, fold(slug)) in self._slugs:
            slug, number = numbered(_marked(base, mark), number), number + 1
        self._slugs.add((match.type, fold(slug)))
        match.slug = slug


def _name(match: Match) -> str:
    return match.item.name


def _clean_name(match: Match) -> str:
    return match.clean.name


def _marked(base: str, mark: str) -> str:
    head = base[:50]
    while len(head.encode()) > 180:
        head = head[:-1]
    return f"{head.strip('-')}-{mark}".strip("-")


def cleaned(item: RecallItem, redact: Callable[[str], str]) -> RecallItem:
    """The item as a page may hold it."""

    def clean(text: str) -> str:
        return clean_text(redact(text))

    def clean_field(value: str | None) -> str | None:
        return None if value is None else clean(value)

    return replace(
        item,
        name=item_name(clean(item.name)),
        content=clean(item.content),
        owner=clean_field(item.owner),
        source_conv=clean_field(item.source_conv),
        ts=clean_field(item.ts),
    )
