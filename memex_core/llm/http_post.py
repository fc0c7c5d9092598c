"""One JSON request over HTTP or HTTPS with the standard library: no proxy, no redirect, no endless answer."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from memex_core.llm.body import PIECE, read_bounded, read_explanation
from memex_core.llm.connection import connection_failure
from memex_core.llm.deadline import within


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whatever its status."""

    status: int
    body: bytes
    retry_after: str | None


def post_json(url: str, value: Mapping[str, Any], headers: Mapping[str, str], deadline: float) -> Reply:
    """POST `value` to `url` and read the answer. Raises CallFailed; TimeoutError at `deadline`."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    left = max(deadline - time.monotonic(), 0.001)
    connection = kind(parts.hostname or "", parts.port, timeout=left)
    sent = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    sockets: list[socket.socket] = []

    def exchange() -> Reply:
        connection.connect()
        sockets.append(connection.sock)  # the connection forgets it where the server announces a close
        connection.request("POST", parts.path, json.dumps(value).encode(), sent)
        with connection.getresponse() as response:
            retry_after = response.headers.get("Retry-After")
            if not 200 <= response.status < 300:
                body = read_explanation(lambda: response.read1(PIECE))
                return Reply(response.status, body, retry_after)
            claimed = response.headers.get("Content-Length")
            body = read_bounded(claimed, lambda: response.read1(PIECE))
            if response.length:
                raise http.client.IncompleteRead(body, response.length)
            return Reply(response.status, body, retry_after)

    try:
        return within(deadline, exchange)
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise connection_failure(error) from None
    finally:
        _hang_up(sockets)
        connection.close()


def _hang_up(sockets: list[socket.socket]) -> None:
    """End what another thread waits for: closing alone would not wake it."""
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
