"""One lock per memory root around every read-modify-write (DESIGN §4 Files).

The kernel releases it when its holder dies, so there are no stale locks. Never held across a model call, the
network or a question to the user. Readers take no lock.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memex_core.errors import LockTimeout
from memex_core.files.atomic import FILE_MODE, make_dir
from memex_core.paths import lock_path

if sys.platform == "win32":
    import msvcrt

    def _try_lock(fd: int) -> bool:
        os.lseek(fd, 0, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


@dataclass(slots=True)
class _Held:
    """What this process knows of one root's lock: which thread has it, how deep, through which descriptor."""

    owner: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0
    fd: int = -1


_held: dict[str, _Held] = {}
_registry = threading.Lock()


@contextlib.contextmanager
def memory_lock(root: Path, timeout: float = 10.0) -> Iterator[None]:
    """Hold the lock of the memory root; the same thread may enter again, other threads and processes wait.

    Raises LockTimeout after `timeout` seconds, OSError where the lock file cannot be made (a read-only root).
    """
    deadline = time.monotonic() + timeout
    held = _state(root)
    if not held.owner.acquire(timeout=max(timeout, 0.0)):
        raise _timed_out(root, timeout)
    try:
        if held.depth == 0:
            held.fd = _acquire(root, deadline, timeout)
        held.depth += 1
        try:
            yield
        finally:
            held.depth -= 1
            if held.depth == 0:
                fd, held.fd = held.fd, -1
                _release(fd)
    finally:
        held.owner.release()


def _state(root: Path) -> _Held:
    with _registry:
        return _held.setdefault(os.path.realpath(root), _Held())


def _acquire(root: Path, deadline: float, timeout: float) -> int:
    make_dir(root)
    path = lock_path(root)
    pause = 0.001
    while True:
        fd = _open(path)
        try:
            if _try_lock(fd) and _is_still_there(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        if time.monotonic() >= deadline:
            raise _timed_out(root, timeout)
        time.sleep(min(pause, max(deadline - time.monotonic(), 0.0)))
        pause = min(pause * 1.5, 0.005)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    fd = os.open(path, flags, FILE_MODE)
    if hasattr(os, "fchmod") and not os.fstat(fd).st_mode & 0o600:  # a umask of 0777 would lock its owner out
        os.fchmod(fd, FILE_MODE)
    return fd


def _is_still_there(fd: int, path: Path) -> bool:
    """False when someone deleted the lock file meanwhile: two holders of two files would be no lock."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _release(fd: int) -> None:
    try:
        _unlock(fd)
    finally:
        os.close(fd)


def _timed_out(root: Path, timeout: float) -> LockTimeout:
    return LockTimeout(
        f"another process is writing to {root}; gave up after {timeout:g} s",
        hint="try again; if nothing else runs, look for a stopped memex process",
    )


def _forget_in_child() -> None:
    """After a fork the child holds nothing: it must neither think so nor release what the parent holds."""
    global _registry
    for held in _held.values():
        if held.fd >= 0:
            os.close(held.fd)
    _held.clear()
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
