"""What Codex's hooks say on standard input and understand on standard output (formats/codex.md §4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from memex_hooks.harness import EventKind, HookEvent
from memex_hooks.harnesses.codex.log import home_of

_KINDS: dict[str, EventKind] = {
    "SessionStart": "started",
    "UserPromptSubmit": "prompted",
    "SessionEnd": "ended",
}
"""Everything else is a pause: Stop, SubagentStop, PreCompact ..."""

_SPEAKS = {"started": "SessionStart", "prompted": "UserPromptSubmit"}


def parse_event(name: str, payload: Mapping[str, Any]) -> HookEvent:
    """A hook's stdin. `session_id` is the root thread's, also where `log_path` is a subagent's own."""
    name = name or _text(payload, "hook_event_name")
    log_path = _text(payload, "transcript_path")
    if name == "SubagentStop":
        log_path = _text(payload, "agent_transcript_path") or log_path
    home = home_of(Path(log_path)) if log_path else None
    return HookEvent(
        kind=_KINDS.get(name, "paused"),
        name=name,
        session_id=_text(payload, "session_id"),
        log_path=log_path,
        cwd=_text(payload, "cwd"),
        source=_text(payload, "source"),
        prompt=_text(payload, "prompt"),
        config_dir=str(home) if home else "",
    )


def reply(event: HookEvent, text: str) -> bytes:
    """`additionalContext` for the events that take it; Codex rejects unknown keys, so there are no others."""
    name = _SPEAKS.get(event.kind)
    if not name or not text:
        return b""
    return orjson.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""
