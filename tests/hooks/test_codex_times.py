"""When a session began and ended: by its own lines, in whatever order their times are."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from codex_rollouts import START, Rollout, read


def test_an_older_last_line_does_not_move_the_end_back(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1")
    before = read(log.write(tmp_path)).header
    log.now = START
    after = read(log.exchange("two", "2").write(tmp_path)).header
    assert (after.started_at, after.ended_at, after.duration_s) == (
        before.started_at,
        before.ended_at,
        before.duration_s,
    )


def test_the_start_is_the_earliest_time_of_an_own_line(tmp_path: Path) -> None:
    log = Rollout()
    log.now = START - timedelta(hours=1)
    session = read(log.exchange("one", "1").write(tmp_path))
    assert session.header.started_at == "2026-11-21T09:00:00.000Z"
    assert session.header.ended_at == "2026-11-21T10:00:00.000Z"
    assert session.born_at == "2026-11-21T10:00:00.000Z"


def test_times_are_compared_as_times_whatever_their_offset(tmp_path: Path) -> None:
    log = Rollout().begin().prompt("one")
    log.raw(
        b'{"timestamp":"2026-11-21T13:00:00+02:00","type":"event_msg","payload":{"type":"task_complete"}}\n'
        b'{"timestamp":"2026-11-21T10:59:00.000Z","type":"event_msg","payload":{"type":"task_complete"}}\n'
        b'{"timestamp":"tomorrow","type":"event_msg","payload":{"type":"task_complete"}}\n'
    )
    assert read(log.write(tmp_path)).header.ended_at == "2026-11-21T11:00:00.000Z"


def test_copied_lines_of_a_parent_say_nothing_about_the_time(tmp_path: Path) -> None:
    log = Rollout(start=START, subagent_history_start_ordinal=5)
    log.now = START - timedelta(days=1)
    log.prompt("inherited")
    log.now = START + timedelta(days=1)
    log.prompt("inherited")
    log.now = START + timedelta(minutes=1)
    header = read(log.begin().prompt("own").answer("1").end().write(tmp_path)).header
    assert header.started_at == "2026-11-21T10:00:00.000Z"
    assert header.ended_at.startswith("2026-11-21T10:01:00.")


def test_a_log_that_has_lost_its_first_line_starts_with_its_first_own_time(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1")
    log.lines = log.lines[1:]
    assert read(log.write(tmp_path)).header.started_at == "2026-11-21T10:00:00.010Z"
