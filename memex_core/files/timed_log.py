"""One operation, timed, as one line of the operation log (seed 000 §9, side effects)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memex_core.files.operation_log import log_operation, where


@dataclass(slots=True)
class Entry:
    """What the line will say: filled in while the operation runs. Never content."""

    subject: str = ""
    outcome: str = "done"
    counts: dict[str, int] = field(default_factory=dict)


@contextlib.contextmanager
def timed_log(root: Path, operation: str, subject: str = "") -> Iterator[Entry]:
    """Log what happens inside when it ends, with its milliseconds; an error is logged and raised again."""
    entry = Entry(subject)
    started = time.perf_counter()
    try:
        yield entry
    except BaseException as error:
        seconds = time.perf_counter() - started
        log_operation(root, operation, entry.subject, "failed", seconds, where(error))
        raise
    seconds = time.perf_counter() - started
    log_operation(root, operation, entry.subject, entry.outcome, seconds, "", level=None, **entry.counts)
