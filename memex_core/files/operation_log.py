"""logs/memex.log: one line an operation, never content (seed 000 §9 side effects, §10 [logging]).

A line is {ts, level, op, subject, outcome, ms, counts..., detail?}, as JSON or as text. At MAX_BYTES the file
becomes memex.log.1, memex.log.1 becomes memex.log.2 and so on; KEEP old ones stay.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol, get_args

from memex_core import paths
from memex_core.files.atomic import append_line, make_dir

MAX_BYTES = 1 << 20
KEEP = 3
MAX_WAIT_S = 0.5
Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LEVELS = get_args(Level)
_ERROR_OUTCOMES = ("failed",)
_WARNING_OUTCOMES = ("defaults ", "left ", "not ", "partial", "refused", "skipped")

if sys.platform == "win32":

    def _lock(fd: int) -> None:
        """There, a file that another process has open cannot be renamed anyway."""

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class LogSettings(Protocol):
    """What [logging] says. `file` "" is logs/memex.log; a relative one starts at the memory root."""

    @property
    def level(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def format(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _Defaults:
    level: str = "INFO"
    file: str = ""
    format: str = "json"


_settings: dict[str, LogSettings] = {}


def configure_log(root: Path, settings: LogSettings) -> None:
    """From now on this process logs the operations on `root` as `settings` say."""
    _settings[os.path.abspath(root)] = settings


def log_file(root: Path) -> Path:
    """Where the operations on `root` are logged."""
    return _log_file(root, _settings_of(root))


def where(error: BaseException) -> str:
    """The kind of an error and the last places it went through: enough to find it, and nothing of what was
    said.
    """
    frames = reversed(traceback.extract_tb(error.__traceback__)[-3:])
    places = " < ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {places}" if places else type(error).__name__


def log_operation(
    root: Path,
    operation: str,
    subject: str,
    outcome: str,
    seconds: float = 0.0,
    detail: str = "",
    *,
    level: Level | None = None,
    **counts: int,
) -> None:
    """Append one line: what was done, to what, what became of it, how long it took, how many. Never raises.

    `level` None follows from the outcome: "failed" is an ERROR; what was left alone, skipped, refused or not
    done is a WARNING. Where a file named in [logging] cannot be written, the line goes to logs/memex.log.
    """
    with contextlib.suppress(Exception):  # whatever is wrong with a log, the operation itself went its way
        settings = _settings_of(root)
        level = level or _level_of(outcome)
        if LEVELS.index(level) < LEVELS.index(settings.level):
            return
        fields: dict[str, str | int | float] = {
            "ts": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "level": level,
            "op": _one_line(operation, 40),
            "subject": _one_line(subject, 160),
            "outcome": _one_line(outcome, 80),
            "ms": round(seconds * 1000, 1),
        }
        for name, count in counts.items():
            fields.setdefault(name, int(count))
        if detail:
            fields["detail"] = _one_line(detail, 240)
        line = _as_text(fields) if settings.format == "text" else json.dumps(fields, ensure_ascii=False)
        _append(_log_file(root, settings), paths.logs_dir(root) / "memex.log", line.encode("utf-8"))


def _settings_of(root: Path) -> LogSettings:
    return _settings.get(os.path.abspath(root)) or _Defaults()


def _log_file(root: Path, settings: LogSettings) -> Path:
    if not settings.file:
        return paths.logs_dir(root) / "memex.log"
    chosen = root / os.path.expanduser(settings.file)
    inside = os.path.realpath(chosen).startswith(os.path.realpath(root) + os.sep)
    is_ours = inside and chosen.suffix != ".log"  # never a page, a record or the index
    return paths.logs_dir(root) / "memex.log" if is_ours else chosen


def _level_of(outcome: str) -> Level:
    if outcome.startswith(_ERROR_OUTCOMES):
        return "ERROR"
    return "WARNING" if outcome.startswith(_WARNING_OUTCOMES) else "INFO"


def _one_line(text: str, most: int) -> str:
    """What could end a line, move a cursor or hide something becomes a space (also lone surrogates)."""
    return "".join(char if char.isprintable() else " " for char in text[:most])


def _as_text(fields: dict[str, str | int | float]) -> str:
    first = " ".join(str(fields.pop(name)) for name in ("ts", "level", "op"))
    rest = (
        f"{name}={json.dumps(value, ensure_ascii=False) if isinstance(value, str) else value}"
        for name, value in fields.items()
    )
    return " ".join([first, *rest])


def _append(path: Path, otherwise: Path, line: bytes) -> None:
    try:
        make_dir(path.parent)
        with _turn(path.parent) as ours:
            if ours:
                _make_room(path)
            append_line(path, line, durable=False)
    except (OSError, ValueError):
        if path == otherwise:
            raise
        _append(otherwise, otherwise, line)


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[bool]:
    """Log alone in this folder. False after MAX_WAIT_S, and where a folder cannot be locked: the line is then
    written all the same, but nothing is renamed.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        yield False
        return
    try:
        yield _is_ours(fd, time.monotonic() + MAX_WAIT_S)
    finally:
        os.close(fd)


def _is_ours(fd: int, deadline: float) -> bool:
    while True:
        try:
            _lock(fd)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        except OSError:
            return False
        else:
            return True


def _make_room(path: Path) -> None:
    """Put a full file aside. Where renaming fails, it grows."""
    with contextlib.suppress(OSError):
        if path.stat().st_size >= MAX_BYTES:
            for number in range(KEEP, 0, -1):
                with contextlib.suppress(FileNotFoundError):
                    _numbered(path, number - 1).replace(_numbered(path, number))


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path
