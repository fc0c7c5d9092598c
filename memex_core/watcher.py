"""Edits by other hands, noticed (seed 000 §7, Utility 9; DESIGN §3 row watching).

Nobody must watch: every command brings the index up to date first. `watch` does so while it runs, told by the
file system; `IndexWatcher` does so by looking. An event says only that it is time to look: what changed, the
index and the files say, so nothing is lost with an event. No page is ever written here. The only importer of
watchdog.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from memex_core.errors import MemexError
from memex_core.files.operation_log import log_operation, where
from memex_core.files.walk import PAGE_SUFFIX, SIDECAR_SUFFIX, Stamp, walk_pages
from memex_core.index.connection import IndexUnusable, reading
from memex_core.index.file_rows import read_file, signed_stamp
from memex_core.index.index_manager import IndexManager
from memex_core.index.sync import SyncReport, sync
from memex_core.paths import diary_dir, docs_dir, transcripts_dir, wiki_dir

if TYPE_CHECKING:
    from memex_core.memex import Memex

QUIET_S = 0.3
"""So long nothing may happen before we look: an editor's save is several events."""
AT_MOST_S = 2.0
"""So long after the first event we look, whatever still goes on."""
LEAST_POLL_S, MOST_POLL_S = 0.1, 86_400.0
"""How often the files are looked at, at most and at least."""
BLIND_POLL_S = 60.0
"""How often to look where the file system tells nothing and no interval is set."""
RETRY_S = 5.0
"""So long after an index that could not be brought up to date we try again: no event will say so."""
LINES_A_LOOK = 20

_EVENTS: tuple[type[FileSystemEvent], ...] = (
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
)

Known = dict[str, tuple[Stamp, bool, str]]
"""By path: the file's stamp as the index saw it, whether that proves nothing, and the hash of its bytes."""


