"""The examples of docs/on-disk-format.md are a memory: it opens, and means what is written there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memex_core.memex import Memex
from memex_core.model.page import OWNED_KEYS, edited_by_hand

PAGE = Path(__file__).parents[2] / "docs" / "on-disk-format.md"
_EXAMPLE = re.compile(r"^```(?:markdown|json) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(_EXAMPLE.findall(PAGE.read_text("utf-8")))


@pytest.fixture
def memex(root: Path) -> Memex:
    for name, text in EXAMPLES.items():
        if name != "export":
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return Memex(root)


def test_every_kind_of_file_has_an_example() -> None:
    kinds = {name.split("/")[0] for name in EXAMPLES}
    assert kinds == {"docs", "transcripts", "journal.jsonl", "recalls.jsonl", "forgotten.jsonl", "export"}


def test_the_examples_open_without_a_warning(memex: Memex) -> None:
    assert memex.page_warnings() == [] and memex.index_problems() == []
    assert {page.type for page in memex.list_pages()} == {"preference", "entity", "episode"}


def test_what_we_wrote_is_known_as_ours_and_what_a_person_wrote_as_theirs() -> None:
    ours = {name: edited_by_hand(text) for name, text in EXAMPLES.items() if name.startswith("docs/")}
    assert ours == {
        "docs/preferences/user-preference-ruff-over-flake8.md": False,
        "docs/entities/by-hand.md": True,
        "docs/episodes/sess-abc123.md": False,
    }


def test_the_session_is_listed_and_whole(memex: Memex) -> None:
    (session,) = memex.list_sessions()
    assert (session.session_id, session.turn_count) == ("sess-abc123", 3)
    assert memex.transcripts.damaged() == []
    assert [turn.role for turn in memex.transcripts.turns("sess-abc123")] == ["user", "agent", "tool"]


def test_pages_lead_back_to_the_session(memex: Memex) -> None:
    report = memex.get_provenance("user-preference-ruff-over-flake8")
    assert report.confidence == "direct" and report.sources == ["sess-abc123#1"]


def test_the_recall_counts(memex: Memex) -> None:
    memex.heal()
    page = memex.read("user-preference-ruff-over-flake8")
    assert page is not None and page.access_count == 1


def test_the_export_imports(memex: Memex) -> None:
    report = memex.import_nodes(json.loads(EXAMPLES["export"]))
    assert report.created == ["ruff-linter"] and report.refused == []


def test_every_key_that_we_write_is_explained() -> None:
    text = PAGE.read_text("utf-8")
    assert [key for key in OWNED_KEYS if f"`{key}`" not in text and key != "type"] == []
