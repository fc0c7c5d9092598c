"""Why a request brought no answer, in words that hold no key and nothing of what was asked."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from memex_core.llm.answer import Answer
from memex_core.llm.key_scrub import without_key
from memex_core.text.clean import clean_text
from memex_core.text.redact import redact

Kind = Literal[
    "down", "key", "model", "busy", "server", "request", "redirect",
    "slow", "broken", "empty", "declined", "window", "program",
]  # fmt: skip

LONGEST_WAIT_S = 10.0
SHORT_WAIT_S = 0.5
MOST_WAIT_S = 7 * 86_400.0
"""Nobody means a longer one: a Retry-After beyond it is not believed."""
MAX_QUOTE = 160
MAX_LINE = 4_096
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
    code, said = _repeatable(code, sent), quoted(message, sent)
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
    line = next(iter(clean_text(said).strip().splitlines()), "")[:MAX_LINE]
    line = redact(without_key(line, sent.key))
    line = "".join(char if char.isprintable() else " " for char in line)[:MAX_QUOTE].strip()
    return "" if _is_echo(line, sent.texts) else line


def _repeatable(code: str, sent: Sent) -> str:
    """The machine-readable code of a failure; "" where it is no code, a key, or a piece of what was sent."""
    fits = len(code) <= 64 and code.isascii() and code.isidentifier()
    if not fits or redact(without_key(code, sent.key)) != code:
        return ""
    return "" if len(code) >= ECHO and _is_echo(code, sent.texts) else code


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
    message = error.get("message")
    return (code if isinstance(code, str) else ""), (message if isinstance(message, str) else "")


_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def _asked_wait(retry_after: str | None) -> float:
    """Seconds, from a Retry-After header in either of its two forms; a short wait for anything else."""
    text = (retry_after or "").strip()[:64]
    try:
        if _SECONDS.fullmatch(text):
            wait = float(text)
        else:
            wait = max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except Exception:  # the parser of dates fails in many ways on what is none
        return SHORT_WAIT_S
    return wait if wait <= MOST_WAIT_S else SHORT_WAIT_S
