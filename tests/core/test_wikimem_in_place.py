"""A memory root that is a directory of wikimem: served as it is, and written so that wikimem reads it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from memex_program import memex_cli
from wikimem_peer import files, put

from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import Header, IngestTranscriptInput, Session, Turn, TurnStreamEntry
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore

PETS = (
    "\ufeff# My Pets\r\n\r\nwords of mine\r\n\r\n##  cat\r\nold\r\n<!-- wikimem: mood=sad | owner=k -->\r\n"
    "## dog\r\n\r\n\r\nBarks at [[pets:cat]] and [[no:one]]\r\n## cat\r\nTabby\r\n"
)
DAY = "# 2026-03-05\n\n## 21:00\n\nlate\n\n## 08:30\n\nfed the cat\n\n## Evening\n\nslept\n"
ZEBRA = "## zebra\n\n```\n## in a fence\n```\n"
THEIRS = ("wiki", "diary", "diary-vectors", "journal.jsonl", "vectors-000001.npy", "vectors.keys.jsonl")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    put(folder, "wiki/pets.md", PETS)
    put(folder, "wiki/Has Space.md", ZEBRA)
    put(folder, "wiki/.hidden.md", "## ghost\n\nboo")
    put(folder, "wiki/latin.md", b"## a\n\n\xe9\n")
    put(folder, "wiki/sub/deep.md", "## x\n")
    put(folder, "diary/2026-03-05.md", DAY)
    put(folder, "diary/notes.md", "mine")
    put(folder, "journal.jsonl", b'{"ts": "T", "action": "add", "file": "pets", "item": "cat"}\ntorn')
    put(folder, "vectors-000001.npy", b"\x93NUMPY")
    put(folder, "vectors.keys.jsonl", '{"vectors_file": "vectors-000001.npy", "dim": 2}\n')
    put(folder, "diary-vectors/vectors-000001.npy", b"\x93NUMPY")
    os.mkfifo(folder / "wiki/fifo.md")
    (folder / "wiki/folder.md").mkdir()
    return folder


def theirs(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """wikimem's files, with what a touch would change."""
    return {
        name: (data, (folder / name).stat().st_mtime_ns, (folder / name).stat().st_mode)
        for name, data in files(folder).items()
        if name.split("/")[0] in THEIRS
    }


def folders(folder: Path) -> dict[str, tuple[int, list[str]]]:
    """wikimem's folders: when something in them was made, replaced or deleted last, and what is there."""
    found = [folder / name for name in THEIRS if (folder / name).is_dir()]
    found += [path for each in found for path in each.rglob("*") if path.is_dir()]
    return {str(path): (path.stat().st_mtime_ns, sorted(os.listdir(path))) for path in found}


READS = [
    ["recall", "tabby"],
    ["recall", "--explain", "--budget", "50", "cat"],
    ["recall", "--since", "2026-03-05", "--until", "2026-03-05", "cat"],
    ["recall", "--format", "context", "cat"],
    ["list"],
    ["list", "--warnings"],
    ["show", "pets:cat"],
    ["links", "--broken"],
    ["links", "pets:dog"],
    ["provenance", "cat"],
    ["item", "list"],
    ["item", "list", "pets", "--json"],
    ["item", "get", "pets", "dog"],
    ["diary", "2026-03-05"],
    ["diary", "2026-03-01..2026-03-31", "--json"],
    ["grep", "cat"],
    ["graph", "--format", "mermaid"],
    ["graph", "--format", "json"],
    ["graph", "--format", "html"],
    ["journal", "--limit", "0"],
    ["sessions"],
    ["info"],
    ["export"],
    ["rebuild-index"],
    ["rebuild-index", "--force"],
    ["decay", "--dry-run"],
    ["embed"],
]


@pytest.mark.parametrize("command", READS, ids=" ".join)
def test_reading_changes_no_file_of_wikimem(place: Path, command: list[str]) -> None:
    before = theirs(place), folders(place)
    done = memex_cli("--data-dir", str(place), *command)
    assert done.returncode in (0, 1), done.stderr
    assert (theirs(place), folders(place)) == before


def test_every_reading_command_is_among_those() -> None:
    from memex_core.cli.commands import PLACES

    writing = {"write", "edit", "forget", "consolidate", "ingest-transcript", "restore", "import"}
    waiting = {"serve-mcp", "watch"}
    elsewhere = {"backup", "completion"}
    assert set(PLACES) - writing - waiting - elsewhere == {command[0] for command in READS}


