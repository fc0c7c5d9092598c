"""Transcripts given by a caller, and the way back from a page to them (seed 000 §4.4, §5.3, §9.5, §12)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memex_core.config import ExtractConfig, MemexConfig
from memex_core.errors import MemexError, Refused
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import IngestTranscriptInput

TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "I prefer ruff over flake8.", "ts": "2026-09-15T10:00:00Z", "turn": 1},
    {"role": "agent", "content": "Noted.", "ts": "2026-09-15T10:00:01Z", "turn": 2},
    {"role": "tool", "content": "shell", "tool_name": "shell", "query": "ls", "result": "a\nb",
     "ts": "2026-09-15T10:45:00Z", "turn": 3},
]  # fmt: skip


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root)


def request(session_id: str = "sess-1", turns: Any = None, **metadata: Any) -> IngestTranscriptInput:
    return IngestTranscriptInput(session_id, TURNS if turns is None else turns, metadata)


def lines(memex: Memex, session_id: str = "sess-1") -> list[dict[str, Any]]:
    path = memex.root / "transcripts" / f"{session_id}.jsonl"
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_the_turns_are_kept_as_they_were_given_behind_a_header(memex: Memex) -> None:
    report = memex.ingest_transcript(request(task="cli"))
    header, *turns = lines(memex)
    assert turns == TURNS and header["type"] == "memex_session_header"
    assert (report.turn_count, report.user_turns, report.agent_turns, report.tool_turns) == (3, 1, 1, 1)
    assert Path(report.transcript_file).exists() and Path(report.episode_file_path).exists()


def test_the_sidecar_has_the_fields_of_the_specification(memex: Memex) -> None:
    report = memex.ingest_transcript(request(task="cli", tags=["a", "b"]))
    sidecar = json.loads(Path(report.meta_file).read_bytes())
    assert sidecar["session_id"] == "sess-1" and sidecar["metadata"] == {"task": "cli", "tags": ["a", "b"]}
    assert (sidecar["started_at"], sidecar["ended_at"]) == ("2026-09-15T10:00:00Z", "2026-09-15T10:45:00Z")
    assert sidecar["turn_count"] == 3 and sidecar["agent_version"].startswith("memex/")


def test_the_episode_refers_to_the_transcript_and_preferences_become_pages(memex: Memex) -> None:
    memex.ingest_transcript(request())
    episode = memex.transcripts.get_episode_by_session("sess-1")
    assert episode is not None and episode.transcript_ref == "transcripts/sess-1.jsonl"
    (page,) = memex.list_pages("preference")
    assert memex.get_provenance(page.slug).confidence == "direct"


def test_extraction_can_be_switched_off(root: Path) -> None:
    memex = Memex(root, MemexConfig(extract=ExtractConfig(enabled=False)))
    memex.ingest_transcript(request())
    assert memex.list_pages("preference") == []


def test_a_session_that_is_there_is_not_written_over_unless_asked(memex: Memex) -> None:
    memex.ingest_transcript(request())
    before = (memex.root / "transcripts" / "sess-1.jsonl").read_bytes()
    with pytest.raises(FileExistsError, match="sess-1"):
        memex.ingest_transcript(request(turns=TURNS[:1]))
    assert (memex.root / "transcripts" / "sess-1.jsonl").read_bytes() == before


def test_overwriting_replaces_transcript_sidecar_episode_and_nodes(memex: Memex) -> None:
    memex.ingest_transcript(request(a=1))
    other = [
        {"role": "user", "content": "I prefer tabs over spaces.", "ts": "2026-09-16T10:00:00Z", "turn": 1}
    ]
    report = memex.ingest_transcript(request(turns=other, b=2), overwrite=True)
    assert report.outcome == "replaced" and report.turn_count == 1
    assert [line["content"] for line in lines(memex)[1:]] == ["I prefer tabs over spaces."]
    assert [page.title for page in memex.list_pages("preference")] == ["User preference: tabs over spaces"]
    sidecar = json.loads(Path(report.meta_file).read_bytes())
    assert sidecar["metadata"] == {"b": 2} and sidecar["started_at"] == "2026-09-16T10:00:00Z"
    assert "flake8" not in (memex.root / "docs" / "episodes" / "sess-1.md").read_text("utf-8")


def test_overwriting_with_the_same_changes_nothing(root: Path) -> None:
    Memex(root, now=lambda: "2026-09-15T11:00:00Z").ingest_transcript(request())
    memex = Memex(root, now=lambda: "2026-09-16T11:00:00Z")
    files = {path: path.read_bytes() for path in (memex.root / "docs").rglob("*.md")}
    assert memex.ingest_transcript(request(), overwrite=True).outcome == "unchanged"
    assert {path: path.read_bytes() for path in files} == files


@pytest.mark.parametrize("session_id", ["", "../x", "a/b", "a\0b", "con", "x" * 200, " ", "ü"])
def test_a_session_id_that_is_no_file_name_is_a_value_error(memex: Memex, session_id: str) -> None:
    with pytest.raises(ValueError, match="session id"):
        memex.ingest_transcript(request(session_id))
    assert not (memex.root / "transcripts").exists()


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        ({"role": "system", "content": "x"}, "role"),
        ({"content": "x"}, "role"),
        ("x", "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": 7}, "content"),
        ({"role": "user", "content": "x", "ts": "yesterday"}, "ts"),
        ({"role": "user", "content": "x", "turn": "one"}, "turn must be"),
        ({"role": "tool", "tool_name": ["x"]}, "tool_name"),
    ],
)
def test_a_turn_that_is_none_is_named_by_its_number_and_nothing_is_written(
    memex: Memex, turn: Any, says: str
) -> None:
    with pytest.raises(ValueError, match=rf"turn 2: .*{says}"):
        memex.ingest_transcript(request(turns=[TURNS[0], turn]))
    assert not (memex.root / "transcripts").exists()


def test_metadata_that_json_cannot_hold_is_a_value_error(memex: Memex) -> None:
    with pytest.raises(ValueError, match="metadata"):
        memex.ingest_transcript(request(x={1, 2}))


def test_a_session_that_was_deleted_on_purpose_is_refused(memex: Memex) -> None:
    memex.ingest_transcript(request())
    memex.transcripts.delete_transcript("sess-1")
    assert memex.list_sessions() == [] and memex.list_pages() == []
    with pytest.raises(Refused, match="on purpose"):
        memex.ingest_transcript(request())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=200), min_size=1, max_size=5))
def test_any_text_is_kept_and_read_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    memex = Memex(tmp_path_factory.mktemp("any") / "memex")
    turns = [{"role": "user", "content": text, "ts": "", "turn": n} for n, text in enumerate(texts, 1)]
    memex.ingest_transcript(request(turns=turns))
    kept = [line["content"] for line in lines(memex)[1:]]
    assert len(kept) == len(texts)
    for said, text in zip(kept, texts, strict=True):
        assert said == "".join(c for c in text if c in "\t\n\r" or ord(c) >= 0x20)


def test_a_page_that_an_episode_links_to_is_inferred_from_it(memex: Memex) -> None:
    memex.ingest_transcript(request())
    memex.write(WriteInput("entity", "Fact", "A fact."))
    assert memex.get_provenance("fact").confidence == "none"
    page = memex.read("sess-1")
    assert page is not None
    memex.write(
        WriteInput("episode", page.title, page.body + "\nSee [[fact]].\n", session_id="sess-1",
                   transcript_ref="transcripts/sess-1.jsonl")
    )  # fmt: skip
    report = memex.get_provenance("fact")
    assert report.confidence == "inferred" and report.linked_episodes == ["sess-1"]
    assert report.transcript_files == [str(memex.root / "transcripts" / "sess-1.jsonl")]
    assert report.direct_transcript_ref is None


def test_a_page_that_links_to_an_episode_is_inferred_from_it(memex: Memex) -> None:
    memex.ingest_transcript(request())
    memex.write(WriteInput("entity", "Fact", "A fact, from [[sess-1]]."))
    report = memex.get_provenance("fact")
    assert report.confidence == "inferred" and len(report.meta_files) == 1


def test_an_episode_written_by_hand_needs_its_session(memex: Memex) -> None:
    with pytest.raises(ValueError, match="session_id"):
        memex.write(WriteInput("episode", "A day", "Words."))
    written = memex.write(WriteInput("episode", "A day", "Words.", session_id="sess-9"))
    assert written.slug == "sess-9"


@pytest.mark.parametrize(
    "fields",
    [
        {"importance": 1.5},
        {"importance": float("nan")},
        {"expires_at": "soon"},
        {"valid_from": "x"},
        {"title": " "},
    ],
)
def test_what_the_specification_does_not_allow_is_a_value_error(memex: Memex, fields: dict[str, Any]) -> None:
    item = WriteInput("entity", "T", "b")
    for name, value in fields.items():
        setattr(item, name, value)
    with pytest.raises(ValueError) as caught:
        memex.write(item)
    assert not isinstance(caught.value, MemexError)
