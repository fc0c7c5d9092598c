"""A memory whose recalls ask a loopback endpoint, for the tests of vectors."""

from __future__ import annotations

import json
from pathlib import Path

from loopback_embeddings import Embeddings
from wiki_and_diary import NOW, WikiAndDiary

from memex_core.model.results import RecallResult
from memex_core.open_memory import OpenMemory


class Meaningful(WikiAndDiary):
    """A memory root whose recalls ask `endpoint`."""

    def __init__(self, root: Path, endpoint: Embeddings) -> None:
        super().__init__(root)
        self.endpoint = endpoint
        self.memory = self.opened()

    def opened(self, **values: object) -> OpenMemory:
        return OpenMemory(self.root, self.endpoint.config(**values), lambda: NOW)

    def recall(self, query: str, **options: object) -> RecallResult:
        self.memory.heal(force=True)
        return self.memory.recall(query, **options)  # type: ignore[arg-type]

    def asked(self, query: str, **options: object) -> list[str]:
        """Every text that a recall sends."""
        before = len(self.endpoint.texts)
        self.recall(query, **options)
        return self.endpoint.texts[before:]


def configure(memory: Meaningful) -> None:
    """Write a memex.toml that says what `Meaningful` is given."""
    lines = ["[embed]", f'api_base = "{memory.endpoint.url}/v1"', 'model = "toy"', ""]
    (memory.root / "memex.toml").write_text("\n".join(lines))


def keys_of(folder: Path) -> tuple[dict[str, object], list[dict[str, str]]]:
    header, *keys = [json.loads(line) for line in (folder / "vectors.keys.jsonl").read_text().splitlines()]
    return header, keys
