from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_memory import SmallMemory, age

from memex_core import watcher
from memex_core.errors import MemexError
from memex_core.files.lock import memory_lock
from memex_core.index.connection import IndexUnusable, patience
from memex_core.index.sync import SyncReport
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.watcher import IndexWatcher, watch

PAGE = '---\ntitle: "Ruff"\ntags: ["tool"]\nvalid_to: null\n---\nA fast linter.\n'
PATIENCE_S = 10.0


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    return SmallMemory(root)


@pytest.fixture(autouse=True)
def _swift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "QUIET_S", 0.1)


class CountingMemex(Memex):
    heals = 0

    def heal(self, *, force: bool = False) -> SyncReport:
        self.heals += 1
        return super().heal(force=force)


class Watch:
    """A running watch: what it has reported, and how often it looked."""

    def __init__(self, memex: CountingMemex) -> None:
        self.memex = memex
        self.root = memex.root
        self.lines: list[str] = []
        self.stop = threading.Event()

    def path(self, name: str) -> Path:
        path = self.root / "docs" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, name: str, text: str = "some words") -> Path:
        path = self.path(name)
        path.write_text(text, "utf-8")
        return path

    def told(self, *lines: str) -> bool:
        """True once every one of `lines` has been reported."""
        return soon(lambda: all(line in self.lines for line in lines))

    def found(self, query: str) -> list[str]:
        """What the index says by itself: nobody heals it but the watch."""
        return [hit.slug for hit in self.memex.retriever.retrieve(query)]

    def rest(self) -> None:
        """Wait until it has seen everything that was done."""
        time.sleep(0.5)

    def looks_in(self, seconds: float) -> int:
        before = self.memex.heals
        time.sleep(seconds)
        return self.memex.heals - before


def soon(holds: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return holds()


@contextlib.contextmanager
def watched(root: Path, poll_interval: float = 0, memex: CountingMemex | None = None) -> Iterator[Watch]:
    running = Watch(memex or CountingMemex(root))
    thread = threading.Thread(
        target=watch,
        args=(running.memex,),
        kwargs={"poll_interval": poll_interval, "report": running.lines.append, "stop": running.stop},
    )
    thread.start()
    try:
        assert soon(lambda: any(line.startswith("watching ") for line in running.lines))
        yield running
    finally:
        running.stop.set()
        thread.join(5)
        assert not thread.is_alive()


@pytest.fixture
def watching(root: Path) -> Iterator[Watch]:
    root.mkdir()
    with watched(root) as running:
        yield running


def looks(root: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}


def test_check_names_new_changed_and_deleted_pages(memory: SmallMemory) -> None:
    for name in "abc":
        memory.page(f"entities/{name}.md", PAGE)
    noticing = IndexWatcher(memory.root / "docs", memory.index)
    noticing.reindex_changed()
    assert noticing.check() == []
    memory.page("entities/a.md", "other words")
    memory.store.delete("b")
    memory.page("notes/d.md", PAGE)
    assert noticing.check() == ["a", "b", "d"]
    assert (noticing.reindex_changed(), noticing.check()) == (3, [])
    assert memory.found("other words") == ["a"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('title: "Ruff"', 'title: "Black"'),
        ('"tool"', '"linter"'),
        ("valid_to: null", "valid_to: 2026-09-15"),
        ("linter.\n", "linter.\n\n"),
    ],
)
def test_an_edit_of_only_a_title_tag_or_date_is_noticed(memory: SmallMemory, before: str, after: str) -> None:
    memory.page("entities/a.md", PAGE)
    age(memory.root)
    noticing = IndexWatcher(memory.root / "docs", memory.index)
    noticing.reindex_changed()
    memory.page("entities/a.md", PAGE.replace(before, after))
    assert noticing.check() == ["a"]
    assert noticing.reindex_changed() == 1


