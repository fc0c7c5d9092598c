"""A memory that cannot be written, also for root: asked by a child that may do nothing."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def read_only_memory(fill: Callable[[Path], None]) -> Iterator[Path]:
    """A memory root that `fill` filled and nobody may write to, in a folder that another user may enter."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "memory"
        fill(root)
        paths = [*Path(name).rglob("*"), Path(name)]
        for path in paths:
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        yield root
        for path in reversed(paths):
            os.chmod(path, 0o755)


def as_nobody(ask: Callable[[], object]) -> object:
    """What `ask` gives, as JSON, in a child that may not do what root may."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        told: object = ""
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65_534)
                os.setuid(65_534)
            told = ask()
        except BaseException as error:
            told = repr(error)
        finally:
            os.write(writer, json.dumps(told).encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = json.loads(pipe.read())
    os.waitpid(child, 0)
    return told
