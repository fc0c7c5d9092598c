"""`export --to wikimem`, and the way back: what the format cannot hold survives, also after edits there."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from wikimem_peer import NOW, Memory, Peer, files, put, wikimem_files

from memex_core.archive.backup import BackupRestore
from memex_core.archive.wikimem_exchange import forget_imported
from memex_core.archive.wikimem_folder import WikimemFolder
from memex_core.errors import Refused
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore
from memex_core.text.blocks import Provenance, is_representable, render_file

PAGE = """---
# mine
title:   "Ruff: a [linter] | #1"   # the name
id: "a1b2"
rating: 5
aliases: [ruff, 'the linter']
type: entity
tags: ["tool"]
created: "2026-01-01T00:00:00Z"
updated: "2026-02-02T00:00:00Z"
content_hash: "sha256:stale"
---
# Ruff

## Use

<!-- wikimem: owner=eve -->
See [[deploy|how]], [[deploy]], [[Deploy it]] and [[nowhere]].

```
[[deploy]]
## in a fence
```

"""
KEY = "AKIAIOSFODNN7EXAMPLF"
RUFF = "Ruff\uff1a a \uff3blinter\uff3d \uff5c \uff031"


@pytest.fixture
def memory(root: Path) -> Memory:
    memory = Memory(root)
    memory.page("entities/ruff.md", PAGE)
    memory.page("procedures/deploy.md", "---\ntitle: Deploy it\nid: d1\n---\r\n  step\r\n")
    memory.page("notes/loose.md", b"\xef\xbb\xbfno front matter \xe9\n\n")
    return memory


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


@pytest.fixture
def other(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "other")


def side_of(folder: Path) -> Any:
    return json.loads((folder / ".memex/export.json").read_bytes())


def test_a_page_is_an_item_of_the_file_of_its_type(memory: Memory, there: Path) -> None:
    report = memory.give(there)
    assert (report.items, report.added, report.problems) == (3, 3, [])
    items = [(item.file, item.name) for item in RecallFileStore(there).items()]
    assert items == [("entity", "loose"), ("entity", RUFF), ("procedure", "Deploy it")]


def test_an_item_says_what_its_page_says(memory: Memory, there: Path) -> None:
    memory.give(there)
    item = Peer(there).item("entity", RUFF)
    assert item is not None and is_representable(item.content)
    assert item.content.splitlines()[2:5] == [
        "\\## Use",
        "",
        "<!-- \\wikimem: owner=eve -->",
    ]
    link = "[[procedure:Deploy it]]"
    assert f"See {link}, {link}, {link} and [[nowhere]]." in item.content.splitlines()
    assert item.ts == "2026-02-02T00:00:00Z"


def test_owner_and_source_are_one_line_each(memory: Memory, there: Path) -> None:
    memory.write("One", "x", sources=["s1#3", "s2#1"], extra={"owner": "user:kim"})
    memory.write("Two", "x", "episode", slug="s9", session_id="s9", harness="tool")
    memory.page("entities/three.md", '---\ntitle: Three\nowner: "a|b\\n\\n## c -->"\n---\nx')
    memory.give(there)
    said = {item.name: (item.owner, item.source_conv) for item in RecallFileStore(there).items()}
    assert said["One"] == ("user:kim", "s1")
    assert said["Two"] == ("tool", "s9")
    assert said["Three"] == ("a/b  ## c ->", None)


def test_pages_of_one_title_are_items_of_two_names(memory: Memory, there: Path) -> None:
    for slug in ("a", "b", "c"):
        memory.page(f"summaries/{slug}.md", f"---\ntitle: 'Same:  one'\n---\n{slug}\n")
    memory.give(there)
    items = {item.name: item.content for item in Peer(there).items("summary")}
    assert items == {"Same\uff1a one": "a", "Same\uff1a one (2)": "b", "Same\uff1a one (3)": "c"}


def test_pages_come_back_byte_for_byte(memory: Memory, other: Memory, there: Path) -> None:
    memory.give(there)
    report = other.take(there)
    assert other.pages() == memory.pages() and len(report.pages.created) == 3
    assert other.take(there).pages.imported == 0
    other.give(there.with_name("second"))
    assert (
        wikimem_files(there.with_name("second"))["wiki/entity.md"] == wikimem_files(there)["wiki/entity.md"]
    )


def test_a_page_in_a_file_of_a_hand_made_name_comes_back_under_a_plain_one(
    memory: Memory, other: Memory, there: Path
) -> None:
    memory.page("entities/My $page.md", "mine\n")
    memory.page("my notes/-x.md", "---\nid: x\n---\nyours\n")
    memory.give(there)
    assert other.take(there).pages.refused == []
    assert (other.read("my-page").title, other.read("my-page").body) == ("My $page", "mine\n")
    assert (other.read("x").id, other.read("x").body) == ("x", "yours\n")
    assert other.take(there).pages.imported == 0


def test_an_edited_item_keeps_the_front_matter_of_its_page(
    memory: Memory, other: Memory, there: Path
) -> None:
    memory.give(there)
    item = Peer(there).item("entity", RUFF)
    assert item is not None
    edited = item.content.replace("# Ruff", "# Ruff, again").replace("[[nowhere]]", "[[entity:loose]]")
    Peer(there).add("entity", RUFF, edited, ts="2026-06-01T00:00:00+00:00")
    for each in (memory, other):
        before = memory.pages()
        each.take(there)
        after = each.pages()
        assert {name for name in before if before[name] != after[name]} in ({"entities/ruff.md"}, set())
        text = after["entities/ruff.md"].decode()
        body = PAGE.partition("\n---\n")[2].rstrip("\n")
        assert text.endswith(
            body.replace("# Ruff", "# Ruff, again").replace("[[nowhere]]", "[[entity/loose]]")
        )
        for line in ("# mine", 'title:   "Ruff: a [linter] | #1"   # the name', "rating: 5", 'id: "a1b2"'):
            assert line in text.splitlines()
        assert each.read("ruff").updated == "2026-06-01T00:00:00Z"


def test_a_secret_that_a_person_typed_goes_there_and_comes_back(there: Path, tmp_path: Path) -> None:
    memory, other = (Memory(tmp_path / name, redacting=True) for name in ("memory", "other"))
    memory.write("Key", f"use {KEY}\n")
    memory.give(there)
    assert other.take(there).redacted == [] and other.pages() == memory.pages()
    other.give(there.with_name("second"))
    assert Peer(there.with_name("second")).items("entity") == Peer(there).items("entity")
    Peer(there).add("entity", "Theirs", f"and {KEY}")
    memory.give(there)
    memory.take(there)
    assert memory.read("theirs").body == "and [REDACTED:aws-access-key-id]"
    assert not any(KEY.encode() in data for name, data in files(memory.root).items() if "key" not in name)


def test_new_gone_and_renamed_items_are_told_apart(memory: Memory, there: Path) -> None:
    memory.give(there)
    peer, before = Peer(there), memory.pages()
    peer.add("procedure", "New one", "x")
    step = peer.item("procedure", "Deploy it")
    assert step is not None
    peer.remove("procedure", "Deploy it")
    peer.add("procedure", "Ship it", step.content)
    peer.remove("entity", "loose")
    report = memory.take(there)
    assert report.pages.created == ["new-one"] and memory.read("new-one").type == "procedure"
    assert report.renamed == [("procedure:Deploy it", "procedure:Ship it")]
    assert report.missing == ["entity:loose"]
    assert memory.read("deploy").title == "Ship it" and memory.read("deploy").id == "d1"
    assert memory.pages()["notes/loose.md"] == before["notes/loose.md"]
    again = memory.give(there)
    assert (again.again, again.conflicts) == (["entity:loose"], [])


def test_exporting_twice_writes_nothing(memory: Memory, there: Path) -> None:
    memory.give(there)
    before = {path: path.stat().st_mtime_ns for path in there.rglob("*") if path.name != ".lock"}
    report = memory.give(there)
    assert (report.written, report.added, report.updated) == ([], 0, 0)
    assert {path: path.stat().st_mtime_ns for path in there.rglob("*") if path.name != ".lock"} == before


def test_only_what_changed_here_is_written_there(memory: Memory, there: Path) -> None:
    memory.give(there)
    entities = (there / "wiki/entity.md").read_bytes()
    put(
        there, "wiki/entity.md", b"\xef\xbb\xbf" + entities.replace(b"# entity\n", b"# mine\r\n\r\nwords\r\n")
    )
    memory.write("Deploy it", "Run.\n", "procedure", slug="deploy")
    memory.page("entities/ruff.md", PAGE.replace("rating: 5", "rating: 4"))
    report = memory.give(there)
    assert (report.updated, report.added, report.removed) == (1, 0, 0)
    assert report.written == ["wiki/procedure.md", "journal.jsonl", ".memex/export.json"]
    assert Peer(there).items("procedure")[0].content == "Run."


def test_a_page_under_another_title_is_its_item_under_another_name(memory: Memory, there: Path) -> None:
    memory.give(there)
    memory.page("entities/ruff.md", PAGE.replace('"Ruff: a [linter] | #1"', '"Ruff"'))
    memory.give(there)
    assert [item.name for item in Peer(there).items("entity")] == ["loose", "Ruff"]
    lines = [json.loads(line) for line in (there / "journal.jsonl").read_text().splitlines()]
    assert [(line["action"], line["item"]) for line in lines[-2:]] == [("remove", RUFF), ("add", "Ruff")]


def test_a_page_that_is_gone_takes_its_item_along(memory: Memory, there: Path) -> None:
    memory.give(there)
    memory.store.delete("deploy")
    report = memory.give(there)
    assert report.removed == 1 and not (there / "wiki/procedure.md").exists()
    assert [item.content.count("[[deploy]]") for item in Peer(there).items("entity")] == [0, 2]


def test_a_page_of_another_type_moves_to_another_file(memory: Memory, there: Path) -> None:
    memory.give(there)
    memory.store.move("deploy", "summary")
    memory.give(there)
    assert [(item.file, item.name) for item in RecallFileStore(there).items()][-1] == ("summary", "Deploy it")
    assert not (there / "wiki/procedure.md").exists()


def test_an_edit_there_is_never_overwritten(memory: Memory, there: Path) -> None:
    memory.give(there)
    Peer(there).add("procedure", "Deploy it", "theirs")
    assert memory.give(there).conflicts == []
    memory.write("Deploy it", "ours\n", "procedure", slug="deploy")
    for _ in range(2):
        assert memory.give(there).conflicts == ["procedure:Deploy it"]
    assert Peer(there).items("procedure")[0].content == "theirs"
    assert memory.take(there).pages.conflicts == ["deploy"]
    assert memory.take(there, "update").pages.updated == ["deploy"]
    assert memory.give(there).conflicts == [] and memory.read("deploy").body == "theirs"


def test_a_page_that_is_gone_leaves_an_item_that_changed_there(memory: Memory, there: Path) -> None:
    memory.give(there)
    Peer(there).add("procedure", "Deploy it", "theirs")
    memory.store.delete("deploy")
    assert memory.give(there).conflicts == ["procedure:Deploy it"]
    assert Peer(there).items("procedure")[0].content == "theirs"


def test_an_imported_edit_goes_back_without_a_change(memory: Memory, there: Path) -> None:
    memory.give(there)
    item = Peer(there).item("entity", RUFF)
    assert item is not None
    Peer(there).add("entity", RUFF, f"{item.content}\nMore [[ procedure:Deploy it ]].")
    Peer(there).add("entity", "new", "x")
    before = wikimem_files(there)["wiki/entity.md"]
    memory.take(there)
    assert memory.give(there).conflicts == []
    assert wikimem_files(there)["wiki/entity.md"] == before
    assert memory.give(there).written == []
    Peer(there).add("entity", "new", "y")
    assert memory.take(there).pages.updated == ["new"]


def test_an_escape_outlives_any_number_of_edits(memory: Memory, there: Path) -> None:
    memory.give(there)
    for number in range(3):
        item = Peer(there).item("entity", RUFF)
        assert item is not None and "\\## Use" in item.content
        Peer(there).add("entity", RUFF, f"{item.content}\nedit {number}")
        memory.take(there)
        assert memory.read("ruff").body.endswith(f"\nedit {number}")
        assert "\\## Use" not in memory.read("ruff").body and "\n## Use" in memory.read("ruff").body
        assert memory.give(there).conflicts == []


def test_an_edit_of_an_imported_page_leaves_the_rest_of_its_file(
    memory: Memory, tmp_path: Path, there: Path
) -> None:
    comment = "<!-- wikimem: mood=sad | owner=k -->"
    text = f"\ufeff# My Pets\r\n\r\nwords\r\n\r\n##  cat\r\nTabby\r\n{comment}\r\n## dog\r\nd\r\n"
    put(tmp_path / "source", "wiki/pets.md", text)
    memory.take(tmp_path / "source")
    memory.store.amend("dog", body="D\n\n- [[cat]]\n", updated=NOW)
    memory.store.amend("cat", tags=["x"])
    memory.give(there)
    block = f"## dog\n\nD\n\n- [[pets:cat]]\n\n<!-- wikimem: ts={NOW} -->\n".replace("\n", "\r\n")
    assert (there / "wiki/pets.md").read_bytes().decode() == text.replace("## dog\r\nd\r\n", block)


def test_an_item_without_a_name_gets_one_when_its_page_changes(
    memory: Memory, tmp_path: Path, there: Path
) -> None:
    put(tmp_path / "source", "wiki/pets.md", "##  \nTabby\n## dog\nBarks\n")
    memory.take(tmp_path / "source")
    memory.give(there)
    assert (there / "wiki/pets.md").read_text() == "##  \nTabby\n## dog\nBarks\n"
    (page,) = [page for page in memory.store.list() if page.body == "Tabby"]
    memory.store.amend(page.slug, body="Tom", updated=NOW)
    memory.give(there)
    assert [(item.name, item.content) for item in Peer(there).items("pets")] == [
        ("pets", "Tom"),
        ("dog", "Barks"),
    ]
    assert memory.give(there).written == []


def test_a_deleted_import_is_no_item_any_more(memory: Memory, tmp_path: Path, there: Path) -> None:
    put(tmp_path / "source", "wiki/pets.md", "## cat\n\nTabby\n\n## dog\n\nBarks\n")
    memory.take(tmp_path / "source")
    memory.store.delete("dog")
    memory.give(there)
    assert (there / "wiki/pets.md").read_text() == "## cat\n\nTabby\n"


def test_own_recallfiles_and_days_go_as_they_are_and_come_back(
    memory: Memory, other: Memory, there: Path
) -> None:
    own = put(memory.root, "wiki/pets.md", "mine\r\n## cat\r\nTabby\r\n").read_bytes()
    Diary(memory.root).append("out", date="2026-03-05", time="08:30")
    memory.give(there)
    assert wikimem_files(there)["wiki/pets.md"] == own
    assert wikimem_files(there)["diary/2026-03-05.md"] == wikimem_files(memory.root)["diary/2026-03-05.md"]
    report = other.take(there)
    assert (report.files, report.days) == (["pets"], ["2026-03-05"])
    mine, theirs = wikimem_files(memory.root), wikimem_files(other.root)
    assert {name: data for name, data in mine.items() if name != "journal.jsonl"} == {
        name: data for name, data in theirs.items() if name != "journal.jsonl"
    }
    assert '"action": "diary"' in theirs["journal.jsonl"].decode()


def test_an_own_recallfile_that_was_edited_there_comes_back(memory: Memory, there: Path) -> None:
    store = RecallFileStore(memory.root)
    for name in ("a", "b", "c"):
        store.add("facts", name, "1")
    memory.give(there)
    Peer(there).add("facts", "a", "2")
    Peer(there).remove("facts", "b")
    Peer(there).add("facts", "d", "4")
    report = memory.take(there)
    assert (report.files, report.missing) == (["facts"], ["facts:b"])
    assert {item.name: item.content for item in store.items("facts")} == {
        "a": "2",
        "b": "1",
        "c": "1",
        "d": "4",
    }
    store.add("facts", "c", "ours")
    Peer(there).add("facts", "c", "theirs")
    report = memory.take(there)
    assert report.pages.conflicts == ["facts:c"] and store.items("facts")[-1].content == "ours"
    memory.take(there, "update")
    assert {item.name: item.content for item in store.items("facts")}["c"] == "theirs"


def test_an_own_recallfile_that_changed_on_both_sides_is_left(memory: Memory, there: Path) -> None:
    RecallFileStore(memory.root).add("facts", "a", "1")
    memory.give(there)
    RecallFileStore(memory.root).add("facts", "b", "2")
    Peer(there).add("facts", "c", "3")
    assert memory.give(there).conflicts == ["wiki/facts.md"]
    memory.take(there)
    assert [item.name for item in RecallFileStore(memory.root).items("facts")] == ["a", "b", "c"]


def test_what_wikimem_lost_of_an_own_recallfile_stays_here(memory: Memory, there: Path) -> None:
    own = put(
        memory.root,
        "wiki/facts.md",
        "mine\r\n\r\n## a\r\n<!-- wikimem: mood=sad | owner=k -->\r\n1\r\n## b\r\nold\r\n"
        "## c\r\n3\r\n## b\r\n\r\n2\r\n",
    )
    memory.give(there)
    peer = Peer(there)
    peer.add("facts", "b", "two", owner="w")
    peer.add("facts", "c", "3", owner="w")
    peer.add("facts", "d", "4")
    assert b"mine" not in (there / "wiki/facts.md").read_bytes()
    assert memory.take(there).files == ["facts"]
    kept = own.read_bytes()
    assert kept.startswith(
        b"mine\r\n\r\n## a\r\n<!-- wikimem: mood=sad | owner=k -->\r\n1\r\n## b\r\n\r\ntwo\r\n"
    )
    assert kept.count(b"## b") == 1
    items = [(item.name, item.content, item.owner) for item in RecallFileStore(memory.root).items("facts")]
    assert items == [("a", "1", "k"), ("b", "two", "w"), ("c", "3", "w"), ("d", "4", None)]
    assert memory.take(there).files == [] and own.read_bytes() == kept
    assert memory.give(there).conflicts == [] and (there / "wiki/facts.md").read_bytes() == kept


def test_words_that_a_person_took_out_there_are_gone_here(memory: Memory, there: Path) -> None:
    own = put(memory.root, "wiki/facts.md", "mine\n\n## a\n1\n\n## b\n2\n")
    day = put(memory.root, "diary/2026-03-05.md", "mine\n\n## 08:00\na\n\n## 09:00\nb\n")
    memory.give(there)
    for path, text in ((own, "## a\n1\n\n## b\ntwo\n"), (day, "## 08:00\nA\n\n## 09:00\nb\n")):
        put(there, f"{path.parent.name}/{path.name}", text)
    memory.take(there)
    assert own.read_text() == "## a\n1\n\n## b\ntwo\n"
    assert day.read_text() == "## 08:00\nA\n\n## 09:00\nb\n"


@pytest.mark.parametrize(
    ("theirs", "events"),
    [
        ("yours\n\n## 08:00\na\n\n## 09:00\nb\n", ["a", "b"]),
        ("mine\n\n## 08:00\na\n\n## 09:00\nB\n\n## 09:00\nc\n", ["a", "B", "c"]),
        ("# 2026-03-05\n\n## 08:00\n\nA\n\n## 09:00\n\nb\n", ["A", "b"]),
    ],
)
def test_a_day_that_a_person_edited_there_is_taken(
    theirs: str, events: list[str], memory: Memory, there: Path
) -> None:
    day = put(memory.root, "diary/2026-03-05.md", "mine\n\n## 08:00\na\n\n## 09:00\nb\n")
    memory.give(there)
    put(there, "diary/2026-03-05.md", theirs)
    assert memory.take(there).days == ["2026-03-05"] and day.read_text() == theirs
    assert [event.content for event in Diary(memory.root).day("2026-03-05")] == events


def test_an_event_that_is_gone_there_stays_here(memory: Memory, there: Path) -> None:
    put(memory.root, "diary/2026-03-05.md", "mine\n\n## 08:00\na\n\n## 09:00\nb\n")
    memory.give(there)
    put(there, "diary/2026-03-05.md", "mine\n\n## 09:00\nb\n\n## 10:00\nc\n")
    memory.take(there)
    assert [event.content for event in Diary(memory.root).day("2026-03-05")] == ["a", "b", "c"]


def test_what_wikimem_lost_of_an_own_day_stays_here(memory: Memory, there: Path) -> None:
    day = put(memory.root, "diary/2026-03-05.md", "mine\n\n## 9:00\na\n<!-- wikimem: mood=sad -->\n")
    memory.give(there)
    rewritten = [("10:00", "new", Provenance()), ("9:00", "a", Provenance())]
    put(there, "diary/2026-03-05.md", render_file("2026-03-05", rewritten))
    assert memory.take(there).days == ["2026-03-05"]
    assert day.read_text().startswith("mine\n\n## 9:00\na\n<!-- wikimem: mood=sad -->\n")
    assert [event.content for event in Diary(memory.root).day("2026-03-05")] == ["a", "new"]
    kept = day.read_bytes()
    assert memory.take(there).days == [] and day.read_bytes() == kept
    assert memory.give(there).conflicts == []


def test_an_own_recallfile_that_took_their_changes_goes_there_again(memory: Memory, there: Path) -> None:
    ours = RecallFileStore(memory.root)
    ours.add("facts", "a", "1")
    memory.give(there)
    ours.add("facts", "a", "1", owner="user:kim")
    ours.add("facts", "b", "2")
    Peer(there).add("facts", "c", "3")
    assert memory.give(there).conflicts == ["wiki/facts.md"]
    memory.take(there)
    assert [item.owner for item in ours.items("facts")] == ["user:kim", None, None]
    assert memory.give(there).conflicts == []
    assert [item.name for item in Peer(there).items("facts")] == ["a", "b", "c"]
    ours.add("facts", "a", "ours")
    Peer(there).add("facts", "a", "theirs")
    memory.take(there)
    assert memory.give(there).conflicts == ["wiki/facts.md"]
    assert {item.content for item in Peer(there).items("facts")} == {"2", "3", "theirs"}


def test_days_that_both_changed_hold_the_events_of_both(memory: Memory, there: Path) -> None:
    ours, theirs = Diary(memory.root), Diary(there)
    ours.append("first", date="2026-03-05", time="08:00")
    memory.give(there)
    ours.append("ours", date="2026-03-05", time="09:00")
    theirs.append("theirs", date="2026-03-05", time="10:00")
    for _ in range(2):
        memory.give(there)
        assert [event.content for event in theirs.day("2026-03-05")] == ["first", "ours", "theirs"]
    memory.take(there)
    assert [event.content for event in ours.day("2026-03-05")] == ["first", "ours", "theirs"]


def test_a_file_that_the_memory_no_longer_has_goes_there_too(memory: Memory, there: Path) -> None:
    for file in ("kept", "gone"):
        RecallFileStore(memory.root).add(file, "a", "1")
    memory.give(there)
    for file in ("kept", "gone"):
        RecallFileStore(memory.root).remove(file, "a")
    Peer(there).add("kept", "b", "2")
    assert memory.give(there).conflicts == ["wiki/kept.md"]
    assert {"kept", "gone"} & set(RecallFileStore(there).files()) == {"kept"}


def test_a_file_of_theirs_is_joined_not_replaced(memory: Memory, there: Path) -> None:
    memory.give(there)
    put(there, "wiki/summary.md", "mine\n\n## Weekly\n\nTheirs.\n")
    memory.write("Weekly", "Ours.\n", "summary")
    memory.give(there)
    items = {item.name: item.content for item in Peer(there).items("summary")}
    assert items == {"Weekly": "Theirs.", "Weekly (2)": "Ours."}
    assert (there / "wiki/summary.md").read_text().startswith("mine\n")


@pytest.mark.parametrize("blocker", ["latin", "folder", "fifo"])
def test_pages_go_beside_a_file_that_cannot_be_read(memory: Memory, there: Path, blocker: str) -> None:
    memory.write("Only", "x", "summary")
    memory.store.delete("only")
    memory.give(there)
    path = there / "wiki/summary.md"
    if blocker == "latin":
        path.write_bytes(b"\xe9")
    elif blocker == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    memory.write("Weekly", "x", "summary")
    report = memory.give(there)
    assert Peer(there).items("summary-2")[0].name == "Weekly" and report.problems == []


@pytest.mark.parametrize("name", ["notes.txt", "wiki", "x/.memex/other"])
def test_a_directory_with_something_in_it_is_refused(memory: Memory, there: Path, name: str) -> None:
    put(there, name, "mine")
    with pytest.raises(Refused, match="neither empty nor an earlier export"):
        memory.give(there)
    assert files(there) == {name: b"mine"}


def test_a_memory_and_its_export_lie_apart(memory: Memory) -> None:
    for folder in (memory.root, memory.root / "docs" / "out", memory.root.parent):
        with pytest.raises(Refused, match="in one another"):
            memory.give(folder)
    put(memory.root.parent, "file", "")
    with pytest.raises(Refused, match="not a directory"):
        memory.give(memory.root.parent / "file")


def test_the_journal_there_tells_what_was_written(memory: Memory, there: Path) -> None:
    RecallFileStore(memory.root).add("facts", "a", "1", owner="k")
    memory.give(there)
    lines = [json.loads(line) for line in (there / "journal.jsonl").read_text().splitlines()]
    assert [(line["action"], line["file"], line["item"]) for line in lines] == [
        ("add", "facts", "a"),
        ("add", "entity", "loose"),
        ("add", "entity", RUFF),
        ("add", "procedure", "Deploy it"),
    ]
    assert memory.take(there).journal_lines == 0
    put(there, "journal.jsonl", (there / "journal.jsonl").read_bytes() + b"torn")
    memory.store.delete("deploy")
    memory.give(there)
    lines = (there / "journal.jsonl").read_text().splitlines()
    assert lines[-3] == "torn" and json.loads(lines[-1])["action"] == "remove"


def test_the_side_file_is_keyed_by_what_the_format_itself_hashes(memory: Memory, there: Path) -> None:
    memory.give(there)
    assert [(item["file"], item["name"], len(item["sha256"])) for item in side_of(there)["items"]] == [
        ("entity", RUFF, 64),
        ("entity", "loose", 64),
        ("procedure", "Deploy it", 64),
    ]
    assert not [path for path in there.rglob("*.md") if path.parent.name not in ("wiki", "diary")]


def test_without_the_side_file_words_order_and_links_are_left(
    memory: Memory, other: Memory, there: Path
) -> None:
    memory.give(there)
    shutil.rmtree(there / ".memex")
    other.take(there)
    assert other.read("deploy-it").body == "step"
    assert "[[procedure/deploy-it]]" in other.store.list("entity")[1].body


@pytest.mark.parametrize("after", range(6))
def test_an_export_that_was_cut_off_is_finished_by_the_next(
    memory: Memory, there: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    memory.give(there.with_name("whole"))
    left, write = [after], WikimemFolder.write

    def stops(self: WikimemFolder, name: str, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        write(self, name, data)

    monkeypatch.setattr(WikimemFolder, "write", stops)
    if after < 3:
        with pytest.raises(OSError, match="No space"):
            memory.give(there)
    monkeypatch.undo()
    memory.give(there)
    whole = files(there.with_name("whole")).items()
    assert nameless(files(there)).items() >= nameless(dict(whole)).items()
    memory.write("Deploy it", "Run.\n", "procedure", slug="deploy")
    left[0] = after % 2
    monkeypatch.setattr(WikimemFolder, "write", stops)
    with pytest.raises(OSError, match="No space"):
        memory.give(there)
    monkeypatch.undo()
    assert memory.give(there).conflicts == []
    assert Peer(there).items("procedure")[0].content == "Run."


def test_a_file_that_wikimem_changes_meanwhile_is_left(
    memory: Memory, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.give(there)
    memory.write("Deploy it", "Run.\n", "procedure", slug="deploy")
    read, left = WikimemFolder.read, [1]

    def meanwhile(self: WikimemFolder, name: str) -> bytes | None:
        if self.path == there and name == "wiki/procedure.md":
            left[0] -= 1
            if left[0] == -1:
                Peer(there).add("procedure", "Theirs", "x")
        return read(self, name)

    monkeypatch.setattr(WikimemFolder, "read", meanwhile)
    report = memory.give(there)
    monkeypatch.undo()
    assert [name for name, _ in report.problems] == ["wiki/procedure.md"]
    assert [item.name for item in Peer(there).items("procedure")] == ["Deploy it", "Theirs"]
    report = memory.give(there)
    assert (report.conflicts, report.problems) == ([], [])
    assert {item.name: item.content for item in Peer(there).items("procedure")} == {
        "Deploy it": "Run.",
        "Theirs": "x",
    }


def test_what_was_imported_survives_a_backup(memory: Memory, tmp_path: Path, there: Path) -> None:
    put(tmp_path / "source", "wiki/pets.md", "\ufeff# mine\r\n\r\n## cat\r\nTabby")
    put(tmp_path / "source", "wiki/latin.md", b"\xe9")
    memory.take(tmp_path / "source")
    BackupRestore(memory.root, memory.root / "mem.db").backup(tmp_path / "b.tar.gz")
    restored = Memory(tmp_path / "restored")
    BackupRestore(restored.root, restored.root / "mem.db").restore(tmp_path / "b.tar.gz")
    restored.give(there)
    assert wikimem_files(there).items() >= wikimem_files(tmp_path / "source").items()


def test_a_lost_raw_file_costs_its_form_only(memory: Memory, tmp_path: Path, there: Path) -> None:
    put(tmp_path / "source", "wiki/pets.md", "\ufeff# mine\r\n\r\n## cat\r\nTabby")
    memory.take(tmp_path / "source")
    for path in (memory.root / "docs/.wikimem").iterdir():
        if path.suffix != ".json":
            path.write_bytes(b"damaged")
    report = memory.give(there)
    assert [name for name, _ in report.problems] == ["wiki/pets.md"]
    assert [item.content for item in Peer(there).items("pets")] == ["Tabby"]


def test_what_is_deleted_for_good_is_deleted_from_what_was_imported(
    memory: Memory, tmp_path: Path, there: Path
) -> None:
    put(tmp_path / "source", "wiki/pets.md", "# mine\n\n## cat\n\nTabby\n\n## secret dog\n\nBarks\n")
    put(tmp_path / "source", "journal.jsonl", '{"action": "add", "file": "pets", "item": "secret dog"}\n')
    memory.take(tmp_path / "source")
    page = memory.read("secret-dog")
    memory.store.delete("secret-dog")
    forget_imported(memory.root, {page.id})
    memory.journal.scrub({"entities/secret-dog"})
    left = b"".join(files(memory.root).values())
    assert b"secret" not in left and b"Barks" not in left and b"Tabby" in left
    memory.give(there)
    assert (there / "wiki/pets.md").read_text() == "# mine\n\n## cat\n\nTabby\n"
    forget_imported(memory.root, {memory.read("cat").id})
    memory.store.delete("cat")
    memory.give(there)
    assert (there / "wiki/pets.md").read_text() == "# mine\n"


def test_forgetting_costs_nothing_where_nothing_was_imported(memory: Memory) -> None:
    before = files(memory.root)
    forget_imported(memory.root, {"d1"})
    assert files(memory.root) == before


def nameless(exported: dict[str, bytes]) -> dict[str, bytes]:
    """An export without its journal and without what its directory is called."""
    exported = {name: data for name, data in exported.items() if name != "journal.jsonl"}
    side = exported[".memex/export.json"]
    return exported | {".memex/export.json": re.sub(rb' "directory": "[0-9a-f]+",', b"", side)}


def test_an_export_of_another_memory_is_not_taken_for_ones_own(tmp_path: Path) -> None:
    one, other, there = Memory(tmp_path / "one"), Memory(tmp_path / "other"), tmp_path / "there"
    RecallFileStore(one.root).add("pets", "cat", "x")
    Diary(one.root).append("y", date="2026-03-05", time="08:30")
    one.give(there)
    before = files(there)
    with pytest.raises(Refused, match="is the export of another memory"):
        other.give(there)
    assert files(there) == before
    other.take(there)
    other.give(there)
    assert [item.name for item in RecallFileStore(there).items()] == ["cat"]
    assert [event.content for event in Diary(there).events()] == ["y"]
    one.give(there)


def test_what_cannot_be_read_here_is_not_gone_there(tmp_path: Path) -> None:
    memory, there = Memory(tmp_path / "memory"), tmp_path / "there"
    RecallFileStore(memory.root).add("pets", "cat", "x")
    memory.give(there)
    before = files(there)

    def refuse(path: object) -> None:
        if str(path).endswith("/wiki"):
            raise PermissionError(13, "Permission denied", str(path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memex_core.archive.wikimem_export.os.listdir", refuse)
        with pytest.raises(Refused, match="cannot be read"):
            memory.give(there)
    assert files(there) == before
