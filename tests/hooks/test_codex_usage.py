"""Token counts by the rules of formats/codex.md §3; a test for each public report of wrong sums (§5)."""

from __future__ import annotations

from pathlib import Path

from codex_rollouts import Rollout, read, tokens, usage


def counted(log: Rollout, tmp_path: Path) -> int:
    return usage(read(log.write(tmp_path)))["total_tokens"]


def opened(**meta: object) -> Rollout:
    return Rollout(history_mode="legacy", **meta).begin().prompt("hi").answer("ho")


def test_a_count_told_again_with_a_new_time_is_counted_once(tmp_path: Path) -> None:
    """ccusage#1288, #876."""
    log = opened()
    for _ in range(3):
        log.count(tokens(100, 40, 10), tokens(100, 40, 10))
    assert counted(log, tmp_path) == 110


def test_a_count_whose_total_has_not_moved_is_skipped_though_its_last_differs(tmp_path: Path) -> None:
    """t3code#5800."""
    log = opened().count(tokens(100, 0, 10), tokens(100, 0, 10)).count(tokens(70, 0, 7), tokens(100, 0, 10))
    assert counted(log, tmp_path) == 110


def test_records_and_counts_of_the_same_response_are_never_added(tmp_path: Path) -> None:
    """TokenTracker#652."""
    log = opened().record("resp_1", tokens(100, 0, 10)).count(tokens(100, 0, 10), tokens(100, 0, 10))
    log.record("resp_2", tokens(200, 0, 20)).count(tokens(200, 0, 20), tokens(300, 0, 30))
    assert counted(log, tmp_path) == 330


def test_counts_before_the_first_record_are_kept(tmp_path: Path) -> None:
    """A session resumed by a version that writes records."""
    log = opened().count(tokens(100, 0, 10), tokens(100, 0, 10)).record("resp_1", tokens(200, 0, 20))
    log.count(tokens(200, 0, 20), tokens(300, 0, 30))
    assert counted(log, tmp_path) == 330


def test_cumulative_figures_are_never_summed(tmp_path: Path) -> None:
    """codeburn#1380: turn_token_usage and thread_token_usage were summed."""
    log = opened().record("resp_1", tokens(100, 0, 10)).record("resp_2", tokens(100, 0, 10))
    assert counted(log, tmp_path) == 220


def test_every_response_of_a_turn_is_counted(tmp_path: Path) -> None:
    """romp#1686: only the last call of a turn was left."""
    log = opened()
    for at in range(1, 4):
        log.count(tokens(100, 0, 10), tokens(100 * at, 0, 10 * at))
    assert counted(log, tmp_path) == 330


def test_a_response_id_counts_once(tmp_path: Path) -> None:
    log = opened().record("resp_1", tokens(100)).record("resp_1", tokens(100))
    assert counted(log, tmp_path) == 100


def test_a_record_of_another_thread_is_not_ours(tmp_path: Path) -> None:
    log = opened().record("resp_1", tokens(100), thread_id="someone-else").record("resp_2", tokens(7))
    assert counted(log, tmp_path) == 7


def test_estimates_after_compaction_are_not_usage(tmp_path: Path) -> None:
    estimate = {**tokens(0), "total_tokens": 6_100}
    log = opened().count(tokens(100, 0, 10), tokens(100, 0, 10)).count(estimate, tokens(100, 0, 10))
    log.count(estimate, tokens(101, 0, 10)).count(tokens(50, 0, 5), tokens(151, 0, 15))
    assert counted(log, tmp_path) == 165
    assert len(read(log.write(tmp_path)).responses) == 2


def test_the_fill_after_an_overflow_is_not_usage_and_the_reset_behind_it_is(tmp_path: Path) -> None:
    fill = {**tokens(0), "total_tokens": 258_400}
    log = opened().count(tokens(100, 0, 10), tokens(100, 0, 10)).count(tokens(0), fill)
    log.count(tokens(90, 0, 9), {**tokens(90, 0, 9), "total_tokens": 258_499})
    assert counted(log, tmp_path) == 209


def test_counts_without_totals_are_told_apart_by_their_last(tmp_path: Path) -> None:
    log = opened()
    for last in (100, 100, 50):
        log.event("token_count", info={"last_token_usage": tokens(last), "total_token_usage": None})
    assert counted(log, tmp_path) == 150


def test_a_count_without_info_is_no_count(tmp_path: Path) -> None:
    log = opened().count(None, None).count(tokens(100, 0, 10), tokens(100, 0, 10)).count(None, None)
    assert counted(log, tmp_path) == 110


