"""From a wikimem directory into a memory: items become pages, days join the diary, the rest is kept raw
(formats page 3.3, 3.4).

A directory that we exported brings back the very pages, but for what was edited there since. Nothing is
deleted here because it is missing there. Twice is once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from memex_core import paths
from memex_core.archive.import_export import ImportExport
from memex_core.archive.wikimem_folder import (
    FOLDERS,
    JOURNAL,
    BadFile,
    WikimemFolder,
    day_of,
    real_day_of,
    recallfile_of,
    redacted,
    text_of,
)
from memex_core.archive.wikimem_items import (
    item_hash,
    items_of,
    page_keys,
    place_of,
    provenance_of,
    text_hash,
)
from memex_core.archive.wikimem_matching import Match, Matching, cleaned
from memex_core.archive.wikimem_merge import merge_items
from memex_core.archive.wikimem_origin import WikimemOrigin, without_names
from memex_core.archive.wikimem_pages import ItemPages
from memex_core.archive.wikimem_records import SIDE_FILE, FileRecord, Record, Records, digest, load_records
from memex_core.archive.wikimem_report import WikimemImportReport
from memex_core.archive.wikimem_shared import copied_from, is_copy, is_named_as_copy, without_items
from memex_core.archive.wikimem_whole_files import WholeFiles
from memex_core.errors import NotFound, Refused
from memex_core.files.walk import is_inside
from memex_core.model.item import RecallItem
from memex_core.model.node import WikiNode
from memex_core.text.redact import redact
from memex_core.text.slug import SlugAlgo

_NOT_UTF8 = "is not UTF-8, so its items are no pages; it is kept as it is (make it UTF-8 and import again)"


def check_importable(path: Path, root: Path) -> None:
    """Raises NotFound, Refused for what cannot be imported into the memory at `root`."""
    if not path.is_dir():
        raise NotFound("directory", str(path), hint="give the directory that holds wiki/ and diary/")
    if is_inside(path, root):
        raise Refused(
            f"{path} is this memory itself, or a part of it",
            hint="a memory serves the wiki/ and diary/ in its root as they are",
        )
    if not any((path / name).is_dir() for name in FOLDERS):
        raise NotFound("wiki/ or diary/ in", str(path), hint="give the directory that holds them")


class WikimemImport:
    """One import of the directory `folder` into the memory of `exchange`; `redacting`: without secrets."""

    def __init__(
        self,
        exchange: ImportExport,
        folder: Path,
        now: Callable[[], str],
        *,
        redacting: bool = True,
        slug_algo: SlugAlgo = "kebab",
    ) -> None:
        self._exchange = exchange
        self._root = exchange.store.root
        self._docs = paths.docs_dir(self._root)
        self._now = now
        self._redacting = redacting
        self._slug_algo = slug_algo
        self._there = WikimemFolder(folder)
        self._report = WikimemImportReport()
        self._origin = WikimemOrigin(self._root)
        self._forgotten = exchange.forgotten()
        self._whole = WholeFiles(self._root, self._report, self._forgotten.sessions)
        self._known = Records()
        self._side = Records()
        self._is_plain = True
        self._files: dict[str, FileRecord] = {}
        self._raw: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._journal: bytes | None = None

    def run(self, on_conflict: str) -> WikimemImportReport:
        """Raises Refused for records that cannot be read, ValueError for another `on_conflict`."""
        self._known = self._origin.records()
        hint = "delete it to import the directory like any other of wikimem"
        side = load_records(self._there.path / SIDE_FILE, hint)
        self._is_plain, self._side = side is None, side or Records()
        names, self._report.problems = self._there.names()
        for name in names:
            try:
                self._file(name, on_conflict)
            except BadFile as error:
                self._report.problems.append((name, error.reason))
        pages = self._exchange.store.list()
        matches, gone = self._pages(pages, on_conflict)
        self._take_journal(matches)
        self._records(self._exchange.store.list() if self._report.pages.imported else pages, matches, gone)
        if self._side.directory and not self._report.problems:
            self._origin.remember(self._side.directory)
        return self._report

    def _file(self, name: str, on_conflict: str) -> None:
        data = self._there.read(name)
        if data is None:
            return
        seen, file, day = self._side.files.get(name), recallfile_of(name), real_day_of(name)
        is_ours = seen is not None and seen.sha256 == digest(data)
        kept = data if is_ours else self._redacted(name, data, told=seen is None)
        text = text_of(kept)
        if name == JOURNAL:
            self._journal = kept
        elif text is not None and day is not None:
            theirs = self._whole.take_day(name, day, text, self._seen(name))
            self._files[name] = FileRecord(digest(theirs), "day")
        elif text is not None and file is not None and seen and seen.kind == "recallfile":
            if self._whole.take_recallfile(name, file, text, seen, overwriting=on_conflict == "update"):
                self._files[name] = self._taken_whole(name, file, text)
        elif text is not None and file is not None and seen and seen.items:
            self._shared(name, file, data.decode(), seen, overwriting=on_conflict == "update")
        else:
            taken = self._known.files.get(name, FileRecord("")).items
            self._files[name] = FileRecord(
                self._origin.keep(kept), type=seen.type if seen else "", items=taken
            )
            self._other(name, file, data, kept)

    def _taken_whole(self, name: str, file: str, text: str) -> FileRecord:
        """What is known of a RecallFile that a memory exported as its own: beside what pages were made of."""
        known = self._known.files.get(name)
        if known is None or known.kind != "pages":
            return FileRecord(digest(text.encode()), "recallfile")
        hashes = {item.name: item_hash(item.name, item.content) for item in items_of(file, text)}
        return replace(known, items=known.items | hashes)

    def _shared(self, name: str, file: str, text: str, seen: FileRecord, *, overwriting: bool) -> None:
        """A file in which items of a memory's own stand beside those of pages: each part to its place."""
        known = self._known.files.get(name, FileRecord(""))
        taken = self._whole.take_own_items(
            name, file, text, seen, known.items, self._clean, overwriting=overwriting
        )
        rest = without_items(text, seen.items).encode()
        kept, before = self._redacted(name, rest, told=False), self._origin.raw(known.sha256)
        if before is not None and before.rstrip(b"\r\n") == kept.rstrip(b"\r\n"):
            kept = before
        self._files[name] = FileRecord(self._origin.keep(kept), type=seen.type, items=taken)
        self._other(name, file, rest, kept)

    def _clean(self, item: RecallItem) -> RecallItem:
        return cleaned(item, redact if self._redacting else str)

    def _other(self, name: str, file: str | None, data: bytes, kept: bytes) -> None:
        text = text_of(kept)
        if text is None and (file is not None or day_of(name)):
            self._report.problems.append((name, _NOT_UTF8))
        elif text is None or file is None:
            self._report.kept.append(name)
        elif self._is_left_over(file, text):
            del self._files[name]
        else:
            self._files[name].kind = "pages"
            self._raw[file], self._texts[file] = data.decode(), text

    def _is_left_over(self, file: str, text: str) -> bool:
        """True for a copy that an older export left in its directory and did not take for one of pages."""
        if self._is_plain or any(record.file == file for record in self._side.items):
            return False
        return is_copy(file, text, self._known, self._known_raw)

    def _is_at_home(self, record: Record) -> bool:
        """True for an item of such a copy that is known where it was imported from."""
        home = copied_from(record.file, self._raw[record.file])
        return home is not None and any(
            (known.file, known.name, known.page, known.sha256)
            == (home, record.name, record.page, record.sha256)
            for known in self._known.items
        )

    def _known_raw(self, name: str) -> bytes | None:
        kept = self._known.files.get(name)
        return self._origin.raw(kept.sha256) if kept else None

    def _redacted(self, name: str, data: bytes, *, told: bool) -> bytes:
        kept = redacted(data) if self._redacting else data
        if kept is not data and told:
            self._report.redacted.append(name)
        return kept

    def _seen(self, name: str) -> set[str]:
        """The hashes of a file as it was last seen, on the way here or there."""
        return {kept.files[name].sha256 for kept in (self._side, self._known) if name in kept.files}

    def _pages(self, pages: list[WikiNode], on_conflict: str) -> tuple[list[Match], list[Record]]:
        types = {
            file: kept.type
            for name, kept in self._side.files.items()
            if kept.type in paths.NODE_TYPES and (file := recallfile_of(name))
        }
        matching = Matching(
            self._base(),
            pages,
            self._docs,
            types,
            self._slug_algo,
        )
        items = [
            (item, self._clean(item), order)
            for file, text in sorted(self._raw.items())
            for order, item in enumerate(items_of(file, text))
        ]
        matches, gone = matching.match(items)
        self._report.missing += [f"{record.file}:{record.name}" for record in gone]
        taking = ItemPages(
            self._exchange,
            self._now,
            on_conflict,
            self._report,
            self._forgotten.sessions,
            is_plain=self._is_plain,
        )
        taking.take(matches, gone, matching)
        self._cut_forgotten(matches)
        return matches, gone

    def _base(self) -> list[Record]:
        """What is known of items. What a memory exported and what it imported from elsewhere may stand at
        different versions: of each item, what was seen in a directory like this one counts.
        """
        alike = [*self._side.items, *(each for each in self._known.items if each.plain == self._is_plain)]
        names = {(record.file, record.name) for record in alike}
        others = (each for each in self._known.items if each.plain != self._is_plain)
        return [*alike, *(each for each in others if (each.file, each.name) not in names)]

    def _take_journal(self, matches: list[Match]) -> None:
        """Their lines behind ours, without the names of what was deleted here for good."""
        forgotten = {(match.clean.file, match.clean.name) for match in matches if match.is_forgotten}
        if self._journal is not None:
            journal = without_names(self._journal, forgotten)
            self._files[JOURNAL] = FileRecord(self._origin.keep(journal))
            self._whole.take_journal(journal)

    def _records(self, pages: list[WikiNode], matches: list[Match], gone: list[Record]) -> None:
        """Note which page is which item now, for the next import and export."""
        by_key, by_place = page_keys(pages, self._docs), {place_of(page, self._docs): page for page in pages}
        key_of = {id(page): key for key, page in by_key.items()}
        stored = {
            (file, item.name): item for file, text in self._texts.items() for item in items_of(file, text)
        }
        noted: dict[tuple[str, bool], Record] = {}
        for match in matches:
            file, here = match.item.file, by_key.get(match.records[0].page) if match.records else None
            page = (here if match.page else None) or by_place.get(match.place)
            item = stored.get((file, match.item.name)) or stored.get((file, match.clean.name))
            record = _record(match, item, page, key_of[id(page)]) if item and page else None
            if record is not None and not self._is_at_home(record):
                noted.setdefault((record.page, self._is_plain), replace(record, plain=self._is_plain))
        for record in (*self._known.items, *gone):
            if record.page in by_key:
                noted.setdefault((record.page, record.plain), replace(record, node={}))
        if self._files or noted:
            items = sorted(noted.values(), key=lambda record: (record.file, record.name))
            self._origin.save(self._without_copies(Records(self._known.files | self._files, items)))

    def _without_copies(self, records: Records) -> Records:
        """Without the files that older exports left beside others."""

        def raw(name: str) -> bytes | None:
            kept = records.files.get(name)
            return self._origin.raw(kept.sha256) if kept else None

        copies = [
            name
            for name, kept in records.files.items()
            if kept.kind == "pages" and (file := recallfile_of(name)) and is_named_as_copy(file)
            if is_copy(file, text_of(raw(name) or b"") or "", records, raw)
        ]
        return Records(
            {name: kept for name, kept in records.files.items() if name not in copies}, records.items
        )

    def _cut_forgotten(self, matches: list[Match]) -> None:
        """What was deleted here for good is not kept raw either."""
        for file in {match.item.file for match in matches if match.is_forgotten}:
            names = {match.clean.name for match in matches if match.is_forgotten and match.item.file == file}
            text = self._texts[file]
            base = {item.name: {item_hash(item.name, item.content)} for item in items_of(file, text)}
            self._texts[file] = rest = merge_items(text, file, base, [], names).text
            name = f"wiki/{file}.md"
            if rest:
                self._files[name].sha256 = self._origin.keep(rest.encode())
            else:
                del self._files[name]
                self._known.files.pop(name, None)


def _record(match: Match, item: RecallItem, page: WikiNode, key: str) -> Record | None:
    """What is known of a match from now on; None where item and page still differ: what was known stays."""
    seen = replace(
        match.records[0] if match.records else Record("", "", "", "", "", ""),
        file=item.file,
        name=item.name,
        sha256=item_hash(item.name, item.content),
        content_sha256=text_hash(item.content),
        page=key,
        node={},
    )
    if match.fate == "same" and match.records:
        return seen
    if page.body != match.body or (match.fate == "rename" and page.title != match.title):
        return None
    return replace(
        seen,
        title=page.title,
        body_sha256=page.content_hash,
        taken=seen.taken if match.fate in ("restore", "rename") else True,
        said=list(provenance_of(page)),
    )
