"""Subagents: their logs belong to the parent session (formats/claude-code.md §2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_code_logs import SESSION, Log, of_id, read, said, session, stamp

from memex_hooks.harnesses import claude_code


def parent() -> Log:
    log = Log()
    log.user("go")  # turn 1
    log.calls("t1", "Agent", {"prompt": "look one"}, id="msg_a")  # turn 2
    log.answers("t1", result={"agentId": "a1"})
    log.says("between")  # turn 3
    log.calls("t2", "Agent", {"prompt": "look two"}, id="msg_b")  # turn 4
    log.answers("t2", result={"agentId": "a2"})
    log.says("after")  # turn 5
    return log


def agent(
    folder: Path,
    name: str,
    response: str,
    *,
    start: int = 100,
    meta: Any = None,
    where: str = "",
    **fields: Any,
) -> Path:
    log = Log(start=start)
    log.user("sub prompt", isSidechain=True, agentId=name)
    log.says("sub answer", id=response, isSidechain=True, agentId=name, **fields)
    path = log.write(folder / SESSION / "subagents" / where, f"agent-{name}.jsonl")
    if meta is not None:
        path.with_name(f"agent-{name}.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return path


def turn_of(response: str, folder: Path, log: Log | None = None) -> int:
    return of_id(session(log or parent(), folder), response).turn


def test_a_subagent_counts_to_the_call_that_its_meta_file_names(tmp_path: Path) -> None:
    agent(tmp_path, "x", "msg_x", meta={"toolUseId": "t2"})

    assert turn_of("msg_x", tmp_path) == 4


def test_a_subagent_counts_to_the_call_whose_result_names_it(tmp_path: Path) -> None:
    agent(tmp_path, "a2", "msg_x")

    assert turn_of("msg_x", tmp_path) == 4


def test_a_nested_subagent_counts_to_the_turn_of_its_first_ancestor(tmp_path: Path) -> None:
    agent(tmp_path, "a2", "msg_x")
    agent(tmp_path, "deep", "msg_y", meta={"toolUseId": "inner", "parentAgentId": "mid"})
    agent(tmp_path, "mid", "msg_z", meta={"parentAgentId": "a2"})

    assert turn_of("msg_y", tmp_path) == 4


def test_a_nested_subagent_is_found_through_the_calls_of_its_parent(tmp_path: Path) -> None:
    log = Log(start=100)
    log.calls("inner", "Agent", id="msg_x", isSidechain=True, agentId="a1")
    log.answers("other", isSidechain=True, agentId="a1", result={"agentId": "named"})
    log.write(tmp_path / SESSION / "subagents", "agent-a1.jsonl")
    agent(tmp_path, "deep", "msg_y", start=200, meta={"toolUseId": "inner"})
    agent(tmp_path, "named", "msg_z", start=300)

    found = session(parent(), tmp_path)
    assert (of_id(found, "msg_y").turn, of_id(found, "msg_z").turn) == (2, 2)


def test_agents_that_name_each_other_as_parents_end(tmp_path: Path) -> None:
    agent(tmp_path, "x", "msg_x", meta={"parentAgentId": "y"})
    agent(tmp_path, "y", "msg_y", meta={"parentAgentId": "x"})

    assert turn_of("msg_x", tmp_path) == 5


def test_an_unknown_subagent_counts_to_the_last_turn_before_it_began(tmp_path: Path) -> None:
    agent(tmp_path, "x", "msg_x", start=3)  # begins at second 4, when turn 3 was said

    assert turn_of("msg_x", tmp_path) == 3


def test_a_subagent_that_began_before_every_turn_counts_to_the_first(tmp_path: Path) -> None:
    log = Log(start=50)
    log.user("late")
    agent(tmp_path, "x", "msg_x", start=3)

    assert turn_of("msg_x", tmp_path, log) == 1


def test_a_subagent_without_times_counts_to_the_last_turn(tmp_path: Path) -> None:
    path = agent(tmp_path, "x", "msg_x")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps({**r, "timestamp": None}) + "\n" for r in records), encoding="utf-8")

    assert turn_of("msg_x", tmp_path) == 5


def test_the_text_of_a_subagent_makes_no_turns(tmp_path: Path) -> None:
    agent(tmp_path, "a1", "msg_x")

    assert "sub answer" not in [text for _, text in said(session(parent(), tmp_path))]


def test_a_workflow_agent_in_a_deeper_folder_counts(tmp_path: Path) -> None:
    agent(tmp_path, "x", "msg_x", where="workflows/run1", meta={"toolUseId": "t1"})

    assert turn_of("msg_x", tmp_path) == 2


def test_a_workflow_journal_is_no_log(tmp_path: Path) -> None:
    path = agent(tmp_path, "x", "msg_x", where="workflows/run1")
    path.rename(path.with_name("journal.jsonl"))

    assert [r.id for r in session(parent(), tmp_path).responses] == ["msg_a", "msg_0002", "msg_b", "msg_0004"]


def test_a_response_in_the_main_log_and_a_subagents_log_counts_once(tmp_path: Path) -> None:
    agent(tmp_path, "x", "msg_a", meta={"toolUseId": "t2"})
    found = session(parent(), tmp_path)

    assert [r.id for r in found.responses].count("msg_a") == 1
    assert of_id(found, "msg_a").turn == 2


def test_a_subagent_without_final_counts_is_a_lower_bound(tmp_path: Path) -> None:
    agent(tmp_path, "a1", "msg_x", stop=None)

    assert of_id(session(parent(), tmp_path), "msg_x").final is False


def test_sources_name_every_file_that_was_read(tmp_path: Path) -> None:
    part = agent(tmp_path, "a1", "msg_x")
    found = session(parent(), tmp_path)

    assert [source.path for source in found.sources] == [str(tmp_path / f"{SESSION}.jsonl"), str(part)]
    assert [source.size for source in found.sources] == [
        Path(source.path).stat().st_size for source in found.sources
    ]


def test_damage_in_a_subagents_log_is_counted_with_the_sessions(tmp_path: Path) -> None:
    part = agent(tmp_path, "a1", "msg_x")
    part.write_bytes(b"<<<<\n" + part.read_bytes() + b'{"torn')

    found = session(parent(), tmp_path)
    assert found.skipped == {"bad": 1, "partial_tail": 1}
    assert of_id(found, "msg_x").turn == 2


def test_a_subagents_log_that_has_gone_is_passed_over(tmp_path: Path) -> None:
    part = agent(tmp_path, "a1", "msg_x")
    log = claude_code.log_file(parent().write(tmp_path))
    part.unlink()

    assert log is not None and log.parts == [part]
    found = claude_code.read_session(log)
    assert found is not None and len(found.sources) == 1


@pytest.mark.parametrize("meta", [b"", b"{", b"[1]", b"\xff", b'{"toolUseId": 5, "parentAgentId": []}'])
def test_a_damaged_meta_file_is_passed_over(tmp_path: Path, meta: bytes) -> None:
    agent(tmp_path, "a2", "msg_x").with_name("agent-a2.meta.json").write_bytes(meta)

    assert turn_of("msg_x", tmp_path) == 4


def test_a_flat_log_of_version_2_0_belongs_to_the_session_that_it_names(tmp_path: Path) -> None:
    flat = agent(tmp_path, "a2", "msg_x").rename(tmp_path / "agent-a2.jsonl")
    other = Log("5e551017-0000-4000-8000-000000000002", start=900)
    other.says("not ours", id="msg_other", isSidechain=True)
    other.write(tmp_path, "agent-b.jsonl")
    found = session(parent(), tmp_path)

    assert of_id(found, "msg_x").turn == 4
    assert [Path(source.path).name for source in found.sources] == [f"{SESSION}.jsonl", flat.name]


def test_an_inline_sidechain_counts_to_the_task_with_its_prompt(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.calls("t1", "Task", {"prompt": "look one"}, id="msg_a")
    log.calls("t2", "Task", {"prompt": "look two"}, id="msg_a")
    for prompt, response in (("look one", "msg_x"), ("look two", "msg_y")):
        log.user(prompt, isSidechain=True, parentUuid=None)
        log.calls("s", id=response, isSidechain=True)
        log.answers("s", isSidechain=True)
        log.says("sub", id=f"{response}2", isSidechain=True)
    log.answers("t1")
    log.answers("t2")
    found = session(log, tmp_path)

    assert [of_id(found, name).turn for name in ("msg_x", "msg_x2", "msg_y", "msg_y2")] == [2, 2, 3, 3]


def test_an_inline_sidechain_of_a_named_agent_counts_to_the_call_that_it_answered(tmp_path: Path) -> None:
    log = parent()
    log.says("sub", id="msg_x", isSidechain=True, agentId="a1")

    assert of_id(session(log, tmp_path), "msg_x").turn == 2


def test_an_inline_sidechain_with_an_unknown_prompt_counts_to_the_last_task(tmp_path: Path) -> None:
    log = parent()
    log.user("who knows", isSidechain=True, parentUuid=None)
    log.says("sub", id="msg_x", isSidechain=True)

    assert of_id(session(log, tmp_path), "msg_x").turn == 4


def test_a_btw_beside_the_conversation_counts_to_the_last_turn(tmp_path: Path) -> None:
    log = parent()
    log.says("by the way", id="msg_x", isSidechain=True)

    assert of_id(session(log, tmp_path), "msg_x").turn == 5
    assert stamp(len(log.records)) == of_id(session(log, tmp_path), "msg_x").ts


def test_a_subagents_log_leads_to_its_session(tmp_path: Path) -> None:
    part = agent(tmp_path, "a1", "msg_x", where="workflows/r")
    main = parent().write(tmp_path)

    log = claude_code.log_file(part)
    assert log is not None and (log.path, log.session_id) == (main, SESSION)
    found = read(part)
    assert found is not None and found.header.session_id == SESSION


def test_a_subagents_log_without_its_session_is_no_log(tmp_path: Path) -> None:
    assert claude_code.log_file(agent(tmp_path, "a1", "msg_x")) is None
