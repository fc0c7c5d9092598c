"""A scratch HOME with the product under test in it, and what its memory says."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopback_model import LoopbackModel, Request
from processes import our_processes
from programs import Programs
from waiting import wait_for

PRODUCT = Path(sys.executable).parent
"""Where `memex` and `memex-hooks` of the interpreter that runs the tests are."""
WORK_TIMEOUT_S = 15.0
LINGER_S = 5.0
"""How long a process of ours may live on once the spool is empty."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A captured session: its transcript and sidecar as they lie on disk."""

    header: dict[str, Any]
    turns: list[dict[str, Any]]
    turn_bytes: bytes
    sidecar: dict[str, Any]

    @property
    def said(self) -> list[tuple[str, str]]:
        """(role, content) of every turn."""
        return [(turn["role"], turn["content"]) for turn in self.turns]


class House:
    """`home` is the scratch HOME, `root` the memory in it. Nothing comes from the tests' environment."""

    def __init__(self, folder: Path, model: LoopbackModel, programs: Programs) -> None:
        self.home = folder / "person"
        self.home.mkdir()
        self.root = self.home / ".memex"
        self.model = model
        self.programs = programs
        self.env = {"HOME": str(self.home), "PATH": programs.path, "TERM": "dumb"}

    def project(self, name: str) -> Path:
        folder = self.home / "projects" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # --- the commands of the product

    def run(
        self, command: str, *words: str, status: int | None = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """`memex` or `memex-hooks` in this HOME; AssertionError unless it exits with `status` (None: any)."""
        done = self.run_program([str(PRODUCT / command), *words], self.home, **variables)
        said = f"{command} {' '.join(words)} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert status is None or done.returncode == status, said
        return done

    def json(self, command: str, *words: str) -> Any:
        return json.loads(self.run(command, *words, "--json").stdout)

    def run_program(
        self, command: Sequence[str], folder: Path, *, timeout: float = 60.0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=folder,
            env={**self.env, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    # --- the worker

    def settle(self) -> None:
        """Wait until the spool is empty; then no process of ours may be alive for more than LINGER_S."""
        wait_for(
            lambda: not self.waiting(), "an empty spool", seconds=WORK_TIMEOUT_S, report=self._spool_report
        )
        emptied = time.monotonic()
        wait_for(
            lambda: not our_processes(self.home),
            "the end of every process of ours",
            seconds=LINGER_S,
            report=lambda: str(our_processes(self.home)),
        )
        assert not self.waiting(), (
            f"something came in {time.monotonic() - emptied:.1f} s after the spool was empty"
        )
        assert not (self.root / "spool" / "failed").exists(), self._spool_report()

    def waiting(self) -> list[Path]:
        """What lies in the spool: envelopes, temporary files, anything but folders and the lock."""
        folder = self.root / "spool"
        entries = list(folder.iterdir()) if folder.is_dir() else []
        return [path for path in entries if path.is_file() and path.name != ".lock"]

    def _spool_report(self) -> str:
        log = self.root / "logs" / "memex.log"
        files = sorted(str(path.relative_to(self.root)) for path in (self.root / "spool").rglob("*"))
        tail = log.read_text("utf-8")[-1500:] if log.exists() else "(no log)"
        return f"spool: {files}\nprocesses: {our_processes(self.home)}\n{tail}"

    # --- the memory

    def captured(self) -> set[str]:
        return {path.name.removesuffix(".jsonl") for path in (self.root / "transcripts").glob("*.jsonl")}

    def kept(self, session_id: str) -> Kept:
        data = (self.root / "transcripts" / f"{session_id}.jsonl").read_bytes()
        head, _, body = data.partition(b"\n")
        sidecar = json.loads((self.root / "transcripts" / f"{session_id}.meta.json").read_bytes())
        return Kept(json.loads(head), [json.loads(line) for line in body.splitlines()], body, sidecar)

    def pages(self, node_type: str) -> list[dict[str, Any]]:
        """Every page of a type as `memex show` gives it."""
        listed = self.json("memex", "list", "--type", node_type)
        return [self.json("memex", "show", page["slug"], "--type", node_type) for page in listed]

    def usage(self) -> dict[str, dict[str, int]]:
        """Session id -> disjoint token counts, by `memex-hooks usage`."""
        rows = self.json("memex-hooks", "usage", "--by", "session")["rows"]
        return {session_id: row["counts"] for row in rows for session_id in row["sessions"]}

    # --- what the model was asked

    def mark(self) -> int:
        return len(self.model.requests)

    def asked_since(self, mark: int, prompt: str) -> Request:
        """The first request after `mark` that brings `prompt` to the model; side calls offer it no tools."""
        asked = self.model.requests[mark:]
        return next(
            request for request in asked if request.body.get("tools") and prompt in request.conversation
        )
