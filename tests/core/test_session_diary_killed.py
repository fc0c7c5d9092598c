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
from memex_core.model.session import Run, Session
from memex_core.session_diary import SessionDiary
from memex_core.store.transcripts import Transcripts


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root, now=lambda: "2026-09-16T08:00:00Z")


class Killed(BaseException):
    """The end of a writer where it stands."""


def killed(at: str) -> ExitStack:
    """A `with` block in which a writer dies: when it has noted what it will tell ("note"), behind the first
    event that it appends, behind the first that it takes out, or before it writes the sidecar.
    """
    stack = ExitStack()
    stack.enter_context(suppress(Killed))
    owner: type = Transcripts if at in ("note", "sidecar") else SessionDiary
    name = "write_sidecar" if owner is Transcripts else at
    kept = getattr(owner, name or "append")

    def die(*args: Any) -> Any:
        if owner is Transcripts and (at == "note") == (args[1].planned is None):
            return kept(*args)
        if at != "sidecar":
            kept(*args)
        raise Killed

    if at:
        stack.enter_context(mock.patch.object(owner, name, die))
    return stack


@pytest.mark.parametrize("at", ["note", "append", "take_out", "sidecar"])
def test_a_run_whose_writer_was_killed_is_one_event_after_the_next_capture(memex: Memex, at: str) -> None:
    capture(memex, HELLO, NOTED)
    with killed(at):
        capture(memex, HELLO, NOTED, MORE, FIXED)
        pytest.fail("nobody was killed")
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == ["Asked: I prefer ruff over flake8.\nAnswer: Pushed."]
    assert memex._remembering.forget_session("s1") == [] and events(memex) == []


@pytest.mark.parametrize("at", ["note", "append", "take_out", "sidecar"])
def test_a_capture_that_was_cut_off_has_ended_nothing(memex: Memex, at: str) -> None:
    memex.remember(session("s1", HELLO, run=Run(goes_on=False)))
    with killed(at):
        memex.remember(session("s1", HELLO, NOTED, MORE, FIXED, run=Run(goes_on=False)))
        pytest.fail("nobody was killed")
    capture(memex, HELLO, NOTED, MORE, FIXED, PUSH, PUSHED)
    assert told(memex) == [FIRST, "Asked: Now fix the build.\nAnswer: Pushed."]


@pytest.mark.parametrize("at", ["note", "append", "take_out", "sidecar"])
def test_an_event_that_is_told_again_is_told_once_whenever_its_writer_is_killed(
    memex: Memex, at: str
) -> None:
    memex.remember(session("s1", HELLO))
    with killed(at):
        memex.remember(session("s1", HELLO, NOTED))
        pytest.fail("nobody was killed")
    memex.remember(session("s1", HELLO, NOTED))
    assert (told(memex), times(memex)) == ([FIRST], ["10:01"])
    sidecar = memex.transcripts.sidecar("s1")
    assert sidecar is not None and sidecar.planned is None and not sidecar.diary[-1].open


def test_a_run_whose_writers_were_killed_one_after_the_other_is_one_event(memex: Memex) -> None:
    with killed("append"):
        capture(memex, HELLO, NOTED)
    with killed("append"):
        capture(memex, HELLO, NOTED, MORE, FIXED)
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert told(memex) == [BOTH]


@pytest.mark.parametrize("at", ["append", "sidecar"])
def test_what_a_killed_writer_told_in_the_midst_of_a_turn_does_not_stay(memex: Memex, at: str) -> None:
    with killed(at):
        capture(memex, HELLO)
    capture(memex, HELLO, NOTED)
    assert told(memex) == [FIRST]


@pytest.mark.parametrize("at", ["append", "sidecar"])
@pytest.mark.parametrize("started", ["", "900"], ids=["unknown", "later than its end"])
def test_what_a_killed_writer_told_is_known_also_where_the_start_is_odd(
    memex: Memex, at: str, started: str
) -> None:
    def odd() -> Session:
        return session("s1", (started, "user", HELLO[2]), NOTED, born_at="")

    with killed(at):
        memex.remember(odd())
    memex.remember(odd())
    assert told(memex) == [FIRST]


@pytest.mark.parametrize("at", ["note", "append", "take_out", "sidecar"])
def test_the_fork_that_an_original_takes_turns_from_is_told_once(memex: Memex, at: str) -> None:
    alpha = (("00", "user", "alpha"), ("01", "agent", "A."))
    beta = (("10", "user", "beta"), ("11", "agent", "B."))
    more = (("40", "user", "gamma"), ("41", "agent", "G."))
    on = Run(goes_on=True)
    memex.remember(session("fork", *alpha, *beta, *more, run=on, born_at=moment("39")))
    with killed(at):
        memex.remember(session("origin", *alpha, run=on))
    memex.heal(force=True)
    memex.remember(session("origin", *alpha, *beta, run=on))
    found = [(event.source_conv, *event.content.splitlines()[:-1]) for event in events(memex)]
    assert found == [("origin", "Asked: alpha", "Answer: B."), ("fork", "Asked: gamma", "Answer: G.")]


def test_a_person_who_deletes_what_a_killed_writer_told_and_noted_gets_it_no_third_time(
    memex: Memex,
) -> None:
    capture(memex, HELLO, NOTED)
    with killed("sidecar"):
        capture(memex, HELLO, NOTED, MORE, FIXED)
    day(memex).unlink()
    capture(memex, HELLO, NOTED, MORE, FIXED)
    assert FIRST not in told(memex) and BOTH not in told(memex)


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
        if self.runs:
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
        if not kill_at:
            self.resumed = ()
            self.is_over = self.is_over or not goes_on


KILLS = st.sampled_from(["", "", "", "note", "append", "take_out", "sidecar"])
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
