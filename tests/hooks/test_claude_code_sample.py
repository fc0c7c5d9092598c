"""The shared sample: 122 records, 73 kinds. Its totals stand in formats/claude-code.md §4.4."""

from __future__ import annotations

from collections import Counter

from claude_code_logs import SAMPLE, of_id, read, said

from memex_core.model.session import Session


def sample() -> Session:
    found = read(SAMPLE)
    assert found is not None
    return found


def test_the_sample_gives_the_listed_totals_per_model() -> None:
    fields = ("input", "cache_write_5m", "cache_write_1h", "cache_read", "output", "requests")
    totals: dict[str, Counter[str]] = {}
    for response in sample().responses:
        for field in fields:
            totals.setdefault(response.model, Counter())[field] += getattr(response, field)

    assert {model: tuple(counts[field] for field in fields) for model, counts in totals.items()} == {
        "claude-opus-5": (42, 8655, 14210, 254980, 1796, 9),
        "claude-fable-5": (31000, 0, 0, 0, 640, 0),
        "claude-haiku-4-5-20251001": (5, 9000, 0, 9000, 79, 2),
        "third-party-model": (1200, 0, 0, 0, 9, 1),
    }


def test_the_sample_has_one_response_without_a_final_count() -> None:
    assert [response.id for response in sample().responses if not response.final] == ["msg_0009"]


def test_the_sample_counts_subagent_responses_to_the_call_that_spawned_it() -> None:
    found = sample()
    turn = next(turn.turn for turn in found.turns if turn.tool_name == "Agent")

    assert {of_id(found, name).turn for name in ("msg_0008", "msg_0009", "msg_0010")} == {turn}


def test_the_sample_holds_the_users_own_words_and_no_others() -> None:
    assert [text for role, text in said(sample()) if role == "user"] == [
        "Add a retry to fetch_user and run the tests",
        "also bump the version",
        "[Image #1] why is this red?\n[image image/png 67 bytes]\n[document application/pdf 15 bytes]",
        "explain this file",
        "explain only the retry helper",
    ]


def test_the_sample_holds_what_the_agent_said() -> None:
    assert [text for role, text in said(sample()) if role == "agent"] == [
        "I'll read the client first.",
        "Editing now.",
        "Switching to exponential backoff.",
        "It wraps get() with a retry.",
        "retry() loops three times.",
        "Done.",
        "Continuing.",
    ]


def test_the_sample_pairs_every_tool_call_with_its_result() -> None:
    tools = {
        turn.tool_name: turn.result
        for turn in sample().turns
        if turn.role == "tool" and turn.tool_name != "command"
    }

    assert tools == {
        "Read": "     1\tdef fetch_user(i):\n     2\t    return get(i)\n",
        "Edit": "The file has been updated.",
        "Bash": "Exit code 1\n1 failed",
        "mcp__plugin_demo_shots__take": "saved\n[image image/png 67 bytes]\n[tool WebSearch]",
        "web_search": "Example https://example.com/",
        "advisor": "Prefer exponential backoff.",
        "bash-input": " M client.py",
        "Agent": "Only app.py:3.\nagentId: a1b2c3d4e5f6a7b8c",
    }


def test_the_sample_keeps_slash_commands_as_tool_turns() -> None:
    commands = [(turn.query, turn.result) for turn in sample().turns if turn.tool_name == "command"]

    assert commands == [("/model opus", "Set model to opus"), ("/cost", None)]


def test_the_sample_has_nothing_unreadable_and_nothing_open() -> None:
    found = sample()

    assert (found.skipped, found.open_calls) == ({}, [])
    assert found.turn_count == len(list(found.turns)) == 22


def test_the_sample_header_identifies_the_session() -> None:
    found = sample()

    assert found.title == "retry-work"
    assert found.born_at == "2026-08-20T09:00:01.001Z"
    assert (found.header.started_at, found.header.ended_at) == (
        "2026-08-20T09:00:11.011Z",
        "2026-08-20T09:01:45.105Z",
    )
    assert found.header.duration_s == 94.094
    assert found.header.meta == {
        "cli_version": "2.1.240",
        "provider": "anthropic",
        "cwd": "/home/dev/demo-app",
        "original_cwd": "/home/dev/demo-app",
        "git": {"branch": "main"},
        "entrypoint": "cli",
        "models": ["claude-opus-5", "claude-fable-5", "claude-haiku-4-5-20251001", "third-party-model"],
        "reasoning_efforts": ["high"],
    }
