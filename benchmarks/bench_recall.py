"""Claims (issue 4, Speed): a recall over 10,000 items takes at most 6 ms of CPU at the median, over 50,000 at
most 15; the first one after a write at most 10.

Stores and queries are like those on which wikimem was measured: 100 items a RecallFile, queries of four words
(or six characters) of some item. Beside the real wikimem where it can be imported. `bench_recall.py 10000`
measures that size alone.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memex_core.open_memory import OpenMemory
from memex_core.store.recallfiles import RecallFileStore
from memex_core.text.blocks import Provenance, render_file

PER_FILE = 100
QUERIES = 200
WRITES = 7
DAYS, EVENTS = 30, 20
NOW = "2026-01-01T00:00:00+00:00"


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [10_000, 50_000]
    for items in sizes:
        words = Words()
        contents = [words.content(number, items) for number in range(items)]
        queries = words.queries(contents)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write_store(root, contents)
            goal = "6, after an add 10" if items <= 10_000 else "15"
            print(f"\n{items:,} items, {QUERIES} queries (goal: CPU p50 at most {goal})")
            print(f"  {'':34} {'CPU p50':>9} {'CPU p95':>9} {'wall p50':>9}   ms")
            measure_memex(root, queries, words)
            if importlib.util.find_spec("wikimem"):
                measure_wikimem(root, queries)


def measure_memex(root: Path, queries: list[str], words: Words) -> None:
    memex = OpenMemory(root)
    show("memex: first index", [timed(memex.heal)])
    for query in queries[:3]:
        memex.recall(query)
    show("memex: recall", [timed(lambda q=query: memex.recall(q, budget=800)) for query in queries])
    opened = [timed(lambda q=query: OpenMemory(root).recall(q)) for query in queries[:40]]
    show("memex: open the memory and recall", opened)
    store, after = RecallFileStore(root), []
    for number in range(WRITES):
        store.add("f0000", f"fresh-{number}", "a fresh fact about rivers")
        after.append(timed(lambda: (memex.heal(force=True), memex.recall("fresh fact rivers"))))
    show("memex: first recall after an add", after)
    write_diary(root, words)
    memex.heal(force=True)
    month = ("2026-06-01", "2026-06-30")
    show(
        "memex: recall in a month's diary",
        [timed(lambda q=q: memex.recall(q, time_range=month)) for q in queries[:60]],
    )


def measure_wikimem(root: Path, queries: list[str]) -> None:
    from wikimem import MemoryIndex, MemoryStore  # type: ignore[import-not-found]

    store = MemoryStore(root)
    index = MemoryIndex(store, use_jieba=False)
    show("wikimem: first index", [timed(index.rebuild)])
    show(
        "wikimem: retrieve",
        [timed(lambda q=query: index.retrieve(q, limit=10, budget_tokens=800)) for query in queries],
    )
    after = []
    for number in range(3):
        store.add("f0000", f"fresher-{number}", "a fresh fact about rivers")
        after.append(timed(lambda: index.retrieve("fresh fact rivers")))
    show("wikimem: first retrieve after an add", after)


def write_store(root: Path, contents: list[str]) -> None:
    (root / "wiki").mkdir(parents=True)
    for start in range(0, len(contents), PER_FILE):
        name = f"f{start // PER_FILE:04d}"
        blocks = [
            (f"item-{number:06d}", contents[number], Provenance("user:a", f"c{number % 97}", NOW))
            for number in range(start, min(start + PER_FILE, len(contents)))
        ]
        (root / "wiki" / f"{name}.md").write_text(render_file(name, blocks), "utf-8", newline="\n")


def write_diary(root: Path, words: Words) -> None:
    (root / "diary").mkdir()
    for day in (f"2026-06-{number:02d}" for number in range(1, DAYS + 1)):
        events = [
            (f"{number // 3 + 7:02d}:{number % 3 * 20:02d}", words.english(40), Provenance())
            for number in range(EVENTS)
        ]
        (root / "diary" / f"{day}.md").write_text(render_file(day, events), "utf-8", newline="\n")


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """(CPU, wall) milliseconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def show(name: str, samples: list[tuple[float, float]]) -> None:
    cpu, wall = sorted(cpu for cpu, _ in samples), statistics.median(wall for _, wall in samples)
    low, high = statistics.median(cpu), cpu[round(0.95 * (len(cpu) - 1))]
    print(f"  {name:34} {low:9.2f} {high:9.2f} {wall:9.2f}", flush=True)


class Words:
    """Seeded text: seven items in ten are 25-60 English words, the others 40-110 Han characters, both by
    Zipf's law; every second one ends with a link.
    """

    def __init__(self) -> None:
        self.random = random.Random(1)
        parts = [c + v for c in "bcdfghklmnprstvz" for v in ("a", "e", "i", "o", "u", "ai", "or")]
        lengths = (self.random.randint(2, 4) for _ in range(24_000))
        self.words = sorted({"".join(self.random.choices(parts, k=length)) for length in lengths})
        self.random.shuffle(self.words)
        self.word_weights = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(self.words))))
        self.han = [chr(0x4E00 + place) for place in self.random.sample(range(0x51A5), 3000)]
        self.han_weights = list(itertools.accumulate(1 / (rank + 8) for rank in range(len(self.han))))

    def english(self, count: int) -> str:
        return " ".join(self.random.choices(self.words, cum_weights=self.word_weights, k=count))

    def chinese(self, count: int) -> str:
        clauses = []
        while count > 0:
            length = min(count, self.random.randint(5, 14))
            clauses.append("".join(self.random.choices(self.han, cum_weights=self.han_weights, k=length)))
            count -= length
        return "，".join(clauses) + "。"

    def content(self, number: int, items: int) -> str:
        is_chinese = self.random.random() < 0.3
        text = (
            self.chinese(self.random.randint(40, 110))
            if is_chinese
            else self.english(self.random.randint(25, 60)) + "."
        )
        target = self.random.randrange(items)
        return f"{text} [[f{target // PER_FILE:04d}:item-{target:06d}]]" if number % 2 else text

    def queries(self, contents: list[str]) -> list[str]:
        """Each from one item: four of its words, or six of its characters in a row."""
        found = []
        for _ in range(QUERIES):
            text = self.random.choice(contents).split(" [[")[0]
            if text[0] > "\u3000":
                start = self.random.randrange(max(1, len(text) - 6))
                found.append(text[start : start + 6])
            else:
                found.append(" ".join(self.random.sample(text.split(), 4)))
        return found


if __name__ == "__main__":
    main()
