"""Polling with a deadline: the only way in which these tests wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
POLL_S = 0.05


def wait_for(
    look: Callable[[], Found], what: str, *, seconds: float = 20.0, report: Callable[[], str] = lambda: ""
) -> Found:
    """The first true value that `look` gives. AssertionError with `what` and `report()` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds:g} s\n{report()}")
        time.sleep(POLL_S)
