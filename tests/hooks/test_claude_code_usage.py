"""Token accounting (formats/claude-code.md §4, §5 C)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_code_logs import Log, of_id, session, stamp, usage

from memex_core.model.session import COUNT_FIELDS, Response


def only(log: Log, tmp_path: Path) -> Response:
    (response,) = session(log, tmp_path).responses
    return response


def counts(response: Response) -> tuple[int, ...]:
    return tuple(getattr(response, field) for field in COUNT_FIELDS)


def test_the_lines_of_one_response_count_once(tmp_path: Path) -> None:
    log = Log()
    for text in "abc":
        log.says(text, id="msg_1", usage=usage(7))

    assert counts(only(log, tmp_path)) == (3, 0, 0, 0, 7, 0, 1)


def test_lines_of_one_response_need_not_be_adjacent(tmp_path: Path) -> None:
    log = Log()
    log.calls("a", id="msg_1")
    log.answers("a")
    log.says("x", id="msg_2")
    log.says("late", id="msg_1")

    assert [response.id for response in session(log, tmp_path).responses] == ["msg_1", "msg_2"]


def test_the_copy_with_the_greatest_output_counts_whole(tmp_path: Path) -> None:
    log = Log()
    log.says("a", id="msg_1", usage=usage(1, input_tokens=900))
    log.says("b", id="msg_1", usage=usage(50, input_tokens=4))
    log.says("c", id="msg_1", usage=usage(20, input_tokens=800))

    assert (only(log, tmp_path).input, only(log, tmp_path).output) == (4, 50)


def test_of_equal_copies_the_last_counts(tmp_path: Path) -> None:
    log = Log()
    log.says("a", id="msg_1", usage=usage(5, input_tokens=1))
    log.says("b", id="msg_1", usage=usage(5, input_tokens=2), model="claude-other")

    assert (only(log, tmp_path).input, only(log, tmp_path).model) == (2, "claude-other")


def test_the_time_is_that_of_the_first_copy(tmp_path: Path) -> None:
    log = Log()
    log.says("a", id="msg_1", usage=usage(1))
    log.says("b", id="msg_1", usage=usage(9))

    assert only(log, tmp_path).ts == stamp(1)


def test_a_response_without_a_stop_reason_is_a_lower_bound(tmp_path: Path) -> None:
    log = Log()
    log.says("a", id="msg_1", stop=None)
    log.says("b", id="msg_1", stop=None)
    assert only(log, tmp_path).final is False

    log.says("c", id="msg_1", stop="end_turn", usage=usage(1))
    assert only(log, tmp_path).final is True


def test_btw_replays_and_lines_without_request_id_are_the_same_response(tmp_path: Path) -> None:
    log = Log()
    log.says("a", id="msg_1", requestId="req_1")
    log.says("a", id="msg_1", requestId="req_2", isSidechain=True)
    log.says("a", id="msg_1")

    assert only(log, tmp_path).id == "msg_1"


def test_ids_of_gateways_are_told_apart_by_their_request(tmp_path: Path) -> None:
    log = Log()
    log.says("a", id="chat-1", requestId="r1")
    log.says("b", id="chat-1", requestId="r2")
    log.says("c", id="chat-1", requestId="r2")
    log.says("d", id="chat-2")

    assert [response.id for response in session(log, tmp_path).responses] == [
        "chat-1/r1",
        "chat-1/r2",
        "chat-2",
    ]


@pytest.mark.parametrize("missing", [None, "", 5, ["x"]])
def test_a_response_without_an_id_is_known_by_its_request_or_what_it_says(
    tmp_path: Path, missing: Any
) -> None:
    log = Log()
    log.says("a", id=missing, requestId="r1")
    log.says("b", id=missing, requestId="r1")
    log.says("c", id=missing)
    nameless = log.says("d", id=missing)
    del nameless["uuid"]

    ids = [response.id for response in session(log, tmp_path).responses]
    assert ids[0] == "r1" and len(set(ids)) == 3 and all(ids)
    for record in log.records[:-1]:
        record["uuid"] = f"renamed-{record['uuid']}"
    assert [response.id for response in session(log, tmp_path / "fork").responses] == ids


def test_errors_and_made_up_rows_are_not_counted(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    log.says("API Error", model="<synthetic>")
    log.says("API Error", isApiErrorMessage=True)
    log.says("no usage", usage={})
    log.says("no usage", usage=None)

    assert session(log, tmp_path).responses == []


def test_five_minute_and_one_hour_cache_writes_are_kept_apart(tmp_path: Path) -> None:
    log = Log()
    detail = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}
    log.says("a", usage=usage(cache_creation_input_tokens=30, cache_creation=detail))
    log.says("b", usage=usage(cache_creation_input_tokens=100, cache_creation=detail))
    log.says("c", usage=usage(cache_creation_input_tokens=0, cache_creation=detail))
    log.says("d", usage=usage(cache_creation_input_tokens=9))
    written = [(r.cache_write_5m, r.cache_write_1h) for r in session(log, tmp_path).responses]

    assert written == [(10, 20), (80, 20), (10, 20), (9, 0)]


def test_thinking_is_a_part_of_the_output(tmp_path: Path) -> None:
    log = Log()
    log.says("a", usage=usage(50, output_tokens_details={"thinking_tokens": 30}))
    log.says("b", usage=usage(50, output_tokens_details={"thinking_tokens": 99}))

    assert [(r.output, r.reasoning) for r in session(log, tmp_path).responses] == [(50, 30), (50, 50)]


@pytest.mark.parametrize("value", [None, "12", True, -5, float("nan"), float("inf"), [1], {}, 1 << 60])
def test_counts_that_are_no_counts_are_zero(tmp_path: Path, value: Any) -> None:
    log = Log()
    detail = {"ephemeral_1h_input_tokens": value}
    log.says(
        "a", usage=usage(value, input_tokens=value, cache_read_input_tokens=value, cache_creation=detail)
    )

    assert counts(only(log, tmp_path)) == (0, 0, 0, 0, 0, 0, 1)


def test_a_float_count_is_cut_to_its_integer(tmp_path: Path) -> None:
    log = Log()
    log.says("a", usage=usage(7.0))

    assert only(log, tmp_path).output == 7


def test_advisor_and_compaction_iterations_count_under_their_own_model(tmp_path: Path) -> None:
    log = Log()
    iterations = [
        {"type": "message", "input_tokens": 1, "output_tokens": 1},
        {"type": "advisor_message", "model": "claude-fable-5", "input_tokens": 500, "output_tokens": 60},
        {"type": "compaction", "input_tokens": 70, "output_tokens": 8},
        {"type": "unknown", "input_tokens": 99},
        None,
    ]
    log.says("a", id="msg_1", usage=usage(10, iterations=iterations))
    log.says("b", id="msg_1", usage=usage(10, iterations=iterations))
    found = session(log, tmp_path).responses

    assert [(r.id, r.model, r.input, r.output, r.requests) for r in found] == [
        ("msg_1", "claude-opus-5", 3, 10, 1),
        ("msg_1#1", "claude-fable-5", 500, 60, 0),
        ("msg_1#2", "claude-opus-5", 70, 8, 0),
    ]


def test_a_response_without_a_model_counts_as_unknown(tmp_path: Path) -> None:
    log = Log()
    log.says("a", model=None)

    assert only(log, tmp_path).model == "unknown"
    assert "models" not in session(log, tmp_path).header.meta


def test_very_old_agent_progress_counts_to_the_call_it_belongs_to(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.calls("t", "Task", {"prompt": "look"}, id="msg_1")
    relayed = {"type": "assistant", "message": {"id": "msg_2", "model": "claude-haiku", "usage": usage(5)}}
    log.add("progress", data={"type": "agent_progress", "message": relayed}, parentToolUseID="t")
    log.answers("t")

    found = session(log, tmp_path)
    assert (of_id(found, "msg_2").turn, of_id(found, "msg_2").output) == (2, 5)


def test_a_response_belongs_to_the_first_turn_it_produced(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.assistant({"type": "thinking", "thinking": "hm"}, id="msg_1", stop=None)
    log.says("text", id="msg_1", stop=None)
    log.calls("a", id="msg_1")
    log.answers("a")

    assert only(log, tmp_path).turn == 2


def test_a_response_without_turns_belongs_to_the_last_turn_before_it(tmp_path: Path) -> None:
    log = Log()
    log.user("one")
    log.user("two")
    log.assistant({"type": "thinking", "thinking": "hm"})
    log.says("answer")

    assert [response.turn for response in session(log, tmp_path).responses] == [2, 3]


def test_a_response_before_every_turn_belongs_to_the_first_one(tmp_path: Path) -> None:
    log = Log()
    log.assistant({"type": "thinking", "thinking": "hm"})
    log.user("one")

    assert only(log, tmp_path).turn == 1


def test_responses_behind_an_open_call_belong_to_a_turn_that_exists(tmp_path: Path) -> None:
    log = Log()
    log.user("one")
    log.calls("a")
    log.says("held back", stop=None)
    found = session(log, tmp_path)

    assert found.turn_count == 1
    assert {response.turn for response in found.responses} == {1}


def test_a_session_without_any_turn_yet_counts_its_tokens_to_none(tmp_path: Path) -> None:
    log = Log()
    log.calls("a")

    assert only(log, tmp_path).turn == 0


def test_a_record_appended_again_with_other_counts_is_a_copy(tmp_path: Path) -> None:
    log = Log()
    record = log.says("a", id="msg_1", usage=usage(5))
    log.records.append({**record, "message": {**record["message"], "usage": usage(5)}})

    assert len(session(log, tmp_path).responses) == 1


def test_the_field_names_of_the_harness_sum_disjoint_fields(tmp_path: Path) -> None:
    log = Log()
    log.user("x")
    fields = session(log, tmp_path).usage_fields

    assert fields["total_tokens"] == ["input", "cache_read", "cache_write_5m", "cache_write_1h", "output"]
    assert fields["cache_creation_input_tokens"] == ["cache_write_5m", "cache_write_1h"]
    assert list(fields) == [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
        "total_tokens",
    ]
