"""A client of the MCP server that writes any bytes into it and keeps every line that comes out."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "memex_core.cli", "serve-mcp"]
WAIT_S = 20.0
GREETING: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Pipe:
    """`memex serve-mcp` on `root`, its three streams in our hands."""

    def __init__(self, root: Path, command: list[str] | None = None) -> None:
        self.stderr_file = root.with_name(f"{root.name}.stderr").open("w+b")
        self.process = subprocess.Popen(
            command or COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr_file,
            env={**os.environ, "MEMEX_DATA_DIR": str(root), "HOME": str(root.parent)},
        )
        self.lines: list[bytes] = []
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers: dict[Any, dict[str, Any]] = {}
        self._ids = itertools.count(1)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def say(self, *messages: bytes | dict[str, Any]) -> None:
        """Write lines: bytes as they are, a dict as JSON."""
        assert self.process.stdin is not None
        for message in messages:
            data = (
                message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            )
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def answer(self, request_id: Any, seconds: float = WAIT_S) -> dict[str, Any]:
        """The answer to a request; for None the next error that answers no request."""
        until = time.monotonic() + seconds
        while request_id not in self._answers:
            left = until - time.monotonic()
            assert left > 0, f"no answer to {request_id!r}; {self.stderr()}"
            with contextlib.suppress(queue.Empty):
                message = self._messages.get(timeout=left)
                self._answers[message.get("id")] = message
        return self._answers.pop(request_id)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        request_id = f"ask-{next(self._ids)}"
        self.say({"id": request_id, "method": method, **({} if params is None else {"params": params})})
        return self.answer(request_id)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        result: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result

    def greet(self) -> Pipe:
        assert "result" in self.ask("initialize", GREETING)
        self.say({"method": "notifications/initialized"})
        return self

    def is_alive(self) -> bool:
        return self.ask("ping") == {"jsonrpc": "2.0", "id": f"ask-{next(self._ids) - 1}", "result": {}}

    def stderr(self) -> str:
        return Path(self.stderr_file.name).read_text("utf-8", "replace")

    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> int:
        """Close our end; its exit status."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        status = self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        return status

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self._reader.join(WAIT_S)
            self.stderr_file.close()
            assert self.process.stdout is not None
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            with contextlib.suppress(ValueError):
                self._messages.put(json.loads(line))


def protocol_lines(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    """Each line as a JSON-RPC message; AssertionError for one that is none."""
    for line in lines:
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0" and ("result" in message) != ("error" in message), line
        assert "id" in message, line
        yield message
