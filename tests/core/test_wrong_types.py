"""Arguments of the Python API that are of no use are refused, each by its name (seed 000 §4, §9)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memex_core.memex import Memex
from memex_core.model.node import ConsolidateInput, WriteInput
from memex_core.model.session import IngestTranscriptInput

TURNS: list[Any] = [{"role": "user", "content": "x", "turn": 1}]
FIELDS: dict[str, list[Any]] = {
    "type": [None, 1, ["entity"]],
    "title": [None, 1, b"x", ["x"]],
    "body": [None, 1, b"x", ["x"]],
    "tags": ["python", None, [1], {"a": 1}, [None]],
    "links": ["ruff", [1], 5],
    "sources": ["s1#1", [1], 5],
    "importance": [True, False, "0.5", [1], float("nan"), 2],
    "session_id": [1, ["s1"]],
    "transcript_ref": [1, [1], {}],
    "expires_at": [5, ["2026-01-01"]],
    "valid_from": [5],
    "valid_to": [{}],
    "project": [{}, 1],
    "project_label": [[], 1],
}
Act = Callable[[Memex], object]
ACTS: dict[str, list[Act]] = {
    "item": [lambda m: m.write("x"), lambda m: m.write(None)],  # type: ignore[arg-type]
    "slug": [
        lambda m: m.forget(None),  # type: ignore[arg-type]
        lambda m: m.forget(5),  # type: ignore[arg-type]
        lambda m: m.get_provenance(None),  # type: ignore[arg-type]
    ],
    "mode": [lambda m: m.forget("a", []), lambda m: m.forget("a", None),  # type: ignore[arg-type]
             lambda m: m.consolidate(ConsolidateInput(mode=[]))],  # type: ignore[arg-type]
    "valid_to": [lambda m: m.forget("a", "soft", 5)],  # type: ignore[arg-type]
    "node_type": [
        lambda m: m.forget("a", node_type=[]),  # type: ignore[arg-type]
        lambda m: m.export_nodes(["entity"]),  # type: ignore[arg-type]
    ],
    "input": [
        lambda m: m.consolidate("full"),  # type: ignore[arg-type]
        lambda m: m.ingest_transcript(None),  # type: ignore[arg-type]
    ],
    "episode_ids": [
        lambda m: m.consolidate(ConsolidateInput(episode_ids="s1")),  # type: ignore[arg-type]
        lambda m: m.consolidate(ConsolidateInput(episode_ids=[1])),  # type: ignore[list-item]
    ],
    "max_episodes": [
        lambda m: m.consolidate(ConsolidateInput(max_episodes="3")),  # type: ignore[arg-type]
        lambda m: m.consolidate(ConsolidateInput(max_episodes=True)),
    ],
    "include_links": [lambda m: m.consolidate(ConsolidateInput(include_links="no"))],  # type: ignore[arg-type]
    "session_id": [
        lambda m: m.ingest_transcript(IngestTranscriptInput(5, TURNS)),  # type: ignore[arg-type]
        lambda m: m.ingest_transcript(IngestTranscriptInput(["s"], TURNS)),  # type: ignore[arg-type]
    ],
    "turns": [
        lambda m: m.ingest_transcript(IngestTranscriptInput("s", "turns")),  # type: ignore[arg-type]
        lambda m: m.ingest_transcript(IngestTranscriptInput("s", None)),  # type: ignore[arg-type]
    ],
    "metadata": [lambda m: m.ingest_transcript(IngestTranscriptInput("s", TURNS, []))],  # type: ignore[arg-type]
    "overwrite": [
        lambda m: m.ingest_transcript(IngestTranscriptInput("s", TURNS), overwrite="no")  # type: ignore[arg-type]
    ],
    "dry_run": [lambda m: m.apply_decay("no")],  # type: ignore[arg-type]
    "force": [lambda m: m.rebuild_index("no")],  # type: ignore[arg-type]
    "output_path": [lambda m: m.backup(None), lambda m: m.backup(5)],  # type: ignore[arg-type]
    "include_mem_db": [lambda m: m.backup(m.root.parent / "b.tar.gz", "no")],  # type: ignore[arg-type]
    "archive_path": [lambda m: m.check_backup(None)],  # type: ignore[arg-type]
    "input_path": [lambda m: m.restore(None)],  # type: ignore[arg-type]
    "on_conflict": [lambda m: m.import_nodes([], []), lambda m: m.import_nodes([], None)],  # type: ignore[arg-type]
    "folder": [lambda m: m.import_wikimem(None), lambda m: m.export_wikimem(5)],  # type: ignore[arg-type]
    "session_ids": [lambda m: m.delete_sessions("s1"), lambda m: m.delete_sessions([1]),  # type: ignore[list-item]
                    lambda m: m.delete_sessions(None)],  # type: ignore[arg-type]
}  # fmt: skip


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(WriteInput("entity", "a", "b"))
    return memex


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in FIELDS.items() for v in values])
def test_a_field_of_the_wrong_type_is_refused_by_its_name(memex: Memex, name: str, value: Any) -> None:
    item = WriteInput(**{"type": "entity", "title": "x", "body": "y", name: value})
    with pytest.raises(ValueError, match=name if name != "type" else "page type|type"):
        memex.write(item)
    assert [page.slug for page in memex.list_pages()] == ["a"]


@pytest.mark.parametrize(("name", "act"), [(name, act) for name, acts in ACTS.items() for act in acts])
def test_an_argument_of_the_wrong_type_is_refused_by_its_name(memex: Memex, name: str, act: Act) -> None:
    with pytest.raises(ValueError, match=name):
        act(memex)
    assert [page.slug for page in memex.list_pages()] == ["a"]


def test_whole_numbers_and_tuples_are_what_they_say(memex: Memex) -> None:
    page = memex.write(WriteInput("entity", "x", "y", tags=("b", "c"), importance=1))  # type: ignore[arg-type]
    assert (page.tags, page.importance) == (["b", "c"], 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("query", value) for value in (None, 7, b"x", ["x"])],
        *[("top_k", value) for value in ("5", 2.5, True, 0, 101)],
        *[("tags", value) for value in ("abc", [1], {"a": 1})],
        *[("project", value) for value in ([], 3)],
        *[("time_range", value) for value in (("2026-01-01",), (1, 2), ("x", None))],
        *[("node_type", value) for value in ("idea", 5)],
        *[("budget", value) for value in (0, "9", 1.5)],
    ],
)
def test_a_recall_of_wrong_types_is_a_value_error(root: Path, name: str, value: object) -> None:
    asked = {"query": "ruff", name: value}
    with pytest.raises(ValueError):
        Memex(root).recall(**asked)  # type: ignore[arg-type]
