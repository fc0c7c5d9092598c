"""Forks and subagents: a copied parent is neither heard nor counted (formats/codex.md §2.4, §6)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from codex_rollouts import START, Rollout, answers, prompts, read, tokens, try_read, usage, uuid7

LATER = START + timedelta(hours=3)
OLD = datetime(2026, 1, 10, 9, 0, 0, tzinfo=UTC)
OLD_VERSION = {"history_mode": "legacy", "cli_version": "0.80.0"}
PARENT_TOTAL = tokens(10_000, 5_000, 90)


def parent(start: datetime = START, **meta: Any) -> Rollout:
    """Two exchanges, 10,000 + 90 tokens in all."""
    log = Rollout(start=start, salt=7, **meta)
    log.begin().prompt("List the modules").answer("core, cli")
    log.count(tokens(4_000, 0, 50), tokens(4_000, 0, 50)).end()
    log.begin().prompt("Which is biggest?").answer("core")
    return log.count(tokens(6_000, 5_000, 40), PARENT_TOTAL).end()


def fork(of: Rollout, *, start: datetime = LATER, skip: int = 0, **meta: Any) -> Rollout:
    """A legacy fork: the parent's lines, its session_meta first, written again within the same second."""
    log = Rollout(start=start, salt=8, **{"history_mode": "legacy", "forked_from_id": of.thread, **meta})
    log.step = timedelta(0)
    for line in of.lines[skip:]:
        record = json.loads(line)
        log.add(record["type"], record["payload"])
    log.step = timedelta(milliseconds=10)
    log.now = start + timedelta(seconds=20)
    return log


def own_turn(log: Rollout, turn_id: str = "") -> Rollout:
    log.begin(turn_id).prompt("Split core").answer("Split.")
    return log.count(tokens(5_300, 5_100, 30), tokens(15_300, 10_100, 120)).end()


def test_forked_legacy_copy_keeps_only_what_was_said_behind_the_copy(tmp_path: Path) -> None:
    session = read(own_turn(fork(parent(history_mode="legacy"))).write(tmp_path))
    assert (prompts(session), answers(session)) == (["Split core"], ["Split."])
    assert usage(session)["total_tokens"] == 5_330


def test_forked_legacy_empty_is_nothing_to_capture(tmp_path: Path) -> None:
    """cc-switch#5433: usage was shown for a fork nobody had used."""
    log = fork(parent(history_mode="legacy"))
    log.event("thread_settings_applied", thread_settings={"model": "gpt-6-codex"})
    log.count(tokens(6_000, 5_000, 40), PARENT_TOTAL)
    assert try_read(log.write(tmp_path)) is None


def test_the_childs_meta_repeated_behind_the_copy_changes_nothing(tmp_path: Path) -> None:
    log = fork(parent(history_mode="legacy"))
    log.add("session_meta", log.meta)
    session = read(own_turn(log).write(tmp_path))
    assert session.header.session_id == log.thread
    assert prompts(session) == ["Split core"]


def test_a_foreign_second_meta_marks_a_copy_even_without_forked_from_id(tmp_path: Path) -> None:
    session = read(own_turn(fork(parent(history_mode="legacy"), forked_from_id=None)).write(tmp_path))
    assert prompts(session) == ["Split core"]
    assert usage(session)["total_tokens"] == 5_330


