"""The examples of docs/on-disk-format.md are a memory: it opens, and means what is written there."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from memex_core.memex import Memex
from memex_core.model.item import DiaryEvent, RecallItem
from memex_core.model.page import OWNED_KEYS, edited_by_hand
from memex_core.model.session import Source
from memex_core.model.sidecar import KeptNode, Sidecar, ToldEvent
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore
from memex_core.text.blocks import Provenance, render_file

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
    records = {"journal.jsonl", "recalls.jsonl", "forgotten.jsonl"}
    assert kinds == {"docs", "wiki", "diary", "transcripts", "export"} | records


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


def test_items_and_events_are_as_we_would_write_them(memex: Memex) -> None:
    items = RecallFileStore(memex.root).items("preferences")
    events = Diary(memex.root).day("2026-09-15")
    assert [item.name for item in items] == ["linter", "editor"] and len(events) == 2
    for name, blocks in (
        ("wiki/preferences.md", [(item.name, item.content, _said(item)) for item in items]),
        ("diary/2026-09-15.md", [(event.time, event.content, _said(event)) for event in events]),
    ):
        assert render_file(Path(name).stem, blocks) == EXAMPLES[name]


def _said(block: RecallItem | DiaryEvent) -> Provenance:
    return Provenance(block.owner, block.source_conv, block.ts)


def test_items_events_and_pages_link_as_the_page_says(memex: Memex) -> None:
    memex.heal()
    assert memex.links.get_outgoing("preferences:linter") == ["user-preference-ruff-over-flake8"]
    assert memex.links.get_outgoing("2026-09-15#1") == ["by-hand", "preferences:linter"]
    assert memex.links.get_backlinks("preferences:linter") == ["2026-09-15#1", "preferences:editor"]
    assert memex.links.broken_links() == [("docs/entities/by-hand.md", "deploy")]


def test_the_sidecar_knows_its_event(memex: Memex) -> None:
    sidecar = memex.transcripts.sidecar("sess-abc123")
    assert sidecar is not None
    (told,) = sidecar.diary
    event = Diary(memex.root).event(told.date, 0)
    assert event is not None and event.ts == told.ts and event.source_conv == "sess-abc123"
    assert hashlib.sha256(event.content.encode()).hexdigest() == told.sha256
    assert sidecar.turn_ids[told.turn - 1] == told.turn_id
    assert memex.delete_sessions(["sess-abc123"]) == []
    assert len(Diary(memex.root).day("2026-09-15")) == 1


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
    kinds = (Sidecar, KeptNode, ToldEvent, Source)
    assert [field.name for kind in kinds for field in fields(kind) if f"`{field.name}`" not in text] == []
