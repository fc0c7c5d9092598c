"""`memex recall`, `show`, `list`, `links`, `provenance` (seed 000 §5.1, §5.4, §7; issue 3 item 2)."""

from __future__ import annotations

import sqlite3
from dataclasses import fields
from pathlib import Path

import pytest
from memex_program import memex_cli, memex_program, on_a_terminal
from read_only_memory import as_nobody, read_only_memory

from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.results import ProvenanceReport, RecallHit, RecallResult
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    words = "I prefer ruff. See POL-358, don't use foo.bar in c++."
    memex.write(WriteInput("preference", "User preference: ruff", words, tags=["Python", "style"]))
    memex.write(WriteInput("entity", "Entity: Zephyr", "Zephyr is our build server."))
    return memex


@pytest.mark.parametrize(
    "query", ["POL-358", "don't", "c++", "foo.bar", "ruff AND", 'ruff "', "ruff NEAR(", "(ruff*"]
)
def test_recall_answers_whatever_people_type(memex: Memex, query: str) -> None:
    assert memex_cli("recall", query).json["hits"][0]["slug"] == "user-preference-ruff"


@pytest.mark.parametrize("query", ["", "   ", "?!", "\\0", "word " * 10_000])
def test_recall_of_nothing_or_far_too_much_is_no_failure(memex: Memex, query: str) -> None:
    done = memex_cli("recall", query)
    assert done.json["query"] == query and done.stderr == ""


def test_recall_as_json_is_the_recall_result_of_the_specification(memex: Memex) -> None:
    result = memex_cli("recall", "ruff").json
    assert list(result) == [field.name for field in fields(RecallResult)]
    assert list(result)[:5] == ["query", "hits", "total_indexed", "search_engine", "search_time_ms"]
    assert list(result["hits"][0]) == [field.name for field in fields(RecallHit)]
    assert list(result["hits"][0])[:15] == [
        *("slug", "file_path", "title", "node_type", "importance", "score", "rank", "snippet"),
        *("snippet_source", "tags", "created", "updated", "last_access", "transcript_ref", "links"),
    ]
    assert (result["total_indexed"], result["search_engine"]) == (2, "bm25")


def test_recall_on_a_terminal_is_text_for_a_person(memex: Memex) -> None:
    shown = on_a_terminal("recall", "ruff").stdout
    assert "User preference: ruff" in shown and "{" not in shown
    assert "nothing found" in on_a_terminal("recall", "zzzz").stdout


def test_recall_in_the_context_format_is_the_block_of_the_specification(memex: Memex) -> None:
    lines = memex_cli("recall", "ruff", "--format", "context").stdout.splitlines()
    assert lines[:3] == ["=== memex MEMORY ===", '[Search: "ruff"]', "---"]
    assert lines[3].startswith("1. User preference: ruff (preference) | importance: 0.5 | updated: ")
    assert lines[4].startswith("   File: ") and lines[6:9] == ["   Tags: Python, style", "   Links: ", "---"]
    assert lines[-1] == "=== END memex MEMORY ==="


def test_the_block_for_a_prompt_quotes_what_the_page_says_and_json_marks_the_words(memex: Memex) -> None:
    words = "I prefer ruff. See POL-358, don't use foo.bar in c++."
    assert f"   {words}" in memex_cli("recall", "ruff", "--format", "context").stdout.splitlines()
    assert "<mark>ruff</mark>" in memex_cli("recall", "ruff").json["hits"][0]["snippet"]


def recalled(*arguments: str) -> set[str]:
    return {hit["slug"] for hit in memex_cli("recall", *arguments).json["hits"]}


def test_each_filter_of_recall_filters(root: Path, tmp_path: Path) -> None:
    memex = Memex(root, now=lambda: "2026-09-15T10:00:00Z")
    memex.write(WriteInput("entity", "Old", "quokka", tags=["a", "b"], project=str(tmp_path / "demo")))
    later = Memex(root, now=lambda: "2026-11-15T10:00:00Z")
    later.write(WriteInput("procedure", "New", "quokka", tags=["a"]))
    later.write(WriteInput("entity", "Gone", "quokka", expires_at="2020-01-01"))
    assert recalled("quokka") == {"old", "new"}
    assert recalled("quokka", "--type", "procedure") == {"new"}
    assert recalled("quokka", "--tag", "a") == {"old", "new"}
    assert recalled("quokka", "--tag", "a", "--tag", "b") == {"old"}
    assert recalled("quokka", "--since", "2026-10-01") == {"new"}
    assert recalled("quokka", "--until", "2026-09-15") == {"old"}
    assert recalled("quokka", "--project", str(tmp_path / "demo")) == {"old"}
    assert recalled("quokka", "--include-expired") == {"old", "new", "gone"}
    assert len(recalled("quokka", "--top-k", "1")) == 1


