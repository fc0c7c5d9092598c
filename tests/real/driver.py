"""What the tests ask of a real program, whichever it is: start a session, resume one, fork one, hold one in a
terminal."""

from __future__ import annotations

import json
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from house import House
from processes import kill as kill_process
from processes import our_processes, tree
from terminal import Terminal
from waiting import wait_for

SESSION_TIMEOUT_S = 60.0


class Driver(ABC):
    """One of the two programs in one scratch HOME, its hooks installed by `memex-hooks install`."""

    NAME: ClassVar[str]
    MODEL: ClassVar[str]
    QUIT: ClassVar[str]
    TOOL: ClassVar[str]
    PER_RESPONSE: ClassVar[dict[str, int]]
    """What one response of the stand-in adds to `token_usage` of a sidecar."""

    def __init__(self, house: House, config_dir: Path | None = None) -> None:
        self.house = house
        self.config_dir = config_dir or self.default_config_dir()
        self.variables = self.session_variables(moved=config_dir is not None)
        self.config_dir.mkdir(parents=True, exist_ok=True)

    # --- facts about the program

    @property
    @abstractmethod
    def version(self) -> str: ...

    @property
    @abstractmethod
    def settings(self) -> Path:
        """The file that `memex-hooks install` edits."""

    @abstractmethod
    def default_config_dir(self) -> Path: ...

    @abstractmethod
    def session_variables(self, *, moved: bool) -> dict[str, str]: ...

    @abstractmethod
    def new_command(self, prompt: str) -> list[str]: ...

    @abstractmethod
    def resume_command(self, session_id: str, prompt: str) -> list[str]: ...

    @abstractmethod
    def fork_command(self, session_id: str, prompt: str) -> list[str]: ...

    @abstractmethod
    def session_id_of(self, done: subprocess.CompletedProcess[str]) -> str: ...

    @abstractmethod
    def terminal(self, project: Path) -> Terminal:
        """An interactive session in `project`; not started yet."""

    @abstractmethod
    def wait_until_ready(self, terminal: Terminal) -> None: ...

    @abstractmethod
    def logs(self) -> dict[str, Path]:
        """Session id -> log of every session on disk."""

    @abstractmethod
    def answers(self) -> int:
        """How many turns the logs on disk say were finished."""

    @abstractmethod
    def assert_hooks_were_silent(self, session_id: str) -> None:
        """The program noted neither output nor trouble of the capture hooks."""

    @abstractmethod
    def independent_counts(self) -> dict[str, dict[str, int]]:
        """Session id -> disjoint counts (input, cache_read, cache_write, output), as ccusage has them."""

    @abstractmethod
    def independent_count_of_a_fork(
        self, original: dict[str, int], own: dict[str, int]
    ) -> list[dict[str, int] | None]:
        """What ccusage may say of a fork, where it and we differ; `own` is what the fork itself used."""

    # --- sessions

    def install(self) -> None:
        self.house.run("memex-hooks", "install", "--harness", self.NAME, **self.variables)

    def ask(self, prompt: str, project: Path) -> str:
        """A session with one prompt, run to its end; its id."""
        return self._finished(self._run(self.new_command(prompt), project))

    def resume(self, session_id: str, prompt: str, project: Path) -> str:
        return self._finished(self._run(self.resume_command(session_id, prompt), project))

    def fork(self, session_id: str, prompt: str, project: Path) -> str:
        return self._finished(self._run(self.fork_command(session_id, prompt), project))

    def ask_at_once(self, prompts: list[str], project: Path) -> list[str]:
        """As many sessions as prompts, all at the same time; their ids in the order of the prompts."""
        started = [
            subprocess.Popen(
                self.new_command(prompt),
                cwd=project,
                env={**self.house.env, **self.variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for prompt in prompts
        ]
        finished = []
        for process in started:
            out, err = process.communicate(timeout=SESSION_TIMEOUT_S)
            finished.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
        return [self._finished(done) for done in finished]

    def say(self, terminal: Terminal, prompt: str) -> None:
        """One prompt in an interactive session, and its answer."""
        before = self.answers()
        terminal.type_line(prompt)
        wait_for(lambda: self.answers() > before, f"an answer to {prompt!r}", report=terminal.screen)

    def quit(self, terminal: Terminal) -> None:
        terminal.type_line(self.QUIT)
        terminal.wait_for_end()

    def kill(self, terminal: Terminal) -> None:
        """kill -9 of the program and whatever it runs, except what is ours."""
        ours = {process.pid for process in our_processes(self.house.home)}
        for process in reversed(tree(self.house.home, terminal.pid)):
            if process.pid not in ours:
                kill_process(process)
        terminal.wait_for_end()

    def records(self, session_id: str) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in self.logs()[session_id].read_bytes().splitlines() if line.strip()
        ]

    def _run(self, command: list[str], project: Path) -> subprocess.CompletedProcess[str]:
        return self.house.run_program(command, project, timeout=SESSION_TIMEOUT_S, **self.variables)

    def _finished(self, done: subprocess.CompletedProcess[str]) -> str:
        assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
        return self.session_id_of(done)
