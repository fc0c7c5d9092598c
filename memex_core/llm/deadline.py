"""A hard end for calls that can only bound their single steps: a byte a second never ends by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def within(deadline: float, call: Callable[[], Result]) -> Result:
    """What `call()` gives or raises in a thread of its own. TimeoutError at `deadline` (time.monotonic).

    The caller then closes what `call` waits for, and the thread ends; it keeps no process alive.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="memex-model-call", daemon=True)
    thread.start()
    thread.join(max(deadline - time.monotonic(), 0.0))
    if thread.is_alive():
        raise TimeoutError
    if errors:
        raise errors[0]
    return results[0]
