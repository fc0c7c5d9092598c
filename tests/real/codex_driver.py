"""The real Codex, driven against the loopback model (formats/codex.md §4)."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import ClassVar

from driver import Driver
from house import House
from loopback_model import CODEX_COUNTS
from terminal import Terminal

BYPASS = "--dangerously-bypass-hook-trust"
CONFIG = """\
model = "{model}"
model_provider = "loop"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.loop]
name = "loop"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOP_KEY"

[projects."{project}"]
trust_level = "trusted"
"""


class Codex(Driver):
    """`bypass` is Codex's own switch for hooks that nobody has trusted in its dialogue yet."""

    NAME = "codex"
    MODEL = "gpt-5.1-codex"
    QUIT = "/quit"
    TOOL = "command"
    PER_RESPONSE: ClassVar[dict[str, int]] = {**CODEX_COUNTS, "cache_write_input_tokens": 0}

    def __init__(self, house: House, config_dir: Path | None = None, *, bypass: bool = True) -> None:
        super().__init__(house, config_dir)
        self.options = [BYPASS] if bypass else []
        self.said: dict[str, str] = {}
        project = house.home / "projects" / "demo"
        text = CONFIG.format(model=self.MODEL, url=house.model.url, project=project)
        (self.config_dir / "config.toml").write_text(text, "utf-8")

    @property
    def version(self) -> str:
        return self.house.programs.codex_version

    @property
    def settings(self) -> Path:
        return self.config_dir / "hooks.json"

    def default_config_dir(self) -> Path:
        return self.house.home / ".codex"

    def session_variables(self, *, moved: bool) -> dict[str, str]:
        variables = {"LOOP_KEY": "x"}
        return {**variables, "CODEX_HOME": str(self.config_dir)} if moved else variables

    def new_command(self, prompt: str) -> list[str]:
        return [*self._exec(), *self.options, prompt]

    def resume_command(self, session_id: str, prompt: str) -> list[str]:
        return [*self._exec("resume"), *self.options, session_id, prompt]

    def fork_command(self, session_id: str, prompt: str) -> list[str]:
        return [*self._exec("fork"), *self.options, session_id, prompt]

    def session_id_of(self, done: subprocess.CompletedProcess[str]) -> str:
        found = re.search(r"^session id: (\S+)$", done.stderr, re.MULTILINE)
        assert found, done.stderr
        self.said[found[1]] = self.said.get(found[1], "") + done.stderr
        return found[1]

    def terminal(self, project: Path, *, server: bool = False) -> Terminal:
        """`server`: through Codex's shared background server, as it is by default outside of a test."""
        command = [self.house.programs.codex, *([] if server else ["--no-daemon"]), *self.options]
        return Terminal(command, {**self.house.env, **self.variables}, project)

    def wait_until_ready(self, terminal: Terminal) -> None:
        terminal.wait_for_text(f"{self.MODEL} default")

    def logs(self) -> dict[str, Path]:
        found = (self.config_dir / "sessions").rglob("rollout-*.jsonl")
        return {path.stem[len("rollout-2026-01-01T00-00-00-") :]: path for path in found}

    def answers(self) -> int:
        return sum(path.read_bytes().count(b'"type":"task_complete"') for path in self.logs().values())

    def assert_hooks_were_silent(self, session_id: str) -> None:
        """`exec` tells of every hook on its standard error; the log must hold no prompt that a hook sent."""
        told = [line for line in self.said.get(session_id, "").splitlines() if line.startswith("hook")]
        assert not [line for line in told if re.search(r"(?i)fail|error|block|stopp|timed out", line)], told
        assert not [record for record in self.records(session_id) if "HookPrompt" in json.dumps(record)]

    def independent_counts(self) -> dict[str, dict[str, int]]:
        command = [self.house.programs.ccusage, "codex", "session", "--offline", "--json"]
        done = self.house.run_program(command, self.house.home, CODEX_HOME=str(self.config_dir))
        return {
            session["sessionFile"][len("rollout-2026-01-01T00-00-00-") :]: {
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
        """ccusage takes the second in which a fork begins for copied history: its use may be left out."""
        return [None, own]

    def _exec(self, *command: str) -> list[str]:
        return [self.house.programs.codex, "exec", *command, "--skip-git-repo-check"]
