"""Whatever happens here and there to RecallFiles that pages and a memory's own items share, no text is lost
that nobody replaced, nothing new appears, and it settles.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wikimem_peer import Memory, Peer, files, put

from memex_core.model.item import RecallItem
from memex_core.model.node import WikiNode
from memex_core.store.recallfiles import RecallFileStore

STARTS = (
    "# pets\n\n## cat\n\nt0 [[pets:dog]]\n\n<!-- wikimem: owner=u | ts=2026-01-01 -->\n\n## dog\n\nt1\n",
    "## cat\nt0\n## dog\nt1",
    "\ufeffmine\r\n\r\n##  cat\r\nold\r\n<!-- wikimem: mood=sad -->\r\n## dog\r\nt1\r\n## cat\r\nt0\r\n",
    "## cat\nt0\n##  \nt1",
    "# other\n",
)
FILES, NAMES = ("pets", "entity"), ("cat", "dog", "cat (2)", "eel")
items = st.tuples(st.sampled_from(FILES), st.sampled_from(NAMES))
ITEM_STEPS = ("own add", "own remove", "peer add", "peer remove", "first add")
steps = st.lists(
    st.tuples(st.sampled_from(ITEM_STEPS), items)
    | st.tuples(st.just("page edit"), st.integers(0, 4))
    | st.tuples(st.sampled_from(("take first", "take there", "give")), st.none()),
    max_size=12,
)
QUICK, SLOW = 25, 2_000


@dataclass
class Story:
    """A memory, `first` that it imports from, `there` that it exports to; every text in them has its token.
    `replaced` are those that a person put something else in the place of.
    """

    folder: Path
    start: str
    peer: type[Peer] = Peer
    written: int = 2
    replaced: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.memory = Memory(self.folder / "memory")
        self.own = RecallFileStore(self.memory.root)
        self.first, self.there = (self.peer(self.folder / name) for name in ("first", "there"))
        for file in FILES:
            put(self.first.path, f"wiki/{file}.md", self.start)

    def step(self, kind: str, what: object) -> None:
        if kind == "take first":
            self.memory.take(self.first.path)
        elif kind == "take there" and (self.there.path / "wiki").exists():
            self.memory.take(self.there.path)
        elif kind == "give":
            self.memory.give(self.there.path)
        elif kind == "page edit":
            self._edit_page(what)
        elif isinstance(what, tuple):
            self._edit_item(kind, *what)
        here = self.texts()
        self.seen |= here
        assert self.seen - self.replaced <= here, (kind, what)

    def texts(self) -> set[str]:
        """The tokens in pages, own items and items there."""
        here = tokens(self.memory.store.list(), self.memory.root)
        return here | tokens(RecallFileStore(self.there.path).items())

    def _edit_page(self, which: object) -> None:
        pages = self.memory.store.list()
        if pages and isinstance(which, int):
            page = pages[which % len(pages)]
            self.memory.store.amend(page.slug, page.type, body=self._new(page.body))

    def _edit_item(self, kind: str, file: str, name: str) -> None:
        who, what = kind.split()
        side = {"own": self.own, "peer": self.there, "first": self.first}[who]
        there = [item.content for item in side.items(file) if item.name == name]
        if who == "peer" and not (self.there.path / "wiki").exists():
            return
        if what == "add":
            side.add(file, name, self._new("".join(there)))
        elif there:
            self._new("".join(there))
            side.remove(file, name)

    def _new(self, before: str) -> str:
        self.replaced |= set(re.findall(r"t\d+", before))
        self.written += 1
        return f"t{self.written}"

    def state(self) -> dict[str, bytes]:
        return files(self.memory.root) | {
            f"there/{name}": data for name, data in files(self.there.path).items()
        }


def check(folder: Path, start: str, story: list[tuple[str, object]], peer: type[Peer] = Peer) -> None:
    told = Story(folder, start, peer)
    for kind, what in [*story, ("give", None), ("take there", None), ("give", None)]:
        told.step(kind, what)
    assert {path.stem for path in told.there.path.glob("wiki/*")} <= {*FILES}
    before = told.state()
    for kind in ("give", "take there", "give", "take there", "give"):
        told.step(kind, None)
        now = told.state()
        assert {name: now[name] for name in now if ".wikimem" not in name} == {
            name: before[name] for name in before if ".wikimem" not in name
        }, kind
    if not told.memory.give(told.there.path).conflicts:
        check_edits_are_taken(told)
    told.step("take first", None)
    told.step("give", None)
    other = Memory(folder / "other")
    other.take(told.there.path)
    assert tokens(RecallFileStore(told.there.path).items()) <= tokens(other.store.list(), other.root)


def check_edits_are_taken(told: Story) -> None:
    """Where both agree, what is written on either side comes to the other, to its place."""
    items = [item for item in RecallFileStore(told.there.path).items() if item.name]
    own = {item.content for item in told.own.items()}
    for item in items:
        told.there.add(item.file, item.name, f"{item.content} there")
    told.step("take there", None)
    now = {item.content for item in told.own.items()}
    assert now >= {f"{item.content} there" for item in items if item.content in own}
    bodies = [page.body for page in told.memory.store.list()] + list(now)
    assert sum("there" in body for body in bodies) >= len(items)
    assert all("there" in item.content for item in told.own.items())
    for item in told.own.items():
        told.own.add(item.file, item.name, f"{item.content} here")
    done = told.memory.give(told.there.path)
    assert (done.conflicts, done.again) == ([], [])
    contents = [item.content for item in RecallFileStore(told.there.path).items()]
    assert all(item.content in contents for item in told.own.items())


def tokens(texts: Iterable[RecallItem | WikiNode], root: Path | None = None) -> set[str]:
    """The tokens in items or pages, and in the items of a memory."""
    found = [each.body if isinstance(each, WikiNode) else each.content for each in texts]
    found += [item.content for item in RecallFileStore(root).items()] if root else []
    return set(re.findall(r"t\d+", " ".join(found)))


def check_bytes(folder: Path, start: str, story: list[tuple[str, object]]) -> None:
    """What was imported stays at the beginning of its file, byte for byte, while only own items change."""
    told = Story(folder, start)
    told.step("take first", None)
    for kind, what in [*story, ("give", None), ("take there", None)]:
        if kind.split()[0] in ("own", "take", "give"):
            told.step(kind, what)
    told.memory.give(folder / "new")
    for file in FILES:
        for place in (told.there.path, folder / "new"):
            raw = (place / f"wiki/{file}.md").read_bytes()
            assert raw.rstrip().startswith(start.encode().rstrip())
            assert bool(told.own.items(file)) == (raw.rstrip() != start.encode().rstrip())


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def anything(which, examples: int) -> None:  # type: ignore[no-untyped-def]
    @settings(deadline=None, max_examples=examples)
    @given(st.sampled_from(STARTS), steps)
    def run(start: str, story: list[tuple[str, object]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            which(Path(folder), start, story)

    run()


@pytest.mark.parametrize("examples", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_no_text_is_lost_and_it_settles(fast: None, examples: int) -> None:
    anything(check, examples)


@pytest.mark.parametrize("examples", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_what_was_imported_keeps_its_bytes_beside_own_items(fast: None, examples: int) -> None:
    anything(check_bytes, examples)
