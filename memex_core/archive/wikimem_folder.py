"""A wikimem directory as files (formats page 1.1): wiki/ and diary/ with all that is in them, journal.jsonl.

Read with patience: a file that cannot be read costs that file. Nothing outside the directory is read or
written, whatever a link or a name says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from memex_core.errors import InvalidName, WikiStoreError
from memex_core.files.atomic import FILE_MODE, is_temp_name, remove_file, write_atomic
from memex_core.files.regular import open_regular
from memex_core.files.walk import is_inside
from memex_core.paths import day_path, is_day_name
from memex_core.text.redact import redact

FOLDERS = ("diary", "wiki")
JOURNAL = "journal.jsonl"
SUFFIX = ".md"
MAX_BYTES = 1 << 26
"""More than a memory for people ever holds in one file, and read in a moment."""
_MAX_DEPTH = 8

Problem = tuple[str, str]
"""(path relative to the directory, what is wrong with it)."""


class BadFile(WikiStoreError):
    """A file that cannot be read or written; `reason` says why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} {reason}")
        self.reason = reason


class WikimemFolder:
    """The files of one directory, by their paths relative to it, with `/`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> tuple[list[str], list[Problem]]:
        """Every regular file of the layout, sorted, and what is there but cannot be read."""
        found: list[str] = []
        problems: list[Problem] = []
        for folder in FOLDERS:
            if not is_inside(self.path / folder, self.path):
                problems.append((folder, "leads outside the directory"))
                continue
            for name, reason in self._entries(folder, 1):
                if reason:
                    problems.append((printable(name), reason))
                else:
                    found.append(name)
        if os.path.lexists(self.path / JOURNAL):
            found.append(JOURNAL)
        return sorted(found), problems

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None where there is none. Raises BadFile."""
        try:
            with open_regular(self._real(name)) as file:
                data = file.read(MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise BadFile(name, f"cannot be read: {error.strerror}") from error
        if len(data) > MAX_BYTES:
            raise BadFile(name, f"is larger than {MAX_BYTES >> 20} MiB")
        return data

    def write(self, name: str, data: bytes) -> None:
        """Make `data` the file, whole or not at all; it keeps its mode. Raises BadFile, OSError."""
        path = self._real(name)
        mode = FILE_MODE
        if path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
            if not path.is_file() or not mode & 0o222:
                raise BadFile(name, "is read-only" if path.is_file() else "is no regular file")
        write_atomic(path, data, mode)

    def remove(self, name: str) -> None:
        remove_file(self._real(name))

    def _real(self, name: str) -> Path:
        """Where the file is. BadFile for a name that is no path below the directory, links followed."""
        parts = name.split("/")
        if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
            raise BadFile(printable(name), "has a name that cannot be used")
        path = self.path / name
        if not is_inside(path, self.path):
            raise BadFile(name, "leads outside the directory")
        return Path(os.path.realpath(path)) if path.is_symlink() else path

    def _entries(self, folder: str, depth: int) -> Iterator[tuple[str, str]]:
        """(path, "" or why it cannot be read) of everything below a folder."""
        try:
            with os.scandir(self.path / folder) as scan:
                entries = list(scan)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            yield folder, f"cannot be read: {error.strerror}"
            return
        for entry in entries:
            name = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name.endswith(SUFFIX):
                    yield name, "is a folder"
                if depth < _MAX_DEPTH:
                    yield from self._entries(name, depth + 1)
                else:
                    yield name, "lies too deep"
            elif not is_temp_name(entry.name):
                yield name, self._reason(name, entry)

    def _reason(self, name: str, entry: os.DirEntry[str]) -> str:
        try:
            name.encode("utf-8")
            if entry.is_symlink() and not is_inside(Path(entry.path), self.path):
                return "is a link that leads outside the directory"
            return "" if stat.S_ISREG(entry.stat().st_mode) else "is no regular file"
        except UnicodeEncodeError:
            return "has a name that is not UTF-8"
        except FileNotFoundError:
            return "is a link that leads nowhere"
        except OSError as error:
            return f"cannot be read: {error.strerror}"


def recallfile_of(name: str) -> str | None:
    """The RecallFile that a path is: wiki/<file>.md, whatever it is called. None for any other."""
    return _stem(name, "wiki")


def day_of(name: str) -> str | None:
    """The day that a path is: diary/YYYY-MM-DD.md, by its shape. None for any other."""
    day = _stem(name, "diary")
    return day if day is not None and is_day_name(day) else None


def real_day_of(name: str) -> str | None:
    """The day that a path is, if it is one of the calendar."""
    day = day_of(name)
    try:
        return day if day is not None and day_path(Path(), day) else None
    except InvalidName:
        return None


def _stem(name: str, folder: str) -> str | None:
    parts = name.split("/")
    if len(parts) != 2 or parts[0] != folder or not name.endswith(SUFFIX):
        return None
    return parts[1].removesuffix(SUFFIX) or None


def text_of(data: bytes) -> str | None:
    """The text that a file holds; None where it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def redacted(data: bytes) -> bytes:
    """`data` without secrets, whatever its encoding; the same object where there are none."""
    encoding = "latin-1" if text_of(data) is None else "utf-8"
    text = data.decode(encoding)
    kept = redact(text)
    return data if kept is text else kept.encode(encoding)


def printable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")
