"""The MCP server (seed 000 §7, Utility 11): a memory root as tools and resources over stdio.

    serve(root, config)     answers on the standard streams until the client closes them

wire.py takes lines from a client that may send anything; the SDK speaks the protocol (server.py); tools.py
says what is offered, calls.py what a call does, resources.py which pages can be read; faults.py how a failure
is told, evidence.py how recalled text is; lanes.py keeps blocking work off the event loop.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

from memex_core.config import MemexConfig


def serve(root: Path, config: MemexConfig) -> None:
    """Serve one memory root over stdio; returns when the client closes, or at SIGTERM or SIGINT.

    Takes the process's standard streams for good: from here on descriptor 1 is standard error and descriptor
    0 is empty, so that neither a stray print nor a child process can touch the protocol.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    _point(0, os.devnull, os.O_RDONLY)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        _point(1, os.devnull, os.O_WRONLY)

    gc.disable()  # what the SDK makes while it is imported stays: looking through it is a tenth of the start
    from memex_core.mcp_server.server import run

    gc.freeze()
    gc.enable()
    run(root, config, wire_in, wire_out)


def _point(descriptor: int, path: str, flags: int) -> None:
    opened = os.open(path, flags)
    os.dup2(opened, descriptor)
    os.close(opened)
