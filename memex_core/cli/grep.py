"""`memex grep`: lines of pages, RecallFiles and days that match a regular expression.

Python's matcher takes exponential time for some patterns: it is stopped after LIMIT_S, and a long line is
searched window by window, because within one step of it nothing can stop it.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import click

from memex_core import paths
from memex_core.cli.output import (
    data_dir_option,
    examples,
    open_to_read,
    print_json,
    shown,
    warn,
    without_controls,
)
from memex_core.files.regular import read_regular
from memex_core.files.walk import walk_pages
from memex_core.model.page import read_page
from memex_core.store.block_file import SUFFIX, BadBlockFile, BlockFiles

LIMIT_S = 10.0
"""How long matching may take in all."""
LONG_LINE = 10_000
WINDOW = 2_000
"""A line of more than LONG_LINE characters is searched in windows of so many, each from the middle of the one
before: no match of up to half a window is missed."""
SHOWN = 300
_LINE_END = re.compile(r"\r\n?|\n")
_ITEM, _EVENT = "item", "event"

Line = tuple[str, int, str]
"""(file relative to the memory root, line number, text)."""


class _TooLong(Exception):
    """Matching took longer than it may."""


@click.command(
    epilog=examples(
        "memex grep 'ruff|flake8'",
        "memex grep -i todo --type item --type event",
        "memex grep '^title: .*deploy' --type procedure",
    )
)
@click.argument("pattern")
@click.option("-i", "--ignore-case", is_flag=True, help="Capital letters match small ones.")
@click.option(
    "--type",
    "kinds",
    type=click.Choice([*paths.NODE_TYPES, _ITEM, _EVENT]),
    multiple=True,
    help="Only pages of this type, items or events; repeat for more.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@data_dir_option
def grep(pattern: str, ignore_case: bool, kinds: tuple[str, ...], as_json: bool) -> None:
    """Find lines by a regular expression (Python's).

    In the files of pages, items and events, as they are. Exit 1 where no line matches, 2 for a pattern that
    is none or takes too long.
    """
    matcher = _Matcher(_compiled(pattern, ignore_case))
    memory = open_to_read()
    found = _matches(memory.root, set(kinds), matcher)
    try:
        count = _print_json(found) if as_json else _print(found)
    except _TooLong:
        raise click.UsageError(f"this pattern takes more than {LIMIT_S:g} s here; make it simpler") from None
    if not count:
        raise click.exceptions.Exit(1)


class _Matcher:
    """A pattern and the seconds that are left for it."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._left = LIMIT_S

    def lines(self, text: str) -> list[tuple[int, str]]:
        """(number, what is shown) of the lines of a file that match. Raises _TooLong."""
        started = time.monotonic()
        with _limited(max(self._left, 0.001)):
            numbered = enumerate(_LINE_END.split(text), 1)
            found = [(number, told) for number, line in numbered if (told := self._told(line)) is not None]
        self._left -= time.monotonic() - started
        return found

    def _told(self, line: str) -> str | None:
        """The line, cut around its first match where it is long; None where there is none."""
        size = WINDOW if len(line) > LONG_LINE else LONG_LINE
        for start in range(0, max(len(line) - size // 2, 1), size // 2):
            match = self._pattern.search(line, start, start + size)
            if match is not None:
                return line if len(line) <= SHOWN else _cut(line, match.start())
        return None


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise _TooLong inside after so many seconds; the matcher looks for signals while it works."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what a later Python may read otherwise
        try:
            return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise click.UsageError(f"not a pattern: {error or 'too deep'}") from None


def _cut(line: str, place: int) -> str:
    start = max(0, min(place - SHOWN // 3, len(line) - SHOWN))
    piece = line[start : start + SHOWN]
    return ("…" if start else "") + piece + ("…" if start + SHOWN < len(line) else "")


def _matches(root: Path, kinds: set[str], matcher: _Matcher) -> Iterator[Line]:
    if not kinds or kinds & set(paths.NODE_TYPES):
        for name in _page_files(root, kinds):
            with contextlib.suppress(FileNotFoundError):
                yield from _in_file(name, read_regular(root / name, root).decode("utf-8", "replace"), matcher)
    for kind, folder in ((_ITEM, paths.wiki_dir(root)), (_EVENT, paths.diary_dir(root))):
        if not kinds or kind in kinds:
            files = BlockFiles(root, folder)
            stems = files.stems() if kind == _ITEM else filter(paths.is_day_name, files.stems())
            for stem in stems:
                try:
                    text = files.read(stem) or ""
                except BadBlockFile as error:
                    warn(str(error))
                    continue
                yield from _in_file(f"{folder.name}/{stem}{SUFFIX}", text, matcher)


def _in_file(name: str, text: str, matcher: _Matcher) -> Iterator[Line]:
    return ((name, number, line) for number, line in matcher.lines(text))


def _page_files(root: Path, kinds: set[str]) -> list[str]:
    """The files of the pages of these types, relative to the memory root; of all for none. Only a page in a
    folder of no type is read to know what it is.
    """
    names = sorted(name for name, _ in walk_pages(root))
    if not kinds:
        return names
    return [name for name in names if _type_of(root, name) in kinds]


def _type_of(root: Path, name: str) -> str:
    known = paths.TYPE_OF_FOLDER.get(name.split("/")[1])
    return known or read_page(read_regular(root / name, root), PurePosixPath(name), modified=0.0).type


def _print(found: Iterator[Line]) -> int:
    count = 0
    for name, number, line in found:
        click.echo(f"{shown(name)}:{number}: {without_controls(line)}")
        count += 1
    return count


def _print_json(found: Iterator[Line]) -> int:
    lines = [{"file": name, "line": number, "text": line} for name, number, line in found]
    print_json(lines)
    return len(lines)
