"""A memory whose consolidation asks a model that says what a test told it to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from test_remember import session

from memex_core.config import MemexConfig
from memex_core.consolidate import Consolidating
from memex_core.memex import Memex
from memex_core.model.llm import ModelCall
from memex_core.model.node import ConsolidateInput, WikiNode
from memex_core.model.results import ConsolidationReport

Answer = str | Sequence[dict[str, Any]] | Exception


def node(title: str = "ruff-is-the-linter", body: str = "", /, **fields: Any) -> dict[str, Any]:
    body = body or f"About {title.replace('-', ' ')}: it is settled for good."
    return {"type": "entity", "title": title, "body": body, "importance": 0.7, "tags": ["tooling"], **fields}


class ScriptedModel:
    """Gives its answers one after the other, then no more; lists of nodes as JSON, errors are raised."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []
        self.limits: list[int] = []

    def complete(self, prompt: str, max_tokens: int) -> str:
        self.prompts.append(prompt)
        self.limits.append(max_tokens)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)


class CountingModel(ScriptedModel):
    """One that keeps its calls, as our own clients do."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(*answers)
        self.calls: list[ModelCall] = []

    def complete(self, prompt: str, max_tokens: int) -> str:
        answer = super().complete(prompt, max_tokens)
        self.calls.append(ModelCall("test", "model-a", 1000, 20, False, 1.0))
        return answer


class AskedMemory:
    """A memory root with sessions, and a model for its consolidation."""

    def __init__(self, root: Path, config: MemexConfig | None = None) -> None:
        self.memex = Memex(root, config or MemexConfig())
        self.root = root
        self.model = ScriptedModel()

    def said(self, name: str, *texts: str, kind: str = "user", hour: int = 10) -> None:
        """A session in which the user said `texts`, one an exchange."""
        turns = [
            (f"{name}{number}{role}", role, text if role == "user" else "Noted.")
            for number, text in enumerate(texts)
            for role in ("user", "agent")
        ]
        captured = session(name, *turns, kind=kind)
        captured.header.started_at = captured.born_at = f"2026-09-15T{hour:02d}:00:00Z"
        captured.header.ended_at = f"2026-09-15T{hour:02d}:30:00Z"
        self.memex.remember(captured)

    def consolidate(
        self, *answers: Answer, model: ScriptedModel | None = None, **wanted: Any
    ) -> ConsolidationReport:
        self.model = model or ScriptedModel(*answers)
        try:
            return self.consolidating().run(ConsolidateInput(**wanted))
        finally:
            self.memex.heal(force=True)

    def consolidating(self) -> Consolidating:
        memex = self.memex
        return Consolidating(
            self.root, memex.config, memex.store, memex.journal, memex.now, self.search, lambda: self.model
        )

    def search(self, text: str, limit: int) -> list[WikiNode]:
        self.memex.heal(force=True)
        hits = self.memex.retriever.retrieve(text, top_k=limit)
        pages = [self.memex.store.read(hit.slug, hit.node_type) for hit in hits]
        return [page for page in pages if page is not None]

    def page(self, name: str) -> WikiNode:
        page = self.memex.store.read(name)
        assert page is not None, name
        return page

    def episode(self, name: str) -> WikiNode:
        page = self.memex.store.read(name, "episode")
        assert page is not None, name
        return page

    def write(self, title: str, body: str, kind: str = "entity", **fields: Any) -> WikiNode:
        return self.memex.store.write(WikiNode(kind, title, body, **fields))

    def files(self) -> dict[str, bytes]:
        """Every file of the memory but the index and the operation log."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.name.startswith(("mem.db", ".mem.db", ".lock", "memex.log"))
        }
