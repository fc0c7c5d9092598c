"""Records -> turns: what becomes one, what pairs with what, what is held back (formats/claude-code.md §3)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from claude_code_logs import SESSION, Log, read, said, session

from memex_hooks.harnesses.claude_code import content, conversation


def test_every_text_block_of_the_agent_is_a_turn(tmp_path: Path) -> None:
    log = Log()
    log.assistant({"type": "text", "text": " one\n"}, {"type": "text", "text": "two"}, "bare")

    assert said(session(log, tmp_path)) == [("agent", "one"), ("agent", "two"), ("agent", "bare")]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": ""},
        {"type": "text", "text": " \n"},
        {"type": "text", "text": "\x00"},
        {"type": "text", "text": "(no content)"},
        {"type": "text", "text": None},
        {"type": "fallback"},
        None,
        7,
    ],
)
def test_blocks_without_words_make_no_turn(tmp_path: Path, block: Any) -> None:
    log = Log()
    log.user("hi")
    log.assistant(block)

    assert said(session(log, tmp_path)) == [("user", "hi")]


def test_errors_and_made_up_answers_make_no_turn(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    log.says("API Error: 529", model="<synthetic>")
    log.says("API Error: 500", isApiErrorMessage=True)
    log.says("injected", isMeta=True)

    assert said(session(log, tmp_path)) == [("user", "hi")]


def test_results_pair_with_their_calls_in_call_order(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.calls("a", id="msg_1")
    log.calls("b", "Read", {"file_path": "x"}, id="msg_1")
    log.answers("b", "second")
    log.answers("a", "first")

    assert said(session(log, tmp_path))[1:] == [
        ("tool", 'Bash({"command":"run a"}) -> first'),
        ("tool", 'Read({"file_path":"x"}) -> second'),
    ]


def test_a_tool_turn_has_the_name_as_content_and_the_time_of_the_call(tmp_path: Path) -> None:
    log = Log()
    call = log.calls("a")
    log.answers("a", "out")
    turn = next(iter(session(log, tmp_path).turns))

    assert turn.to_line() == {
        "role": "tool",
        "content": "Bash",
        "ts": call["timestamp"],
        "turn": 1,
        "tool_name": "Bash",
        "result": "out",
        "query": '{"command":"run a"}',
    }


def test_an_open_call_holds_back_itself_and_what_is_behind_it(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.calls("a", id="msg_1")
    log.attach("queued_command", prompt="and then?", commandMode="prompt")
    found = session(log, tmp_path)

    assert said(found) == [("user", "go")]
    assert found.turn_count == 1
    assert found.open_calls == [{"tool_name": "Bash", "query": '{"command":"run a"}'}]


def test_an_answered_call_lets_go_of_what_it_held_back(tmp_path: Path) -> None:
    log = Log()
    log.calls("a")
    log.attach("queued_command", prompt="and then?", commandMode="prompt")
    log.answers("a")
    found = session(log, tmp_path)

    assert said(found) == [("tool", 'Bash({"command":"run a"}) -> done'), ("user", "and then?")]
    assert found.open_calls == []


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("user", {"message": {"content": "next"}}),
        (
            "user",
            {
                "message": {
                    "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
                }
            },
        ),
        (
            "user",
            {
                "message": {"content": "This session is being continued from a previous conversation"},
                "isCompactSummary": True,
            },
        ),
        ("system", {"subtype": "turn_duration"}),
        ("system", {"subtype": "compact_boundary"}),
        ("assistant", {"message": {"id": "msg_9", "content": ["end"], "stop_reason": "end_turn"}}),
        (
            "assistant",
            {"message": {"id": "msg_9", "content": ["on"], "stop_reason": None}, "parentUuid": "lost"},
        ),
    ],
)
def test_a_call_is_given_up_when_the_conversation_shows_that_no_result_comes(
    tmp_path: Path, kind: str, fields: dict[str, Any]
) -> None:
    log = Log()
    log.calls("a", id="msg_1")
    log.add(kind, **fields)
    found = session(log, tmp_path)

    assert said(found)[0] == ("tool", 'Bash({"command":"run a"}) -> None')
    assert found.open_calls == []


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("user", {"message": {"content": "note"}, "isMeta": True}),
        ("user", {"message": {"content": "side"}, "isSidechain": True}),
        ("user", {"message": {"content": "<task-notification>x"}}),
        ("system", {"subtype": "stop_hook_summary"}),
        ("attachment", {"attachment": {"type": "queued_command", "prompt": "more", "commandMode": "prompt"}}),
        ("assistant", {"message": {"id": "msg_1", "content": ["same"], "stop_reason": "end_turn"}}),
        ("assistant", {"message": {"id": "msg_9", "content": ["on"], "stop_reason": None}}),
        ("assistant", {"message": {"id": "msg_9", "content": ["on"], "stop_reason": "tool_use"}}),
    ],
)
def test_a_call_still_waits_when_nothing_shows_that_it_is_over(
    tmp_path: Path, kind: str, fields: dict[str, Any]
) -> None:
    log = Log()
    log.calls("a", id="msg_1")
    log.add(kind, **fields)
    log.answers("a", "late")

    assert said(session(log, tmp_path))[0] == ("tool", 'Bash({"command":"run a"}) -> late')


def test_a_result_that_comes_after_its_call_was_given_up_makes_no_second_turn(tmp_path: Path) -> None:
    log = Log()
    log.calls("a")
    log.user("next")
    log.answers("a", "too late")

    assert said(session(log, tmp_path)) == [("tool", 'Bash({"command":"run a"}) -> None'), ("user", "next")]


def test_a_call_that_many_responses_passed_by_is_given_up(tmp_path: Path) -> None:
    log = Log()
    log.calls("a")
    for n in range(20):
        log.says(f"on {n}", stop=None)

    assert session(log, tmp_path).turn_count == 21


def test_no_more_than_a_bounded_number_of_turns_is_held_back(tmp_path: Path) -> None:
    log = Log()
    log.calls("a", id="msg_1")
    for n in range(conversation._HELD + 5):
        log.attach("queued_command", prompt=f"words {n}", commandMode="prompt")

    assert session(log, tmp_path).turn_count == conversation._HELD + 6


def test_a_result_whose_call_is_lost_is_kept(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.answers("lost", "what it said")

    assert said(session(log, tmp_path))[1] == ("tool", "unknown(None) -> what it said")


def test_two_calls_of_one_id_each_take_a_result(tmp_path: Path) -> None:
    log = Log()
    log.calls("a", query="one", id="msg_1")
    log.calls("a", query="two", id="msg_1")
    log.answers("a", "1")
    log.answers("a", "2")

    assert [text for _, text in said(session(log, tmp_path))] == ["Bash(one) -> 1", "Bash(two) -> 2"]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"a": [1, {"b": "é"}]}, '{"a":[1,{"b":"é"}]}'),
        ("plain text", "plain text"),
        ({}, "{}"),
        ([1, None], "[1,null]"),
    ],
)
def test_a_query_is_compact_json_or_the_text_itself(tmp_path: Path, query: Any, shown: str) -> None:
    log = Log()
    log.calls("a", query=query)
    log.answers("a")

    assert next(iter(session(log, tmp_path).turns)).query == shown


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("text", "text"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, "b"], "a\nb"),
        (
            [{"type": "image", "source": {"media_type": "image/png", "data": "AAA="}}],
            "[image image/png 2 bytes]",
        ),
        ([{"type": "tool_reference", "tool_name": "WebSearch"}], "[tool WebSearch]"),
        ({"type": "text", "text": "single"}, "single"),
        ([{"type": "resource", "uri": "x:1"}], '{"type":"resource","uri":"x:1"}'),
        (12, "12"),
        ("\x1b[1mbold\x1b[22m\x1b]0;title\x07 a\x00b", "bold ab"),
    ],
)
def test_results_of_every_shape_become_text(tmp_path: Path, result: Any, shown: str) -> None:
    log = Log()
    log.calls("a")
    log.answers("a", result)

    assert next(iter(session(log, tmp_path).turns)).result == shown


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (
            {
                "type": "web_search_tool_result",
                "content": [
                    {"type": "web_search_result", "title": "T", "url": "u", "encrypted_content": "x"}
                ],
            },
            "T u",
        ),
        (
            {"type": "web_search_tool_result", "content": {"type": "e", "error_code": "max_uses"}},
            "error: max_uses",
        ),
        ({"type": "advisor_tool_result", "content": {"type": "advisor_result", "text": "Do it."}}, "Do it."),
        (
            {
                "type": "advisor_tool_result",
                "content": {"type": "advisor_redacted_result", "encrypted_content": "x"},
            },
            "[advisor_redacted_result]",
        ),
        ({"type": "code_execution_tool_result", "content": {"stdout": "1"}}, '{"stdout":"1"}'),
    ],
)
def test_server_tools_are_answered_within_the_response(
    tmp_path: Path, block: dict[str, Any], shown: str
) -> None:
    log = Log()
    log.assistant({"type": "server_tool_use", "id": "s", "name": "ask", "input": {}}, id="msg_1")
    log.assistant({**block, "tool_use_id": "s"}, id="msg_1")

    assert said(session(log, tmp_path)) == [("tool", f"ask({{}}) -> {shown}")]


def test_a_slash_command_is_a_tool_turn_with_what_it_printed(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    log.user(
        "<command-message>model</command-message>\n<command-name>/model</command-name>\n<command-args>opus</command-args>"
    )
    log.user("<local-command-stdout>Set model</local-command-stdout>")
    log.add(
        "system",
        subtype="local_command",
        content="<command-name>/cost</command-name><command-args></command-args>",
    )
    log.add("system", subtype="local_command", content="<local-command-stderr>no</local-command-stderr>")

    assert said(session(log, tmp_path))[1:] == [
        ("tool", "command(/model opus) -> Set model"),
        ("tool", "command(/cost) -> no"),
    ]


def test_a_command_that_prints_nothing_is_over_when_the_agent_answers(tmp_path: Path) -> None:
    log = Log()
    log.user("<command-name>/review</command-name>")
    log.user("Review the code ...", isMeta=True)
    assert read(log.write(tmp_path)) is None
    log.says("Looks good.")

    assert said(session(log, tmp_path)) == [("tool", "command(/review) -> None"), ("agent", "Looks good.")]


def test_a_skill_that_the_agent_loaded_is_no_command_of_the_user(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    log.user("<command-name>/skill</command-name>", sourceToolUseID="t")

    assert said(session(log, tmp_path)) == [("user", "hi")]


def test_a_line_for_the_shell_is_a_tool_turn_with_both_outputs(tmp_path: Path) -> None:
    log = Log()
    log.user("<bash-input>make</bash-input>")
    log.user("<bash-stdout>a &lt;b&gt; &amp;amp;</bash-stdout><bash-stderr>warn</bash-stderr>")

    assert said(session(log, tmp_path)) == [("tool", "bash-input(make) -> a <b> &amp;\nwarn")]


def test_a_record_that_is_appended_again_counts_once(tmp_path: Path) -> None:
    log = Log()
    log.user("one")
    log.calls("a")
    log.answers("a")
    log.says("two")
    log.records += log.records[:2] + log.records[2:]

    assert session(log, tmp_path).turn_count == 3


def test_a_compaction_keeps_what_was_before_it_and_adds_no_summary(tmp_path: Path) -> None:
    log = Log()
    log.user("before")
    last = log.says("answer")
    log.add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=last["uuid"])
    log.user("This session is being continued ... summary", isCompactSummary=True)
    log.user("after")

    found = session(log, tmp_path)
    assert said(found) == [("user", "before"), ("agent", "answer"), ("user", "after")]
    assert found.retracted == set()


def test_inline_sidechains_make_no_turns(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.user("sub prompt", isSidechain=True, parentUuid=None)
    log.says("sub answer", isSidechain=True)
    log.calls("s", isSidechain=True)
    log.answers("s", isSidechain=True)

    assert said(session(log, tmp_path)) == [("user", "go")]


def _sdk_fork(log: Log, generation: int, **last: str) -> Log:
    """As the SDK forks: every uuid anew, only the parent log's uuid kept, the last record's time anew."""
    fork = Log(f"5e551017-0000-4000-8000-{generation:012d}")
    for record in log.records:
        origin = {"sessionId": log.session_id, "messageUuid": record["uuid"]}
        renamed = f"{generation:08x}-bbbb-4bbb-8bbb-{len(fork.records):012x}"
        copied = {**record, "uuid": renamed, "parentUuid": fork.parent}
        fork.records.append({**copied, "sessionId": fork.session_id, "forkedFrom": origin})
        fork.parent = renamed
    fork.records[-1].update({"timestamp": f"2026-09-0{generation}T00:00:00.000000Z", **last})
    return fork


def _of_every_kind() -> Log:
    log = Log()
    log.user("one", promptId="p1")
    log.assistant({"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "text", "text": "a"})
    log.calls("toolu_1")
    log.answers("toolu_1")
    log.calls("call_0")
    log.answers("call_0")
    log.answers("toolu_lost")
    log.user("<bash-input>ls</bash-input>", promptId="p1")
    log.user("<bash-stdout>x</bash-stdout>", promptId="p1")
    log.add("attachment", attachment={"type": "queued_command", "prompt": "queued", "commandMode": "prompt"})
    log.user("without a prompt id")
    log.says("of a gateway", id="chatcmpl-1")
    log.says("without an id", id=None)
    return log


@pytest.mark.parametrize("end", ["prompt", "answer"])
def test_turn_ids_stay_the_same_in_an_sdk_fork_of_a_fork(tmp_path: Path, end: str) -> None:
    log = _of_every_kind()
    if end == "prompt":
        log.user("the last words", promptId="p2")
    else:
        log.says("the last words")
    fork = _sdk_fork(log, 2)

    ids = [turn.id for turn in session(log, tmp_path).turns]
    assert [turn.id for turn in session(fork, tmp_path).turns] == ids
    assert [turn.id for turn in session(_sdk_fork(fork, 3), tmp_path).turns] == ids
    assert len(set(ids)) == len(ids) == 13
    assert all(len(name) == 12 and int(name, 16) >= 0 for name in ids)


def test_equal_words_of_two_sessions_are_two_turns(tmp_path: Path) -> None:
    one, other = Log(), Log("5e551017-0000-4000-8000-000000000002", start=500)
    for log in (one, other):
        log.user("yes")
        log.says("ok", id="chatcmpl-1")
        log.calls("call_0", id="chatcmpl-1")
        log.answers("call_0")

    ids = [turn.id for log in (one, other) for turn in session(log, tmp_path).turns]
    assert len(set(ids)) == 6


def test_equal_prompts_without_a_time_are_told_apart_by_their_records(tmp_path: Path) -> None:
    one, other = Log(), Log("5e551017-0000-4000-8000-000000000002", start=500)
    for log in (one, other):
        log.user("yes", timestamp=None)

    (a,), (b,) = session(one, tmp_path).turns, session(other, tmp_path).turns
    assert a.id != b.id


def test_records_without_uuid_get_ids_that_tell_repeats_apart(tmp_path: Path) -> None:
    log = Log()
    for _ in range(3):
        record = log.user("again")
        del record["uuid"]
        record["timestamp"] = "2026-08-20T09:00:00.000Z"
    found = session(log, tmp_path)

    assert len({turn.id for turn in found.turns}) == 3
    assert [turn.id for turn in found.turns] == [turn.id for turn in session(log, tmp_path / "copy").turns]


def test_turns_can_be_read_again_and_stop_where_the_first_pass_stopped(tmp_path: Path) -> None:
    log = Log()
    log.user("one")
    found = session(log, tmp_path)
    log.says("written later")
    log.write(tmp_path)

    assert said(found) == said(found) == [("user", "one")]


def _spill(tmp_path: Path, named: Path | str) -> str | None:
    log = Log()
    log.calls("a")
    note = f"Output too large (99KB). Full output saved to: {named}\n\nPreview:\nhead"
    log.answers("a", f"<persisted-output>\n{note}\n</persisted-output>")
    return next(iter(session(log, tmp_path).turns)).result


def test_a_saved_result_is_read_from_the_sessions_folder(tmp_path: Path) -> None:
    saved = tmp_path / SESSION / "tool-results" / "x.txt"
    saved.parent.mkdir(parents=True)
    saved.write_text("all of it\n", encoding="utf-8")

    assert _spill(tmp_path, saved) == "all of it\n"
    assert _spill(tmp_path, f"/moved/elsewhere/{SESSION}/tool-results/x.txt") == "all of it\n"


def test_a_saved_result_is_read_up_to_a_megabyte(tmp_path: Path) -> None:
    saved = tmp_path / SESSION / "tool-results" / "x.txt"
    saved.parent.mkdir(parents=True)
    saved.write_bytes(b"y" * (content.SPILLED_BYTES + 7))

    assert _spill(tmp_path, saved) == "y" * content.SPILLED_BYTES + "\n[7 more bytes]"


def test_a_saved_result_that_is_gone_leaves_the_preview(tmp_path: Path) -> None:
    assert "Preview:\nhead" in (_spill(tmp_path, tmp_path / SESSION / "tool-results" / "x.txt") or "")


def test_a_saved_result_outside_the_sessions_folders_is_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret.txt"
    beside = tmp_path / SESSION / "subagents" / "secret.txt"
    foreign = tmp_path / "deeper" / "down" / "tool-results" / "secret.txt"
    for path in (secret, beside, foreign):
        path.parent.mkdir(parents=True)
        path.write_text("SECRET", encoding="utf-8")
    results = tmp_path / SESSION / "tool-results"
    results.mkdir(parents=True)
    (results / "link.txt").symlink_to(secret)
    climbing = results / ".." / ".." / "outside" / "secret.txt"

    for named in (secret, beside, foreign, results / "link.txt", climbing, results, "x" * 5000):
        assert "SECRET" not in (_spill(tmp_path, named) or "")


def test_a_fork_reads_what_its_origin_saved(tmp_path: Path) -> None:
    saved = tmp_path / "another-session" / "tool-results" / "x.txt"
    saved.parent.mkdir(parents=True)
    saved.write_text("all", encoding="utf-8")

    assert _spill(tmp_path, saved) == "all"


def test_a_mangled_path_of_a_saved_result_does_not_raise(tmp_path: Path) -> None:
    for named in ("\x00", "", "..", "/", os.sep * 3, "a\\b"):
        assert _spill(tmp_path, named) is not None


@pytest.mark.parametrize(
    "records",
    [
        [],
        [{"type": "ai-title", "aiTitle": "x", "sessionId": SESSION}],
        [{"type": "file-history-snapshot", "snapshot": {}}, {"type": "mode", "mode": "normal"}],
        [{"type": "user", "message": {"content": "<command-name>/exit</command-name>"}, "uuid": "u"}],
        [{"type": "user", "message": {"content": "note"}, "isMeta": True}],
        [{"type": "some-future-type", "payload": {}}],
        [{"type": "assistant", "message": {"model": "<synthetic>", "content": ["API Error"]}}],
    ],
)
def test_a_log_without_conversation_is_nothing_to_capture(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    assert read(path) is None


def test_a_log_of_one_shell_line_is_a_conversation(tmp_path: Path) -> None:
    log = Log()
    log.user("<bash-input>ls</bash-input>")
    log.user("<bash-stdout>x</bash-stdout>")

    assert session(log, tmp_path).turn_count == 1
