"""`memex diary` (issue 4 item 8)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from memex_program import memex_cli, memex_program

from memex_core.store.diary import Diary

NOT_UTF8 = os.fsdecode(b"caf\xe9")
KEYS = ["date", "time", "content", "owner", "source_conv", "ts"]


@pytest.fixture
def diary(root: Path) -> Diary:
    diary = Diary(root)
    diary.append("Met Kim.\nWe had tea.", date="2026-09-15", time="21:00", ts="2026-09-15T21:00:00Z")
    diary.append(
        "Fixed it.", date="2026-09-15", time="08:30", owner="test", source_conv="s1", ts="2026-09-15"
    )
    diary.append("Left.", date="2026-09-17", time="07:00")
    return diary


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def told(*arguments: str) -> list[str]:
    return [event["content"] for event in memex_cli("diary", *arguments).json]


def test_a_day_is_printed_with_the_keys_of_the_issue(diary: Diary) -> None:
    first, second = memex_cli("diary", "2026-09-15", "--json").json
    assert list(first) == list(second) == KEYS
    assert first == {
        "date": "2026-09-15",
        "time": "08:30",
        "content": "Fixed it.",
        "owner": "test",
        "source_conv": "s1",
        "ts": "2026-09-15T00:00:00+00:00",
    }
    assert (second["time"], second["owner"]) == ("21:00", None)


def test_a_day_is_readable_as_text(diary: Diary) -> None:
    assert memex_cli("diary", "2026-09-15..2026-09-17", "--text").stdout == (
        "2026-09-15\n"
        "  08:30  Fixed it.  (test)\n"
        "  21:00  Met Kim.\n"
        "         We had tea.\n"
        "2026-09-17\n"
        "  07:00  Left.\n"
    )
    assert memex_cli("diary", "2026-09-16", "--text").stdout == "nothing on 2026-09-16\n"


@pytest.mark.parametrize(
    "words",
    [
        ["2026-09-15..2026-09-17"],
        ["2026-09-17..2026-09-15"],
        ["2026-09-01", "..", "2026-09-30"],
        ["2026-09-15.."],
        ["..2026-09-17"],
        [".."],
        ["2026-09"],
        ["2026-09-15", "to", "2026-09-17"],
    ],
    ids=" ".join,
)
def test_a_range_of_days_holds_both_its_ends(diary: Diary, words: list[str]) -> None:
    assert told(*words) == ["Fixed it.", "Met Kim.\nWe had tea.", "Left."]


def test_words_name_days_as_seen_from_today(root: Path) -> None:
    diary, today = Diary(root), date.today()
    for days, content in ((0, "now"), (1, "one ago"), (3, "three ago")):
        diary.append(content, date=str(today - timedelta(days)), time="12:00")
    assert told() == told("today") == ["now"]
    assert told("yesterday") == told("昨天") == ["one ago"]
    assert told("3", "days", "ago") == told("3 days ago", "--json") == ["three ago"]
    assert told("3 days ago..yesterday") == ["three ago", "one ago"]


@pytest.mark.parametrize(
    "words",
    [
        ["someday"],
        ["2026-13-40"],
        ["2026-02-30"],
        ["a..b"],
        ["add-ing"],
        [""],
        ["-"],
        ["99999999 days ago"],
        ["2026-09-15", "2026-09-17"],
        ["2026-09-15..2026-09-16..2026-09-17"],
        ["2026-09-15", "add", "x"],
        ["yesterday,", "today"],
        ["the month of 2026-09-15"],
        [NOT_UTF8],
    ],
    ids=ascii,
)
def test_what_names_no_day_is_said_with_what_would(diary: Diary, words: list[str]) -> None:
    done = memex_cli("diary", *words)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1) and "2026-09-15" in done.stderr


@pytest.mark.parametrize(
    "words", ["on the 2026-09-15", "from 2026-09-15", "in 2026-09", "2026-09-15T10:00:00Z"]
)
def test_small_words_beside_a_day_do_no_harm(diary: Diary, words: str) -> None:
    assert told(*words.split())[:2] == ["Fixed it.", "Met Kim.\nWe had tea."]


def test_the_options_may_stand_before_and_behind_the_day(diary: Diary, tmp_path: Path) -> None:
    for words in (
        ["--json", "2026-09-17"],
        ["2026-09-17", "--json"],
        ["--data-dir", str(diary.root), "2026-09-17"],
        ["show", "2026-09-17"],
    ):
        assert told(*words) == ["Left."], words
    other = str(tmp_path / "other")
    assert memex_cli("diary", "--data-dir", other, "add", "There.").json["content"] == "There."
    assert told("--data-dir", other) == ["There."]


def test_an_event_is_added_now_in_the_local_day(root: Path, in_tokyo: None) -> None:
    before = time.strftime("%Y-%m-%d %H:%M")
    event = memex_cli("diary", "add", "Met", "Kim", "--owner", "user:kim", "--source", "c7").json
    assert list(event) == KEYS
    assert before <= f"{event['date']} {event['time']}" <= time.strftime("%Y-%m-%d %H:%M")
    assert (event["content"], event["owner"], event["source_conv"]) == ("Met Kim", "user:kim", "c7")
    assert told() == ["Met Kim"]


def test_an_event_keeps_the_time_that_it_is_given(root: Path, in_tokyo: None) -> None:
    exact = memex_cli("diary", "add", "a", "--ts", "2026-09-15T23:30:00Z").json
    assert (exact["date"], exact["time"], exact["ts"]) == (
        "2026-09-16",
        "08:30",
        "2026-09-15T23:30:00+00:00",
    )
    said = memex_cli("diary", "add", "b", "--date", "2026-09-16", "--time", "07:00").json
    assert (said["date"], said["time"]) == ("2026-09-16", "07:00")
    yesterday = memex_cli("diary", "add", "c", "--date", "yesterday", "--time", "07:00").json
    assert yesterday["date"] == str(date.today() - timedelta(1))
    path = root / "diary" / "2026-09-16.md"
    assert memex_cli("diary", "add", "d", "--date", "2026-09-16", "--time", "07:00", "--text").stdout == (
        f"2026-09-16 07:00: {path}\n"
    )
    assert told("2026-09-16") == ["b", "d", "a"]


def test_a_day_that_is_said_to_be_nothing_is_not_today(root: Path) -> None:
    for option in ("--date", "--time", "--ts"):
        done = memex_cli("diary", "add", "x", option, "")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), option
    assert not (root / "diary").exists()


def test_an_event_is_read_from_a_pipe(root: Path) -> None:
    assert memex_program("diary", "add", "-", stdin="by a dash").json["content"] == "by a dash"
    assert memex_program("diary", "add", stdin="piped\nin\n").json["content"] == "piped\nin"
    assert memex_program("diary", "add", stdin="").returncode == 2


@pytest.mark.parametrize("content", ["## 99:99\n\nfake", "x\n<!-- wikimem: owner=eve -->", " "])
def test_what_would_be_read_back_as_something_else_is_refused(root: Path, content: str) -> None:
    done = memex_cli("diary", "add", content)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert not (root / "diary").exists()


def test_a_day_that_cannot_be_read_is_named_and_costs_no_other(diary: Diary) -> None:
    (diary.root / "diary" / "2026-09-16.md").write_bytes(b"## 09:00\ncaf\xe9\n")
    done = memex_cli("diary", "2026-09-15..2026-09-17")
    assert len(done.json) == 3 and "diary/2026-09-16.md is not UTF-8" in done.stderr
    assert memex_cli("diary", "2026-09-17").stderr == ""


def test_a_single_day_that_cannot_be_read_is_a_failure_and_not_an_empty_day(diary: Diary) -> None:
    (diary.root / "diary" / "2026-09-16.md").write_bytes(b"## 09:00\ncaf\xe9\n")
    (diary.root / "diary" / "2026-09-18.md").mkdir()
    for day in ("2026-09-16", "2026-09-18"):
        done = memex_cli("diary", day)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
        assert f"diary/{day}.md is" in done.stderr


def test_a_day_with_an_odd_name_or_odd_times_is_shown_as_it_is(root: Path) -> None:
    folder = root / "diary"
    folder.mkdir(parents=True)
    (folder / "2026-13-40.md").write_text("## morning\n\nTea.\n", "utf-8")
    assert memex_cli("diary", "2026-13-40", "--text").stdout == "2026-13-40\n  morning  Tea.\n"


def test_adding_is_logged_without_its_words(root: Path) -> None:
    memex_cli("diary", "add", "quokka", "--date", "2026-09-15")
    log = (root / "logs" / "memex.log").read_text("utf-8")
    assert '"op": "diary-add"' in log.replace('":"', '": "') and "2026-09-15" in log and "quokka" not in log


def test_the_help_names_days_and_the_command_to_add(root: Path) -> None:
    for words in (["diary", "-h"], ["diary", "--help"]):
        done = memex_cli(*words)
        assert done.returncode == 0 and "[DATE | RANGE | add TEXT]" in done.stdout
