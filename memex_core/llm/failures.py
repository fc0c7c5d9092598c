"""Why a request brought no answer, in words that hold no key and nothing of what was asked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from memex_core.llm.answer import Answer
from memex_core.text.clean import clean_text
from memex_core.text.redact import redact

Kind = Literal[
    "down", "key", "model", "busy", "server", "request", "redirect",
    "slow", "broken", "empty", "declined", "window", "program",
]  # fmt: skip

LONGEST_WAIT_S = 10.0
SHORT_WAIT_S = 0.5
MAX_QUOTE = 160
ECHO = 20
"""So many characters of the prompt in a message make it an echo, which no failure repeats."""

_BEHIND_A_GATEWAY = (502, 504)
"""What stands between us and the model lost it; it may still be working. Other errors are not charged for."""

_WORDS: dict[Kind, str] = {
    "key": "refused the key",
    "model": "nothing there under that name",
    "busy": "too many requests",
    "server": "failed",
    "redirect": "redirected elsewhere, which is not followed",
    "request": "refused the request",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """What no failure may repeat: the texts that were sent, and the key."""

    texts: tuple[str, ...]
    key: str = ""


class CallFailed(Exception):
    """One request without a usable answer. `what` is safe to show.

    `retry_in`: seconds after which asking again makes sense, None: never. `may_have_run`: the model may have
    worked, and be charged for, although no counts came back. `counted` holds the counts where some did.
    """

    def __init__(
        self,
        kind: Kind,
        what: str,
        *,
        may_have_run: bool = False,
        retry_in: float | None = None,
        counted: Answer | None = None,
    ) -> None:
        super().__init__(what)
        self.kind = kind
        self.what = what
        self.may_have_run = may_have_run
        self.retry_in = retry_in
        self.counted = counted


def broken(what: str) -> CallFailed:
    """An answer that cannot be read; the model may have worked for it."""
    return CallFailed("broken", what, may_have_run=True)


def failure_of_status(status: int, body: bytes, retry_after: str | None, sent: Sent) -> CallFailed:
    """The failure that an HTTP status other than 2xx stands for; `body` is the service's own explanation."""
    kind = _kind_of_status(status)
    code, message = _explanation(body)
    said = quoted(message, sent)
    what = f"{_WORDS[kind]} (HTTP {status}{', ' + code if code else ''})" + (f": {said}" if said else "")
    wait = None
    if kind in ("busy", "server") and code != "insufficient_quota":
        wait = _asked_wait(retry_after)
        if wait > LONGEST_WAIT_S:
            what += f"; it asks to wait {wait:.0f} s"
            wait = None
    return CallFailed(kind, what, may_have_run=status in _BEHIND_A_GATEWAY, retry_in=wait)


def quoted(said: str, sent: Sent) -> str:
    """The first line of what a service or program said; "" for nothing, or an echo of what was sent."""
    line = next(iter(clean_text(said).strip().splitlines()), "")
    if sent.key:
        line = line.replace(sent.key, "[REDACTED]")
    line = "".join(char if char.isprintable() else " " for char in redact(line))[:MAX_QUOTE].strip()
    return "" if _is_echo(line, sent.texts) else line


def _is_echo(line: str, texts: Iterable[str]) -> bool:
    if len(line) < ECHO:
        return any(line in text for text in texts)
    runs = [line[at : at + ECHO] for at in range(len(line) - ECHO + 1)]
    return any(run in text for text in texts for run in runs)


def _kind_of_status(status: int) -> Kind:
    if status < 400:
        return "redirect"
    if status >= 500:
        return "server"
    named: dict[int, Kind] = {401: "key", 403: "key", 404: "model", 429: "busy"}
    return named.get(status, "request")


def _explanation(body: bytes) -> tuple[str, str]:
    """(machine-readable code, message) of an error body; "" for what it does not hold."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return "", ""
    error = value.get("error", value) if isinstance(value, dict) else None
    if isinstance(error, str):
        return "", error
    if not isinstance(error, dict):
        return "", ""
    code = error.get("code") or error.get("type")
    fits = isinstance(code, str) and len(code) <= 64 and code.isascii() and code.isidentifier()
    message = error.get("message")
    return (str(code) if fits else ""), (message if isinstance(message, str) else "")


def _asked_wait(retry_after: str | None) -> float:
    """Seconds, from a Retry-After header in either of its two forms."""
    if not retry_after:
        return SHORT_WAIT_S
    try:
        return max(float(retry_after), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return SHORT_WAIT_S
