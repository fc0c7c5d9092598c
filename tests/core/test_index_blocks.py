"""RecallFiles and the diary in the index (issue 4 item 5): a row a block, and only what changed again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wiki_and_diary import WikiAndDiary, set_back

from memex_core.index import block_rows
from memex_core.index.connection import reading, writing
from memex_core.index.sync import scan_recall


@pytest.fixture
def memory(root: Path) -> WikiAndDiary:
    return WikiAndDiary(root)


def rows(memory: WikiAndDiary, query: str) -> list[tuple[object, ...]]:
    with reading(memory.db) as db:
        return [tuple(row) for row in db.execute(query)]


def test_an_item_and_an_event_are_rows_like_a_page(memory: WikiAndDiary) -> None:
    memory.write("Zephyr", "Our build server.")
    memory.file(
        "wiki/pets.md",
        "# pets\n\n## cat\n\nTabby.\n\n"
        "<!-- wikimem: owner=user:kim | source=c7 | ts=2026-03-01T00:00:00+00:00 -->\n",
    )
    memory.file("diary/2026-03-10.md", "## 08:30\n\nWalked.\n\n<!-- wikimem: owner=me -->\n")
    memory.sync()
    query = "SELECT path, node_type, slug, title, updated FROM wiki_index ORDER BY path"
    event, page, item = rows(memory, query)
    assert event == ("diary/2026-03-10.md#0", "event", "2026-03-10#0", "2026-03-10 08:30", "2026-03-10T08:30")
    assert page[:3] == ("docs/entities/zephyr.md", "entity", "zephyr")
    assert item == ("wiki/pets.md#cat", "item", "pets:cat", "cat", "2026-03-01T00:00:00+00:00")
    assert rows(memory, "SELECT file, heading, owner, source_conv FROM blocks ORDER BY file") == [
        ("diary/2026-03-10.md", "08:30", "me", None),
        ("wiki/pets.md", "cat", "user:kim", "c7"),
    ]


def test_pages_are_counted_alone_and_types_with_items_and_events(memory: WikiAndDiary) -> None:
    memory.write("Zephyr", "Our build server.")
    memory.wiki("pets", cat="Tabby.", dog="Barks.")
    memory.day("2026-03-10", ("08:30", "Walked."))
    memory.sync()
    assert memory.index.count() == 1 and memory.index.get_all_slugs() == ["zephyr"]
    assert memory.index.count_by_type() == {"entity": 1, "item": 2, "event": 1}
    assert memory.memory.info()["pages_indexed"] == 1
    assert memory.memory.recall("tabby").total_indexed == 4


def test_of_a_changed_file_only_the_changed_blocks_are_indexed_again(
    memory: WikiAndDiary, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"n{number}": f"words number {number}" for number in range(50)}
    memory.wiki("facts", **names)
    memory.day("2026-03-10", ("08:00", "One."), ("09:00", "Two."))
    memory.sync()
    put: list[str] = []
    real = block_rows.put_row
    monkeypatch.setattr(block_rows, "put_row", lambda db, row: (put.append(row.path), real(db, row)))
    memory.wiki("facts", **names | {"n7": "other words", "fresh": "a river"})
    memory.day("2026-03-10", ("08:00", "One."), ("09:00", "Two."), ("10:00", "Three."))
    memory.sync()
    assert sorted(put) == ["diary/2026-03-10.md#2", "wiki/facts.md#fresh", "wiki/facts.md#n7"]
    assert memory.found("river") == ["facts:fresh"] and memory.found("other") == ["facts:n7"]
    assert memory.index.check_health() == ""


def test_items_that_are_gone_go_from_the_index(memory: WikiAndDiary) -> None:
    path = memory.wiki("pets", cat="Tabby [[dog]].", dog="Barks.")
    memory.sync()
    memory.wiki("pets", dog="Barks.")
    assert memory.found("tabby barks") == ["pets:dog"]
    path.unlink()
    assert memory.found("tabby barks") == []
    assert rows(memory, "SELECT count(*) FROM blocks") == [(0,)]
    assert rows(memory, "SELECT count(*) FROM wiki_links") == [(0,)]
    assert memory.index.check_health() == ""


def test_an_event_put_before_others_moves_them(memory: WikiAndDiary) -> None:
    memory.day("2026-03-10", ("09:00", "nine"), ("10:00", "ten [[pets:cat]]"))
    memory.sync()
    memory.day("2026-03-10", ("08:00", "eight"), ("09:00", "nine"), ("10:00", "ten [[pets:cat]]"))
    memory.sync()
    found = rows(memory, "SELECT path, title FROM wiki_index ORDER BY path")
    assert found == [(f"diary/2026-03-10.md#{place}", f"2026-03-10 {8 + place:02}:00") for place in range(3)]
    assert rows(memory, "SELECT source_path FROM item_links") == [("diary/2026-03-10.md#2",)]
    assert memory.index.check_health() == ""


def test_of_two_items_of_one_name_the_last_one_is_found(memory: WikiAndDiary) -> None:
    memory.file("wiki/pets.md", "## cat\n\nfirst\n\n## dog\n\nx\n\n## cat\n\nsecond\n")
    assert memory.found("first second") == ["pets:cat"]


@pytest.mark.parametrize("name", [".hidden", "Has Space", "日记", "a#b", "a%23b", "x.y"])
def test_a_recallfile_of_any_name_is_found(memory: WikiAndDiary, name: str) -> None:
    path = memory.file(f"wiki/{name}.md", "## cat: a | b#c\n\nTabby, see [[other:dog]].\n")
    (hit,) = memory.hits("tabby")
    assert (hit.slug, hit.file_path, hit.title) == (f"{name}:cat: a | b#c", str(path), "cat: a | b#c")


def test_files_whose_names_look_alike_with_a_hash_stay_apart(memory: WikiAndDiary) -> None:
    memory.file("wiki/a#b.md", "## c\n\none quokka\n")
    memory.file("wiki/a%23b.md", "## c\n\ntwo quokka\n")
    memory.file("wiki/a.md", "## b.md#c\n\nthree quokka\n")
    assert sorted(memory.found("quokka")) == ["a#b:c", "a%23b:c", "a:b.md#c"]


def test_what_is_no_day_is_no_part_of_the_diary(memory: WikiAndDiary) -> None:
    for name in ("notes", "2026-3-1", "20260301", "2026-03-01.x"):
        memory.file(f"diary/{name}.md", "## 08:00\n\nquokka\n")
    memory.file("diary/2026-03-01.md", "## 08:00\n\nquokka\n")
    memory.sync()
    assert memory.index.count_by_type() == {"event": 1}


def odd_files(memory: WikiAndDiary, tmp_path: Path) -> None:
    (memory.root / "wiki").mkdir(parents=True, exist_ok=True)
    (memory.root / "wiki" / "folder.md").mkdir()
    os.mkfifo(memory.root / "wiki" / "pipe.md")
    memory.file("wiki/latin.md", "## café\n\ntabby\n".encode("latin-1"))
    outside = tmp_path / "outside.md"
    outside.write_text("## out\n\ntabby\n", "utf-8")
    (memory.root / "wiki" / "link.md").symlink_to(outside)
    (memory.root / "wiki" / "nowhere.md").symlink_to(tmp_path / "nothing")
    memory.file("wiki/marked.md", "\ufeff## cat\n\ntabby in a marked file\n")


def test_a_file_that_cannot_be_read_costs_that_file_and_is_told(memory: WikiAndDiary, tmp_path: Path) -> None:
    memory.wiki("pets", cat="Tabby.")
    memory.write("Zephyr", "tabby")
    odd_files(memory, tmp_path)
    assert sorted(memory.found("tabby")) == ["marked:cat", "pets:cat", "zephyr"]
    assert dict(memory.index.warnings()) == {
        "wiki/folder.md": "is a folder",
        "wiki/latin.md": "is not UTF-8 (byte 6)",
        "wiki/link.md": "is a link that leads outside the memory root",
        "wiki/marked.md": "begins with a byte order mark, which hides its first item from wikimem",
        "wiki/pipe.md": "is no regular file",
    }
    assert memory.sync().changed == 0
    assert [hit.slug for hit in scan_recall(memory.root, "tabby")] == memory.found("tabby")


def test_a_file_that_becomes_unreadable_loses_its_items_until_it_is_mended(memory: WikiAndDiary) -> None:
    path = memory.wiki("pets", cat="Tabby.")
    assert memory.found("tabby") == ["pets:cat"]
    path.write_bytes(b"## cat\n\nTabby \xff\n")
    assert memory.found("tabby") == []
    assert [name for name, _ in memory.index.warnings()] == ["wiki/pets.md"]
    path.write_bytes(b"## cat\n\nTabby again\n")
    assert memory.found("tabby") == ["pets:cat"] and memory.index.warnings() == []


@pytest.mark.parametrize("folder", ["wiki", "diary"])
def test_a_folder_that_leads_outside_is_told_and_not_read(
    memory: WikiAndDiary, tmp_path: Path, folder: str
) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "2026-03-10.md").write_text("## 08:00\n\ntabby\n", "utf-8")
    memory.write("Zephyr", "tabby")
    (memory.root / folder).symlink_to(outside)
    assert memory.found("tabby") == ["zephyr"]
    ((name, problem),) = memory.index.warnings()
    assert name == folder and "outside the memory root" in problem


def test_unchanged_files_are_not_read_again(memory: WikiAndDiary, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.wiki("pets", cat="Tabby.")
    memory.day("2026-03-10", ("08:00", "One."))
    set_back(memory.root)
    memory.sync()
    monkeypatch.setattr("memex_core.index.sync.read_file", lambda *_: pytest.fail("read again"))
    assert (memory.sync().unchanged, memory.sync().changed) == (2, 0)


def test_an_edit_with_size_and_time_put_back_is_seen(memory: WikiAndDiary) -> None:
    path = memory.wiki("pets", cat="Tabby.")
    set_back(memory.root)
    memory.sync()
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Tabby", b"Mieze"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert memory.found("mieze") == ["pets:cat"]


def test_a_memory_without_wiki_and_diary_costs_two_looks_at_the_disk(
    memory: WikiAndDiary, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.write("Zephyr", "tabby")
    memory.sync()
    looked: list[str] = []
    for name in ("scandir", "stat", "lstat", "open"):
        real = getattr(os, name)

        def watched(path: object, *args: object, _real: object = real, **options: object) -> object:
            looked.extend([str(path)] if os.path.basename(str(path)) in ("wiki", "diary") else [])
            return _real(path, *args, **options)  # type: ignore[operator]

        monkeypatch.setattr(os, name, watched)
    memory.sync()
    assert looked == [str(memory.root / "wiki"), str(memory.root / "diary")]
    looked.clear()
    monkeypatch.setattr("memex_core.text.time_words.time_window", lambda *_: pytest.fail("nobody asked"))
    memory.memory.recall("tabby yesterday")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blocks SET owner = 'eve'",
        "DELETE FROM blocks",
        "DELETE FROM item_links",
        "UPDATE corpus SET words = words + 1 WHERE kind = 1",
        "DROP TRIGGER page_lengths_gone",
        "INSERT INTO blocks VALUES (7, 'wiki/x.md', 0, 'x', '', NULL, NULL)",
    ],
)
def test_rows_that_drifted_are_found(memory: WikiAndDiary, statement: str) -> None:
    memory.file("wiki/pets.md", "## cat\n\nTabby [[pets:dog]]\n\n<!-- wikimem: owner=kim -->\n")
    memory.sync()
    with writing(memory.db) as db:
        db.execute(statement)
    assert memory.index.check_health() != ""
    assert memory.sync().rebuilt
    assert memory.hits("tabby")[0].owner == "kim" and memory.index.check_health() == ""


def test_an_item_of_any_size_is_searched_at_its_start(memory: WikiAndDiary) -> None:
    memory.wiki("big", book="first " + "x " * block_rows.SEARCHED_CHARS + "unreached")
    assert memory.found("first") == ["big:book"] and memory.found("unreached") == []
    assert memory.index.check_health() == ""


NAMES = st.sampled_from(["wiki/a.md", "wiki/b c.md", "diary/2026-03-09.md", "diary/2026-03-10.md"])
TEXTS = st.lists(
    st.sampled_from(
        [
            "## one\n\nruff\n",
            "## two\n\nblack [[a:one]] [[zephyr]]\n",
            "## one\n\nruff ruff\n\n<!-- wikimem: owner=x | ts=2026-01-01 -->\n",
            "## 08:00\n\nblack\n",
            "preamble\n",
            "##  \n",
            "## three\r\n\r\nruff `[[a:two]]`\r\n",
            "\udcff",
        ]
    ),
    max_size=5,
)
STEPS = st.tuples(st.sampled_from(["write", "write", "delete", "page", "remove index", "sync"]), NAMES, TEXTS)


@settings(deadline=None, max_examples=40)
@given(st.lists(STEPS, max_size=10))
def test_whatever_happens_to_the_files_recall_is_that_of_a_fresh_index(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, list[str]]]
) -> None:
    memory = WikiAndDiary(tmp_path_factory.mktemp("root"))
    for what, name, text in steps:
        if what == "write":
            memory.file(name, "".join(text).encode("utf-8", "surrogateescape"))
        elif what == "delete":
            (memory.root / name).unlink(missing_ok=True)
        elif what == "page":
            memory.page("entities/zephyr.md", "".join(text).encode("utf-8", "surrogateescape"))
        elif what == "remove index":
            memory.db.unlink(missing_ok=True)
        else:
            memory.sync()
    for query in ("ruff", "black one", "zephyr"):
        assert memory.hits(query) == scan_recall(memory.root, query)
    assert memory.index.check_health() == ""
