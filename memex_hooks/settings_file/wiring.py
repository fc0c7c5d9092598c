"""How the hooks of one harness should stand in its settings file, and in what way they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memex_hooks.settings_file.foreign_file import read_foreign, real_path
from memex_hooks.settings_file.hook_entries import Entry, Handler, entries_of, with_hooks, without_hooks
from memex_hooks.settings_file.launcher import SCRIPT, event_command, launcher_command, parse_command, quote
from memex_hooks.settings_file.receipts import Receipt, load_receipts, noted_files


@dataclass(frozen=True, slots=True)
class Change:
    """A settings file as it is and as it should be; None stands for no file. `receipt` is what to keep for
    the way back, None where it follows from the bytes."""

    path: Path
    before: bytes | None
    after: bytes | None
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Wiring:
    """The hooks of one harness: its id, and per event the timeout in seconds, in the order of a session."""

    harness: str
    timeouts: Mapping[str, int]

    def owns(self, event: str, handler: Mapping[str, object]) -> bool:
        """True for a handler that runs our script for this harness, wherever it stands."""
        command = parse_command(handler.get("command"))
        return command is not None and command.harness == self.harness

    def wanted(self, launcher: str) -> dict[str, Handler]:
        """The handler of every event; `launcher` is the front part of the command."""
        return {
            event: {
                "type": "command",
                "command": event_command(launcher, self.harness, event),
                "timeout": seconds,
            }
            for event, seconds in self.timeouts.items()
        }

    def addition(self, path: Path, launcher: str) -> Change:
        """The file with our hooks in it. Raises Refused where it cannot be edited safely."""
        before = read_foreign(path)
        return Change(path, before, with_hooks(before, path, self.wanted(launcher), self.owns))

    def removals(self, path: Path, env: Mapping[str, str]) -> list[Change]:
        """`path` and every other file of this harness that a receipt names, without our hooks; only real
        changes."""
        receipts = load_receipts(env)
        changes = []
        for place in distinct([path, *noted_files(receipts, self.harness, "hooks")]):
            before = read_foreign(place)
            if before is None or SCRIPT.encode() not in before:
                continue  # a file that cannot name our script need not parse
            after = without_hooks(before, place, self.owns, receipts.get(real_path(place), Receipt()))
            if after != before:
                changes.append(Change(place, before, after))
        return changes

    def problems(self, data: bytes, path: Path, env: Mapping[str, str]) -> list[str]:
        """What is wrong with our hooks in a file that has some of them, or should have. Installing mends it
        all."""
        entries = entries_of(data, path, self.owns)
        if not entries:
            return [f"no memex hook in {path}"]
        wanted = self.wanted(launcher_command(env))
        found = [entry.event for entry in entries]
        missing = [event for event in wanted if event not in found]
        doubled = [event for event in wanted if found.count(event) > 1]
        differing = [entry.event for entry in entries if entry.value != wanted.get(entry.event)]
        texts = [
            (missing, f"{path} has no memex hook for"),
            (doubled, f"{path} has more than one memex hook for"),
            (differing, f"{path} has a memex hook of another release or home for"),
        ]
        problems = [f"{text} {', '.join(dict.fromkeys(events))}" for events, text in texts if events]
        return problems + [f"the hooks run {script}, which is not there" for script in _lost_scripts(entries)]


def editor_command(path: Path) -> str:
    """The one command that lets a person mend a settings file by hand."""
    return f'"${{EDITOR:-vi}}" {quote(str(path))}'


def _lost_scripts(entries: Iterable[Entry]) -> list[Path]:
    commands = [parse_command(entry.value.get("command")) for entry in entries]
    scripts = dict.fromkeys(command.script for command in commands if command)
    return [script for script in scripts if not script.is_file()]


def distinct(paths: Iterable[Path]) -> list[Path]:
    """`paths` without those that lead to the same file as an earlier one."""
    first_of: dict[Path, Path] = {}
    for path in paths:
        first_of.setdefault(real_path(path), path)
    return list(first_of.values())
