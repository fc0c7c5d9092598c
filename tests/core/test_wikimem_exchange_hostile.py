"""What a directory may hold to do harm costs only itself, in either direction."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from wikimem_peer import Memory, Peer, files, put, wikimem_files

from memex_core.archive import wikimem_folder
from memex_core.store.recallfiles import RecallFileStore

NOT_UTF8 = "is not UTF-8, so its items are no pages; it is kept as it is (make it UTF-8 and import again)"
GOOD = "# pets\n\n## cat\n\nTabby.\n"


@pytest.fixture
def memory(root: Path) -> Memory:
    return Memory(root)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    folder = tmp_path / "there"
    put(folder, "wiki/pets.md", GOOD)
    put(folder, "diary/2026-03-05.md", "# 2026-03-05\n\n## 08:30\n\nout\n")
    return folder


def make_hostile(there: Path) -> dict[str, str]:
    """Things that cannot be read; why, by their paths."""
    os.mkfifo(there / "wiki/fifo.md")
    os.mkfifo(there / "diary/2026-03-06.md")
    (there / "wiki/folder.md").mkdir()
    put(there, "wiki/latin.md", b"## a\n\n\xe9\n")
    put(there, "outside.md", "## secret\n\nmine\n")
    (there / "wiki/away.md").symlink_to("/etc/passwd")
    (there / "wiki/nowhere.md").symlink_to("gone.md")
    (there / "wiki/loop.md").symlink_to("loop.md")
    (there / "wiki/null.md").symlink_to("/dev/zero")
    (there / "diary/deep").mkdir()
    with (there / "wiki/huge.md").open("wb") as file:
        file.truncate(wikimem_folder.MAX_BYTES + 1)
    return {
        "diary/2026-03-06.md": "is no regular file",
        "wiki/away.md": "is a link that leads outside the directory",
        "wiki/fifo.md": "is no regular file",
        "wiki/folder.md": "is a folder",
        "wiki/huge.md": "is larger than 64 MiB",
        "wiki/latin.md": NOT_UTF8,
        "wiki/nowhere.md": "is a link that leads nowhere",
        "wiki/null.md": "is a link that leads outside the directory",
    }


def test_what_cannot_be_read_costs_itself(memory: Memory, there: Path, tmp_path: Path) -> None:
    expected = make_hostile(there)
    started = time.monotonic()
    report = memory.take(there)
    problems = dict(report.problems)
    assert "wiki/loop.md" in problems
    assert {name: why for name, why in problems.items() if name != "wiki/loop.md"} == expected
    assert (report.pages.created, report.days) == (["cat"], ["2026-03-05"])
    memory.give(tmp_path / "back")
    assert time.monotonic() - started < 5
    assert sorted(wikimem_files(tmp_path / "back")) == [
        "diary/2026-03-05.md",
        "wiki/latin.md",
        "wiki/pets.md",
    ]
    assert not any(b"root:" in data for data in files(memory.root).values())


def test_what_cannot_be_read_in_the_memory_costs_itself(memory: Memory, tmp_path: Path) -> None:
    put(memory.root, "wiki/pets.md", GOOD)
    put(memory.root, "diary/2026-03-05.md", "# 2026-03-05\n")
    make_hostile(memory.root)
    report = memory.give(tmp_path / "there")
    assert len(report.problems) == 8 and "wiki/latin.md" not in dict(report.problems)
    assert sorted(wikimem_files(tmp_path / "there")) == [
        "diary/2026-03-05.md",
        "wiki/latin.md",
        "wiki/pets.md",
    ]


def test_names_that_are_paths_stay_names(memory: Memory, there: Path, tmp_path: Path) -> None:
    names = [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "a/b",
        "con",
        "x\x00y",
        "~root",
        "-rf",
        "a\\b",
        "\u202e",
    ]
    text = "".join(f"## {name}\n\n{number}\n\n" for number, name in enumerate(names))
    put(there, "wiki/.hidden.md", text)
    report = memory.take(there)
    assert len(report.pages.created) == len(names) + 1 and report.pages.refused == []
    assert {path.parent for path in (memory.root / "docs").rglob("*.md")} == {memory.root / "docs/entities"}
    memory.give(tmp_path / "back")
    assert wikimem_files(tmp_path / "back") == wikimem_files(there)


def test_what_no_page_can_hold_stays_raw(memory: Memory, there: Path, tmp_path: Path) -> None:
    long_name, long_owner, long_words = "n" * 70_000, "o" * 70_000, "word " * 2_100_000
    comment = f"<!-- wikimem: owner={long_owner} -->"
    text = f"## {long_name}\n\nx\n\n## b\n\n{comment}\n\n## c\n\n{long_words}\n\n## d\n\nfine\n"
    put(there, "wiki/big.md", text)
    report = memory.take(there)
    assert (len(report.pages.refused), report.pages.created) == (3, ["d", "cat"])
    again = memory.take(there)
    assert (len(again.pages.refused), again.pages.imported) == (3, 0)
    memory.give(tmp_path / "back")
    assert wikimem_files(tmp_path / "back") == wikimem_files(there)


def test_ten_megabytes_in_one_item_take_a_moment(memory: Memory, there: Path, tmp_path: Path) -> None:
    lines = ["##" + " " * 100_000, "<!-- wikimem:" + " " * 100_000 + "x", "[[" * 50_000, "word " * 1_800_000]
    put(there, "wiki/big.md", "## a\n\n" + "\n".join(lines) + "\n")
    started = time.process_time()
    memory.take(there)
    memory.give(tmp_path / "back")
    assert time.process_time() - started < 10
    assert wikimem_files(tmp_path / "back") == wikimem_files(there)


def test_many_items_of_one_title_are_many_pages(memory: Memory, there: Path) -> None:
    for file in range(40):
        put(there, f"wiki/f{file}.md", f"## Same\n\n{file}\n")
    report = memory.take(there)
    assert len(report.pages.created) == 41
    assert sorted(int(page.body) for page in memory.store.list() if page.title == "Same") == list(range(40))


def edit_side(there: Path, **node: Any) -> None:
    path = there / ".memex/export.json"
    document = json.loads(path.read_bytes())
    document["items"][0]["node"] |= node
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "node",
    [
        {"slug": "../../../evil"},
        {"slug": "/tmp/evil", "folder": ""},
        {"folder": "../../evil"},
        {"folder": "..", "slug": ".."},
        {"slug": "", "type": "entity"},
        {"type": "../evil"},
        {"type": 3},
        {"front_matter": 3},
        {"front_matter": "---\na: &x [*x]\n---\n"},
        {"slug": "evil\x00"},
        {"raw": "no base 64 !"},
    ],
)
def test_a_forged_side_file_writes_nothing_outside_docs(
    tmp_path: Path, there: Path, node: dict[str, Any]
) -> None:
    first, second = Memory(tmp_path / "first"), Memory(tmp_path / "a/b/second")
    first.write("One", "1\n")
    first.write("Two", "2\n")
    exported = tmp_path / "exported"
    first.give(exported)
    edit_side(exported, **node)
    report = second.take(exported)
    assert len(report.pages.created) + len(report.pages.refused) == 2
    assert all(path.startswith("b/second/") for path in files(tmp_path / "a"))
    assert len(second.pages()) == len(report.pages.created)
    assert not Path("/tmp/evil.md").exists()


@pytest.mark.parametrize(
    "name", ["wiki/../../evil.md", "wiki//evil.md", "/evil.md", "wiki/a\\b.md", "evil.md", "wiki/."]
)
def test_forged_records_write_nothing_outside_the_directory(
    memory: Memory, there: Path, tmp_path: Path, name: str
) -> None:
    put(there, "wiki/notes.txt", "raw")
    memory.take(there)
    records = memory.root / "docs/.wikimem/records.json"
    document = json.loads(records.read_bytes())
    document["files"][name] = document["files"]["wiki/notes.txt"]
    document["files"]["wiki/pets.md"]["sha256"] = "../../../evil"
    records.write_text(json.dumps(document))
    memory.give(tmp_path / "a/b/back")
    assert sorted(wikimem_files(tmp_path / "a/b/back")) == [
        "diary/2026-03-05.md",
        "journal.jsonl",
        "wiki/notes.txt",
        "wiki/pets.md",
    ]
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize("file", ["../../evil", "/evil", "A b", "", ".", "x" * 300, "pets\n"])
def test_a_forged_page_names_no_file(memory: Memory, tmp_path: Path, file: str) -> None:
    key = json.dumps({"file": file, "name": "a\n## b"})
    memory.page("entities/evil.md", f"---\ntitle: Evil\nwikimem: {key}\n---\nx\n")
    memory.give(tmp_path / "a/b/back")
    assert list(wikimem_files(tmp_path / "a/b/back")) == ["journal.jsonl", "wiki/entity.md"]
    assert [item.name for item in Peer(tmp_path / "a/b/back").items("entity")] == ["Evil"]


def test_a_forged_record_opens_no_section(memory: Memory, tmp_path: Path) -> None:
    memory.write("One", "1\n")
    there = tmp_path / "there"
    memory.give(there)
    path = there / ".memex/export.json"
    path.write_text(path.read_text().replace('"name": "One"', '"name": "One\\n\\n## evil"'))
    (there / "wiki/entity.md").unlink()
    memory.give(there)
    assert [item.name for item in Peer(there).items("entity")] == ["One"]


def test_a_link_in_the_directory_is_followed_only_inside(memory: Memory, tmp_path: Path) -> None:
    memory.write("One", "1\n")
    there = tmp_path / "there"
    memory.give(there)
    outside = put(tmp_path, "outside.md", "mine\n")
    (there / "wiki/entity.md").unlink()
    (there / "wiki/entity.md").symlink_to(outside)
    memory.write("One", "2\n")
    memory.give(there)
    assert outside.read_text() == "mine\n"
    assert [item.content for item in Peer(there).items("entity-2")] == ["2"]


def test_a_read_only_file_there_costs_itself(memory: Memory, tmp_path: Path) -> None:
    memory.write("One", "1\n")
    memory.write("Two", "2\n", "summary")
    there = tmp_path / "there"
    memory.give(there)
    (there / "wiki/entity.md").chmod(0o400)
    memory.write("One", "11\n")
    memory.write("Two", "22\n", "summary")
    assert [name for name, _ in memory.give(there).problems] == ["wiki/entity.md"]
    assert [item.content for item in RecallFileStore(there).items()] == ["1", "22"]
    (there / "wiki/entity.md").chmod(0o640)
    assert memory.give(there).conflicts == []
    assert [item.content for item in RecallFileStore(there).items()] == ["11", "22"]
    assert (there / "wiki/entity.md").stat().st_mode & 0o777 == 0o640
