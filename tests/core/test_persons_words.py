"""What a person wrote stays, whoever adds to it or deletes what was added (DESIGN §4, issue 2 item 7)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memex_core.mcp_server.calls import call
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import IngestTranscriptInput

MINE = "My own words, typed by a person."
SAID = "I prefer ruff over flake8."
TITLE = "User preference: ruff"

Road = Callable[[Memex, Path], None]


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root)


def ingest(memex: Memex, session_id: str = "s1", said: str = SAID) -> None:
    turns = [{"role": "user", "content": said, "ts": "2026-09-15T10:00:00Z", "turn": 1}]
    memex.ingest_transcript(IngestTranscriptInput(session_id, turns))  # type: ignore[arg-type]


def what_capture_calls_it(memex: Memex) -> tuple[str, Path]:
    """Title and file of the page that the session gives; neither page nor session is left."""
    ingest(memex, "s0")
    (page,) = memex.list_pages("preference")
    assert page.file_path is not None
    memex.delete_sessions(["s0"])
    assert not page.file_path.exists()
    return page.title, page.file_path


def typed(title: str, path: Path, memex: Memex) -> None:
    memex.write(WriteInput("preference", title, MINE))


def typed_over_mcp(title: str, path: Path, memex: Memex) -> None:
    call(memex, "memex_write", {"type": "preference", "title": title, "body": MINE})


def by_hand(title: str, path: Path, memex: Memex) -> None:
    path.write_text(f"# {title}\n\n{MINE}\n", "utf-8")


def by_hand_with_front_matter(title: str, path: Path, memex: Memex) -> None:
    path.write_text(f"---\ntitle: {json.dumps(title)}\n---\n{MINE}\n", "utf-8")


ROADS = [typed, typed_over_mcp, by_hand, by_hand_with_front_matter]


@pytest.mark.parametrize("road", ROADS)
def test_a_page_that_was_there_first_survives_the_session_that_added_to_it(memex: Memex, road: Road) -> None:
    title, path = what_capture_calls_it(memex)
    road(title, path, memex)  # type: ignore[call-arg,arg-type]
    ingest(memex)
    assert "[[s1]]" in path.read_text("utf-8")
    assert memex.delete_sessions(["s1"]) == [f"preferences/{path.stem}"]
    left = path.read_text("utf-8")
    assert MINE in left and "[[s1]]" not in left and "s1#" not in left


def test_what_the_session_stated_goes_with_it_from_a_page_of_a_person(memex: Memex) -> None:
    title, path = what_capture_calls_it(memex)
    typed(title, path, memex)
    ingest(memex)
    assert SAID in path.read_text("utf-8")
    memex.delete_sessions(["s1"])
    left = path.read_text("utf-8")
    assert MINE in left and SAID not in left and "Said in:" not in left


def test_a_person_who_says_it_too_keeps_their_line(memex: Memex) -> None:
    title, path = what_capture_calls_it(memex)
    memex.write(WriteInput("preference", title, f"{MINE}\n\n- {SAID}\n"))
    ingest(memex)
    memex.delete_sessions(["s1"])
    assert f"- {SAID}" in path.read_text("utf-8")


def test_words_written_over_what_capture_made_are_a_persons(memex: Memex) -> None:
    ingest(memex)
    (page,) = memex.list_pages("preference")
    assert page.file_path is not None
    memex.write(WriteInput("preference", page.title, MINE))
    memex.delete_sessions(["s1"])
    assert MINE in page.file_path.read_text("utf-8")


def test_a_turn_that_was_taken_back_takes_no_page_of_a_person_with_it(memex: Memex) -> None:
    title, path = what_capture_calls_it(memex)
    typed(title, path, memex)
    ingest(memex)
    turns = [{"role": "user", "content": "Now fix the build.", "ts": "2026-09-15T10:00:00Z", "turn": 1}]
    memex.ingest_transcript(IngestTranscriptInput("s1", turns), overwrite=True)  # type: ignore[arg-type]
    assert MINE in path.read_text("utf-8")


@pytest.mark.parametrize("text", [f"{MINE}\n", f"# Linting\n{MINE}\n", f"---\ntags: [x]\n---\n{MINE}\n"])
def test_an_agent_that_writes_again_and_again_never_replaces_a_person(memex: Memex, text: str) -> None:
    path = memex.root / "docs" / "preferences" / "linting.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    for body in ("Agent text one.", "Agent text two.", "Agent text three."):
        answer = call(memex, "memex_write", {"type": "preference", "title": "linting", "body": body})
        assert "their words stay" in answer.structured["note"]
        left = path.read_text("utf-8")
        assert MINE in left and body in left
    assert "text two" not in left  # its own words it may replace


def test_an_agent_never_replaces_what_a_person_wrote_with_a_command(memex: Memex) -> None:
    page = memex.write(WriteInput("preference", "Editor", MINE))
    call(memex, "memex_write", {"type": "preference", "title": "Editor", "body": "Uses emacs."})
    assert page.file_path is not None
    assert MINE in page.file_path.read_text("utf-8")


@pytest.mark.parametrize("mode", ["soft", "decay"])
def test_forgetting_softly_does_not_make_a_persons_page_ours(memex: Memex, mode: str) -> None:
    path = memex.root / "docs" / "preferences" / "linting.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"{MINE}\n", "utf-8")
    memex.forget("linting", mode)  # type: ignore[arg-type]
    call(memex, "memex_write", {"type": "preference", "title": "linting", "body": "Agent text."})
    assert MINE in path.read_text("utf-8")


def test_an_agent_replaces_its_own_page(memex: Memex) -> None:
    for body in ("Uses vim.", "Uses emacs."):
        call(memex, "memex_write", {"type": "preference", "title": "Editor", "body": body})
    page = memex.read("editor")
    assert page is not None and page.body == "Uses emacs." and not memex.store.is_edited(page)


def test_writing_the_same_twice_changes_nothing(memex: Memex) -> None:
    first = memex.write(WriteInput("preference", "Editor", MINE))
    assert first.file_path is not None
    before = first.file_path.read_bytes()
    memex.write(WriteInput("preference", "Editor", MINE))
    assert first.file_path.read_bytes() == before
