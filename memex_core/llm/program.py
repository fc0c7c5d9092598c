"""One run of a program: a prompt on standard input, an answer on standard output, nothing left running.

Its group is killed at its end, and whatever else inherited the mark of the run (descendants.py); on Linux it
ends with this process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from memex_core.llm.answer import MAX_BYTES
from memex_core.llm.descendants import RUN, end_all, new_mark, tie_to_parent
from memex_core.llm.failures import CallFailed

PIECE = 1 << 16
POLL_S = 0.02
LAST_WORDS_S = 1.0
"""How long after its end a program's output may still arrive: something else may hold the pipe."""
MAX_STDERR = 1 << 16


class Run:
    """A program at work in a process group of its own. A context manager: at its end the group is killed.

    `status` is as subprocess has it, None while the program runs; `stdout` and `stderr` are what it wrote,
    of `stderr` the end.
    """

    def __init__(
        self, command: Sequence[str], prompt: bytes, *, folder: Path, environment: Mapping[str, str]
    ) -> None:
        """Start `command` in `folder`, without a shell. Raises CallFailed where it cannot be started."""
        self.status: int | None = None
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._prompt = memoryview(prompt)
        self._mark = new_mark()
        try:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, RUN: self._mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                preexec_fn=tie_to_parent(),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", None) or "not a usable command"
            raise CallFailed("down", f"cannot be started ({reason.lower()})") from None

    def __enter__(self) -> Run:
        self._selector = selectors.DefaultSelector()
        self._pipes: dict[int, IO[bytes]] = {}
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            event = selectors.EVENT_WRITE if pipe is self._process.stdin else selectors.EVENT_READ
            self._selector.register(pipe, event)
            self._pipes[pipe.fileno()] = pipe
        return self

    def wait(self, deadline: float, check: Callable[[], None]) -> None:
        """Until the program has ended, or `check`, which is called again and again, raises.

        TimeoutError at `deadline`, CallFailed for more than MAX_BYTES.
        """
        while not _has_ended(self._process):
            check()
            if time.monotonic() >= deadline:
                raise TimeoutError
            self._exchange(POLL_S)
            if len(self.stdout) > MAX_BYTES:
                raise CallFailed("program", f"wrote more than {MAX_BYTES >> 20} MB", may_have_run=True)
        self._end()

    def __exit__(self, *_: object) -> None:
        self._end()
        for fd in list(self._pipes):
            self._close(fd)
        self._selector.close()

    def _end(self) -> None:
        """Kill what is left of the group and of those who left it, then read what they still had to say."""
        if self.status is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        until = time.monotonic() + LAST_WORDS_S
        end_all(self._mark, until)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.status = self._process.wait(LAST_WORDS_S)
        while self._pipes and time.monotonic() < until and len(self.stdout) <= MAX_BYTES:
            self._exchange(POLL_S)

    def _exchange(self, wait: float) -> None:
        for key, _ in self._selector.select(wait):
            try:
                more = self._step(key.fd)
            except BlockingIOError:
                continue
            except OSError:  # a program need not read its input
                more = False
            if not more:
                self._close(key.fd)

    def _step(self, fd: int) -> bool:
        """Write or read one piece; whether there is more to come."""
        pipe = self._pipes[fd]
        if pipe is self._process.stdin:
            self._prompt = self._prompt[os.write(fd, self._prompt[:PIECE]) :]
            return bool(self._prompt)
        piece = os.read(fd, PIECE)
        if pipe is self._process.stdout:
            self.stdout += piece
        else:
            self.stderr += piece
            del self.stderr[:-MAX_STDERR]
        return bool(piece)

    def _close(self, fd: int) -> None:
        pipe = self._pipes.pop(fd)
        self._selector.unregister(pipe)
        with contextlib.suppress(OSError):
            pipe.close()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without reaping it where that can be told: until then, nobody else can get the number of its group."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
