"""Answers of a model that could not be read, kept until they can: spool/answers/<id>.json (issue 3 item 4).

The first line is `memex-answer 1` and a JSON object {episode slug: content_hash of what was sent}; the answer
follows as it came, so that a person can mend it in any editor. Private, never backed up, deleted once it was
read and with any session that it is about.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memex_core import paths
from memex_core.files.atomic import remove_file, write_atomic
from memex_core.files.operation_log import log_operation
from memex_core.files.regular import read_regular

_MAGIC = "memex-answer 1 "


@dataclass(frozen=True, slots=True)
class Kept:
    """One answer and the episodes it is about: slug -> content_hash of the body that was sent."""

    path: Path
    episodes: Mapping[str, str]
    text: str


class KeptAnswers:
    """The answers kept in one memory root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = paths.spool_dir(root) / "answers"

    def all(self) -> list[Kept]:
        """Those that say what they are about, by name; another one is only logged."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            kept = _read(path)
            if kept is not None:
                found.append(kept)
            else:
                log_operation(
                    self.root, "read-answer", path.name, "skipped", detail="its first line is damaged"
                )
        return found

    def keep(self, episodes: Mapping[str, str], text: str) -> Path:
        """Keep an answer, in place of an earlier one about the same episodes."""
        name = hashlib.sha256("\n".join(sorted(episodes)).encode("utf-8", "replace")).hexdigest()[:16]
        path = self.folder / f"{name}.json"
        head = _MAGIC + json.dumps(dict(episodes), ensure_ascii=False)
        write_atomic(path, f"{head}\n{text}".encode("utf-8", "replace"))
        return path

    def drop(self, kept: Kept) -> None:
        with contextlib.suppress(FileNotFoundError):
            remove_file(kept.path)

    def drop_about(self, slug: str) -> None:
        """Delete every answer that is about this episode, among others or alone."""
        for kept in self.all():
            if slug in kept.episodes:
                self.drop(kept)


def _read(path: Path) -> Kept | None:
    try:
        data = read_regular(path).decode("utf-8", "replace")
        head, _, text = data.removeprefix("\ufeff").partition("\n")
        episodes = json.loads(head.removeprefix(_MAGIC))
    except (OSError, ValueError, RecursionError):
        return None
    is_told = isinstance(episodes, dict) and all(isinstance(sent, str) for sent in episodes.values())
    return Kept(path, episodes, text) if is_told else None
