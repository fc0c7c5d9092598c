"""An interactive program in a terminal: tmux with a server and a socket of its own."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from waiting import wait_for

KEY_TRIES = 5
KEY_TIMEOUT_S = 2.0


class Terminal:
    """One program in one tmux pane. A context manager: the server ends with it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self._socket = f"memex-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        words = [
            "env",
            "-i",
            *(f"{name}={value}" for name, value in {**env, "TERM": "screen-256color"}.items()),
            *command,
        ]
        self._start = [
            "new-session",
            "-d",
            "-s",
            "it",
            "-x",
            "140",
            "-y",
            "50",
            "-c",
            str(folder),
            f"exec {shlex.join(words)}",
        ]
        self.pid = 0

    def __enter__(self) -> Terminal:
        self._tmux("-f", os.devnull, *self._start)
        self.pid = int(self._tmux("display-message", "-p", "-t", "it", "#{pane_pid}"))
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server", check=False)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "it", check=False)

    def wait_for_text(self, text: str, *, seconds: float = 20.0) -> None:
        wait_for(
            lambda: text in self.screen(), f"{text!r} on the screen", seconds=seconds, report=self.screen
        )

    def press_until(self, key: str, seen: Callable[[str], bool]) -> None:
        """Press a key until `seen` accepts the screen: a program that has just started loses keys."""
        for _ in range(KEY_TRIES):
            self._tmux("send-keys", "-t", "it", key)
            with contextlib.suppress(AssertionError):
                wait_for(lambda: seen(self.screen()), "", seconds=KEY_TIMEOUT_S)
                return
        raise AssertionError(f"{key} did not do what it should\n{self.screen()}")

    def type_line(self, text: str) -> None:
        """Type `text`, see it on the screen, press Enter."""
        self._tmux("send-keys", "-t", "it", "-l", text)
        self.wait_for_text(text[-60:])
        self._tmux("send-keys", "-t", "it", "Enter")

    def wait_for_end(self, *, seconds: float = 20.0) -> None:
        """The program left: its server, which had nothing else, left with it."""
        wait_for(lambda: not self._alive(), "the end of the program", seconds=seconds, report=self.screen)

    def _alive(self) -> bool:
        return bool(self._tmux("list-panes", "-t", "it", check=False))

    def _tmux(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *words], capture_output=True, text=True, timeout=20, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"tmux {words[0]}: {done.stderr}")
        return done.stdout.rstrip("\n")
