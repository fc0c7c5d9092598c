"""A backup archive read once, from front to back, against its manifest.

Every member is judged by name, kind and size before its bytes are looked at; the bytes go to a `Receiver`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from memex_core.archive.archive_format import (
    INDEX,
    LIMITS,
    MANIFEST,
    FileEntry,
    Limits,
    Manifest,
    Names,
    is_top,
    parse_manifest,
)
from memex_core.archive.tar_stream import Inflated, Member, TarStream
from memex_core.errors import NotFound, Refused

_PLAIN_MODE = 0o600
_HINT = "take another backup; nothing was changed"


class Receiver(Protocol):
    """Where the files of an archive go."""

    def expect(self, size: int) -> None:
        """So many bytes are still to come, at least. Raises Refused if that is too much."""

    def put(self, path: str, mode: int, mtime: int, chunks: Iterator[memoryview]) -> None:
        """One file; `chunks` must be read to their end."""


class Nowhere:
    """For who only wants to know whether an archive is sound."""

    def expect(self, size: int) -> None:
        return

    def put(self, path: str, mode: int, mtime: int, chunks: Iterator[memoryview]) -> None:
        for _ in chunks:
            pass


@dataclass(slots=True)
class Contents:
    """What an archive held. `problems`: files that are not what the manifest says, or not there."""

    manifest: Manifest = field(default_factory=Manifest)
    paths: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_archive(archive: Path, receiver: Receiver, limits: Limits = LIMITS) -> Contents:
    """Hand every file but mem.db to `receiver`, and say what was there.

    Raises NotFound, OSError, and Refused at the first thing that has no place in an archive; what the
    receiver got until then is to be thrown away.
    """
    with _opened(archive) as file:
        try:
            return _Reading(TarStream(Inflated(file, limits)), receiver, limits).run()
        except Refused as error:
            raise Refused(f"{archive}: {error}", hint=error.hint or _HINT) from None


def begins_as_backup(path: Path) -> bool:
    """True where the first member of `path` is one of a backup, whatever became of the rest."""
    try:
        with _opened(path) as file:
            first = next(TarStream(Inflated(file, LIMITS)).members(), None)
    except Refused:
        return False
    return first is not None and is_top(first.name.split("/")[0])


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[BinaryIO]:
    """Opened only if it is a regular file: a FIFO would be waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        fd = os.open(archive, flags | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise NotFound("backup", str(archive), hint="give the path of a .tar.gz file") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Refused(f"{archive}: it is not a regular file", hint="give the path of a .tar.gz file")
    with os.fdopen(fd, "rb") as file:
        yield file


class _Reading:
    def __init__(self, tar: TarStream, receiver: Receiver, limits: Limits) -> None:
        self._tar = tar
        self._receiver = receiver
        self._limits = limits
        self._top = ""
        self._manifest: Manifest | None = None
        self._names = Names()
        self._total = 0
        self._contents = Contents()

    def run(self) -> Contents:
        for number, member in enumerate(self._tar.members()):
            if number >= self._limits.members:
                raise Refused(f"it has more than {self._limits.members:,} members")
            path = self._path(member)
            if member.is_folder:
                self._folder(path)
            elif path == MANIFEST:
                self._read_manifest(member, number)
            else:
                self._file(path, member)
        if self._manifest is None:
            raise Refused(f"it has no {MANIFEST}")
        missing = sorted((self._manifest.files or {}).keys() - set(self._contents.paths))
        self._contents.problems += [f"{path}: it is missing" for path in missing]
        self._contents.manifest = self._manifest
        return self._contents

    def _path(self, member: Member) -> str:
        top, slash, path = member.name.partition("/")
        if not is_top(top) or not (slash or member.is_folder):
            raise Refused(f"{member.name[:200]!r} is not in the folder of a backup")
        if self._top not in ("", top):
            raise Refused(f"it has two folders, {self._top} and {top}")
        self._top = top
        return path

    def _folder(self, path: str) -> None:
        refusal = self._names.refusal_of(path, folder=True) if path else ""
        if refusal:
            raise Refused(f"{path[:200]!r}: {refusal}")

    def _read_manifest(self, member: Member, number: int) -> None:
        if self._manifest is not None:
            raise Refused(f"it has two of {MANIFEST}")
        if member.size > self._limits.manifest_bytes:
            raise Refused(f"{MANIFEST} is too large")
        self._manifest = parse_manifest(b"".join(self._tar.body(member)), self._limits)
        if self._manifest.files is None:
            return
        if number:
            raise Refused(f"{MANIFEST} is not its first member")
        self._receiver.expect(sum(e.size for e in self._manifest.files.values() if e.path != INDEX))

    def _file(self, path: str, member: Member) -> None:
        refusal = self._names.refusal_of(path)
        if refusal:
            raise Refused(f"{path[:200]!r}: {refusal}")
        self._total += member.size
        if member.size > self._limits.file_bytes or self._total > self._limits.total_bytes:
            raise Refused("it is larger than an archive may be")
        entry = self._entry(path, member.size)
        if entry is None:
            self._receiver.expect(member.size)
        digest = hashlib.sha256()
        receiver = Nowhere() if path == INDEX else self._receiver
        chunks = self._hashed(member, digest)
        receiver.put(path, entry.mode if entry else _PLAIN_MODE, member.mtime, chunks)
        self._contents.paths.append(path)
        if entry is not None and digest.hexdigest() != entry.sha256:
            self._contents.problems.append(f"{path}: its bytes are not those that were backed up")

    def _entry(self, path: str, size: int) -> FileEntry | None:
        """What the manifest says of a file; None where this archive's manifest names none."""
        if self._manifest is None or self._manifest.files is None:
            return None
        entry = self._manifest.files.get(path)
        if entry is None:
            raise Refused(f"{path!r} is not in {MANIFEST}")
        if entry.size != size:
            raise Refused(f"{path!r} has {size:,} bytes, and {MANIFEST} says {entry.size:,}")
        return entry

    def _hashed(self, member: Member, digest: hashlib._Hash) -> Iterator[memoryview]:
        for chunk in self._tar.body(member):
            digest.update(chunk)
            yield chunk