def test_cached_and_written_tokens_are_parts_of_the_input(tmp_path: Path) -> None:
    """tidebreak#2405; upstream's own example: input 100, cached 40, written 60, output 10 -> total 110."""
    session = read(opened().record("resp_1", tokens(100, 40, 10, written=60, reasoning=4)).write(tmp_path))
    (response,) = session.responses
    assert (response.input, response.cache_read, response.cache_write_5m) == (0, 40, 60)
    assert (response.output, response.reasoning, response.cache_write_1h) == (10, 4, 0)
    assert usage(session) == tokens(100, 40, 10, written=60, reasoning=4)


def test_a_split_that_does_not_add_up_is_clamped_at_zero(tmp_path: Path) -> None:
    (response,) = read(opened().record("resp_1", tokens(100, 90, 1, written=60)).write(tmp_path)).responses
    assert response.input == 0


def test_the_copied_record_inside_a_compaction_is_not_counted(tmp_path: Path) -> None:
    """compacted_paginated: a remote compaction has a record, no token_count; its line repeats the record."""
    log = Rollout().exchange("one", "1").begin().record("resp_c", tokens(500, 0, 50))
    copy = {"thread_id": log.thread, "response_id": "resp_x", "usage": tokens(500, 0, 50)}
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}]
    log.add(
        "compacted", {"message": "", "replacement_history": history, "latest_token_usage_record": copy}
    ).end()
    session = read(log.exchange("two", "2").write(tmp_path))
    assert usage(session)["total_tokens"] == 550
    assert [turn.content for turn in session.turns] == ["one", "1", "two", "2"]


def test_counts_of_a_wrong_type_are_nothing(tmp_path: Path) -> None:
    wrong = {"input_tokens": "many", "output_tokens": -5, "total_tokens": None}
    log = opened().record("resp_1", {}, usage=wrong).record("resp_3", {}, usage=[1])
    log.record("resp_2", {}, usage={"input_tokens": 26.0, "output_tokens": True})
    assert counted(log, tmp_path) == 26


def test_ids_of_counted_steps_stay_the_same_when_the_log_grows(tmp_path: Path) -> None:
    log = opened().count(tokens(100, 0, 10), tokens(100, 0, 10))
    before = [response.id for response in read(log.write(tmp_path)).responses]
    log.count(tokens(50, 0, 5), tokens(150, 0, 15)).record("resp_9", tokens(1))
    after = [response.id for response in read(log.write(tmp_path)).responses]
    assert before == [f"{log.thread}:tc1"]
    assert after == [f"{log.thread}:tc1", f"{log.thread}:tc2", "resp_9"]


def test_the_model_is_the_one_set_last(tmp_path: Path) -> None:
    log = Rollout().begin(model="gpt-a").prompt("x").answer("y").record("resp_1", tokens(1)).end()
    log.event("thread_settings_applied", thread_settings={"model": "gpt-b"}).record("resp_2", tokens(1))
    session = read(log.begin(model="gpt-c").record("resp_3", tokens(1)).end().write(tmp_path))
    assert [response.model for response in session.responses] == ["gpt-a", "gpt-b", "gpt-c"]
    assert session.header.meta["models"] == ["gpt-a", "gpt-b", "gpt-c"]
    assert session.header.meta["reasoning_efforts"] == ["high"]


def test_a_response_belongs_to_the_last_turn_before_it_in_the_same_turn_of_codex(tmp_path: Path) -> None:
    log = Rollout().begin().prompt("run it").call("c1", "make").record("resp_call", tokens(1))
    log.command("c1", "make", "ok").answer("Done.").record("resp_text", tokens(1)).end()
    session = read(log.write(tmp_path))
    assert {response.id: response.turn for response in session.responses} == {"resp_call": 2, "resp_text": 3}


def test_a_response_without_a_turn_before_it_belongs_to_the_next_else_to_none(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1").begin().record("resp_compact", tokens(1)).end()
    log.exchange("two", "2").begin().record("resp_last", tokens(1)).end()
    session = read(log.write(tmp_path))
    assert {response.id: response.turn for response in session.responses} == {
        "resp_compact": 3,
        "resp_last": 0,
    }


def test_a_response_of_an_open_call_belongs_to_a_turn_that_exists(tmp_path: Path) -> None:
    log = Rollout().begin().prompt("run it").call("c1", "make").record("resp_call", tokens(1))
    assert [response.turn for response in read(log.write(tmp_path)).responses] == [1]


def test_only_the_old_format_has_no_counts(tmp_path: Path) -> None:
    assert read(Rollout().exchange("a", "b").write(tmp_path)).usage_known is True
