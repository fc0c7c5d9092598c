"""What writers that are killed leave in the diary is part of what the next capture tells (DESIGN §4)."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told_sessions import (
    BOTH,
    FIRST,
    FIXED,
    HELLO,
    MORE,
    NOTED,
    PUSH,
    PUSHED,
    Said,
    capture,
    cut_off_before_the_sidecar,
    day,
    events,
    moment,
    session,
    times,
    told,
)

from memex_core.memex import Memex
from memex_core.model.session import Run
from memex_core.session_diary import SessionDiary
from memex_core.store.transcripts import Transcripts


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root, now=lambda: "2026-09-16T08:00:00Z")


class Killed(BaseException):
    """The end of a writer where it stands."""


def killed(at: str) -> ExitStack:
    """A `with` block in which a writer dies: behind the first event that it appends, behind the first that it
    takes out, or before it writes the sidecar.
    """
    stack = ExitStack()
    stack.enter_context(suppress(Killed))
    if at == "sidecar":
        stack.enter_context(mock.patch.object(Transcripts, "write_sidecar", side_effect=Killed))
    elif at:
        kept = getattr(SessionDiary, at)

        def die(*args: object) -> None:
            kept(*args)
            raise Killed

        stack.enter_context(mock.patch.object(SessionDiary, at, die))
    return stack


@pytest.mark.parametrize("at", ["append", "take_out", "sidecar"])
def test_a_run_whose_writer_was_killed_is_one_event_after_the_next_capture(memex: Memex, at: str) -> None:
    capture(memex, HELLO, NOTED)
    with killed(at):
        capture(memex, HELLO, NOTED, MORE, FIXED)
        pytest.fail("nobody was killed")
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == ["Asked: I prefer ruff over flake8.\nAnswer: Pushed."]
    assert memex._remembering.forget_session("s1") == [] and events(memex) == []


def test_a_run_whose_writers_were_killed_one_after_the_other_is_one_event(memex: Memex) -> None:
    with killed("append"):
        capture(memex, HELLO, NOTED)
    with killed("append"):
        capture(memex, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [FIRST, BOTH]
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [BOTH]


def test_what_a_killed_writer_told_of_a_run_is_not_taken_for_the_one_before_it(memex: Memex) -> None:
    again, noted = ("20", *HELLO[1:]), ("21", *NOTED[1:])
    capture(memex, HELLO, NOTED)
    with killed("append"):
        capture(memex, HELLO, NOTED, again, noted, resumed="10")
    capture(memex, HELLO, NOTED, again, noted, resumed="10")
    assert (told(memex), times(memex)) == ([FIRST, FIRST], ["10:01", "10:21"])


def test_an_event_that_no_sidecar_knows_is_not_taken_for_what_was_said_after_it(memex: Memex) -> None:
    again, noted = ("620", *HELLO[1:]), ("621", *NOTED[1:])
    capture(memex, HELLO, NOTED)
    cut_off_before_the_sidecar(memex, None)
    capture(memex, HELLO, NOTED, again, noted)
    assert (told(memex), times(memex)) == ([FIRST, FIRST], ["10:01", "20:21"])


@pytest.mark.parametrize("at", ["append", "sidecar"])
def test_what_a_killed_writer_told_goes_with_its_session(memex: Memex, at: str) -> None:
    with killed(at):
        capture(memex, HELLO, NOTED)
        pytest.fail("nobody was killed")
    assert len(events(memex)) == 1
    assert memex.delete_sessions(["s1"]) == []
    assert events(memex) == []


def test_every_event_of_a_session_whose_sidecar_is_lost_is_known_again(memex: Memex) -> None:
    capture(memex, HELLO, NOTED)
    capture(memex, HELLO, NOTED, MORE, FIXED, resumed="10")
    before = day(memex).read_bytes()
    cut_off_before_the_sidecar(memex, None)
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert day(memex).read_bytes() == before
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == [FIRST, "Asked: Now fix the build.\nAnswer: Pushed."]


class Played:
    """A session that goes on turn by turn, a minute each, and what its runs should have left in the diary."""

    def __init__(self, root: Path) -> None:
        self.memex = Memex(root, now=lambda: "2026-09-16T08:00:00Z")
        self.said: list[Said] = []
        self.minute = 0
        self.resumed: tuple[str, ...] = ()
        self.runs: list[list[str]] = []
        self.is_over = True
        self.was_killed = False

    def tick(self) -> str:
        self.minute += 1
        return f"{self.minute:02d}"

    def ask(self, words: str) -> None:
        asked_at, answered_at = self.tick(), self.tick()
        self.said += [(asked_at, "user", words), (answered_at, "agent", "Done.")]
        if self.is_over:
            self.runs.append([f"Asked: {words}", "", ""])
        self.is_over = False
        self.runs[-1][1:] = ["Answer: Done.", moment(answered_at)[:16]]

    def answer(self) -> None:
        """One more answer. A writer that was killed in the midst of a turn is not known by what it told."""
        if self.runs and not self.was_killed:
            at = self.tick()
            self.said.append((at, "agent", f"Done at {at}."))
            self.runs[-1][1:] = [f"Answer: Done at {at}.", moment(at)[:16]]

    def resume(self) -> None:
        self.resumed += (moment(self.tick()),)
        self.is_over = True

    def capture(self, goes_on: bool, kill_at: str) -> None:
        if not self.said:
            return
        with killed(kill_at):
            self.memex.remember(session("s1", *self.said, run=Run(goes_on, self.resumed)))
            kill_at = ""
        self.was_killed = bool(kill_at)
        if not kill_at:
            self.resumed = ()
            self.is_over = self.is_over or not goes_on


KILLS = st.sampled_from(["", "", "", "append", "take_out", "sidecar"])
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["continue", "Fix it.", "Test it."])),
    st.tuples(st.just("answer")),
    st.tuples(st.just("resume")),
    st.tuples(st.just("capture"), st.just(True), KILLS),
    st.tuples(st.just("capture"), st.just(False), KILLS),
)


@pytest.mark.parametrize("examples", [25, pytest.param(1_500, marks=pytest.mark.slow)])
def test_whatever_happens_each_run_that_asked_something_is_one_event(
    monkeypatch: pytest.MonkeyPatch, examples: int
) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # hundreds of memories would wait for the disk

    @settings(max_examples=examples, deadline=None)
    @given(st.lists(STEPS, max_size=14))
    def check(steps: list[tuple[Any, ...]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            played = Played(Path(folder) / "memex")
            for name, *words in steps:
                getattr(played, name)(*words)
            played.capture(False, "")
            found = sorted((each.ts or "", *each.content.splitlines()[:-1]) for each in events(played.memex))
            assert [(ts[:16], *words) for ts, *words in found] == [(at, *words) for *words, at in played.runs]
            assert played.memex._remembering.forget_session("s1") == [] and events(played.memex) == []

    check()
