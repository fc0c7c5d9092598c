"""What a person should know about their memex.toml: what is wrong in it, and what nobody reads."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from memex_core import paths
from memex_core.config.load import config_files, variable_misfits
from memex_core.config.settings import sections
from memex_core.config.toml_file import OLD_NAMES, ConfigFile
from memex_core.config.values import shown
from memex_core.errors import ConfigError

_BARE = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")


def config_problems(root: Path, env: Mapping[str, str] | None = None) -> list[str]:
    """A line each: a file that cannot be read, values that cannot act, keys that nobody reads."""
    env = os.environ if env is None else env
    try:
        files = config_files(root, env)
    except ConfigError as error:
        return [str(error)]
    wrong = [error for file in files for error in file.misfits()] + variable_misfits(env)
    home = paths.config_path(paths.home_root(env))
    notes = [line for file in files for line in (*_unread(file), *_doubled(file), *_late(file, home))]
    return [str(error) for error in wrong] + notes


def _unread(file: ConfigFile) -> list[str]:
    known = {name: list(keys) for name, keys in sections().items()}
    known |= {old: known[new] for old, new in OLD_NAMES.items()}
    lines = []
    for name, table in file.document.items():
        if name not in known:
            lines.append(f"{file.place(name)}: {_unknown(f'[{_said(name)}]', name, known)}")
        elif isinstance(table, dict):
            lines += [
                f"{file.place(name, key)}: {_unknown(f'[{name}] {_said(key)}', key, known[name])}"
                for key in table
                if key not in known[name]
            ]
    return lines


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The nearest thing that was perhaps meant: the key's own section, else a name like it."""
    owners = [f"[{section}]" for section, keys in sections().items() if name in keys]
    if owners:
        return f"{what} is no setting; {name} belongs to {' or '.join(owners)}"
    near = difflib.get_close_matches(name[:100], list(known), n=1, cutoff=0.5)
    return f"{what} is no setting" + (f"; did you mean {near[0]}?" if near else "")


def _doubled(file: ConfigFile) -> list[str]:
    """What is set under a section's old name and under its new one."""
    typed = {(entry.typed, entry.key.name) for entry in file.entries()}
    return [
        f"{file.place(old, key)}: [{old}] {key} is also set in [{new}], which holds"
        for old, new in OLD_NAMES.items()
        for key in sections()[new]
        if {(old, key), (new, key)} <= typed
    ]


def _late(file: ConfigFile, home: Path) -> list[str]:
    """Who reads this file has found the memory already."""
    if os.path.realpath(file.path) == os.path.realpath(home):
        return []
    return [
        f"{file.place(entry.typed, entry.key.name)}: [{entry.section}] {entry.key.name} acts only in {home}"
        for entry in file.entries()
        if entry.section in ("app", "data_dir") and entry.value != entry.key.default
    ]


def _said(name: str) -> str:
    return name if _BARE.match(name) else shown(name)
