from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_memory import SmallMemory, age

from memex_core.files.lock import memory_lock
from memex_core.index import sync as sync_module
from memex_core.index.connection import patience, reading, writing
from memex_core.index.sync import scan_recall


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    return SmallMemory(root)


def counts(memory: SmallMemory) -> dict[str, tuple[int, str | None]]:
    with reading(memory.db) as db:
        rows = db.execute("SELECT slug, access_count, last_access FROM wiki_index").fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}


def test_new_changed_and_deleted_pages_are_followed(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    memory.write("b", "pylint")
    assert memory.found("ruff pylint") == ["a", "b"]
    memory.write("a", "black")
    memory.store.delete("b")
    memory.write("c", "pylint")
    assert (memory.found("ruff"), memory.found("black"), memory.found("pylint")) == ([], ["a"], ["c"])


def test_an_index_removed_at_any_time_changes_nothing(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    before = memory.hits("ruff")
    memory.db.unlink()
    assert memory.hits("ruff") == before


def test_unchanged_files_are_not_read_again(memory: SmallMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.write("a", "ruff")
    memory.sidecar("s")
    age(memory.root)
    memory.sync()
    monkeypatch.setattr(sync_module, "read_file", lambda *_: pytest.fail("read again"))
    before = memory.db.stat()
    assert (memory.sync().unchanged, memory.sync().changed) == (2, 0)
    assert memory.db.stat().st_mtime_ns == before.st_mtime_ns


def test_an_edit_of_the_same_size_within_the_clocks_tick_is_seen(memory: SmallMemory) -> None:
    path = memory.page("entities/a.md", "ruff!")
    memory.sync()
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"black")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert memory.found("black") == ["a"]


def test_an_edit_with_size_and_time_put_back_is_seen(memory: SmallMemory) -> None:
    path = memory.page("entities/a.md", "ruff!")
    age(memory.root)
    memory.sync()
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"black")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert memory.found("black") == ["a"]


@pytest.mark.parametrize("years", [-10, 10])
def test_clocks_that_jump_do_not_hide_an_edit(memory: SmallMemory, years: int) -> None:
    path = memory.page("entities/a.md", "ruff")
    memory.sync()
    path.write_text("black", "utf-8")
    then = time.time() + years * 365 * 86400
    os.utime(path, (then, then))
    assert memory.found("black") == ["a"]
    path.write_text("isort", "utf-8")
    os.utime(path, (then, then))
    assert memory.found("isort") == ["a"]


def test_a_touched_page_is_read_but_not_indexed_again(memory: SmallMemory) -> None:
    path = memory.page("entities/a.md", "ruff")
    age(memory.root)
    memory.sync()
    os.utime(path, (5, 5))
    report = memory.sync()
    assert (report.changed, report.unchanged) == (0, 1)
    assert memory.sync().unchanged == 1


def test_a_renamed_page_is_found_under_its_new_name_only(memory: SmallMemory) -> None:
    path = memory.page("entities/a.md", "ruff")
    memory.sync()
    path.rename(path.with_name("b.md"))
    assert memory.found("ruff") == ["b"]


def test_a_copied_memory_root_needs_nothing(memory: SmallMemory, tmp_path: Path) -> None:
    memory.write("a", "ruff")
    memory.sync()
    shutil.copytree(memory.root, tmp_path / "copy")
    copy = SmallMemory(tmp_path / "copy")
    (hit,) = copy.hits("ruff")
    assert hit.file_path == str(tmp_path / "copy" / "docs" / "entities" / "a.md")


def test_an_unreadable_folder_does_not_empty_the_index(
    memory: SmallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.write("a", "ruff")
    memory.sync()

    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("memex_core.files.walk.os.scandir", refuse)
    report = memory.sync()
    assert not report.usable and "Permission denied" in report.note
    assert memory.index.get_all_slugs() == ["a"]


def test_a_page_that_cannot_be_opened_stays_found_as_it_was(
    memory: SmallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = memory.page("entities/a.md", "ruff")
    memory.page("entities/b.md", "ruff")
    memory.sync()
    path.write_text("black", "utf-8")
    real = Path.open

    def refuse(self: Path, *args: object, **kwargs: object) -> object:
        if self.name == "a.md":
            raise PermissionError(13, "Permission denied")
        return real(self, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    report = memory.sync()
    assert report.usable and "cannot be read" in report.problems[0][1]
    assert memory.sync().changed == 0
    monkeypatch.undo()
    assert memory.found("black") == ["a"]


def test_recalls_are_counted_once_and_the_same_after_a_rebuild(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    memory.store.amend("a", access_count=5, last_access="2026-01-01T00:00:00Z")
    memory.write("b", "ruff")
    memory.sync()
    memory.recalls(
        json.dumps({"ts": "2026-02-01T00:00:00Z", "paths": ["docs/entities/a.md", "docs/entities/b.md"]}),
        "not json",
        json.dumps({"ts": "2026-02-02T00:00:00Z", "paths": ["docs/entities/a.md", "docs/gone.md", 7]}),
        json.dumps({"paths": ["docs/entities/a.md"]}),
    )
    memory.sync()
    memory.sync()
    expected = {"a": (7, "2026-02-02T00:00:00Z"), "b": (1, "2026-02-01T00:00:00Z")}
    assert counts(memory) == expected
    memory.recalls(json.dumps({"ts": "2026-02-03T00:00:00Z", "paths": ["docs/entities/b.md"]}))
    memory.sync()
    expected["b"] = (2, "2026-02-03T00:00:00Z")
    assert counts(memory) == expected
    memory.write("a", "changed")
    memory.sync()
    assert counts(memory) == expected
    memory.sync(force=True)
    assert counts(memory) == expected


def test_a_trimmed_recall_list_is_counted_anew(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    line = json.dumps({"ts": "2026-02-01T00:00:00Z", "paths": ["docs/entities/a.md"]})
    memory.recalls(line, line, line)
    memory.sync()
    (memory.root / "recalls.jsonl").unlink()
    memory.store.amend("a", access_count=3, last_access="2026-02-01T00:00:00Z")
    memory.recalls(line)
    memory.sync()
    assert counts(memory) == {"a": (4, "2026-02-01T00:00:00Z")}


def test_a_recall_line_still_being_written_is_counted_when_it_is_whole(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    line = json.dumps({"ts": "2026-02-01T00:00:00Z", "paths": ["docs/entities/a.md"]})
    with (memory.root / "recalls.jsonl").open("w", encoding="utf-8") as file:
        file.write(line[:20])
        file.flush()
        memory.sync()
        assert counts(memory)["a"][0] == 0
        file.write(line[20:] + "\n")
    memory.sync()
    assert counts(memory)["a"][0] == 1


def test_an_index_of_another_version_is_built_anew(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    memory.sync()
    with writing(memory.db) as db:
        db.execute("UPDATE index_meta SET value = '999' WHERE key = 'schema_version'")
    report = memory.sync()
    assert report.rebuilt and "999" in report.note
    assert memory.sync().note == ""


def test_force_builds_anew(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    memory.sync()
    before = memory.db.stat().st_ino
    assert memory.sync(force=True).rebuilt
    assert memory.db.stat().st_ino != before


@pytest.fixture
def impatient() -> Iterator[None]:
    """Nothing waits longer than 0.1 s for another process."""
    token = patience.set(0.1)
    yield
    patience.reset(token)


def test_a_locked_index_is_not_waited_for_long_and_answered_from_the_files(
    memory: SmallMemory, impatient: None
) -> None:
    memory.write("a", "ruff")
    memory.sync()
    holder = sqlite3.connect(memory.db)
    holder.execute("BEGIN EXCLUSIVE")
    memory.page("entities/b.md", "ruff")
    started = time.monotonic()
    assert memory.found("ruff") == ["a", "b"]
    assert time.monotonic() - started < 3
    holder.close()
    assert memory.index.get_all_slugs() == ["a"]
    assert memory.found("ruff") == ["a", "b"]
    assert memory.index.get_all_slugs() == ["a", "b"]


def test_a_held_memory_lock_is_answered_from_the_files(memory: SmallMemory, impatient: None) -> None:
    import threading

    memory.write("a", "ruff")
    memory.sync()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with memory_lock(memory.root):
            held.set()
            done.wait(5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert memory.found("ruff") == ["a"], "nothing to write, so no lock is needed"
    memory.page("entities/b.md", "ruff")
    report = memory.sync()
    assert not report.usable and "another process" in report.note
    assert memory.found("ruff") == ["a", "b"]
    done.set()
    thread.join()


def test_a_root_that_cannot_be_written_is_answered_from_the_files(
    memory: SmallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.page("entities/a.md", "ruff")

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("memex_core.index.rebuild.os.open", refuse)
    monkeypatch.setattr("memex_core.files.lock.os.open", refuse)
    assert memory.found("ruff") == ["a"]
    assert not memory.db.exists()


def test_an_up_to_date_index_answers_from_a_root_that_cannot_be_written(
    memory: SmallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.page("entities/a.md", "ruff")
    age(memory.root)
    memory.sync()
    monkeypatch.setattr("memex_core.files.lock._open", lambda _: pytest.fail("the lock is not needed"))
    report = memory.sync()
    assert report.usable and report.note == ""
    assert memory.found("ruff") == ["a"]


def test_the_files_give_the_same_hits_as_the_index(memory: SmallMemory) -> None:
    memory.write("a", "ruff and more", tags=["x"])
    memory.write("b", "ruff", "procedure")
    memory.recalls(json.dumps({"ts": "2026-02-01T00:00:00Z", "paths": ["docs/entities/a.md"]}))
    for options in ({}, {"node_type": "procedure"}, {"tags": ["x"]}, {"top_k": 1}):
        assert scan_recall(memory.root, "ruff", **options) == memory.hits("ruff", **options)


NAMES = st.sampled_from(["entities/a.md", "entities/b.md", "procedures/a.md", "notes/c.md", "d.md"])
TEXTS = st.sampled_from(
    ["ruff", "ruff ruff black", "black [[a]]", "---\ntags: [x]\n---\nruff", "---\na: b: c\n---\nruff"]
)
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("swap same size"), NAMES, st.just("")),
    st.tuples(st.just("delete"), NAMES, st.just("")),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("time"), NAMES, st.sampled_from(["-1000000", "1000000", "0"])),
    st.tuples(st.just("remove index"), NAMES, st.just("")),
    st.tuples(st.just("sync"), NAMES, st.just("")),
)


def carry_out(memory: SmallMemory, step: tuple[str, str, str]) -> None:
    what, name, value = step
    path = memory.root / "docs" / name
    if what == "write":
        memory.page(name, value)
    elif what == "sync":
        memory.sync()
    elif what == "remove index":
        memory.db.unlink(missing_ok=True)
    elif not path.exists():
        return
    elif what == "delete":
        path.unlink()
    elif what == "rename":
        target = memory.root / "docs" / value
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    elif what == "time":
        then = time.time() + int(value)
        os.utime(path, (then, then))
    else:
        status = path.stat()
        path.write_bytes(path.read_bytes().swapcase())
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@settings(deadline=None, max_examples=40)
@given(st.lists(STEPS, max_size=12))
def test_whatever_happens_to_the_files_recall_is_that_of_a_fresh_index(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    memory = SmallMemory(tmp_path_factory.mktemp("root"))
    for step in steps:
        carry_out(memory, step)
    for query in ("ruff", "black", "a c d"):
        assert memory.hits(query) == scan_recall(memory.root, query)
    assert memory.index.check_health() == ""