def test_words_of_a_query_need_no_quotes(memex: Memex) -> None:
    assert memex_cli("recall", "our", "build", "server").json["query"] == "our build server"


def test_show_prints_the_page_by_slug_title_or_begin_of_a_session_id(memex: Memex) -> None:
    assert memex_cli("show", "user-preference-ruff").json["title"] == "User preference: ruff"
    assert memex_cli("show", "entity: zephyr").json["slug"] == "entity-zephyr"
    assert on_a_terminal("show", "entity-zephyr").stdout.startswith("---")


def test_show_as_text_gives_the_bytes_of_the_file_where_they_are_piped(memex: Memex) -> None:
    path = memex.store.get_path("entity-zephyr")
    path.write_bytes(b"\xef\xbb\xbf# Zephyr\r\n\x1b[2Jcaf\xe9\r\n")
    command = ["show", "entity-zephyr", "--text"]
    assert (
        memex_program(*command)
        .stdout.encode("utf-8", "replace")
        .startswith(b"\xef\xbb\xbf# Zephyr\r\n\x1b[2J")
    )


def test_what_a_page_says_cannot_steer_the_terminal(memex: Memex) -> None:
    path = memex.store.get_path("entity-zephyr")
    path.write_text('---\ntitle: "A\\u001b]0;owned\\u0007B"\n---\n\x1b[2Jzebra \x9b31m\n', "utf-8")
    for arguments in (["show", "entity-zephyr"], ["list"], ["recall", "zebra"]):
        shown = on_a_terminal(*arguments).stdout
        assert "\x1b[2J" not in shown and "\x1b]0" not in shown and "\x9b" not in shown, arguments
        assert "\x07" not in shown, arguments


def test_list_names_every_page_and_can_be_narrowed(memex: Memex) -> None:
    def slugs(*arguments: str) -> set[str]:
        return {page["slug"] for page in memex_cli("list", *arguments).json}

    assert slugs() == {"user-preference-ruff", "entity-zephyr"}
    assert slugs("--type", "entity") == {"entity-zephyr"}
    assert slugs("--tag", "python", "--tag", "style") == {"user-preference-ruff"}
    assert slugs("--tag", "python", "--tag", "no") == set()
    assert slugs("--warnings") == set()


def test_list_as_text_is_a_table_whose_columns_line_up(root: Path) -> None:
    Memex(root).write(WriteInput("entity", "Wide 漢字", "x"))
    Memex(root).write(WriteInput("entity", "Plain", "x"))
    header, *rows = memex_cli("list", "--text").stdout.splitlines()
    assert header.split() == ["UPDATED", "TYPE", "SLUG", "TITLE"]
    begins = [
        line[: line.index(word)]
        for line, word in zip([header, *rows], ["TITLE", *_titles(rows)], strict=True)
    ]
    columns = {sum(2 if char > "\u2e80" else 1 for char in begin) for begin in begins}
    assert len(columns) == 1


def _titles(rows: list[str]) -> list[str]:
    return [next(title for title in ("Wide 漢字", "Plain") if title in row) for row in rows]


def test_list_tells_what_is_odd_about_a_page(memex: Memex) -> None:
    memex.store.get_path("entity-zephyr").write_text("---\ntitle: [x\n---\nZephyr\n", "utf-8")
    found = memex_cli("list", "--warnings").json
    assert [page["slug"] for page in found] == ["entity-zephyr"] and found[0]["warning"]
    assert found[0]["warning"] in memex_cli("list", "--warnings", "--text").stdout


@pytest.fixture
def linked(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "Our build server."))
    with pytest.warns(UserWarning, match="does not exist"):
        memex.write(WriteInput("procedure", "Release", "Build on [[zephyr]], then [[announce]]."))
    return memex


def test_links_of_a_page_are_outgoing_backlinks_and_broken(linked: Memex) -> None:
    assert memex_cli("links", "release").json == {
        "slug": "release",
        "type": "procedure",
        "outgoing": ["announce", "zephyr"],
        "backlinks": [],
        "broken": ["announce"],
    }
    assert memex_cli("links", "Zephyr").json["backlinks"] == ["release"]


def test_links_as_text_says_which_way_they_lead(linked: Memex) -> None:
    assert memex_cli("links", "release", "--text").stdout.splitlines() == [
        "links to  announce  (no such page)",
        "links to  zephyr",
    ]
    assert memex_cli("links", "zephyr", "--text").stdout == "linked from  release\n"


