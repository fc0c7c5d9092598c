"""Sessions of the real Claude Code and Codex, from the first prompt to what the next session is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import (
    FENCE,
    PREFERENCE,
    QUESTION,
    assert_kept,
    assert_next_session_is_told,
    assert_remembered,
    disjoint,
    nodes,
    preference,
    spoken_before_tool,
    told,
)
from driver import Driver
from loopback_model import ANSWER, HANG, TRIGGER
from waiting import wait_for

pytestmark = pytest.mark.real

SECOND = "Always run the linter before you commit."


def test_a_new_session_is_in_memory_and_the_next_one_is_told(driver: Driver, project: Path) -> None:
    session_id = driver.ask(PREFERENCE, project)
    driver.house.settle()
    kept = assert_kept(driver, session_id, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(driver, session_id, kept, title=PREFERENCE)
    driver.assert_hooks_were_silent(session_id)
    assert driver.house.captured() == {session_id}
    later = assert_next_session_is_told(driver, project)
    driver.assert_hooks_were_silent(later)
    assert preference(driver.house)["sources"] == [f"{session_id}#1"]


def test_a_tool_call_is_kept_with_its_name_query_and_result(driver: Driver, project: Path) -> None:
    prompt = f"{PREFERENCE} {TRIGGER} please"
    session_id = driver.ask(prompt, project)
    driver.house.settle()
    said = [("user", prompt), *spoken_before_tool(driver), ("tool", ""), ("agent", ANSWER)]
    kept = assert_kept(driver, session_id, project, said, responses=2)
    assert_remembered(driver, session_id, kept, title=prompt)
    driver.assert_hooks_were_silent(session_id)
    assert disjoint(driver.house.usage()[session_id]) == driver.independent_counts()[session_id]
    assert_next_session_is_told(driver, project)


def test_a_resumed_session_extends_its_transcript(driver: Driver, project: Path) -> None:
    session_id = driver.ask(PREFERENCE, project)
    driver.house.settle()
    before, mark = driver.house.kept(session_id), driver.house.mark()
    assert driver.resume(session_id, SECOND, project) == session_id
    driver.house.settle()
    said = [("user", PREFERENCE), ("agent", ANSWER), ("user", SECOND), ("agent", ANSWER)]
    kept = assert_kept(driver, session_id, project, said, responses=2)
    assert kept.turn_bytes.startswith(before.turn_bytes)
    assert kept.header["captured_at"] == before.header["captured_at"]
    assert_remembered(driver, session_id, kept, title=PREFERENCE)
    assert {(page["type"], *page["sources"]) for page in nodes(driver.house)} >= {
        ("procedure", f"{session_id}#3")
    }
    assert FENCE not in driver.house.asked_since(mark, SECOND).text
    driver.assert_hooks_were_silent(session_id)
    assert disjoint(driver.house.usage()[session_id]) == driver.independent_counts()[session_id]
    assert_next_session_is_told(driver, project)
    assert told(driver.house, session_id) == [(PREFERENCE, ANSWER), (SECOND, ANSWER)]


def test_runs_of_a_session_in_quick_succession_are_one_event_each(driver: Driver, project: Path) -> None:
    """The worker of one run may find the next one in the log already."""
    session_id = driver.ask(PREFERENCE, project)
    driver.resume(session_id, SECOND, project)
    driver.resume(session_id, QUESTION, project)
    driver.house.settle()
    asked = [PREFERENCE, SECOND, QUESTION]
    assert told(driver.house, session_id) == [(prompt, ANSWER) for prompt in asked]


def test_a_fork_holds_only_its_own_turns_and_counts_only_its_own_tokens(
    driver: Driver, project: Path
) -> None:
    session_id = driver.ask(PREFERENCE, project)
    driver.house.settle()
    original = driver.house.kept(session_id)
    fork_id = driver.fork(session_id, SECOND, project)
    driver.house.settle()
    assert fork_id != session_id
    fork = assert_kept(driver, fork_id, project, [("user", SECOND), ("agent", ANSWER)], responses=1)
    assert fork.header["meta"]["forked_from"] == session_id
    assert driver.house.kept(session_id).turn_bytes == original.turn_bytes
    assert_kept(driver, session_id, project, original.said, responses=1)
    assert preference(driver.house)["sources"] == [f"{session_id}#1"]
    usage = {name: disjoint(counts) for name, counts in driver.house.usage().items()}
    assert usage[session_id] == usage[fork_id]
    counted = driver.independent_counts()
    assert counted[session_id] == usage[session_id]
    assert counted.get(fork_id) in driver.independent_count_of_a_fork(usage[session_id], usage[fork_id])
    assert_next_session_is_told(driver, project)


def test_an_interactive_session_that_ends_by_itself_is_in_memory(driver: Driver, project: Path) -> None:
    with driver.terminal(project) as terminal:
        driver.wait_until_ready(terminal)
        driver.say(terminal, f"{PREFERENCE} {TRIGGER}")
        driver.say(terminal, SECOND)
        driver.quit(terminal)
    driver.house.settle()
    (session_id,) = driver.house.captured()
    first = [
        ("user", f"{PREFERENCE} {TRIGGER}"),
        *spoken_before_tool(driver),
        ("tool", ""),
        ("agent", ANSWER),
    ]
    kept = assert_kept(
        driver, session_id, project, [*first, ("user", SECOND), ("agent", ANSWER)], responses=3
    )
    assert_remembered(driver, session_id, kept, title=f"{PREFERENCE} {TRIGGER}")
    assert told(driver.house, session_id) == [(f"{PREFERENCE} {TRIGGER}", ANSWER)]
    driver.assert_hooks_were_silent(session_id)
    assert disjoint(driver.house.usage()[session_id]) == driver.independent_counts()[session_id]
    assert_next_session_is_told(driver, project)


def test_a_session_that_was_killed_is_completed_when_the_next_one_starts(
    driver: Driver, project: Path
) -> None:
    unfinished = f"Remember that the build runs on Debian. {HANG}"
    with driver.terminal(project) as terminal:
        driver.wait_until_ready(terminal)
        driver.say(terminal, PREFERENCE)
        driver.house.settle()
        terminal.type_line(unfinished)
        (session_id,) = driver.logs()
        wait_for(
            lambda: unfinished.encode() in driver.logs()[session_id].read_bytes(), "the prompt in the log"
        )
        driver.kill(terminal)
    driver.house.settle()
    assert driver.house.kept(session_id).said == [("user", PREFERENCE), ("agent", ANSWER)]
    driver.ask(QUESTION, project)
    driver.house.settle()
    said = [("user", PREFERENCE), ("agent", ANSWER), ("user", unfinished)]
    kept = assert_kept(driver, session_id, project, said, responses=1)
    assert_remembered(driver, session_id, kept, title=PREFERENCE)
    assert told(driver.house, session_id) == [(PREFERENCE, ANSWER)]
    assert f"{session_id}#3" in [source for page in nodes(driver.house) for source in page["sources"]]
    assert disjoint(driver.house.usage()[session_id]) == driver.independent_counts()[session_id]
    assert_next_session_is_told(driver, project)


def test_two_sessions_at_once_in_one_project_are_both_in_memory(driver: Driver, project: Path) -> None:
    prompts = [f"{PREFERENCE} {TRIGGER}", f"{SECOND} {TRIGGER}"]
    first, second = driver.ask_at_once(prompts, project)
    driver.house.settle()
    assert driver.house.captured() == {first, second}
    for session_id, prompt in zip((first, second), prompts, strict=True):
        said = [("user", prompt), *spoken_before_tool(driver), ("tool", ""), ("agent", ANSWER)]
        kept = assert_kept(driver, session_id, project, said, responses=2)
        driver.assert_hooks_were_silent(session_id)
        assert disjoint(driver.house.usage()[session_id]) == driver.independent_counts()[session_id]
        if session_id == first:
            assert_remembered(driver, session_id, kept, title=prompt)
    assert f"{second}#1" in [source for page in nodes(driver.house) for source in page["sources"]]
    assert_next_session_is_told(driver, project)


def test_a_moved_configuration_folder_is_honoured(driver: Driver, project: Path) -> None:
    moved = type(driver)(driver.house, driver.house.home / "moved" / driver.NAME)
    moved.install()
    session_id = moved.ask(PREFERENCE, project)
    moved.house.settle()
    kept = assert_kept(moved, session_id, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(moved, session_id, kept, title=PREFERENCE)
    assert_next_session_is_told(moved, project)


def test_a_session_is_told_nothing_where_the_configuration_says_so(driver: Driver, project: Path) -> None:
    driver.ask(PREFERENCE, project)
    driver.house.settle()
    (driver.house.root / "memex.toml").write_text("[recall]\nsession_start = false\n", "utf-8")
    mark = driver.house.mark()
    driver.ask(QUESTION, project)
    assert preference(driver.house)
    assert FENCE not in driver.house.asked_since(mark, QUESTION).text
