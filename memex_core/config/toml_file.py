"""One memex.toml: read whole or refused by line and column, and where a key stands in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import Field, dataclass
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.config.settings import sections
from memex_core.config.values import accept, shown, wanted
from memex_core.errors import ConfigError

OLD_NAMES = {"wiki": "pages"}
"""A section's name in the specification -> its name here. What the file says under the new name holds."""

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_PROBE = "memex-probe"


@dataclass(frozen=True, slots=True)
class Entry:
    """A key that we know, as a file says it; `typed` is the section's name there."""

    section: str
    typed: str
    key: Field[Any]
    value: object


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A memex.toml that could be read as TOML."""

    path: Path
    text: str
    document: dict[str, object]

    def entries(self) -> Iterator[Entry]:
        """Every key of it that we know; of two that say the same, the last one holds."""
        named = [*OLD_NAMES.items(), *((name, name) for name in sections())]
        for typed, section in named:
            table = self.document.get(typed)
            if isinstance(table, dict):
                for name, key in sections()[section].items():
                    if name in table:
                        yield Entry(section, typed, key, table[name])

    def misfits(self) -> list[ConfigError]:
        """What stands in it and cannot act."""
        no_tables = [
            ConfigError(f"{self.place(name)}: [{name}] must be a table", hint=f"put [{name}] on its own line")
            for name in (*sections(), *OLD_NAMES)
            if name in self.document and not isinstance(self.document[name], dict)
        ]
        return no_tables + [
            misfit(f"{self.place(entry.typed, entry.key.name)}: [{entry.typed}] {entry.key.name}", entry)
            for entry in self.entries()
            if accept(entry.key, entry.value) is None
        ]

    def place(self, section: str, key: str = "") -> str:
        """The file and the line, for a message."""
        line = self.line_of(section, key)
        return f"{self.path}, line {line}" if line else str(self.path)

    def line_of(self, section: str, key: str = "") -> int:
        """The line, from 1, that opens the section or sets the key; 0 where that is not plain to see."""
        quote, dot = "[\"']?", r"\s*\.\s*"
        table, name = (f"{quote}{re.escape(word)}{quote}" for word in (section, key))
        if key:
            written = {rf"\s*{name}\s*=": section, rf"\s*{table}(?:{dot}{name})?\s*=": ""}
        else:
            written = {rf"\s*(?:\[\[?\s*)?{table}\s*[\].=]": ""}
        start = 0
        for number, line in enumerate(self.text.split("\n"), 1):
            for pattern, inside in written.items():
                if re.match(pattern, line) and _stands_in(self.text[:start], inside, key):
                    return number
            start += len(line) + 1
        return 0


def read_file(path: Path) -> ConfigFile | None:
    """None where there is no such file. Raises ConfigError for one that cannot be read."""
    try:
        text = paths.read_config(path).decode("utf-8-sig")
        return ConfigFile(path, text, tomllib.loads(text))
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = "make it a readable file, or move it away"
        raise ConfigError(f"{path}: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        raise _broken(path, *_end_of(before), "this is no UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line, column = (int(at[1]), int(at[2])) if at and at[1] else _end_of(text.rstrip())
        raise _broken(path, line, column, _AT.sub("", str(error))) from error
    except (ValueError, RecursionError) as error:
        reason = "a number is too long" if isinstance(error, ValueError) else "nested too deeply"
        raise ConfigError(f"{path}: {reason}", hint="correct it, or move the file away") from error


def misfit(what: str, entry: Entry) -> ConfigError:
    """The error that says what is wanted. A key or password is never repeated."""
    secret = entry.key.name == "api_key"
    found = "" if secret else f", not {shown(entry.value)}"
    return ConfigError(f"{what} must be {wanted(entry.key)}{found}", hint="correct the value")


def _stands_in(before: str, section: str, key: str) -> bool:
    """Is what follows `before` a statement of that section, and no part of a text or of another table?"""
    try:
        document = tomllib.loads(f"{before}\n{_PROBE} = 0\n")
    except (ValueError, RecursionError):
        return False
    table = document.get(section) if section else document
    return not key or (isinstance(table, dict) and _PROBE in table)


def _end_of(text: str) -> tuple[int, int]:
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1


def _broken(path: Path, line: int, column: int, reason: str) -> ConfigError:
    return ConfigError(
        f"{path}, line {line}, column {column}: {reason}", hint="correct that line, or move the file away"
    )
