from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from small_memory import SmallMemory, age

from memex_core.index import tokens
from memex_core.index.connection import IndexUnusable, reading
from memex_core.index.index_manager import IndexManager
from memex_core.index.journal_mode import choose_journal_mode, file_system_of, wal_is_mended
from memex_core.model.node import WikiNode


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    return SmallMemory(root)


def test_initialize_makes_the_tables_of_the_specification_once(memory: SmallMemory) -> None:
    memory.index.initialize()
    memory.write("a", "ruff")
    memory.sync()
    memory.index.initialize()
    with reading(memory.db) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"index_meta", "wiki_index", "wiki_fts", "wiki_links", "sessions", "session_responses"} <= names
    assert memory.index.get_all_slugs() == ["a"]


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_the_index_is_private_and_leaves_nothing_beside(memory: SmallMemory, umask: int) -> None:
    memory.write("a", "ruff")
    before = os.umask(umask)
    try:
        memory.sync()
    finally:
        os.umask(before)
    assert stat.S_IMODE(memory.db.stat().st_mode) == 0o600
    beside = {p.name for p in memory.root.iterdir()} - {"docs", "mem.db", ".lock", ".mem.db.left"}
    assert beside == set()
    assert stat.S_IMODE((memory.root / ".mem.db.left").stat().st_mode) == 0o600


def test_build_indexes_nodes_that_have_no_file(memory: SmallMemory) -> None:
    nodes = [WikiNode(type="entity", title=f"t{i}", body=f"ruff number {i}", slug=f"t{i}") for i in range(3)]
    assert memory.index.build(nodes) == 3
    assert [slug for slug, _ in memory.retriever.search_fts("number 2", 1)] == ["t2"]


def test_rebuild_counts_pages_and_notes_when(memory: SmallMemory) -> None:
    for title in ("a", "b", "c", "d", "e"):
        memory.write(title, "ruff")
    assert memory.index.rebuild_from_wiki(memory.root / "docs") == 5
    assert memory.index.get_meta("wiki_file_count") == "5"
    assert memory.index.get_meta("schema_version") == "3"
    assert (memory.index.get_meta("last_index_rebuild") or "").endswith("Z")


def test_records_are_updated_and_removed_one_by_one(memory: SmallMemory) -> None:
    memory.index.initialize()
    page = memory.write("a", "before")
    memory.index.update_record(page)
    page.body = "after [[b]]"
    memory.store.write(page)
    memory.index.update_record(page)
    assert memory.retriever.search_fts("before", 5) == []
    assert [slug for slug, _ in memory.retriever.search_fts("after", 5)] == ["a"]
    assert memory.sync().changed == 0
    memory.index.remove_record("a")
    memory.index.remove_record("a")
    assert memory.index.get_all_slugs() == []


def test_updating_what_is_not_there_is_an_index_error_if_asked(memory: SmallMemory) -> None:
    memory.index.initialize()
    page = memory.write("a", "x")
    with pytest.raises(IndexError):
        memory.index.update_record(page, upsert=False)
    memory.index.update_record(page)
    memory.index.update_record(page, upsert=False)


def test_meta_values_are_kept(memory: SmallMemory) -> None:
    memory.index.initialize()
    memory.index.set_meta("memex_version", "1.0.0")
    memory.index.set_meta("memex_version", "1.0.1")
    assert memory.index.get_meta("memex_version") == "1.0.1"
    assert memory.index.get_meta("nothing") is None


def test_slugs_are_listed_by_type(memory: SmallMemory) -> None:
    memory.write("b", "x")
    memory.write("a", "x")
    memory.write("a", "x", "procedure")
    memory.sync()
    assert memory.index.get_all_slugs() == ["a", "b", "a"]
    assert memory.index.get_by_type("procedure") == ["a"]
    assert memory.index.count_by_type() == {"entity": 2, "procedure": 1}


