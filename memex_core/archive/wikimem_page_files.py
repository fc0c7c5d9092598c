"""The RecallFiles that pages become: items merged into what stands there, else into what was imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from memex_core import paths
from memex_core.archive.wikimem_folder import BadFile, recallfile_of, text_of
from memex_core.archive.wikimem_items import item_hash, items_of, text_hash, type_of_file
from memex_core.archive.wikimem_merge import Merged, Wanted, merge_items
from memex_core.archive.wikimem_naming import Named, Naming, numbered_files
from memex_core.archive.wikimem_records import FileRecord, Record, Records
from memex_core.archive.wikimem_target import ExportTarget
from memex_core.model.item import RecallItem
from memex_core.model.node import WikiNode


class PageFiles:
    """`known` is what was imported, `raw` gives a raw file of it; `nodes` hold what an item cannot, by the
    keys of the pages.
    """

    def __init__(
        self,
        target: ExportTarget,
        known: Records,
        raw: Callable[[str], bytes | None],
        nodes: Mapping[str, dict[str, Any]],
    ) -> None:
        self._target = target
        self._known = known
        self._raw = raw
        self._nodes = nodes
        self._begun: dict[str, bytes | None] = {}

    def plan(self, pages: Mapping[str, WikiNode]) -> int:
        """Plan the items of all pages, by their keys; how many there are."""
        own = {file for name in self._target.files if (file := recallfile_of(name))}
        moved = self._moved(own)
        imported, types = self._seen_files(moved, own)
        known = [replace(record, file=moved.get(record.file, record.file)) for record in self._known.items]
        records = [*self._target.side.items, *known]
        naming = Naming(pages, records, types, own, lambda file: self._text(file, imported.get(file, "")))
        naming.name_all()
        by_file: dict[str, list[Named]] = {file: [] for file in imported if file not in own}
        for each in naming.named:
            by_file.setdefault(each.file, []).append(each)
        for file, named in sorted(by_file.items()):
            with self._target.costing(f"wiki/{file}.md"):
                self._plan_file(file, named, naming)
        return len(naming.named)

    def _moved(self, own: set[str]) -> dict[str, str]:
        """Where an imported file goes whose name is that of a RecallFile of the memory."""
        names = {file for name in self._known.files if (file := recallfile_of(name))}
        return {
            file: next(other for other in numbered_files(file) if other not in own | names)
            for file in names & own
        }

    def _seen_files(self, moved: dict[str, str], own: set[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The files of pages there have been: what each was imported as, "" where it was not; and the page
        type of those whose name does not say it.
        """
        imported: dict[str, str] = {}
        types: dict[str, str] = {}
        for records in (self._known, self._target.side):
            for name, kept in records.files.items():
                file = recallfile_of(name)
                if kept.kind == "pages" and file:
                    there = moved.get(file, file) if records is self._known else file
                    imported.setdefault(there, file if records is self._known else "")
                    if kept.type in paths.NODE_TYPES:
                        types.setdefault(there, kept.type)
        return imported, types

    def _text(self, file: str, imported: str) -> str | None:
        """A RecallFile as it stands there, else as it was imported; None for one that cannot be read."""
        name = f"wiki/{file}.md"
        try:
            data = self._target.read(name)
        except BadFile:
            return None
        if data is None and imported and name not in self._target.side.files:
            data = self._raw(f"wiki/{imported}.md")
        self._begun[file] = data
        return text_of(data or b"")

    def _plan_file(self, file: str, named: list[Named], naming: Naming) -> None:
        name, text = f"wiki/{file}.md", naming.text(file)
        theirs = self._target.read(name)
        if text is None:
            raise BadFile(name, "is not UTF-8")
        merged = merge_items(
            text, file, naming.base.get(file, {}), [each.wanted for each in named], naming.gone(file, named)
        )
        is_nothing = not merged.text and (merged.changes or self._begun[file] is None)
        data = None if is_nothing else merged.text.encode()
        if data is not None:
            kind = "" if type_of_file(file) else naming.types.get(file, "")
            self._target.files[name] = FileRecord("", "pages", kind)
        items = {item.name: item for item in items_of(file, merged.text)}
        self._target.items += [self._record(each, items, merged) for each in named]
        self._target.tell(file, merged)
        self._target.put(name, theirs, data)

    def _record(self, named: Named, items: dict[str, RecallItem], merged: Merged) -> Record:
        """How page and item are seen from now on. Where both had changed, how they were seen before."""
        wanted, record = named.wanted, named.record
        is_left = wanted.place in merged.kept
        item = items.get(wanted.place if is_left else named.name)
        if record is None or (not is_left and (not wanted.same or named.name in merged.again)):
            record = _new_record(named, wanted)
        elif not is_left:
            record = replace(record, body_sha256=named.page.content_hash)
        node = self._nodes[named.key]
        if item is not None and item.content == node["body"] and _hash(item) == record.sha256:
            node = {key: value for key, value in node.items() if key != "body"}
        return replace(record, file=named.file, page=named.key, node=node)


def _new_record(named: Named, wanted: Wanted) -> Record:
    return Record(
        named.file,
        named.name,
        item_hash(named.name, wanted.content),
        named.key,
        named.page.title,
        named.page.content_hash,
        text_hash(wanted.content),
        escaped=named.escaped,
        said=list(wanted.said),
    )


def _hash(item: RecallItem) -> str:
    return item_hash(item.name, item.content)
