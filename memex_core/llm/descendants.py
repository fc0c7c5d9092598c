"""What a program leaves running, even in sessions of its own: found by a mark in the environment it inherits.

Only where the system shows environments in /proc (Linux); what empties its environment is not found.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

RUN = "MEMEX_RUN"
"""The variable that holds the mark of one run."""

_PR_SET_PDEATHSIG = 1
_PAUSE_S = 0.01


def new_mark() -> str:
    """A mark that no other run has."""
    return secrets.token_hex(16)


def end_all(mark: str, until: float) -> None:
    """Kill every process that inherited `mark`, and what they start meanwhile, until `until` (monotonic)."""
    while pids := list(_marked(f"{RUN}={mark}".encode())):
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() >= until:
            return
        time.sleep(_PAUSE_S)


def _marked(assignment: bytes) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if assignment in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)


def tie_to_parent() -> Callable[[], None] | None:
    """What a child does before it becomes its program, so that it is killed with the thread that started it.

    None where the system cannot do that (any but Linux).
    """
    if sys.platform != "linux":
        return None
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    parent, exit_now, kill = os.getpid(), os._exit, int(signal.SIGKILL)
    arguments = [ctypes.c_ulong(number) for number in (kill, 0, 0, 0)]

    def tie() -> None:
        """Runs between fork and exec: calls nothing that could wait for another thread's lock."""
        prctl(_PR_SET_PDEATHSIG, *arguments)
        if os.getppid() != parent:
            exit_now(1)

    return tie