def test_an_edit_with_size_and_time_put_back_is_noticed(memory: SmallMemory) -> None:
    path = memory.page("entities/a.md", "ruff!")
    age(memory.root)
    noticing = IndexWatcher(memory.root / "docs", memory.index)
    noticing.reindex_changed()
    status = path.stat()
    path.write_text("black", "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert noticing.check() == ["a"]


def test_a_touched_page_is_no_change_and_is_not_written(memory: SmallMemory) -> None:
    path = memory.page("entities/a.md", PAGE)
    noticing = IndexWatcher(memory.root / "docs", memory.index)
    noticing.reindex_changed()
    os.utime(path, (5, 5))
    assert (noticing.check(), noticing.reindex_changed()) == ([], 0)
    assert (path.read_text("utf-8"), path.stat().st_mtime) == (PAGE, 5)


def test_what_changed_before_the_watcher_was_made_is_noticed(memory: SmallMemory) -> None:
    memory.page("entities/a.md", PAGE)
    memory.sync()
    memory.page("entities/a.md", "other words")
    assert IndexWatcher(memory.root / "docs", memory.index).check() == ["a"]


def test_without_an_index_every_page_is_new(memory: SmallMemory) -> None:
    memory.page("entities/a.md", PAGE)
    noticing = IndexWatcher(memory.root / "docs", memory.index)
    assert (noticing.check(), noticing.reindex_changed()) == (["a"], 1)


def test_a_sidecar_is_indexed_but_is_no_changed_page(memory: SmallMemory) -> None:
    memory.page("entities/a.md", PAGE)
    memory.sync()
    memory.sidecar("s1")
    noticing = IndexWatcher(memory.root / "docs", memory.index)
    assert (noticing.check(), noticing.reindex_changed()) == ([], 0)


def test_an_index_that_cannot_be_brought_up_to_date_is_an_error(memory: SmallMemory) -> None:
    memory.page("entities/a.md", PAGE)
    memory.sync()
    memory.page("entities/a.md", "other words")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with memory_lock(memory.root):
            held.set()
            done.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    token = patience.set(0.05)
    try:
        with pytest.raises(IndexUnusable):
            IndexWatcher(memory.root / "docs", memory.index).reindex_changed()
    finally:
        patience.reset(token)
        done.set()
        holder.join()


def test_polling_brings_an_edit_into_the_index(memory: SmallMemory) -> None:
    noticing = IndexWatcher(memory.root / "docs", memory.index, 0.05)
    memory.page("entities/a.md", PAGE)
    noticing.reindex_changed()
    noticing.start_polling()
    try:
        memory.page("entities/a.md", "quokka")
        assert soon(lambda: [hit.slug for hit in memory.retriever.retrieve("quokka")] == ["a"])
    finally:
        noticing.stop_polling()


def test_polling_can_be_stopped_at_once_and_started_again(memory: SmallMemory) -> None:
    noticing = IndexWatcher(memory.root / "docs", memory.index, 3600)
    before = threading.active_count()
    for _ in range(2):
        noticing.start_polling()
        noticing.start_polling()
        assert threading.active_count() == before + 1
        started = time.monotonic()
        noticing.stop_polling()
        noticing.stop_polling()
        assert time.monotonic() - started < 1
        assert threading.active_count() == before


def test_a_poll_interval_of_0_starts_no_thread(memory: SmallMemory) -> None:
    noticing = IndexWatcher(memory.root / "docs", memory.index, 0)
    before = threading.active_count()
    noticing.start_polling()
    assert threading.active_count() == before
    noticing.stop_polling()


def test_polling_goes_on_after_a_look_that_failed(
    memory: SmallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    noticing = IndexWatcher(memory.root / "docs", memory.index, 0.02)
    failures = itertools.chain([OSError("unplugged"), MemexError("busy")], itertools.repeat(None))
    looked = threading.Event()

    def reindex() -> int:
        failure = next(failures)
        if failure is not None:
            raise failure
        looked.set()
        return 0

    monkeypatch.setattr(noticing, "reindex_changed", reindex)
    noticing.start_polling()
    assert looked.wait(PATIENCE_S)
    noticing.stop_polling()


def test_an_edit_is_told_and_found(watching: Watch) -> None:
    watching.write("entities/ruff", "A fast linter.")
    assert watching.told("added entities/ruff")
    assert watching.found("linter") == ["ruff"]
    watching.write("entities/ruff", "A quokka.")
    assert watching.told("updated entities/ruff")
    assert (watching.found("quokka"), watching.found("linter")) == (["ruff"], [])
    watching.path("entities/ruff").unlink()
    assert watching.told("removed entities/ruff")
    assert watching.found("quokka") == []


def save_in_place(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def save_by_rename(path: Path, text: str) -> None:
    fresh = path.with_name("4913")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)


def save_with_backup(path: Path, text: str) -> None:
    path.rename(path.with_name(path.name + "~"))
    path.write_text(text, "utf-8")
    path.with_name(path.name + "~").unlink()


def save_from_outside(path: Path, text: str) -> None:
    fresh = path.parent.parent.parent.parent / "outside"
    fresh.write_text(text, "utf-8")
    fresh.replace(path)


@pytest.mark.parametrize("save", [save_in_place, save_by_rename, save_with_backup, save_from_outside])
def test_every_way_of_saving_is_one_update(watching: Watch, save: Callable[[Path, str], None]) -> None:
    path = watching.write("entities/ruff")
    assert watching.told("added entities/ruff")
    save(path, "A quokka.")
    assert watching.told("updated entities/ruff")
    assert watching.found("quokka") == ["ruff"]
    watching.rest()
    assert watching.lines[1:] == ["added entities/ruff", "updated entities/ruff"]


def test_what_memex_writes_is_told_once(watching: Watch) -> None:
    Memex(watching.root).write(WriteInput("entity", "Ruff", "A fast linter."))
    assert watching.told("added entities/ruff")
    watching.rest()
    assert watching.lines[1:] == ["added entities/ruff"]


def test_a_page_that_is_only_touched_or_read_is_not_told(watching: Watch) -> None:
    path = watching.write("entities/ruff")
    assert watching.told("added entities/ruff")
    watching.rest()
    path.touch()
    path.read_bytes()
    watching.rest()
    assert watching.lines[1:] == ["added entities/ruff"]


def test_an_odd_page_is_told_with_its_warning(watching: Watch) -> None:
    watching.write("entities/ruff", "---\ntitle: [\n---\nwords")
    assert soon(lambda: any(line.startswith("added entities/ruff (front matter") for line in watching.lines))


def test_files_that_the_index_does_not_read_wake_nobody(watching: Watch) -> None:
    watching.write("entities/ruff")
    assert watching.told("added entities/ruff")
    watching.rest()
    folder = watching.root / "docs" / "entities"
    for name in (".memex-0123.tmp", ".ruff.md.swp", "ruff.md~", "4913", "notes.txt", ".hidden.md"):
        (folder / name).write_text("x", "utf-8")
        (folder / name).unlink()
    for name in ("mem.db-wal", "recalls.jsonl", "journal.jsonl", "memex.toml"):
        (watching.root / name).write_text("", "utf-8")
    (folder / "ruff.md").read_bytes()
    assert watching.looks_in(0.8) == 0


def test_a_session_that_was_captured_is_told(watching: Watch) -> None:
    SmallMemory(watching.root).sidecar("s1")
    assert watching.told("added transcripts/s1")


def test_folders_that_appear_are_renamed_and_disappear_are_followed(watching: Watch) -> None:
    watching.write("notes/a")
    assert soon(lambda: any(line.startswith("added notes/a") for line in watching.lines))
    (watching.root / "docs" / "notes").rename(watching.root / "docs" / "entities")
    assert watching.told("removed notes/a", "added entities/a")
    watching.write("entities/a", "A quokka.")
    assert watching.told("updated entities/a")
    shutil.rmtree(watching.root / "docs" / "entities")
    assert watching.told("removed entities/a")


def test_docs_deleted_and_made_again_is_followed(watching: Watch) -> None:
    watching.write("entities/a")
    assert watching.told("added entities/a")
    shutil.rmtree(watching.root / "docs")
    watching.write("entities/b")
    assert watching.told("removed entities/a", "added entities/b")
    watching.write("entities/b", "A quokka.")
    assert watching.told("updated entities/b")


def test_docs_moved_away_is_watched_no_more(watching: Watch) -> None:
    watching.write("entities/a")
    assert watching.told("added entities/a")
    (watching.root / "docs").rename(watching.root / "elsewhere")
    assert watching.told("removed entities/a")
    watching.rest()
    (watching.root / "elsewhere" / "entities" / "a.md").write_text("other words", "utf-8")
    assert watching.looks_in(0.5) == 0


def test_docs_that_is_a_link_to_another_folder_is_watched(root: Path, tmp_path: Path) -> None:
    (tmp_path / "vault" / "entities").mkdir(parents=True)
    root.mkdir()
    (root / "docs").symlink_to(tmp_path / "vault")
    with watched(root) as watching:
        watching.write("entities/a")
        assert watching.told("added entities/a")


def test_a_memory_root_that_does_not_exist_yet_is_waited_for_and_not_made(tmp_path: Path) -> None:
    root = tmp_path / ".memex"
    with watched(root) as watching:
        time.sleep(0.5)
        assert not root.exists()
        watching.write("entities/a")
        assert watching.told("added entities/a")
        shutil.rmtree(root)
        assert watching.told("removed entities/a")
        assert not root.exists()


def test_edits_made_before_the_watch_are_told_at_its_start(root: Path) -> None:
    memory = SmallMemory(root)
    memory.page("entities/a.md", PAGE)
    memory.sync()
    memory.page("entities/a.md", "A quokka.")
    with watched(root) as watching:
        assert watching.lines == ["updated entities/a", f"watching {root}/docs"]


def test_a_thousand_edits_are_in_the_index_within_5_seconds_and_then_it_rests(watching: Watch) -> None:
    for number in range(1000):
        watching.write(f"entities/page-{number}", "quokka" if number == 999 else "words")
    assert soon(lambda: watching.memex.index.count() == 1000, 5)
    assert watching.found("quokka") == ["page-999"]
    watching.rest()
    assert watching.looks_in(0.6) == 0
    assert all("changes: " in line for line in watching.lines[1:])
    assert sum(int(line.split()[0].replace(",", "")) for line in watching.lines[1:]) >= 1000


def test_a_steady_stream_of_edits_is_not_waited_out(watching: Watch) -> None:
    path = watching.write("entities/a", "first")
    assert watching.told("added entities/a")
    started, seen = time.monotonic(), False
    while not seen and time.monotonic() - started < 5:
        path.write_text(f"quokka {time.monotonic()}", "utf-8")
        time.sleep(0.05)
        seen = "updated entities/a" in watching.lines
    assert seen


def test_resting_costs_nothing_and_writes_nothing(watching: Watch) -> None:
    watching.write("entities/a")
    assert watching.told("added entities/a")
    watching.rest()
    before, heals, used = looks(watching.root), watching.memex.heals, time.process_time()
    time.sleep(1)
    assert time.process_time() - used < 0.05
    assert (looks(watching.root), watching.memex.heals) == (before, heals)


@pytest.mark.slow
def test_ten_seconds_of_rest_cost_less_than_50_milliseconds(root: Path) -> None:
    root.mkdir()
    with watched(root, poll_interval=60) as watching:
        watching.write("entities/a")
        assert watching.told("added entities/a")
        time.sleep(1)
        before, used = looks(root), time.process_time()
        time.sleep(10)
        assert time.process_time() - used < 0.05
        assert looks(root) == before


def test_watching_writes_no_page(watching: Watch) -> None:
    pages = [watching.write("entities/a", PAGE), watching.write("entities/b", "no front matter\r\n")]
    assert watching.told("added entities/a", "added entities/b")
    os.utime(pages[0], (5, 5))
    watching.rest()
    assert [page.read_bytes() for page in pages] == [PAGE.encode(), b"no front matter\r\n"]
    assert pages[0].stat().st_mtime == 5


def silently_changed(watching: Watch) -> None:
    """An edit without an event: the page is a link to a file that nobody watches."""
    (watching.root / "aside").mkdir()
    target = watching.root / "aside" / "target.txt"
    target.write_text("words", "utf-8")
    watching.path("entities/a").symlink_to(target)
    assert watching.told("added entities/a")
    watching.rest()
    target.write_text("A quokka.", "utf-8")


def test_lost_events_are_answered_by_one_look(watching: Watch) -> None:
    silently_changed(watching)
    before = watching.memex.heals
    logging.getLogger("watchdog.observers.inotify_c").warning("events were lost")
    assert watching.told("updated entities/a")
    time.sleep(0.6)
    assert watching.memex.heals == before + 1


def test_polling_is_the_safety_net(root: Path) -> None:
    root.mkdir()
    with watched(root, poll_interval=0.3) as watching:
        silently_changed(watching)
        assert watching.told("updated entities/a")


WATCH = """
import sys, time
from pathlib import Path
from memex_core.memex import Memex
from memex_core.watcher import watch
watch(Memex(Path(sys.argv[1])), poll_interval=0, report=lambda line: print(line, flush=True))
print(time.time())
"""


@contextlib.contextmanager
def watching_program(root: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WATCH, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            assert program.stdout.readline().startswith("watching ")
            yield program
        finally:
            program.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="SIGSTOP and inotify's queue")
@pytest.mark.slow
def test_more_events_than_the_kernel_keeps_lose_no_edit(root: Path) -> None:
    folder = root / "docs" / "entities"
    folder.mkdir(parents=True)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text("ascii"))
    with watching_program(root) as program:
        program.send_signal(signal.SIGSTOP)
        for number in range(limit // 3 + 100):  # created, modified, closed
            (folder / f"{number}.md").write_text("words", "utf-8")
        (folder / "last.md").write_text("quokka", "utf-8")
        program.send_signal(signal.SIGCONT)
        retriever = SmallMemory(root).retriever
        assert soon(lambda: [hit.slug for hit in retriever.retrieve("quokka")] == ["last"], 30)
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=30)
        assert errors == ""


def test_ctrl_c_ends_it_within_a_second(root: Path) -> None:
    root.mkdir()
    with watching_program(root) as program:
        sent = time.time()
        program.send_signal(signal.SIGINT)
        out, errors = program.communicate(timeout=10)
        assert (program.returncode, errors) == (0, "")
        assert float(out.splitlines()[-1]) - sent < 1


def test_it_ends_within_a_second_of_stop_and_leaves_no_thread(root: Path) -> None:
    root.mkdir()
    before = threading.active_count()
    with watched(root) as watching:
        watching.write("entities/a")
        assert watching.told("added entities/a")
        assert threading.active_count() > before
        stopped = time.monotonic()
        watching.stop.set()
        assert soon(lambda: threading.active_count() == before, 5)
        assert time.monotonic() - stopped < 1


def test_a_report_that_fails_ends_the_watch_and_leaves_no_thread(root: Path) -> None:
    root.mkdir()
    before, stop = threading.active_count(), threading.Event()

    def report(line: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        watch(Memex(root), poll_interval=0, report=report, stop=stop)
    assert stop.is_set()
    assert threading.active_count() == before


def test_a_file_system_that_tells_nothing_is_polled_and_that_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.mkdir()
    with monkeypatch.context() as broken:
        broken.setattr(watcher, "Observer", no_observer)
        with watched(root, poll_interval=0.2) as watching:
            why = "the file system tells nothing (inotify watch limit reached)"
            assert watching.lines[0] == f"{why}; looking every 0.2 s"
            watching.write("entities/a")
            assert watching.told("added entities/a")
            broken.undo()
            assert watching.told("the file system tells of changes again")


def no_observer() -> None:
    raise OSError(28, "inotify watch limit reached")


def test_without_events_and_interval_it_looks_once_a_minute(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.mkdir()
    monkeypatch.setattr(watcher, "Observer", no_observer)
    with watched(root) as watching:
        assert watching.lines[0].endswith("looking every 60 s")


def test_the_interval_of_the_configuration_counts_unless_another_is_given(root: Path) -> None:
    root.mkdir()
    (root / "memex.toml").write_text("[index]\nwatch_poll_interval = 0.3\n", "utf-8")
    memex, lines, stop = CountingMemex(root), list[str](), threading.Event()
    thread = threading.Thread(target=watch, args=(memex,), kwargs={"report": lines.append, "stop": stop})
    thread.start()
    assert soon(lambda: memex.heals > 2)
    stop.set()
    thread.join()


def test_an_index_that_cannot_be_used_is_told_once_and_tried_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "RETRY_S", 0.1)

    class Unusable(CountingMemex):
        trouble = "locked"

        def heal(self, *, force: bool = False) -> SyncReport:
            report = super().heal(force=force)
            return SyncReport(usable=False, note=self.trouble) if self.trouble else report

    root.mkdir()
    memex = Unusable(root)
    with watched(root, memex=memex) as watching:
        assert soon(lambda: memex.heals > 3)
        assert watching.lines == ["the index cannot be used: locked", f"watching {root}/docs"]
        memex.trouble = ""
        assert watching.told("the index can be used again")
