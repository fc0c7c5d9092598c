"""The 21 acceptance tests of seed 000 §13, under their own names; each with both kinds of index journal."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memex_core import IngestTranscriptInput, Memex, MemexConfig, WikiNode, WriteInput
from memex_core.config import IndexConfig

FIRST = "2026-09-15T10:00:00Z"
SECOND = "2026-09-16T10:00:00Z"


class Clock:
    """A time that stands still until the test moves it."""

    now = FIRST

    def __call__(self) -> str:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["wal", "delete"])
def memex(root: Path, clock: Clock, request: pytest.FixtureRequest) -> Iterator[Memex]:
    """A memory whose index has the journal mode that the test's parameter names, to its end."""
    memex = Memex(root, MemexConfig(index=IndexConfig(journal_mode=request.param)), now=clock)
    memex.heal()
    yield memex
    assert rows(memex, "PRAGMA journal_mode") == [(request.param,)]


def rows(memex: Memex, query: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(memex.root / "mem.db")) as db:
        return db.execute(query, values).fetchall()


def indexed(memex: Memex) -> list[str]:
    return [row[0] for row in rows(memex, "SELECT slug FROM wiki_index ORDER BY slug")]


def front_matter(page: Path) -> str:
    return page.read_text("utf-8").split("---\n")[1]


def entity(memex: Memex, title: str, body: str = "Some words.", **fields: Any) -> WikiNode:
    return memex.write(WriteInput("entity", title, body, **fields))


def turns(*said: tuple[str, str]) -> list[Any]:
    return [
        {"role": role, "content": text, "ts": f"2026-09-15T10:00:{number:02d}Z", "turn": number}
        for number, (role, text) in enumerate(said, 1)
    ]


def ingest(memex: Memex, session_id: str, *said: tuple[str, str]) -> Any:
    return memex.ingest_transcript(IngestTranscriptInput(session_id, turns(*said), {"task": session_id}))


def test_wiki_write_and_read(memex: Memex) -> None:
    body = "# Ruff linter\n\nRuff is a fast Python linter.\n"
    written = memex.write(WriteInput("entity", "Ruff linter", body, tags=["tool", "linter"], importance=0.8))
    page = memex.read("ruff-linter")
    assert page is not None
    assert (page.type, page.title, page.body) == ("entity", "Ruff linter", body)
    assert (page.tags, page.importance, page.created, page.updated) == (["tool", "linter"], 0.8, FIRST, FIRST)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", page.id) and page.id == written.id
    path = memex.root / "docs" / "entities" / "ruff-linter.md"
    assert written.file_path == page.file_path == path
    text = front_matter(path)
    for line in (f'id: "{page.id}"', 'type: "entity"', 'title: "Ruff linter"', "importance: 0.8"):
        assert line in text.splitlines()
    assert path.read_text("utf-8").endswith(body)


def test_wiki_slug_derivation(memex: Memex) -> None:
    assert entity(memex, "Ruff Linter!").slug == "ruff-linter"
    assert entity(memex, "  --Python 3.11 / uv__tool-- ").slug == "python-3-11-uv-tool"
    long = entity(memex, "word " * 40).slug
    assert len(long) <= 64 and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", long)
    assert entity(memex, "Ruff: linter").slug == "ruff-linter-2"
    assert entity(memex, "Ruff, linter?").slug == "ruff-linter-3"
    nothing = entity(memex, "!!!")
    assert nothing.slug == nothing.id[:8]


def test_wiki_list_filter_by_type(memex: Memex) -> None:
    for kind in ("entity", "preference", "procedure", "summary"):
        for number in (1, 2):
            memex.write(WriteInput(kind, f"{kind} {number}", "Words."))
    memex.write(WriteInput("episode", "A session", "Words.", session_id="s1"))
    for kind in ("entity", "preference", "procedure", "summary"):
        listed = memex.store.list(kind)
        assert {page.type for page in listed} == {kind}
        assert [page.title for page in listed] == [f"{kind} 1", f"{kind} 2"]
    assert [page.slug for page in memex.store.list("episode")] == ["s1"]
    assert len(memex.store.list()) == 9


def test_wiki_delete(memex: Memex) -> None:
    path = entity(memex, "Zephyr", "Our build server.").file_path
    assert path is not None and path.exists() and indexed(memex) == ["zephyr"]
    memex.store.delete("zephyr")
    assert not path.exists()
    assert memex.recall("build server").hits == [] and indexed(memex) == []
    assert memex.read("zephyr") is None


