"""A tar.gz read as a stream that trusts nothing (notes on hostile archives: the allow-list is the reader).

Only what a backup needs is understood: one gzip member; POSIX and GNU headers; regular files and folders;
the long names of both. Everything else is Refused before a byte of it is handed on. Nothing is ever held in
memory but one chunk.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from memex_core.archive.archive_format import MAX_PATH_BYTES, Limits
from memex_core.errors import Refused

BLOCK = 512
_CHUNK = 1 << 18
_MAX_EXTENSION = 64 << 10
_MAX_PADDING = 1 << 20
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a FIFO",
    b"7": "a contiguous file",
    b"S": "a sparse file",
    b"g": "a header for all members",
}
_HARMLESS = {"path", "size", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"}
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ")


@dataclass(frozen=True, slots=True)
class Member:
    """A file or folder of the tar, by the name that its own header or an extension gives it."""

    name: str
    size: int
    is_folder: bool
    mode: int
    mtime: int


class Inflated:
    """What a gzip file with one member holds, from its beginning to its end."""

    def __init__(self, file: BinaryIO, limits: Limits) -> None:
        self._file = file
        self._limits = limits
        self._inflate = zlib.decompressobj(wbits=31)
        self._ready = memoryview(b"")
        self._packed = self._unpacked = 0

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes. Raises Refused where there are fewer."""
        parts: list[memoryview] = []
        while count:
            parts.append(self.some(count))
            count -= len(parts[-1])
        return b"".join(parts)

    def some(self, most: int) -> memoryview:
        """The next bytes, at least one and at most `most`. Raises Refused at the end."""
        if not self._ready and not self._more():
            raise Refused("it is cut off")
        part, self._ready = self._ready[:most], self._ready[most:]
        return part

    def finish(self) -> None:
        """Read what fills the last record; Refused if it is anything but zeros, or if more follows."""
        padding = 0
        while self._ready or self._more():
            padding += len(self._ready)
            if bytes(self._ready).strip(b"\0") or padding > _MAX_PADDING:
                raise Refused("something follows its end")
            self._ready = memoryview(b"")
        if self._inflate.unused_data or self._file.read(1):
            raise Refused("something follows its end")

    def _more(self) -> bool:
        """Inflate the next chunk; False at the end of the member."""
        while not self._ready:
            if self._inflate.eof:
                return False
            packed = self._inflate.unconsumed_tail
            if not packed:
                packed = self._file.read(_CHUNK)
                self._packed += len(packed)
            try:
                self._ready = memoryview(self._inflate.decompress(packed, _CHUNK))
            except zlib.error as error:
                raise Refused(f"it is damaged or no gzip file ({error})") from None
            if not packed and not self._ready and not self._inflate.eof:
                raise Refused("it is cut off")
        self._unpacked += len(self._ready)
        most = max(self._limits.ratio_floor, self._limits.ratio * self._packed)
        if self._unpacked > most:
            raise Refused(f"it grows to more than {self._limits.ratio} times its size")
        return True


class TarStream:
    """The members of a tar one after the other. The body of one must be read before the next is asked for."""

    def __init__(self, data: Inflated) -> None:
        self._data = data

    def members(self) -> Iterator[Member]:
        """Every member up to the end of the archive, which must be where the file ends. Raises Refused."""
        while (member := self._next()) is not None:
            yield member

    def body(self, member: Member) -> Iterator[memoryview]:
        """What the file holds, in pieces."""
        left = member.size
        while left:
            part = self._data.some(min(left, _CHUNK))
            left -= len(part)
            yield part
        self._skip_padding(member.size)

    def _next(self) -> Member | None:
        pax: dict[str, str] | None = None
        long_name: bytes | None = None
        while True:
            block = self._data.exactly(BLOCK)
            if not block.strip(b"\0") and pax is None and long_name is None:
                if self._data.exactly(BLOCK).strip(b"\0"):
                    raise Refused("its end is no end")
                self._data.finish()
                return None
            _check(block)
            kind, size = block[156:157], _octal(block[124:136], "size")
            if kind == b"x" and pax is None:
                pax = _pax_records(self._extension(size))
            elif kind == b"L" and long_name is None:
                long_name = _until_nul(self._extension(size))
            else:
                return _member(block, size, pax or {}, long_name)

    def _extension(self, size: int) -> bytes:
        if size > _MAX_EXTENSION:
            raise Refused("a header is longer than a name may be")
        data = self._data.exactly(size)
        self._skip_padding(size)
        return data

    def _skip_padding(self, size: int) -> None:
        self._data.exactly(-size % BLOCK)


def _member(block: bytes, size: int, pax: dict[str, str], long_name: bytes | None) -> Member:
    if "path" in pax and long_name is not None:
        raise Refused("a member has two long names")
    name = pax["path"] if "path" in pax else _text(_header_name(block) if long_name is None else long_name)
    kind = block[156:157]
    if kind not in (b"0", b"\0", b"5"):
        raise Refused(f"{name[:200]!r} is {_KINDS.get(kind, 'no file')}")
    is_folder = kind == b"5"
    if "size" in pax:
        size = _decimal(pax["size"])
    if is_folder and size:
        raise Refused(f"{name[:200]!r} is a folder with contents of its own")
    mode = _octal(block[100:108], "mode")
    if mode & 0o7000 and not is_folder:
        raise Refused(f"{name[:200]!r} would run as somebody else")
    return Member(name.removesuffix("/") if is_folder else name, size, is_folder, mode, _seconds(block))


def _check(block: bytes) -> None:
    summed = sum(block) - sum(block[148:156]) + 8 * 32
    if block[257:262] != b"ustar" or _octal(block[148:156], "checksum") != summed:
        raise Refused("a header is damaged, or it is no tar archive")


def _header_name(block: bytes) -> bytes:
    name = _until_nul(block[:100])
    prefix = _until_nul(block[345:500]) if block[257:263] == b"ustar\0" else b""  # GNU keeps times there
    return prefix + b"/" + name if prefix else name


def _until_nul(field: bytes) -> bytes:
    name, _, rest = field.partition(b"\0")
    if rest.strip(b"\0"):
        raise Refused("a name holds a NUL")
    return name


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise Refused(f"the name {name[:200]!r} is not UTF-8") from None


def _octal(field: bytes, what: str) -> int:
    digits = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]{1,11}", digits):
        raise Refused(f"a header has no usable {what}")
    return int(digits, 8)


def _decimal(digits: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", digits, re.ASCII):
        raise Refused("a header has no usable size")
    return int(digits)


def _seconds(block: bytes) -> int:
    try:
        return _octal(block[136:148], "time")
    except Refused:  # before 1970, or after 2242
        return 0


def _pax_records(data: bytes) -> dict[str, str]:
    """`<length> <key>=<value>\\n`, again and again (POSIX.1-2001, pax)."""
    found: dict[str, str] = {}
    while data:
        length = _RECORD.match(data)
        record = data[length.end() : int(length[1])] if length and int(length[1]) <= len(data) else b""
        key, equals, value = record.removesuffix(b"\n").partition(b"=")
        if length is None or not equals or not record.endswith(b"\n"):
            raise Refused("an extended header is damaged")
        name = _text(key)
        if name not in _HARMLESS or name in found:
            raise Refused(f"an extended header says {name[:80]!r}")
        found[name] = _text(value) if name in ("path", "size") else ""
        data = data[int(length[1]) :]
    if len(found.get("path", "").encode()) > 2 * MAX_PATH_BYTES or "\0" in found.get("path", ""):
        raise Refused("a name is too long, or holds a NUL")
    return found
