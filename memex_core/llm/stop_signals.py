"""Signals that would end this process at once wait until nothing of a model's program is left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def held_signals() -> Iterator[Callable[[], None]]:
    """While it is entered, signals only are noted; the function that it gives raises where one has come, and
    so does its end: KeyboardInterrupt for SIGINT, SystemExit (128 + number) for another.

    Only in the main thread, and only signals that nobody ignores or handles.
    """
    came: list[int] = []

    def raise_if_any() -> None:
        if came:
            raise KeyboardInterrupt if came[0] == signal.SIGINT else SystemExit(128 + came[0])

    before = {number: signal.getsignal(number) for number in _ENDING} if _is_main() else {}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    held = {number: handler for number, handler in before.items() if handler in usual}
    try:
        for number in held:
            signal.signal(number, lambda number, _: came.append(number))
        yield raise_if_any
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        raise_if_any()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
