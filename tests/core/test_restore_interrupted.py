"""A restore and a backup that are killed, or whose disk fails, at any call: the memory is wholly the old or
wholly the new one as soon as the next command has called `finish_restore`.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memex_core.archive.backup import BackupRestore
from memex_core.archive.restore import finish_restore
from memex_core.archive.swap import NOTE
from memex_core.errors import Refused
from memex_core.files.atomic import append_line

CALLS = ("open", "replace", "rename", "mkdir", "unlink", "rmdir", "fsync", "chmod", "fchmod", "utime", "sync")
OLD: dict[str, bytes] = {
    "docs/entities/ruff.md": b"old",
    "docs/only-old.md": b"old",
    "diary/2026-01-02.md": b"old",
    "transcripts/s1.jsonl": b"old",
    "journal.jsonl": b"old\n",
    "recalls.jsonl": b"old\n",
    "memex.toml": b"# old\n",
}
NEW: dict[str, bytes] = {
    "docs/entities/ruff.md": b"new",
    "wiki/tools.md": b"new",
    "transcripts/s1.jsonl": b"new",
    "transcripts/s2.jsonl": b"new",
    "journal.jsonl": b"new\n",
    "forgotten.jsonl": b"{}\n",
    "memex.toml": b"# new\n",
}

KILLED = """
import os, signal, sys
from pathlib import Path
from memex_core.archive.backup import BackupRestore
from memex_core.archive.restore import finish_restore

work, archive, task = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
os.sync, os.fsync = lambda: None, lambda fd: None  # a kill takes nothing from the disk

def die_at(call):
    left = [call]
    def wrapped(real):
        def counted(*args, **named):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **named)
        return counted
    for name in sys.argv[4].split(","):
        setattr(os, name, wrapped(getattr(os, name)))

