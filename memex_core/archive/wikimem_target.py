"""The directory that an export writes to: planned as a whole, then written, the side file first and last.

The first side file knows items as they were and as they will be; so an export that is cut off half way is
finished by the next one. A file that wikimem changed meanwhile is left, and so is what was known of it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from memex_core.archive.wikimem_folder import JOURNAL, BadFile, WikimemFolder, recallfile_of
from memex_core.archive.wikimem_merge import EXPORT_DETAIL, Merged, missing_lines
from memex_core.archive.wikimem_records import (
    SIDE_FILE,
    FileRecord,
    Record,
    Records,
    load_records,
    records_json,
)
from memex_core.archive.wikimem_report import WikimemExportReport
from memex_core.errors import Refused
from memex_core.files.atomic import write_atomic
from memex_core.files.walk import is_inside

_NOT_COUNTED = {".memex", ".lock"}


class ExportTarget:
    """`side` is what the last export left; `files` and `items` what this one is to leave."""

    def __init__(self, path: Path, report: WikimemExportReport) -> None:
        self.path = path
        self.side = Records()
        self.files: dict[str, FileRecord] = {}
        self.items: list[Record] = []
        self.directory = ""
        self._folder = WikimemFolder(path)
        self._report = report
        self._plan: dict[str, tuple[bytes | None, bytes | None]] = {}
        self._told: list[tuple[str, str, str]] = []

    def check(self, root: Path) -> None:
        """Raises Refused unless the directory is new, empty, or an earlier export, and apart from `root`."""
        path, side = self.path, self.path / SIDE_FILE
        if is_inside(path, root) or is_inside(root, path):
            raise Refused(
                f"{path} and the memory lie in one another", hint="export to a directory of its own"
            )
        if path.exists() and not path.is_dir():
            raise Refused(f"{path} is not a directory")
        if path.is_dir() and not side.exists() and set(os.listdir(path)) - _NOT_COUNTED:
            raise Refused(
                f"{path} is neither empty nor an earlier export", hint="give an empty or a new directory"
            )
        if not is_inside(side, path):
            raise Refused(f"{side} leads outside the directory")
        self.side = load_records(side, "give another directory") or Records()

    def read(self, name: str) -> bytes | None:
        """The bytes of a file there; None where there is none. Raises BadFile."""
        return self._folder.read(name)

    def put(self, name: str, before: bytes | None, data: bytes | None) -> None:
        """Plan to write a file that was read as `before`, or with None to delete it."""
        if data != before:
            self._plan[name] = before, data

    def tell(self, file: str, merged: Merged, own: Collection[str] = ()) -> None:
        """Count and note what is to become of the items of a RecallFile. Of the memory's `own` items, its
        journal tells already.
        """
        changes = [(action, name) for action, name in merged.changes if name not in own]
        self._told += [(action, file, name) for action, name in changes]
        counts = Counter(action for action, _ in changes)
        self._report.added += counts["add"]
        self._report.updated += counts["update"]
        self._report.removed += counts["remove"]
        self._report.conflicts += [f"{file}:{name}" for name in merged.kept]
        if merged.again:
            seen = self._seen(file)
            self._report.again += [f"{file}:{name}" for name in merged.again if name in seen]

    def _seen(self, file: str) -> set[str]:
        """The names of the items of ours that the last export left in a RecallFile."""
        kept = self.side.files.get(f"wiki/{file}.md")
        own = kept.items if kept else ()
        return {*own, *(record.name for record in self.side.items if record.file == file)}

    @contextlib.contextmanager
    def costing(self, name: str) -> Iterator[None]:
        """Inside, a file that cannot be read costs itself; what was known of it stays known."""
        try:
            yield
        except BadFile as error:
            self._fail(name, error.reason)

    def finish(self, begun: bytes | None, ours: bytes, moment: str) -> None:
        """Write what was planned, then the journal, then the side file.

        `begun` is what a journal begins with that is not there yet, if anything; `ours` the memory's own.
        """
        if any(recallfile_of(name) for name in self._plan):
            self._save(self.side.files, [*self.side.items, *self.items])
        for name, (before, data) in self._plan.items():
            with self.costing(name):
                self._write(name, before, data)
        with self.costing(JOURNAL):
            theirs = self.read(JOURNAL)
            first = begun if theirs is None else theirs
            data = self._journal(first or b"", ours, moment)
            if data != theirs and (data or first is not None):
                self._write(JOURNAL, theirs, data)
        if self._save(self.files, self.items) or self._report.written:
            self._report.written.append(SIDE_FILE)

    def _fail(self, name: str, reason: str) -> None:
        self._report.problems.append((name, reason))
        self.files.pop(name, None)
        if name in self.side.files:
            self.files[name] = self.side.files[name]
        file = recallfile_of(name)
        if file is not None:
            self._told = [told for told in self._told if told[1] != file]
            self.items += [record for record in self.side.items if record.file == file]

    def _write(self, name: str, before: bytes | None, data: bytes | None) -> None:
        if self.read(name) != before:
            raise BadFile(name, "changed while it was read; export again")
        if data is not None:
            self._folder.write(name, data)
        elif before is not None:
            self._folder.remove(name)
        self._report.written.append(name)

    def _journal(self, begun: bytes, ours: bytes, moment: str) -> bytes:
        """Behind what is there: our lines about items and events, then one for each item that was written."""
        lines = [line for line in missing_lines(begun, ours) if _is_theirs(line)]
        for action, file, name in self._told:
            line = {"ts": moment, "action": action, "file": file, "item": name, "detail": EXPORT_DETAIL}
            lines.append(json.dumps(line, ensure_ascii=False).encode())
        torn = b"\n" if lines and begun and not begun.endswith(b"\n") else b""
        return begun + torn + b"".join(line + b"\n" for line in lines)

    def _save(self, files: dict[str, FileRecord], items: list[Record]) -> bool:
        path = self.path / SIDE_FILE
        ordered = sorted(items, key=lambda each: (each.file, each.name))
        data = records_json(Records(files, ordered, self.directory))
        if path.exists() and path.read_bytes() == data:
            return False
        write_atomic(path, data)
        return True


def _is_theirs(raw: bytes) -> bool:
    """True for a line of the journal about an item or event, not a page."""
    line = json.loads(raw)
    return line.get("action") == "diary" or "/" not in str(line.get("file", "/"))
