"""What a broken connection means, whichever library reports it."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator

from memex_core.llm.failures import SHORT_WAIT_S, CallFailed, broken

_CLOSED = (ConnectionError, http.client.IncompleteRead, ssl.SSLEOFError)
_CLOSED_NAMES = ("RemoteProtocolError", "ReadError", "WriteError", "CloseError")
"""How httpx and its successors call the same."""


def connection_failure(error: BaseException) -> CallFailed | TimeoutError:
    """The failure behind `error`, found by its causes: refused, no such host, not trusted, closed, slow."""
    chain = list(_causes(error))
    for cause in chain:
        if isinstance(cause, CallFailed):
            return cause
        if isinstance(cause, TimeoutError) or type(cause).__name__.endswith(("Timeout", "TimeoutError")):
            return TimeoutError()
        if isinstance(cause, ConnectionRefusedError):
            return CallFailed("down", "connection refused")
        if isinstance(cause, (socket.gaierror, UnicodeError)):
            return CallFailed("down", "no such host")
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            reason = str(cause.reason or "unknown").replace("_", " ").lower()
            return CallFailed("down", f"no secure connection ({reason})")
    if any(isinstance(cause, _CLOSED) or type(cause).__name__ in _CLOSED_NAMES for cause in chain):
        return CallFailed("broken", "closed the connection early", may_have_run=True, retry_in=SHORT_WAIT_S)
    reasons = [cause.strerror for cause in chain if isinstance(cause, OSError) and cause.strerror]
    if reasons:
        return CallFailed("down", f"cannot be reached ({reasons[-1]})")
    return broken("answered something that is not HTTP")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
