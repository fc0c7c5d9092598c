"""logs/memex.log: one line an operation, never content (seed 000 §9; DESIGN §1)."""

from __future__ import annotations

import contextlib
import json
import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from memex_core import paths
from memex_core.files.atomic import append_line

MAX_BYTES = 1 << 20


def where(error: BaseException) -> str:
    """The kind of an error and the last places it went through: enough to find it, and nothing of what was
    said.
    """
    frames = reversed(traceback.extract_tb(error.__traceback__)[-3:])
    places = " < ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {places}" if places else type(error).__name__


def log_operation(
    root: Path, operation: str, subject: str, outcome: str, seconds: float = 0.0, detail: str = ""
) -> None:
    """Append {ts, op, subject, outcome, ms, detail?}; at 1 MiB the file becomes memex.log.1. Never raises."""
    path = paths.logs_dir(root) / "memex.log"
    line = {
        "ts": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "op": operation,
        "subject": subject[:160],
        "outcome": outcome,
        "ms": round(seconds * 1000, 1),
    }
    if detail:
        line["detail"] = detail[:240]
    with contextlib.suppress(OSError):
        if path.exists() and path.stat().st_size > MAX_BYTES:
            os.replace(path, path.with_suffix(".log.1"))
        append_line(path, json.dumps(line, ensure_ascii=False).encode("utf-8", "replace"), durable=False)
