"""How the benchmarks measure and print: repeated runs, median, spread, ratio to a baseline of the same run.
They never assert.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Figure:
    """Seconds of each run of one thing."""

    name: str
    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def measure(name: str, act: Callable[[], object], *, runs: int) -> Figure:
    """Time `act` `runs` times."""
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - started)
    return Figure(name, seconds)


def interleaved(acts: dict[str, Callable[[], object]], *, runs: int) -> list[Figure]:
    """Time several acts in turn, so that a slow moment of the machine hits all of them."""
    figures = {name: Figure(name, []) for name in acts}
    for _ in range(runs):
        for name, act in acts.items():
            figures[name].seconds += measure(name, act, runs=1).seconds
    return list(figures.values())


def report(title: str, figures: list[Figure], *, goal: str = "") -> None:
    """A table: median, minimum, maximum in milliseconds, ratio to the first row."""
    print(f"\n{title}" + (f"   (goal: {goal})" if goal else ""))
    print(f"  {'':42} {'median ms':>10} {'min':>10} {'max':>10} {'ratio':>7}")
    for figure in figures:
        low, high = min(figure.seconds) * 1000, max(figure.seconds) * 1000
        ratio = figure.median / figures[0].median
        print(f"  {figure.name:42} {figure.median * 1000:10.2f} {low:10.2f} {high:10.2f} {ratio:7.2f}")
