"""The pages of matched items: made, restored, changed or left, as nodes that `import_export` takes."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import fields
from typing import Any

from memex_core import paths
from memex_core.archive.import_export import ImportExport
from memex_core.archive.page_node import node_of_file
from memex_core.archive.wikimem_items import (
    Key,
    body_of,
    iso_of,
    provenance_of,
    text_hash,
    type_of_file,
)
from memex_core.archive.wikimem_matching import Match, Matching
from memex_core.archive.wikimem_records import Record
from memex_core.archive.wikimem_report import WikimemImportReport
from memex_core.files.regular import read_regular
from memex_core.model.item import ORIGIN_KEY
from memex_core.model.node import WikiNode
from memex_core.model.results import ImportReport
from memex_core.text.blocks import normalized
from memex_core.text.links import name_key
from memex_core.text.slug import is_plain_name, slugify

Json = dict[str, Any]

_OUTCOMES = [each.name for each in fields(ImportReport) if each.name != "imported"]


class ItemPages:
    """Writes the pages of one import. `on_conflict` decides where the page and its item have both changed;
    what came from a session in `forgotten` makes no page. `is_plain`: no memory had exported the directory.
    """

    def __init__(
        self,
        exchange: ImportExport,
        now: Callable[[], str],
        on_conflict: str,
        report: WikimemImportReport,
        forgotten: Container[str],
        *,
        is_plain: bool,
    ) -> None:
        self._root = exchange.store.root
        self._forgotten = forgotten
        self._is_plain = is_plain
        self._exchange = exchange
        self._now = now
        self._on_conflict = on_conflict
        self._report = report
        self._new: list[Json] = []
        self._restored: list[Json] = []
        self._changed: list[Json] = []
        self._links: dict[Key, str] = {}
        self._places: dict[str, str] = {}

    def take(self, matches: Sequence[Match], gone: Sequence[Record], matching: Matching) -> None:
        """Decide and write. The body that a page is to have is then in its match."""
        for record in gone:
            page = matching.page_of(record)
            self._links[record.file, record.name] = f"{page.type}/{page.slug}"
            self._note_place(page.type, page.slug, page.title)
        for match in sorted(matches, key=lambda match: match.fate != "rename"):
            place = f"{match.type}/{match.slug}"
            for record in match.records:
                self._links[record.file, record.name] = place
            for name in (match.clean.name, match.item.name):
                self._links[match.item.file, name] = place
            title = match.page.title if match.page else str(match.node.get("title", match.title))
            self._note_place(match.type, match.slug, title)
        for match in matches:
            try:
                self._decide(match, matching)
            except OSError as error:
                self._report.pages.refused.append((match.label, error.strerror or str(error)))
        forgotten = self._write(self._new, "skip") | self._write(self._restored, self._on_conflict)
        for match in matches:
            match.is_forgotten = match.is_forgotten or (match.page is None and match.slug in forgotten)
        self._write(self._changed, "update", untold="conflicts")  # `_decide` has told those

    def _note_place(self, node_type: str, slug: str, title: str) -> None:
        """By which keys links lead to a page."""
        for key in (name_key(slug), name_key(title)):
            for spelled in (key, f"{node_type}/{key}"):
                self._places.setdefault(spelled, f"{node_type}/{slug}")

    def _decide(self, match: Match, matching: Matching) -> None:
        if match.fate == "same" and match.page is not None:
            match.body = match.page.body
            self._report.pages.unchanged.append(match.slug)
        elif match.fate == "restore":
            match.body = match.node.get("body", match.item.content)
            self._restored.append(_named_plainly(match.node) | {"body": match.body})
        elif match.fate == "rename" and match.page is not None:
            self._rename(match, match.page)
        elif match.page is not None:
            self._edit(match, match.page, matching)
        elif match.fate == "new" and (match.clean.source_conv or "") in self._forgotten:
            match.is_forgotten = True
            self._report.pages.skipped.append(match.slug)
        else:
            match.body = self._body(match, str(match.node.get("body", "")))
            self._new.append(self._edited_export(match) if match.node else self._new_node(match))

    def _rename(self, match: Match, page: WikiNode) -> None:
        record = match.records[0]
        match.body = page.body
        if page.title == record.title:
            self._report.renamed.append((f"{record.file}:{record.name}", match.label))
            self._changed.append(self._changed_node(match, page, title=match.title))
        elif page.title == match.title:
            self._report.pages.unchanged.append(match.slug)
        else:
            self._conflict(match)

    def _edit(self, match: Match, page: WikiNode, matching: Matching) -> None:
        match.body = self._body(match, page.body)
        if normalized(page.body) == normalized(match.body):
            match.body = page.body
            self._report.pages.unchanged.append(match.slug)
        elif page.content_hash in self._seen_bodies(match):
            self._changed.append(self._changed_node(match, page, body=match.body))
        elif self._on_conflict == "rename":
            self._report.pages.conflicts.append(match.slug)
            matching.give_slug(match)
            match.page, match.fate = None, "new"
            self._new.append(self._new_node(match))
        elif self._on_conflict == "update":
            self._report.pages.conflicts.append(match.slug)
            self._changed.append(self._changed_node(match, page, body=match.body))
        else:
            self._conflict(match)

    def _seen_bodies(self, match: Match) -> set[str]:
        """The bodies with which the item stood in directories like this one."""
        return {record.body_sha256 for record in match.records if record.plain == self._is_plain}

    def _conflict(self, match: Match) -> None:
        self._report.pages.conflicts.append(match.slug)
        self._report.pages.skipped.append(match.slug)

    def _body(self, match: Match, before: str) -> str:
        escaped = match.record is not None and match.record.escaped
        return body_of(match.clean.content, self._links, before, self._places, escaped=escaped)

    def _new_node(self, match: Match) -> Json:
        moment = iso_of(match.clean.ts) or self._now()
        node: Json = {
            "type": match.type,
            "slug": match.slug,
            "title": match.title,
            "body": match.body,
            "tags": [] if match.type == type_of_file(match.item.file) else [match.clean.file],
            "created": moment,
            "updated": moment,
            ORIGIN_KEY: _origin(match),
        }
        source = match.clean.source_conv or ""
        if paths.is_safe_id(source) and paths.transcript_path(self._root, source).exists():
            node["transcript_ref"] = paths.transcript_ref(source)
        return node

    def _edited_export(self, match: Match) -> Json:
        """The page as it was exported, with the words that it has now."""
        changed = _named_plainly(match.node) | {"body": match.body, "updated": self._moment(match)}
        if "raw" in changed:  # a page that was not UTF-8: its words are, now
            del changed["raw"]
        return changed

    def _changed_node(self, match: Match, page: WikiNode, **changes: str) -> Json:
        """The page as it is here, with something new."""
        path = page.file_path or paths.page_path(self._root, page.type, page.slug)
        place = path.relative_to(paths.docs_dir(self._root))
        node = node_of_file(read_regular(path, self._root), place, path.stat().st_mtime)
        said = [match.clean.owner, match.clean.source_conv]
        if ORIGIN_KEY in page.extra or (any(said) and said != list(provenance_of(page)[:2])):
            node[ORIGIN_KEY] = _origin(match)
        return node | {"updated": self._moment(match)} | changes

    def _moment(self, match: Match) -> str:
        """When the item was changed there: its own time, if that is new."""
        seen = match.record.said[2] if match.record else None
        return (iso_of(match.clean.ts) if match.clean.ts != seen else None) or self._now()

    def _write(self, nodes: list[Json], on_conflict: str, *, untold: str = "") -> set[str]:
        """The slugs of the pages that were forgotten."""
        if not nodes:
            return set()
        done = self._exchange.import_nodes(nodes, on_conflict)
        for name in _OUTCOMES:
            if name != untold:
                getattr(self._report.pages, name).extend(getattr(done, name))
        self._report.pages.imported += done.imported
        return set(done.skipped) - set(done.conflicts)


def _named_plainly(node: Json) -> Json:
    """The node of an exported page whose file was named by hand, under a name that an import may give."""
    slug, folder = str(node.get("slug")), node.get("folder", "")
    if not is_plain_name(slug):
        node = node | {"slug": slugify(slug, fallback=text_hash(slug))}
    return node if folder == "" or is_plain_name(str(folder)) else {k: node[k] for k in node if k != "folder"}


def _origin(match: Match) -> dict[str, str | int]:
    """What front matter keeps of an item, as it was."""
    said = {"owner": match.clean.owner, "source": match.clean.source_conv, "ts": match.clean.ts}
    found: dict[str, str | int] = {"file": match.clean.file, "name": match.clean.name, "order": match.order}
    return found | {key: value for key, value in said.items() if value is not None}
