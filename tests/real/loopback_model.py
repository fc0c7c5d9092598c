"""A model that runs on this machine: the Anthropic Messages and the OpenAI Responses API on 127.0.0.1.

The real `claude` and `codex` talk to it as to their own service, so that they write genuine session logs and
fire genuine hooks without a network. It has one answer for everything that no script speaks of, and its token
counts are constants: what a session costs is known before it runs. A prompt that holds TRIGGER is answered
with a shell call first; one that holds HANG is not answered until its program is gone. Every request is kept:
what a hook told the model is in there.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TRIGGER = "run-a-tool"
WAIT_TOOL = "WaitForMcpServers"
"""What Claude Code offers in place of the tools of a server that has not answered yet."""
HANG = "take-your-time"
TOOL_COMMAND = "echo hello-from-the-tool"
TOOL_OUTPUT = "hello-from-the-tool"
BEFORE_TOOL = "Let me run that."
ANSWER = "Understood, noted for this project."

CLAUDE_COUNTS = {
    "input_tokens": 1200,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 4000,
    "output_tokens": 77,
}
"""What one response of the Messages API costs."""

CODEX_COUNTS = {
    "input_tokens": 5000,
    "cached_input_tokens": 3000,
    "output_tokens": 120,
    "reasoning_output_tokens": 20,
    "total_tokens": 5120,
}
"""What one response of the Responses API costs; cached is a part of input, reasoning of output."""

PING_S = 0.1
MAX_WAITS = 10

Events = Iterator[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Request:
    """One request for an answer: where it was sent and its body."""

    path: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Every string that the body holds, one a line."""
        return "\n".join(_strings(self.body))

    @property
    def conversation(self) -> str:
        """The strings of the messages alone, without tools and settings."""
        return "\n".join(_strings(self.body.get("messages") or self.body.get("input") or []))


