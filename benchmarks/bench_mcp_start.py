"""Claim: the MCP server answers `initialize` within 1.3 times the SDK's own import (issue 3 item 5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from figures import interleaved, report

RUNS = 7
PARAMS = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
RECALL = {"name": "memex_recall", "arguments": {"query": "ruff"}}
IMPORT = [sys.executable, "-c", "import mcp.server.lowlevel; print(flush=True)"]
SERVER = [sys.executable, "-m", "memex_core.cli", "serve-mcp"]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        env = {**os.environ, "HOME": name, "MEMEX_DATA_DIR": f"{name}/memory"}
        running: list[subprocess.Popen[bytes]] = []

        def until_lines(command: list[str], *asked: bytes) -> None:
            """From exec to the line that answers the last of `asked`; the end of the process is not in it."""
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
            running.append(process)
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(b"".join(asked))
            process.stdin.flush()
            for _ in asked or [b""]:
                process.stdout.readline()

        initialize, recall = request(1, "initialize", PARAMS), request(2, "tools/call", RECALL)
        acts = {
            "import of what we use of the SDK": lambda: until_lines(IMPORT),
            "memex serve-mcp: initialize answered": lambda: until_lines(SERVER, initialize),
            "memex serve-mcp: first recall answered": lambda: until_lines(SERVER, initialize, recall),
        }
        figures = interleaved(acts, runs=RUNS)
        for process in running:
            process.communicate()
        report("The start of the MCP server", figures, goal="initialize: ratio at most 1.3")


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


if __name__ == "__main__":
    main()
