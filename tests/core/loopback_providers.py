"""A model provider on 127.0.0.1 that answers each connection as a test says: well, badly, or never.

    with Provider(chat("hello"), hang) as provider:
        ... ask at provider.url ...
        provider.requests -> what was asked

The answers are taken in order, the last one for every connection after it. What it sends is bytes that a test
wrote, so that nothing here is more polite than a broken or hostile server.
"""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import ssl
import struct
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Answer = Callable[["Connection"], object]
"""Writes to a connection whose request has been read; the connection is closed when it returns."""

DRIP_S = 0.05


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in; header names in lower case."""

    path: str
    headers: dict[str, str]
    data: bytes

    @property
    def body(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.data)
        return value

    @property
    def all_bytes(self) -> bytes:
        return b"\n".join(
            [self.path.encode(), *(value.encode() for value in self.headers.values()), self.data]
        )


class Connection:
    """The server's side of one connection."""

    def __init__(self, sock: socket.socket, stop: threading.Event) -> None:
        self._sock = sock
        self.stop = stop

    def send(self, data: bytes) -> bool:
        """False where the other side has hung up."""
        try:
            self._sock.sendall(data)
        except OSError:
            return False
        return True

    def drip(self, data: bytes) -> None:
        """One byte at a time until the other side has had enough."""
        with contextlib.suppress(OSError):
            for byte in data:
                if self.stop.wait(DRIP_S):
                    return
                self._sock.sendall(bytes([byte]))

    def reset(self) -> None:
        """End it with a reset in place of a farewell."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()


class Provider:
    """The server, on a port that the system chose. A context manager."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self._tls = tls
        self._answers = list(answers)
        self._stop = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Provider:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._server.server_address[1]}"

    def serve(self, sock: socket.socket) -> None:
        if self._tls:
            with self._tls.wrap_socket(sock, server_side=True) as secured:
                self._serve(secured)
        else:
            self._serve(sock)

    def _serve(self, sock: socket.socket) -> None:
        request = _read_request(sock)
        if request is None:
            return
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        answer(Connection(sock, self._stop))


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    block_on_close = True

    def handle_error(self, *_: object) -> None:
        """A client that hung up is a client that hung up."""


def _handler_for(provider: Provider) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            provider.serve(self.request)

    return Handler


def _read_request(sock: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65_536)
        if not piece:
            return None
        data += piece
        if not data.startswith(b"POST"):
            return Request("", {}, data)  # no HTTP: the answer will not be understood either
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += sock.recv(65_536)
    return Request(first.split(" ")[1], headers, body)


# --- answers


def reply(body: bytes, status: int = 200, **headers: str) -> Answer:
    """A whole response; header names with _ for -."""
    return lambda connection: connection.send(response_bytes(body, status, **headers))


def response_bytes(body: bytes, status: int = 200, **headers: str) -> bytes:
    lines = {"content_type": "application/json", "content_length": str(len(body)), "connection": "close"}
    head = [f"{name.replace('_', '-')}: {value}" for name, value in {**lines, **headers}.items()]
    return "\r\n".join([f"HTTP/1.1 {status} Status", *head, "", ""]).encode() + body


def json_reply(value: Any, status: int = 200, **headers: str) -> Answer:
    return reply(json.dumps(value).encode(), status, **headers)


def error(status: int, message: str = "", code: str | None = None, **headers: str) -> Answer:
    """An error as both APIs shape it."""
    return json_reply({"error": {"message": message, "type": code, "code": code}}, status, **headers)


def chat(text: Any, *, finish: str = "stop", prompt: Any = 100, completion: Any = 7) -> Answer:
    """An answer in the dialect of /chat/completions."""
    return json_reply(chat_value(text, finish=finish, prompt=prompt, completion=completion))


def chat_value(text: Any, *, finish: str = "stop", prompt: Any = 100, completion: Any = 7) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return {"id": "c1", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage}


def message(text: Any, *, stop: str = "end_turn", prompt: Any = 100, completion: Any = 7) -> Answer:
    """An answer of the Messages API; a fifth of the prompt was written to a cache, another read from it."""
    return json_reply(message_value(text, stop=stop, prompt=prompt, completion=completion))


def message_value(
    text: Any, *, stop: str = "end_turn", prompt: Any = 100, completion: Any = 7
) -> dict[str, Any]:
    cached = prompt // 5 if isinstance(prompt, int) else 0
    usage = {
        "input_tokens": prompt - 2 * cached if isinstance(prompt, int) else prompt,
        "cache_creation_input_tokens": cached,
        "cache_read_input_tokens": cached,
        "output_tokens": completion,
    }
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text}]
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop,
        "usage": usage,
    }


def hang(connection: Connection) -> None:
    connection.stop.wait(30)


def reset(connection: Connection) -> None:
    connection.reset()


def close(connection: Connection) -> None:
    """Hang up without a word."""


def drip_headers(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\n")
    connection.drip(b"x-pad: " + b"a" * 2000)


def drip_body(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2000\r\n\r\n")
    connection.drip(b" " * 2000)


def claim_a_gigabyte(connection: Connection) -> None:
    connection.send(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1073741824\r\n\r\n{"
    )
    connection.stop.wait(30)


def flood_headers(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"a" * (1 << 20) + b"\r\n\r\n")


def flood_body(connection: Connection) -> None:
    """More than any answer, without saying so beforehand."""
    connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")
    for _ in range(40):
        connection.send(b" " * (1 << 20))


def endless(status: int, megabytes: int = 600) -> Answer:
    """A body of blanks that goes on until the other side has had enough."""

    def answer(connection: Connection) -> None:
        connection.send(f"HTTP/1.1 {status} Status\r\nconnection: close\r\n\r\n".encode())
        for _ in range(megabytes):
            if not connection.send(b" " * (1 << 20)):
                return

    return answer


def bomb(status: int, megabytes: int = 600) -> Answer:
    """Blanks that were packed a thousandfold, although nobody said that they can unpack."""

    def answer(connection: Connection) -> None:  # packed only for who asks: it takes seconds
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(megabytes)) + packer.flush()
        reply(packed, status, content_encoding="gzip")(connection)

    return answer


def cut_short(connection: Connection) -> None:
    whole = response_bytes(json.dumps(chat_value("never complete")).encode())
    connection.send(whole[:-20])


def no_http(connection: Connection) -> None:
    connection.send(b"220 mail.example ESMTP ready\r\n")


def stream(connection: Connection) -> None:
    """Server-sent events, which nobody asked for."""
    body = b'data: {"choices":[{"delta":{"content":"hel"}}]}\n\ndata: [DONE]\n\n'
    connection.send(response_bytes(body, content_type="text/event-stream"))


def redirect(to: str, status: int = 307) -> Answer:
    return reply(b"", status, location=to)
