"""Sessions made by hand, and what the diary and the journal of a memory say of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memex_core.memex import Memex
from memex_core.model.item import DiaryEvent
from memex_core.model.session import Header, Run, Session, Turn
from memex_core.store.diary import Diary

START = datetime(2026, 9, 15, 10)
Said = tuple[str, str, str]
"""(minutes past 10:00 UTC, role, words); the turn's id follows from them."""
HELLO = ("00", "user", "I prefer ruff over flake8.")
NOTED = ("01", "agent", "Noted.")
MORE = ("20", "user", "Now fix the build.")
FIXED = ("25", "agent", "Fixed it.")
PUSH = ("40", "user", "Push it.")
PUSHED = ("41", "agent", "Pushed.")
FIRST = "Asked: I prefer ruff over flake8.\nAnswer: Noted."
BOTH = "Asked: I prefer ruff over flake8.\nAnswer: Fixed it."
SECOND = "Asked: Now fix the build.\nAnswer: Fixed it."


class Turns:
    """Turns as a reader gives them: fresh ones at every iteration."""

    def __init__(self, *said: Said) -> None:
        self.said = said

    def __iter__(self) -> Iterator[Turn]:
        for number, (minute, role, text) in enumerate(self.said, 1):
            yield Turn(role, text, moment(minute), number, id=f"{minute}{role}".rjust(12, "0"))  # type: ignore[arg-type]


def moment(minute: str) -> str:
    return f"{START + timedelta(minutes=int(minute)):%Y-%m-%dT%H:%M}:00.250Z" if minute else ""


def session(name: str, *said: Said, **fields: Any) -> Session:
    begun, ended = moment(said[0][0]), moment(said[-1][0])
    header = Header("test", name, "", begun, ended, 60.0, {"cwd": "/home/dev/shop"})
    fields = {"born_at": begun, "turn_count": len(said)} | fields
    return Session(header, Turns(*said), **fields)


def events(memex: Memex) -> list[DiaryEvent]:
    return list(Diary(memex.root).events())


def told(memex: Memex) -> list[str]:
    """The contents of all events, their last line, which leads to the session, left out."""
    return [event.content.rpartition("\n")[0] for event in events(memex)]


def day(memex: Memex, date: str = "2026-09-15") -> Path:
    return memex.root / "diary" / f"{date}.md"


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "mem.db" not in path.name and path.name not in (".lock", "memex.log")
    }


def journal(memex: Memex) -> list[dict[str, Any]]:
    lines = (memex.root / "journal.jsonl").read_text("utf-8").splitlines()
    return [
        line
        for line in map(json.loads, lines)
        if "diary" in (line["action"], line["file" if "file" in line else "action"].split("/")[0])
    ]


def cut_off_before_the_sidecar(memex: Memex, earlier: bytes | None) -> None:
    """The memory as it is when the last writer was killed right before it wrote the sidecar of s1."""
    sidecar = memex.root / "transcripts" / "s1.meta.json"
    sidecar.unlink() if earlier is None else sidecar.write_bytes(earlier)


def capture(memex: Memex, *said: Said, resumed: str = "", **fields: Any) -> None:
    """A capture while the run goes on; `resumed` is the minute in which somebody came back."""
    run = Run(True, (moment(resumed),) if resumed else ())
    memex.remember(session("s1", *said, run=run, **fields))


def times(memex: Memex) -> list[str]:
    return [event.time for event in events(memex)]
