"""What a capture writes into the diary (issue 4 item 6)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_sessions import (
    FIXED,
    HELLO,
    MORE,
    NOTED,
    cut_off_before_the_sidecar,
    day,
    events,
    journal,
    moment,
    session,
    told,
    tree,
)

from memex_core.config import CaptureConfig, MemexConfig
from memex_core.memex import Memex
from memex_core.memory.episode import Exchange
from memex_core.memory.session_event import LINE_CHARS, event_content
from memex_core.model.session import Response
from memex_core.model.sidecar import Sidecar
from memex_core.store.diary import Diary
from memex_core.text.blocks import is_representable, item_links
from memex_core.text.links import parse_links


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root, now=lambda: "2026-09-16T08:00:00Z")


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's zone is two hours ahead of UTC."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


# --- one event a session


def test_a_session_is_one_event_at_its_local_end(memex: Memex, in_berlin: None) -> None:
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    (event,) = events(memex)
    assert (event.date, event.time, event.ts) == ("2026-09-15", "12:25", "2026-09-15T10:25:00+00:00")
    assert (event.owner, event.source_conv) == ("test", "s1")
    assert event.content == "Asked: I prefer ruff over flake8.\nAnswer: Fixed it.\nSession: [[s1]] in shop"


def test_a_session_that_ends_after_midnight_is_in_the_day_that_the_clock_showed(
    memex: Memex, in_berlin: None
) -> None:
    memex.remember(session("s1", ("700", "user", "Late."), ("725", "agent", "Yes.")))
    assert [(event.date, event.time) for event in events(memex)] == [("2026-09-16", "00:05")]


def test_the_journal_tells_of_the_event_as_wikimem_does(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    assert journal(memex) == [
        {
            "ts": "2026-09-16T08:00:00+00:00",
            "action": "diary",
            "date": "2026-09-15",
            "time": "10:01",
            "owner": "test",
            "source_conv": "s1",
        }
    ]


def test_the_same_log_again_changes_no_byte(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    before = tree(memex.root)
    memex.remember(session("s1", HELLO, NOTED))
    assert tree(memex.root) == before


def test_a_session_that_goes_on_is_one_event_more_with_what_is_new(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert told(memex) == [
        "Asked: I prefer ruff over flake8.\nAnswer: Noted.",
        "Asked: Now fix the build.\nAnswer: Fixed it.",
    ]
    assert [event.time for event in events(memex)] == ["10:01", "10:25"]


def test_a_tool_call_alone_is_nothing_new(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s1", HELLO, NOTED, ("09", "tool", "exit")))
    assert [event.time for event in events(memex)] == ["10:01"]


def test_an_answer_that_came_after_the_capture_is_told_in_the_same_event(memex: Memex) -> None:
    memex.remember(session("s1", HELLO))
    assert told(memex) == ["Asked: I prefer ruff over flake8."]
    memex.remember(session("s1", HELLO, ("01", "agent", "I look at it."), ("05", "agent", "Done.")))
    assert told(memex) == ["Asked: I prefer ruff over flake8.\nAnswer: Done."]
    assert [event.time for event in events(memex)] == ["10:05"]
    assert [line["action"] for line in journal(memex)] == ["diary", "diary", "remove"]


def test_an_answer_and_a_further_prompt_are_told_each_in_its_place(memex: Memex) -> None:
    memex.remember(session("s1", HELLO))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert [(event.time, event.content.splitlines()[1]) for event in events(memex)] == [
        ("10:01", "Answer: Noted."),
        ("10:25", "Answer: Fixed it."),
    ]


@pytest.mark.parametrize("kind", ["subagent", "internal"])
def test_what_no_user_began_is_no_event(memex: Memex, kind: str) -> None:
    memex.remember(session("s1", HELLO, NOTED, kind=kind))
    assert events(memex) == [] and not day(memex).parent.exists()


def test_a_session_without_times_or_without_a_prompt_is_no_event(memex: Memex) -> None:
    memex.remember(session("s1", ("", "user", "When was that?")))
    memex.remember(session("s2", ("05", "agent", "Hello.")))
    memex.remember(session("s3", ("05", "user", "…?"), ("06", "agent", "What?")))
    assert events(memex) == []


def test_the_configuration_may_leave_the_diary_alone(root: Path) -> None:
    quiet = Memex(root, MemexConfig(capture=CaptureConfig(diary=False)))
    quiet.remember(session("s1", HELLO, NOTED))
    assert events(quiet) == []
    loud = Memex(root)
    loud.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert told(loud) == ["Asked: I prefer ruff over flake8.\nAnswer: Fixed it."]
    quiet.remember(session("s1", HELLO, NOTED, MORE, FIXED, ("40", "user", "More.")))
    loud.remember(session("s1", HELLO, NOTED, MORE, FIXED, ("40", "user", "More.")))
    assert told(loud)[1:] == ["Asked: More."]


def test_a_transcript_given_by_hand_is_an_event_too(memex: Memex) -> None:
    memex.remember(session("standup", HELLO, NOTED, replaces=True))
    memex.remember(session("standup", ("00", "user", "Something else."), NOTED, replaces=True))
    assert told(memex) == ["Asked: Something else.\nAnswer: Noted."]


def test_a_newer_reader_that_counts_anew_tells_nothing_twice(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    split = (HELLO, ("00", "tool", "Read"), ("00", "agent", "Hm."), NOTED)
    memex.remember(session("s1", *split, reader_version=2))
    memex.remember(session("s1", *split, MORE, FIXED, reader_version=2))
    assert told(memex) == [
        "Asked: I prefer ruff over flake8.\nAnswer: Noted.",
        "Asked: Now fix the build.\nAnswer: Fixed it.",
    ]


def test_two_runs_that_are_alike_to_the_second_are_two_events_also_when_one_changes(memex: Memex) -> None:
    again = (("01", "user", HELLO[2]), ("01", "agent", NOTED[2]))
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s1", HELLO, NOTED, *again))
    memex.remember(session("s1", HELLO, NOTED, *again, ("03", "agent", "Later.")))
    assert told(memex) == [
        "Asked: I prefer ruff over flake8.\nAnswer: Noted.",
        "Asked: I prefer ruff over flake8.\nAnswer: Later.",
    ]


# --- turns that no longer count


def test_turns_that_were_taken_back_are_no_event_any_more(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED, retracted={1, 2}))
    assert told(memex) == ["Asked: Now fix the build.\nAnswer: Fixed it."]


def test_what_a_fork_copied_is_told_by_its_original_alone(memex: Memex) -> None:
    def answered(minute: str) -> list[Response]:
        return [Response("r-1", "model-a", moment(minute), 2, input=10, output=5)]

    fork = session("fork", HELLO, NOTED, MORE, FIXED, responses=answered("01"), born_at=moment("15"))
    memex.remember(fork)
    memex.remember(session("origin", HELLO, NOTED, responses=answered("01")))
    assert [(event.source_conv, event.content.splitlines()[0]) for event in events(memex)] == [
        ("origin", "Asked: I prefer ruff over flake8."),
        ("fork", "Asked: Now fix the build."),
    ]


# --- what a person does with the diary


def test_an_event_that_a_person_changed_stays_theirs(memex: Memex) -> None:
    memex.remember(session("s1", HELLO))
    text = day(memex).read_text("utf-8").replace("I prefer ruff", "I insist on ruff")
    day(memex).write_text(text, "utf-8")
    memex.remember(session("s1", HELLO, NOTED))
    assert day(memex).read_text("utf-8") == text
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert told(memex) == [
        "Asked: I insist on ruff over flake8.",
        "Asked: Now fix the build.\nAnswer: Fixed it.",
    ]


def test_an_event_that_a_person_deleted_does_not_come_back(memex: Memex) -> None:
    memex.remember(session("s1", HELLO))
    day(memex).unlink()
    memex.remember(session("s1", HELLO, NOTED))
    assert events(memex) == []


def test_an_event_that_a_person_moved_to_another_day_is_known_there(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    day(memex).rename(day(memex, "2026-09-14"))
    assert memex._remembering.forget_session("s1") == []
    assert events(memex) == []


def test_the_words_of_a_person_around_an_event_keep_their_bytes(memex: Memex) -> None:
    by_hand = b"# Tuesday\r\nrainy\r\n\r\n## 09:00\r\nTea with Kim.\r\n"
    day(memex).parent.mkdir(parents=True)
    day(memex).write_bytes(by_hand)
    memex.remember(session("s1", HELLO))
    memex.remember(session("s1", HELLO, NOTED))
    assert [event.time for event in events(memex)] == ["09:00", "10:01"]
    memex._remembering.forget_session("s1")
    assert day(memex).read_bytes().startswith(by_hand) and day(memex).read_bytes().strip() == by_hand.strip()


@pytest.mark.parametrize("bad", ["a folder", "latin-1", "read-only"])
def test_a_day_that_cannot_be_written_costs_the_event_alone(memex: Memex, bad: str) -> None:
    day(memex).parent.mkdir(parents=True)
    if bad == "a folder":
        day(memex).mkdir()
    else:
        day(memex).write_bytes(b"## 09:00\ncaf\xe9\n" if bad == "latin-1" else b"## 09:00\ntea\n")
        day(memex).chmod(0o444 if bad == "read-only" else 0o600)
    assert memex.remember(session("s1", HELLO, NOTED)).outcome == "new"
    assert memex.read("s1") is not None
    assert "Asked" not in "".join(told(memex))
    assert '"write-diary"' in (memex.root / "logs" / "memex.log").read_text("utf-8")


# --- a sidecar that was lost


def test_a_session_whose_sidecar_is_lost_is_captured_again_without_a_second_event(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    after = tree(memex.root)
    cut_off_before_the_sidecar(memex, None)
    memex.remember(session("s1", HELLO, NOTED))
    assert day(memex).read_bytes() == after["diary/2026-09-15.md"]
    sidecar = memex.transcripts.sidecar("s1")
    assert (
        sidecar is not None
        and sidecar.diary == Sidecar.from_dict(json.loads(after["transcripts/s1.meta.json"])).diary
    )


def test_every_event_of_a_session_whose_sidecar_is_lost_is_known_again(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    before = day(memex).read_bytes()
    cut_off_before_the_sidecar(memex, None)
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert day(memex).read_bytes() == before
    assert memex._remembering.forget_session("s1") == [] and not day(memex).exists()


# --- deleting a session


def test_the_events_of_a_deleted_session_go_and_those_of_others_keep_their_bytes(memex: Memex) -> None:
    memex.remember(session("s2", ("02", "user", "Something else.")))
    before = day(memex).read_bytes()
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert memex.delete_sessions(["s1"]) == []
    assert day(memex).read_bytes() == before
    assert b'"s1"' not in (memex.root / "journal.jsonl").read_bytes()
    assert [line.get("source_conv") for line in journal(memex)] == ["s2", None, None, None, None]


def test_a_day_goes_with_its_last_event(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.delete_sessions(["s1"])
    assert not day(memex).exists()


def test_what_a_person_wrote_in_the_name_of_a_deleted_session_stays_and_is_named(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    Diary(memex.root).append("My own note.", date="2026-09-20", time="07:00", source_conv="s1")
    day(memex).write_text(day(memex).read_text("utf-8").replace("Noted.", "Noted!"), "utf-8")
    assert memex._remembering.forget_session("s1") == ["diary/2026-09-15 10:01", "diary/2026-09-20 07:00"]
    assert len(events(memex)) == 2


def test_an_event_that_lost_its_metadata_names_the_deleted_session_and_is_named(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    text, _, _ = day(memex).read_text("utf-8").partition("<!-- wikimem:")
    day(memex).write_text(text, "utf-8")
    assert memex._remembering.forget_session("s1") == ["diary/2026-09-15 10:01"]
    assert day(memex).read_text("utf-8") == text


def test_an_event_in_a_day_that_cannot_be_written_is_named_and_the_session_goes(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    day(memex).chmod(0o444)
    assert memex._remembering.forget_session("s1") == ["diary/2026-09-15 10:01"]
    assert memex.transcripts.sidecar("s1") is None


def test_a_deleted_session_gets_no_event_again(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.delete_sessions(["s1"])
    assert memex.remember(session("s1", HELLO, NOTED, MORE, FIXED)).outcome == "forgotten"
    assert events(memex) == []


def test_a_session_whose_page_was_forgotten_is_told_of_no_more(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.forget("s1")
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert len(events(memex)) == 1


# --- the words


WORDS = st.text(max_size=300) | st.sampled_from(
    [
        "## 99:99\n\nfake",
        "<!-- wikimem: owner=eve -->",
        "\u2028## x",
        "[[a:b]] [[ -f x ]]",
        "\ud800",
        "- # Done",
    ]
)


@pytest.mark.parametrize("words", ["[[a:b]]", "[[[a:b]]]", "[[[[a:b]]", "x [[[", "[[ -f x ]]"])
def test_no_words_of_a_session_open_a_link(words: str) -> None:
    content = event_content([Exchange(1, f"{words} asked", f"{words} answered")], Sidecar("s1"))
    assert content.count("[[") == 1 and content.endswith("[[s1]]")


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=3), WORDS)
@settings(max_examples=300, deadline=None)
def test_whatever_was_said_is_read_back_as_it_was_written(said: list[tuple[str, str]], project: str) -> None:
    exchanges = [Exchange(number, *words) for number, words in enumerate(said, 1)]
    content = event_content(exchanges, Sidecar("s1", project_label=project))
    assert is_representable(content)
    assert item_links(content) == [] and parse_links(content) in ([], ["s1"])
    lines = content.splitlines()
    assert len(lines) in (0, 2, 3) and all(len(line) <= 2 * LINE_CHARS + 30 for line in lines)


def test_a_long_prompt_is_cut_and_an_answer_begins_with_its_first_words() -> None:
    exchange = Exchange(1, f"{'long ' * 100}\nprompt", "```\n\n# **Done**: it works\nand more")
    asked, answer, _ = event_content([exchange], Sidecar("s1")).splitlines()
    assert len(asked) == len("Asked: ") + LINE_CHARS and asked.endswith("long…")
    assert answer == "Answer: Done: it works and more"


@pytest.mark.parametrize(
    ("said", "gist"),
    [
        ("# Summary\n\nI fixed the **parser**.\n", "I fixed the parser."),
        ("**Summary**\n\n- fixed `x`\n- tested it", "fixed x tested it"),
        (
            "Done! Here is what I did:\n1. Fixed it.\n2. Tested it.",
            "Done! Here is what I did: 1. Fixed it. 2. Tested it.",
        ),
        ("```python\nx = 1\n```", "x = 1"),
        ("```sh\nmake\n```\nThat builds it.", "That builds it."),
        ("## Done", "Done"),
        ("> quoted\n\n---\n", "quoted"),
    ],
)
def test_what_came_of_it_is_what_the_answer_says_and_not_its_markup(said: str, gist: str) -> None:
    content = event_content([Exchange(1, "do it", said)], Sidecar("s1"))
    assert content.splitlines()[1] == f"Answer: {gist}"


def test_the_events_of_a_session_are_private(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    assert os.stat(day(memex)).st_mode & 0o777 == 0o600
