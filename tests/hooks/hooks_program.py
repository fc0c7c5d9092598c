"""The program `memex-hooks` as a person calls it, for the tests of its command line."""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass

from memex_core.cli.entry import run
from memex_hooks.cli.commands import memex_hooks as group


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    returncode: int
    stdout: str
    stderr: str


def hooks_cli(*arguments: str) -> Done:
    """`memex-hooks ARGUMENTS` in this process, with standard output and error that are no terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    umask = os.umask(0o077)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run(group, "memex-hooks", arguments)
    except SystemExit as end:
        status = end.code
    finally:
        os.umask(umask)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.detach().getvalue().decode())  # type: ignore[attr-defined]
    return Done(int(status or 0), *texts)
