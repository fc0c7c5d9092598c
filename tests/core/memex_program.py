"""The program `memex` as a person or a script calls it, for the tests of the command line."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from memex_core.cli.commands import memex as group
from memex_core.cli.entry import run as run_group

PATIENCE_S = 20.0


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        assert self.returncode == 0, self.stderr
        return json.loads(self.stdout)


def memex_cli(*arguments: str) -> Done:
    """`memex ARGUMENTS` in this process, with standard output and error that are no terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    umask = os.umask(0o077)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run_group(group, "memex", arguments)
    except SystemExit as end:
        status = end.code
    finally:
        os.umask(umask)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.detach().getvalue().decode())  # type: ignore[attr-defined]
    return Done(int(status or 0), *texts)


def memex_program(*arguments: str, stdin: str | bytes = "", env: Mapping[str, str] | None = None) -> Done:
    """`memex ARGUMENTS` as a process of its own, `stdin` piped in."""
    done = subprocess.run(
        [sys.executable, "-m", "memex_core.cli", *arguments],
        capture_output=True,
        check=False,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        env={**os.environ, **(env or {})},
    )
    return Done(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


def on_a_terminal(
    *arguments: str,
    typed: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    stdout: IO[bytes] | None = None,
) -> Done:
    """The same at a terminal that is its standard input, output (unless `stdout` takes that) and error; each
    of `typed` is a line typed once the program is waiting. What was shown is in `stdout`.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "memex_core.cli", *arguments],
        stdin=theirs,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **(env or {})},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    lines = list(typed)
    until = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < until:
            ready, _, _ = select.select([ours], [], [], 0.2)
            if not ready:
                if lines and shown:
                    os.write(ours, f"{lines.pop(0)}\n".encode())
                continue
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        returncode = process.wait(PATIENCE_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
    return Done(returncode, shown.decode().replace("\r\n", "\n"), "")
