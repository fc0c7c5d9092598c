"""All pages as one JSON document, and back (seed 000 §5.5; Utilities, ImportExport).

What a node of the document is, says `page_node.py`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Container
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol

from memex_core.archive.page_node import DescribedPage, described_page, node_of_file
from memex_core.errors import WikiStoreError, WrongValue
from memex_core.files.atomic import commit_staged, staged_file
from memex_core.files.lock import memory_lock
from memex_core.files.regular import NotRegular, open_regular, read_regular
from memex_core.files.walk import PAGE_SUFFIX, is_inside
from memex_core.model.node import WikiNode
from memex_core.model.page import changed_page, decode, read_page
from memex_core.model.results import ImportReport
from memex_core.paths import docs_dir
from memex_core.text import frontmatter
from memex_core.text.clean import clean_text
from memex_core.text.instant import to_iso
from memex_core.text.links import parse_links
from memex_core.text.slug import fold, numbered, title_key

VERSION = "1.0"
ON_CONFLICT = ("skip", "update", "rename")

_NOT_COMPARED = ("id", "type", "created", "updated", "access_count", "last_access")
_DISK_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE)
_MISSING = object()

Nodes = list[WikiNode]
Wrote = Callable[[Literal["add", "update"], str, str], None]
"""Told of a page that was written as a file: what was done, "<folder>/<slug>", title."""


class Pages(Protocol):
    """What is asked of the store."""

    root: Path

    def list(self, node_type: str | None = None) -> Nodes:
        """All pages, or those of one type, sorted by path."""

    def find(self, node_type: str, title: str) -> WikiNode | None:
        """The page of that type and title."""


class WrittenPage(Protocol):
    """What `put` gives: the page as it is now."""

    @property
    def node(self) -> WikiNode: ...


class Gone(Protocol):
    """What was deleted on purpose: sessions, and nodes as (session, turn, cue, digest of the title)."""

    @property
    def sessions(self) -> Container[str]: ...

    @property
    def nodes(self) -> AbstractSet[tuple[str, int, str, str]]: ...


class ImportExport:
    """Exports and imports the pages of one memory root.

    `put` writes one page and notes it in the journal; `wrote` notes one that was written here, as its file.
    """

    def __init__(
        self,
        store: Pages,
        put: Callable[[WikiNode], WrittenPage],
        forgotten: Callable[[], Gone],
        wrote: Wrote | None = None,
    ) -> None:
        self.store = store
        self.put = put
        self.forgotten = forgotten
        self.wrote = wrote
        self._docs = docs_dir(store.root)
        self._listed: dict[str, dict[str, str]] = {}

    def export_nodes(self, node_type: str | None = None) -> dict[str, Any]:
        """All pages, or those of one type, as the document of seed 000 §5.5, sorted by path.

        A file that cannot be read is named in `problems`, a key that is there only then. Raises ValueError
        for another type, WikiStoreError where the pages cannot be listed.
        """
        nodes, problems = [], []
        for page in self.store.list(node_type):
            path = page.file_path or self._docs
            place = path.relative_to(self._docs)
            try:
                with open_regular(path, self.store.root) as file:
                    nodes.append(node_of_file(file.read(), place, os.fstat(file.fileno()).st_mtime))
            except FileNotFoundError:
                continue
            except OSError as error:
                problems.append(f"docs/{place.as_posix()}: {error.strerror}")
        document: dict[str, Any] = {"version": VERSION, "exported_at": to_iso(time.time()), "nodes": nodes}
        return document | ({"problems": problems} if problems else {})

    def import_nodes(self, document: object, on_conflict: str = "skip") -> ImportReport:
        """Write the pages of a document, or of a list of nodes; each node has one outcome in the report.

        A page that is there already and says the same is not touched. One that differs is a conflict: "skip"
        leaves it, "update" replaces it (unless it cannot be read), "rename" puts the new one beside it. What
        was forgotten on purpose is skipped. Raises ValueError for what is no such document, WikiStoreError
        where the disk fails, LockTimeout.
        """
        if on_conflict not in ON_CONFLICT:
            raise WrongValue(f"on_conflict must be one of {', '.join(ON_CONFLICT)}, not {on_conflict!r}")
        nodes, report, gone = _nodes_of(document), ImportReport(), self.forgotten()
        self._listed.clear()
        for number, value in enumerate(nodes, 1):
            try:
                page = described_page(value)
                with memory_lock(self.store.root):
                    self._import(page, on_conflict, gone, report)
            except (ValueError, WikiStoreError, OSError) as error:
                cause = error.__cause__ if isinstance(error, WikiStoreError) else error
                if isinstance(cause, OSError) and cause.errno in _DISK_FAILS:
                    raise WikiStoreError(f"cannot import: {cause}", hint="check space and disk") from cause
                why = error.strerror if isinstance(error, OSError) else None
                report.refused.append((_label(value, number), why or str(error)))
        report.imported = len(report.created) + len(report.updated) + len(report.renamed)
        return report

    def _import(self, page: DescribedPage, on_conflict: str, gone: Gone, report: ImportReport) -> None:
        there = self._existing(page, page.node.slug)
        if there is not None and _says_the_same(page, there):
            report.unchanged.append(there.stem)
        elif _is_forgotten(page.node, gone):
            report.skipped.append(page.node.slug or page.node.title)
        elif there is None:
            report.created.append(self._add(page, page.node.slug))
        else:
            report.conflicts.append(there.stem)
            if on_conflict == "skip":
                report.skipped.append(there.stem)
            elif on_conflict == "update":
                report.updated.append(self._replace(page, there))
            else:
                self._add_beside(page, there, report)

    def _existing(self, page: DescribedPage, slug: str) -> Path | None:
        """The file that has the page's place, in whatever letter case; by title where there is no slug."""
        if not slug:
            titled = self.store.find(page.node.type, page.node.title)
            return None if titled is None else titled.file_path
        path = self._docs / page.folder / f"{slug}{PAGE_SUFFIX}"
        if not os.path.lexists(path):
            stem = self._stems(page.folder).get(fold(slug))
            if stem is None:
                return None
            path = path.with_name(f"{stem}{PAGE_SUFFIX}")
        if not is_inside(path, self.store.root):
            raise ValueError("what is there leads outside the memory root")
        return path

    def _stems(self, folder: str) -> dict[str, str]:
        """The pages in a folder by folded stem, listed once an import."""
        if folder not in self._listed:
            try:
                names = os.listdir(self._docs / folder)
            except FileNotFoundError:
                names = []
            stems = (name.removesuffix(PAGE_SUFFIX) for name in names if name.endswith(PAGE_SUFFIX))
            self._listed[folder] = {fold(stem): stem for stem in stems}
        return self._listed[folder]

    def _add(self, page: DescribedPage, slug: str) -> str:
        if page.data is None:
            slug = self.put(replace(page.node, slug=slug, extra=page.extra)).node.slug
        else:
            self._save(page, page.data, self._docs / page.folder / f"{slug}{PAGE_SUFFIX}", "add")
        self._stems(page.folder)[fold(slug)] = slug
        return slug

    def _add_beside(self, page: DescribedPage, there: Path, report: ImportReport) -> None:
        """Under the first free number, unless an earlier import put the same page there."""
        number = 2
        while (other := self._existing(page, numbered(there.stem, number))) is not None:
            if _says_the_same(page, other):
                report.unchanged.append(other.stem)
                return
            number += 1
        report.renamed.append(self._add(page, numbered(there.stem, number)))

    def _replace(self, page: DescribedPage, there: Path) -> str:
        old = read_regular(there, self.store.root)
        problem = _unreadable(old)
        if problem:
            raise ValueError(f"the page there cannot be read ({problem}), so it is not replaced")
        if page.data is not None:
            self._save(page, page.data, there, "update")
            return there.stem
        before = read_page(old, there, modified=there.stat().st_mtime)
        merged = _merged(page, before)
        learned = {k: v for k, v in page.extra.items() if merged.extra[k] != before.extra.get(k, _MISSING)}
        self.put(replace(merged, extra=learned, file_path=there))
        return there.stem

    def _save(self, page: DescribedPage, data: bytes, path: Path, action: Literal["add", "update"]) -> None:
        if not (is_inside(path.parent, self._docs) and is_inside(self._docs, self.store.root)):
            raise ValueError(f"the folder {page.folder!r} leads outside the memory root")
        with staged_file(path.parent) as (file, temp):
            file.write(data)
            if page.modified is not None:
                file.flush()
                os.utime(temp, (page.modified, page.modified))
            commit_staged(file, temp, path)
        if self.wrote is not None:
            self.wrote(action, PurePosixPath(page.folder, path.stem).as_posix(), page.node.title)


