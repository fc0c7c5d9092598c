"""The page of a session (issue 2 item 6)."""

from __future__ import annotations

import json

import pytest

from memex_core.memory.episode import Digest, episode_body, episode_title
from memex_core.model.session import Turn
from memex_core.model.sidecar import Sidecar
from memex_core.text.links import parse_links


def digest_of(*turns: Turn) -> Digest:
    digest = Digest()
    for turn in turns:
        digest.add(turn)
    return digest


def user(text: str, number: int = 1) -> Turn:
    return Turn("user", text, "2026-09-15T10:00:00Z", number)


def agent(text: str, number: int = 2) -> Turn:
    return Turn("agent", text, "2026-09-15T10:00:01Z", number)


def tool(name: str, query: str, number: int = 3) -> Turn:
    return Turn("tool", name, "", number, tool_name=name, query=query, result="")


SIDECAR = Sidecar("s1", harness="test", project_label="shop", user_turns=1)


def test_the_title_is_the_harness_own_title_if_there_is_one() -> None:
    assert (
        episode_title(Sidecar("s1", title="Add a retry"), digest_of(user("please add a retry")))
        == "Add a retry"
    )


def test_the_title_is_else_the_first_line_of_the_first_prompt_with_words() -> None:
    assert (
        episode_title(Sidecar("s1"), digest_of(user("\n---\n# Why does it **fail**?\nmore")))
        == "Why does it **fail**?"
    )


def test_a_session_without_words_is_named_by_its_id() -> None:
    assert episode_title(Sidecar("0f6d2c52-6a41"), Digest()) == "Session 0f6d2c52"


def test_a_long_title_is_cut_at_a_word() -> None:
    title = episode_title(Sidecar("s1"), digest_of(user("word " * 40)))
    assert len(title) <= 80 and title.endswith("word…")


def test_each_prompt_stands_under_its_turn_number_with_what_came_of_it() -> None:
    body = episode_body(
        SIDECAR,
        digest_of(user("Fix the build"), agent("first"), agent("Fixed."), user("Thanks", 7)),
        max_chars=9_000,
    )
    assert "## Turn 1\n\n> Fix the build\n\nFixed." in body
    assert "## Turn 7\n\n> Thanks" in body
    assert "first" not in body


@pytest.mark.parametrize(
    ("name", "query", "path"),
    [
        ("Edit", json.dumps({"file_path": "/home/dev/a.py", "old_string": "x"}), "/home/dev/a.py"),
        ("Write", json.dumps({"file_path": "b.py", "content": "x"}), "b.py"),
        ("apply_patch", "*** Begin Patch\n*** Update File: src/c.py\n@@\n-x\n+y\n*** End Patch", "src/c.py"),
    ],
)
def test_files_touched_are_listed(name: str, query: str, path: str) -> None:
    assert f"## Files touched\n\n- `{path}`" in episode_body(
        SIDECAR, digest_of(tool(name, query)), max_chars=9_000
    )


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Bash", json.dumps({"command": "pytest -q"})),
        ("command", "pytest -q"),
        ("shell", json.dumps({"command": ["pytest", "-q"]})),
    ],
)
def test_commands_run_are_listed_once(name: str, query: str) -> None:
    body = episode_body(SIDECAR, digest_of(tool(name, query), tool(name, query)), max_chars=9_000)
    assert body.count("- `pytest -q`") == 1


def test_reading_a_file_does_not_touch_it() -> None:
    assert "Files touched" not in episode_body(
        SIDECAR, digest_of(tool("Read", '{"file_path": "a.py"}')), max_chars=9_000
    )


def test_shell_brackets_in_a_prompt_make_no_links() -> None:
    body = episode_body(
        SIDECAR, digest_of(user("if [[ -f x ]]; then"), agent("use [[ instead")), max_chars=9_000
    )
    assert parse_links(body) == []


def test_a_page_that_would_be_too_long_is_cut_and_points_to_the_transcript() -> None:
    turns = [user("words " * 150, number) for number in range(1, 100)]
    body = episode_body(SIDECAR, digest_of(*turns), max_chars=5_000)
    assert len(body) <= 5_000 and body.endswith("transcripts/s1.jsonl_")


def test_an_answer_cut_inside_a_code_block_leaves_the_rest_of_the_page_alone() -> None:
    body = episode_body(
        SIDECAR, digest_of(user("show"), agent("```py\n" + "x = 1\n" * 400)), max_chars=50_000
    )
    assert body.count("```") % 2 == 0


def test_a_call_still_open_when_the_log_ended_is_named() -> None:
    sidecar = Sidecar("s1", open_calls=[{"tool_name": "Bash", "query": "sleep 600"}])
    assert "unfinished: `sleep 600`" in episode_body(sidecar, digest_of(user("wait")), max_chars=9_000)
