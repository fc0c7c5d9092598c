"""Builds logs as Claude Code writes them, for the tests of its reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from new_file import new_file

from memex_core.model.session import Response, Session, Turn
from memex_hooks.harnesses import claude_code

FIXTURES = Path(__file__).parent.parent / "fixtures" / "claude-code"
SAMPLE = FIXTURES / "records.jsonl"
GENUINE = FIXTURES / "projects" / "-home-dev-proj"
SESSION = "5e551017-0000-4000-8000-000000000001"

Record = dict[str, Any]


def uuid(n: int) -> str:
    return f"{n:08x}-aaaa-4aaa-8aaa-{n:012x}"


def stamp(n: int) -> str:
    return f"2026-08-20T{9 + n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}.000Z"


def usage(output: int = 10, **more: Any) -> Record:
    return {
        "input_tokens": 3,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
        **more,
    }


class Log:
    """The records of one log; each new one is a child of the one before it, a second later."""

    def __init__(self, session_id: str = SESSION, start: int = 0) -> None:
        self.session_id = session_id
        self.records: list[Record] = []
        self.count = start
        self.parent: str | None = None
        self.responses = start

    def add(self, kind: str, **fields: Any) -> Record:
        self.count += 1
        record = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid(self.count),
            "timestamp": stamp(self.count),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": "/home/dev/demo",
            "sessionId": self.session_id,
            "version": "2.1.240",
            "gitBranch": "main",
            **fields,
        }
        self.records.append(record)
        self.parent = record["uuid"]
        return record

    def line(self, kind: str, **fields: Any) -> Record:
        """A record that is not part of the tree."""
        record = {"type": kind, "sessionId": self.session_id, **fields}
        self.records.append(record)
        return record

    def user(self, content: Any, **fields: Any) -> Record:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: Any, **fields: Any) -> Record:
        """A response of one line; `id`, `stop`, `model` and `usage` replace what a plain one has."""
        self.responses += 1
        message = {
            "id": fields.pop("id", f"msg_{self.responses:04d}"),
            "role": "assistant",
            "model": fields.pop("model", "claude-opus-5"),
            "content": list(blocks),
            "stop_reason": fields.pop("stop", "tool_use" if _calls(blocks) else "end_turn"),
            "usage": fields.pop("usage", usage()),
        }
        return self.add("assistant", message=message, **fields)

    def says(self, text: str, **fields: Any) -> Record:
        return self.assistant({"type": "text", "text": text}, **fields)

    def calls(self, call_id: str, name: str = "Bash", query: Any = None, **fields: Any) -> Record:
        query = {"command": f"run {call_id}"} if query is None else query
        return self.assistant({"type": "tool_use", "id": call_id, "name": name, "input": query}, **fields)

    def answers(self, call_id: str, content: Any = "done", **fields: Any) -> Record:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return self.user([block], toolUseResult=fields.pop("result", {"stdout": "x"}), **fields)

    def attach(self, kind: str, **fields: Any) -> Record:
        return self.add("attachment", attachment={"type": kind, **fields})

    def data(self) -> bytes:
        return b"".join(json.dumps(record).encode() + b"\n" for record in self.records)

    def write(self, folder: Path, name: str = "") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (name or f"{self.session_id}.jsonl")
        path.write_bytes(self.data())
        return path


def read(path: Path) -> Session | None:
    log = claude_code.log_file(path)
    assert log is not None
    return claude_code.read_session(log)


def session(log: Log, folder: Path) -> Session:
    found = read(log.write(folder))
    assert found is not None
    return found


def turns_of_bytes(data: bytes, folder: Path) -> list[Turn]:
    found = read(new_file(folder / f"{SESSION}.jsonl", data))
    return list(found.turns) if found else []


def said(found: Session) -> list[tuple[str, str]]:
    """(role, content) of every turn; a tool turn as `name(query) -> result`."""
    return [(turn.role, _shown(turn)) for turn in found.turns]


def of_id(found: Session, response_id: str) -> Response:
    return next(response for response in found.responses if response.id == response_id)


def _shown(turn: Turn) -> str:
    return turn.content if turn.role != "tool" else f"{turn.tool_name}({turn.query}) -> {turn.result}"


def _calls(blocks: Any) -> bool:
    return any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)