@dataclass(frozen=True, slots=True)
class Script:
    """What a prompt that holds `trigger` is answered: a call of `tool` (name, arguments), then `text`."""

    trigger: str
    text: str
    tool: tuple[str, dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool under the name (and namespace) that the request offers it."""

    name: str
    arguments: dict[str, Any]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request is answered: a text, or a call that a text precedes."""

    text: str
    call: Call | None = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A program that was killed leaves broken connections; the test looks at what it left on disk."""


class LoopbackModel:
    """The server, on a port that the system chose, in a thread of this process. A context manager."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._scripts: list[Script] = []
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> LoopbackModel:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(
        self, trigger: str, *, text: str = ANSWER, tool: tuple[str, dict[str, Any]] | None = None
    ) -> None:
        """Answer a request whose newest words of the user hold `trigger` with `text`.

        With `tool` (its name or how that ends, its arguments), a request that offers such a tool is answered
        with a call of it first, once for each such prompt; one that offers to wait for it waits. The latest
        script that fits holds.
        """
        self._scripts.append(Script(trigger, text, tool))

    def script_for(self, messages: list[Any]) -> Script | None:
        words = _newest_words(messages)
        return next((each for each in reversed(self._scripts) if each.trigger in words), None)


def _handler_for(model: LoopbackModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Nothing goes to the terminal of the tests."""

        def do_GET(self) -> None:
            self._answer({"data": [], "models": []})

        do_HEAD = do_GET

        def do_POST(self) -> None:
            body = _json_object(self._body())
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._answer({"input_tokens": 100})
            elif path.endswith("/messages"):
                model.requests.append(Request(path, body))
                reply = _anthropic_reply(body, model.script_for(body.get("messages") or []))
                if body.get("stream"):
                    self._stream(anthropic_events(body, reply))
                else:
                    self._answer(_message(body, reply))
            elif path.endswith("/responses"):
                model.requests.append(Request(path, body))
                reply = _openai_reply(body, model.script_for(_items(body)))
                if body.get("stream", True):
                    self._stream(openai_events(body, reply))
                else:
                    self._answer(_response(body, reply))
            else:
                self._answer({})

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            chunks = []
            while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)

        def _answer(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _stream(self, events: Events) -> None:
            self.close_connection = True
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            try:
                for name, event in events:
                    self.wfile.write(
                        f"event: {name}\ndata: {json.dumps({'type': name, **event})}\n\n".encode()
                    )
                    self.wfile.flush()
            except (BrokenPipeError, ConnectionResetError):
                """A program that was killed no longer listens."""

    return Handler


def anthropic_events(request: dict[str, Any], reply: Reply) -> Events:
    """One streamed message: a text, perhaps a call; the output count is final in `message_delta` only."""
    started = {key: count for key, count in CLAUDE_COUNTS.items() if key != "output_tokens"}
    yield (
        "message_start",
        {"message": {**_shell(request), "usage": {**started, **_cache_split(), "output_tokens": 1}}},
    )
    yield from _pings(_open_prompt(request.get("messages") or []))
    yield from _text_block(reply.text)
    if reply.call:
        block = {**_tool_use(reply.call), "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.call.arguments)}
        yield "content_block_start", {"index": 1, "content_block": block}
        yield "content_block_delta", {"index": 1, "delta": delta}
        yield "content_block_stop", {"index": 1}
    usage = {"output_tokens": CLAUDE_COUNTS["output_tokens"]}
    delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": usage}
    yield "message_stop", {}


def openai_events(request: dict[str, Any], reply: Reply) -> Events:
    """One streamed response with one item: a call or an answer."""
    done = _response(request, reply)
    (item,) = done["output"]
    yield "response.created", {"response": {"id": done["id"], "status": "in_progress"}}
    yield from _pings(_open_prompt(_items(request)))
    yield "response.output_item.added", {"output_index": 0, "item": item}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": done}


def _anthropic_reply(request: dict[str, Any], script: Script | None) -> Reply:
    messages = request.get("messages") or []
    if script:
        return _scripted_reply(request, messages, script)
    if request.get("tools") and TRIGGER in _open_prompt(messages):
        return Reply(BEFORE_TOOL, Call("Bash", {"command": TOOL_COMMAND, "description": "Say hello"}))
    return Reply(ANSWER)


def _openai_reply(request: dict[str, Any], script: Script | None) -> Reply:
    items = _items(request)
    if script:
        return _scripted_reply(request, items, script)
    return Reply(BEFORE_TOOL, _shell_call(request)) if TRIGGER in _open_prompt(items) else Reply(ANSWER)


def _scripted_reply(request: dict[str, Any], messages: list[Any], script: Script) -> Reply:
    wanted, arguments = script.tool or ("", {})
    called = list(_called(messages[_newest_prompt(messages) :]))
    if wanted and not any(name.endswith(wanted) for name in called):
        for name, namespace in _offered(request):
            if name.endswith(wanted):
                return Reply(BEFORE_TOOL, Call(name, arguments, namespace))
        if any(name == WAIT_TOOL for name, _ in _offered(request)) and called.count(WAIT_TOOL) < MAX_WAITS:
            return Reply(BEFORE_TOOL, Call(WAIT_TOOL, {}))
    return Reply(script.text)


def _called(messages: list[Any]) -> Iterator[str]:
    """The names of the tools that the model called."""
    for message in messages:
        if message.get("type") == "function_call":
            yield message.get("name", "")
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                yield block.get("name", "")


def _offered(request: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, namespace or "") of every tool that the request offers."""
    for tool in request.get("tools") or []:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools") or []:
                yield inner.get("name", ""), tool["name"]
        else:
            yield tool.get("name", ""), ""


def _message(request: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    return {
        **_shell(request),
        "content": [{"type": "text", "text": reply.text}, *([_tool_use(reply.call)] if reply.call else [])],
        "stop_reason": _stop_reason(reply),
        "usage": {**CLAUDE_COUNTS, **_cache_split()},
    }


def _response(request: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """A finished response of the Responses API."""
    usage = {
        "input_tokens": CODEX_COUNTS["input_tokens"],
        "input_tokens_details": {"cached_tokens": CODEX_COUNTS["cached_input_tokens"]},
        "output_tokens": CODEX_COUNTS["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": CODEX_COUNTS["reasoning_output_tokens"]},
        "total_tokens": CODEX_COUNTS["total_tokens"],
    }
    return {
        "id": f"resp_{_hex(20)}",
        "object": "response",
        "created_at": int(time.time()),
        "model": request.get("model"),
        "status": "completed",
        "usage": usage,
        "output": [_function_call(reply.call) if reply.call else _answer_item(reply.text)],
    }


def _tool_use(call: Call) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{_hex(22)}", "name": call.name, "input": call.arguments}


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.call else "end_turn"


def _shell(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{_hex(24)}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _cache_split() -> dict[str, Any]:
    written = CLAUDE_COUNTS["cache_creation_input_tokens"]
    return {"cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}}


def _text_block(text: str) -> Events:
    yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
    yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}
    yield "content_block_stop", {"index": 0}


def _answer_item(text: str) -> dict[str, Any]:
    content = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": f"msg_{_hex(10)}",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }


def _shell_call(request: dict[str, Any]) -> Call:
    """A call of the shell tool under the name that this request offers it."""
    offered = {name for name, _ in _offered(request)}
    if "exec_command" in offered:
        return Call("exec_command", {"cmd": TOOL_COMMAND})
    if "shell_command" in offered:
        return Call("shell_command", {"command": TOOL_COMMAND})
    return Call("shell", {"command": ["sh", "-c", TOOL_COMMAND]})


def _function_call(call: Call) -> dict[str, Any]:
    ids = {"type": "function_call", "id": f"fc_{_hex(10)}", "call_id": f"call_{_hex(10)}"}
    namespace = {"namespace": call.namespace} if call.namespace else {}
    return {**ids, "name": call.name, **namespace, "arguments": json.dumps(call.arguments)}


def _items(request: dict[str, Any]) -> list[Any]:
    """The input of a Responses request; a bare string is one message of the user."""
    given = request.get("input") or []
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _newest_words(messages: list[Any]) -> str:
    """The newest words of the user, whatever was answered or run for them since."""
    return _open_prompt(messages[: _newest_prompt(messages) + 1])


def _newest_prompt(messages: list[Any]) -> int:
    """The place of the user's newest message, or -1."""
    return next((at for at in reversed(range(len(messages))) if _is_prompt(messages[at])), -1)


def _is_prompt(message: dict[str, Any]) -> bool:
    return message.get("role") == "user" and not _is_answer(message)


def _open_prompt(messages: list[Any]) -> str:
    """The newest words of the user when nothing was answered or run for them yet, else ""."""
    words: list[str] = []
    for message in reversed(messages):
        if _is_answer(message):
            break
        if message.get("role") == "user":
            words += _strings(message)
    return "\n".join(words)


def _is_answer(message: dict[str, Any]) -> bool:
    """An answer of the model, or the result of what it called."""
    content = message.get("content")
    kinds = (
        [block.get("type") for block in content if isinstance(block, dict)]
        if isinstance(content, list)
        else []
    )
    answered = message.get("role") == "assistant" or "tool_result" in kinds
    return answered or message.get("type") in ("function_call", "function_call_output", "reasoning")


def _pings(prompt: str) -> Events:
    """Signs of life without end for a prompt that holds HANG; writing one fails once the program is gone."""
    while HANG in prompt:
        yield "ping", {}
        time.sleep(PING_S)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _hex(length: int) -> str:
    return (uuid.uuid4().hex + uuid.uuid4().hex)[:length]
