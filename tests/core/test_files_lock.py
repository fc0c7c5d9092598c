from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from memex_core.errors import LockTimeout
from memex_core.files.lock import memory_lock

HOLD = (
    "import sys, pathlib\nfrom memex_core.files.lock import memory_lock\n"
    "with memory_lock(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
)


def holder(root: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its stdin closes."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_the_same_thread_may_enter_again(root: Path) -> None:
    with memory_lock(root), memory_lock(root, timeout=0):
        pass
    with memory_lock(root, timeout=0):
        pass


def test_another_process_is_waited_for_and_then_given_up(root: Path) -> None:
    with holder(root) as process:
        started = time.monotonic()
        with pytest.raises(LockTimeout, match="another process"), memory_lock(root, timeout=0.2):
            pass
        assert 0.15 < time.monotonic() - started < 3
        process.communicate()
    with memory_lock(root, timeout=1):
        pass


def test_a_killed_holder_leaves_no_lock(root: Path) -> None:
    with holder(root) as process:
        process.kill()
        process.communicate()
    with memory_lock(root, timeout=1):
        pass


def test_threads_take_turns(root: Path) -> None:
    inside: list[int] = []
    overlaps: list[int] = []

    def work() -> None:
        for _ in range(20):
            with memory_lock(root):
                inside.append(1)
                overlaps.append(len(inside))
                time.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(overlaps) == 1 and len(overlaps) == 80


def test_a_thread_that_waits_too_long_gives_up(root: Path) -> None:
    errors: list[str] = []

    def wait() -> None:
        try:
            with memory_lock(root, timeout=0.1):
                pass
        except LockTimeout as error:
            errors.append(str(error))

    with memory_lock(root):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert len(errors) == 1


def test_a_forked_child_holds_nothing_and_releases_nothing(root: Path) -> None:
    with memory_lock(root):
        child = os.fork()
        if child == 0:
            try:
                with memory_lock(root, timeout=0.1):
                    os._exit(1)
            except LockTimeout:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with pytest.raises(subprocess.CalledProcessError):
            subprocess.run(
                [sys.executable, "-c", HOLD.replace("argv[1])", "argv[1]), 0.1"), str(root)],
                check=True,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )


def test_a_lock_file_deleted_under_a_holder_makes_no_second_lock(root: Path) -> None:
    with holder(root) as process:
        (root / ".lock").unlink()
        with memory_lock(root, timeout=1):
            assert (root / ".lock").exists()
        process.communicate()


def test_a_read_only_root_says_so(root: Path) -> None:
    if os.geteuid() == 0:
        root.parent.joinpath("file").write_bytes(b"")
        with pytest.raises(OSError), memory_lock(root.parent / "file"):
            pass
        return
    root.mkdir(mode=0o500)
    with pytest.raises(PermissionError), memory_lock(root):
        pass
