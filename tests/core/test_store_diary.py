from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.errors import InvalidName, WikiStoreError
from memex_core.model.item import DiaryEvent
from memex_core.store.diary import Diary
from memex_core.text.blocks import BOM, Provenance, escape, parse, render_file

NOW = "2026-03-05T21:30:00+00:00"
DAY = "2026-03-05"
WRITER = """
import sys
from pathlib import Path
from memex_core.store.diary import Diary
root, me, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
diary = Diary(root)
for number in range(count):
    diary.append(f"{me}-{number}", date="2026-03-05", time=f"{number * 7 % 24:02d}:30", owner=me)
"""
ATOMS = (
    "## 08:00",
    "## 12:00",
    "## 9:00",
    "## Evening",
    "##  ",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "note",
    "# mine\n",
    "\ufeff",
    *(
        "\r",
        "\v",
        "\x1c",
        "\x85",
        "\u2028",
        "##\t07:00\n",
        "## 23:59 \n",
        "## 08:00\n\nx\n",
        "```",
        " " * 300,
    ),
    *(
        "<!-- wikimem: owner=k | mood=sad -->\n",
        "<!--wikimem:-->",
        "-->",
        "\\## 08:00",
        "猫",
        "\u3000",
        "%{0}",
    ),
)
hand_made = st.lists(st.sampled_from((*ATOMS, "\x00", "\x07")), max_size=16).map("".join)
times = st.sampled_from(["00:00", "08:00", "10:30", "12:00", "23:59"])
contents = st.lists(st.sampled_from(ATOMS), max_size=5).map("".join).map(escape).filter(bool)
days = st.tuples(hand_made, st.lists(st.tuples(times, contents), min_size=1, max_size=4))


@pytest.fixture
def diary(root: Path) -> Diary:
    return Diary(root, now=lambda: datetime.fromisoformat(NOW))


def put(root: Path, text: str | bytes, day: str = DAY) -> Path:
    path = root / "diary" / f"{day}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def contents_of(diary: Diary, day: str = DAY) -> list[str]:
    return [event.content for event in diary.day(day)]


def test_an_event_is_at_its_local_minute_with_its_exact_instant(diary: Diary, root: Path) -> None:
    event = diary.append(" Met [[people:kim]].\r\n", ts="2026-03-05T23:30:59Z", tz=ZoneInfo("Asia/Tokyo"))
    assert event == DiaryEvent("2026-03-06", "08:30", "Met [[people:kim]].", ts="2026-03-05T23:30:59+00:00")
    assert diary.day("2026-03-06") == [event] and event.links == [("people", "kim")]
    assert read(root / "diary" / "2026-03-06.md") == (
        "# 2026-03-06\n\n## 08:30\n\nMet [[people:kim]].\n\n<!-- wikimem: ts=2026-03-05T23:30:59+00:00 -->\n"
    )


