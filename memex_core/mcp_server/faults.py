"""How a failure is told to a client: what to do about it, and no path, no word of the memory, no provider."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from memex_core.errors import (
    AlreadyExists,
    BadPage,
    ConfigError,
    InvalidName,
    LLMError,
    LockTimeout,
    MemexError,
    NoPage,
    NotFound,
    OtherCase,
    Refused,
    WikiStoreError,
)

_MAX_PROBLEMS = 5
WHATEVER = "page, item or event"
"""What was not found by a tool that knows all of them."""
INTERNAL = "internal error, see logs/memex.log"

_TOLD: tuple[tuple[type[BaseException], str], ...] = (
    (
        OtherCase,
        "another session has that id in another letter case: give this one another id; nothing was changed",
    ),
    (InvalidName, "that name cannot be used: letters, digits, '-', '_' and '.', 128 at most"),
    (NotFound, "no page has that slug: take it from a hit of memex_recall, as it is or as <type>/<slug>"),
    (AlreadyExists, "that session is kept already; nothing was changed"),
    (
        Refused,
        "refused: it was deleted on purpose, and only the user can allow it again; nothing was changed",
    ),
    (
        NoPage,
        "what has the place of that page is none: the user has to move it away; nothing was changed",
    ),
    (
        BadPage,
        "the front matter of that page cannot be read: the user has to correct it; nothing was changed",
    ),
    (LockTimeout, "another process is changing the memory: call again in a few seconds"),
    (LLMError, "the model gave no usable answer; `memex consolidate` in a terminal says why"),
    (ConfigError, "the configuration cannot act; `memex info` in a terminal says what is wrong with it"),
    (WikiStoreError, "the page could not be read or written, or changed meanwhile: read it, then try again"),
    (MemexError, "that did not work; `memex info` in a terminal may say why"),
    (OSError, "the memory could not be read or written; `memex info` in a terminal may say why"),
)


class ToolFault(Exception):
    """A failure in words made for the client."""


def told(error: Exception) -> str | None:
    """What the client is told of an expected failure; None for one that nobody expected."""
    if isinstance(error, ToolFault):
        return str(error)
    if isinstance(error, ValidationError):
        return "\n".join(_problems(error))
    if isinstance(error, NotFound) and error.what == WHATEVER:
        return f"no {WHATEVER} has that name: take it from a hit of memex_recall, as it is"
    return next((text for kind, text in _TOLD if isinstance(error, kind)), None)


def _problems(error: ValidationError) -> Iterator[str]:
    """What is wrong with which argument, without what the argument was."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    for problem in found[:_MAX_PROBLEMS]:
        place = ".".join(str(part) for part in problem["loc"])[:80]
        yield f"{place or 'arguments'}: {problem['msg']}"
    if len(found) > _MAX_PROBLEMS:
        yield f"and {len(found) - _MAX_PROBLEMS} more"