def test_links_of_the_whole_memory(linked: Memex) -> None:
    assert memex_cli("links", "--broken").json == [
        {"page": "docs/procedures/release.md", "link": "announce", "name": "procedure/release"}
    ]
    assert memex_cli("links", "--graph").json == {"release": ["announce", "zephyr"]}
    assert "announce" in memex_cli("links", "--broken", "--text").stdout
    assert memex_cli("links", "--graph", "--text").stdout == "release -> announce, zephyr\n"


def test_links_of_an_item_and_of_an_event(linked: Memex) -> None:
    RecallFileStore(linked.root).add("pets", "cat", "Sits on [[zephyr]], fears [[pets:dog]].")
    Diary(linked.root).append("Fed [[pets:cat]].", date="2026-09-15", time="10:00")
    assert memex_cli("links", "pets:cat").json == {
        "slug": "pets:cat",
        "type": "item",
        "outgoing": ["pets:dog", "zephyr"],
        "backlinks": ["2026-09-15#0"],
        "broken": ["pets:dog"],
    }
    assert memex_cli("links", "2026-09-15#0", "--text").stdout == "links to  pets:cat\n"
    for arguments in (["pets:dog"], ["2026-09-15#1"], ["pets:cat", "--type", "entity"]):
        done = memex_cli("links", *arguments)
        assert done.returncode == 1 and "memex item list" in done.stderr


def test_every_door_lists_the_same_dangling_links(linked: Memex) -> None:
    RecallFileStore(linked.root).add("pets", "cat", "Fears [[pets:dog]]. `[[in:code]]`")
    Diary(linked.root).append("Lost [[pets:fish]].", date="2026-09-15", time="10:00")
    with pytest.warns(UserWarning, match="pets:fish, which does not exist"):
        linked.write(WriteInput("entity", "Aquarium", "For [[pets:fish]]."))
    assert "links to  pets:fish  (no such item)" in memex_cli("links", "aquarium", "--text").stdout
    broken = {(each["page"], each["link"]) for each in memex_cli("links", "--broken").json}
    assert broken == {
        ("docs/entities/aquarium.md", "pets:fish"),
        ("docs/procedures/release.md", "announce"),
        ("wiki/pets.md#cat", "pets:dog"),
        ("diary/2026-09-15.md#0", "pets:fish"),
    }
    assert memex_cli("info").json["broken_links"] == [f"{page} -> {link}" for page, link in sorted(broken)]
    table = memex_cli("links", "--broken", "--text").stdout.splitlines()
    for row in table[1:]:
        name, link = row.split()
        assert link in memex_cli("links", name).json["broken"]
    assert {row.split()[0] for row in table[1:]} == {
        *("entity/aquarium", "procedure/release", "pets:cat", "2026-09-15#0")
    }
    nodes = memex_cli("graph", "--format", "json").json["nodes"]
    assert {node["title"] for node in nodes if node["unresolved"]} == {link for _, link in broken}


def test_links_of_a_memory_without_any(root: Path) -> None:
    assert (memex_cli("links", "--broken").json, memex_cli("links", "--graph").json) == ([], {})
    assert memex_cli("links", "--broken", "--text").stdout == "no link is broken\n"


def test_links_answer_while_the_index_cannot_be_used(linked: Memex) -> None:
    linked.heal(force=True)
    expected = memex_cli("links", "release").json
    (linked.root / "mem.db").unlink()
    (linked.root / "mem.db").mkdir()  # no index can be put there
    assert memex_cli("links", "release").json == expected
    assert memex_cli("links", "--graph").json == {"release": ["announce", "zephyr"]}


@pytest.mark.parametrize("arguments", [[], ["release", "--broken"], ["--broken", "--graph"]])
def test_links_wants_to_know_which(linked: Memex, arguments: list[str]) -> None:
    done = memex_cli("links", *arguments)
    assert done.returncode == 2 and "which links" in done.stderr


def test_provenance_as_json_is_the_report_of_the_specification(memex: Memex) -> None:
    report = memex_cli("provenance", "entity-zephyr").json
    assert list(report) == [field.name for field in fields(ProvenanceReport)]
    assert (report["slug"], report["confidence"]) == ("entity-zephyr", "none")


def test_provenance_as_text_names_session_and_turn(root: Path) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "x", sources=["s-1#7"]))
    shown = memex_cli("provenance", "zephyr", "--text").stdout
    assert shown.startswith("zephyr: direct") and "said in s-1, turn 7" in shown


