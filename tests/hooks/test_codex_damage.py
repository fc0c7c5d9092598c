"""Damaged rollouts keep every readable record, never raise, and a prefix reads as a prefix."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from codex_rollouts import FIXTURES, Rollout, answers, prompts, read, said, tokens, try_read, usage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from new_file import new_file

from memex_core.model.session import Turn
from memex_hooks import log_lines

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rich(mode: str = "paginated") -> Rollout:
    """A log with something of everything."""
    log = Rollout(history_mode=mode).exchange("one", "1")
    log.count(tokens(100, 0, 10), tokens(100, 0, 10))
    log.begin().prompt("two").call("c1", "make").call("c2", "ls").output("c2", "a.py")
    log.record("resp_1", tokens(50, 10, 5)).command("c1", "make", "ok\n").answer("2")
    log.response("custom_tool_call", name="exec", input="x()", call_id="s1")
    log.command("exec-1", "git log", "abc\n")
    log.response("custom_tool_call_output", call_id="s1", output=[{"type": "input_text", "text": "done"}])
    log.response("web_search_call", status="completed", action={"type": "search", "query": "px"})
    log.event("web_search_end", call_id="ws_1", query="px", action={"type": "search", "query": "px"})
    log.call("c3", "sleep 9").event("turn_aborted", turn_id=log.turn_id, reason="interrupted")
    log.add("compacted", {"message": "", "replacement_history": [{"type": "message", "role": "user"}]})
    log.exchange("three", "3").event("thread_rolled_back", num_turns=1)
    log.begin().prompt("four").call("c4", "open")
    return log


LOGS = {
    "paginated": rich().data,
    "legacy": rich("legacy").data,
    **{path.name: path.read_bytes() for path in sorted(FIXTURES.rglob("rollout-*.jsonl"))},
}
logs = pytest.mark.parametrize("name", LOGS)


def write(folder: Path, data: bytes, name: str = "") -> Path:
    return new_file(folder / (name if name.startswith("rollout-") else Rollout().name), data)


def turns_of(folder: Path, data: bytes, name: str = "") -> list[Turn]:
    session = try_read(write(folder, data, name))
    return list(session.turns) if session else []


@logs
def test_the_turns_of_every_line_prefix_are_a_prefix_of_the_turns(tmp_path: Path, name: str) -> None:
    lines = LOGS[name].splitlines(keepends=True)
    whole = turns_of(tmp_path, LOGS[name], name)
    sizes = set()
    for count in range(len(lines) + 1):
        part = turns_of(tmp_path, b"".join(lines[:count]), name)
        assert part == whole[: len(part)]
        sizes.add(len(part))
    assert max(sizes) == len(whole)


@quick
@given(cut=st.integers(0, 100_000), name=st.sampled_from(sorted(LOGS)))
def test_the_turns_of_any_byte_prefix_are_a_prefix_of_the_turns(tmp_path: Path, cut: int, name: str) -> None:
    whole = turns_of(tmp_path, LOGS[name], name)
    part = turns_of(tmp_path, LOGS[name][: cut % (len(LOGS[name]) + 1)], name)
    assert part == whole[: len(part)]


def test_a_second_pass_stops_where_the_first_one_stopped(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1")
    session = read(log.write(tmp_path))
    log.exchange("two", "2").write(tmp_path)
    assert said(session) == [("user", "one"), ("agent", "1")]


def test_a_torn_tail_keeps_every_earlier_record_and_is_no_damage(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1").raw(b'{"timestamp":"2026-11-21T10:00:09.000Z","type":"event_m')
    session = read(log.write(tmp_path))
    assert (prompts(session), session.skipped) == (["one"], {})


def test_a_last_line_without_its_newline_counts_when_it_is_whole(tmp_path: Path) -> None:
    """cc-switch#7264: the last line was never terminated."""
    log = Rollout().begin().prompt("one").item("AgentMessage", content=[{"type": "Text", "text": "1"}])
    log.lines[-1] = log.lines[-1].rstrip(b"\n")
    assert answers(read(log.write(tmp_path))) == ["1"]


def test_a_bad_line_costs_that_line_only(tmp_path: Path) -> None:
    """openai/codex#24425: a session vanished after a bad line."""
    log = Rollout().exchange("one", "1").raw(b"{not json}\n").raw(b"[1,2]\n").exchange("two", "2")
    session = read(log.write(tmp_path))
    assert (prompts(session), session.skipped) == (["one", "two"], {"bad": 1, "not_object": 1})


def test_a_torn_line_followed_by_its_whole_copy_is_read_once(tmp_path: Path) -> None:
    log = Rollout().begin().prompt("one")
    torn = log.lines[-1][:90] + b"\n"
    log.lines.insert(-1, torn)
    assert prompts(read(log.answer("1").write(tmp_path))) == ["one"]


