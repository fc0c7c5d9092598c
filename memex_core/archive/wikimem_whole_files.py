"""What an import takes as whole files: days, RecallFiles of a memory's own, the journal's lines.

The newer file is taken; two that both changed become one. Nothing is deleted here because it is missing
there, and what was deleted here on purpose does not come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping
from pathlib import Path

from memex_core import paths
from memex_core.archive.wikimem_folder import JOURNAL, BadFile, WikimemFolder, text_of
from memex_core.archive.wikimem_items import item_hash, items_of
from memex_core.archive.wikimem_merge import (
    Wanted,
    holds_events,
    merge_events,
    merge_items,
    missing_lines,
    newer,
    was_rewritten,
    without_sources,
)
from memex_core.archive.wikimem_records import FileRecord
from memex_core.archive.wikimem_report import WikimemImportReport
from memex_core.files.atomic import append_line
from memex_core.files.lock import memory_lock
from memex_core.model.item import RecallItem
from memex_core.text.blocks import Provenance, parse


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
                is_merge = bool(new and ours) and _lost_something(text_of(ours or b"") or "", text, day)
            except ValueError:
                new, is_merge = None, True
            if is_merge:
                merged, added = merge_events(_readable(name, ours), text, day)
                new = merged.encode() if added else None
            if new is not None:
                self._here.write(name, new)
                self._report.days.append(day)
        return theirs

    def take_recallfile(
        self, name: str, file: str, text: str, seen: FileRecord, *, overwriting: bool
    ) -> bool:
        """Bring back a RecallFile that a memory exported as its own; True where the memory's own holds all
        that is in it now. Raises BadFile.
        """
        theirs, items = text.encode(), items_of(file, text)
        missing = seen.items.keys() - {item.name for item in items}
        skipped = len(self._report.pages.skipped)
        with memory_lock(self._root):
            ours = self._here.read(name)
            mine, unchanged = text_of(ours or b"") or "", True
            try:
                new = newer(ours, theirs, {seen.sha256})
                is_merge = bool(new and ours) and (bool(missing) or was_rewritten(mine, text, file))
            except ValueError:
                new, is_merge, unchanged = theirs, True, False
            if is_merge:
                base = {item.name: _said(item) for item in items_of(file, mine)} if unchanged else {}
                wanted = _wanted(items, seen, base)
                new = self._merged(file, _readable(name, ours), wanted, seen, overwriting=overwriting)
            if new is not None and new != ours:
                self._here.write(name, new)
                self._report.files.append(file)
        self._report.missing += sorted(f"{file}:{each}" for each in missing)
        return not missing and len(self._report.pages.skipped) == skipped

    def take_own_items(
        self,
        name: str,
        file: str,
        text: str,
        seen: FileRecord,
        taken: Mapping[str, str],
        clean: Callable[[RecallItem], RecallItem],
        *,
        overwriting: bool,
    ) -> dict[str, str]:
        """Bring back the items of a memory's own that stand in a file of pages; the hashes of those that the
        memory's own RecallFile holds now. `taken` are those that it took before. Raises BadFile.

        One that is as we exported it, and was deleted here since, stays deleted.
        """
        there = {item.name: item for item in items_of(file, text) if item.name in seen.items}
        with memory_lock(self._root):
            ours = self._here.read(name)
            mine = seen.own if ours is None else _readable(name, ours)
            names = {seen.names.get(place, place) for place in there}
            base = _base(file, seen)
            if overwriting or ours is None:
                for item in items_of(file, mine):
                    base.setdefault(item.name, set()).add(_hash(item))
            merged = merge_items(mine, file, base, _changed(file, there, seen, taken, clean))
            if merged.text.encode() != (ours or b""):
                self._here.write(name, merged.text.encode())
                self._report.files.append(file)
        kept = [f"{file}:{each}" for each in merged.kept]
        self._report.pages.conflicts += kept
        self._report.pages.skipped += kept
        own = {seen.names.get(place, place) for place in seen.items}
        here = {item.name for item in items_of(file, merged.text)}
        self._report.missing += sorted(f"{file}:{each}" for each in (own - names) & here)
        return {
            place: _hash(item)
            for place, item in there.items()
            if seen.names.get(place, place) not in merged.kept
        }

    def _merged(
        self, file: str, ours: str, wanted: list[Wanted], seen: FileRecord, *, overwriting: bool
    ) -> bytes:
        base = {name: {sha256} for name, sha256 in seen.items.items()}
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


def _wanted(items: list[RecallItem], seen: FileRecord, said: Mapping[str, Provenance]) -> list[Wanted]:
    """What `items` ask for; one that is as it was `seen`, and says what it `said` (where that is known), asks
    for nothing.
    """
    return [
        Wanted(
            item.name,
            item.content,
            _said(item),
            same=_hash(item) == seen.items.get(item.name) and said.get(item.name, _said(item)) == _said(item),
        )
        for item in items
    ]


def _base(file: str, seen: FileRecord) -> dict[str, set[str]]:
    """The hashes by which own items were last seen, by their own names: as they were exported."""
    exported = {item.name: item.content for item in items_of(file, seen.own)}
    base: dict[str, set[str]] = {}
    for place, sha256 in seen.items.items():
        name = seen.names.get(place, place)
        content = exported.get(name)
        if content is not None and item_hash(place, content) == sha256:
            base[name] = {item_hash(name, content)}
        elif name == place:
            base[name] = {sha256}
    return base


def _changed(
    file: str,
    there: Mapping[str, RecallItem],
    seen: FileRecord,
    taken: Mapping[str, str],
    clean: Callable[[RecallItem], RecallItem],
) -> list[Wanted]:
    """What own items ask for that are not as they were last seen."""
    exported = {item.name: _said(item) for item in items_of(file, seen.own)}
    wanted = []
    for place, item in there.items():
        name, sha256 = seen.names.get(place, place), _hash(item)
        is_seen = sha256 == seen.items[place] and exported.get(name) == _said(item)
        if not is_seen and sha256 != taken.get(place):
            item = clean(item)
            wanted.append(Wanted(name, item.content, _said(item)))
    return wanted


def _lost_something(ours: str, theirs: str, day: str) -> bool:
    """True where an event of `ours` is gone there, or only what stood around them: wikimem adds an event and
    writes the others anew. An event that reads otherwise there was changed by hand.
    """
    is_gone = not _headings(ours) <= _headings(theirs)
    return is_gone or (holds_events(theirs, ours) and was_rewritten(ours, theirs, day))


def _headings(text: str) -> Counter[str]:
    return Counter(section.heading for section in parse(text))


def _readable(name: str, data: bytes | None) -> str:
    text = text_of(data or b"")
    if text is None:
        raise BadFile(name, "is not UTF-8 in the memory, so nothing can be added to it")
    return text


def _said(item: RecallItem) -> Provenance:
    return Provenance(item.owner, item.source_conv, item.ts)


def _hash(item: RecallItem) -> str:
    return item_hash(item.name, item.content)