def test_what_is_there_is_served(place: Path) -> None:
    def slugs(*query: str) -> list[str]:
        found = memex_cli("--data-dir", str(place), "recall", *query).json
        return [hit["slug"] for hit in found["hits"]]

    assert slugs("tabby")[0] == "pets:cat"
    assert slugs("ghost") == [".hidden:ghost"]
    assert "Has Space:in a fence" in [
        f"{item['file']}:{item['name']}" for item in memex_cli("--data-dir", str(place), "item", "list").json
    ]
    assert slugs("--since", "2026-03-05", "--until", "2026-03-05", "fed")[0].startswith("2026-03-05#")


def test_one_bad_file_costs_that_file_and_is_named(place: Path) -> None:
    info = memex_cli("--data-dir", str(place), "info").stdout
    for name in ("wiki/latin.md", "wiki/fifo.md", "wiki/folder.md"):
        assert name in info


def test_our_files_lie_beside_theirs(place: Path) -> None:
    before = set(files(place))
    memex_cli("--data-dir", str(place), "recall", "cat")
    new = {name.split("/")[0] for name in set(files(place)) - before}
    assert "mem.db" in new and not new & {"wiki", "diary", "diary-vectors"}
    assert not [name for name in new if name.endswith((".npy", ".md"))]


def test_what_memex_writes_there_wikimem_reads(place: Path) -> None:
    data = ["--data-dir", str(place)]
    assert memex_cli(*data, "item", "add", "pets", "eel", "Slippery.").returncode == 0
    assert memex_cli(*data, "item", "add", "new_file", "fact", "True.").returncode == 0
    assert memex_cli(*data, "diary", "add", "met Kim").returncode == 0
    assert memex_cli(*data, "item", "remove", "Has Space", "zebra").returncode != 0
    pets = (place / "wiki/pets.md").read_bytes().decode()
    assert pets.startswith(PETS) and "## eel\r\n\r\nSlippery.\r\n" in pets
    assert [item.name for item in RecallFileStore(place).items("pets")] == ["cat", "dog", "eel"]
    assert (
        (place / "wiki/new_file.md")
        .read_text()
        .startswith("# new_file\n\n## fact\n\nTrue.\n\n<!-- wikimem: ")
    )
    (day,) = set(Diary(place).dates()) - {"2026-03-05"}
    assert [event.content for event in Diary(place).day(day)] == ["met Kim"]
    lines = (place / "journal.jsonl").read_text().split("\n")
    assert lines[1] == "torn"
    actions = [(line["action"], line.get("file")) for line in map(json.loads, lines[2:-1])]
    assert actions == [("add", "pets"), ("add", "new_file"), ("diary", None)]


def test_pages_and_sessions_go_beside(place: Path) -> None:
    before = {name: data for name, data in files(place).items() if name.split("/")[0] in ("wiki", "diary")}
    memex = Memex(place)
    memex.write(WriteInput("entity", "Ruff", "Fast. [[pets:cat]]"))
    turn = TurnStreamEntry(role="user", content="hello", ts="2026-03-06T10:00:00Z", turn=1)
    memex.ingest_transcript(IngestTranscriptInput("s1", [turn]))
    after = files(place)
    assert {name: after[name] for name in before} == before
    assert {name.split("/")[0] for name in set(after) - set(before)} >= {"docs", "transcripts", "mem.db"}


def test_a_capture_tells_the_diary_of_wikimem(place: Path) -> None:
    before = (place / "diary/2026-03-05.md").read_bytes()
    header = Header("test", "s1", "", "2026-03-05T20:00:00Z", "2026-03-05T22:00:00Z", 7200.0, {"cwd": "/x"})
    said = [
        Turn("user", "Feed the cat.", "2026-03-05T20:00:00Z", 1),
        Turn("agent", "Fed.", "2026-03-05T22:00:00Z", 2),
    ]
    names = {"input_tokens": ["input"], "output_tokens": ["output"], "total_tokens": ["input", "output"]}
    Memex(place).remember(Session(header, said, [], names, born_at="2026-03-05T20:00:00Z", turn_count=2))
    (event,) = [event for event in Diary(place).events() if event.source_conv == "s1"]
    assert (event.date, event.time, event.owner) == ("2026-03-05", "22:00", "test")
    text = (place / "diary/2026-03-05.md").read_bytes().decode()
    assert all(block in text for block in before.decode().split("\n\n"))
    line = json.loads((place / "journal.jsonl").read_text().splitlines()[-1])
    assert (line["action"], line["date"], line["time"]) == ("diary", "2026-03-05", "22:00")


