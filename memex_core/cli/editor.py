"""The editor of $VISUAL or $EDITOR, and words that are not lost when they cannot be saved."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memex_core.cli.input import read_text
from memex_core.cli.output import is_terminal
from memex_core.errors import MemexError, Refused
from memex_core.files.atomic import write_atomic

_FALLBACKS = ("sensible-editor", "nano", "vi")
_REMARK = "<!-- The body of the page goes above. This line is left out; an empty page is not written. -->"
_WAITING = "an editor with a window of its own needs its option to wait, such as code --wait"


def editor_command() -> list[str]:
    """$VISUAL, else $EDITOR, else on a terminal an editor that most systems have; [] where there is none."""
    for name in ("VISUAL", "EDITOR"):
        chosen = os.environ.get(name, "").strip()
        if chosen:
            try:
                return shlex.split(chosen)
            except ValueError as error:
                raise Refused(f"${name} cannot be read: {error}") from None
    found = (shutil.which(name) for name in _FALLBACKS) if is_terminal(sys.stdin) else ()
    return next(([path] for path in found if path), [])


def edit_file(path: Path) -> None:
    """Let a person edit the file, and wait. Raises Refused where there is no editor, or it fails."""
    command = editor_command()
    if not command:
        raise Refused("there is no editor to open", hint="set $EDITOR")
    screen = None if is_terminal(sys.stdout) else sys.stderr  # what we print may be piped into a program
    try:
        with _interrupts_are_the_editors():
            status = subprocess.run([*command, str(path)], stdout=screen, check=False).returncode
    except OSError as error:
        raise Refused(
            f"{command[0]} cannot be started: {error.strerror}", hint="set $EDITOR to another one"
        ) from None
    if status != 0:
        raise Refused(f"{command[0]} ended with status {status}")


@contextlib.contextmanager
def draft(name: str, text: str) -> Iterator[str]:
    """`text` as a person left it in the editor. Raises Refused where that is nothing new; if anything fails
    inside, the words stay in a file and the error says where.
    """
    folder = Path(tempfile.mkdtemp(prefix="memex-"))
    path = folder / f"{name}.md"
    try:
        write_atomic(path, f"{text}\n\n{_REMARK}\n".encode())
        edit_file(path)
        if not _holds_words(path, text):
            raise Refused("nothing was written", hint=_WAITING)
        yield f"{read_text(path).replace(_REMARK, '').strip()}\n"
    except Exception as error:
        if _holds_words(path, text):
            hint = f"{error.hint}; " if isinstance(error, MemexError) and error.hint else ""
            raise Refused(str(error), hint=f"{hint}your words are in {path}") from error
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)


def _holds_words(path: Path, given: str) -> bool:
    """True where the draft says something that it did not say before."""
    try:
        left = path.read_bytes().replace(_REMARK.encode(), b"").strip()
    except FileNotFoundError:
        return False
    return left not in (b"", given.strip().encode())


@contextlib.contextmanager
def _interrupts_are_the_editors() -> Iterator[None]:
    """Ctrl-C reaches the editor as well as us; only the editor is to act on it."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
