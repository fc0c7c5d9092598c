"""The processes of one scratch HOME, found in /proc by the HOME in their environment; ended by id."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

OURS = ("memex_hooks", "memex-hooks", "/hook.sh")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    command: str


def processes_of(home: Path) -> list[Process]:
    """Every live process whose HOME is `home`; one that has ended but was not reaped yet has no command."""
    found = []
    wanted = b"HOME=" + os.fsencode(home)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            if command:
                found.append(Process(int(entry.name), _parent(entry), command))
    return found


def our_processes(home: Path) -> list[Process]:
    """Those of them that the product started: hook scripts, workers, recall."""
    return [process for process in processes_of(home) if any(word in process.command for word in OURS)]


def tree(home: Path, root: int) -> list[Process]:
    """The process `root` and its descendants, parents first."""
    everything = processes_of(home)
    family = [process for process in everything if process.pid == root]
    for member in family:
        family += [process for process in everything if process.parent == member.pid]
    return family


def kill(process: Process) -> None:
    """kill -9, by id."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


def _parent(entry: Path) -> int:
    return int((entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