for call in map(int, sys.argv[5:]):
    child = os.fork()
    if child == 0:
        root = work / str(call)
        backups = BackupRestore(root, root / "mem.db")
        die_at(call)
        if task == "restore":
            backups.restore(archive)
        elif task == "backup":
            backups.backup(work / f"{call}.out" / "b.tar.gz")
        else:
            finish_restore(root)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def put(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def truth(root: Path) -> dict[str, bytes]:
    """Every file of the memory but those of no memory."""
    files = (path for path in root.rglob("*") if path.is_file())
    found = {str(path.relative_to(root)): path.read_bytes() for path in files}
    return {
        name: data for name, data in found.items() if name.split("/")[0] not in ("backups", ".lock", "logs")
    }


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sync", lambda: None)
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def archive(tmp_path: Path, _no_waiting_for_the_disk: None) -> Path:
    """A backup of NEW."""
    source = tmp_path / "source"
    put(source, NEW)
    BackupRestore(source, source / "mem.db").backup(tmp_path / "new.tar.gz")
    return tmp_path / "new.tar.gz"


def run_killed(work: Path, archive: Path, task: str, calls: list[int]) -> list[bool]:
    """Run the task once for each number, on a fresh OLD memory, killed at that call; was it?"""
    for call in calls:
        if task != "finish":
            put(work / str(call), OLD)
    command = [sys.executable, "-c", KILLED, str(work), str(archive), task, ",".join(CALLS), *map(str, calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [int(status) == -9 for status in done.stdout.split()]


def outcome(root: Path) -> str:
    """What the next command finds, and that the one after finds the same."""
    cut_off = (root / NOTE).exists()
    said = finish_restore(root)
    assert bool(said) == cut_off
    for left in root.glob(".memex-*"):
        os.utime(left, (time.time() - 7200,) * 2)
    assert finish_restore(root) == ""
    found = truth(root)
    if found == OLD:
        assert not (root / "backups").exists()
        return "old"
    assert found == NEW, found
    (previous,) = (root / "backups").iterdir()
    assert truth(previous) == OLD
    if said:
        assert "finished" in said and str(previous) in said
        return "finished"
    return "new"


def killed_at(work: Path, archive: Path, calls: list[int]) -> Counter[str]:
    killed = run_killed(work, archive, "restore", calls)
    outcomes = Counter(outcome(work / str(call)) for call in calls)
    assert all(killed) or outcomes["new"]
    return outcomes


class Broken:
    """Counts the calls of `names`; `times` of them fail from number `first` on."""

    def __init__(
        self, patched: pytest.MonkeyPatch, names: tuple[str, ...] = CALLS, first: int = 0, times: int = 0
    ) -> None:
        self.count = 0
        for name in names:
            patched.setattr(os, name, self._wrapped(getattr(os, name), first, times))

    def _wrapped(self, real: Callable[..., Any], first: int, times: int) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            self.count += 1
            if first <= self.count < first + times:
                raise OSError(errno.EIO, "Input/output error")
            return real(*args, **named)

        return call


@pytest.fixture
def length(archive: Path, tmp_path: Path) -> int:
    """How many calls a restore over OLD makes."""
    root = tmp_path / "counted"
    put(root, OLD)
    with pytest.MonkeyPatch.context() as patched:
        counted = Broken(patched)
        BackupRestore(root, root / "mem.db").restore(archive)
    return counted.count


def test_a_restore_killed_at_one_call_in_three_leaves_the_old_or_the_new(
    archive: Path, tmp_path: Path, length: int
) -> None:
    outcomes = killed_at(tmp_path / "work", archive, list(range(1, length + 2, 3)))
    assert outcomes.total() >= 40
    assert set(outcomes) == {"old", "finished", "new"}


@pytest.mark.slow
def test_a_restore_killed_at_every_call_leaves_the_old_or_the_new(
    archive: Path, tmp_path: Path, length: int
) -> None:
    outcomes = killed_at(tmp_path / "work", archive, list(range(1, length + 2)))
    assert set(outcomes) == {"old", "finished", "new"} and outcomes["finished"] > 30


def killed_after(tmp_path: Path, archive: Path, kills: int) -> Counter[str]:
    """Restores in processes of their own, killed after a random time."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom memex_core.archive.backup import BackupRestore\n"
        "root = Path(sys.argv[1])\nbackups = BackupRestore(root, root / 'mem.db')\n"
        "print('ready', flush=True)\nbackups.restore(Path(sys.argv[2]))\nprint('done', flush=True)\n"
    )
    chance = random.Random(3)
    outcomes: Counter[str] = Counter()
    for number in range(kills):
        root = tmp_path / f"random-{number}"
        put(root, OLD)
        command = [sys.executable, "-c", script, str(root), str(archive)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(chance.random() * 0.25)
            process.kill()
            done = process.stdout.read() == b"done\n"
        found = outcome(root)
        assert found == "new" if done else True
        outcomes[found] += 1
    return outcomes


@pytest.mark.slow
def test_a_restore_killed_at_three_hundred_moments_leaves_the_old_or_the_new(
    archive: Path, tmp_path: Path
) -> None:
    outcomes = killed_after(tmp_path, archive, 300)
    assert outcomes["old"] and outcomes["new"] + outcomes["finished"]


def test_a_killed_finish_is_finished_by_the_next(archive: Path, tmp_path: Path, length: int) -> None:
    cut = length * 2 // 3
    run_killed(tmp_path / "work", archive, "restore", [cut])
    template = tmp_path / "work" / str(cut)
    assert (template / NOTE).exists()
    calls = list(range(1, 40))
    for call in calls:
        shutil.copytree(template, tmp_path / "again" / str(call))
    killed = run_killed(tmp_path / "again", archive, "finish", calls)
    assert sum(killed) > 20
    for call in calls:
        finish_restore(tmp_path / "again" / str(call))
        assert truth(tmp_path / "again" / str(call)) == NEW


@pytest.mark.parametrize("times", [1, 2, 10**6], ids=["one failure", "two failures", "a dead disk"])
def test_a_restore_whose_disk_fails_at_any_call_leaves_the_old_or_the_new(
    archive: Path, tmp_path: Path, times: int
) -> None:
    names = ("replace", "rename", "mkdir", "unlink", "fsync")
    outcomes: Counter[str] = Counter()
    for first in range(1, 10**6):
        root = tmp_path / "broken" / str(first)
        put(root, OLD)
        with pytest.MonkeyPatch.context() as patched:
            broken = Broken(patched, names, first, times)
            try:
                BackupRestore(root, root / "mem.db").restore(archive)
                raised = False
            except (OSError, Refused):
                raised = True
        found = outcome(root)
        assert raised or found == "new"
        outcomes["raised, " + found if raised else found] += 1
        if broken.count < first:
            break
    assert outcomes["raised, old"] > 20 and outcomes["new"]
    assert times > 1 or not outcomes["raised, finished"]


def test_a_restore_over_a_part_that_cannot_be_moved_is_undone(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "memex"
    put(root, OLD)
    real = os.rename

    def busy(source: Any, target: Any) -> None:
        if str(source) == str(root / "transcripts"):
            raise OSError(errno.EBUSY, "Device or resource busy", str(source))
        real(source, target)

    monkeypatch.setattr(os, "rename", busy)
    with pytest.raises(OSError, match="busy"):
        BackupRestore(root, root / "mem.db").restore(archive)
    assert outcome(root) == "old"


def test_a_restore_that_failed_does_not_succeed_later(archive: Path, tmp_path: Path) -> None:
    root = tmp_path / "memex"
    put(root, OLD)
    real = os.rename

    def busy(source: Any, target: Any) -> None:
        back = Path(target) == root / "docs" and Path(source).parent.parent.name == "backups"
        if back or Path(source) == root / "transcripts":
            raise OSError(errno.EBUSY, "Device or resource busy", str(source))
        real(source, target)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "rename", busy)
        with pytest.raises(OSError, match="busy"):
            BackupRestore(root, root / "mem.db").restore(archive)
    assert (root / NOTE).exists() and not (root / "docs").exists()
    assert "undone" in finish_restore(root)
    assert outcome(root) == "old"


def test_what_was_written_into_a_memory_in_parts_is_kept(archive: Path, tmp_path: Path, length: int) -> None:
    calls = list(range(1, length, 2))
    run_killed(tmp_path / "work", archive, "restore", calls)
    seen = 0
    for call in calls:
        root = tmp_path / "work" / str(call)
        if not (root / NOTE).exists():
            continue
        append_line(root / "journal.jsonl", b"meanwhile")
        put(root, {"docs/entities/meanwhile.md": b"meanwhile", "diary/meanwhile.md": b"meanwhile"})
        finish_restore(root)
        everywhere = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
        assert sum(data.endswith(b"meanwhile\n") for data in everywhere) == 1
        assert sum(data == b"meanwhile" for data in everywhere) == 2
        kept = {data for data in everywhere if not data.endswith(b"meanwhile\n")}
        assert {b"old", b"new"} <= kept
        seen += 1
    assert seen > 15


def test_what_can_be_neither_finished_nor_undone_is_said(archive: Path, tmp_path: Path, length: int) -> None:
    cut = length * 2 // 3
    run_killed(tmp_path / "work", archive, "restore", [cut])
    root = tmp_path / "work" / str(cut)
    with pytest.MonkeyPatch.context() as patched:
        Broken(patched, ("rename", "replace"), 1, 10**6)
        with pytest.raises(Refused, match="neither finished nor undone"):
            finish_restore(root)
    assert outcome(root) == "finished"


def test_a_killed_backup_leaves_no_half_archive_and_no_changed_memory(archive: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    calls = list(range(1, 100, 2))
    killed = run_killed(work, archive, "backup", calls)
    assert len(calls) >= 40 and not killed[-1]
    finished = 0
    for call in calls:
        assert truth(work / str(call)) == OLD
        folder = work / f"{call}.out"
        left = set(os.listdir(folder)) if folder.is_dir() else set()
        assert all(name == "b.tar.gz" or name.startswith(".memex-") for name in left)
        if "b.tar.gz" in left:
            finished += 1
            assert BackupRestore(work, work / "mem.db").verify(folder / "b.tar.gz")
    assert 0 < finished < len(calls)


def test_what_a_killed_backup_left_is_swept_by_a_later_one(archive: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    stale, fresh = tmp_path / ".memex-aa.tmp", tmp_path / ".memex-bb.tmp"
    for path in (stale, fresh):
        path.write_bytes(b"half an archive")
    os.utime(stale, (time.time() - 7200,) * 2)
    BackupRestore(source, source / "mem.db").backup(tmp_path / "b.tar.gz")
    assert not stale.exists() and fresh.exists()


def test_the_note_says_only_what_is_needed(archive: Path, tmp_path: Path, length: int) -> None:
    cut = length * 2 // 3
    run_killed(tmp_path / "work", archive, "restore", [cut])
    note = json.loads((tmp_path / "work" / str(cut) / NOTE).read_bytes())
    assert note["forward"] is True and "memex.toml" in note["arriving"] and "diary" in note["leaving"]