ANSWERS = [
    (["recall", "ruff"], '"slug": "user-preference-ruff"'),
    (["show", "zephyr"], "Our build server."),
    (["list"], '"slug": "zephyr"'),
    (["links", "user-preference-ruff"], '"zephyr"'),
    (["sessions"], '"session_id": "s-1"'),
    (["provenance", "zephyr"], '"confidence": "none"'),
    (["info"], '"sessions": 1'),
    (["journal"], '"file": "entities/zephyr"'),
    (["export"], "Our build server."),
]


@pytest.mark.parametrize("state", ["deleted", "zeros", "held"])
@pytest.mark.parametrize(("arguments", "answer"), ANSWERS, ids=[arguments[0] for arguments, _ in ANSWERS])
def test_every_reading_command_answers_whatever_happened_to_the_index(
    root: Path, state: str, arguments: list[str], answer: str
) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "Our build server."))
    memex.write(WriteInput("preference", "User preference: ruff", "I prefer ruff on [[zephyr]]."))
    (root / "transcripts").mkdir()
    (root / "transcripts" / "s-1.meta.json").write_text('{"session_id": "s-1"}', "utf-8")
    memex.heal(force=True)
    index = root / "mem.db"
    holder = sqlite3.connect(index, isolation_level=None)
    if state == "held":
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
    else:
        holder.close()
        index.write_bytes(bytes(index.stat().st_size)) if state == "zeros" else index.unlink()
    try:
        done = memex_cli(*arguments)
    finally:
        holder.close()
    assert done.returncode == 0, done.stderr
    assert answer in done.stdout


def test_a_memory_that_cannot_be_written_still_recalls() -> None:
    def fill(root: Path) -> None:
        memex = Memex(root)
        memex.write(WriteInput("preference", "User preference: ruff", "I prefer ruff."))
        assert memex.recall("ruff").hits

    with read_only_memory(fill) as root:
        found = as_nobody(lambda: Memex(root).recall("ruff").hits[0].slug)
    assert found == "user-preference-ruff"


def test_an_item_or_event_is_shown_under_the_name_that_a_recall_gives_it(memex: Memex) -> None:
    items = RecallFileStore(memex.root)
    items.add("pets", "tall cat", "Purrs.\nOften.", owner="user:kim", ts="2026-03-01T08:00:00Z")
    diary = Diary(memex.root)
    diary.append("Met a quokka.", date="2026-03-10", time="08:00", owner="test")
    diary.append("Fed it.", date="2026-03-10", time="08:05")
    assert memex_cli("show", "pets:tall cat", "--text").stdout == "Purrs.\nOften.\n"
    assert memex_cli("show", "pets:tall cat").json == {
        "file": "pets",
        "name": "tall cat",
        "content": "Purrs.\nOften.",
        "owner": "user:kim",
        "source_conv": None,
        "ts": "2026-03-01T08:00:00Z",
    }
    for name in ("2026-03-10#0", "2026-03-10 08:00"):
        assert memex_cli("show", name, "--text").stdout == "2026-03-10\n  08:00  Met a quokka.  (test)\n"
        assert memex_cli("show", name).json == memex_cli("diary", "2026-03-10").json[0]


def test_two_events_of_a_minute_are_told_apart(memex: Memex) -> None:
    for content in ("One.", "Two."):
        Diary(memex.root).append(content, date="2026-03-10", time="08:00")
    done = memex_cli("show", "2026-03-10 08:00")
    assert done.returncode == 1 and "2026-03-10#0 or 2026-03-10#1" in done.stderr
    assert memex_cli("show", "2026-03-10#1").json["content"] == "Two."


@pytest.mark.parametrize(
    "name", ["pets:cat", "2026-03-10#1", "2026-03-10 08:00", "2026-13-41#0", "../docs:x"]
)
def test_what_is_no_page_item_or_event_is_said_to_be_none(memex: Memex, name: str) -> None:
    done = memex_cli("show", name)
    assert done.returncode == 1 and f"no page, item or event named {name!r}" in done.stderr


def test_an_item_of_a_file_that_cannot_be_read_is_not_said_to_be_missing(memex: Memex) -> None:
    (memex.root / "wiki").mkdir()
    (memex.root / "wiki/pets.md").write_bytes(b"## cat\n\nPurrs \xff\n")
    done = memex_cli("show", "pets:cat")
    assert done.returncode == 1 and "UTF-8" in done.stderr


def test_a_page_is_shown_before_an_item_that_its_title_could_name(memex: Memex) -> None:
    RecallFileStore(memex.root).add("entity", "zephyr", "An item.")
    assert memex_cli("show", "Entity: Zephyr").json["body"].startswith("Zephyr is our build server.")
