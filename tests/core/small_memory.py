"""A memory root with pages and an index, for the tests of the index."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from memex_core.index.bm25_retriever import BM25Retriever
from memex_core.index.index_manager import IndexManager
from memex_core.index.link_manager import LinkManager
from memex_core.index.sync import SyncReport, recall_pages, sync
from memex_core.model.node import WikiNode
from memex_core.model.results import RecallHit
from memex_core.store.wiki_store import WikiStore


class SmallMemory:
    """Files through WikiStore, found through the index, as Memex does it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.db = root / "mem.db"
        self.store = WikiStore(root)
        self.index = IndexManager(self.db)
        self.links = LinkManager(self.db)
        self.retriever = BM25Retriever(self.db)

    def write(self, title: str, body: str = "", kind: str = "entity", **fields: Any) -> WikiNode:
        return self.store.write(WikiNode(type=kind, title=title, body=body, **fields))  # type: ignore[arg-type]

    def page(self, name: str, text: str | bytes) -> Path:
        """A hand-made file under docs/."""
        path = self.root / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    def sidecar(self, session_id: str, **fields: Any) -> Path:
        path = self.root / "transcripts" / f"{session_id}.meta.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"session_id": session_id, **fields}), "utf-8")
        return path

    def recalls(self, *lines: str) -> None:
        with (self.root / "recalls.jsonl").open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def sync(self, *, force: bool = False) -> SyncReport:
        return sync(self.index, self.root, force=force)

    def hits(self, query: str, **options: Any) -> list[RecallHit]:
        report = self.sync()
        return recall_pages(self.index, self.retriever, self.root, query, report, **options)[0]

    def found(self, query: str, **options: Any) -> list[str]:
        return [hit.slug for hit in self.hits(query, **options)]


def age(root: Path, seconds: float = 60) -> None:
    """Set the times of every file back, so that none counts as changed just now."""
    then = time.time() - seconds
    for folder in ("docs", "transcripts"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and not path.is_symlink():
                os.utime(path, (then, then))
