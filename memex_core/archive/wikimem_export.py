"""From a memory into a directory that wikimem opens: pages become items, the memory's own RecallFiles and
days go as they are, what was imported raw comes out raw (formats page 3.3, 3.4).

A side file holds what the format cannot. What was edited there since the last export is never overwritten:
what only we changed is written, what both changed is left and told. Twice is once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.archive.page_node import node_of_file
from memex_core.archive.wikimem_folder import (
    FOLDERS,
    JOURNAL,
    WikimemFolder,
    day_of,
    recallfile_of,
    text_of,
)
from memex_core.archive.wikimem_items import item_hash, items_of, page_keys
from memex_core.archive.wikimem_merge import merge_events, newer
from memex_core.archive.wikimem_origin import WikimemOrigin
from memex_core.archive.wikimem_page_files import PageFiles
from memex_core.archive.wikimem_records import FileRecord, Records, digest
from memex_core.archive.wikimem_report import WikimemExportReport
from memex_core.archive.wikimem_target import ExportTarget
from memex_core.errors import Refused
from memex_core.files.lock import memory_lock
from memex_core.files.regular import read_regular
from memex_core.files.walk import walk_pages
from memex_core.model.node import WikiNode
from memex_core.model.page import read_page

_IN_NODE = ("slug", "type", "title", "created", "updated", "front_matter", "raw", "folder", "body")


class WikimemExport:
    """One export of the memory at `root` into the directory `folder`."""

    def __init__(self, root: Path, folder: Path, now: Callable[[], str]) -> None:
        self._root = root
        self._now = now
        self._report = WikimemExportReport()
        self._here = WikimemFolder(root)
        self._target = ExportTarget(folder, self._report)
        self._origin = WikimemOrigin(root)
        self._known = Records()
        self._own: dict[str, bytes | None] = {}

    def run(self) -> WikimemExportReport:
        """Raises Refused for a directory that may not be written to, LockTimeout, OSError."""
        self._target.check(self._root)
        self._known = self._origin.records()
        with memory_lock(self._target.path):
            self._target.check(self._root)
            self._require_all_known()
            self._own_files()
            self._raw_files()
            pages, nodes = self._pages()
            files = PageFiles(self._target, self._known, self._raw, nodes, self._own)
            self._report.items = files.plan(pages)
            self._whole_files(files.planned)
            self._leftovers()
            ours = self._here.read(JOURNAL) or b""
            self._target.finish(self._raw(JOURNAL), ours, self._now())
        return self._report

    def _require_all_known(self) -> None:
        """What another memory put there, or what cannot be read here, must not be taken for gone. Raises
        Refused.
        """
        side = self._target.side
        if side.directory and not self._origin.knows(side.directory):
            raise Refused(
                f"{self._target.path} is the export of another memory, which this one would take away",
                hint="memex import --from wikimem takes it first; or give a directory of its own",
            )
        docs = paths.docs_dir(self._root)
        folders = [docs, *(docs / name for name in paths.TYPE_OF_FOLDER)]
        folders += [paths.wiki_dir(self._root), paths.diary_dir(self._root)]
        for folder in folders if side.files or side.items else ():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                try:
                    os.listdir(folder)
                except PermissionError as error:
                    raise _unreadable(folder, error) from None
        self._target.directory = side.directory or os.urandom(8).hex()
        try:
            self._origin.remember(self._target.directory)
        except OSError:  # a memory that cannot be written exports all the same
            self._target.directory = side.directory

    def _pages(self) -> tuple[dict[str, WikiNode], dict[str, dict[str, Any]]]:
        """Every page by its key, and what an item cannot hold of it."""
        docs = paths.docs_dir(self._root)
        pages, nodes = [], {}
        for relative, stamp in sorted(walk_pages(self._root)):
            path = self._root / relative
            try:
                data = read_regular(path, self._root)
            except FileNotFoundError:
                continue
            except OSError as error:
                if isinstance(error, PermissionError) and self._target.side.items:
                    raise _unreadable(path, error) from None
                self._report.problems.append((relative, f"cannot be read: {error.strerror}"))
                continue
            modified = stamp[1] / 1e9
            page = read_page(data, path, modified=modified)
            page.file_path = path
            node = node_of_file(data, path.relative_to(docs), modified)
            nodes[id(page)] = {name: node[name] for name in _IN_NODE if name in node}
            pages.append(page)
        keys = page_keys(pages, docs)
        return keys, {key: nodes[id(page)] for key, page in keys.items()}

    def _own_files(self) -> None:
        """The RecallFiles and days of the memory itself."""
        names, problems = self._here.names()
        self._report.problems += problems
        for name in names:
            file = recallfile_of(name)
            with self._target.costing(name):
                if file:
                    self._own[file] = None
                data = self._here.read(name) if file or day_of(name) else None
                if file:
                    self._own[file] = data
                elif data is not None:
                    self._whole(name, data, "day")

    def _whole_files(self, planned: Collection[str]) -> None:
        """The memory's own RecallFiles that no items of pages stand in."""
        for file, data in self._own.items():
            name = f"wiki/{file}.md"
            with self._target.costing(name):
                if data is not None and file not in planned:
                    self._whole(name, data, "recallfile")

    def _raw_files(self) -> None:
        """What an import kept raw, and is not made of pages."""
        for name, kept in self._known.files.items():
            if kept.kind != "raw" or name.split("/")[0] not in FOLDERS or name in self._target.files:
                continue
            if recallfile_of(name) in self._own:
                self._report.problems.append(
                    (name, "was imported and is not UTF-8; a RecallFile has its name")
                )
                continue
            with self._target.costing(name):
                data = self._raw(name)
                if data is not None:
                    self._whole(name, data, "raw")

    def _raw(self, name: str) -> bytes | None:
        kept = self._known.files.get(name)
        data = self._origin.raw(kept.sha256) if kept else None
        if kept and data is None:
            self._report.problems.append((name, "has lost its raw form; it is written anew"))
        return data

    def _whole(self, name: str, data: bytes, kind: str) -> None:
        """A file that goes as it is, unless it changed there."""
        seen, theirs, text = self._target.side.files.get(name), self._target.read(name), text_of(data)
        items = items_of("", text) if kind == "recallfile" and text is not None else []
        hashes = {item.name: item_hash(item.name, item.content) for item in items}
        base = {seen.sha256} if seen else set()
        taken = self._known.files.get(name)
        if taken and taken.kind == kind == "recallfile":  # all that an import took from there is in ours
            base.add(taken.sha256)
        new = self._newer(name, theirs, data, base, kind)
        if new is not None or theirs == data:
            self._target.files[name] = FileRecord(digest(data), kind, items=hashes)
            self._target.put(name, theirs, theirs if new is None else new)
            if seen and theirs is None:
                self._report.again.append(name)
        elif seen:
            self._target.files[name] = seen

    def _newer(self, name: str, theirs: bytes | None, data: bytes, base: set[str], kind: str) -> bytes | None:
        """What the file there is to be, None for as it is. Two days that both changed become one with the
        events of both: events are only ever added.
        """
        with contextlib.suppress(ValueError):
            return newer(theirs, data, base)
        there, here = text_of(theirs or b""), text_of(data)
        if kind != "day" or there is None or here is None:
            self._report.conflicts.append(name)
            return None
        merged, added = merge_events(there, here, str(day_of(name)))
        return merged.encode() if added else None

    def _leftovers(self) -> None:
        """Files of an earlier export that the memory no longer has: deleted, unless they changed there."""
        for name, seen in self._target.side.files.items():
            if name in self._target.files or seen.kind == "pages":
                continue
            with self._target.costing(name):
                theirs = self._target.read(name)
                if theirs is not None and digest(theirs) == seen.sha256:
                    self._target.put(name, theirs, None)
                elif theirs is not None:
                    self._report.conflicts.append(name)
                    self._target.files[name] = seen


def _unreadable(path: Path, error: OSError) -> Refused:
    return Refused(
        f"{path} cannot be read ({error.strerror}); what it holds would be deleted there",
        hint="nothing was exported",
    )
