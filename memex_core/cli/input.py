"""Text that commands read: a file, standard input, a yes or no."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import click

from memex_core.cli.output import is_terminal
from memex_core.errors import Refused

MAX_BYTES = 512 * 1024 * 1024
STANDARD_STREAM = Path("-")
"""Where a file is asked for: standard input, or standard output where it is to be written."""


def read_text(source: Path) -> str:
    """The UTF-8 text of a file, or of standard input for `-`. Raises OSError, Refused."""
    if source == STANDARD_STREAM:
        data, name = _standard_input(), "standard input"
    else:
        name = str(source)
        with source.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Refused(f"{name} has more than {MAX_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            f"{name} is not UTF-8: byte {data[error.start]:#04x} at {error.start}", hint="convert it first"
        ) from None


def read_json(source: Path) -> Any:
    """The JSON value in a file or standard input. Raises Refused, naming line and column."""
    name = "standard input" if source == STANDARD_STREAM else str(source)
    return parse_json(read_text(source), name)


def parse_json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Refused(f"{name} is not JSON: {error.msg}, line {error.lineno} column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        raise Refused(f"{name} is not JSON that can be read: {error}") from None


def is_piped() -> bool:
    """True where standard input is a pipe, file or socket: somebody means it to be read."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return not stat.S_ISCHR(mode) and sys.stdin is not None


def confirm(question: str, yes: bool) -> None:
    """Ask on the terminal, unless `yes`. Raises Refused where nobody can answer, or the answer is no."""
    if yes:
        return
    if not is_terminal(sys.stdin):
        raise Refused("this asks for a confirmation, and nobody is there to give it", hint="add --yes")
    if not click.confirm(question, err=True):
        raise Refused("nothing was changed")


def _standard_input() -> bytes:
    return sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin is not None else b""