def test_wiki_front_matter_roundtrip(memex: Memex) -> None:
    fields: dict[str, Any] = {
        "tags": ["a", "b: c", "ünï"],
        "importance": 0.25,
        "links": ["zephyr"],
        "session_id": "sess-abc123",
        "transcript_ref": "transcripts/sess-abc123.jsonl",
        "expires_at": "2027-01-01T00:00:00Z",
        "valid_from": "2026-01-01T00:00:00Z",
        "valid_to": "2026-12-31",
    }
    entity(memex, "zephyr")
    memex.write(WriteInput("episode", 'A "quoted": title', "Words.", **fields))
    page = Memex(memex.root, memex.config).read("sess-abc123")
    assert page is not None and page.title == 'A "quoted": title' and page.warning == ""
    for name, value in fields.items():
        assert getattr(page, name) == value, name


def test_wiki_link_parsing(memex: Memex) -> None:
    for name in ("python-3-11", "project-tooling", "named"):
        entity(memex, name)
    body = "See [[python-3-11]], [[Project Tooling]], [[named|a label]]; `[[no]]`; again [[python-3-11]].\n"
    page = entity(memex, "Ruff", body)
    wanted = ["python-3-11", "project-tooling", "named"]
    assert memex.links.parse_links(body) == wanted and page.links == wanted
    assert 'links: ["python-3-11", "project-tooling", "named"]' in front_matter(page.file_path)  # type: ignore[arg-type]
    assert memex.links.get_outgoing("ruff") == sorted(wanted)
    assert memex.links.get_backlinks("project-tooling") == ["ruff"]


def test_index_build_and_query(memex: Memex) -> None:
    nodes = [
        WikiNode("entity", "One", "ruff ruff ruff is a linter", slug="one", id="1"),
        WikiNode("entity", "Two", "ruff is named once among other words of a text", slug="two", id="2"),
        WikiNode("entity", "Three", "something else", slug="three", id="3"),
    ]
    assert memex.index.build(nodes) == 3
    hits = memex.retriever.retrieve("ruff")
    assert [hit.slug for hit in hits] == ["one", "two"]
    assert hits[0].score > hits[1].score and [hit.rank for hit in hits] == [1, 2]
    assert all("<mark>ruff</mark>" in hit.snippet for hit in hits)


def test_index_rebuild_from_wiki(memex: Memex) -> None:
    for number in range(5):
        entity(memex, f"Page {number}", f"word{number}")
    before = memex.index.get_meta("last_index_rebuild")
    (memex.root / "mem.db").unlink()
    time.sleep(1.1)  # the stamp has whole seconds
    memex.rebuild_index(force=True)
    assert indexed(memex) == [f"page-{number}" for number in range(5)]
    assert [memex.recall(f"word{number}").hits[0].slug for number in range(5)] == indexed(memex)
    after = memex.index.get_meta("last_index_rebuild")
    assert before is not None and after is not None and after > before


def test_bm25_scoring(memex: Memex) -> None:
    bodies = ["zebra", "zebra zebra zebra", "horse", "donkey", "mule"]
    for number, body in enumerate(bodies):
        entity(memex, f"Page {number}", f"{body} stands in a field of grass near the old barn today")
    hits = memex.recall("zebra").hits
    assert [hit.slug for hit in hits] == ["page-1", "page-0"]
    assert hits[0].score > hits[1].score > 0
    assert [slug for slug, _ in memex.retriever.search_fts("zebra", 10)] == ["page-1", "page-0"]


def test_recall_increments_access(memex: Memex, clock: Clock) -> None:
    entity(memex, "Zephyr", "Our build server.")
    entity(memex, "Other", "Something else.")
    memex.recall("build server")
    clock.now = SECOND
    memex.recall("build server")
    wanted = [("other", 0, None), ("zephyr", 2, SECOND)]
    assert rows(memex, "SELECT slug, access_count, last_access FROM wiki_index ORDER BY slug") == wanted
    page = memex.read("zephyr")
    assert page is not None and (page.access_count, page.last_access) == (2, SECOND)
    (memex.root / "mem.db").unlink()
    memex.heal(force=True)
    assert rows(memex, "SELECT slug, access_count, last_access FROM wiki_index ORDER BY slug") == wanted


