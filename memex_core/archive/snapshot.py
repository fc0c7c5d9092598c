"""The bytes of every truth file as they were at one moment, in one file of their own.

Copying takes long and the memory lock must not: the files are copied without it, then what changed meanwhile
is copied again under it. So no writer waits for more than that, and nothing is read while it moves.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memex_core.archive.archive_format import CONFIG, INDEX, FileEntry
from memex_core.archive.config_secret import without_api_key
from memex_core.archive.swap import finish_exchange
from memex_core.archive.truth_files import Found, find_truth
from memex_core.files.lock import memory_lock
from memex_core.files.walk import Stamp, stamp_of

_CHUNK = 1 << 20
_PASSES = 4
_LITTLE = 8 << 20
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Copied:
    """One file of the snapshot, at `offset` of its store."""

    entry: FileEntry
    mtime: int
    offset: int
    stamp: Stamp


class Snapshot:
    """`store` is an empty file, open for reading and writing, that takes all the bytes."""

    def __init__(self, root: Path, index_path: Path, store: BinaryIO) -> None:
        self._root = root
        self._index_path = index_path
        self.store = store
        self.files: dict[str, Copied] = {}
        self.left_out: dict[str, str] = {}
        self._unreadable: dict[str, str] = {}

    def take(self) -> None:
        """Copy the truth. Raises LockTimeout, and OSError where the store is full."""
        for _ in range(_PASSES):
            if self._catch_up() < _LITTLE:
                break
        with _lock_if_possible(self._root):
            finish_exchange(self._root)
            self._catch_up()

    def add_index(self, copy: Path, mtime: int) -> None:
        """Take a copy of mem.db in; never mem.db itself: closing it would drop this process's locks on it."""
        copied = self._copy(INDEX, os.fspath(copy))
        if copied is not None:
            self.files[INDEX] = Copied(copied.entry, mtime, copied.offset, copied.stamp)

    def _catch_up(self) -> int:
        """Copy what is new or looks other than when it was copied; returns how many bytes."""
        truth = find_truth(self._root, self._index_path)
        gone = self.files.keys() - truth.files.keys() - {INDEX}
        for path in gone:
            del self.files[path]
        self._unreadable = {}
        start = self.store.seek(0, os.SEEK_END)
        for path, found in truth.files.items():
            self._bring(path, found)
        self.left_out = truth.left_out | self._unreadable
        return self.store.tell() - start

    def _bring(self, path: str, found: Found) -> None:
        known = self.files.pop(path, None)
        copied = known if known is not None and known.stamp == found.stamp else self._copy(path, found.source)
        if copied is not None:
            self.files[path] = copied

    def _copy(self, path: str, source: str) -> Copied | None:
        """The file's bytes at the end of the store; again, if it was written to meanwhile. None where it is
        gone or cannot be read.
        """
        try:
            for attempt in range(_TRIES):
                with _opened(source) as file:
                    before = os.fstat(file.fileno())
                    copied = self._copied(path, _chunks(file, before.st_size), before)
                    unmoved = stamp_of(os.fstat(file.fileno())) == stamp_of(before)
                if copied is None or unmoved or attempt == _TRIES - 1:
                    return copied
        except FileNotFoundError:
            pass
        except _Unreadable as error:
            self._unreadable[path] = str(error)
        return None

    def _copied(self, path: str, chunks: Iterator[bytes], status: os.stat_result) -> Copied | None:
        if path == CONFIG:
            config = without_api_key(b"".join(chunks))
            if config is None:
                raise _Unreadable("it is not TOML, and may hold a key")
            chunks = iter([config])
        digest = hashlib.sha256()
        offset = self.store.seek(0, os.SEEK_END)
        for chunk in chunks:
            digest.update(chunk)
            self.store.write(chunk)
        size = self.store.tell() - offset
        entry = FileEntry(path, size, digest.hexdigest(), stat.S_IMODE(status.st_mode) & 0o777)
        return Copied(entry, max(0, int(status.st_mtime)), offset, stamp_of(status))


class _Unreadable(Exception):
    """A file that is there and cannot be copied: it costs itself, not the backup."""


@contextlib.contextmanager
def _opened(source: str) -> Iterator[BinaryIO]:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(source, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _Unreadable(error.strerror or str(error)) from None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _Unreadable("it is not a regular file")
        yield file


def _chunks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """At most `size` bytes: what is appended meanwhile belongs to the next backup."""
    while size > 0:
        try:
            chunk = file.read(min(size, _CHUNK))
        except OSError as error:
            raise _Unreadable(error.strerror or str(error)) from None
        if not chunk:
            return
        size -= len(chunk)
        yield chunk


@contextlib.contextmanager
def _lock_if_possible(root: Path) -> Iterator[None]:
    """The memory lock; without it where the lock file cannot be made: nobody writes to a read-only root."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            held.enter_context(memory_lock(root))
        yield
