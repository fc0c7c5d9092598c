"""Session ids that differ in letter case only: their files would be one on many disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from memex_core.errors import InvalidName, NotFound
from memex_core.memex import Memex
from memex_core.model.node import WikiNode, WriteInput
from memex_core.model.session import IngestTranscriptInput


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    ingest(memex, "abc", "I am lower")
    return memex


def ingest(memex: Memex, session_id: str, said: str, *, overwrite: bool = False) -> str:
    turns = [{"role": "user", "content": said, "ts": "2026-09-15T10:00:00Z", "turn": 1}]
    request = IngestTranscriptInput(session_id, turns)  # type: ignore[arg-type]
    return memex.ingest_transcript(request, overwrite=overwrite).episode_file_path


def files(memex: Memex) -> dict[str, bytes]:
    found = [*(memex.root / "docs").rglob("*.md"), *(memex.root / "transcripts").iterdir()]
    return {str(path.relative_to(memex.root)): path.read_bytes() for path in found}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_session_whose_id_differs_in_case_only_is_refused(memex: Memex, overwrite: bool) -> None:
    before = files(memex)
    with pytest.raises(InvalidName, match="'abc'"):
        ingest(memex, "ABC", "I am upper", overwrite=overwrite)
    assert files(memex) == before


def test_an_episode_that_is_written_does_not_replace_that_of_another_session(memex: Memex) -> None:
    before = files(memex)
    with pytest.raises(InvalidName, match="'abc'"):
        memex.write(WriteInput("episode", "Mine", "I am upper", session_id="ABC"))
    for session_id in (None, "ABC"):
        with pytest.raises(InvalidName, match="'abc'"):
            memex.store.put(WikiNode("episode", "Mine", "x", slug="ABC", session_id=session_id))
    assert files(memex) == before


def test_deleting_a_session_leaves_the_one_whose_id_differs_in_case_only(memex: Memex) -> None:
    before = files(memex)
    with pytest.raises(NotFound):
        memex.delete_sessions(["ABC"])
    with pytest.raises(NotFound):
        memex.transcripts.delete_transcript("Abc")
    assert files(memex) == before


def test_an_episode_that_its_owner_renamed_stays_that_of_its_session(memex: Memex) -> None:
    page = memex.root / "docs" / "episodes" / "abc.md"
    page.rename(page.with_name("Abc.md"))
    path = ingest(memex, "abc", "I am still lower", overwrite=True)
    assert path == str(page.with_name("Abc.md")) and "still lower" in Path(path).read_text("utf-8")
    assert [page.name for page in page.parent.iterdir()] == ["Abc.md"]


def test_the_report_names_no_episode_that_is_not_there(memex: Memex) -> None:
    memex.forget("abc", node_type="episode")
    assert ingest(memex, "abc", "I am lower still", overwrite=True) == ""


def test_a_sidecar_is_not_that_of_an_id_in_another_case(memex: Memex) -> None:
    """As a disk that ignores case shows it."""
    folder = memex.root / "transcripts"
    (folder / "Abc.meta.json").write_bytes((folder / "abc.meta.json").read_bytes())
    assert memex.transcripts.sidecar("Abc") is None and memex.transcripts.sidecar("abc") is not None


def test_an_episode_of_a_hand_is_not_taken_by_an_id_in_another_case(memex: Memex) -> None:
    page = memex.root / "docs" / "episodes" / "xyz.md"
    page.write_text("mine", "utf-8")
    assert ingest(memex, "XYZ", "I am upper") == ""
    assert page.read_text("utf-8") == "mine" and memex.transcripts.sidecar("XYZ") is not None