def test_records_glued_onto_one_line_are_all_read(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1")
    log.lines = [log.lines[0], b"".join(line.rstrip(b"\n") for line in log.lines[1:]) + b"\n"]
    assert said(read(log.write(tmp_path))) == [("user", "one"), ("agent", "1")]


def test_a_record_spliced_into_a_cut_one_is_read(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1").begin().prompt("two")
    log.lines[-1] = b'{"timestamp":"2026-11-21T10:00:09.000Z","type":"eve' + log.lines[-1]
    session = read(log.write(tmp_path))
    assert (prompts(session), session.skipped) == (["one", "two"], {"bad": 1})


def test_pieces_of_a_cut_record_are_not_taken_for_records(tmp_path: Path) -> None:
    inner = b'{"type":"message","role":"user","content":[{"type":"input_text","text":"ghost"}]}'
    log = Rollout().exchange("one", "1")
    log.raw(b'{"type":"compacted","payload":{"replacement_history":[' + inner + b"\n")
    assert prompts(read(log.write(tmp_path))) == ["one"]


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b"\x00" * 512, b"\n\n", b"   "])
def test_a_bom_nuls_or_blanks_before_the_first_record_do_not_hide_it(tmp_path: Path, prefix: bytes) -> None:
    """openai/codex#28139."""
    log = Rollout().exchange("one", "1")
    log.lines[0] = prefix + log.lines[0]
    session = read(log.write(tmp_path))
    assert (session.header.session_id, prompts(session)) == (log.thread, ["one"])
    assert session.header.meta["cli_version"] == "0.171.0"


