"""The index brought to what the files say, whenever a command opens it (DESIGN §4 Index).

A file whose stamp is as the index saw it is unchanged; any other one is read, and indexed again if its bytes
differ. An index that is missing, damaged or of another version is built anew beside the old one and swapped
in. While it cannot be used at all, `ask` answers from the files, with the hits that a fresh index
would give.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from memex_core.errors import LockTimeout
from memex_core.files.atomic import remove_stale_temps
from memex_core.files.lock import memory_lock
from memex_core.files.walk import walk_blocks, walk_pages, walk_sidecars
from memex_core.index.bm25_retriever import BM25Retriever
from memex_core.index.connection import IndexUnusable, patience, reading, require_version
from memex_core.index.file_rows import Read, drop_file, put_file, read_file, restamp_file, signed_stamp
from memex_core.index.index_manager import IndexManager
from memex_core.index.memory_index import index_in_memory
from memex_core.index.rebuild import build_new, fill_from_files
from memex_core.index.recall_counts import count_recalls, recalls_changed
from memex_core.model.results import RecallHit
from memex_core.paths import docs_dir, transcripts_dir

_BATCH = 256
Answer = TypeVar("Answer")


@dataclass(slots=True)
class SyncReport:
    """What a sync did. `usable` False: ask the files; `note` then says why, and also why an index was built
    anew.

    `problems` are (path, what is odd) of the files read this time.
    """

    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    changed_pages: int = 0
    rebuilt: bool = False
    usable: bool = True
    note: str = ""
    duration_ms: float = 0.0
    problems: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Plan:
    """What the index must learn: files to read again, files that only look new, files that are gone."""

    new: list[Read] = field(default_factory=list)
    restamped: list[tuple[Read, str, int]] = field(
        default_factory=list
    )  # with the problem and the time known so far
    gone: list[str] = field(default_factory=list)
    recalls: bool = False

    def __bool__(self) -> bool:
        return bool(self.new or self.restamped or self.gone or self.recalls)


def sync(index: IndexManager, root: Path, *, force: bool = False) -> SyncReport:
    """Bring the index to what pages, RecallFiles, diary, sidecars and recalls.jsonl say; `force` builds it
    anew.

    An index that cannot be used is reported, never raised.
    """
    started = time.perf_counter()
    report = SyncReport()
    try:
        _heal(index, root, report, force=force)
    except IndexUnusable as error:
        report.usable, report.note = False, error.why
    except (LockTimeout, OSError) as error:
        report.usable, report.note = False, str(error)
    report.duration_ms = (time.perf_counter() - started) * 1000
    return report


def recall_pages(
    index: IndexManager, retriever: BM25Retriever, root: Path, query: str, report: SyncReport, **options: Any
) -> tuple[list[RecallHit], str]:
    """`(hits, note)`: as `ask` answers `BM25Retriever.retrieve` with these `options`."""
    return ask(index, retriever, root, report, lambda known: known.retrieve(query, **options))


def ask(
    index: IndexManager,
    retriever: BM25Retriever,
    root: Path,
    report: SyncReport,
    question: Callable[[BM25Retriever], Answer],
) -> tuple[Answer, str]:
    """`(answer, note)`: from the index if it can answer, else from the files; `note` says why it was not as
    usual.

    `report` is that of the last `sync`. Raises ValueError for options that are wrong.
    """
    for _ in range(2):
        if not report.usable:
            break
        try:
            return question(retriever), report.note
        except IndexUnusable as error:
            report = sync(index, root, force=error.trouble == "damaged")
    why = report.note or "the index cannot be used"
    with index_in_memory(root) as uri:
        answer = question(BM25Retriever(uri, retriever.k1, retriever.b, root=root))
    return answer, f"answered from the files: {why}"


def scan_recall(
    root: Path, query: str, *, k1: float | None = None, b: float | None = None, **options: Any
) -> list[RecallHit]:
    """What `BM25Retriever.retrieve` would answer with these `options`, from the files alone."""
    with index_in_memory(root) as uri:
        return BM25Retriever(uri, k1, b, root=root).retrieve(query, **options)


def _heal(index: IndexManager, root: Path, report: SyncReport, *, force: bool) -> None:
    as_left = index.is_as_left()
    trouble = index.why_unusable() if force or not as_left else None
    if trouble is not None and trouble.trouble in ("locked", "unwritable", "no fts5"):
        raise trouble
    if force or trouble is not None:
        _rebuild(index, root, report, "" if trouble is None or trouble.trouble == "missing" else trouble.why)
        return
    if not as_left and (damage := _check(index)):
        _rebuild(index, root, report, damage)
        return
    try:
        plan = _compare(index, root, report)
        if plan:
            _carry_out(index, root, plan, report)
    except IndexUnusable as error:
        if error.trouble not in ("damaged", "missing", "foreign"):
            raise
        _rebuild(index, root, report, error.why)


def _check(index: IndexManager) -> str:
    """What is wrong with an index that something else has touched; a writer that is not yet done
    is waited for.
    """
    with memory_lock(index.root, patience.get()):
        if index.is_as_left():
            return ""
        damage = index.find_damage()
        if not damage:
            index.remember_as_left()
        return damage


def _rebuild(index: IndexManager, root: Path, report: SyncReport, why: str) -> None:
    before = _identity(index.db_path)
    for folder in (index.db_path.parent, *docs_dir(root).glob("*"), transcripts_dir(root)):
        remove_stale_temps(folder)

    def done_by_another() -> bool:
        return _identity(index.db_path) != before and index.is_as_left() and index.why_unusable() is None

    fill = fill_from_files(root, time.time(), report.problems)
    build_new(index.db_path, root, fill, journal_mode=index.journal_mode, unless=done_by_another)
    report.rebuilt, report.changed = True, index.count()
    report.note = f"the index was built anew: {why}" if why else ""


def _identity(db_path: Path) -> int:
    try:
        return os.lstat(db_path).st_ino
    except OSError:
        return 0


def _compare(index: IndexManager, root: Path, report: SyncReport) -> _Plan:
    with reading(index.db_path) as db:
        require_version(db)
        columns = "path, size, mtime_ns, ctime_ns, ino, racy, sha256, problem"
        rows = db.execute(f"SELECT {columns} FROM indexed_files")
        rows.row_factory = None
        seen: dict[str, tuple[Any, ...]] = {row[0]: row for row in rows.fetchall()}
        plan = _Plan(recalls=recalls_changed(db, root))
    for walk in (walk_pages(root), walk_blocks(root), walk_sidecars(root)):
        for path, stamp in walk:
            known = seen.pop(path, None)
            if known is not None and known[1:5] == stamp and not known[5] and known[6]:
                report.unchanged += 1
            else:
                _look_closer(root, path, known, plan, report)
    plan.gone.extend(seen)
    return plan


def _look_closer(
    root: Path, path: str, known: tuple[Any, ...] | None, plan: _Plan, report: SyncReport
) -> None:
    """Read a file whose stamp is new or proves nothing, and note what the index must learn of it."""
    read = read_file(root, path)
    if read is None:
        if known is not None:
            plan.gone.append(path)
    elif known is None or read.sha256 != known[6] or (read.problem and read.problem != known[7]):
        plan.new.append(read)
    elif (signed_stamp(read.stamp), read.racy) != (known[1:5], bool(known[5])):
        plan.restamped.append((read, known[7], known[2]))
    else:
        report.unchanged += 1


def _carry_out(index: IndexManager, root: Path, plan: _Plan, report: SyncReport) -> None:
    """Bring the index up to date, some hundred files a transaction, so that nobody waits long for
    the lock.
    """
    for start in range(0, max(len(plan.new), 1), _BATCH):
        with index.changing(patience.get()) as db:
            for read in plan.new[start : start + _BATCH]:
                problem = put_file(db, read)
                if problem:
                    report.problems.append((read.path, problem))
            if start == 0:
                for read, problem, modified_ns in plan.restamped:
                    restamp_file(db, read, problem, modified_ns)
                for path in plan.gone:
                    drop_file(db, path)
                if plan.recalls:
                    count_recalls(db, root)
    report.changed, report.removed = len(plan.new), len(plan.gone)
    report.changed_pages = sum(read.path.startswith("docs/") for read in plan.new)
    report.unchanged += len(plan.restamped)
