"""The item or event that a person means by the name under which it is listed and linked to."""

from __future__ import annotations

import re
from pathlib import Path

from memex_core import paths
from memex_core.errors import Refused
from memex_core.model.item import DiaryEvent, RecallItem
from memex_core.store.block_file import BlockFiles
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore

_EVENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:#(\d{1,9})| (\S.*))\Z", re.ASCII)


def find_block(root: Path, name: str) -> RecallItem | DiaryEvent | None:
    """The item `<file>:<name>`, or the event `<date>#<ordinal>` or `<date> <heading>`, in most cases `HH:MM`.

    Raises BadBlockFile where its file is there and cannot be read, Refused where several events of a day have
    that heading.
    """
    found = _EVENT.match(name.strip())
    if found:
        return _event(root, found[1], found[2], found[3])
    items, files = RecallFileStore(root), BlockFiles(root, paths.wiki_dir(root))
    for place, char in enumerate(name):  # a file that was made by hand may have a colon in its name
        file = name[:place].strip()
        if char == ":" and file and files.read(file) is not None:
            item = items.get(file, name[place + 1 :])
            if item is not None:
                return item
    return None


def _event(root: Path, date: str, ordinal: str | None, heading: str | None) -> DiaryEvent | None:
    BlockFiles(root, paths.diary_dir(root)).read(date)
    events = Diary(root).day(date) if _is_day(root, date) else []
    if ordinal is not None:
        return next((event for event in events if event.ordinal == int(ordinal)), None)
    found = [event for event in events if event.time == (heading or "").strip()]
    if len(found) > 1:
        names = " or ".join(f"{date}#{event.ordinal}" for event in found[:10])
        raise Refused(f"{len(found)} events of {date} have that time: say {names}")
    return found[0] if found else None


def _is_day(root: Path, date: str) -> bool:
    """True for a day that `Diary.day` knows: of the calendar, or one that has a file."""
    return date in Diary(root).dates()