def test_recall_filters(memex: Memex, clock: Clock) -> None:
    memex.write(WriteInput("entity", "Old", "shared word", tags=["x", "y"]))
    clock.now = SECOND
    memex.write(WriteInput("preference", "New", "shared word", tags=["x"]))

    def found(**filters: Any) -> set[str]:
        return {hit.slug for hit in memex.recall("shared word", **filters).hits}

    assert found() == {"old", "new"}
    assert found(node_type="preference") == {"new"} and found(node_type="summary") == set()
    assert found(time_range=(FIRST, "2026-09-15T23:59:59Z")) == {"old"}
    assert found(time_range=(SECOND, "2026-12-31T00:00:00Z")) == {"new"}
    assert (
        found(tags=["x"]) == {"old", "new"}
        and found(tags=["x", "y"]) == {"old"}
        and found(tags=["z"]) == set()
    )
    assert found(node_type="entity", tags=["x"], time_range=(SECOND, SECOND)) == set()


def test_recall_snippet_source(memex: Memex) -> None:
    entity(memex, "Quixotic windmill", "Nothing of that in here.")
    entity(memex, "Plain", "A windmill stands here.")
    by_slug = {hit.slug: hit for hit in memex.recall("windmill").hits}
    assert by_slug["quixotic-windmill"].snippet_source == "title"
    assert "<mark>windmill</mark>" in by_slug["quixotic-windmill"].snippet
    assert by_slug["plain"].snippet_source == "body"


def test_forget_hard(memex: Memex) -> None:
    entity(memex, "Target")
    path = entity(memex, "Zephyr", "See [[target]].").file_path
    assert rows(memex, "SELECT source_slug, target_slug FROM wiki_links") == [("zephyr", "target")]
    result = memex.forget("zephyr", mode="hard")
    assert (result.slug, result.forgotten, result.mode, result.file_path) == ("zephyr", True, "hard", None)
    assert path is not None and not path.exists()
    assert indexed(memex) == ["target"] and rows(memex, "SELECT * FROM wiki_links") == []


def test_forget_soft(memex: Memex) -> None:
    entity(memex, "Zephyr", "Our build server.")
    result = memex.forget("zephyr", mode="soft", valid_to="2026-09-20T00:00:00Z")
    path = memex.root / "docs" / "entities" / "zephyr.md"
    assert path.exists() and result.file_path == str(path) and result.forgotten
    assert 'valid_to: "2026-09-20T00:00:00Z"' in front_matter(path)
    assert memex.recall("build server", include_expired=False).hits == []
    assert [hit.slug for hit in memex.recall("build server", include_expired=True).hits] == ["zephyr"]


def test_forget_decay(memex: Memex) -> None:
    entity(memex, "Zephyr", "Our build server.")
    soon = time.time() + 1.2
    ends = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(soon)) + f".{int(soon % 1 * 1000):03d}Z"
    result = memex.forget("zephyr", mode="decay", valid_to=ends)
    page = memex.read("zephyr")
    assert result.forgotten and page is not None and page.expires_at == ends and page.valid_to is None
    assert [hit.slug for hit in memex.recall("build server").hits] == ["zephyr"]
    time.sleep(max(soon - time.time(), 0) + 0.1)
    assert memex.recall("build server").hits == [] and page.file_path is not None and page.file_path.exists()


def test_transcript_ingest_and_link(memex: Memex) -> None:
    report = ingest(memex, "sess-abc123", ("user", "Hello there."), ("agent", "Hello."), ("tool", "shell"))
    transcript = memex.root / "transcripts" / "sess-abc123.jsonl"
    sidecar = memex.root / "transcripts" / "sess-abc123.meta.json"
    assert (report.transcript_file, report.meta_file) == (str(transcript), str(sidecar))
    assert [json.loads(line).get("content") for line in transcript.read_text("utf-8").splitlines()][1:] == [
        "Hello there.",
        "Hello.",
        "shell",
    ]
    meta = json.loads(sidecar.read_text("utf-8"))
    assert (meta["turn_count"], meta["user_turns"], meta["agent_turns"], meta["tool_turns"]) == (3, 1, 1, 1)
    assert (report.turn_count, report.user_turns, report.agent_turns, report.tool_turns) == (3, 1, 1, 1)
    page = memex.root / "docs" / "episodes" / "sess-abc123.md"
    assert report.episode_node == "sess-abc123" and report.episode_file_path == str(page)
    assert 'transcript_ref: "transcripts/sess-abc123.jsonl"' in front_matter(page)
    assert 'type: "episode"' in front_matter(page)


