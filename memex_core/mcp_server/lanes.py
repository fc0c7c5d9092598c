"""Blocking work beside the event loop, in threads that never keep the process alive."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class Stopped(BaseException):
    """Raised inside work that its caller gave up."""


class Lane:
    """Does at most `width` things at once; what comes then waits its turn.

    The threads are daemons: one that hangs in a read, or in a write to a client that does not read, ends with
    the process instead of holding it. A caller that is cancelled leaves at once, and its place is free when
    its work has really ended. With `stops`, Stopped is raised inside the work then: no model is paid and no
    program is left running for an answer that nobody waits for.
    """

    def __init__(self, width: int, *, stops: bool = False) -> None:
        self._width = width
        self._stops = stops
        self._free = asyncio.Semaphore(width)

    @property
    def busy(self) -> bool:
        """True while there is no room for one more thing."""
        return self._free.locked()

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work()`, or what it raises."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def ended(settle: Callable[[], None]) -> None:
            self._free.release()
            if not done.done():
                settle()

        def body() -> None:
            settle: Callable[[], None]
            try:
                settle = partial(done.set_result, work())
            except BaseException as error:
                settle = partial(done.set_exception, error)
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits
                loop.call_soon_threadsafe(ended, settle)

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        try:
            return await done
        except asyncio.CancelledError:
            if self._stops:
                _raise_in(thread)
            raise

    async def idle(self) -> None:
        """Returns when nothing runs."""
        for _ in range(self._width):
            await self._free.acquire()
        for _ in range(self._width):
            self._free.release()


def _raise_in(thread: threading.Thread) -> None:
    """Raise Stopped in a thread as soon as it runs Python again."""
    if thread.ident is not None and thread.is_alive():
        number, kind = ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, kind)
