"""A memory root with pages, RecallFiles and a diary, for the tests of what is found in them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from small_memory import SmallMemory

from memex_core.open_memory import OpenMemory

NOW = "2026-03-11T12:00:00Z"
"""A Wednesday."""


class WikiAndDiary(SmallMemory):
    """As `SmallMemory`, and files of the other two layers written by hand."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.memory = OpenMemory(root, now=lambda: NOW)

    def file(self, name: str, text: str | bytes) -> Path:
        """A hand-made file under the memory root: `wiki/pets.md`."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    def wiki(self, file: str, **items: str) -> Path:
        """A RecallFile of these items; a name's `_` is a space."""
        blocks = (f"## {name.replace('_', ' ')}\n\n{content}\n" for name, content in items.items())
        return self.file(f"wiki/{file}.md", f"# {file}\n\n" + "\n".join(blocks))

    def day(self, date: str, *events: tuple[str, str]) -> Path:
        """A day of (time, content)."""
        blocks = (f"## {moment}\n\n{content}\n" for moment, content in events)
        return self.file(f"diary/{date}.md", f"# {date}\n\n" + "\n".join(blocks))

    def slugs(self, query: str, **options: object) -> list[str]:
        """What a recall gives, its index brought up to date first."""
        self.memory.heal(force=True)
        return [hit.slug for hit in self.memory.recall(query, **options).hits]  # type: ignore[arg-type]


def set_back(root: Path, seconds: float = 60) -> None:
    """Set the times of every RecallFile and day back, so that none counts as changed just now."""
    then = time.time() - seconds
    for folder in ("wiki", "diary"):
        for path in (root / folder).glob("*.md"):
            os.utime(path, (then, then))
