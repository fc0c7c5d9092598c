"""`memex serve-mcp` and `memex watch` as processes (issue 3 items 2, 5, 8); what they do is tested in their
rooms.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from memex_program import PATIENCE_S

from memex_core.memex import Memex
from memex_core.model.node import WriteInput

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "memex_core.cli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_serve_mcp_speaks_the_protocol_and_ends_when_the_client_closes(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    Memex(other).write(WriteInput("entity", "Zephyr", "Our build server."))
    lines = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "memex_recall", "arguments": {"query": "build server"}},
        },
    ]
    with start("serve-mcp", "--data-dir", str(other)) as server:
        assert server.stdin is not None and server.stdout is not None
        for line in lines:
            server.stdin.write(json.dumps(line) + "\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        rest = server.stdout.read()
        assert server.wait(PATIENCE_S) == 0
    assert [answer["id"] for answer in answers] == [1, 2] and rest == ""
    assert "zephyr" in json.dumps(answers[1]["result"])
    assert not root.exists()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_watch_reports_changes_line_by_line_and_ends_well(root: Path, end: signal.Signals) -> None:
    node = Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    assert node.file_path is not None
    with start("watch", "--poll-interval", "0.2") as watcher:
        assert watcher.stdout is not None and watcher.stderr is not None
        assert watcher.stdout.readline()  # it has begun
        time.sleep(0.3)
        node.file_path.write_text(node.file_path.read_text("utf-8") + "quokka\n", "utf-8")
        told = watcher.stdout.readline()
        watcher.send_signal(end)
        assert watcher.wait(PATIENCE_S) == 0, watcher.stderr.read()
    assert "zephyr" in told
