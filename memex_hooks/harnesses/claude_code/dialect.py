"""How hooks speak: their standard input and output (formats/claude-code.md §1.3-§1.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from memex_core.text.clean import clean_text
from memex_hooks.harness import EventKind, HookEvent

_KINDS: dict[str, EventKind] = {
    "SessionStart": "started",
    "UserPromptSubmit": "prompted",
    "Stop": "paused",
    "SubagentStop": "paused",
    "PreCompact": "paused",
    "SessionEnd": "ended",
}
_ANSWERED = ("SessionStart", "UserPromptSubmit")


def parse_event(name: str, payload: Mapping[str, Any]) -> HookEvent:
    """A hook's stdin as a HookEvent. `name` comes from the command line, else the payload has it.

    An event that we do not know counts as a pause: something happened, the session may go on.
    """
    name = name or _text(payload, "hook_event_name")
    return HookEvent(
        kind=_KINDS.get(name, "paused"),
        name=name,
        session_id=_text(payload, "session_id"),
        log_path=_text(payload, "transcript_path") or _text(payload, "agent_transcript_path"),
        cwd=_text(payload, "cwd"),
        source=_text(payload, "source"),
        prompt=_text(payload, "prompt"),
    )


def reply(event: HookEvent, text: str) -> bytes:
    """What puts `text` before the model; b"" for no text and for events whose output nobody reads (§1.4)."""
    if event.name not in _ANSWERED or not text:
        return b""
    output = {"hookEventName": event.name, "additionalContext": clean_text(text)}
    return orjson.dumps({"hookSpecificOutput": output})


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return clean_text(value) if isinstance(value, str) else ""
