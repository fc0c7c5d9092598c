"""The lines that are added to a file of JSON lines, as they come.

The file may be torn, truncated, replaced or missing at any moment: what was given once is not given again,
and a line is given when its end is there.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memex_core.files.regular import open_regular

POLL_S = 0.25


def follow_lines(path: Path, *, from_start: bool) -> Iterator[dict[str, Any]]:
    """The objects that `path` holds and gets, without end; only those it gets, unless `from_start`.

    Ends when nobody reads standard output any more.
    """
    tail = Tail(path)
    if not from_start:
        tail.skip()
    while True:
        yield from tail.new()
        if _reader_left(POLL_S):
            return


class Tail:
    """How far a file was read: so many lines, the last of which ended at `_end` and was `_last`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count, self._end, self._last = 0, 0, b""

    def skip(self) -> None:
        """Take what is there for read."""
        for _ in self.new():
            pass

    def new(self) -> Iterator[dict[str, Any]]:
        """The objects in the lines that were added. What is no object in a whole line is passed over."""
        for raw in self._whole_lines():
            self._count += 1
            self._end += len(raw)
            self._last = raw
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict):
                yield line

    def _whole_lines(self) -> list[bytes]:
        try:
            with open_regular(self._path, self._path.parent) as file:
                file.seek(self._end - len(self._last))
                if file.read(len(self._last)) == self._last:
                    return _whole(file.read())
                file.seek(0)
                return self._after_replacement(file.read())
        except FileNotFoundError:  # what comes then is another file
            self._count, self._end, self._last = 0, 0, b""
            return []
        except OSError:
            return []

    def _after_replacement(self, data: bytes) -> list[bytes]:
        """The lines behind those that were given, in a file that was written anew.

        One with fewer lines is another file, and all of it is new; else it is the same record, some words of
        which were taken out.
        """
        lines = _whole(data)
        given = self._count if len(lines) >= self._count else 0
        self._count, self._end = given, sum(map(len, lines[:given]))
        self._last = lines[given - 1] if given else b""
        return lines[given:]


def _whole(data: bytes) -> list[bytes]:
    """The lines that have their end."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def _reader_left(seconds: float) -> bool:
    """Wait so long; True as soon as the pipe behind standard output has no reader."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError, ValueError):  # Windows, or an output that is no descriptor
        time.sleep(seconds)
        return False
    return any(happened & (select.POLLERR | select.POLLHUP) for _, happened in poll.poll(seconds * 1000))
