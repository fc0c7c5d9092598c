"""A RecallFile of the memory that has the name of one that was imported, or that its pages go to: both stand
in one file, and each part comes back to its place.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from wikimem_peer import Memory, Peer, files, put, wikimem_files

from memex_core.archive.wikimem_exchange import WikimemExportReport
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore

PREFERENCES = "# mine\r\n\r\n## tea\r\n\r\nGreen. [[people:kim]]\r\n<!-- wikimem: mood=sad | owner=u -->\r\n"
PEOPLE = "## kim\n\nNice."
KEY = "AKIAIOSFODNN7EXAMPLF"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    folder = tmp_path / "first"
    put(folder, "wiki/preferences.md", PREFERENCES)
    put(folder, "wiki/people.md", PEOPLE)
    return folder


@pytest.fixture
def memory(root: Path, first: Path) -> Memory:
    memory = Memory(root)
    memory.take(first)
    return memory


@pytest.fixture
def own(memory: Memory) -> RecallFileStore:
    own = RecallFileStore(memory.root)
    own.add("preferences", "linter", "Ruff, says [[preferences:tea]]", owner="k", ts="T")
    return own


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


def contents(folder: Path, file: str) -> dict[str, str]:
    return {item.name: item.content for item in RecallFileStore(folder).items(file)}


def settled(report: WikimemExportReport) -> bool:
    return not (report.written or report.conflicts or report.again or report.problems)


def test_own_items_stand_behind_what_was_imported(
    memory: Memory, own: RecallFileStore, there: Path, first: Path
) -> None:
    memory.give(there)
    text = (there / "wiki/preferences.md").read_bytes().decode()
    block = "\r\n## linter\r\n\r\nRuff, says [[preferences:tea]]\r\n\r\n<!-- wikimem: owner=k | ts=T -->\r\n"
    assert text == PREFERENCES + block
    assert wikimem_files(there).keys() == {*wikimem_files(first), "journal.jsonl"}
    assert (there / "wiki/people.md").read_bytes() == PEOPLE.encode()
    assert settled(memory.give(there))


def test_own_items_join_a_file_that_was_exported_before(memory: Memory, there: Path, first: Path) -> None:
    memory.give(there)
    RecallFileStore(memory.root).add("people", "li", "Here.")
    assert memory.give(there).conflicts == []
    assert (there / "wiki/people.md").read_text().startswith(PEOPLE)
    assert contents(there, "people") == {"kim": "Nice.", "li": "Here."}
    assert settled(memory.give(there))


def test_what_comes_back_unchanged_is_not_taken_again(
    memory: Memory, own: RecallFileStore, there: Path, tmp_path: Path
) -> None:
    memory.give(there)
    for _ in range(2):
        before = {name: data for name, data in files(memory.root).items() if ".wikimem" not in name}
        report = memory.take(there)
        assert (report.pages.unchanged, report.files, report.missing) == (["kim", "tea"], [], [])
        assert {name: data for name, data in files(memory.root).items() if ".wikimem" not in name} == before
        assert settled(memory.give(there))
    memory.give(tmp_path / "new")
    assert (
        wikimem_files(tmp_path / "new")["wiki/preferences.md"] == wikimem_files(there)["wiki/preferences.md"]
    )
    own.remove("preferences", "linter")
    memory.give(tmp_path / "without")
    assert (tmp_path / "without/wiki/preferences.md").read_bytes() == PREFERENCES.encode()


def test_another_memory_gets_both_parts(
    memory: Memory, own: RecallFileStore, there: Path, tmp_path: Path
) -> None:
    mine = put(memory.root, "wiki/people.md", "\ufeffmine\r\n\r\n## li\r\nold\r\n## li\r\nHere.").read_bytes()
    memory.give(there)
    other = Memory(tmp_path / "other")
    report = other.take(there)
    assert other.pages() == memory.pages() and sorted(report.files) == ["people", "preferences"]
    assert (other.root / "wiki/people.md").read_bytes() == mine
    assert contents(other.root, "preferences") == contents(memory.root, "preferences")
    other.give(tmp_path / "second")
    for name in ("wiki/people.md", "wiki/preferences.md"):
        assert wikimem_files(tmp_path / "second")[name] == wikimem_files(there)[name]


def test_what_wikimem_edits_comes_back_to_the_part_it_is_of(
    memory: Memory, own: RecallFileStore, there: Path
) -> None:
    own.add("preferences", "shell", "zsh")
    memory.give(there)
    peer = Peer(there)
    peer.add("preferences", "tea", "Black.")
    peer.add("preferences", "linter", "Ruff 1.0", owner="w")
    peer.add("preferences", "milk", "Cold.")
    peer.remove("preferences", "shell")
    report = memory.take(there)
    assert (report.pages.updated, report.pages.created, report.files) == (["tea"], ["milk"], ["preferences"])
    assert report.missing == ["preferences:shell"]
    assert contents(memory.root, "preferences") == {"linter": "Ruff 1.0", "shell": "zsh"}
    assert memory.read("tea").body == "Black."
    again = memory.give(there)
    assert (again.again, again.conflicts) == (["preferences:shell"], [])
    assert contents(there, "preferences") == {
        "tea": "Black.",
        "linter": "Ruff 1.0",
        "milk": "Cold.",
        "shell": "zsh",
    }
    assert settled(memory.give(there)) and memory.take(there).pages.imported == 0


def test_own_items_that_changed_here_change_there(memory: Memory, own: RecallFileStore, there: Path) -> None:
    own.add("preferences", "shell", "zsh")
    memory.give(there)
    own.add("preferences", "linter", "Ruff 1.0")
    own.remove("preferences", "shell")
    memory.give(there)
    assert list(contents(there, "preferences").items())[1:] == [("linter", "Ruff 1.0")]
    own.remove("preferences", "linter")
    memory.give(there)
    assert (there / "wiki/preferences.md").read_bytes() == PREFERENCES.encode()
    assert settled(memory.give(there))


@pytest.mark.parametrize("choice", ["skip", "update"])
def test_an_own_item_that_both_changed_is_left_until_a_person_decides(
    memory: Memory, own: RecallFileStore, there: Path, choice: str
) -> None:
    memory.give(there)
    own.add("preferences", "linter", "ours")
    Peer(there).add("preferences", "linter", "theirs")
    for _ in range(2):
        assert memory.give(there).conflicts == ["preferences:linter"]
        assert contents(there, "preferences")["linter"] == "theirs"
    report = memory.take(there, choice)
    assert report.pages.skipped == (["preferences:linter"] if choice == "skip" else [])
    assert contents(memory.root, "preferences") == {"linter": "ours" if choice == "skip" else "theirs"}
    assert memory.give(there).conflicts == (["preferences:linter"] if choice == "skip" else [])


def test_an_own_item_that_is_gone_here_and_changed_there_comes_back(
    memory: Memory, own: RecallFileStore, there: Path
) -> None:
    own.add("preferences", "shell", "zsh")
    memory.give(there)
    own.remove("preferences", "linter")
    Peer(there).add("preferences", "linter", "theirs")
    for _ in range(2):
        assert memory.give(there).conflicts == ["preferences:linter"]
    memory.take(there)
    assert contents(memory.root, "preferences") == {"shell": "zsh", "linter": "theirs"}
    assert settled(memory.give(there)) or settled(memory.give(there))


def test_an_own_item_that_is_gone_here_stays_gone(memory: Memory, own: RecallFileStore, there: Path) -> None:
    own.add("preferences", "shell", "zsh")
    memory.give(there)
    own.remove("preferences", "linter")
    assert memory.take(there).files == []
    memory.give(there)
    assert contents(memory.root, "preferences") == {"shell": "zsh"}
    assert "linter" not in contents(there, "preferences")


def test_an_own_item_of_the_name_of_an_imported_one_has_another_there(
    memory: Memory, there: Path, tmp_path: Path
) -> None:
    own = RecallFileStore(memory.root)
    own.add("preferences", "tea", "None for me.")
    memory.give(there)
    assert contents(there, "preferences") == {"tea": "Green. [[people:kim]]", "tea (2)": "None for me."}
    assert settled(memory.give(there))
    Peer(there).add("preferences", "tea (2)", "A little.")
    other = Memory(tmp_path / "other")
    for each in (memory, other):
        each.take(there)
        assert contents(each.root, "preferences") == {"tea": "A little."}
        assert each.read("tea").body == "Green. [[entity/kim]]"
    assert memory.give(there).conflicts == [] and settled(memory.give(there))
    own.remove("preferences", "tea")
    memory.give(there)
    assert list(contents(there, "preferences")) == ["tea"]


def test_a_name_that_an_own_item_has_there_stays_its_name(root: Path, first: Path, there: Path) -> None:
    memory, own = Memory(root), RecallFileStore(root)
    own.add("preferences", "tea", "None for me.")
    memory.give(there)
    memory.take(first)
    for _ in range(2):
        memory.give(there)
        assert contents(there, "preferences") == {"tea": "None for me.", "tea (2)": "Green. [[people:kim]]"}
        memory.take(there)
        assert (contents(root, "preferences"), memory.read("tea").body) == (
            {"tea": "None for me."},
            "Green. [[entity/kim]]",
        )
    assert settled(memory.give(there))
    memory.take(first)
    assert [page.title for page in memory.store.list()] == ["kim", "tea"]


def test_two_items_that_say_the_same_are_both_kept(memory: Memory, there: Path) -> None:
    RecallFileStore(memory.root).add("people", "kim", "Nice.")
    memory.give(there)
    assert contents(there, "people") == {"kim": "Nice.", "kim (2)": "Nice."}
    memory.take(there)
    assert contents(memory.root, "people") == {"kim": "Nice."} and settled(memory.give(there))


def test_pages_join_an_own_recallfile_that_is_called_as_their_type(root: Path, there: Path) -> None:
    memory = Memory(root)
    mine = put(root, "wiki/entity.md", "mine\n\n## Ruff\n\nown\n")
    memory.write("Ruff", "page")
    memory.give(there)
    assert (there / "wiki/entity.md").read_text().startswith(mine.read_text())
    assert contents(there, "entity") == {"Ruff": "own", "Ruff (2)": "page"}
    memory.take(there)
    assert (mine.read_text(), memory.read("ruff").body) == ("mine\n\n## Ruff\n\nown\n", "page")
    assert settled(memory.give(there))


def test_a_secret_in_an_own_item_comes_back_as_it_was(root: Path, first: Path, there: Path) -> None:
    memory, own = Memory(root, redacting=True), RecallFileStore(root)
    memory.take(first)
    own.add("people", "aws", f"use {KEY}")
    own.add("people", "li", "Here.")
    memory.give(there)
    Peer(there).add("people", "li", f"or {KEY}")
    memory.take(there)
    assert contents(root, "people") == {"aws": f"use {KEY}", "li": "or [REDACTED:aws-access-key-id]"}
    kept = [data for name, data in files(root).items() if ".wikimem" in name]
    assert not any(KEY.encode() in data for data in kept)


def test_an_own_recallfile_that_cannot_be_read_leaves_the_file_there(
    memory: Memory, own: RecallFileStore, there: Path
) -> None:
    memory.give(there)
    before = wikimem_files(there)["wiki/preferences.md"]
    put(memory.root, "wiki/preferences.md", b"\xe9")
    report = memory.give(there)
    assert report.problems == [("wiki/preferences.md", "is not UTF-8 in the memory")]
    assert wikimem_files(there)["wiki/preferences.md"] == before
    put(memory.root, "wiki/preferences.md", "## linter\n\nback\n")
    memory.give(there)
    assert contents(there, "preferences") == {"tea": "Green. [[people:kim]]", "linter": "back"}


def test_a_day_that_is_imported_and_grows_here_settles(memory: Memory, first: Path, there: Path) -> None:
    put(first, "diary/2026-03-05.md", "mine\n\n## 08:00\na\n\n## 09:00\nb\n")
    memory.take(first)
    Diary(memory.root).append("ours", date="2026-03-05", time="08:30")
    for _ in range(2):
        memory.give(there)
        assert [event.content for event in Diary(there).day("2026-03-05")] == ["a", "ours", "b"]
        assert memory.take(there).days == [] and settled(memory.give(there))
        assert memory.take(first).days == []
    assert [event.content for event in Diary(memory.root).day("2026-03-05")] == ["a", "ours", "b"]


def test_what_was_edited_since_does_not_go_back_to_an_old_import(
    memory: Memory, first: Path, there: Path
) -> None:
    memory.write("tea", "Oolong.\n", "preference")
    memory.give(there)
    memory.take(there)
    for _ in range(2):
        assert memory.take(first).pages.imported == 0
        assert memory.read("tea").body == "Oolong.\n"
    Peer(first).add("preferences", "tea", "Black.")
    assert memory.take(first).pages.conflicts == ["tea"]


def test_an_item_of_another_directory_replaces_no_page(memory: Memory, first: Path, there: Path) -> None:
    memory.give(there)
    Peer(there).add("people", "li", "There.")
    memory.take(there)
    Peer(first).add("people", "li", "First.")
    assert memory.take(first).pages.conflicts == ["li"] and memory.read("li").body == "There."
    memory.take(first, "rename")
    assert {"There.", "First."} <= {page.body for page in memory.store.list()}


def polluted(memory: Memory, there: Path) -> None:
    """`there` and the memory as exports left them that moved pages beside an own RecallFile."""
    memory.give(there)
    RecallFileStore(memory.root).add("people", "li", "Here.")
    put(there, "wiki/people-2.md", "# people\n\n## kim\n\nNice.\n")
    put(there, "wiki/people-3.md", "# people\n")
    put(there, "wiki/people-4.md", "# people\n\n## kim\n\nNice.\n")
    side = json.loads((there / ".memex/export.json").read_bytes())
    for name in ("wiki/people-2.md", "wiki/people-3.md", "wiki/people-4.md"):
        side["files"][name] = {"sha256": "", "kind": "pages"}
    for record in side["items"]:
        if record["file"] == "people":
            record["file"] = "people-2"
    put(there, ".memex/export.json", json.dumps(side))


@pytest.mark.parametrize("is_imported", [False, True])
def test_copies_that_older_exports_left_go_away(root: Path, tmp_path: Path, is_imported: bool) -> None:
    memory, there = Memory(root), tmp_path / "there"
    put(tmp_path / "first", "wiki/people.md", "# people\n\n## kim\n\nNice.\n")
    memory.take(tmp_path / "first")
    polluted(memory, there)
    if is_imported:
        memory.take(there)
    memory.give(there)
    assert sorted(path.name for path in (there / "wiki").iterdir()) == ["people.md"]
    assert contents(there, "people") == {"kim": "Nice.", "li": "Here."}
    memory.take(there)
    assert settled(memory.give(there))
    memory.give(tmp_path / "new")
    assert wikimem_files(tmp_path / "new")["wiki/people.md"] == wikimem_files(there)["wiki/people.md"]
    assert [page.title for page in memory.store.list()] == ["kim"]


def test_a_copy_that_was_edited_there_stays(root: Path, tmp_path: Path) -> None:
    memory, there = Memory(root), tmp_path / "there"
    put(tmp_path / "first", "wiki/people.md", "# people\n\n## kim\n\nNice.\n")
    memory.take(tmp_path / "first")
    polluted(memory, there)
    put(there, "wiki/people-2.md", "# people\n\n## kim\n\nNicer.\n")
    memory.give(there)
    assert contents(there, "people-2") == {"kim": "Nicer."}
    memory.take(there)
    assert "Nicer." in {page.body for page in memory.store.list()}


def test_a_file_with_a_number_is_no_copy(root: Path, tmp_path: Path) -> None:
    memory = Memory(root)
    put(tmp_path / "first", "wiki/people.md", "# people\n\n## kim\n\nNice.\n")
    put(tmp_path / "first", "wiki/people-2.md", "# people-2\n")
    put(tmp_path / "first", "wiki/people-3.md", "# people\n\n## kim\n\nOther.\n")
    memory.take(tmp_path / "first")
    memory.give(tmp_path / "there")
    assert wikimem_files(tmp_path / "there") == wikimem_files(tmp_path / "first")


def test_without_the_side_file_nothing_is_lost(memory: Memory, own: RecallFileStore, there: Path) -> None:
    memory.give(there)
    shutil.rmtree(there / ".memex")
    memory.take(there)
    memory.give(there.with_name("new"))
    assert contents(there.with_name("new"), "preferences").keys() == {"tea", "linter", "linter (2)"}


def test_an_own_recallfile_of_another_memory_leaves_what_was_imported(
    memory: Memory, there: Path, tmp_path: Path
) -> None:
    other = Memory(tmp_path / "other")
    RecallFileStore(other.root).add("people", "li", "Here.")
    other.give(there)
    memory.take(there)
    memory.give(tmp_path / "new")
    assert (tmp_path / "new/wiki/people.md").read_text().startswith(PEOPLE)
    assert contents(tmp_path / "new", "people") == {"kim": "Nice.", "li": "Here."}
