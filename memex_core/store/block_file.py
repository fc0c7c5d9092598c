"""The files of wiki/ and diary/ on disk: listed and read with patience, replaced with care (seed 002).

One file that cannot be read costs that file: it is reported with the reason and left alone. A file keeps its
mode; where its name is a link, the file it leads to is replaced and the link stays.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from memex_core.errors import MemexError, WikiStoreError
from memex_core.files.atomic import FILE_MODE, remove_file, remove_stale_temps, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.files.walk import Stamp, is_inside, stamp_of
from memex_core.text.blocks import BOM, is_heading

SUFFIX = ".md"
MAX_BYTES = 1 << 26
"""More than a memory for people ever holds in one file, and read in a moment."""
_MAX_STEM = 255 - len(SUFFIX)
LOCK_WAIT_S = 60.0
"""Writers of one memory root take turns, each for a few milliseconds; many of them at once take long."""

_TRIES = 100
Answer = TypeVar("Answer")
Problem = tuple[str, str]
"""(path relative to the memory root, what is wrong with it)."""


class BadBlockFile(WikiStoreError):
    """A file of wiki/ or diary/ that cannot be read or written; `reason` says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}", hint="nothing was changed; mend or move the file")
        self.path = path
        self.reason = reason


class BlockFiles:
    """The *.md files of one folder of the memory root, by their stems."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self._swept = False

    def stems(self) -> list[str]:
        """The stems of the files that may be read, sorted by code point; dotfiles included."""
        return [stem for stem, reason in self._entries() if not reason]

    def problems(self) -> list[Problem]:
        """What is wrong with the files of this folder. Reads all of them."""
        if not is_inside(self.folder, self.root):
            return [(self.folder.name, "leads outside the memory root and is not read")]
        found = [(stem, reason or self._problem_in(stem)) for stem, reason in self._entries()]
        return [(_printable(self._name(stem)), reason) for stem, reason in found if reason]

    def read(self, stem: str) -> str | None:
        """The text of a file; None where there is none. Raises BadBlockFile."""
        if not is_stem(stem):
            return None
        path = self.folder / f"{stem}{SUFFIX}"
        try:
            reason = self._reason(path, path.is_symlink() or self.folder.is_symlink())
            if reason:
                raise BadBlockFile(self._name(stem), reason)
            return _decoded(_bytes(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise BadBlockFile(self._name(stem), f"cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise BadBlockFile(self._name(stem), str(error)) from error

    def readable(self, stem: str) -> str:
        """The text of a file; "" where there is none, or none that can be read: `problems` names those."""
        try:
            return self.read(stem) or ""
        except BadBlockFile:
            return ""

    def rewrite(self, stem: str, change: Callable[[str], tuple[str, Answer]]) -> Answer:
        """Make the file what `change` makes of its text ("" where there is none), and give its other answer.

        Under the memory lock; but wikimem and editors take none. Where one of them replaced the file
        meanwhile, `change` is asked again.
        """
        for _ in range(_TRIES):
            seen = self._stamp(stem)
            text, answer = change(self.read(stem) or "")
            if self._put(stem, text, partial(self._has_changed, stem, seen)):
                return answer
        raise BadBlockFile(self._name(stem), "is being written by another program all the time")

    def replace(self, stem: str, text: str) -> None:
        """Make `text` the file: durable, and whole or not at all. Under the memory lock."""
        self._put(stem, text)

    def _put(self, stem: str, text: str, unless: Callable[[], bool] | None = None) -> bool:
        path, mode = self._writable(stem)
        data = text.encode("utf-8")
        if len(data) > MAX_BYTES:
            raise BadBlockFile(self._name(stem), f"would be larger than {MAX_BYTES >> 20} MiB")
        return write_atomic(path, data, mode, unless=unless)

    def _has_changed(self, stem: str, seen: Stamp | None) -> bool:
        return self._stamp(stem) != seen

    def _stamp(self, stem: str) -> Stamp | None:
        """How the file behind a name looks now; None where there is none that could be read."""
        try:
            return stamp_of(os.stat(self.folder / f"{stem}{SUFFIX}"))
        except (OSError, ValueError):
            return None

    def remove(self, stem: str, rest: str) -> None:
        """Delete a file of which only `rest` is left; a link stays, and so does `rest` behind it."""
        if (self.folder / f"{stem}{SUFFIX}").is_symlink():
            self.replace(stem, rest)
        else:
            remove_file(self._writable(stem)[0])

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the memory lock for a change; where the disk fails it, WikiStoreError says so."""
        try:
            with memory_lock(self.root, LOCK_WAIT_S):
                self._sweep()
                yield
        except MemexError:
            raise
        except OSError as error:
            raise WikiStoreError(
                f"cannot write {error.filename or self.folder}: {error.strerror or error}",
                hint="check space and permissions",
            ) from error

    def _sweep(self) -> None:
        """What a killed writer left in the folder goes with the first change that comes after it."""
        if not self._swept and is_inside(self.folder, self.root):
            remove_stale_temps(self.folder)
        self._swept = True

    def _entries(self) -> list[tuple[str, str]]:
        """(stem, "" or why it cannot be read) of every *.md in the folder, sorted."""
        if not is_inside(self.folder, self.root):
            return []
        try:
            with os.scandir(self.folder) as scan:
                found = [entry for entry in scan if entry.name.endswith(SUFFIX)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        stems = {entry.name.removesuffix(SUFFIX): entry for entry in found}
        return [(stem, self._entry_reason(stem, stems[stem])) for stem in sorted(stems)]

    def _entry_reason(self, stem: str, entry: os.DirEntry[str]) -> str:
        if not is_stem(stem):
            return "has a name that cannot be used"
        try:
            return "" if entry.is_file(follow_symlinks=False) else self._reason(Path(entry.path), True)
        except FileNotFoundError:
            return "is a link that leads nowhere"
        except OSError as error:
            return f"cannot be read: {error.strerror}"

    def _reason(self, path: Path, linked: bool) -> str:
        if linked and not is_inside(path, self.root):
            return "is a link that leads outside the memory root"
        mode = path.stat().st_mode
        return "" if stat.S_ISREG(mode) else "is a folder" if stat.S_ISDIR(mode) else "is no regular file"

    def _problem_in(self, stem: str) -> str:
        try:
            text = self.read(stem) or ""
        except BadBlockFile as error:
            return error.reason
        hidden = text.startswith(BOM) and is_heading(text[1:])
        return "begins with a byte order mark, which hides its first item from wikimem" if hidden else ""

    def _writable(self, stem: str) -> tuple[Path, int]:
        """The file behind a name, and the mode it keeps."""
        path = self.folder / f"{stem}{SUFFIX}"
        if not is_inside(path, self.root):
            raise BadBlockFile(self._name(stem), "leads outside the memory root")
        real = Path(os.path.realpath(path)) if path.is_symlink() else path
        try:
            mode = stat.S_IMODE(real.stat().st_mode)
        except FileNotFoundError:
            return real, FILE_MODE
        if not mode & 0o222:
            raise BadBlockFile(self._name(stem), "is read-only")
        return real, mode

    def _name(self, stem: str) -> str:
        return f"{self.folder.name}/{stem}{SUFFIX}"


def is_stem(stem: str) -> bool:
    """False for what is no file name, or one that is not UTF-8."""
    try:
        size = len(stem.encode("utf-8"))
    except UnicodeEncodeError:
        return False
    return 0 < size <= _MAX_STEM and not any(char in stem for char in "/\\\0")


def _bytes(path: Path) -> bytes:
    """The bytes of a regular file. ValueError for anything else, and for one that is too large."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(fd, "rb") as file:  # O_NONBLOCK: it may have become a FIFO since it was looked at
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("is no regular file")
        if status.st_size > MAX_BYTES:
            raise ValueError(f"is larger than {MAX_BYTES >> 20} MiB")
        return file.read(MAX_BYTES)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start})") from None


def _printable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")