def test_backing_up_a_wikimem_directory_takes_all_of_its_truth(place: Path, tmp_path: Path) -> None:
    before = theirs(place)
    archive = str(tmp_path / "b.tar.gz")
    assert memex_cli("--data-dir", str(place), "backup", "--output", archive).returncode == 0
    assert theirs(place) == before
    back = str(tmp_path / "back")
    assert memex_cli("--data-dir", back, "restore", "--input", archive, "--yes").returncode == 0
    kept = {name: data for name, (data, *_) in before.items() if "vectors" not in name}
    assert {name: data for name, (data, *_) in theirs(Path(back)).items()} == kept


SPACES = " " * 100_000
STOPS = f"""# t

## {{0}}

tabby
{SPACES}x
##{SPACES}

y
##{SPACES}z
<!-- wikimem:{SPACES}x
<!--{SPACES}wikimem: owner={SPACES}k{SPACES}-->
[[pets:{SPACES}cat]] [[{SPACES}
"""
WRITES = [
    ["item", "add", "spaces", "new", "x"],
    ["item", "add", "spaces", "new", "y"],
    ["item", "remove", "spaces", "new", "--yes"],
    ["item", "add", "big", "new", "x"],
    ["item", "remove", "big", "new", "--yes"],
    ["diary", "add", "x", "--date", "2026-05-01"],
    ["diary", "add", "x", "--date", "2026-05-02"],
    ["write", "--type", "entity", "--title", "T", "--body", "See [[pets:cat]]."],
    ["edit", "t"],
    ["forget", "t", "--yes"],
    ["decay"],
    ["sessions", "prune", "--older-than", "1", "--yes"],
]


def put_what_stops_wikimem(folder: Path) -> None:
    """What hangs it, stops it or costs it minutes, in wiki/ and in diary/."""
    odd = ["folder", "fifo", "socket", "gone", "loop", "zero", "latin"]
    days = [f"2026-04-0{number}" for number in range(1, 8)]
    for path, names in ((folder / "wiki", odd), (folder / "diary", days)):
        is_folder, fifo, socket, gone, loop, zero, latin = (path / f"{name}.md" for name in names)
        is_folder.mkdir(parents=True)
        os.mkfifo(fifo)
        if sys.platform == "linux":
            os.mknod(socket, 0o600 | stat.S_IFSOCK)
        gone.symlink_to("nowhere")
        loop.symlink_to(loop.name)
        zero.symlink_to("/dev/zero")
        latin.write_bytes(b"## caf\xe9\n\ntabby\n")
    put(folder, "wiki/spaces.md", STOPS.format("a"))
    put(folder, "diary/2026-05-01.md", STOPS.format("09:00"))


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """What waits longer inside is interrupted: a FIFO would be waited for without end."""

    def interrupt(*_: object) -> None:
        raise TimeoutError(f"waited for {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def seconds_of(folder: Path, tmp_path: Path) -> dict[str, float]:
    """What each command costs of CPU time there, the first one with the making of the index."""
    took = {}
    backup = ["backup", "--output", str(tmp_path / f"{folder.name}.tar.gz")]
    for command in [["recall", "tabby"], *READS, backup, *WRITES]:
        begun = time.process_time()
        with at_most(30):
            done = memex_cli("--data-dir", str(folder), *command)
        name = " ".join(command).replace(str(tmp_path / folder.name), "")
        took[name] = max(took.get(name, 0.0), time.process_time() - begun)
        assert done.returncode in (0, 1) and "unexpected" not in done.stderr, (command, done.stderr)
    return took


@pytest.mark.parametrize("words", [100_000, pytest.param(2_000_000, marks=pytest.mark.slow)])
def test_every_command_answers_in_a_moment_over_what_would_stop_wikimem(
    words: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    clean, hostile = tmp_path / "clean", tmp_path / "hostile"
    for folder in (clean, hostile):
        put(folder, "wiki/pets.md", PETS)
        put(folder, "diary/2026-03-05.md", DAY)
    put_what_stops_wikimem(hostile)
    put(hostile, "wiki/big.md", "## a\n\n" + "word " * words)
    put(hostile, "diary/2026-05-02.md", "## 09:00\n\n" + "word " * words)
    usual, found = seconds_of(clean, tmp_path), seconds_of(hostile, tmp_path)
    assert {name: took - usual[name] for name, took in found.items() if took - usual[name] > 1.0} == {}
    told = memex_cli("--data-dir", str(hostile), "info").stdout
    assert all(f"wiki/{name}.md" in told for name in ("folder", "fifo", "zero", "latin"))
    hits = memex_cli("--data-dir", str(hostile), "recall", "tabby").json["hits"]
    assert {"pets:cat", "spaces:a"} <= {hit["slug"] for hit in hits}
