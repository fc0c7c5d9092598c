"""`import --from wikimem` and what it learns from a directory that was edited since."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from wikimem_peer import Memory, Peer, files, put, wikimem_files

from memex_core.archive.import_export import ImportExport
from memex_core.archive.wikimem_exchange import forget_missing
from memex_core.errors import NotFound, Refused
from memex_core.model.results import ImportReport
from memex_core.store.diary import Diary
from memex_core.store.journal import ForgottenSession
from memex_core.text.blocks import render_file

KIM = "<!-- wikimem: owner=user:kim | source=c7 | ts=2026-03-01T09:00:00+00:00 -->"
PETS = (
    "\ufeff# My Pets\r\n\r\nwords of mine\r\n\r\n##  cat\r\nold\r\n<!-- wikimem: mood=sad | owner=k -->\r\n"
    "## dog\r\n\r\n\r\nBarks at [[pets:cat]] and [[no:one]]\r\n## cat\r\nTabby\r\n"
)
ENTITY = f"# entity\n\n## Ruff\n\nFast. See [[pets:cat]].\n\n{KIM}\n\n## a:b | c\n\nodd\n"
DAY = "# 2026-03-05\n\n## 08:30\n\nfirst\n\n## Evening\n\nlate\n"
LINES = b'{"ts": "T", "action": "add", "file": "pets", "item": "cat"}\ntorn\n{"ts": "T", "action": "diary"}'
CASES = json.loads((Path(__file__).parent.parent / "fixtures" / "wikimem" / "cases.json").read_text("utf-8"))
KEY = "AKIAIOSFODNN7EXAMPLF"


@pytest.fixture
def memory(root: Path) -> Memory:
    return Memory(root)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    folder = tmp_path / "there"
    put(folder, "wiki/pets.md", PETS)
    put(folder, "wiki/entity.md", ENTITY)
    put(folder, "wiki/preferences.md", "# preferences\n\n## tea\n\nGreen.\n")
    put(folder, "diary/2026-03-05.md", DAY)
    put(folder, "journal.jsonl", LINES)
    return folder


def counts(report: ImportReport) -> dict[str, int]:
    names = ("created", "updated", "unchanged", "renamed", "skipped", "conflicts", "refused")
    return {name: len(getattr(report, name)) for name in names if getattr(report, name)}


def test_every_item_becomes_a_page_of_the_type_its_file_is_named_for(memory: Memory, there: Path) -> None:
    report = memory.take(there)
    assert counts(report.pages) == {"created": 5} and report.pages.imported == 5 and not report.problems
    assert sorted(memory.pages()) == [
        "entities/a-b-c.md",
        "entities/cat.md",
        "entities/dog.md",
        "entities/ruff.md",
        "preferences/tea.md",
    ]
    assert (memory.read("tea").tags, memory.read("cat").tags) == ([], ["pets"])
    assert (memory.read("a-b-c").title, memory.read("cat").body) == ("a:b | c", "Tabby")


def test_a_page_keeps_what_its_item_said_word_for_word(memory: Memory, there: Path) -> None:
    memory.take(there)
    assert memory.read("ruff").extra["wikimem"] == {
        "file": "entity",
        "name": "Ruff",
        "order": "0",
        "owner": "user:kim",
        "source": "c7",
        "ts": "2026-03-01T09:00:00+00:00",
    }
    assert memory.read("ruff").updated == memory.read("ruff").created == "2026-03-01T09:00:00Z"
    assert memory.read("a-b-c").extra["wikimem"] == {"file": "entity", "name": "a:b | c", "order": "1"}


def test_a_source_that_is_a_session_here_leads_to_its_transcript(memory: Memory, there: Path) -> None:
    put(memory.root, "transcripts/c7.jsonl", "{}\n")
    memory.take(there)
    assert memory.read("ruff").transcript_ref == "transcripts/c7.jsonl"
    assert memory.read("cat").transcript_ref is None


def test_links_between_items_become_links_between_pages(memory: Memory, there: Path) -> None:
    memory.take(there)
    assert memory.read("ruff").body == "Fast. See [[entity/cat]]."
    assert memory.read("dog").body == "Barks at [[entity/cat]] and [[no:one]]"


def test_a_link_in_code_stays_as_it_is(memory: Memory, there: Path) -> None:
    put(there, "wiki/code.md", "## a\n\n```\n[[pets:cat]]\n```\n")
    memory.take(there)
    assert memory.read("a").body == "```\n[[pets:cat]]\n```"


def test_a_slug_that_another_page_has_gets_a_mark(memory: Memory, there: Path) -> None:
    mine = memory.write("Cat!", "Mine.\n")
    memory.take(there)
    assert memory.read("cat").body == mine.body
    (slug,) = (name for name in memory.pages() if name.startswith("entities/cat-"))
    assert slug == "entities/cat-77af778b.md"


def test_names_that_differ_in_letter_case_are_two_pages(memory: Memory, tmp_path: Path) -> None:
    put(
        tmp_path / "there",
        "wiki/pets.md",
        "## cat\n\none\n\n## Cat\n\ntwo\n\n## 猫\n\nthree\n\n## ##\n\nfour\n",
    )
    report = memory.take(tmp_path / "there")
    assert len(report.pages.created) == 4
    assert {page.body for page in memory.store.list()} == {"one", "two", "three", "four"}


def test_a_page_that_says_the_same_already_is_the_page_of_the_item(memory: Memory, there: Path) -> None:
    mine = memory.write("tea", "Green.\n", "preference", tags=["mine"])
    before = memory.pages()
    report = memory.take(there)
    assert report.pages.unchanged == ["tea"] and memory.read("tea") == mine
    assert before.items() <= memory.pages().items()


def test_names_that_differ_in_control_characters_are_two_pages(memory: Memory, tmp_path: Path) -> None:
    there = tmp_path / "names"
    put(there, "wiki/pets.md", "## cat\n1\n## \x00cat\n2\n## ca\x00t\n3\n")
    assert counts(memory.take(there).pages) == {"created": 3}
    before = files(memory.root)
    assert counts(memory.take(there).pages) == {"unchanged": 3} and files(memory.root) == before


def test_a_name_without_its_control_characters_is_not_that_of_another_item(
    memory: Memory, tmp_path: Path
) -> None:
    there = tmp_path / "names"
    put(there, "wiki/pets.md", "##  \nb\n")
    memory.take(there)
    put(there, "wiki/pets.md", "## \x00\na\n##  \nb\n")
    assert counts(memory.take(there).pages) == {"created": 1, "unchanged": 1}
    assert memory.read("pets").body == "b"


def test_importing_twice_changes_nothing(memory: Memory, there: Path) -> None:
    memory.take(there)
    before = files(memory.root)
    report = memory.take(there)
    assert counts(report.pages) == {"unchanged": 5}
    assert (report.days, report.journal_lines, files(memory.root)) == ([], 0, before)


def test_what_is_not_changed_comes_out_byte_for_byte(memory: Memory, there: Path, tmp_path: Path) -> None:
    put(there, "wiki/latin.md", b"## a\n\n\xe9\n")
    put(there, "wiki/sub/deep.md", "## x\n")
    put(there, "diary/notes.md", "mine")
    put(there, "vectors-000001.npy", b"derived")
    report = memory.take(there)
    assert report.kept == ["diary/notes.md", "wiki/sub/deep.md"]
    assert [path for path, _ in report.problems] == ["wiki/latin.md"]
    memory.give(tmp_path / "back")
    assert wikimem_files(tmp_path / "back") == wikimem_files(there)
    assert sorted({name.split("/")[0] for name in files(tmp_path / "back")}) == [
        ".lock",
        ".memex",
        "diary",
        "journal.jsonl",
        "wiki",
    ]


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["kind"] == "read"], ids=lambda case: case["id"]
)
def test_every_way_to_write_a_recallfile_comes_out_as_it_went_in(
    memory: Memory, tmp_path: Path, case: dict[str, Any]
) -> None:
    put(tmp_path / "there", "wiki/pets.md", case["raw"])
    items = Peer(tmp_path / "there").items("pets")
    assert len(memory.take(tmp_path / "there").pages.created) == len(items)
    memory.give(tmp_path / "back")
    assert wikimem_files(tmp_path / "back") == {"wiki/pets.md": case["raw"].encode()}


def test_an_item_that_changed_there_changes_its_page(memory: Memory, there: Path) -> None:
    memory.take(there)
    before = memory.read("tea")
    memory.store.amend("tea", tags=["drink"], extra={"rating": 5})
    Peer(there).add("preferences", "tea", "Black. [[pets:cat]]", ts="2026-05-01T08:00:00+02:00")
    report = memory.take(there)
    after = memory.read("tea")
    assert (report.pages.updated, report.pages.conflicts) == (["tea"], [])
    assert (after.body, after.updated) == ("Black. [[entity/cat]]", "2026-05-01T06:00:00Z")
    assert (after.id, after.created, after.tags) == (before.id, before.created, ["drink"])
    assert after.extra["rating"] == "5"
    assert after.extra["wikimem"]["ts"] == "2026-05-01T08:00:00+02:00"


def test_a_page_that_changed_here_stays_while_its_item_does(memory: Memory, there: Path) -> None:
    memory.take(there)
    memory.write("tea", "Oolong.\n", "preference")
    report = memory.take(there)
    assert (report.pages.conflicts, memory.read("tea").body) == ([], "Oolong.\n")


@pytest.mark.parametrize("choice", ["skip", "update", "rename"])
def test_where_both_changed_the_caller_decides(memory: Memory, there: Path, choice: str) -> None:
    memory.take(there)
    memory.write("tea", "Oolong.\n", "preference")
    Peer(there).add("preferences", "tea", "Black.")
    report = memory.take(there, choice)
    assert report.pages.conflicts == ["tea"]
    bodies = sorted(page.body for page in memory.store.list("preference"))
    assert bodies == {"skip": ["Oolong.\n"], "update": ["Black."], "rename": ["Black.", "Oolong.\n"]}[choice]
    again = memory.take(there, choice)
    assert again.pages.imported == 0
    assert again.pages.conflicts == (["tea"] if choice == "skip" else [])


def test_an_item_that_is_gone_is_told_and_its_page_stays(memory: Memory, there: Path) -> None:
    memory.take(there)
    before = memory.pages()
    Peer(there).remove("preferences", "tea")
    Peer(there).remove("pets", "dog")
    for _ in range(2):
        assert sorted(memory.take(there).missing) == ["pets:dog", "preferences:tea"]
    assert memory.pages() == before


def test_a_forgotten_page_does_not_come_back(memory: Memory, there: Path) -> None:
    memory.take(there)
    put(there, "journal.jsonl", '{"action": "add", "file": "preferences", "item": "tea"}\n')
    memory.take(there)
    memory.journal.forget_node("", 0, "typed", "tea", "2026-09-15T10:00:00Z")
    memory.store.delete("tea", "preference")
    forget_missing(memory.root, memory.store.list())
    memory.journal.scrub({"preferences/tea"})
    put(there, "wiki/preferences.md", "# preferences\n\n## tea\n\nGreen.\n\n## milk\n\nCold.\n")
    report = memory.take(there)
    assert report.pages.skipped == ["tea"] and memory.store.read("tea") is None
    left = b"".join(files(memory.root).values())
    assert b"Green." not in left and b'"tea"' not in left
    assert report.pages.created == ["milk"] and memory.take(there).pages.skipped == ["tea"]


def test_what_a_forgotten_session_left_does_not_come_back(memory: Memory, there: Path) -> None:
    comment = "<!-- wikimem: owner=tool | source=c7 | ts=2026-03-05T09:00:00+00:00 -->"
    put(there, "diary/2026-03-05.md", f"{DAY}\n## 09:00\n\nsecret plan\n\n{comment}\n")
    memory.journal.forget_session(ForgottenSession("c7"), "2026-09-15T10:00:00Z")
    for _ in range(2):
        assert memory.take(there).pages.skipped == ["ruff"]
        assert (memory.root / "diary/2026-03-05.md").read_bytes().decode().rstrip() == DAY.rstrip()
        assert not any(b"secret" in data or b"Fast." in data for data in files(memory.root).values())


def test_an_item_under_another_name_is_still_its_page(memory: Memory, there: Path) -> None:
    memory.take(there)
    before = memory.read("tea")
    Peer(there).remove("preferences", "tea")
    Peer(there).add("preferences", "hot drink", "Green.")
    report = memory.take(there)
    after = memory.read("tea")
    assert (report.renamed, report.missing) == ([("preferences:tea", "preferences:hot drink")], [])
    assert (after.title, after.id, after.body) == ("hot drink", before.id, before.body)
    assert counts(memory.take(there).pages) == {"unchanged": 5}


def test_secrets_stay_outside_unless_that_is_not_wanted(there: Path, tmp_path: Path) -> None:
    put(there, "wiki/keys.md", f"## aws\n\nuse {KEY}\n")
    put(there, "diary/2026-03-06.md", f"# 2026-03-06\n\n## 10:00\n\nthe key is {KEY}\n")
    put(there, "wiki/notes.txt", f"{KEY} é".encode("latin-1"))
    put(there, "journal.jsonl", f'{{"action": "add", "file": "keys", "item": "{KEY}"}}\n')
    careful, plain = Memory(tmp_path / "careful", redacting=True), Memory(tmp_path / "plain")
    report = careful.take(there)
    assert report.redacted == ["diary/2026-03-06.md", "journal.jsonl", "wiki/keys.md", "wiki/notes.txt"]
    assert not any(KEY.encode() in data for data in files(careful.root).values())
    assert careful.take(there).pages.imported == 0
    assert plain.take(there).redacted == []
    for memory in (careful, plain):
        memory.give(tmp_path / "back" / memory.root.name)
    assert wikimem_files(tmp_path / "back" / "plain") == wikimem_files(there)
    back = wikimem_files(tmp_path / "back" / "careful")
    assert back == {
        name: data.replace(KEY.encode(), b"[REDACTED:aws-access-key-id]")
        for name, data in wikimem_files(there).items()
    }


def test_a_day_joins_the_diary_and_grows_with_it(memory: Memory, there: Path) -> None:
    assert memory.take(there).days == ["2026-03-05"]
    assert (memory.root / "diary/2026-03-05.md").read_bytes() == DAY.encode()
    put(there, "diary/2026-03-05.md", f"{DAY}\n## 23:00\n\nmore\n")
    assert memory.take(there).days == ["2026-03-05"]
    assert [event.content for event in Diary(memory.root).day("2026-03-05")] == ["first", "late", "more"]


def test_two_days_that_both_changed_become_one(memory: Memory, there: Path) -> None:
    memory.take(there)
    Diary(memory.root).append("ours", date="2026-03-05", time="09:00")
    put(
        there,
        "diary/2026-03-05.md",
        DAY.replace("first\n", "first\n\n## 08:30\n\nsame minute\n\n## 9\n\nodd\n"),
    )
    assert memory.take(there).days == ["2026-03-05"]
    events = [(event.time, event.content) for event in Diary(memory.root).day("2026-03-05")]
    assert sorted(events) == sorted(
        [("08:30", "first"), ("08:30", "same minute"), ("09:00", "ours"), ("Evening", "late"), ("9", "odd")]
    )
    assert events.index(("08:30", "same minute")) < events.index(("09:00", "ours"))
    assert memory.take(there).days == []


def test_journal_lines_are_appended_once_and_torn_ones_left_out(memory: Memory, there: Path) -> None:
    assert memory.take(there).journal_lines == 2
    lines = [(line["action"], line.get("file")) for line in memory.journal.lines()]
    assert lines.count(("add", "pets")) == 1 and lines.count(("diary", None)) == 1
    assert memory.take(there).journal_lines == 0


def test_a_page_that_an_import_wrote_is_in_the_journal(memory: Memory, there: Path) -> None:
    memory.take(there)
    Peer(there).add("preferences", "tea", "Black.")
    memory.take(there)
    mine = [line for line in memory.journal.lines() if line.get("item") == "tea"]
    assert [(line["action"], line["file"]) for line in mine] == [
        ("add", "preferences/tea"),
        ("update", "preferences/tea"),
    ]


def test_a_memory_does_not_import_itself(memory: Memory, there: Path) -> None:
    with pytest.raises(Refused, match="this memory itself"):
        Memory(there).take(there)
    put(memory.root, "inner/wiki/a.md", "## a\n")
    with pytest.raises(Refused, match="a part of it"):
        memory.take(memory.root / "inner")


def test_what_is_no_directory_of_wikimem_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        memory.take(tmp_path / "nowhere")
    with pytest.raises(NotFound, match="wiki/ or diary/"):
        memory.take(tmp_path)
    with pytest.raises(ValueError, match="on_conflict"):
        memory.take(tmp_path, "merge")
    assert not memory.root.exists()


def test_a_damaged_side_file_or_origin_is_refused(memory: Memory, there: Path) -> None:
    memory.take(there)
    records = memory.root / "docs/.wikimem/records.json"
    for text in ("{", '{"version": 2}', '{"version": 1, "files": {}, "items": [{"file": 1}]}', "[" * 100_000):
        records.write_text(text)
        with pytest.raises(Refused, match="cannot be read"):
            memory.take(there)
        put(there, ".memex/export.json", text)
        with pytest.raises(Refused, match="cannot be read"):
            Memory(memory.root.parent / "other").take(there)


def test_a_side_file_that_would_be_waited_for_is_refused(memory: Memory, there: Path) -> None:
    (there / ".memex").mkdir()
    os.mkfifo(there / ".memex/export.json")
    with pytest.raises(Refused, match="cannot be read"):
        memory.take(there)


def test_without_records_pages_are_known_by_what_they_say(memory: Memory, there: Path) -> None:
    memory.take(there)
    before = memory.pages()
    for path in (memory.root / "docs/.wikimem").iterdir():
        path.unlink()
    assert counts(memory.take(there).pages) == {"unchanged": 5}
    assert memory.pages() == before
    (memory.root / "docs/.wikimem/records.json").unlink()
    Peer(there).add("preferences", "tea", "Black.")
    assert memory.take(there).pages.conflicts == ["tea"]


def test_a_full_disk_stops_the_import_and_the_next_one_goes_on(
    memory: Memory, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Memory(memory.root.parent / "whole")
    whole.take(there)
    done = ImportExport.import_nodes

    def stops(self: ImportExport, document: list[object], on_conflict: str = "skip") -> ImportReport:
        done(self, document[:2], on_conflict)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ImportExport, "import_nodes", stops)
    with pytest.raises(OSError, match="No space"):
        memory.take(there)
    monkeypatch.undo()
    assert counts(memory.take(there).pages) == {"created": 3, "unchanged": 2}
    assert sorted(memory.pages()) == sorted(whole.pages())


def test_a_second_store_joins_the_first(memory: Memory, there: Path, tmp_path: Path) -> None:
    memory.take(there)
    put(tmp_path / "second", "wiki/pets.md", render_file("pets", []))
    put(tmp_path / "second", "wiki/places.md", "## home\n\nHere.\n")
    report = memory.take(tmp_path / "second")
    assert report.pages.created == ["home"]
    memory.give(tmp_path / "back")
    assert {item.name for item in Peer(tmp_path / "back").items("pets")} == {"cat", "dog"}
    assert (tmp_path / "back/wiki/places.md").read_text() == "## home\n\nHere.\n"
    assert (tmp_path / "back/wiki/entity.md").read_bytes() == ENTITY.encode()
