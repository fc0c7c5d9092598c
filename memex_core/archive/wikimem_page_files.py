"""The RecallFiles that pages become: items merged into what stands there, else into what was imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from memex_core import paths
from memex_core.archive.wikimem_folder import BadFile, recallfile_of, text_of
from memex_core.archive.wikimem_items import Key, item_hash, items_of, text_hash, type_of_file
from memex_core.archive.wikimem_merge import Merged, Wanted, merge_items
from memex_core.archive.wikimem_naming import Named, Naming
from memex_core.archive.wikimem_records import FileRecord, Record, Records
from memex_core.archive.wikimem_shared import OwnPart, copied_from, is_copy, is_named_as_copy
from memex_core.archive.wikimem_target import ExportTarget
from memex_core.model.item import RecallItem
from memex_core.model.node import WikiNode


class PageFiles:
    """`known` is what was imported, `raw` gives a raw file of it; `nodes` hold what an item cannot, by the
    keys of the pages; `own` are the RecallFiles of the memory itself, None for one that cannot be read.
    """

    def __init__(
        self,
        target: ExportTarget,
        known: Records,
        raw: Callable[[str], bytes | None],
        nodes: Mapping[str, dict[str, Any]],
        own: Mapping[str, bytes | None],
    ) -> None:
        self.planned: set[str] = set()
        self._target = target
        self._known = known
        self._raw = raw
        self._nodes = nodes
        texts = {file: None if data is None else text_of(data) for file, data in own.items()}
        self._own = {file: self._part(file, text) for file, text in texts.items() if text is not None}
        self._bad = own.keys() - self._own.keys()
        for name, seen in target.side.files.items():
            if seen.items and (file := recallfile_of(name)) and file not in own:
                self._own[file] = self._part(file, "")
        self._begun: dict[str, bytes | None] = {}
        self._theirs: dict[str, bytes | None] = {}

    def plan(self, pages: Mapping[str, WikiNode]) -> int:
        """Plan the items of all pages, by their keys; how many there are. `planned` are then the files."""
        imported, types = self._seen_files()
        records = [*self._target.side.items, *self._known.items]
        naming = Naming(
            pages,
            records,
            types,
            self._bad - imported.keys(),
            self._own,
            self._moved(),
            lambda file: self._text(file, is_imported=imported.get(file, False)),
        )
        naming.name_all()
        by_file: dict[str, list[Named]] = {file: [] for file in imported}
        for each in naming.named:
            by_file.setdefault(each.file, []).append(each)
        self.planned = set(by_file)
        for file, named in sorted(by_file.items()):
            with self._target.costing(f"wiki/{file}.md"):
                self._plan_file(file, named, naming)
        return len(naming.named)

    def _part(self, file: str, text: str) -> OwnPart:
        name = f"wiki/{file}.md"
        taken = self._known.files.get(name, FileRecord("")).items
        return OwnPart(file, text, self._target.side.files.get(name, FileRecord("")), taken)

    def _moved(self) -> set[Key]:
        """Items of copies that go back to where they were imported from: those that did not change there."""
        home = {(record.page, record.file) for record in self._known.items}
        found: set[Key] = set()
        for file in {record.file for record in self._target.side.items if is_named_as_copy(record.file)}:
            text = self._there(file)
            origin = copied_from(file, text)
            hashes = {item.name: _hash(item) for item in items_of(file, text)} if origin else {}
            found.update(
                (file, record.name)
                for record in self._target.side.items
                if record.file == file
                and (record.page, origin) in home
                and hashes.get(record.name, record.sha256) == record.sha256
            )
        return found

    def _there(self, file: str) -> str:
        """The text of a file there; "" where there is none that can be read."""
        try:
            return text_of(self._target.read(f"wiki/{file}.md") or b"") or ""
        except BadFile:
            return ""

    def _seen_files(self) -> tuple[dict[str, bool], dict[str, str]]:
        """The files of pages there have been, and whether they were imported; and the page type of those
        whose name does not say it.
        """
        imported: dict[str, bool] = {}
        types: dict[str, str] = {}
        for records in (self._known, self._target.side):
            for name, kept in records.files.items():
                file = recallfile_of(name)
                if kept.kind == "pages" and file and not (records is self._known and self._was_copied(file)):
                    imported.setdefault(file, records is self._known)
                    if kept.type in paths.NODE_TYPES:
                        types.setdefault(file, kept.type)
        return imported, types

    def _was_copied(self, file: str) -> bool:
        """True for an imported file that is a copy, and does not go there again."""
        name = f"wiki/{file}.md"
        if name in self._target.side.files or not is_named_as_copy(file):
            return False
        return is_copy(file, text_of(self._raw(name) or b"") or "", self._known, self._raw)

    def _text(self, file: str, *, is_imported: bool) -> str | None:
        """A RecallFile as it stands there, else as it was imported, else as the memory has it; None for one
        that cannot be read.
        """
        name = f"wiki/{file}.md"
        try:
            data = self._target.read(name)
        except BadFile:
            return None
        self._begun[file] = self._theirs[file] = data
        if data is None and name not in self._target.side.files:
            part = self._own.get(file)
            if is_imported:
                data = self._begun[file] = self._raw(name)
            elif part is not None:
                part.places = {each: each for each in part.items}
                return part.text
        return text_of(data or b"")

    def _plan_file(self, file: str, named: list[Named], naming: Naming) -> None:
        name, text, part = f"wiki/{file}.md", naming.text(file), self._own.get(file)
        if text is None and self._target.read(name) is not None:
            raise BadFile(name, "is not UTF-8")
        if text is None or file in self._bad:
            raise BadFile(name, "is not UTF-8 in the memory")
        wanted = [*(each.wanted for each in named), *(part.wanted() if part else ())]
        merged = merge_items(text, file, naming.base.get(file, {}), wanted, naming.gone(file, named))
        is_nothing = not merged.text and (merged.changes or self._begun[file] is None)
        is_nothing = is_nothing or (
            not named and not part and is_copy(file, merged.text, self._known, self._raw)
        )
        data = None if is_nothing else merged.text.encode()
        if data is not None:
            kind = "" if type_of_file(file) else naming.types.get(file, "")
            self._target.files[name] = part.record(kind, merged) if part else FileRecord("", "pages", kind)
        items = {item.name: item for item in items_of(file, merged.text)}
        self._target.items += [self._record(each, items, merged) for each in named]
        self._target.tell(file, merged, {*part.base, *part.places.values()} if part else ())
        self._target.put(name, self._theirs[file], data)

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
        return replace(record, file=named.file, page=named.key, node=node, plain=False)


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
