"""What a memory keeps of the wikimem directory that it imported last: `docs/.wikimem/` (formats page 3.3).

`records.json` says which page is which item, and beside it lies every raw file under its hash: preamble,
line ends, unknown keys, shadowed duplicates, files that cannot be read. So an export gives them back byte
for byte. The folder is part of docs/, so a backup holds it; no page walk looks into it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path

from memex_core.archive.wikimem_folder import JOURNAL, text_of
from memex_core.archive.wikimem_items import item_hash, items_of, page_keys
from memex_core.archive.wikimem_merge import merge_items
from memex_core.archive.wikimem_records import Records, digest, load_records, records_json
from memex_core.errors import Refused
from memex_core.files.atomic import append_line, remove_file, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.files.regular import read_regular
from memex_core.files.walk import is_inside
from memex_core.model.node import WikiNode
from memex_core.paths import docs_dir, imported_dir, journal_path

_RECORDS = "records.json"
_DIRECTORIES = "directories"
_DELETED = "(deleted)"


class WikimemOrigin:
    """The records and raw files of one memory root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = imported_dir(root)

    def records(self) -> Records:
        """What was imported; nothing where nothing was. Raises Refused for records that cannot be read."""
        hint = f"delete {self._folder}: pages stay, only the raw form of imported files is lost"
        if not is_inside(self._folder, self.root):
            raise Refused(
                f"{self._folder} leads outside the memory root", hint="replace the link by a folder"
            )
        return load_records(self._folder / _RECORDS, hint) or Records()

    def raw(self, sha256: str) -> bytes | None:
        """The raw file of that hash; None where it is not there, or is not what it was."""
        if not sha256.isalnum():
            return None
        try:
            data = read_regular(self._folder / sha256)
        except OSError:
            return None
        return data if digest(data) == sha256 else None

    def keep(self, data: bytes) -> str:
        """Keep a raw file; returns its hash."""
        sha256 = digest(data)
        if self.raw(sha256) is None:
            write_atomic(self._folder / sha256, data)
        return sha256

    def save(self, records: Records) -> None:
        """Make these the records, last of all, and drop raw files that none of them names."""
        data = records_json(records)
        with memory_lock(self.root):
            path = self._folder / _RECORDS
            if not path.exists() or path.read_bytes() != data:
                write_atomic(path, data)
            named = {_RECORDS, *(kept.sha256 for kept in records.files.values())}
            for name in os.listdir(self._folder):
                if name not in named and len(name) == 64:
                    with contextlib.suppress(FileNotFoundError):
                        remove_file(self._folder / name)

    def knows(self, directory: str) -> bool:
        """True for a directory that this memory exported to, or took all from."""
        try:
            return directory.encode() in read_regular(self._folder / _DIRECTORIES).split(b"\n")
        except OSError:
            return False

    def remember(self, directory: str) -> None:
        """From now on the memory `knows` the directory. Raises OSError."""
        if not self.knows(directory):
            append_line(self._folder / _DIRECTORIES, directory.encode())


def forget_imported(root: Path, pages: Collection[str]) -> None:
    """Take pages that were deleted for good out of what an import kept: raw files and journal lines.

    `pages` are ids, or "<folder>/<slug>" of pages without one. To be called after the deletion.
    """
    origin = WikimemOrigin(root)
    records = origin.records()
    gone = [record for record in records.items if record.page in pages]
    if not gone:
        return
    with memory_lock(root):
        for file in {record.file for record in gone}:
            _forget_items(origin, records, file, {record.name for record in gone if record.file == file})
        items = {(record.file, record.name) for record in gone}
        kept = records.files.get(JOURNAL)
        if kept is not None:
            kept.sha256 = origin.keep(without_names(origin.raw(kept.sha256) or b"", items))
        _forget_names(journal_path(root), items)
        records.items = [record for record in records.items if record.page not in pages]
        origin.save(records)


def forget_missing(root: Path, pages: Iterable[WikiNode]) -> None:
    """The same for all pages that were imported and are not among `pages`, which are all there are."""
    records = WikimemOrigin(root).records()
    if records.items:
        forget_imported(
            root, {record.page for record in records.items} - page_keys(pages, docs_dir(root)).keys()
        )


def _forget_items(origin: WikimemOrigin, records: Records, file: str, names: set[str]) -> None:
    name = f"wiki/{file}.md"
    kept = records.files.get(name)
    text = text_of(origin.raw(kept.sha256) or b"") if kept else None
    if kept is None or text is None:
        return
    base = {item.name: [item_hash(item.name, item.content)] for item in items_of(file, text)}
    rest = merge_items(text, file, base, [], names).text
    if rest:
        kept.sha256 = origin.keep(rest.encode())
    else:
        del records.files[name]


def _forget_names(path: Path, items: Collection[tuple[str, str]]) -> None:
    with contextlib.suppress(FileNotFoundError):
        before = path.read_bytes()
        after = without_names(before, items)
        if after != before:
            write_atomic(path, after)


def without_names(journal: bytes, items: Collection[tuple[str, str]]) -> bytes:
    """The lines of a journal without the names of these items, (file, name)."""
    if not items:
        return journal
    return b"\n".join(_without_name(raw, items) for raw in journal.split(b"\n"))


def _without_name(raw: bytes, items: Collection[tuple[str, str]]) -> bytes:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    if not isinstance(line, dict) or (line.get("file"), line.get("item")) not in items:
        return raw
    return json.dumps(line | {"item": _DELETED}, ensure_ascii=False).encode()