def test_transcript_provenance_trace(memex: Memex) -> None:
    ingest(memex, "sess-abc123", ("user", "Hello there."))
    entity(memex, "Fact", "A fact that a person wrote down.")
    episode = memex.read("sess-abc123")
    assert episode is not None
    linked = episode.body + "\nLed to [[fact]].\n"
    memex.write(
        WriteInput(
            "episode", episode.title, linked, session_id="sess-abc123", transcript_ref=episode.transcript_ref
        )
    )
    report = memex.get_provenance("fact")
    assert report.confidence == "inferred" and report.linked_episodes == ["sess-abc123"]
    assert report.transcript_files == [str(memex.root / "transcripts" / "sess-abc123.jsonl")]
    assert report.meta_files == [str(memex.root / "transcripts" / "sess-abc123.meta.json")]
    assert memex.get_provenance("sess-abc123").confidence == "direct"


def test_transcript_list_sessions(memex: Memex) -> None:
    for name, count in (("s1", 1), ("s2", 2), ("s3", 3)):
        ingest(memex, name, *[("user", f"{name} says {number}.") for number in range(count)])
    found = {summary.session_id: summary for summary in memex.list_sessions()}
    assert set(found) == {"s1", "s2", "s3"}
    for name, count in (("s1", 1), ("s2", 2), ("s3", 3)):
        summary = found[name]
        assert (summary.turn_count, summary.episode_slug) == (count, name)
        assert summary.file_path == str(memex.root / "transcripts" / f"{name}.jsonl")
        assert (summary.started_at, summary.ended_at) == (
            "2026-09-15T10:00:01Z",
            f"2026-09-15T10:00:0{count}Z",
        )


def test_index_rebuild_command(memex: Memex) -> None:
    for number in range(4):
        entity(memex, f"Page {number}")
    (memex.root / "memex.toml").write_text(
        f'[index]\njournal_mode = "{memex.config.index.journal_mode}"\n', "utf-8"
    )
    (memex.root / "mem.db").unlink()
    command = [
        sys.executable,
        "-m",
        "memex_core.cli",
        "--data-dir",
        str(memex.root),
        "rebuild-index",
        "--force",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    files = list((memex.root / "docs").rglob("*.md"))
    assert (
        report["nodes_indexed"] == len(files) == 4 and report["nodes_errored"] == 0 and report["errors"] == []
    )
    assert memex.index.get_meta("wiki_file_count") == "4" and len(indexed(memex)) == 4


def _snapshot(memex: Memex) -> dict[str, bytes]:
    kept = ("docs", "transcripts")
    return {
        str(path.relative_to(memex.root)): path.read_bytes()
        for name in kept
        for path in sorted((memex.root / name).rglob("*"))
        if path.is_file()
    }


def _filled(memex: Memex) -> dict[str, bytes]:
    entity(memex, "Zephyr", "Our build server.", tags=["a"])
    memex.write(WriteInput("preference", "Tabs", "I prefer tabs."))
    ingest(memex, "sess-abc123", ("user", "Hello there."), ("agent", "Hello."))
    return _snapshot(memex)


def test_backup_and_restore(memex: Memex, tmp_path: Path) -> None:
    before = _filled(memex)
    archive = tmp_path / "backup.tar.gz"
    report = memex.backup(archive)
    assert report.archive_path == str(archive) and report.size_bytes == archive.stat().st_size > 0
    assert report.file_counts["wiki"] == 3 and report.file_counts["mem_db"] == 1
    assert memex.check_backup(archive) == []
    shutil.rmtree(memex.root / "docs")
    shutil.rmtree(memex.root / "transcripts")
    restored = memex.restore(archive)
    assert restored.restored and restored.index_rebuilt and restored.previous_backup_dir is not None
    assert Path(restored.previous_backup_dir).is_dir() and restored.file_counts["wiki"] == 3
    assert _snapshot(memex) == before
    assert [hit.slug for hit in memex.recall("build server").hits] == ["zephyr"]
    assert [summary.session_id for summary in memex.list_sessions()] == ["sess-abc123"]
    assert memex.index_problems() == []


def test_backup_restore_skips_missing_mem_db(memex: Memex, tmp_path: Path) -> None:
    before = _filled(memex)
    archive = tmp_path / "backup.tar.gz"
    report = memex.backup(archive, include_mem_db=False)
    assert report.file_counts["mem_db"] == 0
    shutil.rmtree(memex.root / "docs")
    (memex.root / "mem.db").unlink()
    restored = memex.restore(archive)
    assert restored.restored and restored.index_rebuilt
    assert _snapshot(memex) == before
    assert memex.rebuild_index(force=True).nodes_indexed == 3
    assert [hit.slug for hit in memex.recall("build server").hits] == ["zephyr"]