def test_a_run_of_nuls_in_the_middle_costs_nothing_around_it(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1").raw(b"\x00" * 4096 + b"\n").exchange("two", "2")
    assert prompts(read(log.write(tmp_path))) == ["one", "two"]


def test_carriage_returns_before_newlines_do_not_matter(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1")
    log.lines = [line.replace(b"\n", b"\r\n") for line in log.lines]
    session = read(log.write(tmp_path))
    assert (prompts(session), session.skipped) == (["one"], {})


def test_lone_surrogates_and_invalid_utf8_become_replacement_characters(tmp_path: Path) -> None:
    log = Rollout().begin().prompt("a\ud800b").prompt("grin \ud83d\ude00").prompt("bytes")
    log.lines[-1] = log.lines[-1].replace(b"bytes", b"by\xfftes")
    assert prompts(read(log.write(tmp_path))) == ["a\ufffdb", "grin \U0001f600", "by\ufffdtes"]


def test_a_line_over_the_cap_is_skipped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """openai/codex#34863: one `compacted` line had grown to 46.9 GiB."""
    monkeypatch.setattr(log_lines, "MAX_LINE", 50_000)
    log = Rollout().exchange("one", "1")
    image = "data:image/png;base64," + "A" * 200_000
    log.add("compacted", {"message": "", "replacement_history": [{"image_url": image}]})
    session = read(log.exchange("two", "2").write(tmp_path))
    assert (prompts(session), session.skipped) == (["one", "two"], {"too_long": 1})


def test_a_line_of_100_megabytes_is_passed_over(tmp_path: Path) -> None:
    log = Rollout().exchange("one", "1")
    path = log.write(tmp_path)
    with open(path, "ab") as file:
        file.write(b'{"type":"compacted","payload":{"message":"')
        for _ in range(100):
            file.write(b"A" * (1 << 20))
        file.write(b'"}}\n')
        log.lines.clear()
        file.write(log.exchange("two", "2").data)
    session = read(path)
    found = prompts(session)
    path.unlink()  # before all of it is on the disk
    assert (found, session.skipped) == (["one", "two"], {"too_long": 1})


def test_a_first_line_of_any_length_is_read_to_its_end(tmp_path: Path) -> None:
    """codeburn PR#189, gstack PR#798 and others: a fixed buffer cut it and the session was dropped."""
    log = Rollout(base_instructions={"text": "x" * 3_000_000}).exchange("one", "1")
    session = read(log.write(tmp_path))
    assert (session.header.session_id, prompts(session)) == (log.thread, ["one"])


def test_a_lost_first_line_leaves_the_name_of_the_file_as_identity(tmp_path: Path) -> None:
    """openai/codex#38341: no usable header record."""
    log = Rollout().exchange("one", "1")
    log.lines[0] = b'{"timestamp":"2026-11-21T10:00:00.000Z","type":"session_me\n'
    session = read(log.write(tmp_path))
    assert (session.header.session_id, prompts(session), session.skipped) == (log.thread, ["one"], {"bad": 1})


def test_a_lost_first_line_is_made_good_by_a_later_one_of_the_same_id(tmp_path: Path) -> None:
    log = Rollout()
    log.lines[0] = b"lost\n"
    log.add("session_meta", {**log.meta, "id": Rollout(salt=5).thread}).add("session_meta", log.meta)
    session = read(log.exchange("one", "1").write(tmp_path))
    assert session.header.session_id == log.thread
    assert session.header.meta["cwd"] == "/home/dev/widget"


def test_a_later_session_meta_never_renames_the_session(tmp_path: Path) -> None:
    """agentsview PR#657, ax PR#860, deja-vu#3933: 529 sessions were lost to their parents' ids."""
    log = Rollout().exchange("one", "1")
    log.add("session_meta", {**log.meta, "id": Rollout(salt=5).thread, "cwd": "/elsewhere"})
    session = read(log.exchange("two", "2").write(tmp_path))
    assert (session.header.session_id, session.header.meta["cwd"]) == (log.thread, "/home/dev/widget")


@pytest.mark.parametrize("thread", ["../../evil", "a/b", "", 7, None, "x" * 300])
def test_an_id_that_is_no_name_never_becomes_one(tmp_path: Path, thread: Any) -> None:
    log = Rollout()
    log.lines[0] = (
        json.dumps({"type": "session_meta", "payload": {**log.meta, "id": thread}}).encode() + b"\n"
    )
    session = read(log.exchange("one", "1").write(tmp_path))
    assert session.header.session_id == log.thread
    session = read(
        log.write(tmp_path / "b", name="rollout-2026-11-21T10-00-00-..%2f..jsonl".replace("%2f", ""))
    )
    assert "/" not in session.header.session_id and ".." not in session.header.session_id


def test_records_without_an_ordinal_and_with_floats_are_read(tmp_path: Path) -> None:
    """openai/codex#35746, #41566, #45150: `used_percent: 26.0`, an ordinal used again, none at the end."""
    log = Rollout().exchange("one", "1").begin().prompt("two")
    for line, changed in enumerate(log.lines):
        record = json.loads(changed)
        record["ordinal"] = 3
        if line == len(log.lines) - 1:
            del record["ordinal"]
        log.lines[line] = json.dumps(record).encode() + b"\n"
    assert prompts(read(log.write(tmp_path))) == ["one", "two"]


def test_unknown_types_and_fields_are_passed_over(tmp_path: Path) -> None:
    log = Rollout(new_field={"deep": [1]}).begin().prompt("one")
    for kind in ("world_state", "security_risk_score", "realtime_item", "retained_context", "never_heard_of"):
        log.add(kind, {"type": "user_message", "message": "ghost"})
    log.add("event_msg", "text").add("response_item", None).add("turn_context", [1]).event("hook_started")
    log.raw(b'{"payload":{}}\n').raw(b'{"type":["event_msg"],"payload":{"type":{}}}\n')
    assert prompts(read(log.answer("1").write(tmp_path))) == ["one"]


def test_an_empty_file_is_nothing_to_capture(tmp_path: Path) -> None:
    assert try_read(write(tmp_path, b"")) is None
    assert try_read(write(tmp_path, b"\n\n")) is None
    assert try_read(write(tmp_path, b"no rollout at all")) is None


def check(folder: Path, data: bytes) -> None:
    """Reading never raises, and what it says about itself is true."""
    session = try_read(write(folder, data))
    if session is None:
        return
    turns = list(session.turns)
    assert [turn.turn for turn in turns] == list(range(1, session.turn_count + 1))
    assert session.retracted <= {turn.turn for turn in turns}
    assert all(0 <= response.turn <= session.turn_count for response in session.responses)
    assert min([0, *usage(session).values()]) == 0
    json.dumps([turn.to_line() for turn in turns] + [session.header.to_line()]).encode("utf-8", "strict")


@quick
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 20_000), st.binary(max_size=6), st.integers(0, 200)), min_size=1, max_size=5
    ),
    name=st.sampled_from(["paginated", "legacy"]),
)
def test_no_bytes_make_the_reader_raise(
    tmp_path: Path, edits: list[tuple[int, bytes, int]], name: str
) -> None:
    data = LOGS[name]
    for place, put, cut in edits:
        at = place % len(data)
        data = data[:at] + put + data[at + cut :]
    check(tmp_path, data)


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just([{"type": "text", "text": ["x"]}]),
    st.just({"type": "message", "text": 1}),
)


def replaced(value: Any, path: list[int], put: Any) -> Any:
    """`value` with what lies at `path` replaced by `put`."""
    if not path or not isinstance(value, (dict, list)) or not value:
        return put
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    value[key] = replaced(value[key], path[1:], put)
    return value


@quick
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 200), st.lists(st.integers(0, 12), min_size=1, max_size=6), odd), max_size=8
    ),
    name=st.sampled_from(["paginated", "legacy"]),
)
def test_no_value_of_a_wrong_type_makes_the_reader_raise(
    tmp_path: Path, changes: list[tuple[int, list[int], Any]], name: str
) -> None:
    records = [json.loads(line) for line in LOGS[name].splitlines()]
    for place, path, put in changes:
        at = place % len(records)
        records[at] = replaced(records[at], path, copy.deepcopy(put))
    check(tmp_path, b"".join(json.dumps(record).encode() + b"\n" for record in records))


@quick
@given(order=st.randoms(use_true_random=False), name=st.sampled_from(["paginated", "legacy"]))
def test_no_order_of_the_records_makes_the_reader_raise(tmp_path: Path, order: Any, name: str) -> None:
    head, *lines = LOGS[name].splitlines(keepends=True)
    order.shuffle(lines)
    check(tmp_path, head + b"".join(lines))