def test_without_a_time_an_event_is_now_on_this_machines_clock(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        event = diary.append("x")
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
    assert (event.date, event.time, event.ts) == ("2026-03-06", "03:00", NOW)


@pytest.mark.parametrize(
    ("ts", "kept"),
    [
        ("2026-03-05T10:30:00+02:00", "2026-03-05T08:30:00+00:00"),
        ("2026-03-05 08:30", "2026-03-05T08:30:00+00:00"),
        ("2026-03-05", "2026-03-05T00:00:00+00:00"),
        ("20260305T083000.9Z", "2026-03-05T08:30:00+00:00"),
    ],
)
def test_an_instant_is_kept_in_utc_to_the_second(ts: str, kept: str, diary: Diary) -> None:
    assert diary.append("x", ts=ts).ts == kept


def test_date_and_time_may_be_given_beside_the_instant(diary: Diary) -> None:
    event = diary.append("x", date="2020-01-01", ts="2026-03-05T08:30:00Z", tz=timezone(timedelta(hours=1)))
    assert (event.date, event.time, event.ts) == ("2020-01-01", "09:30", "2026-03-05T08:30:00+00:00")
    assert diary.append("y", time="07:00", ts="2026-03-05T08:30:00Z", tz=UTC).date == DAY


def test_events_of_one_minute_are_kept_in_order_and_each_has_an_address(diary: Diary) -> None:
    for content, at in [("late", "21:00"), ("first", "08:30"), ("second", "08:30"), ("third", "08:30")]:
        event = diary.append(content, date=DAY, time=at)
        assert diary.event(DAY, event.ordinal) == event
    assert contents_of(diary) == ["first", "second", "third", "late"]
    second = diary.event_at(DAY, "08:30", 2)
    assert second is not None and second.content == "second"
    assert diary.event_at(DAY, "08:30") == diary.event(DAY, 0)
    diary.append("early", date=DAY, time="06:00")
    again = diary.event_at(DAY, "08:30", 2)
    assert again is not None and (again.content, again.ordinal) == ("second", 2)
    assert diary.event(DAY, 5) is diary.event(DAY, -1) is None
    assert diary.event_at(DAY, "08:30", 4) is diary.event_at(DAY, "08:30", 0) is None


def test_every_event_is_a_line_of_the_journal_in_the_shape_of_wikimem(diary: Diary, root: Path) -> None:
    diary.append("x", date="2020-01-01", time="07:00", ts="2020-01-01T07:00:00Z", owner="a|b", source_conv="")
    diary.append("y", date="2020-01-01", time="07:00")
    at = f'{{"ts": "{NOW}", "action": "diary", '
    assert (root / "journal.jsonl").read_text("utf-8").splitlines() == [
        f'{at}"date": "2020-01-01", "time": "07:00", "owner": "a|b", "source_conv": ""}}',
        f'{at}"date": "2020-01-01", "time": "07:00"}}',
    ]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("", {}),
        (" \n\x00", {}),
        ("x\n## 99:99\n\nfake", {}),
        ("x", {"owner": "a\nb"}),
        ("x", {"source_conv": "-->"}),
        ("x", {"date": "2026-3-5"}),
        ("x", {"date": "2026-02-30"}),
        ("x", {"date": "20260305"}),
        ("x", {"date": "2026-03-05\n"}),
        ("x", {"date": "２０２６-03-05"}),
        ("x", {"date": "../../x"}),
        ("x", {"time": "7:00"}),
        ("x", {"time": "24:00"}),
        ("x", {"time": "07:60"}),
        ("x", {"time": "07:00\n"}),
        ("x", {"time": "1٤:30"}),
        ("x", {"ts": "yesterday"}),
        ("x", {"ts": ""}),
        ("x", {"ts": "２０２６-03-05"}),
        ("x", {"ts": "9999-12-31T23:59:59-10:00"}),
        ("x", {"ts": "0001-01-01T00:00:00Z", "tz": timezone(-timedelta(hours=5))}),
    ],
)
def test_what_would_not_come_back_is_refused_and_nothing_is_written(
    content: str, options: dict[str, str], diary: Diary, root: Path
) -> None:
    with pytest.raises(ValueError):
        diary.append(content, **options)
    assert not root.exists()


def test_any_heading_is_an_event_on_reading(diary: Diary, root: Path) -> None:
    put(root, "# mine\n\n## 21:00\na\n## Evening  walk \nb\n##  \nc\n## 08:00\n")
    found = [(event.time, event.content, event.ordinal) for event in diary.day(DAY)]
    assert found == [("21:00", "a", 0), ("Evening  walk", "b", 1), ("", "c", 2), ("08:00", "", 3)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "# mine\n## 08:00\na\n## 21:00\nb\n",
            "# mine\n## 08:00\na\n\n## 12:00\n\nnew\n\n{}\n\n## 21:00\nb\n",
        ),
        ("# mine\n## 9:00\na\n## Evening\nb", "# mine\n## 9:00\na\n## Evening\nb\n\n## 12:00\n\nnew\n\n{}\n"),
        (
            "x\n## 21:00\na\n## 12:00\nb\n## 08:00\n",
            "x\n## 21:00\na\n## 12:00\nb\n## 08:00\n\n\n\n## 12:00\n\nnew\n\n{}\n",
        ),
        ("x\r\n## 13:00\r\n", "x\r\n\r\n## 12:00\r\n\r\nnew\r\n\r\n{}\r\n\r\n## 13:00\r\n"),
        ("\ufeff## 13:00\n", f"\ufeff# {DAY}\n\n## 12:00\n\nnew\n\n{{}}\n\n## 13:00\n"),
        (
            "## 21:00\n\na\n\n## 08:00\n\nb\n",
            f"# {DAY}\n\n## 21:00\n\na\n\n## 08:00\n\nb\n\n## 12:00\n\nnew\n\n{{}}\n",
        ),
        ("\n", f"# {DAY}\n\n## 12:00\n\nnew\n\n{{}}\n"),
    ],
)
def test_in_a_day_that_a_person_edited_nothing_else_moves(
    before: str, after: str, diary: Diary, root: Path
) -> None:
    path = put(root, before)
    event = diary.append("new", ts=NOW, date=DAY, time="12:00")
    assert read(path) == after.replace("{}", f"<!-- wikimem: ts={NOW} -->")
    assert diary.event(DAY, event.ordinal) == event


