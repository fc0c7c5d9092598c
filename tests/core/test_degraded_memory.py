"""Every command that reads still answers when the index is taken, gone, ruined or cannot be written."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from memex_program import Done, memex_cli
from read_only_memory import as_nobody, read_only_memory

from memex_core.index import connection
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import IngestTranscriptInput

TURNS = [{"role": "user", "content": "I prefer ruff.", "ts": "2026-09-15T10:00:00Z", "turn": 1}]

READS: dict[str, tuple[list[str], Callable[[Any], object], object]] = {
    "recall": (["recall", "server"], lambda out: [hit["slug"] for hit in out["hits"]], ["zephyr"]),
    "show": (["show", "zephyr"], lambda out: out["title"], "Zephyr"),
    "show a session": (["show", "sess-1"], lambda out: out["type"], "episode"),
    "list": (["list"], lambda out: len(out), 4),
    "list of a type": (
        ["list", "--type", "procedure"],
        lambda out: [page["slug"] for page in out],
        ["deploy"],
    ),
    "sessions": (["sessions"], lambda out: [session["session_id"] for session in out], ["sess-1"]),
    "provenance": (["provenance", "sess-1"], lambda out: out["confidence"], "direct"),
    "links": (["links", "zephyr"], lambda out: out["outgoing"], ["deploy"]),
    "export": (["export"], lambda out: len(out["nodes"]), 4),
    "journal": (["journal"], lambda out: len(out) >= 4, True),
    "info": (["info"], lambda out: out["sessions"], 1),
}


def fill(root: Path) -> None:
    memex = Memex(root)
    memex.write(WriteInput("procedure", "Deploy", "How to deploy."))
    memex.write(WriteInput("entity", "Zephyr", "Our build server. [[deploy]]"))
    memex.ingest_transcript(IngestTranscriptInput("sess-1", TURNS))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory to take a copy of."""
    home = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        fill(home / "memex")
    return home / "memex"


def answer(done: Done, read: Callable[[Any], object]) -> object:
    assert done.returncode == 0, done.stderr
    return read(json.loads(done.stdout))


@pytest.fixture(params=["deleted", "zeros", "text", "empty", "a folder"])
def ruined(filled: Path, root: Path, request: pytest.FixtureRequest) -> Path:
    """A memory whose mem.db is not one any more."""
    shutil.copytree(filled, root)
    index = root / "mem.db"
    size = index.stat().st_size
    index.unlink()
    if request.param == "zeros":
        index.write_bytes(b"\0" * size)
    elif request.param == "text":
        index.write_text("not a database\n" * 100, "utf-8")
    elif request.param == "empty":
        index.touch()
    elif request.param == "a folder":
        index.mkdir()
    return root


@pytest.mark.parametrize("name", READS)
def test_a_read_answers_without_a_usable_index(ruined: Path, name: str) -> None:
    arguments, read, wanted = READS[name]
    assert answer(memex_cli(*arguments), read) == wanted


@pytest.fixture
def taken(filled: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A memory whose index another connection holds for itself, for as long as the test runs."""
    shutil.copytree(filled, root)
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.05)
    token = connection.patience.set(0.05)
    with closing(sqlite3.connect(root / "mem.db", isolation_level=None, check_same_thread=False)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield root
        db.execute("ROLLBACK")
    connection.patience.reset(token)


@pytest.mark.parametrize("name", READS)
def test_a_read_answers_while_another_process_holds_the_index(taken: Path, name: str) -> None:
    arguments, read, wanted = READS[name]
    assert answer(memex_cli(*arguments), read) == wanted


@pytest.mark.parametrize("without_index", [False, True])
def test_every_read_answers_in_a_memory_that_cannot_be_written(without_index: bool) -> None:
    def prepare(root: Path) -> None:
        fill(root)
        if without_index:
            (root / "mem.db").unlink()

    with read_only_memory(prepare) as root:
        answers = as_nobody(lambda: {key: _told(root, *READS[key][:2]) for key in READS})
    assert answers == {key: wanted for key, (_, _, wanted) in READS.items()}


def _told(root: Path, arguments: list[str], read: Callable[[Any], object]) -> object:
    done = memex_cli("--data-dir", str(root), *arguments)
    return read(json.loads(done.stdout)) if done.returncode == 0 else done.stderr
