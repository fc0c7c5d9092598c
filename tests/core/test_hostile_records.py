"""One odd line, file time or request costs itself and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memex_core.memex import Memex
from memex_core.model.node import WriteInput

DEEP = "[" * 100_000 + "\n"


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "Our build server."))
    memex.recall("server")
    return memex


@pytest.mark.parametrize("name", ["recalls.jsonl", "journal.jsonl", "forgotten.jsonl"])
@pytest.mark.parametrize(
    "line", [DEEP, '{"file": {}}\n', '{"session": "s", "turn_ids": 5}\n', "[1]\n", "\x00\n"]
)
def test_a_line_that_makes_no_sense_stops_nothing(memex: Memex, name: str, line: str) -> None:
    with (memex.root / name).open("a", encoding="utf-8") as file:
        file.write(line)
    again = Memex(memex.root)
    assert [hit.slug for hit in again.recall("server").hits] == ["zephyr"]
    again.apply_decay()
    again.import_nodes(again.export_nodes())
    again.forget("zephyr")
    assert again.rebuild_index(force=True).nodes_errored == 0
    assert b"Zephyr" not in (memex.root / "journal.jsonl").read_bytes()


@pytest.mark.parametrize("seconds", [10_413_792_000, -1_000_000, 2**40])
def test_a_file_of_any_date_is_found(memex: Memex, seconds: int) -> None:
    path = memex.root / "docs" / "entities" / "old.md"
    path.write_text("quixotic words\n", "utf-8")
    try:
        os.utime(path, (seconds, seconds))
    except OSError:
        pytest.skip("this file system knows no such time")
    memex.heal(force=True)
    assert [hit.slug for hit in memex.recall("quixotic").hits] == ["old"]
    assert memex.rebuild_index(force=True).nodes_indexed == 2


@pytest.mark.parametrize(
    "fields",
    [{"title": "word " * 20_000}, {"tags": ["tag"] * 20_000}, {"sources": [f"s#{n}" for n in range(9_000)]}],
    ids=["title", "tags", "sources"],
)
def test_a_page_that_could_not_be_read_again_is_not_written(memex: Memex, fields: dict[str, object]) -> None:
    item = WriteInput("entity", "Big", "Words.")
    for name, value in fields.items():
        setattr(item, name, value)
    with pytest.raises(ValueError, match="front matter"):
        memex.write(item)
    assert len(memex.list_pages()) == 1


def test_a_word_said_thousands_of_times_is_found_at_once(memex: Memex) -> None:
    (memex.root / "docs" / "entities" / "big.md").write_text("error " * 60_000, "utf-8")
    memex.heal(force=True)
    result = memex.recall("error")
    assert [hit.slug for hit in result.hits] == ["big"]
    assert result.search_time_ms < 5_000
