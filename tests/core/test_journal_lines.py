"""journal.jsonl: an odd line costs itself, and what cannot be noted is done all the same (issue 4 item 3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from memex_program import memex_cli

from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore


@pytest.mark.parametrize(
    "line",
    [
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "[" * 900 + "]" * 900 + "}",
        "[" * 100_000,
        "{torn",
        "7",
        "\ufffd",
    ],
    ids=lambda line: line[:10],
)
def test_an_odd_line_costs_itself_only(root: Path, line: str) -> None:
    RecallFileStore(root).add("pets", "cat", "x")
    with (root / "journal.jsonl").open("a") as file:
        file.write(line + "\n")
    RecallFileStore(root).add("pets", "dog", "y")
    assert [each["item"] for each in memex_cli("journal").json] == ["dog", "cat"]


def test_what_cannot_be_noted_is_done_once_and_logged(root: Path) -> None:
    (root / "journal.jsonl").mkdir(parents=True)
    assert memex_cli("diary", "add", "x").returncode == 0
    assert memex_cli("item", "add", "pets", "cat", "y").returncode == 0
    assert [event.content for event in Diary(root).events()] == ["x"]
    assert (root / "logs" / "memex.log").read_text().count('"outcome": "not noted"') == 2


def test_what_acts_on_a_terminal_is_escaped(root: Path) -> None:
    name = "n\x1bc\x9b2J\u202e"
    path = root / "wiki" / "e.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"## {name}\n\nx\n", "utf-8")
    for form in ("mermaid", "json", "html"):
        said = memex_cli("graph", "--format", form).stdout
        assert not {"\x1b", "\x9b"} & set(said), form
    said = memex_cli("item", "list", "e", "--json")
    assert said.json[0]["name"] == name and "\x9b" not in said.stdout and "\u202e" not in said.stdout