def test_a_foreign_meta_after_something_was_said_changes_nothing(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1")
    log.add("session_meta", {**log.meta, "id": uuid7(START, 99)})
    session = read(log.exchange("two", "2").write(tmp_path))
    assert prompts(session) == ["one", "two"]


def test_a_fork_whose_counters_start_at_zero_counts_its_own(tmp_path: Path) -> None:
    """CodexBar#2193: the parent's baseline was subtracted."""
    log = Rollout(start=LATER, history_mode="legacy", forked_from_id=uuid7(START, 7))
    log.begin().prompt("hi").answer("ho").count(tokens(300, 0, 5), tokens(300, 0, 5)).end()
    assert usage(read(log.write(tmp_path)))["total_tokens"] == 305


def test_nothing_is_copied_into_a_fork_that_refers_to_its_base(tmp_path: Path) -> None:
    """forked_paginated_reference; CodexBar#3524: totals seeded from the parent, the first far above last."""
    base = {"thread_id": uuid7(START, 7), "end_ordinal_exclusive": 31, "end_byte_offset": 45_905}
    log = Rollout(start=LATER, forked_from_id=uuid7(START, 7), history_base=base)
    log.begin().prompt("Go on").answer("Done.")
    log.count(tokens(700, 0, 20), tokens(10_700, 5_000, 110)).end()
    session = read(log.write(tmp_path))
    assert prompts(session) == ["Go on"]
    assert usage(session)["total_tokens"] == 720


def test_the_parents_figures_told_before_the_forks_first_response_are_not_counted(tmp_path: Path) -> None:
    base = {"thread_id": uuid7(START, 7), "end_ordinal_exclusive": 31, "end_byte_offset": 45_905}
    log = Rollout(start=LATER, forked_from_id=uuid7(START, 7), history_base=base)
    log.count(tokens(6_000, 5_000, 40), PARENT_TOTAL).begin().prompt("Go on")
    log.count(tokens(6_000, 5_000, 40), PARENT_TOTAL).answer("Done.")
    log.count(tokens(700, 0, 20), tokens(10_700, 5_000, 110)).end()
    assert usage(read(log.write(tmp_path)))["total_tokens"] == 720


def test_a_copied_record_of_the_parent_is_not_counted(tmp_path: Path) -> None:
    old = Rollout(salt=7, history_mode="legacy").begin().prompt("a").answer("b").record("resp_1", tokens(900))
    log = fork(old).begin().prompt("c").answer("d").record("resp_2", tokens(50, 0, 1)).end()
    assert [response.id for response in read(log.write(tmp_path)).responses] == ["resp_2"]


def test_lines_before_the_start_ordinal_of_a_subagent_are_inherited(tmp_path: Path) -> None:
    log = spawned(subagent_history_start_ordinal=4)
    log.prompt("the user's prompt, inherited").answer("inherited, too")
    log.lines = log.lines[:4]
    session = read(log.begin().answer("own").end().write(tmp_path))
    assert answers(session) == ["own"]


def test_the_own_part_stays_open_when_an_ordinal_is_used_again(tmp_path: Path) -> None:
    log = spawned(subagent_history_start_ordinal=1).begin().answer("one")
    item = {"type": "AgentMessage", "id": "m2", "content": [{"type": "Text", "text": "two"}]}
    log.add("event_msg", {"type": "item_completed", "item": item}, ordinal=0)
    assert answers(read(log.end().write(tmp_path))) == ["one", "two"]


def spawned(*, start: datetime = LATER, **meta: Any) -> Rollout:
    by = uuid7(START, 7)
    spawn = {"parent_thread_id": by, "depth": 1, "agent_nickname": "Ada", "agent_role": "explorer"}
    source = {"subagent": {"thread_spawn": spawn}}
    return Rollout(start=start, salt=9, source=source, thread_source="subagent", session_id=by, **meta)


def burst(log: Rollout, of: Rollout) -> Rollout:
    """The parent's history, replayed into a subagent's log within a second."""
    log.step = timedelta(milliseconds=1)
    for line in of.lines[1:]:
        record = json.loads(line)
        log.add(record["type"], record["payload"])
    log.step = timedelta(milliseconds=10)
    log.now += timedelta(seconds=2)
    return log


def test_subagent_legacy_replay_burst_counts_only_its_own(tmp_path: Path) -> None:
    """ccusage#950 (x91), #897; openai/codex#33196: the replayed counts are the parent's."""
    log = burst(spawned(history_mode="legacy", forked_from_id=uuid7(START, 7)), parent(history_mode="legacy"))
    session = read(own_turn(log).write(tmp_path))
    assert (session.kind, prompts(session), answers(session)) == ("subagent", [], ["Split."])
    assert usage(session)["total_tokens"] == 5_330
    assert session.header.meta["task"] == "Split core"


def test_a_burst_in_a_spawned_thread_is_gated_without_any_fork_mark(tmp_path: Path) -> None:
    session = read(
        own_turn(burst(spawned(history_mode="legacy"), parent(history_mode="legacy"))).write(tmp_path)
    )
    assert usage(session)["total_tokens"] == 5_330


def numbered(log: Rollout) -> Rollout:
    """The log as before 0.100: turns have small numbers or nothing for an id."""
    ids: dict[str, str] = {}
    for at, line in enumerate(log.lines):
        record = json.loads(line)
        if "turn_id" in record["payload"]:
            turn = record["payload"]["turn_id"]
            record["payload"]["turn_id"] = ids.setdefault(turn, str(len(ids) + 1))
            log.lines[at] = json.dumps(record).encode() + b"\n"
    return log


def test_a_copied_burst_without_uuids_and_without_its_parent_is_left_out(tmp_path: Path) -> None:
    old = numbered(parent(OLD, **OLD_VERSION))
    session = read(own_turn(fork(old, start=OLD + timedelta(hours=1), **OLD_VERSION), "3").write(tmp_path))
    assert prompts(session) == ["Split core"]
    assert usage(session)["total_tokens"] == 5_330


def test_a_copy_that_runs_into_the_next_second_without_a_pause_is_still_a_copy(tmp_path: Path) -> None:
    old = numbered(parent(OLD, **OLD_VERSION))
    log = Rollout(
        start=OLD + timedelta(hours=1, milliseconds=990), salt=8, **OLD_VERSION, forked_from_id=old.thread
    )
    log.step = timedelta(milliseconds=2)
    log.now = log.start + log.step
    for line in old.lines:
        record = json.loads(line)
        log.add(record["type"], record["payload"])
    log.now += timedelta(seconds=3)
    assert prompts(read(own_turn(log, "3").write(tmp_path))) == ["Split core"]


def test_a_copy_without_uuids_is_told_by_the_parents_file(tmp_path: Path) -> None:
    """Written slowly, so that no burst shows it; the own part begins in the very next line."""
    old = numbered(parent(OLD, **OLD_VERSION))
    old.write(tmp_path)
    log = fork(old, start=OLD + timedelta(hours=1), **OLD_VERSION)
    records = [json.loads(line) for line in log.lines]
    for at, record in enumerate(records):
        slow = OLD + timedelta(hours=1, seconds=at * 3)
        record["timestamp"] = slow.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    log.lines = [json.dumps(record).encode() + b"\n" for record in records]
    session = read(own_turn(log, "3").write(tmp_path))
    assert prompts(session) == ["Split core"]
    assert usage(session)["total_tokens"] == 5_330


def test_an_own_turn_within_the_second_of_the_copy_is_kept_where_the_parent_is_known(tmp_path: Path) -> None:
    old = numbered(parent(OLD, **OLD_VERSION))
    old.write(tmp_path)
    log = fork(old, start=OLD + timedelta(hours=1), **OLD_VERSION)
    log.now = log.start + timedelta(milliseconds=50)
    session = read(own_turn(log, "3").write(tmp_path))
    assert prompts(session) == ["Split core"]


def test_whether_turns_have_uuids_is_known_by_the_version_before_the_date(tmp_path: Path) -> None:
    """0.93 run today: nothing but the parent's file tells the copy, though the thread is young."""
    old = Rollout(salt=7, history_mode="legacy", cli_version="0.93.0")
    old.prompt("List the modules").add("turn_context", {"model": "gpt-5"}).answer("core")
    old.count(tokens(4_000, 0, 50), tokens(4_000, 0, 50)).event("thread_rolled_back", num_turns=1)
    old.write(tmp_path)
    log = fork(old, cli_version="0.93.0")
    log.now = log.start + timedelta(milliseconds=30)
    log.prompt("Split core").add("turn_context", {"model": "gpt-5"}).answer("Split.")
    log.count(tokens(5_300, 5_100, 30), tokens(9_300, 5_100, 80))
    session = read(log.write(tmp_path))
    assert (prompts(session), answers(session), session.retracted) == (["Split core"], ["Split."], set())
    assert usage(session)["total_tokens"] == 5_330


def test_a_new_fork_of_an_old_session_opens_at_its_own_uuid_turn(tmp_path: Path) -> None:
    old = numbered(parent(OLD, **OLD_VERSION))
    session = read(own_turn(fork(old)).write(tmp_path))
    assert prompts(session) == ["Split core"]
    assert usage(session)["total_tokens"] == 5_330


def test_the_model_of_a_copied_turn_context_holds_until_an_own_one_comes(tmp_path: Path) -> None:
    log = spawned(subagent_history_start_ordinal=2)
    log.add("turn_context", {"turn_id": uuid7(START, 1), "model": "gpt-parent"})
    log.event("task_started", turn_id=uuid7(LATER, 5)).answer("x").record("resp_1", tokens(10, 0, 1))
    assert [response.model for response in read(log.write(tmp_path)).responses] == ["gpt-parent"]


def test_internal_threads_are_told_by_both_marks(tmp_path: Path) -> None:
    """agentsview#1644: guardian threads were shown as the user's; the mark changed in 0.151."""
    marks: list[dict[str, Any]] = [
        {"thread_source": "guardian_review"},
        {"thread_source": "memory_consolidation"},
        {"source": {"internal": "guardian"}, "thread_source": None},
        {"source": {"subagent": "review"}, "thread_source": "subagent"},
        {"source": {"subagent": "compact"}},
        {"source": {"subagent": {"other": "guardian"}}},
    ]
    for salt, mark in enumerate(marks, start=1):
        log = Rollout(salt=salt, **mark).begin().prompt(">>> APPROVAL REQUEST START").answer("allow")
        log.call("c1", "ls").output("c1", "x").record("resp", tokens(10, 0, 1)).end()
        session = read(log.write(tmp_path))
        assert (session.kind, list(session.turns), session.turn_count) == ("internal", [], 0)
        assert usage(session)["total_tokens"] == 11


def test_a_model_name_or_missing_prompts_do_not_make_a_thread_internal(tmp_path: Path) -> None:
    log = Rollout().begin(model="gpt-6-guardian").answer("hello").end()
    assert read(log.write(tmp_path)).kind == "user"


def test_an_unused_internal_thread_is_nothing_to_capture(tmp_path: Path) -> None:
    assert try_read(Rollout(thread_source="guardian_review").begin().prompt("x").write(tmp_path)) is None
