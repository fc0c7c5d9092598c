from __future__ import annotations

from pathlib import Path

import pytest
from small_memory import SmallMemory

from memex_core.index.session_rows import SessionTable


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    return SmallMemory(root)


def responses(*ids: str) -> dict[str, object]:
    return {"fields": ["id", "model"], "rows": [[response_id, "m"] for response_id in ids]}


def test_sessions_are_listed_with_what_their_sidecars_say(memory: SmallMemory) -> None:
    memory.sidecar(
        "s1",
        harness="codex",
        kind="user",
        started_at="2026-05-01T10:00:00Z",
        ended_at="2026-05-01T11:00:00Z",
        turn_count=7,
        title="Fix 部署",
        project="/p/.git",
        project_label="p",
        token_usage={"total_tokens": 1234},
    )
    memory.sidecar("s2", started_at="2026-05-02T10:00:00Z", token_usage=None)
    memory.write("Fix 部署", "x", "episode", slug="s1")
    memory.sync()
    second, first = SessionTable(memory.db, memory.root).all()
    assert (second.session_id, second.total_tokens, second.episode_slug) == ("s2", None, None)
    assert (first.session_id, first.harness, first.turn_count, first.title) == ("s1", "codex", 7, "Fix 部署")
    assert (first.total_tokens, first.episode_slug, first.project_label) == (1234, "s1", "p")
    assert first.file_path == str(memory.root / "transcripts" / "s1.jsonl")


def test_the_holders_of_a_response_are_found(memory: SmallMemory) -> None:
    memory.sidecar("s1", responses=responses("r1", "r2", "r2#1"))
    memory.sidecar("s2", responses=responses("r2", "r3"))
    memory.sync()
    table = SessionTable(memory.db, memory.root)
    assert table.holders(["r2"]) == {"s1", "s2"}
    assert table.holders(["r1#4", "nothing"]) == {"s1"}
    assert table.holders([]) == set()
    assert table.holders(f"r{i}" for i in range(3000)) == {"s1", "s2"}


def test_a_sidecar_that_changed_or_went_is_followed(memory: SmallMemory) -> None:
    path = memory.sidecar("s1", responses=responses("r1"))
    memory.sync()
    memory.sidecar("s1", responses=responses("r2"))
    memory.sync()
    table = SessionTable(memory.db, memory.root)
    assert (table.holders(["r1"]), table.holders(["r2"])) == (set(), {"s1"})
    path.unlink()
    memory.sync()
    assert table.all() == [] and table.holders(["r2"]) == set()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"session_id": "other"}',
        '{"session_id": 7}',
        "[" * 100_000,
        '{"session_id": "bad", "turn_count": 1e400, "responses": 1, "title": ["x"]',
    ],
)
def test_a_sidecar_that_cannot_be_read_costs_only_itself(memory: SmallMemory, text: str) -> None:
    memory.sidecar("good")
    memory.sidecar("bad").write_text(text, "utf-8")
    report = memory.sync()
    assert report.usable and [path for path, _ in report.problems] == ["transcripts/bad.meta.json"]
    assert [s.session_id for s in SessionTable(memory.db, memory.root).all()] == ["good"]


def test_odd_values_in_a_sidecar_are_passed_over(memory: SmallMemory) -> None:
    memory.sidecar(
        "s1", turn_count="many", title=["x"], token_usage=[1], responses={"rows": [1, [], [2], ["r\ud800"]]}
    )
    assert memory.sync().problems == []
    (summary,) = SessionTable(memory.db, memory.root).all()
    assert (summary.turn_count, summary.title, summary.total_tokens) == (0, "", None)
