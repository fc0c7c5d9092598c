"""`memex item` (issue 4 item 8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from memex_program import memex_cli, memex_program, on_a_terminal

from memex_core.store.recallfiles import RecallFileStore

TABBY = (
    "# pets\n\n## cat\n\nTabby.\n\n<!-- wikimem: owner=user:kim | source=c7 | ts=T1 -->\n\n"
    "## dog\n\nBarks.\n\n<!-- wikimem: ts=T2 -->\n"
)


@pytest.fixture
def pets(root: Path) -> Path:
    path = root / "wiki" / "pets.md"
    path.parent.mkdir(parents=True)
    path.write_text(TABBY, "utf-8")
    return path


def test_the_items_of_a_file_are_listed_with_the_keys_of_the_issue(pets: Path) -> None:
    assert memex_cli("item", "list", "pets", "--json").json == [
        {"name": "cat", "content": "Tabby.", "owner": "user:kim", "source_conv": "c7", "ts": "T1"},
        {"name": "dog", "content": "Barks.", "owner": None, "source_conv": None, "ts": "T2"},
    ]
    assert list(memex_cli("item", "list", "pets").json[0]) == [
        "name",
        "content",
        "owner",
        "source_conv",
        "ts",
    ]


def test_all_items_are_listed_with_their_files(pets: Path) -> None:
    RecallFileStore(pets.parents[1]).add("tools", "cat", "Prints files.\nAll of them.")
    listed = memex_cli("item", "list").json
    assert [(item["file"], item["name"]) for item in listed] == [
        ("pets", "cat"),
        ("pets", "dog"),
        ("tools", "cat"),
    ]
    lines = memex_cli("item", "list", "--text").stdout.splitlines()
    assert lines[0].split() == ["FILE", "NAME", "CONTENT"]
    assert lines[3] == "tools  cat   Prints files. All of them."


def test_a_file_that_is_not_there_has_no_items(root: Path) -> None:
    assert memex_cli("item", "list", "pets").json == []
    assert memex_cli("item", "list", "pets", "--text").stdout == "no items in pets\n"
    first, *more = memex_cli("item", "list", "--text").stdout.splitlines()
    assert first == "no items" and "memex item add" in more[0] and "pages" in more[1]


def test_an_item_is_added_as_wikimem_writes_it(root: Path) -> None:
    added = memex_cli(
        "item", "add", "pets", " tall \n cat ", "Tabby.", "--owner", "user:kim", "--source", "c7"
    )
    assert {key: value for key, value in added.json.items() if key != "ts"} == {
        "file": "pets",
        "name": "tall cat",
        "content": "Tabby.",
        "owner": "user:kim",
        "source_conv": "c7",
        "replaced": False,
    }
    comment = f"<!-- wikimem: owner=user:kim | source=c7 | ts={added.json['ts']} -->"
    assert (root / "wiki" / "pets.md").read_text("utf-8") == (
        f"# pets\n\n## tall cat\n\nTabby.\n\n{comment}\n"
    )
    (line,) = memex_cli("journal").json
    assert (line["action"], line["file"], line["item"]) == ("add", "pets", "tall cat")


def test_the_same_name_replaces_the_item(pets: Path) -> None:
    assert memex_cli("item", "add", "pets", "cat", "Ginger.", "--text").stdout == f"replaced cat: {pets}\n"
    assert memex_cli("item", "add", "pets", " cow", "Moos.", "--text").stdout == f"added cow: {pets}\n"
    assert memex_cli("item", "add", "pets", "cow", "Moo.").json["replaced"] is True
    assert memex_cli("item", "remove", "pets", "cow", "--yes").returncode == 0
    listed = memex_cli("item", "list", "pets").json
    assert [(item["name"], item["content"], item["owner"]) for item in listed] == [
        ("dog", "Barks.", None),
        ("cat", "Ginger.", None),
    ]


def test_the_text_comes_from_a_file_or_a_pipe(root: Path, tmp_path: Path) -> None:
    body = tmp_path / "body.md"
    body.write_text("from a file\n", "utf-8")
    assert memex_cli("item", "add", "f", "a", "--body-file", str(body)).json["content"] == "from a file"
    assert memex_program("item", "add", "f", "b", stdin="from a pipe\n").json["content"] == "from a pipe"
    assert memex_program("item", "add", "f", "c", "--body-file", "-", stdin="also").json["content"] == "also"
    assert memex_program("item", "add", "f", "e", "-", stdin="by a dash").json["content"] == "by a dash"
    assert memex_cli("item", "add", "f", "d", "").json["content"] == ""


def test_without_a_text_nothing_is_written(root: Path) -> None:
    empty = memex_program("item", "add", "f", "a", stdin=" \n")
    assert empty.returncode == 2 and "nothing is in standard input" in empty.stderr
    dashed = memex_program("item", "add", "f", "a", "--body-file", "-", stdin="")
    assert dashed.returncode == 2 and "nothing is in standard input" in dashed.stderr
    unnamed = memex_cli("item", "add", "f", "a", "--body-file", "")
    assert unnamed.returncode == 2 and "--body-file" in unnamed.stderr
    nobody = on_a_terminal("item", "add", "f", "a")
    assert nobody.returncode == 2 and "there is no text" in nobody.stdout
    assert not (root / "wiki").exists()


def test_an_item_is_printed_as_it_stands(pets: Path) -> None:
    assert memex_cli("item", "get", "pets", "cat", "--text").stdout == "Tabby.\n"
    assert memex_cli("item", "get", "pets", "dog").json == {
        "file": "pets",
        "name": "dog",
        "content": "Barks.",
        "owner": None,
        "source_conv": None,
        "ts": "T2",
    }
    missing = memex_cli("item", "get", "pets", "cow")
    assert missing.returncode == 1 and "no item of pets named 'cow'" in missing.stderr


def test_an_item_is_removed_when_that_was_confirmed(pets: Path) -> None:
    refused = memex_cli("item", "remove", "pets", "cat")
    assert refused.returncode == 1 and "--yes" in refused.stderr and pets.read_text("utf-8") == TABBY
    assert "Tabby" in on_a_terminal("item", "get", "pets", "cat").stdout
    asked = on_a_terminal("item", "remove", "pets", "cat", typed=["y"])
    assert "Delete cat from pets, for good?" in asked.stdout and "deleted cat" in asked.stdout
    assert memex_cli("item", "remove", "pets", "dog", "--yes").json == {
        "file": "pets",
        "name": "dog",
        "removed": True,
    }
    assert not pets.exists()


def test_a_file_that_cannot_be_read_is_named_and_costs_no_other(pets: Path) -> None:
    (pets.parent / "latin.md").write_bytes(b"## caf\xe9\n")
    (pets.parent / "folder.md").mkdir()
    listed = memex_cli("item", "list")
    assert len(listed.json) == 2
    assert "wiki/latin.md is not UTF-8" in listed.stderr and "wiki/folder.md is a folder" in listed.stderr
    for command in (["list", "latin"], ["get", "latin", "x"], ["remove", "latin", "x", "--yes"]):
        done = memex_cli("item", *command)
        assert done.returncode == 1 and "wiki/latin.md is not UTF-8" in done.stderr, command
    assert memex_cli("item", "add", "latin", "x", "y").returncode == 1
    assert (pets.parent / "latin.md").read_bytes() == b"## caf\xe9\n"


@pytest.mark.parametrize("file", ["", "../docs", "a/b", "x" * 300], ids=ascii)
def test_what_can_be_no_file_of_items_is_said(pets: Path, file: str) -> None:
    for status, command in (
        (1, ["list", file]),
        (1, ["get", file, "x"]),
        (2, ["remove", file, "x", "--yes"]),
    ):
        done = memex_cli("item", *command)
        assert (done.returncode, len(done.stderr.splitlines())) == (status, 1), command
        assert "RecallFile" in done.stderr and len(done.stderr) < 300


def test_a_file_with_a_long_name_leaves_room_for_the_items(root: Path) -> None:
    path = root / "wiki" / f"{'x' * 200}.md"
    path.parent.mkdir(parents=True)
    path.write_text(TABBY, "utf-8")
    lines = memex_cli("item", "list", "--text").stdout.splitlines()
    assert max(map(len, lines)) < 100 and lines[1].startswith("xxx") and "Tabby." in lines[1]


def test_what_would_be_read_back_as_something_else_is_refused(pets: Path) -> None:
    for arguments in (
        ["cat", "x\n\n## dog\n\ny"],
        ["cat", "x", "--owner", "a\n\n## hack"],
        ["cat", "x", "--source", "-->"],
        ["c#t", "x"],
    ):
        done = memex_cli("item", "add", "pets", *arguments)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), arguments
    assert pets.read_text("utf-8") == TABBY


def test_what_would_steer_a_terminal_is_left_out_there(root: Path) -> None:
    RecallFileStore(root).add("f", "a\x9b1m", "x\x9b31my")
    assert "\x9b" not in memex_cli("item", "get", "f", "a\x9b1m", "--text").stdout
    assert "\x9b" not in memex_cli("item", "list", "--text").stdout


def test_a_change_is_logged_without_its_words(pets: Path) -> None:
    memex_cli("item", "add", "pets", "quokka", "smiles")
    memex_cli("item", "remove", "pets", "quokka", "--yes")
    log = (pets.parents[1] / "logs" / "memex.log").read_text("utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    assert [(line["op"], line["subject"]) for line in lines] == [
        ("item-add", "pets"),
        ("item-remove", "pets"),
    ]
    assert "quokka" not in log and "smiles" not in log


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        ("## A heading", "   ## A heading"),
        ("## A heading", "### A heading"),
        ("<!-- wikimem: owner=me -->", "`<!-- wikimem: owner=me -->`"),
        ("<!-- wikimem: owner=me -->", "as in <!-- wikimem: owner=me -->"),
    ],
)
def test_what_is_said_to_help_a_line_that_an_item_cannot_hold_helps(
    root: Path, line: str, mended: str
) -> None:
    refused = memex_cli("item", "add", "f", "a", f"One.\n{line}")
    assert refused.returncode == 2 and "line 2" in refused.stderr
    words = "backticks" if "wikimem" in line else "indent it, or use another heading level"
    assert words in refused.stderr and ("indent" in refused.stderr) == ("wikimem" not in line)
    text = f"One.\n{mended}"
    assert memex_cli("item", "add", "f", "a", text).json["content"] == text
    assert memex_cli("item", "get", "f", "a").json["content"] == text


def test_a_file_name_that_is_too_long_is_refused_with_the_length(root: Path) -> None:
    done = memex_cli("item", "add", "f" * 201, "a", "text")
    assert done.returncode == 2 and "201 characters (use 200 at most)" in done.stderr
    assert "lower-case" not in done.stderr
