"""Several writers at once, and writers that are killed: nothing is lost, nothing is half written, and the
journal tells what happened.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore

DAY = "2026-03-05"
MIXED = """
import random, sys
from pathlib import Path
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore
root, me, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store, diary, dice = RecallFileStore(root), Diary(root), random.Random(me)
for number in range(count):
    name, throw = f"n{dice.randrange(20)}", dice.random()
    if throw < 0.5:
        store.add("facts", name, f"{me} {number}", owner=me)
    elif throw < 0.75:
        store.remove("facts", name, owner=me)
    else:
        diary.append(f"{me} {number}", date="2026-03-05", time=f"{dice.randrange(3):02d}:30", owner=me)
"""
COMMANDS = """
import contextlib, sys
from memex_core.cli.commands import memex
from memex_core.cli.entry import run
me, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    for command in (["item", "add", "facts", f"{me}-{number}", "x"],
                    ["diary", "add", f"{me}-{number}", "--date", "2026-03-05", "--time", "08:30"]):
        with contextlib.suppress(SystemExit):
            run(memex, "memex", ["--data-dir", sys.argv[1], *command, "--owner", me])
"""
ENDLESS = """
import sys
from pathlib import Path
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore
root, me, number = Path(sys.argv[1]), sys.argv[2], 0
while True:
    RecallFileStore(root).add("facts", f"{me}-{number % 5}", f"{number} " + "x" * 100_000)
    Diary(root).append(f"{me}-{number} " + "x" * 20_000, date="2026-03-05", time="08:30")
    print(number, flush=True)
    number += 1
"""


def start(program: str, root: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, str(root), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_at_once(program: str, root: Path, processes: int, count: int) -> None:
    running = [start(program, root, f"p{number}", str(count)) for number in range(processes)]
    for process in running:
        said = process.communicate()
        assert process.returncode == 0, said


def journal(root: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (root / "journal.jsonl").read_text("utf-8").splitlines()]


def as_told(lines: list[dict[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The (name, owner) of the items and the (time, owner) of the events, as the journal alone says."""
    items: dict[str, str] = {}
    events = []
    for line in lines:
        if line["action"] == "diary":
            events.append((line["time"], line["owner"]))
            continue
        assert (line["action"] != "add") == (line["item"] in items), line
        items.pop(line["item"], None)
        if line["action"] != "remove":
            items[line["item"]] = line["owner"]
    return list(items.items()), sorted(events, key=lambda event: event[0])


@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_what_eight_processes_add_change_and_remove_is_what_the_journal_tells(root: Path, count: int) -> None:
    run_at_once(MIXED, root, 8, count)
    items, events = RecallFileStore(root).items("facts"), Diary(root).day(DAY)
    told = as_told(journal(root))
    assert ([(each.name, each.owner) for each in items], [(each.time, each.owner) for each in events]) == told
    for number in range(8):
        for minute in ("00:30", "01:30", "02:30"):
            own = [event for event in events if (event.owner, event.time) == (f"p{number}", minute)]
            assert own == sorted(own, key=lambda event: int(event.content.split()[1]))


@pytest.mark.parametrize(("processes", "count"), [(3, 5), pytest.param(8, 60, marks=pytest.mark.slow)])
def test_commands_that_run_at_once_lose_nothing(root: Path, processes: int, count: int) -> None:
    run_at_once(COMMANDS, root, processes, count)
    items, events = RecallFileStore(root).items("facts"), Diary(root).day(DAY)
    assert len(items) == len(events) == processes * count
    lines = journal(root)
    assert [each.name for each in items] == [line["item"] for line in lines if "item" in line]
    assert [each.owner for each in events] == [line["owner"] for line in lines if "time" in line]
    for number in range(processes):
        own = [f"p{number}-{each}" for each in range(count)]
        assert [each.name for each in items if each.owner == f"p{number}"] == own
        assert [each.content for each in events if each.owner == f"p{number}"] == own


@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_writer_that_is_killed_leaves_nothing_half_written(root: Path, kills: int) -> None:
    dice = random.Random(5)
    done = 0
    for number in range(kills):
        writer = start(ENDLESS, root, f"w{number}")
        assert writer.stdout is not None and writer.stdout.readline() == "0\n"
        time.sleep(dice.random() / 10)
        writer.kill()
        done += 1 + len([line for line in writer.communicate()[0].split("\n")[:-1] if line])
        items, events = RecallFileStore(root).items("facts"), Diary(root).day(DAY)
        assert {len(item.content.partition(" ")[2]) for item in items} == {100_000}
        assert {len(event.content.partition(" ")[2]) for event in events} == {20_000}
        assert done <= len(events) <= done + number + 1
        told = [line for line in journal(root) if line["action"] == "diary"]
        assert len(events) - number - 1 <= len(told) <= len(events)
    assert {path.name for path in (root / "wiki").glob("*.md")} == {"facts.md"}


def test_what_a_program_without_the_lock_wrote_meanwhile_is_not_overwritten(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """wikimem takes no lock; its file is there when ours is about to get its name."""
    store, diary, fsync = RecallFileStore(root), Diary(root), os.fsync
    store.add("pets", "cat", "x")
    diary.append("first", date=DAY, time="08:30")
    theirs: list[tuple[Path, str]] = []

    def write_meanwhile(fd: int) -> None:
        fsync(fd)
        if theirs:
            path, text = theirs.pop()
            path.with_name("new.tmp").write_text(text, "utf-8")
            path.with_name("new.tmp").replace(path)

    monkeypatch.setattr(os, "fsync", write_meanwhile)
    theirs.append((root / "wiki" / "pets.md", "# pets\n\n## cat\n\nx\n\n## dog\n\ntheirs\n"))
    store.add("pets", "eel", "ours")
    assert [item.name for item in store.items("pets")] == ["cat", "dog", "eel"]
    theirs.append((root / "diary" / f"{DAY}.md", "## 08:30\n\nfirst\n\n## 09:00\n\ntheirs\n"))
    diary.append("ours", date=DAY, time="09:00")
    assert [event.content for event in diary.day(DAY)] == ["first", "theirs", "ours"]
    assert not theirs and not list(root.rglob(".memex-*.tmp"))