def _nodes_of(document: object) -> list[Any]:
    if isinstance(document, list):
        return document
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(nodes, list):
        raise WrongValue('no export: {"version": "1.0", "nodes": [...]} or a list of nodes is expected')
    version = document.get("version", VERSION)
    if not isinstance(version, (str, int, float)) or str(version) != VERSION:
        said = repr(version)[:40] if isinstance(version, (str, int, float)) else type(version).__name__
        raise WrongValue(f"an export of version {said} cannot be read, only {VERSION}")
    return nodes


def _says_the_same(page: DescribedPage, there: Path) -> bool:
    """True where the page there has nothing to learn: access counts that went on are no difference."""
    try:
        old = read_regular(there)
    except (FileNotFoundError, NotRegular):
        return False
    before = read_page(old, there, modified=0.0)
    if page.data is None:
        return _merged(page, before) == before
    if old == page.data or _unreadable(old):
        return old == page.data
    counted = replace(before, access_count=page.node.access_count, last_access=page.node.last_access)
    try:
        return changed_page(decode(old)[0], before, counted).encode("utf-8") == page.data
    except frontmatter.FrontMatterError:
        return False


def _merged(page: DescribedPage, before: WikiNode) -> WikiNode:
    """The page `before` with what the node gives; the rest, and line ends, stay."""
    merged = replace(before, extra=before.extra | page.node.extra)
    for key in page.given - {*_NOT_COMPARED, "body", "links"}:
        setattr(merged, key, getattr(page.node, key))
    if _plain(page.node.body) != _plain(before.body):
        in_text = parse_links(before.body)
        explicit = [key for key in before.links if key not in in_text]
        merged.body = page.node.body
        merged.links = list(dict.fromkeys([*explicit, *parse_links(merged.body)]))
    if "links" in page.given:
        merged.links = page.node.links
    return merged


