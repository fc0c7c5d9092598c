"""What Codex's hooks say and understand (formats/codex.md §4.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_hooks.harnesses import codex

COMMON = {
    "session_id": "01a2",
    "transcript_path": "/home/dev/.codex/sessions/2026/11/21/rollout-x.jsonl",
    "cwd": "/home/dev/widget",
    "model": "gpt-6",
    "permission_mode": "default",
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SessionStart", "started"),
        ("UserPromptSubmit", "prompted"),
        ("Stop", "paused"),
        ("SubagentStop", "paused"),
        ("PreCompact", "paused"),
        ("SessionEnd", "ended"),
    ],
)
def test_each_event_has_its_kind(name: str, kind: str) -> None:
    event = codex.parse_event(name, {**COMMON, "hook_event_name": name})
    assert (event.kind, event.name, event.session_id, event.cwd) == (kind, name, "01a2", "/home/dev/widget")
    assert event.log_path == COMMON["transcript_path"]
    assert event.config_dir == "/home/dev/.codex"


def test_the_payload_names_the_event_when_the_command_does_not() -> None:
    assert codex.parse_event("", {"hook_event_name": "SessionEnd", "reason": "other"}).kind == "ended"


def test_start_tells_its_source_and_submit_its_prompt() -> None:
    assert codex.parse_event("SessionStart", {**COMMON, "source": "resume"}).source == "resume"
    assert codex.parse_event("UserPromptSubmit", {**COMMON, "prompt": "hi"}).prompt == "hi"


def test_a_stopped_subagent_points_to_its_own_log() -> None:
    own = "/home/dev/.codex/sessions/2026/11/21/rollout-sub.jsonl"
    event = codex.parse_event("SubagentStop", {**COMMON, "agent_transcript_path": own})
    assert (event.log_path, event.session_id) == (own, "01a2")
    assert codex.parse_event("SubagentStop", {**COMMON, "agent_transcript_path": None}).log_path.endswith(
        "x.jsonl"
    )


def test_an_ephemeral_session_has_no_log() -> None:
    """Claude-Code-Agent-Monitor PR#311: every hook came with a null transcript."""
    event = codex.parse_event("Stop", {**COMMON, "transcript_path": None})
    assert (event.log_path, event.config_dir) == ("", "")


@settings(deadline=None, max_examples=50)
@given(
    name=st.text(max_size=20),
    payload=st.dictionaries(
        st.sampled_from([*COMMON, "source", "prompt", "hook_event_name", "agent_transcript_path"]),
        st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers(), max_size=2)),
    ),
)
def test_whatever_is_of_a_wrong_type_becomes_empty(name: str, payload: dict[str, Any]) -> None:
    event = codex.parse_event(name, payload)
    assert all(
        isinstance(value, str) for value in (event.session_id, event.log_path, event.cwd, event.prompt)
    )


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit"])
def test_a_reply_holds_the_strict_keys_and_no_others(name: str) -> None:
    """openai/codex: unknown keys invalidate the whole output."""
    answer = codex.reply(codex.parse_event(name, COMMON), "remember: tabs \u2014 ok")
    assert json.loads(answer) == {
        "hookSpecificOutput": {"hookEventName": name, "additionalContext": "remember: tabs \u2014 ok"}
    }


@pytest.mark.parametrize("name", ["Stop", "SubagentStop", "PreCompact", "SessionEnd"])
def test_events_that_take_no_context_get_no_reply(name: str) -> None:
    assert codex.reply(codex.parse_event(name, COMMON), "text") == b""


def test_no_text_is_no_reply() -> None:
    assert codex.reply(codex.parse_event("SessionStart", COMMON), "") == b""


def test_the_harness_offers_every_member_of_the_contract() -> None:
    assert (codex.NAME, codex.TITLE, codex.PROGRAM, codex.READER_VERSION) == ("codex", "Codex", "codex", 2)
    assert all(callable(getattr(codex, name)) for name in codex.__all__ if name.islower())
