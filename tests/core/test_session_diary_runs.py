"""One event for each run of a session, however often it is captured meanwhile (issue 4 item 6)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from told_sessions import (
    BOTH,
    FIRST,
    FIXED,
    HELLO,
    MORE,
    NOTED,
    PUSH,
    PUSHED,
    SECOND,
    Said,
    capture,
    day,
    events,
    journal,
    moment,
    session,
    times,
    told,
    tree,
)

from memex_core.config import CaptureConfig, MemexConfig
from memex_core.memex import Memex
from memex_core.model.session import Run
from memex_core.model.sidecar import Sidecar


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root, now=lambda: "2026-09-16T08:00:00Z")


def known(memex: Memex) -> list[dict[str, Any]]:
    """What the sidecar says of the session's events."""
    data = json.loads((memex.root / "transcripts" / "s1.meta.json").read_bytes())
    return list(data["diary"])


# --- while it goes on


def test_a_run_of_five_turns_captured_after_each_one_is_one_event(memex: Memex) -> None:
    said: list[Said] = []
    for minute in range(0, 50, 10):
        said += [(f"{minute}", "user", f"Prompt {minute}."), (f"{minute + 5}", "agent", f"Answer {minute}.")]
        capture(memex, *said)
    assert told(memex) == ["Asked: Prompt 0.\nAnswer: Answer 40."]
    assert times(memex) == ["10:45"]