def test_a_canonical_day_out_of_order_is_put_in_order(diary: Diary, root: Path) -> None:
    said = Provenance()
    path = put(root, render_file(DAY, [("21:00", "b", said), ("08:00", "a", said)]))
    event = diary.append("new", ts=NOW, date=DAY, time="12:00")
    assert contents_of(diary) == ["a", "new", "b"] and event.ordinal == 1
    assert read(path).startswith(f"# {DAY}\n\n## 08:00\n\na\n\n## 12:00\n\nnew\n\n")


def test_headings_that_are_no_times_never_move(diary: Diary, root: Path) -> None:
    said = Provenance()
    before = render_file(DAY, [("9:00", "a", said), ("Evening", "b", said), ("08:00", "c", said)])
    path = put(root, before)
    diary.append("new", date=DAY, time="12:00")
    assert read(path).startswith(before) and contents_of(diary) == ["a", "b", "c", "new"]


def test_days_are_listed_by_the_shape_of_their_name(diary: Diary, root: Path) -> None:
    for name in ("2026-03-06", DAY, "2026-13-40", "2026-7-1", "notes", "20260721", "２０２６-03-05"):
        put(root, "## 08:00\nx\n", name)
    assert diary.dates() == [DAY, "2026-03-06", "2026-13-40"]
    assert [event.date for event in diary.events()] == diary.dates()
    assert contents_of(diary, "2026-13-40") == ["x"] and diary.problems() == []


@pytest.mark.parametrize(
    "day", ["2026-3-5", "2026-02-30", "2026-13-40", "notes", "../wiki/x", "2026-03-05\n"]
)
def test_a_day_that_is_none_is_refused(day: str, diary: Diary) -> None:
    with pytest.raises(InvalidName, match="not a day"):
        diary.day(day)
    for bounds in ((day, DAY), (DAY, day)):
        with pytest.raises(InvalidName, match="not a day"):
            diary.window(*bounds)


def test_a_window_holds_both_its_days_in_either_order(diary: Diary) -> None:
    for day in ("2026-03-04", DAY, "2026-03-07", "2026-03-08"):
        diary.append(day, date=day, time="12:00")
    for bounds in ((DAY, "2026-03-07"), ("2026-03-07", DAY)):
        assert [event.content for event in diary.window(*bounds)] == [DAY, "2026-03-07"]
    assert diary.window("2026-03-05", "2026-03-05") == diary.day(DAY)
    assert diary.window("2027-01-01", "2027-12-31") == [] and diary.day("2027-01-01") == []


def test_one_day_that_cannot_be_read_costs_that_day(diary: Diary, root: Path) -> None:
    put(root, "## 08:00\ngood\n")
    put(root, b"## caf\xe9\n", "2026-03-06")
    (root / "diary" / "2026-03-07.md").mkdir()
    os.mkfifo(root / "diary" / "2026-03-08.md")
    (root / "diary" / "notes.md").mkdir()
    assert [event.content for event in diary.window("2026-01-01", "2026-12-31")] == ["good"]
    assert diary.problems() == [
        ("diary/2026-03-06.md", "is not UTF-8 (byte 6)"),
        ("diary/2026-03-07.md", "is a folder"),
        ("diary/2026-03-08.md", "is no regular file"),
    ]
    with pytest.raises(WikiStoreError, match="not UTF-8"):
        diary.append("x", date="2026-03-06", time="12:00")
    assert not (root / "journal.jsonl").exists()


