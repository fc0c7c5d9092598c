"""`--since` and `--until` take the words for days that `memex diary` takes."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from memex_program import memex_cli

from memex_core.memex import Memex
from memex_core.store.diary import Diary

TODAY = date.today()
YESTERDAY = TODAY - timedelta(days=1)


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    for back in range(15):
        day = (TODAY - timedelta(days=back)).isoformat()
        Diary(root).append(f"Quokka {back}.", date=day, time="12:00")
    return memex


def found(*arguments: str) -> list[str]:
    hits = memex_cli("recall", "quokka", "--type", "event", "--top-k", "50", *arguments).json["hits"]
    return sorted(hit["date"] for hit in hits)


def test_a_recall_takes_words_for_days(memex: Memex) -> None:
    monday = TODAY - timedelta(days=TODAY.weekday())
    assert found("--since", "yesterday") == [str(YESTERDAY), str(TODAY)]
    assert found("--since", "yesterday", "--until", " Yesterday ") == [str(YESTERDAY)]
    assert found("--until", "last week")[-1] == str(monday - timedelta(days=1))
    assert found("--since", "last week")[0] == str(monday - timedelta(days=7))


def test_the_journal_takes_words_for_days(memex: Memex) -> None:
    assert len(memex_cli("journal", "--since", "today").json) == 15
    assert memex_cli("journal", "--since", "tomorrow").json == []


@pytest.mark.parametrize("wrong", ["yesterdayish", "2026-13-40", "the day", "", "ruff yesterday", "a..b"])
@pytest.mark.parametrize(
    "command", [("recall", "x", "--since"), ("recall", "x", "--until"), ("journal", "--since")]
)
def test_what_names_no_day_is_refused_with_what_does(
    root: Path, command: tuple[str, ...], wrong: str
) -> None:
    done = memex_cli(*command, wrong)
    assert done.returncode == 2 and "2026-09-15" in done.stderr and "yesterday or last week" in done.stderr


def test_dates_that_a_page_keeps_are_dates_only(root: Path) -> None:
    done = memex_cli("write", "--type", "entity", "--title", "T", "--body", "x", "--valid-to", "yesterday")
    assert done.returncode == 2 and "is not a date" in done.stderr
