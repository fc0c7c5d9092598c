"""What is wrong with mem.db must be found, told and mended by a new file; and recall must answer
meanwhile."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from small_memory import SmallMemory, age

from memex_core.index.connection import writing
from memex_core.index.session_rows import SessionTable

PAGES = 60
PROBES = ["alpha", "beta", "gamma delta", "common", "部署"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> SmallMemory:
    """A memory whose index has some dozen database pages, and whose files are old enough to be trusted."""
    memory = SmallMemory(tmp_path_factory.mktemp("filled"))
    for i in range(PAGES):
        words = " ".join(f"word{i * k % 97}" for k in range(1, 60))
        probe = ("alpha", "beta", "gamma delta", "部署方案")[i % 4]
        memory.page(
            f"entities/p{i:03}.md", f"---\ntitle: page {i}\n---\ncommon {probe} {words} [[p{i + 1:03}]]\n"
        )
    memory.sidecar("s1", responses={"rows": [["r1"], ["r2"]]})
    age(memory.root)
    memory.sync()
    return memory


@pytest.fixture
def memory(filled: SmallMemory, tmp_path: Path) -> SmallMemory:
    """A copy of it whose index is up to date."""
    root = tmp_path / "memex"
    subprocess.run(["cp", "-a", str(filled.root), str(root)], check=True)
    copy = SmallMemory(root)
    assert copy.sync().usable
    assert copy.sync().unchanged == PAGES + 1
    return copy


def answers(memory: SmallMemory) -> list[list[tuple[str, float]]]:
    return [[(hit.slug, hit.score) for hit in memory.hits(probe, top_k=100)] for probe in PROBES]


def flip_bits(data: bytearray, dice: random.Random) -> None:
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def smash_bytes(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data) - 64)
    data[at : at + 64] = dice.randbytes(64)


def zero_page(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data) // 4096) * 4096
    data[at : at + 4096] = bytes(4096)


def truncate(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(1, len(data)) :]


@pytest.mark.parametrize("damage", [flip_bits, smash_bytes, zero_page, truncate])
def test_a_damaged_index_never_gives_a_wrong_answer(
    memory: SmallMemory, damage: Callable[[bytearray, random.Random], None]
) -> None:
    right = answers(memory)
    whole = memory.db.read_bytes()
    dice = random.Random(damage.__name__)
    for _ in range(12):
        data = bytearray(whole)
        damage(data, dice)
        memory.db.write_bytes(data)
        assert answers(memory) == right
        assert memory.index.check_health() == ""


def test_damage_is_told(memory: SmallMemory) -> None:
    data = bytearray(memory.db.read_bytes())
    zero_page(data, random.Random(1))
    memory.db.write_bytes(data)
    report = memory.sync()
    assert report.rebuilt and "built anew" in report.note
    assert memory.sync().note == ""


def as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").write_text("x", "utf-8")


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (x)")
    db.close()


def as_link_to(target: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.unlink()
        path.symlink_to(path.parent / target)

    return make


@pytest.mark.parametrize(
    "replace",
    [
        as_directory,
        as_pipe,
        as_other_database,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"SQLite format 3\0" + b"garbage" * 1000),
        lambda path: path.write_text("# a page\n", "utf-8"),
        as_link_to("docs/entities/p000.md"),
        as_link_to("nowhere"),
    ],
    ids=[
        "directory",
        "pipe",
        "other database",
        "empty",
        "garbage",
        "text",
        "link to a page",
        "dangling link",
    ],
)
def test_whatever_lies_in_its_place_gives_way(memory: SmallMemory, replace: Callable[[Path], None]) -> None:
    right = answers(memory)
    page = (memory.root / "docs" / "entities" / "p000.md").read_bytes()
    replace(memory.db)
    assert answers(memory) == right
    assert memory.db.is_file() and not memory.db.is_symlink()
    assert stat.S_IMODE(memory.db.stat().st_mode) == 0o600
    assert (memory.root / "docs" / "entities" / "p000.md").read_bytes() == page


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM wiki_fts WHERE rowid = 3",
        "DELETE FROM wiki_index WHERE page_id = 3",
        "DELETE FROM page_lengths WHERE page_id = 3",
        "UPDATE wiki_fts SET body = 'alpha alpha alpha' WHERE rowid = 3",
        "DELETE FROM wiki_fts",
        "UPDATE wiki_index SET title = 'other' WHERE page_id = 3",
        "UPDATE page_lengths SET length = 7 WHERE page_id = 3",
        "DELETE FROM wiki_links",
        "DELETE FROM session_responses",
        "DELETE FROM wiki_fts_data WHERE id > 10",
        "DROP TABLE wiki_links",
        "INSERT INTO wiki_fts (rowid, title, body) VALUES (999, 'alpha', 'alpha')",
    ],
)
def test_rows_that_drifted_are_found(memory: SmallMemory, statement: str) -> None:
    right = answers(memory)
    with writing(memory.db) as db:
        db.execute(statement)
    assert memory.index.check_health() != ""
    assert answers(memory) == right
    assert memory.links.get_backlinks("p001") == ["p000"]
    assert SessionTable(memory.db, memory.root).holders(["r2"]) == {"s1"}


def test_a_stale_journal_is_not_rolled_into_the_new_file(memory: SmallMemory) -> None:
    right = answers(memory)
    journal = memory.db.with_name("mem.db-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    memory.db.write_bytes(b"garbage" * 1000)
    assert answers(memory) == right
    assert memory.index.check_health() == ""


def test_an_index_replaced_under_a_reader_heals(memory: SmallMemory) -> None:
    right = answers(memory)
    other = SmallMemory(memory.root)
    other.sync(force=True)
    other.page("entities/new.md", "epsilon")
    assert other.found("epsilon") == ["new"]
    assert memory.found("epsilon") == ["new"]
    memory.root.joinpath("docs/entities/new.md").unlink()
    assert answers(memory) == right


def test_a_whole_index_that_another_program_touched_is_kept(memory: SmallMemory) -> None:
    with sqlite3.connect(memory.db) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    before = memory.db.stat().st_ino
    report = memory.sync()
    assert report.usable and not report.rebuilt and memory.db.stat().st_ino == before
    assert memory.index.is_as_left()


def test_a_process_killed_at_any_moment_leaves_whole_pages_and_an_index_that_heals(root: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from small_memory import SmallMemory\n"
        "memory = SmallMemory(pathlib.Path(sys.argv[1]))\n"
        "for i in range(10_000):\n"
        "    name = f'page {i % 7}'\n"
        "    memory.write(name, f'{name} version {i} ' + 'filler ' * 300 + f'end {i}')\n"
        "    print(i, flush=True)\n"
        "    memory.sync()\n"
    )
    dice = random.Random(7)
    for _ in range(12):
        command = [sys.executable, "-c", script, str(root), str(Path(__file__).parent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.random() * 0.06)
            process.kill()
            acknowledged = process.stdout.read().split()
        memory = SmallMemory(root)
        for page in memory.store.scan_all():
            version = page.body.split()[3]
            assert not page.warning and page.body.endswith(f"end {version}")
        if acknowledged:
            last = acknowledged[-1]
            page = memory.store.read(f"page-{int(last) % 7}")
            assert page is not None and int(page.body.split()[3]) >= int(last)
        report = memory.sync()
        assert report.usable
        assert memory.index.check_health() == ""
        assert sorted(memory.found("filler", top_k=20)) == sorted(
            page.slug for page in memory.store.scan_all()
        )


def test_processes_writing_and_recalling_at_once_never_fail(root: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from small_memory import SmallMemory\n"
        "memory = SmallMemory(pathlib.Path(sys.argv[1]))\n"
        "for i in range(12):\n"
        "    memory.write(f'{sys.argv[3]} {i}', f'shared word{sys.argv[3]}')\n"
        "    report = memory.sync()\n"
        "    assert report.usable, report.note\n"
        "    assert len(memory.found(f'word{sys.argv[3]}', top_k=50)) == i + 1\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(root), str(Path(__file__).parent), name],
            stderr=subprocess.PIPE,
        )
        for name in "abcd"
    ]
    outcomes = [(process.communicate()[1].decode(), process.returncode) for process in processes]
    assert outcomes == [("", 0)] * 4
    memory = SmallMemory(root)
    assert len(memory.found("shared", top_k=100)) == 48
    assert memory.index.check_health() == ""


def test_a_new_index_sweeps_what_killed_writers_left(memory: SmallMemory) -> None:
    left = memory.root / "docs" / "entities" / ".memex-0011223344556677.tmp"
    left.write_bytes(b"half")
    os.utime(left, (10, 10))
    memory.sync(force=True)
    assert not left.exists()


@pytest.mark.parametrize("name", ["a b", "ünï 目", "q?x#y%20", "it's"])
def test_any_folder_name_holds_an_index(tmp_path: Path, name: str) -> None:
    memory = SmallMemory(tmp_path / name)
    memory.write("a", "ruff")
    assert memory.found("ruff") == ["a"]
    assert memory.db.exists()