def _plain(body: str) -> str:
    return body.replace("\r\n", "\n").rstrip("\n")


def _unreadable(data: bytes) -> str:
    """Why a page cannot be changed; "" where it can."""
    text, problem = decode(data)
    front, _, shape = frontmatter.split(text)
    try:
        frontmatter.parse(front or "")
    except frontmatter.FrontMatterError as error:
        return str(error)
    return problem or shape


def _is_forgotten(node: WikiNode, gone: Gone) -> bool:
    """True where a session of the page, or the page as something of it, was deleted on purpose."""
    sessions = {source.partition("#")[0] for source in node.sources}
    if node.transcript_ref:
        sessions.add(PurePosixPath(node.transcript_ref).name.removesuffix(".jsonl"))
    if node.type == "episode":
        sessions.add(node.session_id or node.slug)
    if any(session in gone.sessions for session in sessions):
        return True
    titles = {_title_digest(title) for title in (node.title, *([""] if node.type == "episode" else []))}
    return any(session in (sessions or {""}) and title in titles for session, _, _, title in gone.nodes)


def _title_digest(title: str) -> str:
    """As forgotten.jsonl holds titles."""
    return hashlib.sha256(title_key(title).encode("utf-8", "replace")).hexdigest()[:16]


def _label(value: object, number: int) -> str:
    """What a refused node is called in the report."""
    names = (value.get("slug"), value.get("title")) if isinstance(value, dict) else ()
    said = (clean_text(name)[:80] for name in names if isinstance(name, str) and name.strip())
    return next(said, f"node {number}")
