"""Forgetting a page (seed 000 §9.4; DESIGN §3 rows forgetting, soft and decay without a date)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memex_core.errors import NotFound, Refused
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import IngestTranscriptInput

NOW = "2026-09-15T10:00:00Z"
SAID = "I prefer ruff over flake8."


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root, now=lambda: NOW)
    memex.write(WriteInput("procedure", "Deploy", "How to deploy."))
    memex.write(WriteInput("entity", "Zephyr", "Zephyr is our build server. [[deploy]]"))
    return memex


def ingest(memex: Memex, session_id: str = "s1", *, overwrite: bool = False) -> None:
    turns = [
        {"role": "user", "content": SAID, "ts": NOW, "turn": 1},
        {"role": "agent", "content": "Noted.", "ts": NOW, "turn": 2},
    ]
    memex.ingest_transcript(IngestTranscriptInput(session_id, turns), overwrite=overwrite)  # type: ignore[arg-type]


def found(memex: Memex, query: str, **options: bool) -> list[str]:
    return [hit.slug for hit in memex.recall(query, **options).hits]  # type: ignore[arg-type]


def test_hard_deletes_the_file_its_row_and_its_links(memex: Memex) -> None:
    result = memex.forget("zephyr")
    assert (result.slug, result.forgotten, result.mode, result.file_path) == ("zephyr", True, "hard", None)
    assert not (memex.root / "docs" / "entities" / "zephyr.md").exists()
    assert found(memex, "zephyr") == [] and memex.links.get_backlinks("deploy") == []


def test_hard_leaves_no_word_of_the_page_in_any_file_but_the_log_of_nothing(memex: Memex) -> None:
    memex.write(WriteInput("entity", "Quixotic", "Xylophonic umbrella."))
    memex.recall("umbrella")
    memex.forget("quixotic")
    for path in memex.root.rglob("*"):
        if path.is_file():
            data = path.read_bytes().lower()
            assert b"quixotic" not in data or path.parent.name == "logs", path
            assert b"xylophonic" not in data and b"umbrella" not in data, path


def test_hard_stays_forgotten_when_the_session_is_taken_in_again(memex: Memex) -> None:
    ingest(memex)
    (page,) = memex.list_pages("preference")
    memex.forget(page.slug)
    ingest(memex, overwrite=True)
    assert memex.list_pages("preference") == []


def test_a_forgotten_episode_stays_away_too(memex: Memex) -> None:
    ingest(memex)
    memex.forget("s1", node_type="episode")
    (memex.root / "transcripts" / "s1.meta.json").unlink()
    ingest(memex, overwrite=True)
    assert memex.read("s1") is None and memex.find_session("s1") is not None


def test_soft_ends_a_page_now_and_keeps_its_file(memex: Memex) -> None:
    result = memex.forget("zephyr", mode="soft")
    page = memex.read("zephyr")
    assert page is not None and page.valid_to == NOW and page.updated == NOW
    assert result.file_path == str(page.file_path)
    assert found(memex, "zephyr") == [] and found(memex, "zephyr", include_expired=True) == ["zephyr"]


def test_soft_with_a_date_ends_it_then(memex: Memex) -> None:
    memex.forget("zephyr", "soft", valid_to="2099-01-01")
    page = memex.read("zephyr")
    assert page is not None and page.valid_to == "2099-01-01"
    assert found(memex, "zephyr") == ["zephyr"]


def test_decay_expires_after_one_half_life(memex: Memex) -> None:
    memex.forget("zephyr", mode="decay")
    page = memex.read("zephyr")
    assert page is not None and page.expires_at == "2026-10-15T10:00:00Z" and page.valid_to is None


def test_decay_with_a_date_expires_then(memex: Memex) -> None:
    memex.forget("zephyr", mode="decay", valid_to="2020-01-01T00:00:00Z")
    assert found(memex, "zephyr") == []


@pytest.mark.parametrize("mode", ["hard", "soft", "decay"])
def test_what_does_not_exist_cannot_be_forgotten(memex: Memex, mode: str) -> None:
    with pytest.raises(FileNotFoundError, match="nope"):
        memex.forget("nope", mode=mode)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        memex.forget("nope", mode=mode)  # type: ignore[arg-type]


def test_a_wrong_mode_or_date_is_an_error_and_changes_nothing(memex: Memex) -> None:
    before = (memex.root / "docs" / "entities" / "zephyr.md").read_bytes()
    with pytest.raises(ValueError, match="mode must be"):
        memex.forget("zephyr", mode="gone")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a date"):
        memex.forget("zephyr", mode="soft", valid_to="tomorrow")
    assert (memex.root / "docs" / "entities" / "zephyr.md").read_bytes() == before


def test_forgetting_is_journalled_without_the_words_of_what_was_deleted(memex: Memex) -> None:
    memex.forget("zephyr")
    memex.forget("deploy", mode="soft")
    lines = list(memex.journal.lines())
    assert lines[-1]["detail"] == "forgotten (soft)" and lines[-1]["file"] == "procedures/deploy"
    assert "Zephyr" not in json.dumps(lines)


def test_a_hand_made_page_in_a_folder_of_its_own_can_be_forgotten(memex: Memex) -> None:
    page = memex.root / "docs" / "ideas" / "kite.md"
    page.parent.mkdir()
    page.write_text("Fly a kite.\n", "utf-8")
    memex.forget("kite")
    assert not page.exists()


def test_a_slug_that_two_types_use_must_be_named_with_its_type(memex: Memex) -> None:
    memex.write(WriteInput("summary", "Zephyr", "A summary."))
    with pytest.raises(Refused, match="several pages") as caught:
        memex.forget("zephyr")
    assert "entity/zephyr or summary/zephyr" in caught.value.hint
    memex.forget("summary/zephyr")
    assert [page.type for page in memex.list_pages() if page.slug == "zephyr"] == ["entity"]


def test_a_date_with_hard_is_an_error(memex: Memex) -> None:
    with pytest.raises(ValueError, match="hard deletes at once"):
        memex.forget("zephyr", valid_to="2030-01-01")
    assert memex.read("zephyr") is not None


def test_what_was_forgotten_stays_away_on_import_until_a_person_writes_it_anew(memex: Memex) -> None:
    exported = memex.export_nodes()
    memex.forget("zephyr")
    assert memex.import_nodes(exported).skipped == ["zephyr"] and memex.read("zephyr") is None
    memex.write(WriteInput("entity", "Zephyr", "Written anew."))
    again = memex.export_nodes()
    (memex.root / "docs" / "entities" / "zephyr.md").unlink()
    assert memex.import_nodes(again).created == ["zephyr"]
