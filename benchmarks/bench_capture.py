"""Claims: a 100 MB log is captured at no less than a quarter of the rate of "orjson-parse every line, pull
the text, insert it into FTS5"; peak memory stays under 150 MB; capturing the unchanged log again takes
under 50 ms of work (issue 2, Speed).
"""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson
from figures import Figure, report
from session_logs import write_claude_log

SIZE = 100 << 20
RUNS = 3


def baseline(log: Path, database: Path) -> None:
    """Parse every line, pull the text, insert it into FTS5."""
    connection = sqlite3.connect(database)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body)")
    with connection, log.open("rb") as file:
        connection.executemany(
            "INSERT INTO t VALUES (?)", ((text,) for line in file for text in texts(orjson.loads(line)))
        )
    connection.close()


def texts(record: dict[str, object]) -> list[str]:
    content = record["message"]["content"]  # type: ignore[index]
    if isinstance(content, str):
        return [content]
    return [str(block.get("text") or block.get("content") or "") for block in content]


CAPTURE = """
import resource, sys, time
from pathlib import Path
from memex_core.memex import Memex
from memex_hooks.capture import capture_log
from memex_hooks.harnesses import HARNESSES
harness = HARNESSES["claude-code"]
memex, log = Memex(Path(sys.argv[1])), harness.log_file(Path(sys.argv[2]))
started, cpu = time.perf_counter(), time.process_time()
result = capture_log(memex, harness, log)
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
print(result.outcome, seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def capture(root: Path, log: Path) -> tuple[str, float, float, float]:
    """Outcome, seconds, CPU seconds, peak MiB of one capture in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CAPTURE, str(root), str(log)], capture_output=True, text=True, check=True
    )
    outcome, seconds, cpu, peak = done.stdout.split()[-4:]
    return outcome, float(seconds), float(cpu), float(peak)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HOME"] = name
        log = folder / "b3c1f0de-0000-4000-8000-00000000beef.jsonl"
        lines = write_claude_log(log, SIZE)
        print(f"log: {log.stat().st_size / 1e6:.1f} MB, {lines:,} lines")
        base, first, again, peaks = (
            Figure("orjson + text + FTS5 insert", []),
            Figure("capture, redaction on", []),
            [],
            [],
        )
        for run in range(RUNS):
            started = time.perf_counter()
            baseline(log, folder / f"baseline{run}.db")
            base.seconds.append(time.perf_counter() - started)
            outcome, seconds, _, peak = capture(folder / f"memory{run}", log)
            first.seconds.append(seconds)
            peaks.append(peak)
            outcome, seconds, cpu, _ = capture(folder / f"memory{run}", log)
            again.append((outcome, seconds, cpu))
        report("Capturing 100 MB", [base, first], goal="ratio at most 4")
        print(f"  peak memory of the capture: {max(peaks):.0f} MiB   (goal: under 150)")
        print(
            "  again, unchanged: "
            + ", ".join(f"{o} {s * 1000:.1f} ms ({c * 1000:.1f} ms CPU)" for o, s, c in again)
            + "   (goal: under 50 ms)"
        )
        print(f"  this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
