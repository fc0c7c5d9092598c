"""A client that sends anything gets an error, and its next request an answer (issue 3 item 5)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_pipe import COMMAND, GREETING, Pipe, protocol_lines
from mcp_types import JSONRPCRequest

from memex_core.mcp_server.request_id import END_BYTES
from memex_core.mcp_server.wire import MAX_LINE_BYTES, LineCutter, Malformed, TooLong, message_in

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
RECALL = {"name": "memex_recall", "arguments": {"query": "ruff"}}
CALL = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": RECALL}).encode()
PING = json.dumps({"jsonrpc": "2.0", "id": "a", "method": "ping"}).encode()
MANY_DIGITS = b'{"jsonrpc":"2.0","method":"ping","id":' + b"9" * 1_000_000 + b"}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    """One server for the whole file: what one test does to it, the next one meets."""
    with Pipe(tmp_path_factory.mktemp("hostile") / "memex") as pipe:
        yield pipe.greet()
        assert pipe.end() == 0
        assert list(protocol_lines(pipe.lines))
        assert "Traceback" not in pipe.stderr()


NO_MESSAGES = {
    "broken JSON": (b'{"jsonrpc":"2.0","id":1,"method":', 1, PARSE_ERROR),
    "the id of something else": (b'{"params":{"id":1},"x":"\\"id\\":2","y', None, PARSE_ERROR),
    "broken JSON that ends as a request does": (b'{"params":{"a":{"b":1,"id":2}', None, PARSE_ERROR),
    "no JSON": (b"hello", None, PARSE_ERROR),
    "NULs": (b"\x00" * 100, None, PARSE_ERROR),
    "binary": (random.Random(1).randbytes(3_000).replace(b"\n", b"?"), None, PARSE_ERROR),
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', 1, PARSE_ERROR),
    "overlong UTF-8": (b'{"jsonrpc":"2.0","method":"\xc0\xaf","id":"z"}', "z", PARSE_ERROR),
    "NaN": (b'{"jsonrpc":"2.0","method":"ping","params":{"x":NaN},"id":1}', 1, INVALID_PARAMS),
    "Infinity": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":-Infinity}}', 1, INVALID_PARAMS),
    "a number of 5,000 digits": (
        b'{"jsonrpc":"2.0","method":"ping","params":{"x":-' + b"9" * 5_000 + b'},"id":1}', 1, INVALID_PARAMS
    ),
    "two objects": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', 1, PARSE_ERROR),
    "two byte order marks": (b'\xef\xbb\xbf\xef\xbb\xbf{"jsonrpc":"2.0","id":1}', None, PARSE_ERROR),
    "deep nesting": (b"[" * 1_000_000, None, PARSE_ERROR),
    "deep nesting that ends": (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, None, PARSE_ERROR),
    "a number of a million digits": (MANY_DIGITS, None, INVALID_PARAMS),
    "a batch": (b"[" + CALL + b"]", None, INVALID_REQUEST),
    "an empty batch": (b"[]", None, INVALID_REQUEST),
    "a text": (b'"ping"', None, INVALID_REQUEST),
    "a number": (b"1e999", None, INVALID_REQUEST),
    "null": (b"null", None, INVALID_REQUEST),
    "an empty object": (b"{}", None, INVALID_REQUEST),
    "no version": (b'{"id":3,"method":"ping"}', 3, INVALID_REQUEST),
    "version 1": (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', 4, INVALID_REQUEST),
    "no method": (b'{"jsonrpc":"2.0","id":5}', 5, INVALID_REQUEST),
    "a method that is no text": (b'{"jsonrpc":"2.0","id":"six","method":6}', "six", INVALID_REQUEST),
    "params in an array": (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', 8, INVALID_REQUEST),
    "an object as id": (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', None, INVALID_REQUEST),
    "an array as id": (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None, INVALID_REQUEST),
    "null as id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID_REQUEST),
    "true as id": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID_REQUEST),
    "a fraction as id": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID_REQUEST),
}  # fmt: skip


@pytest.mark.parametrize(("line", "request_id", "code"), NO_MESSAGES.values(), ids=NO_MESSAGES.keys())
def test_what_is_no_message_is_answered_with_an_error_and_the_next_request_with_its_answer(
    server: Pipe, line: bytes, request_id: Any, code: int
) -> None:
    server.say(line)
    error = server.answer(request_id)["error"]
    assert error["code"] == code
    assert 0 < len(error["message"]) < 200
    assert server.is_alive()


LONG_LINES = {
    "first": (b'{ "jsonrpc": "2.0", "id" : 41, "method": "ping", "params": {"x": "%s"}}', 41),
    "a text": (b'{"id":"a\\u00e9\\"","jsonrpc":"2.0","method":"ping","params":{"x":"%s"}}', 'aé"'),
    "last, as most clients write it": (
        b'{"method":"ping","params":{"id":5,"x":"%s"},"jsonrpc":"2.0","id":42}', 42
    ),
    "before the version": (b'{"method":"ping","params":{"x":"%s"},"id":0,"jsonrpc":"2.0"}', 0),
    "of something else": (b'{"method":"ping","params":{"id":5,"x":"%s","y":{"id":6}}}', None),
    "within a text": (b'{"x":"{\\"id\\": 5, %s, \\"id\\": 6}"}', None),
}  # fmt: skip


@pytest.mark.parametrize(("line", "request_id"), LONG_LINES.values(), ids=LONG_LINES.keys())
def test_a_line_that_is_too_long_is_answered_under_its_id(line: bytes, request_id: Any) -> None:
    cutter = LineCutter()
    (cut,) = cutter.feed(line.replace(b"%s", b"x" * (MAX_LINE_BYTES + 1)) + b"\n")
    with pytest.raises(Malformed) as refused:
        message_in(cut)
    answer = json.loads(refused.value.answer.model_dump_json())
    assert (answer["id"], answer["error"]["code"]) == (request_id, INVALID_REQUEST)


SERVED = {
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":"odd","method":"ping"}',
    "half of a pair": rb'{"jsonrpc":"2.0","id":"odd","method":"ping","params":{"x":"\ud83d \\ud83d"}}',
    "halves in the wrong order": rb'{"jsonrpc":"2.0","id":"odd","method":"ping","params":{"\ude00\ud83d":1}}',
    "a pair and a half": rb'{"jsonrpc":"2.0","id":"odd","method":"ping","params":{"x":"\uD83D\uDE00\uD83D"}}',
}


@pytest.mark.parametrize("line", SERVED.values(), ids=SERVED.keys())
def test_a_request_that_can_be_mended_is_served(server: Pipe, line: bytes) -> None:
    server.say(line)
    assert server.answer("odd")["result"] == {}


def test_half_of_a_surrogate_pair_is_the_replacement_character_and_nothing_else_changes() -> None:
    line = rb'{"jsonrpc":"2.0","id":"\ud83d|\ud83d\ude00|\\ud83d|\\\ud83d","method":"\u0070ing"}'
    message = message_in(line)
    assert isinstance(message, JSONRPCRequest)
    assert (message.id, message.method) == ("\ufffd|😀|\\ud83d|\\\ufffd", "ping")


REFUSED: dict[str, tuple[str, dict[str, Any] | None, int]] = {
    "an unknown method": ("memory/steal", None, NO_METHOD),
    "a method of a server that we are not": ("prompts/list", None, NO_METHOD),
    "a notification with an id": ("notifications/initialized", None, NO_METHOD),
    "an empty method": ("", None, NO_METHOD),
    "an unknown tool": ("tools/call", {"name": "memex_steal"}, INVALID_PARAMS),
    "a tool of a million letters": ("tools/call", {"name": "x" * 1_000_000}, INVALID_PARAMS),
    "a call without params": ("tools/call", None, INVALID_PARAMS),
    "a call without a name": ("tools/call", {"arguments": {}}, INVALID_PARAMS),
    "a name that is no text": ("tools/call", {"name": 5}, INVALID_PARAMS),
    "arguments in an array": ("tools/call", {**RECALL, "arguments": [1]}, INVALID_PARAMS),
    "_meta that is no object": ("tools/call", {**RECALL, "_meta": 5}, INVALID_PARAMS),
    "a resource without a uri": ("resources/read", {}, INVALID_PARAMS),
    "a cursor of someone else": ("resources/list", {"cursor": "../../etc"}, INVALID_PARAMS),
    "a cursor that is no text": ("resources/list", {"cursor": 5}, INVALID_PARAMS),
}


@pytest.mark.parametrize(("method", "params", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_a_request_that_cannot_be_served_is_answered_with_an_error(
    server: Pipe, method: str, params: dict[str, Any] | None, code: int
) -> None:
    answer = server.ask(method, params)
    assert answer["error"]["code"] == code
    assert len(json.dumps(answer)) < 500
    assert server.is_alive()


def notification(name: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": f"notifications/{name}", "params": params}).encode()


IGNORED = {
    "an empty line": b"",
    "white space": b" \t\r",
    "a result that we never asked for": b'{"jsonrpc":"2.0","id":99,"result":{}}',
    "an error that we never asked for": b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
    "an unknown notification": notification("whatever", a=1),
    "a notification that does not fit": notification("cancelled", requestId={}),
    "a cancellation of nothing": notification("cancelled", requestId="?"),
    "progress of nothing": notification("progress", progressToken=1, progress=2),
    "a request without an id": CALL.replace(b'"id": 7, ', b""),
}


@pytest.mark.parametrize("line", IGNORED.values(), ids=IGNORED.keys())
def test_what_asks_for_no_answer_gets_none(server: Pipe, line: bytes) -> None:
    before = len(server.lines)
    server.say(line)
    assert server.is_alive()
    assert len(server.lines) == before + 1


@pytest.mark.parametrize(
    "request_id", [0, -1, 2**31, 2**64, 10**400, "", "\u2028", "x" * 10_000, "'; --", "1"]
)
def test_any_text_and_any_whole_number_is_an_id(server: Pipe, request_id: Any) -> None:
    server.say({"id": request_id, "method": "ping"})
    assert server.answer(request_id)["result"] == {}


@pytest.mark.parametrize("megabytes", [1, 8])
def test_a_line_of_megabytes_is_answered_and_not_kept(server: Pipe, megabytes: int) -> None:
    size = megabytes << 20
    assert server.is_alive()
    before = server.resident_bytes()
    server.say(b"x" * size)
    assert server.answer(None)["error"]["code"] in (PARSE_ERROR, INVALID_REQUEST)
    server.say(
        {"id": "long", "method": "tools/call", "params": {**RECALL, "arguments": {"query": "x" * size}}}
    )
    answer = server.answer("long")
    assert "error" in answer or answer["result"]["isError"]
    assert len(json.dumps(answer)) < 500
    assert server.is_alive()
    assert server.resident_bytes() - before < 120 << 20


def test_bytes_without_a_line_end_are_not_kept(server: Pipe) -> None:
    before = server.resident_bytes()
    assert server.process.stdin is not None
    for _ in range(64):
        server.process.stdin.write(b"a" * (1 << 20))
    server.say(b"")
    assert server.answer(None)["error"]["code"] == INVALID_REQUEST
    assert server.is_alive()
    assert server.resident_bytes() - before < 32 << 20


def test_a_thousand_requests_at_once_are_all_answered(server: Pipe) -> None:
    server.say(*({"id": f"flood-{n}", "method": "tools/call", "params": RECALL} for n in range(1_000)))
    for n in range(1_000):
        assert server.answer(f"flood-{n}", seconds=60)["result"]["isError"] is False


def test_a_thousand_broken_lines_at_once_are_all_answered(server: Pipe) -> None:
    before = len(server.lines)
    server.say(*[b"{"] * 1_000)
    assert server.is_alive()
    assert len(server.lines) == before + 1_001


def test_the_same_id_twice_is_answered_twice(server: Pipe) -> None:
    server.say(*[{"id": "twin", "method": "tools/call", "params": RECALL}] * 2)
    server.answer("twin")
    server.answer("twin")
    assert server.is_alive()


def test_cancelled_requests_leave_room_for_others(server: Pipe) -> None:
    for n in range(300):
        server.say(
            {"id": f"gone-{n}", "method": "tools/call", "params": RECALL},
            {"method": "notifications/cancelled", "params": {"requestId": f"gone-{n}"}},
        )
    assert server.is_alive()
    assert server.call("memex_recall", query="still there")["isError"] is False


def test_a_second_initialize_is_answered(server: Pipe) -> None:
    assert server.ask("initialize", GREETING)["result"]["serverInfo"]["name"] == "memex"
    assert server.call("memex_recall", query="x")["isError"] is False


def test_a_call_before_initialize_is_an_error_and_the_session_begins_all_the_same(root: Path) -> None:
    with Pipe(root) as pipe:
        assert pipe.ask("tools/call", RECALL)["error"]["code"] == INVALID_PARAMS
        pipe.say(b"}{", {"method": "notifications/initialized"})
        assert pipe.answer(None)["error"]["code"] == PARSE_ERROR
        assert "error" in pipe.ask("initialize", {"protocolVersion": 5})
        pipe.greet()
        assert pipe.call("memex_recall", query="x")["isError"] is False


@pytest.mark.slow
def test_a_client_that_does_not_read_stops_being_read(root: Path) -> None:
    env = {**os.environ, "MEMEX_DATA_DIR": str(root)}
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        stdin = process.stdin
        assert stdin is not None

        def flood() -> None:
            with contextlib.suppress(BrokenPipeError):
                stdin.write((PING + b"\n") * 100_000)

        writing = threading.Thread(target=flood)
        writing.start()
        writing.join(4)
        assert writing.is_alive()
        resident = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        process.terminate()
        assert process.wait(5) == 0
        writing.join(5)
        with contextlib.suppress(BrokenPipeError):
            stdin.close()
    assert resident * os.sysconf("SC_PAGE_SIZE") < 200 << 20


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
envelopes = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | json_values},
    optional={
        "id": json_values,
        "method": st.sampled_from(["ping", "tools/call", "initialize", "notifications/cancelled"])
        | json_values,
        "params": json_values,
        "result": json_values,
        "error": json_values,
    },
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A line of a client with a few bytes changed."""
    line = bytearray(draw(st.sampled_from([CALL, PING])))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(line) - 1))
        line[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=4))
    return bytes(line).replace(b"\n", b"")


@given(mutated() | envelopes.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_line_is_a_message_nothing_or_an_error(line: bytes) -> None:
    try:
        message_in(line)
    except Malformed as problem:
        json.loads(problem.answer.model_dump_json())


@given(
    st.lists(mutated() | envelopes.map(lambda value: json.dumps(value).encode()), min_size=20, max_size=20)
)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_after_any_lines_a_request_is_answered(server: Pipe, lines: list[bytes]) -> None:
    server.say(*(line for line in lines if b'"initialize"' not in line))
    assert server.is_alive()


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 30))
def test_lines_are_the_same_however_the_bytes_arrive(chunks: list[bytes], limit: int) -> None:
    cutter = LineCutter(limit)
    lines = [line for chunk in chunks for line in cutter.feed(chunk)] + [cutter.take()]
    whole = [
        line if len(line) <= limit else TooLong(line[: min(limit, END_BYTES)], line[-END_BYTES:])
        for line in b"".join(chunks).split(b"\n")
    ]
    assert lines == whole
