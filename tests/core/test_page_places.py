"""What lies where a page would be and is none: links that lead outside, pipes, folders (DESIGN §4 Files)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memex_core.errors import NotFound, WikiStoreError
from memex_core.mcp_server.calls import call
from memex_core.memex import Memex
from memex_core.model.node import WikiNode, WriteInput
from memex_core.model.session import IngestTranscriptInput
from memex_core.store.wiki_store import WikiStore

SECRET = "outside and secret"


@pytest.fixture
def store(root: Path) -> WikiStore:
    (root / "docs" / "entities").mkdir(parents=True)
    return WikiStore(root)


def link_outside(path: Path) -> None:
    outside = path.parents[2].parent / "outside.md"
    outside.write_text(SECRET, "utf-8")
    path.symlink_to(outside)


def link_to_nowhere(path: Path) -> None:
    path.symlink_to("gone.md")


def link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


NO_PAGES = [link_outside, link_to_nowhere, link_to_a_device, pipe, folder]
each_of_them = pytest.mark.parametrize("make", NO_PAGES)
Make = Callable[[Path], None]


def untouched(root: Path) -> bool:
    outside = root.parent / "outside.md"
    return not outside.exists() or outside.read_text("utf-8") == SECRET


@each_of_them
def test_what_is_no_page_cannot_be_read_under_its_name(store: WikiStore, make: Make) -> None:
    make(store.root / "docs" / "entities" / "x.md")
    assert store.read("x") is None and store.read("x", "entity") is None and store.read("entity/x") is None
    assert store.find("entity", "x") is None and not store.exists("x", "entity")
    assert store.list() == [] == store.scan_all()


@each_of_them
def test_what_is_no_page_cannot_be_written_under_its_name(store: WikiStore, make: Make) -> None:
    path = store.root / "docs" / "entities" / "x.md"
    make(path)
    for slug in ("", "x", "X"):
        with pytest.raises(WikiStoreError, match="no page"):
            store.put(WikiNode("entity", "x", "mine", slug=slug))
    with pytest.raises(WikiStoreError, match="no page"):
        store.put(WikiNode("entity", "x", "mine", slug="x", id="1"))
    with pytest.raises(WikiStoreError, match="no page"):
        store.get_path("x", "entity")
    assert os.listdir(path.parent) == ["x.md"] and untouched(store.root)


@each_of_them
def test_what_is_no_page_is_neither_changed_nor_moved_nor_deleted(store: WikiStore, make: Make) -> None:
    path = store.root / "docs" / "entities" / "x.md"
    make(path)
    with pytest.raises(NotFound):
        store.amend("x", "entity", importance=0.1)
    with pytest.raises(NotFound):
        store.move("x", "summary", "entity")
    with pytest.raises(NotFound):
        store.delete("x", "entity")
    assert os.path.lexists(path) and untouched(store.root)


def test_a_page_is_not_moved_over_what_is_no_page(store: WikiStore) -> None:
    store.put(WikiNode("summary", "x", "mine"))
    link_outside(store.root / "docs" / "entities" / "x.md")
    with pytest.raises(WikiStoreError, match="no page"):
        store.move("x", "entity", "summary")
    assert store.exists("x", "summary") and untouched(store.root)


def test_a_page_behind_what_is_no_page_is_found_by_its_title(store: WikiStore) -> None:
    for title in ("a b", "a-b", "a.b"):
        store.put(WikiNode("entity", title, title))
    (store.root / "docs" / "entities" / "a-b-2.md").unlink()
    pipe(store.root / "docs" / "entities" / "a-b-2.md")
    found = store.find("entity", "a.b")
    assert found is not None and found.slug == "a-b-3"
    assert store.put(WikiNode("entity", "a.b", "new")).change == "update"


def test_a_page_that_became_a_pipe_is_one_no_more(store: WikiStore) -> None:
    page = store.put(WikiNode("entity", "x", "mine")).node
    assert page.file_path is not None and store.exists("x")
    other = page.file_path.with_name("x")
    page.file_path.rename(other)
    page.file_path.symlink_to("x")
    assert store.exists("x")
    other.unlink()
    os.mkfifo(other)
    assert store.read("x") is None and not store.exists("x")


def test_a_link_within_the_memory_is_a_page(store: WikiStore) -> None:
    store.put(WikiNode("entity", "x", "mine"))
    (store.root / "docs" / "entities" / "y.md").symlink_to("x.md")
    page = store.read("y")
    assert page is not None and page.body == "mine"


@pytest.mark.parametrize("inside", [True, False])
def test_a_folder_that_is_a_link_holds_no_pages(store: WikiStore, tmp_path: Path, inside: bool) -> None:
    elsewhere = store.root / "elsewhere" if inside else tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.md").write_text(SECRET, "utf-8")
    (store.root / "docs" / "procedures").symlink_to(elsewhere)
    assert store.read("x") is None and store.read("x", "procedure") is None and store.list() == []
    with pytest.raises(WikiStoreError, match="link"):
        store.put(WikiNode("procedure", "y", "mine"))
    with pytest.raises(WikiStoreError, match="link"):
        store.put(WikiNode("procedure", "x", "mine", slug="x"))
    with pytest.raises(NotFound):
        store.delete("x", "procedure")
    assert [path.name for path in elsewhere.iterdir()] == ["x.md"]


def test_docs_that_lead_outside_are_read_and_never_written(root: Path, tmp_path: Path) -> None:
    (tmp_path / "vault" / "entities").mkdir(parents=True)
    (tmp_path / "vault" / "entities" / "x.md").write_text(SECRET, "utf-8")
    root.mkdir(exist_ok=True)
    (root / "docs").symlink_to(tmp_path / "vault")
    store = WikiStore(root)
    assert store.exists("x") and [page.slug for page in store.list()] == ["x"]
    for act in (
        lambda: store.put(WikiNode("entity", "y", "mine")),
        lambda: store.put(WikiNode("entity", "x", "mine")),
        lambda: store.amend("x", importance=0.1),
        lambda: store.delete("x"),
        lambda: store.move("x", "summary"),
    ):
        with pytest.raises(WikiStoreError, match="outside"):
            act()
    assert (tmp_path / "vault" / "entities" / "x.md").read_text("utf-8") == SECRET


@each_of_them
def test_no_door_leads_to_what_is_no_page(root: Path, make: Make) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "a", "b"))
    make(root / "docs" / "entities" / "x.md")
    assert memex.read("x") is None and memex.recall(SECRET).hits == []
    for tool in ("memex_read", "memex_provenance", "memex_forget"):
        with pytest.raises(NotFound):
            call(memex, tool, {"slug": "x"})
    with pytest.raises(WikiStoreError, match="no page"):
        call(memex, "memex_write", {"type": "entity", "title": "x", "body": "y"})
    assert untouched(root)


@pytest.mark.parametrize("name", ["transcripts/s1.jsonl", "transcripts/s1.meta.json", "journal.jsonl",
                                  "recalls.jsonl", "forgotten.jsonl", ".recalls-folding.json"])  # fmt: skip
@pytest.mark.parametrize("make", [pipe, link_to_a_device])
def test_a_record_that_became_a_pipe_or_a_device_is_not_waited_for(root: Path, name: str, make: Make) -> None:
    memex = Memex(root)
    turns = [{"role": "user", "content": "I prefer ruff.", "turn": 1}]
    memex.ingest_transcript(IngestTranscriptInput("s1", turns))  # type: ignore[arg-type]
    memex.recall("ruff")
    path = root / name
    path.unlink(missing_ok=True)
    make(path)
    acts: list[Callable[[], object]] = [
        lambda: memex.list_sessions(),
        lambda: memex.transcripts.sidecar("s1"),
        lambda: memex.transcripts.damaged(),
        lambda: list(memex.transcripts.turns("s1")),
        lambda: memex.transcripts.header("s1"),
        lambda: list(memex.journal.lines()),
        lambda: memex.forgotten(),
        lambda: memex.recall("ruff"),
        lambda: memex.apply_decay(),
        lambda: memex.ingest_transcript(IngestTranscriptInput("s1", turns), overwrite=True),  # type: ignore[arg-type]
    ]
    for act in acts:
        try:
            act()
        except (OSError, WikiStoreError) as error:
            assert "regular file" in str(error) or "link" in str(error), error


def test_a_transcript_that_leads_outside_is_not_read(root: Path, tmp_path: Path) -> None:
    memex = Memex(root)
    (root / "transcripts").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_text('{"role": "user", "content": "secret", "turn": 1}\n', "utf-8")
    (root / "transcripts" / "s1.jsonl").symlink_to(outside)
    with pytest.raises(OSError, match="outside"):
        list(memex.transcripts.turns("s1"))
    outside.write_text('{"session_id": "s1", "title": "secret"}', "utf-8")
    (root / "transcripts" / "s1.meta.json").symlink_to(outside)
    assert memex.transcripts.sidecar("s1") is None and memex.transcripts.list_sessions() == []


@pytest.mark.parametrize("name", ["docs/episodes/s1.md", "docs/preferences"])
def test_what_is_no_page_costs_a_session_nothing_else(root: Path, tmp_path: Path, name: str) -> None:
    memex = Memex(root)
    (root / name).parent.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / name).symlink_to(tmp_path / "outside")
    turns = [{"role": "user", "content": "I prefer ruff over flake8.", "turn": 1}]
    memex.ingest_transcript(IngestTranscriptInput("s1", turns))  # type: ignore[arg-type]
    assert memex.transcripts.sidecar("s1") is not None and len(list(memex.transcripts.turns("s1"))) == 1
    assert len(memex.list_pages()) == 1 and list((tmp_path / "outside").iterdir()) == []
