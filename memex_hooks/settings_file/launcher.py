"""The one command that every hook of ours runs, and how to recognise it again.

The command names a file that `memex-hooks install` keeps up to date, so its text never changes between
releases: Codex asks for trust again whenever it does (formats/codex.md §4.3).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = "memex"
SCRIPT = "hook.sh"
CONF = "hook.conf"

_FORMS = (("sh", "<script>", "<harness>", "<event>"),)
"""The words of our command, newest form first. A released form stays here, so that it is found again."""


class HookCommand(NamedTuple):
    """What a command of ours says: the script it runs, for which harness and event."""

    script: Path
    harness: str
    event: str


def data_home(env: Mapping[str, str]) -> Path:
    """$XDG_DATA_HOME/memex, else ~/.local/share/memex: what a hook needs to find the memory."""
    chosen = env.get("XDG_DATA_HOME", "")
    base = (
        Path(chosen) if chosen.startswith("/") else Path(env.get("HOME") or Path.home()) / ".local" / "share"
    )
    return base / FOLDER


def script_path(env: Mapping[str, str]) -> Path:
    """The installed copy of hook.sh."""
    return data_home(env) / SCRIPT


def conf_path(env: Mapping[str, str]) -> Path:
    """hook.conf: line 1 the memory root, line 2 the Python that has memex_hooks."""
    return data_home(env) / CONF


def launcher_command(env: Mapping[str, str]) -> str:
    """`sh '<data home>/hook.sh'`, to be followed by harness and event. Always quoted: one HOME, one text."""
    return "sh " + quote(str(script_path(env)))


def event_command(launcher: str, harness: str, event: str) -> str:
    """The whole command of one hook."""
    return f"{launcher} {harness} {event}"


def quote(word: str) -> str:
    """`word` in single quotes, right for every POSIX shell and for fish."""
    return "'" + word.replace("'", "'\"'\"'") + "'"


def parse_command(command: object) -> HookCommand | None:
    """What `command` runs when it is ours, else None. Judged by its words, not by its text."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    for form in _FORMS:
        if len(words) == len(form) and all(map(_fits, form, words)):
            script, harness, event = (
                words[form.index(slot)] for slot in ("<script>", "<harness>", "<event>")
            )
            return HookCommand(Path(script), harness, event)
    return None


def _fits(expected: str, word: str) -> bool:
    if expected == "<script>":
        path = Path(word)
        return path.is_absolute() and path.name == SCRIPT and path.parent.name == FOLDER
    return expected.startswith("<") or word == expected
