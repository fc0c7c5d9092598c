"""Builds rollouts as Codex writes them, for the tests of its reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memex_core.model.session import Session
from memex_hooks.harnesses import codex

START = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
FIXTURES = Path(__file__).parent.parent / "fixtures" / "codex"


def uuid7(when: datetime, salt: int = 1) -> str:
    """A version 7 UUID made at `when`."""
    stamp = f"{round(when.timestamp() * 1000):012x}"
    return f"{stamp[:8]}-{stamp[8:]}-7{salt & 0xFFF:03x}-8000-{salt:012x}"


class Rollout:
    """The lines of one rollout. `now` is the time of the next line; every line moves it on by `step`."""

    def __init__(self, *, start: datetime = START, thread: str = "", salt: int = 1, **meta: Any) -> None:
        self.now = start
        self.start = start
        self.step = timedelta(milliseconds=10)
        self.thread = thread or uuid7(start, salt)
        self.turns = 0
        self.turn_id = ""
        self.lines: list[bytes] = []
        self.paginated = meta.get("history_mode", "paginated") == "paginated"
        self.meta = {
            "session_id": self.thread,
            "id": self.thread,
            "timestamp": self.stamp(),
            "cwd": "/home/dev/widget",
            "originator": "codex-tui",
            "cli_version": "0.171.0",
            "source": "cli",
            "thread_source": "user",
            "model_provider": "openai",
            "base_instructions": {"text": "You are Codex. " * 40},
            "history_mode": "paginated",
            **meta,
        }
        self.meta = {key: value for key, value in self.meta.items() if value is not None}
        self.add("session_meta", self.meta)

    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"

    def add(self, kind: str, payload: Any, **envelope: Any) -> Rollout:
        line: dict[str, Any] = {"timestamp": self.stamp()}
        if self.paginated:
            line["ordinal"] = len(self.lines)
        self.lines.append(json.dumps({**line, "type": kind, "payload": payload, **envelope}).encode() + b"\n")
        self.now += self.step
        return self

    def raw(self, line: bytes) -> Rollout:
        self.lines.append(line)
        return self

    def event(self, kind: str, /, **fields: Any) -> Rollout:
        return self.add("event_msg", {"type": kind, **fields})

    def response(self, kind: str, /, **fields: Any) -> Rollout:
        return self.add("response_item", {"type": kind, **fields})

    def item(self, kind: str, /, **fields: Any) -> Rollout:
        item = {"type": kind, "id": f"item-{len(self.lines)}", **fields}
        return self.event("item_completed", thread_id=self.thread, turn_id=self.turn_id, item=item)

    def begin(self, turn_id: str = "", model: str = "gpt-6-codex") -> Rollout:
        """task_started and turn_context of a new turn."""
        self.turns += 1
        self.turn_id = turn_id or uuid7(self.now, self.turns)
        self.event("task_started", turn_id=self.turn_id)
        return self.add("turn_context", {"turn_id": self.turn_id, "model": model, "effort": "high"})

    def end(self) -> Rollout:
        return self.event("task_complete", turn_id=self.turn_id)

    def prompt(self, words: str) -> Rollout:
        """A prompt in both of its records."""
        self.response("message", role="user", content=[{"type": "input_text", "text": words}])
        if self.paginated:
            return self.item("UserMessage", content=[{"type": "text", "text": words, "text_elements": []}])
        return self.event("user_message", message=words, images=[], local_images=[])

    def answer(self, words: str) -> Rollout:
        """An answer in both of its records."""
        if self.paginated:
            self.item("AgentMessage", content=[{"type": "Text", "text": words}])
        else:
            self.event("agent_message", message=words, phase="final_answer")
        return self.response("message", role="assistant", content=[{"type": "output_text", "text": words}])

    def exchange(self, words: str, answer: str) -> Rollout:
        return self.begin().prompt(words).answer(answer).end()

    def call(self, call_id: str, command: str) -> Rollout:
        arguments = json.dumps({"cmd": command})
        return self.response("function_call", name="exec_command", arguments=arguments, call_id=call_id)

    def output(self, call_id: str, said: str) -> Rollout:
        return self.response("function_call_output", call_id=call_id, output=said)

    def command(self, call_id: str, command: str, said: str, **fields: Any) -> Rollout:
        words = ["/bin/bash", "-lc", command]
        return self.item(
            "CommandExecution",
            **{"id": call_id, "command": words, "aggregated_output": said, "exit_code": 0, **fields},
        )

    def count(self, last: dict[str, int] | None, total: dict[str, int] | None) -> Rollout:
        info = {"last_token_usage": last, "total_token_usage": total} if total is not None else None
        return self.event("token_count", info=info, rate_limits={"primary": {"used_percent": 26.0}})

    def record(self, response_id: str, counts: dict[str, int], **fields: Any) -> Rollout:
        cumulative = {name: value * 10 for name, value in counts.items()}
        payload = {
            "thread_id": self.thread,
            "turn_id": self.turn_id,
            "response_id": response_id,
            "usage": counts,
            "turn_token_usage": cumulative,
            "thread_token_usage": cumulative,
        }
        return self.add("token_usage_record", {**payload, **fields})

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    @property
    def name(self) -> str:
        return f"rollout-{self.start:%Y-%m-%dT%H-%M-%S}-{self.thread}.jsonl"

    def write(self, home: Path, *, archived: bool = False, name: str = "") -> Path:
        folder = home / "archived_sessions" if archived else home / "sessions" / f"{self.start:%Y/%m/%d}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (name or self.name)
        path.write_bytes(self.data)
        return path


def tokens(
    whole_input: int, cached: int = 0, output: int = 0, *, written: int = 0, reasoning: int = 0
) -> dict[str, int]:
    """A TokenUsage as Codex writes it."""
    return {
        "input_tokens": whole_input,
        "cached_input_tokens": cached,
        "cache_write_input_tokens": written,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": whole_input + output,
    }


def read(path: Path) -> Session:
    session = try_read(path)
    assert session is not None
    return session


def try_read(path: Path) -> Session | None:
    log = codex.log_file(path)
    assert log is not None
    return codex.read_session(log)


def said(session: Session) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in session.turns]


def prompts(session: Session) -> list[str]:
    return [turn.content for turn in session.turns if turn.role == "user"]


def answers(session: Session) -> list[str]:
    return [turn.content for turn in session.turns if turn.role == "agent"]


def tools(session: Session) -> list[tuple[str | None, str | None, str | None]]:
    return [(turn.tool_name, turn.query, turn.result) for turn in session.turns if turn.role == "tool"]


def usage(session: Session) -> dict[str, int]:
    """The session's tokens under Codex's names."""
    return {
        name: sum(getattr(response, field) for response in session.responses for field in fields)
        for name, fields in session.usage_fields.items()
    }
