"""The records of a harness log: one JSON object a line, whatever has happened to the file.

    lines = LogLines(path, digest=True)          first pass
    for offset, record in lines: ...
    lines.skipped, lines.end, lines.source()
    for offset, record in LogLines(path, limit=lines.end): ...      second pass over the same bytes

Every readable record is given, what cannot be read is counted by reason and content never raises:
    bad            not JSON, or a record cut by another one (the other one is given)
    not_object     JSON, but not an object
    too_deep       nested deeper than Python can follow
    too_long       a line over `MAX_LINE` bytes
    bad_zstd       the compressed stream is damaged or breaks off: what is behind is lost
    partial_tail   the last line, still without its newline, is not whole yet
Damage known from the field: formats/claude-code.md §5 B, §6.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import io
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from memex_core.model.session import Source

MAX_LINE = 32 << 20
"""Bytes. A longer line is skipped (DESIGN §4)."""

_BUFFER = 1 << 18
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_RESYNC_TRIES = 4096
_RESYNC_WORK = 1 << 31
"""Characters: a failed try costs the length of the line, which bounds the tries on a huge one."""
_BLANK = " \t\r\n"

Record = dict[str, Any]


def open_regular(path: Path) -> io.FileIO:
    """The file at `path`, unbuffered; OSError for whatever is no regular file.

    A pipe or a device is not even opened: that may wait for ever. Neither is it where it takes the place of
    a file in between.
    """
    try:
        is_regular = stat.S_ISREG(os.stat(path).st_mode)
    except ValueError as error:  # a NUL, or what the file system's encoding does not have
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    if is_regular:
        file = open(path, "rb", buffering=0, opener=_open_at_once)  # noqa: SIM115
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class LogLines:
    """One pass over the log at `path`: iterate once for (offset, record).

    `offset` identifies the record in its log and grows: the byte where its line begins in the (decompressed)
    text, plus its place in the line when it does not begin the line. `limit` ends the pass at that byte, as
    if the log ended there. `digest` hashes what is read, for `source()`. `buffer` is how many bytes are read
    at a time, for a pass that ends after a few records. A zstd log is decompressed.
    Raises OSError only, and only for the file, never for what is in it.
    """

    def __init__(
        self, path: Path, *, limit: int | None = None, digest: bool = False, buffer: int = _BUFFER
    ) -> None:
        self.path = path
        self.skipped: dict[str, int] = {}
        self.end = 0
        """Bytes of (decompressed) text behind the last line read: the `limit` of a second pass."""
        self._buffer = buffer
        self._limit = sys.maxsize if limit is None else limit
        self._sha256 = hashlib.sha256() if digest else None
        self._size = 0
        self._stat: os.stat_result | None = None

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        with open_regular(self.path) as file:
            self._stat = os.fstat(file.fileno())
            for offset, line, is_tail in self._lines(self._text(file)):
                try:
                    record = orjson.loads(line)
                except ValueError:
                    yield from self._damaged(offset, line, is_tail)
                    continue
                if type(record) is dict:
                    yield offset, record
                else:
                    self._skip("not_object")

    def source(self) -> Source:
        """The file as this pass has read it; needs `digest=True` and a finished iteration."""
        if self._stat is None or self._sha256 is None:
            raise ValueError("source() needs a pass with digest=True")
        return Source(
            path=str(self.path),
            size=self._size,
            mtime_ns=self._stat.st_mtime_ns,
            ino=self._stat.st_ino,
            sha256=self._sha256.hexdigest(),
        )

    def took(self, chunk: memoryview) -> None:
        """Called with every piece of the file as it comes from the disk."""
        self._size += len(chunk)
        if self._sha256 is not None:
            self._sha256.update(chunk)

    def _text(self, file: io.FileIO) -> io.BufferedIOBase:
        return _text_of(_Raw(file, self), self._buffer, lambda: self._skip("bad_zstd"))

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _lines(self, text: io.BufferedIOBase) -> Iterator[tuple[int, bytes, bool]]:
        """(offset, line, has no newline yet) for every line that is neither blank nor too long."""
        while self.end < self._limit:
            offset = self.end
            line = text.readline(min(MAX_LINE + 1, self._limit - offset))
            if not line:
                return
            self.end += len(line)
            if len(line) > MAX_LINE:
                self._pass_over(text, line)
                self._skip("too_long")
            elif not line.isspace():
                yield offset, line, not line.endswith(b"\n")

    def _pass_over(self, text: io.BufferedIOBase, line: bytes) -> None:
        while line and not line.endswith(b"\n") and self.end < self._limit:
            line = text.readline(min(_BUFFER, self._limit - self.end))
            self.end += len(line)

    def _damaged(self, offset: int, line: bytes, is_tail: bool) -> Iterator[tuple[int, Record]]:
        text = _readable(line)
        found: list[tuple[int, Any]] = []
        rest, reason = _from_the_left(text, found)
        if reason and is_tail:
            reason = "partial_tail"  # never searched: an unfinished record holds whole objects that are none
        elif reason:
            _from_the_right(text, rest, found)
        for at, value in found:
            if isinstance(value, dict):
                yield offset + at, value
            else:
                self._skip("not_object")
        if reason:
            self._skip(reason)


class _Raw(io.RawIOBase):
    """Tells a pass what it reads from the disk."""

    def __init__(self, file: io.FileIO, lines: LogLines) -> None:
        self._file = file
        self._lines = lines

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self._lines.took(memoryview(buffer)[:count])
        return count


class _Decompressed(io.RawIOBase):
    """The text of a zstd stream up to where it breaks off; then `broken` is called and the text ends."""

    def __init__(self, stream: io.BufferedIOBase, broken: Callable[[], None]) -> None:
        self._stream = stream
        self._broken = broken
        self._zstd = _zstd()
        self._frame = self._zstd.ZstdDecompressor()
        self._pending = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        text = b""
        while not text and not self._ended:
            try:
                text = self._next(len(buffer))
            except (self._zstd.ZstdError, EOFError):
                self._ended = True
                self._broken()
        buffer[: len(text)] = text
        return len(text)

    def _next(self, most: int) -> bytes:
        data, self._pending = self._pending, b""
        if not data and self._frame.needs_input:
            data = self._stream.read1(_BUFFER)
            if not data:
                raise EOFError
        text: bytes = self._frame.decompress(data, most)
        if self._frame.eof:
            self._pending = self._frame.unused_data or self._stream.read1(_BUFFER)
            self._ended = not self._pending
            self._frame = self._zstd.ZstdDecompressor()  # frames may follow each other
        return text


def _zstd() -> Any:
    """The module, imported where it is needed: few logs are compressed, and every hook pays for imports."""
    return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _text_of(raw: io.RawIOBase, buffer: int, broken: Callable[[], None]) -> io.BufferedIOBase:
    stream = io.BufferedReader(raw, buffer)
    if stream.peek(4)[:4] == _ZSTD_MAGIC:
        return io.BufferedReader(_Decompressed(stream, broken), _BUFFER)
    return stream


_SURROGATES = re.compile(
    r"\\\\"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def _readable(line: bytes) -> str:
    """The line as JSON text that holds no NUL, no BOM, no invalid UTF-8 and no lone surrogate."""
    text = line.decode("utf-8", "replace").replace("\x00", "").strip(_BLANK + "\ufeff")
    return _SURROGATES.sub(lambda found: "\\ufffd" if found[1] else found[0], text)


def _integer(digits: str) -> int | float:
    """As orjson reads it: what 64 bits do not hold is a float (an int of 5,000 digits would raise)."""
    number = int(digits) if len(digits) <= 20 else float(digits)
    return number if -(2**63) <= number < 2**64 else float(number)


_decode = json.JSONDecoder(strict=False, parse_int=_integer).raw_decode


def _from_the_left(text: str, found: list[tuple[int, Any]]) -> tuple[int, str]:
    """Append the values that follow each other from the start; (where it went wrong, why), "" if nowhere."""
    at = 0
    while at < len(text):
        try:
            value, end = _decode(text, at)
        except ValueError:
            return at, "bad"
        except RecursionError:
            return at, "too_deep"
        found.append((at, value))
        at = end
        while at < len(text) and text[at] in _BLANK:
            at += 1
    return at, ""


def _from_the_right(text: str, start: int, found: list[tuple[int, Any]]) -> None:
    """Append the objects behind a record that was cut: those that reach to the end of the line, one by one.

    From the right, because there the first object that ends where it must is a record, not a part of one.
    """
    end = len(text)
    kept: list[tuple[int, Any]] = []
    at = text.rfind('{"', start + 1, end)
    for _ in range(min(_RESYNC_TRIES, _RESYNC_WORK // len(text))):
        if at < 0:
            break
        try:
            value, stop = _decode(text, at)
        except (ValueError, RecursionError):
            stop = -1
        if stop == end:
            kept.append((at, value))
            end = at
        at = text.rfind('{"', start + 1, at)
    found.extend(reversed(kept))
