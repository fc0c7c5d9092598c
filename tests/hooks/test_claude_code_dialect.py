"""How hooks speak (formats/claude-code.md §1.3-§1.5)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memex_hooks.harness import HookEvent
from memex_hooks.harnesses import HARNESSES, claude_code


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SessionStart", "started"),
        ("UserPromptSubmit", "prompted"),
        ("Stop", "paused"),
        ("SubagentStop", "paused"),
        ("PreCompact", "paused"),
        ("SessionEnd", "ended"),
        ("SomethingNew", "paused"),
    ],
)
def test_every_event_has_its_kind(name: str, kind: str) -> None:
    assert claude_code.parse_event(name, {}) == HookEvent(kind=kind, name=name)  # type: ignore[arg-type]


def test_an_event_says_what_its_payload_says() -> None:
    payload = {
        "session_id": "s",
        "transcript_path": "/p/s.jsonl",
        "cwd": "/home/dev",
        "hook_event_name": "SessionStart",
        "source": "fork",
        "prompt": "hi",
        "model": "x",
    }

    assert claude_code.parse_event("", payload) == HookEvent(
        kind="started",
        name="SessionStart",
        session_id="s",
        log_path="/p/s.jsonl",
        cwd="/home/dev",
        source="fork",
        prompt="hi",
    )


@pytest.mark.parametrize("wrong", [None, 5, ["x"], {"a": 1}, True])
def test_facts_of_wrong_types_are_empty(wrong: Any) -> None:
    keys = (
        "session_id",
        "transcript_path",
        "cwd",
        "source",
        "prompt",
        "hook_event_name",
        "agent_transcript_path",
    )

    assert claude_code.parse_event("Stop", dict.fromkeys(keys, wrong)) == HookEvent(
        kind="paused", name="Stop"
    )


def test_text_that_no_file_can_hold_is_cleaned() -> None:
    assert claude_code.parse_event("UserPromptSubmit", {"prompt": "a\udc88\x00"}).prompt == "a\ufffd"


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit"])
def test_a_reply_puts_text_into_the_context(name: str) -> None:
    output = claude_code.reply(claude_code.parse_event(name, {}), "é\n\udc88")

    assert json.loads(output) == {
        "hookSpecificOutput": {"hookEventName": name, "additionalContext": "é\n\ufffd"}
    }


@pytest.mark.parametrize("name", ["Stop", "SubagentStop", "PreCompact", "SessionEnd", "SomethingNew", ""])
def test_events_whose_output_nobody_should_see_get_no_reply(name: str) -> None:
    assert claude_code.reply(claude_code.parse_event(name, {}), "text") == b""


def test_no_text_is_no_output() -> None:
    assert claude_code.reply(claude_code.parse_event("SessionStart", {}), "") == b""


def test_the_harness_is_registered_under_its_name() -> None:
    assert HARNESSES[claude_code.NAME] is claude_code  # type: ignore[comparison-overlap]
    assert (claude_code.NAME, claude_code.TITLE, claude_code.PROGRAM) == (
        "claude-code",
        "Claude Code",
        "claude",
    )
    assert claude_code.READER_VERSION == 2