def test_an_access_is_counted_at_once(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    memory.sync()
    memory.index.increment_access("a")
    memory.index.increment_access("a")
    (hit,) = memory.retriever.retrieve("ruff")
    assert hit.last_access is not None
    with reading(memory.db) as db:
        assert db.execute("SELECT access_count FROM wiki_index").fetchone()[0] == 2
    with pytest.raises(IndexError):
        memory.index.increment_access("nothing")


def test_pages_and_sidecars_that_are_odd_are_listed(memory: SmallMemory) -> None:
    memory.page("entities/bad.md", "---\na: b: c\n---\nruff")
    memory.page("entities/good.md", "ruff")
    memory.page("notes/x.md", "ruff")
    (memory.root / "transcripts").mkdir()
    (memory.root / "transcripts" / "s.meta.json").write_text("{", "utf-8")
    report = memory.sync()
    assert [path for path, _ in memory.index.warnings()] == [
        "docs/entities/bad.md",
        "docs/notes/x.md",
        "transcripts/s.meta.json",
    ]
    assert sorted(report.problems) == memory.index.warnings()
    assert sorted(memory.found("ruff")) == ["bad", "good", "x"]


def test_a_missing_index_says_so(memory: SmallMemory) -> None:
    with pytest.raises(IndexUnusable) as caught:
        memory.index.get_all_slugs()
    assert caught.value.trouble == "missing"


def test_a_sqlite_without_fts5_is_named(memory: SmallMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.write("a", "ruff")
    real = sqlite3.Connection

    class Without(real):  # type: ignore[misc,valid-type]
        def execute(self, sql: str, *args: object) -> sqlite3.Cursor:
            if "fts5" in sql.lower():
                raise sqlite3.OperationalError("no such module: fts5")
            return super().execute(sql, *args)  # type: ignore[arg-type]

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Without))
    report = memory.sync()
    assert not report.usable and "FTS5" in report.note
    tokens._scratch.cache_clear()


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 1), True),
    ],
)
def test_wal_is_used_only_where_its_bug_is_mended(version: tuple[int, ...], safe: bool) -> None:
    assert wal_is_mended(version) is safe


def test_the_journal_mode_is_chosen_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_journal_mode(tmp_path / "mem.db", "wal") == ("wal", "set in the configuration")
    monkeypatch.setattr("memex_core.index.journal_mode.sqlite3.sqlite_version_info", (3, 40, 1))
    assert choose_journal_mode(tmp_path / "mem.db")[0] == "delete"
    monkeypatch.setattr("memex_core.index.journal_mode.sqlite3.sqlite_version_info", (3, 52, 0))
    monkeypatch.setattr("memex_core.index.journal_mode.file_system_of", lambda _: "nfs4")
    mode, reason = choose_journal_mode(tmp_path / "mem.db")
    assert mode == "delete" and "nfs4" in reason
    monkeypatch.setattr("memex_core.index.journal_mode.file_system_of", lambda _: "ext4")
    assert choose_journal_mode(tmp_path / "mem.db")[0] == "wal"
    with pytest.raises(ValueError):
        choose_journal_mode(tmp_path / "mem.db", "off")


def test_the_file_system_of_a_folder_is_known_on_linux(tmp_path: Path) -> None:
    assert file_system_of(tmp_path) != "" or not Path("/proc/self/mountinfo").exists()


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate"])
def test_every_journal_mode_finds_and_heals(root: Path, mode: str) -> None:
    memory = SmallMemory(root)
    memory.index = IndexManager(memory.db, journal_mode=mode)
    memory.write("a", "ruff")
    assert memory.found("ruff") == ["a"]
    memory.write("b", "ruff")
    assert memory.found("ruff") == ["a", "b"]
    with reading(memory.db) as db:
        now = db.execute("PRAGMA journal_mode").fetchone()[0]
    assert now == ("delete" if mode == "truncate" else mode)
    memory.db.write_bytes(b"not a database at all" * 100)
    age(root)
    assert memory.found("ruff") == ["a", "b"]
