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
from memex_core.archive.wikimem_whole_files import WholeFiles
from memex_core.errors import NotFound, Refused
from memex_core.files.walk import is_inside
from memex_core.model.item import RecallItem
from memex_core.model.node import WikiNode
from memex_core.text.redact import redact
from memex_core.text.slug import SlugAlgo


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
        self._files: dict[str, FileRecord] = {}
        self._raw: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._journal: bytes | None = None

    def run(self, on_conflict: str) -> WikimemImportReport:
        """Raises NotFound, Refused for what cannot be imported, ValueError for another `on_conflict`."""
        self._check()
        self._known = self._origin.records()
        hint = "delete it to import the directory like any other of wikimem"
        self._side = load_records(self._there.path / SIDE_FILE, hint) or Records()
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
        return self._report

    def _check(self) -> None:
        path = self._there.path
        if not path.is_dir():
            raise NotFound("directory", str(path), hint="give the directory that holds wiki/ and diary/")
        if is_inside(path, self._root):
            raise Refused(
                f"{path} is this memory itself, or a part of it",
                hint="a memory serves the wiki/ and diary/ in its root as they are",
            )
        if not any((path / name).is_dir() for name in FOLDERS):
            raise NotFound("wiki/ or diary/ in", str(path), hint="give the directory that holds them")

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
                self._files[name] = FileRecord(digest(text.encode()), "recallfile")
        else:
            self._files[name] = FileRecord(self._origin.keep(kept), type=seen.type if seen else "")
            self._other(name, file, data, kept)

    def _other(self, name: str, file: str | None, data: bytes, kept: bytes) -> None:
        text = text_of(kept)
        if text is None and (file is not None or day_of(name)):
            self._report.problems.append((name, "is not UTF-8; it is kept as it is"))
        elif text is None or file is None:
            self._report.kept.append(name)
        else:
            self._files[name].kind = "pages"
            self._raw[file], self._texts[file] = data.decode(), text

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
            [*self._side.items, *self._known.items],
            pages,
            self._docs,
            types,
            self._slug_algo,
        )
        clean = redact if self._redacting else str
        items = [
            (item, cleaned(item, clean), order)
            for file, text in sorted(self._raw.items())
            for order, item in enumerate(items_of(file, text))
        ]
        matches, gone = matching.match(items)
        self._report.missing += [f"{record.file}:{record.name}" for record in gone]
        taking = ItemPages(self._exchange, self._now, on_conflict, self._report, self._forgotten.sessions)
        taking.take(matches, gone, matching)
        self._cut_forgotten(matches)
        return matches, gone

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
        noted: dict[str, Record] = {}
        for match in matches:
            file, here = match.item.file, by_key.get(match.records[0].page) if match.records else None
            page = (here if match.page else None) or by_place.get(match.place)
            item = stored.get((file, match.item.name)) or stored.get((file, match.clean.name))
            record = _record(match, item, page, key_of[id(page)]) if item and page else None
            if record is not None:
                noted.setdefault(record.page, record)
        for record in (*self._known.items, *gone):
            if record.page in by_key:
                noted.setdefault(record.page, replace(record, node={}))
        if self._files or noted:
            items = sorted(noted.values(), key=lambda record: (record.file, record.name))
            self._origin.save(Records(self._known.files | self._files, items))

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
