"""The real Claude Code, driven against the loopback model (formats/claude-code.md §1)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import ClassVar

from driver import Driver
from loopback_model import CLAUDE_COUNTS
from terminal import Terminal

API_KEY = "not-a-key"
TROUBLE = ("hook_non_blocking_error", "hook_blocking_error", "hook_error_during_execution", "hook_cancelled")
CAPTURE_EVENTS = ("Stop", "SessionEnd", "UserPromptSubmit", "PreCompact", "SubagentStop")


class ClaudeCode(Driver):
    NAME = "claude-code"
    MODEL = "claude-sonnet-4-5"
    QUIT = "/exit"
    TOOL = "Bash"
    PER_RESPONSE: ClassVar[dict[str, int]] = {**CLAUDE_COUNTS, "total_tokens": sum(CLAUDE_COUNTS.values())}

    @property
    def version(self) -> str:
        return self.house.programs.claude_version

    @property
    def settings(self) -> Path:
        return self.config_dir / "settings.json"

    def default_config_dir(self) -> Path:
        return self.house.home / ".claude"

    def session_variables(self, *, moved: bool) -> dict[str, str]:
        variables = {
            "ANTHROPIC_BASE_URL": self.house.model.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        return {**variables, "CLAUDE_CONFIG_DIR": str(self.config_dir)} if moved else variables

    def new_command(self, prompt: str) -> list[str]:
        program = self.house.programs.claude
        return [
            program,
            "-p",
            prompt,
            "--model",
            self.MODEL,
            "--allowedTools",
            "Bash",
            "--output-format",
            "json",
        ]

    def resume_command(self, session_id: str, prompt: str) -> list[str]:
        return [*self.new_command(prompt), "--resume", session_id]

    def fork_command(self, session_id: str, prompt: str) -> list[str]:
        return [*self.resume_command(session_id, prompt), "--fork-session"]

    def session_id_of(self, done: subprocess.CompletedProcess[str]) -> str:
        return str(json.loads(done.stdout)["session_id"])

    def terminal(self, project: Path) -> Terminal:
        self._answer_first_questions(project)
        command = [self.house.programs.claude, "--model", self.MODEL, "--allowedTools", "Bash"]
        return Terminal(command, {**self.house.env, **self.variables}, project)

    def wait_until_ready(self, terminal: Terminal) -> None:
        terminal.wait_for_text("for shortcuts")

    def logs(self) -> dict[str, Path]:
        return {path.stem: path for path in (self.config_dir / "projects").glob("*/*.jsonl")}

    def answers(self) -> int:
        return sum(path.read_bytes().count(b'"stop_reason":"end_turn"') for path in self.logs().values())

    def assert_hooks_were_silent(self, session_id: str) -> None:
        notes = [
            record["attachment"] for record in self.records(session_id) if record.get("type") == "attachment"
        ]
        hooks = [note for note in notes if str(note.get("type", "")).startswith("hook_")]
        for note in hooks:
            assert note["type"] not in TROUBLE, note
            if note.get("hookEvent") in CAPTURE_EVENTS:
                assert not note.get("stdout") and not note.get("stderr") and not note.get("content"), note

    def independent_counts(self) -> dict[str, dict[str, int]]:
        command = [self.house.programs.ccusage, "claude", "session", "--offline", "--json"]
        done = self.house.run_program(command, self.house.home, CLAUDE_CONFIG_DIR=str(self.config_dir))
        return {
            session["sessionId"]: {
                "input": session["inputTokens"],
                "cache_read": session["cacheReadTokens"],
                "cache_write": session["cacheCreationTokens"],
                "output": session["outputTokens"],
            }
            for session in json.loads(done.stdout)["sessions"]
        }

    def independent_count_of_a_fork(
        self, original: dict[str, int], own: dict[str, int]
    ) -> list[dict[str, int] | None]:
        """ccusage counts the copied responses again, in the fork."""
        return [{name: original[name] + own[name] for name in own}]

    def _answer_first_questions(self, project: Path) -> None:
        """The onboarding of an interactive session, answered beforehand as a person would."""
        moved = "CLAUDE_CONFIG_DIR" in self.variables
        path = (self.config_dir if moved else self.house.home) / ".claude.json"
        state = json.loads(path.read_text("utf-8")) if path.exists() else {}
        state |= {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [API_KEY], "rejected": []},
        }
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state.setdefault("projects", {}).setdefault(str(project), {}).update(trusted)
        path.write_text(json.dumps(state), "utf-8")
