"""What identifies a session: id, times, title and the circumstances (formats/claude-code.md §3.1, §3.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from memex_core.model.session import Header
from memex_core.text.clean import clean_text
from memex_hooks.harnesses.claude_code.log import agreed_id, own_id
from memex_hooks.harnesses.claude_code.times import iso_utc, seconds

NAME = "claude-code"

_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"))


class Facts:
    """Gathers what the records of a main log say about their session."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._efforts: dict[str, None] = {}
        self._models: dict[str, None] = {}
        self._session_ids: dict[str, None] = {}
        self._own_began: dict[str, str] = {}
        """Session id -> the first time of a record that was not copied from another session."""
        self._copied_until = ""
        self._summaries: list[tuple[str, str]] = []
        self._began = ""
        self._ended = ""

    def add(self, record: dict[str, Any]) -> None:
        kind = record.get("type")
        session_id = own_id(record)
        ts = iso_utc(record.get("timestamp"))
        if session_id:
            self._session_ids[session_id] = None
        if ts:
            self._note_birth(record, session_id, ts)
        if kind in ("user", "assistant") and not record.get("isSidechain"):
            self._note_conversation(record, ts)
        elif isinstance(kind, str):
            self._note_line(kind, record)

    def session_id(self, log: Path) -> str:
        return agreed_id(self._session_ids, log)

    def born_at(self, log: Path) -> str:
        """When the log began: the first time in it, past what a fork or an old resume copied into it."""
        own = self.session_id(log)
        return self._own_began.get(own) or self._own_began.get("") or self._copied_until or self._began

    def title(self, is_here: Callable[[str], bool]) -> str:
        """The user's own title, else the harness's, else a summary of what `is_here`; "" for none."""
        for kind, _ in _TITLES:
            if self._last.get(kind):
                return self._last[kind]
        ours = [text for leaf, text in self._summaries if not leaf or is_here(leaf)]
        return ours[-1] if ours else ""

    def header(self, log: Path, billed_models: Iterable[str]) -> Header:
        began, ended = self._began, self._ended
        own = self.session_id(log)
        origin = self._first.get("forked_from")
        meta: dict[str, Any] = {
            "cli_version": self._last.get("version"),
            "provider": "anthropic",
            "cwd": self._first.get("cwd"),
            "original_cwd": self._first.get("original_cwd"),
            "git": {"branch": self._first["gitBranch"]} if "gitBranch" in self._first else None,
            "entrypoint": self._first.get("entrypoint"),
            "models": list(dict.fromkeys([*billed_models, *self._models])),
            "reasoning_efforts": list(self._efforts),
            "forked_from": origin if origin != own else None,
        }
        return Header(
            harness=NAME,
            session_id=own,
            started_at=began,
            ended_at=ended,
            duration_s=round(max(0.0, seconds(ended) - seconds(began)), 3),
            meta={key: value for key, value in meta.items() if value},
        )

    def _note_birth(self, record: dict[str, Any], session_id: str, ts: str) -> None:
        if record.get("forkedFrom"):
            self._copied_until = max(self._copied_until, ts)
        else:
            self._own_began.setdefault(session_id, ts)

    def _note_conversation(self, record: dict[str, Any], ts: str) -> None:
        self._began = self._began or ts
        self._ended = max(self._ended, ts)
        for name in ("cwd", "gitBranch", "entrypoint"):
            if name not in self._first and (value := _text(record.get(name))):
                self._first[name] = value
        if version := _text(record.get("version")):
            self._last["version"] = version
        if effort := _text(record.get("effort")):
            self._efforts[effort] = None
        message = record.get("message")
        model = _text(message.get("model")) if isinstance(message, dict) else ""
        if model and model != "<synthetic>":
            self._models[model] = None
        fork = record.get("forkedFrom")
        if (
            isinstance(fork, dict)
            and "forked_from" not in self._first
            and (origin := _text(fork.get("sessionId")))
        ):
            self._first["forked_from"] = origin

    def _note_line(self, kind: str, record: dict[str, Any]) -> None:
        for line, name in _TITLES:
            if kind == line and (title := " ".join(_text(record.get(name)).split())):
                self._last[kind] = title
        if kind == "summary" and (summary := " ".join(_text(record.get("summary")).split())):
            self._summaries.append((_text(record.get("leafUuid")), summary))
        if kind == "worktree-state":
            state = record.get("worktreeSession")
            origin = _text(state.get("originalCwd")) if isinstance(state, dict) else ""
            if origin:
                self._first.setdefault("original_cwd", origin)


def _text(value: Any) -> str:
    return clean_text(value) if isinstance(value, str) else ""
