"""Which memex.toml and which variables hold for a memory root, and what they say together (seed 000 §10)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memex_core import paths
from memex_core.config.settings import DataDirConfig, MemexConfig, sections
from memex_core.config.toml_file import ConfigFile, Entry, misfit, read_file
from memex_core.config.values import accept
from memex_core.errors import ConfigError

ROOT_VARIABLE = "MEMEX_DATA_DIR"


@dataclass(frozen=True, slots=True)
class Setting:
    """One key as it holds, and who said so: "default", "<file>:<line>", a variable, or "given" for a memory
    root that the caller named.
    """

    section: str
    key: str
    value: object
    origin: str
    doc: str


def load_config(root: Path, env: Mapping[str, str] | None = None) -> MemexConfig:
    """The configuration of a memory root: defaults, its memex.toml, MEMEX_* variables. Raises ConfigError.

    Where ~/.memex/memex.toml moved the memory there, that file comes before the root's own.
    """
    env = os.environ if env is None else env
    files = config_files(root, env)
    wrong = [error for file in files for error in file.misfits()] + variable_misfits(env)
    if wrong:
        raise wrong[0]
    config = MemexConfig()
    for entry in [entry for file in files for entry in file.entries()] + list(_variables(env)):
        value = accept(entry.key, entry.value)
        section = replace(getattr(config, entry.section), **{entry.key.name: value})
        config = replace(config, **{entry.section: section})
    if env.get(ROOT_VARIABLE):
        config = replace(config, data_dir=DataDirConfig(env[ROOT_VARIABLE]))
    return config


def config_values(root: Path, env: Mapping[str, str] | None = None) -> list[Setting]:
    """Every key with the value that holds and where it came from. Raises ConfigError.

    Of an API key it says only that one is set; `[data_dir] path` is the memory root itself.
    """
    env = os.environ if env is None else env
    config = load_config(root, env)
    files = config_files(root, env)
    origins = {(e.section, e.key.name): _origin(file, e) for file in files for e in file.entries()}
    origins |= {(e.section, e.key.name): e.typed for e in _variables(env)}
    origins["data_dir", "path"] = _origin_of_root(root, env, files)
    settings = []
    for section, keys in sections().items():
        for name, key in keys.items():
            value = getattr(getattr(config, section), name)
            if name == "api_key":
                value = "(set)" if value else ""
            if (section, name) == ("data_dir", "path"):
                value = str(root)
            origin = origins.get((section, name), "default")
            settings.append(Setting(section, name, value, origin, key.metadata["doc"]))
    return settings


def config_files(root: Path, env: Mapping[str, str]) -> list[ConfigFile]:
    """The files that hold for a memory root, the weaker one first. Raises ConfigError."""
    own, home = paths.config_path(root), paths.config_path(paths.home_root(env))
    moved = paths.moved_root(env)
    layers = [home, own] if moved and _same(moved, root) and not _same(home, own) else [own]
    return [file for file in map(read_file, layers) if file]


def variable_misfits(env: Mapping[str, str]) -> list[ConfigError]:
    """The MEMEX_* variables that cannot act."""
    return [misfit(entry.typed, entry) for entry in _variables(env) if accept(entry.key, entry.value) is None]


def memory_root_of(data_dir: str | None = None) -> Path:
    """The memory root a door works on: its own option, else what `paths.data_dir` finds. Raises ConfigError
    for the home of another user.
    """
    env = _environment(data_dir)
    chosen = env.get(ROOT_VARIABLE, "")
    if chosen.startswith("~") and chosen != "~" and not chosen.startswith("~/"):
        hint = "write the whole path; only ~ and ~/ are read as a home, your own"
        raise ConfigError(f"{ROOT_VARIABLE}: {chosen!r} is no folder", hint=hint)
    return paths.data_dir(env)


def root_and_config(data_dir: str | None = None) -> tuple[Path, MemexConfig]:
    """The memory root and its configuration. Raises ConfigError."""
    root = memory_root_of(data_dir)
    return root, load_config(root, _environment(data_dir))


def _environment(data_dir: str | None) -> Mapping[str, str]:
    return {**os.environ, "MEMEX_DATA_DIR": data_dir} if data_dir else os.environ


def _variables(env: Mapping[str, str]) -> Iterator[Entry]:
    """What the environment says; a variable that is empty says nothing.

    Without MEMEX_DATA_DIR, which is a path as the shell gave it, whatever bytes that has.
    """
    for section, keys in sections().items():
        for key in keys.values():
            variable = key.metadata.get("env", "")
            value = env.get(variable, "").strip() if variable not in ("", ROOT_VARIABLE) else ""
            if value:
                yield Entry(section, variable, key, value)


def _origin(file: ConfigFile, entry: Entry) -> str:
    line = file.line_of(entry.typed, entry.key.name)
    return f"{file.path}:{line}" if line else str(file.path)


def _origin_of_root(root: Path, env: Mapping[str, str], files: list[ConfigFile]) -> str:
    if env.get(ROOT_VARIABLE) and _same(paths.data_dir(env), root):
        return ROOT_VARIABLE
    moved = paths.moved_root(env)
    if moved and _same(moved, root):
        named = {entry.section: _origin(files[0], entry) for entry in files[0].entries() if entry.value}
        return named.get("data_dir") or named["app"]
    return "default" if _same(paths.home_root(env), root) else "given"


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
