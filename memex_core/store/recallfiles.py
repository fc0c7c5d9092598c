"""The state layer: wiki/<file>.md, one `##` item per fact (seed 002; formats page 1.2-1.5).

Read as wikimem reads, written as wikimem writes; what a person wrote around an item keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from memex_core import paths
from memex_core.model.item import (
    RecallItem,
    checked_content,
    checked_name,
    checked_provenance,
    utc_now,
    utc_stamp,
)
from memex_core.store.block_file import BlockFiles, Problem
from memex_core.store.journal import Journal
from memex_core.text.block_splice import inserted, is_ours, titled, without
from memex_core.text.blocks import (
    BOM,
    Provenance,
    Section,
    item_name,
    named,
    parse,
    read_body,
    render,
    render_file,
)


class RecallFileStore:
    """The RecallFiles of one memory root. Reads take no lock; every change does, and leaves a journal
    line.
    """

    def __init__(
        self, root: Path, journal: Journal | None = None, now: Callable[[], datetime] = utc_now
    ) -> None:
        self.root = root
        self.journal = journal or Journal(root)
        self._now = now
        self._files = BlockFiles(root, paths.wiki_dir(root))

    def files(self) -> list[str]:
        """The names of the RecallFiles, sorted, hand-made ones of any name included."""
        return self._files.stems()

    def items(self, file: str | None = None) -> list[RecallItem]:
        """The items of one file, or of all, in the order of the files. One that cannot be read has none."""
        files = self.files() if file is None else [file]
        return [item for name in files for item in _items(name, self._files.readable(name))]

    def get(self, file: str, name: str) -> RecallItem | None:
        """The item of that name, letter case included; of several the last. None where there is none."""
        text = self._files.readable(file)
        found = named(text, name)
        return _item(file, text, found[-1]) if found else None

    def add(
        self,
        file: str,
        name: str,
        content: str,
        *,
        owner: str | None = None,
        source_conv: str | None = None,
        ts: str | None = None,
    ) -> RecallItem:
        """Write an item, as the last of its file; one of the same name is replaced, provenance and all.

        `ts` None or "" is now. Returns the item as it will be read. Raises ValueError (InvalidName for the
        file), with nothing written, for what would not be read back as it is given; WikiStoreError where the
        file cannot be read or written; LockTimeout.
        """
        paths.recallfile_path(self.root, file)
        name, content = checked_name(name), checked_content(content)
        said = checked_provenance(owner, source_conv, ts or utc_stamp(self._now()))
        with self._files.changing():
            known = self._files.rewrite(file, lambda text: _with(file, text, name, content, said))
            action: Literal["add", "update"] = "update" if known else "add"
            now = utc_stamp(self._now())
            self.journal.item_changed(action, file, name, now, owner=owner, source_conv=source_conv)
        return RecallItem(file, name, content, *said)

    def remove(self, file: str, name: str, *, owner: str | None = None) -> bool:
        """Delete an item, with every block of its name; False where there is none.

        The file goes with its last item, unless it holds words of a person. Raises like `add`.
        """
        paths.recallfile_path(self.root, file)
        checked_provenance(owner, None, None)
        with self._files.changing():
            text = self._files.read(file) or ""
            gone = named(text, name)
            if not gone:
                return False
            rest = _without(file, text, gone)
            if is_ours(rest, file):
                self._files.remove(file, rest)
            else:
                self._files.replace(file, rest)
            self.journal.item_changed("remove", file, item_name(name), utc_stamp(self._now()), owner=owner)
        return True

    def problems(self) -> list[Problem]:
        """(path relative to the memory root, why) of what cannot be read, or not by wikimem. Reads all."""
        return self._files.problems()


def _items(file: str, text: str) -> list[RecallItem]:
    """The items of a file: the last block of a name counts, at the place of the first."""
    latest = {item_name(section.heading): section for section in parse(text)}
    return [_item(file, text, section) for section in latest.values()]


def _item(file: str, text: str, section: Section) -> RecallItem:
    content, said = read_body(text, section)
    return RecallItem(file, item_name(section.heading), content, *said)


def _with(file: str, text: str, name: str, content: str, said: Provenance) -> tuple[str, bool]:
    """`text` with an item, as its last, and whether it had one of that name."""
    old = named(text, name)
    kept = titled(without(text, old), file)
    return inserted(kept, render(name, content, said)), bool(old)


def _without(file: str, text: str, gone: list[Section]) -> str:
    """`text` less the blocks `gone`. What follows a byte order mark must be no heading: wikimem would not see
    it. At the end of a file as wikimem writes it, one line end is left.
    """
    rest = without(text, gone)
    if text.startswith(BOM):
        rest = titled(rest, file)
    if gone[-1].end == len(text) and render_file(file, map(_block, _items(file, text))) == text:
        rest = rest.rstrip("\n") + "\n"
    return rest


def _block(item: RecallItem) -> tuple[str, str, Provenance]:
    return item.name, item.content, Provenance(item.owner, item.source_conv, item.ts)
