"""commands.toml: programs that are known by name, how they are asked and how their answer is read."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from memex_core.llm.answer import Answer, token_count

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
_LAUNCHERS = frozenset(
    [
        "bash",
        "bun",
        "bunx",
        "busybox",
        "caffeinate",
        "cmd",
        "command",
        "dash",
        "deno",
        "docker",
        "doas",
        "env",
        "exec",
        "fish",
        "flatpak",
        "ionice",
        "ksh",
        "mise",
        "node",
        "nice",
        "nix",
        "nodejs",
        "nohup",
        "npm",
        "npx",
        "pnpm",
        "podman",
        "powershell",
        "pwsh",
        "script",
        "setsid",
        "sh",
        "ssh",
        "stdbuf",
        "sudo",
        "su",
        "systemd-run",
        "time",
        "timeout",
        "unbuffer",
        "volta",
        "winpty",
        "wsl",
        "xargs",
        "yarn",
        "zsh",
    ]
)
_NO_WORD = re.compile(r"[\s;&|()<>`'\"$={}!]+")
_FOLDERS = re.compile(r".*[/\\]", re.DOTALL)
_ENDING = re.compile(r"\.(?:exe|cmd|bat|com|ps1)\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """In the last record that has all values of `where`, what is found at the paths `at`."""

    where: Mapping[str, Any]
    at: tuple[str, ...]

    def values(self, records: list[dict[str, Any]]) -> list[Any]:
        """What the paths lead to, None for each that leads nowhere; [] where no record fits."""
        for record in reversed(records):
            if all(_found(record, path) == value for path, value in self.where.items()):
                return [_found(record, path) for path in self.at]
        return []


@dataclass(frozen=True, slots=True)
class ReadyCommand:
    """One table of commands.toml."""

    arguments: tuple[str, ...]
    model: tuple[str, ...]
    environment: Mapping[str, str]
    without: tuple[str, ...]
    packages: tuple[str, ...]
    overhead: int
    switch_off: Mapping[str, Any]
    text: Place
    errors: tuple[Place, ...]
    cut: Place | None
    prompt_tokens: Place
    completion_tokens: Place

    def own_arguments(self, environment: Mapping[str, str]) -> list[str]:
        """The arguments of every run, with those that switch off what the user's own settings name."""
        return [*self.arguments, *_switched_off(self.switch_off, environment)]

    def answer(self, records: list[dict[str, Any]]) -> Answer | None:
        """The answer among the records; None where there is none."""
        texts = self.text.values(records)
        if not texts or not isinstance(texts[0], str):
            return None
        is_cut = self.cut is not None and bool(self.cut.values(records))
        return Answer(texts[0], *self.counts(records), is_cut=is_cut)

    def counts(self, records: list[dict[str, Any]]) -> tuple[int | None, int | None]:
        """(prompt tokens, completion tokens) as the program counted them, None where it did not."""
        return (
            _counted(self.prompt_tokens.values(records)),
            _counted(self.completion_tokens.values(records)),
        )

    def error(self, records: list[dict[str, Any]]) -> str:
        """What the program says went wrong, "" where it says nothing."""
        said = [value for place in self.errors for value in place.values(records)]
        return next((value for value in reversed(said) if isinstance(value, str)), "")


def ready_command(command: list[str]) -> tuple[str, ReadyCommand] | None:
    """(name, setting) of the known program that a command runs: by its name, a path, a link to it, the
    package that it comes in, or behind a shell or another program that only starts what it is given.
    """
    words = list(_started(command))
    names = {_base_name(word) for word in words}
    for name, setting in _ready().items():
        if name in names or any(package in word for word in words for package in setting.packages):
            return name, setting
    return None


def _started(command: list[str]) -> Iterator[str]:
    """The words of a command that may name the program it comes down to."""
    first = os.path.expanduser(command[0])
    yield first
    yield os.path.realpath(shutil.which(first) or first)
    if _base_name(first) in _LAUNCHERS:
        for word in command[1:]:
            yield from _NO_WORD.split(word)


def _base_name(word: str) -> str:
    """A program's name without folder, version of its package, ending and case."""
    name = _FOLDERS.sub("", word).casefold()
    return _ENDING.sub("", name.split("@")[0] if "@" in name[1:] else name)


def records_of(output: bytes) -> list[dict[str, Any]]:
    """The JSON objects of an output, one a line; other lines are skipped."""
    return list(_records(output))


def _records(output: bytes) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _found(record: Mapping[str, Any], path: str) -> Any:
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _counted(values: list[Any]) -> int | None:
    counts = [token_count(value) for value in values]
    return None if not counts or counts[0] is None else sum(count or 0 for count in counts)


def _switched_off(rule: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    if not rule:
        return []
    folder = Path(environment.get(rule["variable"]) or rule["folder"]).expanduser()
    try:
        table = tomllib.loads((folder / rule["file"]).read_text("utf-8")).get(rule["table"], {})
    except (OSError, ValueError):  # the program itself says what is wrong with its settings
        return []
    names = [name for name in table if _PLAIN_NAME.match(name)] if isinstance(table, dict) else []
    return [argument.replace("{name}", name) for name in names for argument in rule["arguments"]]


@functools.cache
def _ready() -> dict[str, ReadyCommand]:
    text = resources.files(__package__).joinpath("commands.toml").read_text("utf-8")
    return {name: _read(table) for name, table in tomllib.loads(text).items()}


def _read(table: Mapping[str, Any]) -> ReadyCommand:
    answer = table["answer"]
    return ReadyCommand(
        arguments=tuple(table["arguments"]),
        model=tuple(table["model"]),
        environment=table["environment"],
        without=tuple(table["without"]),
        packages=tuple(table["packages"]),
        overhead=table["overhead"],
        switch_off=table.get("switch_off", {}),
        text=_place(answer["text"]),
        errors=tuple(_place(error) for error in answer["error"]),
        cut=_place(answer["cut"]) if "cut" in answer else None,
        prompt_tokens=_place(answer["prompt_tokens"]),
        completion_tokens=_place(answer["completion_tokens"]),
    )


def _place(table: Mapping[str, Any]) -> Place:
    return Place(table["where"], tuple(table["at"]))
