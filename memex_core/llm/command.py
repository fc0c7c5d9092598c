"""Any program that reads a prompt and writes an answer, run without tools of ours, shell or leftovers.

A program that commands.toml knows is run in its ready setting and in no other way. In any other command
{model} is [llm] model, and where {answer} occurs, the answer is read from the file that it names.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from memex_core.config import LLMConfig
from memex_core.errors import ConfigError
from memex_core.llm.answer import MAX_BYTES, Answer
from memex_core.llm.asking import Asking
from memex_core.llm.child import CHILD
from memex_core.llm.failures import CallFailed, quoted
from memex_core.llm.program import Run
from memex_core.llm.ready_commands import ready_command, records_of
from memex_core.llm.stop_signals import held_signals
from memex_core.llm.target import Target, hints_of

OUR_KEY = "MEMEX_API_KEY"


class CommandClient(Asking):
    """Runs `[llm] command` for every call, in an empty folder, in a process group of its own."""

    def __init__(self, config: LLMConfig, root: Path, system: str = "") -> None:
        self._command = list(config.command)
        if not self._command or not self._command[0].strip():
            raise ConfigError(
                "[llm] command is not set, and the provider is command",
                hint='name a program in memex.toml, such as command = ["llm", "-m", "{model}"]',
            )
        known = ready_command(self._command)
        in_one_word = None if known else ready_command(self._command[0].split())
        if in_one_word or (known and len(self._command) > 1):
            name = (in_one_word or known or [""])[0]
            raise ConfigError(
                f"[llm] command runs {name} with arguments of its own, which could switch its tools on",
                hint=f'write command = ["{name}"], or its whole path alone; [llm] model chooses the model',
            )
        model = config.model.strip()
        if not model and any("{model}" in word for word in self._command):
            raise ConfigError(
                "[llm] model is not set, and [llm] command asks for it",
                hint="set [llm] model in memex.toml, or MEMEX_LLM_MODEL",
            )
        self._ready = known[1] if known else None
        self.overhead = self._ready.overhead if self._ready else 0
        name = os.path.basename(self._command[0])
        target = Target("command", model, name, config.api_key.strip(), hints_of(config, model, name))
        super().__init__(config, root, system, target)

    def _ask(self, prompt: str, max_tokens: int, deadline: float) -> Answer:
        """A program takes no limit: `max_tokens` only bounds what is reserved for the call."""
        text = "\n\n".join(part for part in (self.system, prompt) if part)
        with (
            held_signals() as check,
            tempfile.TemporaryDirectory(prefix="memex-", ignore_cleanup_errors=True) as made,
        ):
            answer_file, folder = Path(made) / "answer", Path(made) / "work"
            folder.mkdir()
            command = [word.replace("{answer}", str(answer_file)) for word in self._words()]
            environment = {**self._environment(), "PWD": str(folder)}
            with Run(command, text.encode(), folder=folder, environment=environment) as run:
                try:
                    run.wait(deadline, check)
                except TimeoutError:
                    raise self._too_slow(run, prompt) from None
            return self._answer(run, answer_file, prompt)

    def _words(self) -> list[str]:
        model = self.target.model
        if self._ready:
            more = [*self._ready.own_arguments(os.environ), *(self._ready.model if model else ())]
        else:
            more = self._command[1:]
        return [_found(self._command[0]), *(word.replace("{model}", model) for word in more)]

    def _environment(self) -> dict[str, str]:
        dropped = {OUR_KEY, *(self._ready.without if self._ready else ())}
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        return {**kept, **(self._ready.environment if self._ready else {}), CHILD: "1"}

    def _answer(self, run: Run, answer_file: Path, prompt: str) -> Answer:
        output = bytes(run.stdout)
        if self._ready is None:
            if any("{answer}" in word for word in self._command):
                output = _written(answer_file)
            answer: Answer | None = Answer(output.decode("utf-8", "replace"))
        else:
            answer = self._ready.answer(records_of(output))
        if run.status == 0 and answer is not None:
            return answer
        raise CallFailed("program", self._what_happened(run, prompt), counted=self._counted(run))

    def _too_slow(self, run: Run, prompt: str) -> Exception:
        said = self._said(run, prompt)
        what = f"no answer within {self.timeout:g} s: {said}"
        return CallFailed("slow", what, may_have_run=True) if said else TimeoutError()

    def _what_happened(self, run: Run, prompt: str) -> str:
        status, said = run.status, self._said(run, prompt)
        if status is None or status < 0:
            what = f"was ended by signal {-(status or 0)}"
        else:
            what = f"exited with {status}" if status else "gave no answer that can be read"
        return f"{what}: {said}" if said else what

    def _said(self, run: Run, prompt: str) -> str:
        """What the program says of its failure: in its answer, else the last line of standard error."""
        said = self._ready.error(records_of(bytes(run.stdout))) if self._ready else ""
        lines = run.stderr.decode("utf-8", "replace").strip().splitlines()
        return quoted(said or (lines[-1] if lines else ""), self._sent(prompt))

    def _counted(self, run: Run) -> Answer:
        """What a run without an answer cost: by its own count, else the prompt."""
        counted = self._ready.counts(records_of(bytes(run.stdout))) if self._ready else (None, None)
        return Answer("", counted[0], counted[1] or 0)


def _found(program: str) -> str:
    """The program's path, since it runs in another folder; its bare name where it is nowhere."""
    program = os.path.expanduser(program)
    return os.path.abspath(program) if os.sep in program else shutil.which(program) or program


def _written(path: Path) -> bytes:
    """The file that the program left its answer in; b"" where it left none."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return b""
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return b""