class IndexWatcher:
    """Notices edits by comparing the files under `wiki_dir` (docs/ of a memory root) with what the index
    knows of them. `poll_interval` in seconds; 0 means no polling.
    """

    def __init__(self, wiki_dir: Path, index_mgr: IndexManager, poll_interval: float = 60) -> None:
        self.wiki_dir = wiki_dir
        self.index = index_mgr
        self.poll_interval = poll_interval
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self) -> list[str]:
        """The slugs of the pages that are new, changed in any byte, or gone since the index last looked.

        Raises OSError where a folder cannot be listed.
        """
        known, root = _known(self.index) or {}, self.wiki_dir.parent
        pages = dict(walk_pages(root))
        changed = [
            path for path in pages if path not in known or _differs(root, path, pages[path], known[path])
        ]
        gone = [path for path in known if path not in pages and path.startswith("docs/")]
        return [PurePosixPath(path).stem for path in sorted([*changed, *gone])]

    def reindex_changed(self) -> int:
        """Bring the index to what the files say; how many pages that took. Raises IndexUnusable."""
        before = _known(self.index)
        report = sync(self.index, self.wiki_dir.parent)
        if not report.usable:
            raise IndexUnusable("unwritable", report.note)
        changes = _changes(before or {}, _known(self.index) or {})
        return sum(path.startswith("docs/") for path, _ in changes)

    def start_polling(self) -> None:
        """Look every `poll_interval` seconds in a background thread, until `stop_polling`."""
        if self.poll_interval > 0 and self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._poll, name="memex-index-watcher", daemon=True)
            self._thread.start()

    def stop_polling(self) -> None:
        """End the background thread and wait for it."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.set()
            thread.join()

    def _poll(self) -> None:
        trouble = ""
        while not self._stop.wait(self.poll_interval):
            try:
                self.reindex_changed()
                trouble = ""
            except (MemexError, OSError) as error:
                if str(error) != trouble:
                    log_operation(self.wiki_dir.parent, "watch", "", "failed", detail=where(error))
                trouble = str(error)


def watch(
    memex: Memex,
    *,
    poll_interval: float | None = None,
    report: Callable[[str], None],
    stop: threading.Event | None = None,
) -> None:
    """Keep the index up to date until `stop` is set or Ctrl-C; `stop` is set at the end in any case.

    `report` gets a line when watching begins and one for each change, only their number where they are many.
    Besides, the files are looked at every `poll_interval` seconds (None: [index] watch_poll_interval; 0:
    never, unless the file system tells nothing). What `report` raises ends the watch.
    """
    interval = memex.config.index.watch_poll_interval if poll_interval is None else poll_interval
    interval = max(interval, LEAST_POLL_S) if interval else interval
    with contextlib.suppress(KeyboardInterrupt):
        _Watch(memex, interval, report, stop or threading.Event()).run()


class _Watch:
    """One run of `watch`."""

    def __init__(
        self, memex: Memex, interval: float, report: Callable[[str], None], stop: threading.Event
    ) -> None:
        self.memex = memex
        self.interval = interval
        self.report = report
        self.stop = stop
        self.bell = _Bell(memex.root.name)
        self.folders = _Folders(memex.root, self.bell)
        self.known = _known(memex.index)
        self.said: dict[str, str] = {}

    def run(self) -> None:
        with self._rung_by_stop(), _told_of_lost_events(self.bell), self.folders:
            self.look()
            self.report(f"watching {docs_dir(self.memex.root)}")
            while not self.stop.is_set():
                if self.bell.rung.wait(self._patience()):
                    self._let_settle()
                if not self.stop.is_set():
                    self.look()

    def look(self) -> None:
        """Follow the folders as they are now, then let the index learn what changed, then say it."""
        self.bell.rung.clear()
        blind = self.folders.follow()
        pause = f"{self.interval or BLIND_POLL_S:g} s"
        told = f"the file system tells nothing ({blind}); looking every {pause}" if blind else ""
        self._say("events", told, otherwise="the file system tells of changes again")
        there = self.memex.root.is_dir()  # a memory that was deleted is not made again by looking at it
        outcome = self.memex.heal(force=True) if there else SyncReport()
        trouble = "" if outcome.usable else f"the index cannot be used: {outcome.note}"
        self._say("index", trouble, otherwise="the index can be used again")
        now = _known(self.memex.index) if there else {}
        if trouble or now is None:
            return
        if outcome.note:
            self.report(outcome.note)
        if self.known is not None:
            self._tell(_changes(self.known, now), dict(outcome.problems))
        self.known = now

    def _tell(self, changes: list[tuple[str, str]], problems: dict[str, str]) -> None:
        if len(changes) > LINES_A_LOOK:
            verbs = [verb for _, verb in changes]
            counts = (f"{verbs.count(verb):,} {verb}" for verb in dict.fromkeys(verbs))
            self.report(f"{len(changes):,} changes: {', '.join(counts)}")
            return
        for path, verb in changes:
            problem = f" ({problems[path]})" if path in problems else ""
            self.report(f"{verb} {_name(path)}{problem}")

    def _say(self, what: str, news: str, *, otherwise: str) -> None:
        """Report `news` about something once, and `otherwise` when it is over."""
        if news != self.said.get(what, ""):
            self.said[what] = news
            self.report(news or otherwise)

    def _patience(self) -> float | None:
        interval = self.interval or (BLIND_POLL_S if self.said.get("events") else None)
        return min(interval or RETRY_S, RETRY_S) if self.said.get("index") else interval

    def _let_settle(self) -> None:
        deadline = time.monotonic() + AT_MOST_S
        while time.monotonic() < deadline:
            self.bell.rung.clear()
            if self.stop.wait(QUIET_S) or not self.bell.rung.is_set():
                return

    @contextlib.contextmanager
    def _rung_by_stop(self) -> Iterator[None]:
        """While inside, `stop` wakes whoever waits for the bell."""

        def wait() -> None:
            self.stop.wait()
            self.bell.rung.set()

        waiter = threading.Thread(target=wait, name="memex-watch-stop", daemon=True)
        waiter.start()
        try:
            yield
        finally:
            self.stop.set()
            waiter.join()


class _Bell(FileSystemEventHandler):
    """Rings at an event that can mean a change of what the index reads; our own files ring no bell."""

    def __init__(self, root_name: str) -> None:
        self.root_name = root_name
        self.rung = threading.Event()

    def dispatch(self, event: FileSystemEvent) -> None:
        paths = (event.src_path, event.dest_path)
        names = [os.path.basename(os.fsdecode(path)) for path in paths if path]
        if isinstance(event, _EVENTS) and any(self._matters(name, event.is_directory) for name in names):
            self.rung.set()

    def _matters(self, name: str, is_directory: bool) -> bool:
        if name.startswith("."):
            return name == self.root_name
        return is_directory or name in _FOLDERS or name.endswith((PAGE_SUFFIX, SIDECAR_SUFFIX))


_FOLDERS = ("docs", "transcripts", "wiki", "diary")


class _Folders:
    """The folders that the index reads, each with a watch of its own; deeper ones cost nothing then."""

    def __init__(self, root: Path, bell: _Bell) -> None:
        self.root = root
        self.bell = bell
        self.observer: BaseObserver | None = None
        self.watched: dict[str, tuple[ObservedWatch, tuple[int, int]]] = {}

    def __enter__(self) -> _Folders:
        return self

    def __exit__(self, *_: object) -> None:
        if self.observer is not None and self.observer.is_alive():
            self.observer.stop()
            self.observer.join()

    def follow(self) -> str:
        """Watch these folders as they are now; why the file system cannot tell of all of them, or ""."""
        try:
            if self.observer is None or not self.observer.is_alive():
                self.watched.clear()
                self.observer = Observer()
                self.observer.start()
            wanted = dict(self._wanted())
            self._let_go(self.observer, wanted)
            for path, identity in wanted.items():
                if path not in self.watched:
                    with contextlib.suppress(FileNotFoundError):
                        watch = self.observer.schedule(self.bell, path, event_filter=list(_EVENTS))
                        self.watched[path] = watch, identity
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _wanted(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """The memory root, or the folder in which it will be, and the folders that hold truth."""
        docs = docs_dir(self.root)
        folders = [self.root if self.root.is_dir() else self.root.parent, docs, transcripts_dir(self.root)]
        folders += [wiki_dir(self.root), diary_dir(self.root)]
        with contextlib.suppress(OSError), os.scandir(docs) as entries:
            folders += [
                Path(entry.path)
                for entry in entries
                if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)
            ]
        for folder in folders:
            with contextlib.suppress(OSError):
                status = os.stat(folder)
                yield os.path.realpath(folder), (status.st_dev, status.st_ino)

    def _let_go(self, observer: BaseObserver, wanted: dict[str, tuple[int, int]]) -> None:
        """A folder that was deleted, or is another one by now, has a watch that will never tell anything."""
        alive = {e.watch for e in observer.emitters if e.is_alive() and e.should_keep_running()}
        for path, (watch, identity) in list(self.watched.items()):
            if wanted.get(path) != identity or watch not in alive:
                del self.watched[path]
                observer.unschedule(watch)


@contextlib.contextmanager
def _told_of_lost_events(bell: _Bell) -> Iterator[None]:
    """Watchdog only logs that events were lost, or that it failed: either is a reason to look."""

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            bell.rung.set()

    listener, logger = Listener(logging.WARNING), logging.getLogger("watchdog")
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)


def _known(index: IndexManager) -> Known | None:
    """What the index knows of each file; None where it cannot be read."""
    columns = "path, size, mtime_ns, ctime_ns, ino, racy, sha256"
    try:
        with reading(index.db_path) as db:
            rows = db.execute(f"SELECT {columns} FROM indexed_files").fetchall()
    except IndexUnusable:
        return None
    return {row[0]: ((row[1], row[2], row[3], row[4]), bool(row[5]), row[6]) for row in rows}


def _differs(root: Path, path: str, stamp: Stamp, known: tuple[Stamp, bool, str]) -> bool:
    seen, racy, sha256 = known
    if seen == signed_stamp(stamp) and not racy and sha256:
        return False
    read = read_file(root, path)
    return read is None or read.sha256 != sha256


def _changes(before: Known, after: Known) -> list[tuple[str, str]]:
    """(path, "added", "updated" or "removed"), sorted by path."""
    verbs = dict.fromkeys(before.keys() - after.keys(), "removed")
    verbs |= dict.fromkeys(after.keys() - before.keys(), "added")
    verbs |= {path: "updated" for path in before.keys() & after.keys() if before[path][2] != after[path][2]}
    return sorted(verbs.items())


def _name(path: str) -> str:
    return path.removeprefix("docs/").removesuffix(PAGE_SUFFIX).removesuffix(SIDECAR_SUFFIX)