def test_a_day_keeps_its_mode_and_its_link(diary: Diary, root: Path) -> None:
    link, target = put(root, ""), root / "notes" / "day.txt"
    target.parent.mkdir()
    target.write_text("## 08:00\n\na\n", "utf-8")
    target.chmod(0o664)
    link.unlink()
    link.symlink_to("../notes/day.txt")
    diary.append("b", date=DAY, time="09:00")
    assert link.is_symlink() and contents_of(diary) == ["a", "b"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o664 and "b" in read(target)
    target.chmod(0o444)
    with pytest.raises(WikiStoreError, match="read-only"):
        diary.append("c", date=DAY, time="10:00")
    assert contents_of(diary) == ["a", "b"]


def check_day(text: str, added: list[tuple[str, str]]) -> None:
    """One generated day: hand-made text, events appended to it."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)  # thousands of days would wait for the disk
        diary, path = Diary(Path(folder)), put(Path(folder), text)
        for at, content in added:
            events = [(event.time, event.content) for event in diary.day(DAY)]
            before = read(path)
            event = diary.append(content, date=DAY, time=at)
            place = event.ordinal
            found = [(event.time, event.content) for event in diary.day(DAY)]
            assert found == [*events[:place], (at, content), *events[place:]]
            after = read(path)
            behind = after[parse(after)[place].end :]
            assert before.endswith(behind)
            kept = before[: len(before) - len(behind)].removeprefix(BOM)
            assert not kept.strip() or kept in after
            front = after[: after.find(kept)] if kept.strip() else ""
            assert front.removeprefix(BOM).split() in ([], ["#", DAY])


@settings(max_examples=300, deadline=None)
@given(days)
def test_a_generated_day_reads_as_written_and_keeps_what_a_person_wrote(
    day: tuple[str, list[tuple[str, str]]],
) -> None:
    check_day(*day)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(days)
def test_ten_thousand_generated_days_read_as_written(day: tuple[str, list[tuple[str, str]]]) -> None:
    check_day(*day)


def append_at_once(root: Path, processes: int, count: int) -> None:
    """Events of several processes on one day: all of them are there, in order, as the journal says."""
    command = [sys.executable, "-c", WRITER, str(root)]
    running = [subprocess.Popen([*command, f"p{number}", str(count)]) for number in range(processes)]
    assert [process.wait() for process in running] == [0] * processes
    events = Diary(root).day(DAY)
    assert len(events) == processes * count
    assert [event.time for event in events] == sorted(event.time for event in events)
    lines = [json.loads(line) for line in (root / "journal.jsonl").read_text("utf-8").splitlines()]
    told = sorted(lines, key=lambda line: line["time"])
    assert [(event.time, event.owner) for event in events] == [(line["time"], line["owner"]) for line in told]
    for number in range(processes):
        own = [int(event.content.partition("-")[2]) for event in events if event.owner == f"p{number}"]
        assert own == sorted(range(count), key=lambda n: (n * 7 % 24, n))


def test_eight_processes_that_append_at_once_lose_nothing(root: Path) -> None:
    append_at_once(root, 8, 40)


@pytest.mark.slow
def test_eight_processes_that_append_four_thousand_events_lose_nothing(root: Path) -> None:
    append_at_once(root, 8, 500)


@pytest.mark.parametrize(
    ("given", "ts"),
    [
        ({"date": "2025-07-21", "time": "09:00"}, "2025-07-21T07:00:00+00:00"),
        ({"date": "2025-12-21", "time": "09:00"}, "2025-12-21T08:00:00+00:00"),
        ({"time": "00:05"}, "2026-03-04T23:05:00+00:00"),
        ({"date": "2026-03-04"}, "2026-03-04T21:30:00+00:00"),
        ({"date": "2026-03-05", "time": "22:30"}, NOW),
        ({"date": "2025-07-21", "time": "09:00", "ts": "2020-01-01T00:00:00Z"}, "2020-01-01T00:00:00+00:00"),
    ],
)
def test_the_instant_of_an_event_is_that_of_its_day_and_time(
    tmp_path: Path, given: dict[str, str], ts: str
) -> None:
    diary = Diary(tmp_path, now=lambda: datetime.fromisoformat(NOW))
    assert diary.append("x", **given, tz=ZoneInfo("Europe/Berlin")).ts == ts