def test_the_journal_tells_how_a_run_was_told_again(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    capture(memex, HELLO, NOTED, MORE, FIXED)
    lines = [
        (line["action"], line.get("time") or line["item"], line.get("detail")) for line in journal(memex)
    ]
    assert lines == [("diary", "10:01", None), ("diary", "10:25", None), ("remove", "10:01", "told again")]


def test_a_run_that_answers_the_same_again_stands_at_its_end_so_far(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    capture(memex, HELLO, NOTED, MORE, ("25", "agent", "Noted."))
    assert (told(memex), times(memex)) == ([FIRST], ["10:25"])


def test_a_run_that_goes_on_past_midnight_is_in_the_day_of_its_end(memex: Memex) -> None:
    capture(memex, ("800", "user", "Late."), ("801", "agent", "Yes."))
    capture(memex, ("800", "user", "Late."), ("801", "agent", "Yes."), ("845", "user", "Still?"))
    assert [(event.date, event.time) for event in events(memex)] == [("2026-09-16", "00:05")]
    assert not day(memex).exists()


def test_the_same_log_again_changes_no_byte(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    before = tree(memex.root)
    capture(memex, HELLO, NOTED)
    assert tree(memex.root) == before


def test_a_newer_reader_that_counts_anew_goes_on_with_the_same_event(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    split = (HELLO, ("00", "tool", "Read"), ("00", "agent", "Hm."), NOTED)
    capture(memex, *split, reader_version=2)
    assert told(memex) == [FIRST]
    capture(memex, *split, MORE, FIXED, reader_version=2)
    assert told(memex) == [BOTH]


def test_turns_that_were_taken_back_leave_their_run(memex: Memex) -> None:
    capture(memex, HELLO, NOTED, MORE, FIXED)
    capture(memex, HELLO, NOTED, MORE, FIXED, retracted={3, 4})
    assert told(memex) == [FIRST]
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED, retracted={1, 2, 3, 4})
    assert told(memex) == ["Asked: Push it.\nAnswer: Pushed."]


def test_what_was_said_while_the_diary_was_off_is_told_with_its_run(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    quiet = Memex(memex.root, MemexConfig(capture=CaptureConfig(diary=False)))
    capture(quiet, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [FIRST]
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [BOTH]


def test_a_run_ends_also_while_the_diary_is_off(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    quiet = Memex(memex.root, MemexConfig(capture=CaptureConfig(diary=False)))
    quiet.remember(session("s1", HELLO, NOTED, run=Run(goes_on=False)))
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [FIRST, SECOND]


# --- where it ends


def test_a_capture_that_saw_the_end_ends_the_run(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    memex.remember(session("s1", HELLO, NOTED, run=Run(goes_on=False)))
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert (told(memex), times(memex)) == ([FIRST, SECOND], ["10:01", "10:25"])


def test_a_capture_that_knows_nothing_of_an_open_run_leaves_it_open(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert told(memex) == [BOTH]
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == ["Asked: I prefer ruff over flake8.\nAnswer: Pushed."]


def test_what_a_capture_that_knows_nothing_of_its_run_tells_is_over(memex: Memex) -> None:
    later = ("661", "user", "And now?")
    capture(memex, HELLO, NOTED)
    memex.remember(session("s1", HELLO, NOTED, later))
    assert [event.get("open") for event in known(memex)] == [None, None]
    capture(memex, HELLO, NOTED, later, ("670", "user", "Push it."))
    assert told(memex) == [FIRST, "Asked: And now?", "Asked: Push it."]


def test_a_session_that_is_resumed_is_one_event_more(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    capture(memex, HELLO, NOTED, resumed="10")
    assert [event.get("open") for event in known(memex)] == [None]
    capture(memex, HELLO, NOTED, MORE, FIXED)
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == [FIRST, "Asked: Now fix the build.\nAnswer: Pushed."]
    assert times(memex) == ["10:01", "10:41"]


def test_runs_that_are_captured_together_are_told_apart_by_when_they_began(memex: Memex) -> None:
    capture(memex, HELLO, NOTED, MORE, FIXED, resumed="10")
    assert (told(memex), times(memex)) == ([FIRST, SECOND], ["10:01", "10:25"])
    assert [event.get("open") for event in known(memex)] == [None, True]


def test_what_was_said_before_the_end_was_seen_belongs_to_its_own_run(memex: Memex) -> None:
    """The capture that a run's end caused may read the log when the next run has begun."""
    memex.remember(session("s1", HELLO, NOTED, MORE))
    assert told(memex) == [FIRST]
    resumed = Run(goes_on=True, resumed=("2026-09-15T10:19:50Z",))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED, run=resumed))
    assert (told(memex), times(memex)) == ([FIRST, SECOND], ["10:01", "10:25"])


def test_a_run_that_ended_long_after_its_last_word_stands_there_when_it_is_resumed(memex: Memex) -> None:
    idle = session("s1", HELLO, NOTED, run=Run(goes_on=True))
    idle.header.ended_at = moment("09")
    memex.remember(idle)
    capture(memex, HELLO, NOTED, MORE, FIXED, resumed="10")
    assert (told(memex), times(memex)) == ([FIRST, SECOND], ["10:09", "10:25"])


def test_what_a_killed_run_said_last_is_told_in_its_event_when_it_is_resumed(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    capture(memex, HELLO, NOTED, MORE, FIXED, resumed="30")
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert (told(memex), times(memex)) == ([BOTH, "Asked: Push it.\nAnswer: Pushed."], ["10:25", "10:41"])


@pytest.mark.parametrize("minute", ["-600", "600"], ids=["behind", "ahead"])
def test_a_run_that_began_by_another_clock_has_begun_since_the_last_capture(
    memex: Memex, minute: str
) -> None:
    capture(memex, HELLO, NOTED)
    run = Run(True, (moment(minute),), answered=True)
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED, run=run))
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == [FIRST, "Asked: Now fix the build.\nAnswer: Pushed."]


def test_a_run_without_a_word_of_the_user_is_no_event(memex: Memex) -> None:
    capture(memex, HELLO, NOTED, ("20", "user", "…?"), ("21", "agent", "What?"), resumed="10")
    assert (told(memex), times(memex)) == ([FIRST], ["10:01"])


def test_who_goes_on_after_hours_of_silence_has_come_back(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    capture(memex, HELLO, NOTED, ("300", "user", "Still there?"))
    assert times(memex) == ["15:00"]
    capture(memex, HELLO, NOTED, ("300", "user", "Still there?"), ("661", "user", "And now?"))
    assert (told(memex)[1:], times(memex)) == (["Asked: And now?"], ["15:00", "21:01"])


def test_a_sidecar_names_an_open_event_and_an_older_one_has_none(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    assert known(memex)[0]["open"] is True
    memex.remember(session("s1", HELLO, NOTED, run=Run(goes_on=False)))
    assert "open" not in known(memex)[0]
    sidecar = Sidecar.from_dict({"session_id": "s1", "diary": known(memex)})
    assert [event.open for event in sidecar.diary] == [False]


def test_a_run_that_goes_on_in_another_time_zone_is_one_event(
    memex: Memex, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(memex, HELLO, NOTED)
    try:
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        capture(memex, HELLO, NOTED, MORE, FIXED)
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
    assert (told(memex), times(memex)) == ([BOTH], ["19:25"])


@pytest.mark.parametrize(
    "ts", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "noon"]
)
def test_a_time_that_no_clock_shows_costs_the_event_at_most(memex: Memex, ts: str) -> None:
    for said in ((HELLO, NOTED), (HELLO, NOTED, MORE, FIXED)):
        odd = session("s1", *said, run=Run(goes_on=True))
        odd.header.started_at = odd.header.ended_at = odd.born_at = ts
        assert memex.remember(odd).turn_count == len(said)


# --- what a person does with the event of a run that goes on


def test_the_rest_of_a_run_whose_event_a_person_changed_is_an_event_of_its_own(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    day(memex).write_text(day(memex).read_text("utf-8").replace("Noted.", "Noted, thanks!"), "utf-8")
    capture(memex, HELLO, NOTED, MORE, FIXED)
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == [
        "Asked: I prefer ruff over flake8.\nAnswer: Noted, thanks!",
        "Asked: Now fix the build.\nAnswer: Pushed.",
    ]


def test_the_rest_of_a_run_whose_event_a_person_moved_is_an_event_of_its_own(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    day(memex).write_text(day(memex).read_text("utf-8").replace("## 10:01", "## 09:30"), "utf-8")
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert (told(memex), times(memex)) == ([FIRST, SECOND], ["09:30", "10:25"])


def test_the_rest_of_a_run_whose_event_a_person_deleted_is_an_event_of_its_own(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    day(memex).unlink()
    capture(memex, HELLO, NOTED)
    assert events(memex) == []
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [SECOND]


def test_a_day_that_cannot_be_written_keeps_the_event_until_it_can(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    day(memex).chmod(0o444)
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [FIRST] and len(known(memex)) == 1
    day(memex).chmod(0o600)
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH)
    assert told(memex) == [BOTH]


def test_runs_whose_day_could_not_be_written_are_told_apart_when_it_can(memex: Memex) -> None:
    day(memex).mkdir(parents=True)
    capture(memex, HELLO, NOTED)
    memex.remember(session("s1", HELLO, NOTED, run=Run(goes_on=False)))
    capture(memex, HELLO, NOTED, MORE)
    day(memex).rmdir()
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert (told(memex), times(memex)) == ([FIRST, SECOND], ["10:01", "10:25"])


def test_a_run_whose_day_cannot_be_read_for_a_while_is_one_event(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    text = day(memex).read_bytes()
    day(memex).write_bytes(text + b"caf\xe9\n")
    for goes_on in (True, False):
        memex.remember(session("s1", HELLO, NOTED, MORE, FIXED, run=Run(goes_on)))
    day(memex).write_bytes(text)
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == [BOTH, "Asked: Push it.\nAnswer: Pushed."]


def test_an_event_is_told_before_one_whose_day_cannot_be_written(memex: Memex) -> None:
    late, yes = ("840", "user", "Late?"), ("841", "agent", "Yes.")
    day(memex, "2026-09-16").mkdir(parents=True)
    capture(memex, HELLO, NOTED, late, yes, resumed="10")
    assert told(memex) == [FIRST] and len(known(memex)) == 1
    day(memex, "2026-09-16").rmdir()
    capture(memex, HELLO, NOTED, late, yes)
    assert told(memex) == [FIRST, "Asked: Late?\nAnswer: Yes."]


def test_an_event_that_cannot_be_taken_out_goes_as_soon_as_it_can(memex: Memex) -> None:
    late = ("845", "user", "Still?")
    capture(memex, ("800", "user", "Late."), ("801", "agent", "Yes."))
    day(memex).chmod(0o444)
    for _ in range(2):
        capture(memex, ("800", "user", "Late."), ("801", "agent", "Yes."), late)
    day(memex).chmod(0o600)
    capture(memex, ("800", "user", "Late."), ("801", "agent", "Yes."), late)
    assert [(event.date, event.time) for event in events(memex)] == [("2026-09-16", "00:05")]
