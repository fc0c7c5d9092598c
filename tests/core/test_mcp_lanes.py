"""Blocking work beside the event loop of the MCP server."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from memex_core.mcp_server.lanes import Lane, Stopped


def test_a_lane_does_at_most_so_many_things_at_once() -> None:
    running, at_once = set[threading.Thread](), list[int]()

    def work() -> None:
        running.add(threading.current_thread())
        at_once.append(len(running))
        time.sleep(0.02)
        running.discard(threading.current_thread())

    async def run() -> None:
        lane = Lane(3)
        await asyncio.gather(*(lane.run(work) for _ in range(12)))
        await lane.idle()

    asyncio.run(run())
    assert len(at_once) == 12 and max(at_once) <= 3


def test_what_the_work_raises_reaches_its_caller() -> None:
    async def run() -> None:
        lane = Lane(1)
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 // 0)
        assert await lane.run(lambda: 5) == 5

    asyncio.run(run())


@pytest.mark.parametrize("stops", [True, False])
def test_a_caller_that_is_cancelled_leaves_at_once_and_its_place_is_free_when_the_work_ends(
    stops: bool,
) -> None:
    begun, let_go, told = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        try:
            while not let_go.is_set():
                time.sleep(0.005)
        except Stopped:
            told.set()

    async def run() -> None:
        lane = Lane(1, stops=stops)
        calling = asyncio.create_task(lane.run(work))
        while not begun.is_set():
            await asyncio.sleep(0.005)
        assert lane.busy
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        if stops:
            assert await asyncio.to_thread(told.wait, 5)
        else:
            assert lane.busy
            let_go.set()
        await asyncio.wait_for(lane.idle(), 5)
        assert not lane.busy

    asyncio.run(run())
    assert told.is_set() is stops
