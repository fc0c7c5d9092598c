"""Makes session logs of a given size: shaped like real ones, seeded, without personal data."""

from __future__ import annotations

import json
import random
from pathlib import Path

SESSION_ID = "b3c1f0de-0000-4000-8000-00000000beef"
WORDS = (
    "retry cache index parser token session build deploy config module async buffer latency schema "
    "query branch merge commit review failing test fixture timeout socket worker thread queue header "
    "payload cursor encode decode client server request response database migration rollback "
    "container image volume metric alert trace span the a of to in is and that for with on as it be "
    "this are from at or by an not which but has have will can should we you "
)


def write_claude_log(path: Path, size: int, seed: int = 7) -> int:
    """A Claude Code log of about `size` bytes: prompts, answers, tool calls with results of up to 50 KB.
    Returns its lines.
    """
    maker = _Maker(random.Random(seed))
    lines = written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            for record in maker.exchange():
                written += file.write(json.dumps(record, ensure_ascii=False) + "\n")
                lines += 1
    return lines


class _Maker:
    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.number = 0
        self.words = WORDS.split()
        self.parent: str | None = None
        self.response = 0

    def exchange(self) -> list[dict[str, object]]:
        """One prompt, three to eight tool calls, one answer."""
        records = [self._record("user", {"role": "user", "content": self._text(30)})]
        for _ in range(self.dice.randint(3, 8)):
            records += self._tool_call()
        records.append(self._assistant([{"type": "text", "text": self._text(120)}], "end_turn"))
        return records

    def _tool_call(self) -> list[dict[str, object]]:
        call = f"toolu_{self.number:08d}"
        name, given = self.dice.choice(
            [
                (
                    "Bash",
                    {
                        "command": f"pytest -q tests/test_{self.dice.choice(self.words)}.py",
                        "description": "Run tests",
                    },
                ),
                ("Read", {"file_path": f"/home/dev/app/src/{self.dice.choice(self.words)}.py"}),
                (
                    "Edit",
                    {
                        "file_path": "/home/dev/app/src/a.py",
                        "old_string": self._text(40),
                        "new_string": self._text(40),
                    },
                ),
            ]
        )
        used = self._assistant([{"type": "tool_use", "id": call, "name": name, "input": given}], "tool_use")
        result = self._text(int(self.dice.paretovariate(0.9) * 150) % 8_000)
        block = {"type": "tool_result", "tool_use_id": call, "content": result}
        return [
            used,
            self._record(
                "user", {"role": "user", "content": [block]}, toolUseResult={"stdout": result[:200]}
            ),
        ]

    def _assistant(self, content: list[dict[str, object]], stop: str) -> dict[str, object]:
        self.response += 1
        usage = {
            "input_tokens": 12,
            "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 40_000,
            "output_tokens": 210,
        }
        message = {
            "id": f"msg_{self.response:08d}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        return self._record("assistant", message, requestId=f"req_{self.response:08d}")

    def _record(self, kind: str, message: dict[str, object], **more: object) -> dict[str, object]:
        self.number += 1
        uuid = f"00000000-0000-4000-8000-{self.number:012d}"
        second = self.number
        clock = f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        record: dict[str, object] = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/app",
            "sessionId": SESSION_ID,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": f"2026-09-{1 + second // 86_400:02d}T{clock}.000Z",
            **more,
        }
        self.parent = uuid
        return record

    def _text(self, words: int) -> str:
        return " ".join(self.dice.choices(self.words, k=max(words, 1)))
