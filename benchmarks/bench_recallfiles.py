"""Claim: an add to a RecallFile of 1,000 items takes at most 4 ms of CPU at the median (issue 4, Speed).

Beside the real wikimem where it can be imported. Wall time is the disk's: every write of ours is durable.
"""

from __future__ import annotations

import importlib.util
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore
from memex_core.text.blocks import Provenance, render_file

ITEMS = 1000
RUNS = 60
DAY, FILE = "2026-06-01", "facts"
NOW = "2026-06-01T00:00:00+00:00"


def main() -> None:
    words = Words()
    items = [
        (f"item-{n:06d}", words.content(n), Provenance("user:a", f"c{n % 97}", NOW)) for n in range(ITEMS)
    ]
    day = [
        (f"{n // 60:02d}:{n % 60:02d}", words.english(40), Provenance("u", None, NOW)) for n in range(ITEMS)
    ]
    wiki, diary = render_file(FILE, items), render_file(DAY, day)
    print(f"\nA RecallFile of {ITEMS} items, {len(wiki.encode()) >> 10} KB, and a day of {ITEMS} events")
    print(f"  {'':24} {'CPU p50':>9} {'CPU p95':>9} {'wall p50':>9}   ms   (goal: add, CPU p50 at most 4)")
    systems = {"memex": (RecallFileStore, Diary)}
    if importlib.util.find_spec("wikimem"):
        from wikimem import MemoryStore  # type: ignore[import-not-found]

        systems["wikimem"] = (MemoryStore, lambda root: MemoryStore(root).diary)
    for name, (store_of, diary_of) in systems.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in ((root / "wiki" / f"{FILE}.md", wiki), (root / "diary" / f"{DAY}.md", diary)):
                path.parent.mkdir()
                path.write_text(text, "utf-8", newline="\n")
            measure(name, store_of(root), diary_of(root), words)


def measure(system: str, store: Any, diary: Any, words: Words) -> None:
    added = []
    for n in range(RUNS):  # the file stays at 1,000 items
        body = words.english(40)
        added.append(timed(lambda n=n, body=body: store.add(FILE, f"new-{n}", body, owner="u")))
        store.remove(FILE, f"new-{n}")
    show(f"{system}: add", added)
    text = "an updated sentence " * 12
    show(f"{system}: update", runs(lambda n: store.add(FILE, f"item-{n:06d}", text, owner="u")))
    show(f"{system}: get", runs(lambda n: store.get(FILE, f"item-{n + 500:06d}")))
    show(f"{system}: items", runs(lambda n: store.items(FILE)))
    event = "walked along the river " * 10
    show(f"{system}: diary append", runs(lambda n: diary.append(event, date=DAY, time="12:00", owner="u")))
    show(f"{system}: add to a new file", runs(lambda n: store.add(f"tiny{n}", "only", "x")))


def runs(act: Callable[[int], object]) -> list[tuple[float, float]]:
    return [timed(lambda n=n: act(n)) for n in range(RUNS)]


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """(CPU, wall) milliseconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def show(name: str, samples: list[tuple[float, float]]) -> None:
    cpu, wall = sorted(cpu for cpu, _ in samples), statistics.median(wall for _, wall in samples)
    low, high = statistics.median(cpu), cpu[round(0.95 * (len(cpu) - 1))]
    print(f"  {name:24} {low:9.2f} {high:9.2f} {wall:9.2f}")


class Words:
    """Seeded text like that of the store on which wikimem was measured: seven items in ten are 25-60 English
    words, the others 40-110 Han characters; every second one ends with a link.
    """

    def __init__(self) -> None:
        self.random = random.Random(1)
        parts = [c + v for c in "bcdfghklmnprstvz" for v in ("a", "e", "i", "o", "u", "ai", "or")]
        lengths = (self.random.randint(2, 4) for _ in range(24000))
        self.words = ["".join(self.random.choices(parts, k=length)) for length in lengths]
        self.weights = [1 / (rank + 5) for rank in range(len(self.words))]
        self.han = [chr(0x4E00 + place) for place in self.random.sample(range(0x51A5), 3000)]

    def english(self, count: int) -> str:
        return " ".join(self.random.choices(self.words, self.weights, k=count))

    def content(self, number: int) -> str:
        if self.random.random() < 0.3:
            text = "".join(self.random.choices(self.han, k=self.random.randint(40, 110))) + "。"
        else:
            text = self.english(self.random.randint(25, 60)) + "."
        return f"{text} [[{FILE}:item-{self.random.randrange(ITEMS):06d}]]" if number % 2 else text


if __name__ == "__main__":
    main()
