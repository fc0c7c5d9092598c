"""What an import takes as whole files: days, RecallFiles of a memory's own, the journal's lines.

The newer file is taken; two that both changed become one. Nothing is deleted here because it is missing
there, and what was deleted here on purpose does not come back.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from pathlib import Path

from memex_core import paths
from memex_core.archive.wikimem_folder import JOURNAL, BadFile, WikimemFolder, text_of
from memex_core.archive.wikimem_items import item_hash, items_of
from memex_core.archive.wikimem_merge import (
    Wanted,
    merge_events,
    merge_items,
    missing_lines,
    newer,
    without_sources,
)
from memex_core.archive.wikimem_records import FileRecord
from memex_core.archive.wikimem_report import WikimemImportReport
from memex_core.files.atomic import append_line
from memex_core.files.lock import memory_lock
from memex_core.model.item import RecallItem
from memex_core.text.blocks import Provenance


class WholeFiles:
    """Files on their way into the memory at `root`; `forgotten`: sessions that were deleted for good."""

    def __init__(self, root: Path, report: WikimemImportReport, forgotten: Container[str]) -> None:
        self._root = root
        self._here = WikimemFolder(root)
        self._report = report
        self._forgotten = forgotten

    def take_day(self, name: str, day: str, text: str, seen: Collection[str]) -> bytes:
        """Bring diary/<day>.md to the memory; `seen` are the hashes by which it was known. Gives the day
        without what was forgotten. Raises BadFile.
        """
        text = without_sources(text, self._forgotten)
        theirs = text.encode()
        with memory_lock(self._root):
            ours = self._here.read(name)
            try:
                new = newer(ours, theirs, seen)
            except ValueError:
                merged, added = merge_events(_readable(name, ours), text, day)
                new = merged.encode() if added else None
            if new is not None:
                self._here.write(name, new)
                self._report.days.append(day)
        return theirs

    def take_recallfile(
        self, name: str, file: str, text: str, seen: FileRecord, *, overwriting: bool
    ) -> None:
        """Bring back a RecallFile that a memory exported as its own. Raises BadFile."""
        theirs, items = text.encode(), items_of(file, text)
        missing = seen.items.keys() - {item.name for item in items}
        with memory_lock(self._root):
            ours = self._here.read(name)
            try:
                new = newer(ours, theirs, {seen.sha256})
                is_merge = bool(new and ours and missing)
            except ValueError:
                new, is_merge = theirs, True
            if is_merge:
                new = self._merged(file, _readable(name, ours), items, seen, overwriting=overwriting)
            if new is not None and new != ours:
                self._here.write(name, new)
                self._report.files.append(file)
        self._report.missing += sorted(f"{file}:{each}" for each in missing)

    def _merged(
        self, file: str, ours: str, items: list[RecallItem], seen: FileRecord, *, overwriting: bool
    ) -> bytes:
        base = {name: {sha256} for name, sha256 in seen.items.items()}
        wanted = [
            Wanted(item.name, item.content, _said(item), _hash(item) in base.get(item.name, ()))
            for item in items
        ]
        if overwriting:
            for item in items_of(file, ours):
                base.setdefault(item.name, set()).add(_hash(item))
        merged = merge_items(ours, file, base, wanted)
        kept = [f"{file}:{name}" for name in merged.kept]
        self._report.pages.conflicts += kept
        self._report.pages.skipped += kept
        return merged.text.encode()

    def take_journal(self, data: bytes) -> None:
        """Append their lines to ours, raw, each once."""
        lines = missing_lines(self._here.read(JOURNAL) or b"", data)
        for number, line in enumerate(lines, 1):
            append_line(paths.journal_path(self._root), line, durable=number == len(lines))
        self._report.journal_lines = len(lines)


def _readable(name: str, data: bytes | None) -> str:
    text = text_of(data or b"")
    if text is None:
        raise BadFile(name, "is not UTF-8 in the memory, so nothing can be added to it")
    return text


def _said(item: RecallItem) -> Provenance:
    return Provenance(item.owner, item.source_conv, item.ts)


def _hash(item: RecallItem) -> str:
    return item_hash(item.name, item.content)
