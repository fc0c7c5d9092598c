"""The recorded rollouts read exactly as tests/fixtures/codex/EXPECTED.json says."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import pytest
from codex_rollouts import FIXTURES, answers, prompts, read, usage

from memex_core.model.session import Session, Turn
from memex_hooks.harnesses import codex

EXPECTED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "EXPECTED.json").read_text(encoding="utf-8"))
samples = pytest.mark.parametrize("sample", EXPECTED)


def session_of(sample: str) -> Session:
    return read(FIXTURES / EXPECTED[sample]["file"])


def in_notation(turn: Turn) -> str:
    """A tool turn as EXPECTED.json writes it."""
    name, query, result = turn.tool_name or "", turn.query or "", turn.result or ""
    if name == "command":
        _, mark, code = result.rpartition("\n[exit code ")
        return f"command:{query}" + (f"(exit {code.rstrip(']')})" if mark else "")
    if name == "apply_patch":
        return "edit:" + PurePosixPath(query.splitlines()[0].partition(": ")[2]).name
    if name.startswith("mcp__"):
        return "mcp:" + ".".join(name.split("__")[1:])
    return name


@samples
def test_the_thread_is_who_the_first_session_meta_says(sample: str) -> None:
    expected, session = EXPECTED[sample], session_of(sample)
    meta = session.header.meta
    assert session.header.session_id == expected["thread_id"]
    assert meta.get("root_session_id", expected["thread_id"]) == expected["root_session_id"]
    assert meta.get("parent_session_id") == expected.get("parent_thread_id")
    assert session.kind != "user" or meta.get("forked_from") == expected.get("forked_from_id")
    assert session.kind == expected["kind"]
    assert meta.get("models", []) == expected["models"]


@samples
def test_the_users_own_words_are_the_prompts(sample: str) -> None:
    assert prompts(session_of(sample)) == EXPECTED[sample]["prompts"]


@samples
def test_every_answer_is_one_agent_turn(sample: str) -> None:
    assert answers(session_of(sample)) == EXPECTED[sample]["answers"]


@samples
def test_every_action_is_one_tool_turn(sample: str) -> None:
    turns = [turn for turn in session_of(sample).turns if turn.role == "tool"]
    assert [in_notation(turn) for turn in turns] == EXPECTED[sample]["tools"]
    assert all(turn.content == turn.tool_name for turn in turns)


@samples
def test_rolled_back_prompts_are_retracted(sample: str) -> None:
    session = session_of(sample)
    back = [t.content for t in session.turns if t.role == "user" and t.turn in session.retracted]
    assert back == EXPECTED[sample].get("rolled_back_prompts", [])


@samples
def test_the_token_sums_are_exact(sample: str) -> None:
    expected, session = EXPECTED[sample]["usage"], session_of(sample)
    assert session.usage_known == (expected is not None)
    assert session.responses or expected is None
    counted = usage(session)
    assert {name: counted[name] for name in expected or ()} == (expected or {})


def test_usage_is_dated_by_the_event_not_by_the_file() -> None:
    session, days = session_of("resumed"), defaultdict(list)
    for response in session.responses:
        days[response.ts[:10]].append(response)
    for day, expected in EXPECTED["resumed"]["usage_by_day"].items():
        for name, fields in session.usage_fields.items():
            assert sum(getattr(r, f) for r in days[day] for f in fields) == expected[name]


@samples
def test_turn_numbers_count_from_one_and_every_response_has_one(sample: str) -> None:
    session = session_of(sample)
    turns = list(session.turns)
    assert [turn.turn for turn in turns] == list(range(1, session.turn_count + 1))
    assert len({turn.id for turn in turns}) == len(turns)
    assert all(0 <= response.turn <= session.turn_count for response in session.responses)
    assert all(response.final and response.model for response in session.responses)


def test_a_title_is_the_newest_name_in_the_session_index() -> None:
    assert session_of("plain_legacy_mode").title == "px width bug"
    assert session_of("plain_paginated").title == ""


def test_find_logs_finds_every_sample_once_the_oldest_first() -> None:
    logs = list(codex.find_logs({"CODEX_HOME": str(FIXTURES / "codex_home"), "HOME": "/nowhere"}))
    assert {log.session_id for log in logs} == {expected["thread_id"] for expected in EXPECTED.values()}
    assert len(logs) == len(EXPECTED)
    assert logs[0].session_id == EXPECTED["legacy_pre_envelope_flat"]["thread_id"]
    assert logs[-1].session_id == EXPECTED["subagent_paginated"]["thread_id"]


def test_the_header_says_where_a_thread_ran() -> None:
    header = session_of("plain_legacy_mode").header
    assert header.harness == "codex"
    assert header.started_at == session_of("plain_legacy_mode").born_at == "2026-07-02T21:58:03.120Z"
    assert header.ended_at == "2026-07-02T21:58:39.799Z"
    assert header.duration_s == 36.679
    assert header.meta == {
        "cli_version": "0.144.0",
        "provider": "openai",
        "cwd": "/home/dev/widget",
        "git": {
            "branch": "main",
            "commit_hash": "3f1c0d9a7be24c55aa10b2f6dd0e9911c0ffee01",
            "repository_url": "https://example.com/dev/widget.git",
        },
        "originator": "codex-tui",
        "source": "cli",
        "models": ["gpt-6-codex"],
        "reasoning_efforts": ["medium"],
    }


def test_a_subagent_names_its_parent_and_its_task() -> None:
    meta = session_of("subagent_paginated").header.meta
    assert meta["parent_session_id"] == EXPECTED["subagent_paginated"]["parent_thread_id"]
    assert (meta["agent_nickname"], meta["agent_role"]) == ("Ada", "default")
    assert meta["source"] == "subagent:thread_spawn"
    assert meta["task"] == "Count the tests"


def test_an_internal_thread_keeps_its_cost_and_says_nothing() -> None:
    session = session_of("internal_guardian")
    assert (list(session.turns), session.title, session.open_calls) == ([], "", [])
    assert [response.turn for response in session.responses] == [0]


def test_the_torn_line_of_a_resumed_log_is_counted() -> None:
    assert session_of("resumed").skipped == {"bad": 1}


def test_a_source_holds_the_hash_of_the_file_as_it_is_on_disk() -> None:
    for sample in ("plain_legacy_mode", "archived_zst"):
        path = FIXTURES / EXPECTED[sample]["file"]
        (source,) = session_of(sample).sources
        assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (source.path, source.size) == (str(path), path.stat().st_size)


@samples
def test_reading_twice_gives_the_same(sample: str) -> None:
    first, second = session_of(sample), session_of(sample)
    assert list(first.turns) == list(first.turns) == list(second.turns)
    assert first.responses == second.responses
    assert first.header == second.header
