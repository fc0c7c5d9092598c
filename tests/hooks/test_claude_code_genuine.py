"""Logs that Claude Code 2.1.197 wrote against a stand-in model; paths replaced, attachments shortened.

A response is 1,200 input, 300 cache write, 4,000 cache read and 77 output tokens.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from claude_code_logs import GENUINE, read, said

from memex_core.model.session import Session

FIRST = "11111111-2222-4333-8444-555555555555"
FORK = "2f42128f-56bc-49e7-b52c-a4ed399c8a69"
AGENTS = "aaaaaaaa-2222-4333-8444-555555555555"
REWOUND = "bbbbbbbb-2222-4333-8444-555555555555"
PLAIN = "cccccccc-2222-4333-8444-555555555555"
BRANCH = "489cb830-18c7-4f29-ae89-88ac138e52a2"
QUEUED = "dddddddd-2222-4333-8444-555555555555"
CLEARED = "b0060f44-9529-42fd-8eca-7444ee208f4d"


def genuine(session_id: str, folder: Path = GENUINE) -> Session:
    found = read(folder / f"{session_id}.jsonl")
    assert found is not None
    assert found.header.session_id == session_id
    assert found.skipped == {}
    assert [turn.turn for turn in found.turns] == list(range(1, found.turn_count + 1))
    return found


def totals(found: Session) -> tuple[int, int, int, int, int]:
    return (
        sum(response.requests for response in found.responses),
        sum(response.input for response in found.responses),
        sum(response.cache_write_5m + response.cache_write_1h for response in found.responses),
        sum(response.cache_read for response in found.responses),
        sum(response.output for response in found.responses),
    )


def test_a_session_with_a_tool_call_and_a_resume() -> None:
    found = genuine(FIRST)

    assert said(found) == [
        ("user", "I prefer ruff over flake8. run-a-tool please"),
        ("agent", "I'll list the directory."),
        ("tool", 'Bash({"command":"echo hello-from-tool","description":"say hello"}) -> hello-from-tool'),
        ("agent", "Understood. I will use ruff for linting from now on."),
        ("user", "second: never do force pushes"),
        ("agent", "Understood. I will use ruff for linting from now on."),
    ]
    assert totals(found) == (3, 3600, 900, 12000, 231)


def test_a_fork_keeps_the_ids_of_copied_turns_and_responses_and_is_born_later() -> None:
    first, fork = genuine(FIRST), genuine(FORK)
    ids = [turn.id for turn in first.turns]

    assert [turn.id for turn in fork.turns][: len(ids)] == ids
    assert len({turn.id for turn in fork.turns}) == 8
    assert [r.id for r in fork.responses][:3] == [r.id for r in first.responses]
    assert fork.header.started_at == first.header.started_at
    assert fork.born_at > first.header.ended_at > first.born_at


def test_a_branch_marks_its_copies_and_is_born_after_them() -> None:
    plain, branch = genuine(PLAIN), genuine(BRANCH)

    assert branch.header.meta["forked_from"] == PLAIN
    assert [turn.id for turn in branch.turns][:4] == [turn.id for turn in plain.turns]
    assert branch.born_at == "2026-11-30T20:44:40.110Z"
    assert branch.title == "alpha prompt (Branch)"


def test_parallel_tool_calls_keep_their_order_and_their_results() -> None:
    assert said(genuine(AGENTS))[1:5] == [
        ("agent", "Two at once."),
        ("tool", 'Bash({"command":"sleep 1; echo one","description":"a"}) -> one'),
        ("tool", 'Bash({"command":"echo two","description":"b"}) -> two'),
        ("agent", "Results seen."),
    ]


def test_a_result_that_was_saved_to_a_file_is_read_from_it() -> None:
    result = next(turn.result for turn in genuine(AGENTS).turns if "seq" in (turn.query or ""))

    assert result == "".join(f"{n}\n" for n in range(1, 301))


def test_subagents_count_to_the_turns_that_spawned_them() -> None:
    found = genuine(AGENTS)
    spawns = [turn.turn for turn in found.turns if turn.tool_name == "Agent"]
    names = {name for source in found.sources if "agent-" in (name := Path(source.path).name)}

    assert len(names) == 3
    assert totals(found)[0] == 13
    assert [sum(r.turn == turn for r in found.responses) for turn in spawns] == [2, 2, 2]
    assert not any("in-sub" in (turn.query or "") for turn in found.turns)


def test_a_rewind_takes_the_abandoned_branch_back_and_keeps_its_tokens() -> None:
    found = genuine(REWOUND)
    gone = [
        text
        for (_, text), number in zip(said(found), range(1, 99), strict=False)
        if number in found.retracted
    ]

    assert gone == ["third prompt to be rewound", "Understood. OK."]
    assert totals(found)[0] == 7
    assert any(response.turn in found.retracted for response in found.responses)


def test_shell_lines_and_slash_commands_are_tool_turns() -> None:
    tools = [text for role, text in said(genuine(REWOUND)) if role == "tool"]

    assert tools[:3] == [
        "bash-input(echo from-bash) -> from-bash",
        "command(/usage) -> Settings dialog dismissed",
        "command(/model sonnet) -> Set model to Sonnet 5 and saved as your default for new sessions",
    ]


def test_what_the_shell_printed_is_unescaped() -> None:
    assert "bash-input(echo '<b>&amp;x') -> <b>&amp;x" in [text for _, text in said(genuine(QUEUED))]


def test_a_prompt_typed_mid_turn_and_an_interrupt() -> None:
    texts = said(genuine(QUEUED))[2:]

    assert [text for role, text in texts if role == "user"] == [
        "par-tools a",
        "queued words mid-turn",
        "par-tools b",
        "after the interrupt",
    ]
    assert texts.index(("user", "queued words mid-turn")) == 4
    assert not any("interrupted" in text for role, text in texts if role != "tool")
    assert genuine(QUEUED).retracted == set()


def test_the_log_after_clear_begins_with_the_command() -> None:
    found = genuine(CLEARED)

    assert said(found) == [("tool", "command(/clear) -> "), ("user", "after clear words")]


@pytest.mark.parametrize("session_id", [FIRST, FORK, AGENTS, REWOUND, PLAIN, BRANCH, QUEUED, CLEARED])
def test_every_beginning_of_a_genuine_log_gives_a_beginning_of_its_turns(
    session_id: str, tmp_path: Path
) -> None:
    shutil.copytree(GENUINE, tmp_path / "p")
    log = tmp_path / "p" / f"{session_id}.jsonl"
    data = log.read_bytes()
    found = read(log)
    whole = list(found.turns) if found else []
    cuts = [at + 1 for at, byte in enumerate(data) if byte == 10]
    for cut in [*cuts, *range(1, len(data), 997)]:
        log.write_bytes(data[:cut])
        part = read(log)
        turns = list(part.turns) if part else []
        assert turns == whole[: len(turns)]
        assert part is None or part.turn_count == len(turns)
