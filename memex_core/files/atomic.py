"""How bytes reach the disk (DESIGN §4 Files): whole or not at all, private, and never through a link.

An error is an OSError that names what failed; the file that was there before is then still there, unchanged.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

FILE_MODE = 0o600
DIR_MODE = 0o700
TEMP_PREFIX = ".memex-"
TEMP_SUFFIX = ".tmp"
STALE_AFTER_S = 3600.0

_O_PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def make_dir(path: Path) -> None:
    """Create `path` and its missing parents, each 0700 whatever the umask, and durably: what is written in a
    folder is lost with its name. An existing one keeps its mode.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_dir(path.parent)
    try:
        path.mkdir(DIR_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(20, "exists and is not a directory", str(path)) from None
    else:
        path.chmod(DIR_MODE)
        sync_dir(path.parent)


def write_atomic(
    path: Path,
    data: bytes,
    mode: int = FILE_MODE,
    *,
    durable: bool = True,
    unless: Callable[[], bool] | None = None,
) -> bool:
    """Put `data` at `path`: when this returns, the bytes are on disk; when it raises, nothing has changed.

    The directory is made if missing. A symbolic link at `path` is replaced, not followed. `durable=False`
    skips the fsyncs: for what can be derived again. `unless` is asked last, when only the new name is
    missing: where it says True nothing is changed, and False is returned.
    """
    make_dir(path.parent)
    temp = path.parent / f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"
    try:
        _write_new(temp, data, mode, durable=durable)
        if unless is not None and unless():
            temp.unlink()
            return False
        temp.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temp.unlink()
        raise
    if durable:
        sync_dir(path.parent)
    return True


@contextlib.contextmanager
def staged_file(directory: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A private temp file in `directory` to be filled piece by piece, open for reading and writing.

    Hand it to `commit_staged` to give it its name; whatever is still under the temp name at the end is
    deleted.
    """
    make_dir(directory)
    temp = directory / f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"
    fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | _O_PLAIN, FILE_MODE)
    try:
        _set_mode(fd, FILE_MODE)
        with os.fdopen(fd, "w+b") as file:
            yield file, temp
    except OSError as error:
        raise _named(error, temp) from None
    finally:
        with contextlib.suppress(OSError):
            temp.unlink()


def commit_staged(file: BinaryIO, temp: Path, path: Path) -> None:
    """Make the staged `file` durable and give it the name `path`; the same promise as `write_atomic`."""
    file.flush()
    _fsync(file.fileno())
    temp.replace(path)
    sync_dir(path.parent)


def commit_together(*staged: tuple[BinaryIO, Path, Path]) -> None:
    """Make staged files, of one directory, durable, then give them their names (file, temp, path), one right
    after the other. Where one cannot have its name, those before it are gone again.
    """
    for file, _, _ in staged:
        file.flush()
        _fsync(file.fileno())
    named: list[Path] = []
    try:
        for _, temp, path in staged:
            temp.replace(path)
            named.append(path)
    except OSError:
        for path in named:
            path.unlink()
        raise
    sync_dir(staged[0][2].parent)


def append_line(path: Path, line: bytes, *, durable: bool = True) -> None:
    """Append `line` (no newline in it) and its newline in one write: concurrent writers never interleave.

    A last line that an earlier crash tore is closed first and stays a line of its own, for readers to skip.
    `durable=False` skips the fsync: for lines whose loss in a power cut costs nothing.
    """
    if b"\n" in line:
        raise ValueError("a line holds no newline")
    make_dir(path.parent)
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _O_PLAIN, FILE_MODE)
    try:
        size = _regular_size(fd, path)
        if size == 0:
            _set_mode(fd, FILE_MODE)
        torn = size > 0 and _last_byte(fd, size) != b"\n"
        payload = (b"\n" if torn else b"") + line + b"\n"
        if os.write(fd, payload) != len(payload):
            raise OSError(28, "only a part of the line could be written", str(path))
        if durable:
            _fsync(fd)
    except OSError as error:
        raise _named(error, path) from None
    finally:
        os.close(fd)
    if durable and size == 0:
        sync_dir(path.parent)


def remove_file(path: Path) -> None:
    """Delete a file for good. FileNotFoundError if it is not there."""
    path.unlink()
    sync_dir(path.parent)


def sync_dir(directory: Path) -> None:
    """Make a rename or removal in `directory` survive a power cut; a file system that cannot is tolerated."""
    if os.name == "nt":
        return
    fd = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (22, 95):  # EINVAL, ENOTSUP: network file systems
            raise
    finally:
        os.close(fd)


def remove_stale_temps(directory: Path, *, now: float | None = None) -> int:
    """Delete temp files that a killed writer left in `directory` over an hour ago; returns how many."""
    now = time.time() if now is None else now
    removed = 0
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if is_temp_name(entry.name) and now - entry.stat(follow_symlinks=False).st_mtime > STALE_AFTER_S:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()
                    removed += 1
    return removed


def is_temp_name(name: str) -> bool:
    return name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX)


def _write_new(temp: Path, data: bytes, mode: int, *, durable: bool) -> None:
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_PLAIN, mode)
    try:
        _set_mode(fd, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if durable:
            _fsync(fd)
    except OSError as error:
        raise _named(error, temp) from None
    finally:
        os.close(fd)


def _named(error: OSError, path: Path) -> OSError:
    """`error` with the file that it is about: a write says only why."""
    return (
        error
        if error.filename is not None or error.errno is None
        else OSError(error.errno, error.strerror, str(path))
    )


def _set_mode(fd: int, mode: int) -> None:
    if hasattr(os, "fchmod"):  # the umask may have taken bits away
        os.fchmod(fd, mode)


def _fsync(fd: int) -> None:
    if sys.platform == "darwin":  # there, fsync stops at the drive's cache
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def _regular_size(fd: int, path: Path) -> int:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(22, "not a regular file", str(path))
    return status.st_size


def _last_byte(fd: int, size: int) -> bytes:
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1)
