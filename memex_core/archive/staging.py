"""A folder inside the memory root in which an archive is unpacked before anything else changes.

It lies there so that its files can be renamed into place. Whoever made it holds a lock in it: what a killed
process left behind is told from what is in use.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from memex_core.archive.archive_format import TRUTH
from memex_core.archive.swap import pending_staging
from memex_core.errors import LockTimeout, Refused
from memex_core.files.atomic import (
    FILE_MODE,
    TEMP_PREFIX,
    TEMP_SUFFIX,
    make_dir,
    remove_stale_temps,
    staged_file,
    sync_dir,
)
from memex_core.files.lock import memory_lock

_PREFIX = f"{TEMP_PREFIX}restore-"
_UNCLAIMED_S = 60.0


class Staging:
    """Takes the files of an archive (a `Receiver`). It is gone at the end, unless an exchange that was cut
    off still needs it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / f"{_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"
        self._modes: dict[Path, int] = {}
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Staging:
        try:
            self._held.enter_context(no_empty_folder_left(self.root))
            self._held.callback(self._remove)
            make_dir(self.folder)
            self._held.enter_context(memory_lock(self.folder))
        except BaseException:
            self._held.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, error, trace)

    def expect(self, size: int) -> None:
        """Refused where the disk does not hold `size` bytes more."""
        free = shutil.disk_usage(self.folder).free
        if size > free:
            raise Refused(
                f"it needs {size:,} bytes, and {self.root} has {free:,} left", hint="make room and try again"
            )

    def put(self, path: str, mode: int, mtime: int, chunks: Iterator[memoryview]) -> None:
        """One file, as `archive_reader.Receiver` says."""
        target = self.folder / path
        with staged_file(target.parent) as (file, temp):
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.utime(temp, (mtime, mtime))
            if os.path.lexists(target):  # this file system knows fewer names than we do
                raise Refused(f"{path!r} is there already under a name like it")
            temp.replace(target)
        self._modes[target] = mode

    def names(self) -> list[str]:
        """Which parts of a memory arrived."""
        return [name for name in TRUTH if os.path.lexists(self.folder / name)]

    def make_durable(self) -> None:
        """Give every file its mode, and wait until all of it is on disk."""
        if hasattr(os, "sync"):
            os.sync()  # one by one they would take a hundred times as long
        for path, mode in self._modes.items():
            fd = os.open(path, os.O_RDWR)
            try:
                if mode != FILE_MODE and hasattr(os, "fchmod"):
                    os.fchmod(fd, mode)
                os.fsync(fd)
            finally:
                os.close(fd)
        for folder, _, _ in os.walk(self.folder):
            sync_dir(Path(folder))

    def _remove(self) -> None:
        if pending_staging(self.root) != self.folder.name:
            shutil.rmtree(self.folder, ignore_errors=True)


def sweep_staging(root: Path) -> None:
    """Remove what killed restores left behind. Never raises OSError."""
    remove_stale_temps(root)
    for name in _staging_names(root):
        folder = root / name
        with contextlib.suppress(OSError, LockTimeout):
            if name == pending_staging(root) or time.time() - folder.stat().st_mtime < _UNCLAIMED_S:
                continue
            with memory_lock(folder, timeout=0):
                shutil.rmtree(folder)


@contextlib.contextmanager
def no_empty_folder_left(folder: Path) -> Iterator[None]:
    """Make `folder`; where the block fails, remove it and the parents that were made for it."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    make_dir(folder)
    try:
        yield
    except BaseException:
        for each in made:
            with contextlib.suppress(OSError):
                each.rmdir()
        raise


def _staging_names(root: Path) -> list[str]:
    try:
        return [name for name in os.listdir(root) if name.startswith(_PREFIX) and name.endswith(TEMP_SUFFIX)]
    except OSError:
        return []
