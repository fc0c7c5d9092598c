"""What identifies a session: title, times, circumstances (formats/claude-code.md §3.1, §3.7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_code_logs import Log, session, stamp

from memex_hooks.harnesses.claude_code.times import iso_utc


def titled(*lines: dict[str, Any]) -> Log:
    log = Log()
    log.user("hi")
    for line in lines:
        log.line(**line)
    return log


CUSTOM = {"kind": "custom-title", "customTitle": "mine"}
AI = {"kind": "ai-title", "aiTitle": "its"}
SUMMARY = {"kind": "summary", "summary": "in short"}


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([CUSTOM, AI, SUMMARY], "mine"),
        ([AI, SUMMARY], "its"),
        ([SUMMARY], "in short"),
        ([], ""),
        ([AI, {**AI, "aiTitle": "later"}], "later"),
        ([CUSTOM, {**CUSTOM, "customTitle": None}], "mine"),
        ([{**AI, "aiTitle": " two\n lines\x00 "}], "two lines"),
        ([{**SUMMARY, "leafUuid": "00000001-aaaa-4aaa-8aaa-000000000001"}], "in short"),
        ([{**SUMMARY, "leafUuid": "in another file"}], ""),
        ([SUMMARY, {**SUMMARY, "summary": "of another", "leafUuid": "in another file"}], "in short"),
        ([{**AI, "aiTitle": ["x"]}, {**SUMMARY, "summary": 5}], ""),
    ],
)
def test_the_title_is_the_users_else_the_harnesss_else_a_summary_of_this_log(
    tmp_path: Path, lines: list[dict[str, Any]], title: str
) -> None:
    assert session(titled(*lines), tmp_path).title == title


def test_a_summary_in_front_of_the_record_that_it_sums_up_counts(tmp_path: Path) -> None:
    log = Log()
    log.line("summary", summary="early", leafUuid="00000001-aaaa-4aaa-8aaa-000000000001")
    log.user("hi")

    assert session(log, tmp_path).title == "early"


def test_times_run_from_the_first_to_the_last_conversation_record(tmp_path: Path) -> None:
    log = Log()
    log.line("queue-operation", timestamp="2026-08-19T00:00:00.000Z")
    log.attach("skill_listing")
    log.user("hi")
    log.says("hello")
    log.says("sub", isSidechain=True)
    log.add("system", subtype="turn_duration")
    found = session(log, tmp_path)

    assert (found.header.started_at, found.header.ended_at) == (stamp(2), stamp(3))
    assert found.header.duration_s == 1.0
    assert found.born_at == "2026-08-19T00:00:00.000Z"


def test_a_log_without_times_has_none(tmp_path: Path) -> None:
    log = Log()
    log.user("hi", timestamp=None)
    found = session(log, tmp_path)

    assert (found.header.started_at, found.header.ended_at, found.header.duration_s, found.born_at) == (
        "",
        "",
        0.0,
        "",
    )
    assert next(iter(found.turns)).ts == ""


def test_the_circumstances_are_kept_and_empty_ones_left_out(tmp_path: Path) -> None:
    log = Log()
    log.user("hi", version="2.1.1")
    log.says("a", effort="high", version="2.1.2", cwd="/home/dev/other", gitBranch="topic")
    log.says("b", model="claude-haiku", effort="low", version="2.1.3")
    log.says("c", effort="high", version="")

    assert session(log, tmp_path).header.meta == {
        "cli_version": "2.1.3",
        "provider": "anthropic",
        "cwd": "/home/dev/demo",
        "git": {"branch": "main"},
        "entrypoint": "cli",
        "models": ["claude-opus-5", "claude-haiku"],
        "reasoning_efforts": ["high", "low"],
    }


def test_a_worktree_names_the_folder_it_came_from(tmp_path: Path) -> None:
    log = titled({"kind": "worktree-state", "worktreeSession": {"originalCwd": "/home/dev/app"}})
    log.line("worktree-state", worktreeSession=None)

    assert session(log, tmp_path).header.meta["original_cwd"] == "/home/dev/app"


def test_a_fork_names_its_origin_and_is_younger_than_its_copies(tmp_path: Path) -> None:
    log = Log()
    log.user("copied", forkedFrom={"sessionId": "origin", "messageUuid": "m"})
    log.says("copied too", forkedFrom={"sessionId": "origin", "messageUuid": "n"})
    found = session(log, tmp_path)
    assert (found.header.meta["forked_from"], found.born_at) == ("origin", stamp(2))

    log.user("new")
    assert session(log, tmp_path).born_at == stamp(3)


def test_fields_of_wrong_types_are_left_out(tmp_path: Path) -> None:
    log = Log()
    log.user("hi", cwd=5, version=["x"], gitBranch={}, entrypoint=None, effort=3, forkedFrom="x", sessionId=7)
    found = session(log, tmp_path)

    assert found.header.meta == {"provider": "anthropic"}


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        ("2026-08-20T09:00:01.001Z", "2026-08-20T09:00:01.001Z"),
        ("2026-08-20T09:00:01Z", "2026-08-20T09:00:01Z"),
        ("2026-08-20T11:00:01.5+02:00", "2026-08-20T09:00:01.500Z"),
        ("2026-08-20T09:00:01", "2026-08-20T09:00:01.000Z"),
        ("0001-01-01T00:00:00+14:00", ""),
        ("2026-13-20T09:00:01Z", ""),
        ("yesterday", ""),
        ("", ""),
        (1787216401, ""),
        (None, ""),
        (["x"], ""),
    ],
)
def test_times_are_iso_8601_utc_or_nothing(written: Any, utc: str) -> None:
    assert iso_utc(written) == utc
