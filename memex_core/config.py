"""memex.toml (seed 000 §10): defaults in the dataclasses, then the file, then MEMEX_* variables.

Only doors load it; everything below is told its values.
"""

from __future__ import annotations

import difflib
import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.errors import ConfigError

_CORRECT = "correct the value"


@dataclass(frozen=True, slots=True)
class Bm25Config:
    """`k1` and `b` None: values tuned for memory pages; set: they hold everywhere (DESIGN §3)."""

    k1: float | None = None
    b: float | None = None
    default_top_k: int = field(default=10, metadata={"range": (1, 100)})


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """`journal_mode` "auto" takes WAL where it is safe; "wal", "delete" or "truncate" force one."""

    journal_mode: str = field(default="auto", metadata={"choices": ("auto", "wal", "delete", "truncate")})
    watch_poll_interval: float = field(default=60.0, metadata={"range": (0, 86_400)})
    auto_rebuild_on_startup: bool = False


@dataclass(frozen=True, slots=True)
class PagesConfig:
    """Seed 000 §10 [wiki]; `[wiki]` in the file is read as `[pages]`."""

    default_importance: float = field(default=0.5, metadata={"range": (0, 1)})
    max_body_chars: int = field(default=50_000, metadata={"range": (1_000, 10_000_000)})
    slug_algo: str = field(default="kebab", metadata={"choices": ("kebab", "sha1")})


@dataclass(frozen=True, slots=True)
class CaptureConfig:
    """`redact` takes secrets out before anything of a session is stored."""

    redact: bool = True


@dataclass(frozen=True, slots=True)
class ExtractConfig:
    """`tool_results` also makes a node of every tool result."""

    enabled: bool = True
    tool_results: bool = False


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """`session_start` False: a new session is told nothing by itself."""

    session_start: bool = True
    session_start_chars: int = field(default=1_500, metadata={"range": (300, 8_000)})


@dataclass(frozen=True, slots=True)
class AppConfig:
    """`name`: the memory root is ~/.<name> unless [data_dir] path or MEMEX_DATA_DIR says otherwise."""

    name: str = "memex"


@dataclass(frozen=True, slots=True)
class DataDirConfig:
    """`path`: the memory root, "" for ~/.<app name>."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """The model that `consolidate` asks. `model` and `api_base` "" mean the provider's default."""

    provider: str = field(
        default="ollama",
        metadata={"choices": ("openai", "anthropic", "ollama", "lmstudio", "command")},
    )
    model: str = ""
    api_base: str = ""
    api_key: str = ""
    timeout: float = field(default=60.0, metadata={"range": (1, 3_600)})
    max_tokens: int = field(default=4_096, metadata={"range": (64, 1_000_000)})
    max_prompt_tokens: int = field(default=24_000, metadata={"range": (1_000, 10_000_000)})
    daily_token_limit: int = field(default=0, metadata={"range": (0, 1_000_000_000)})
    command: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecencyDecayConfig:
    """Importance halves every `half_life_days` without an access, when `memex decay` runs."""

    enabled: bool = True
    half_life_days: float = field(default=30.0, metadata={"range": (0.01, 36_500)})


@dataclass(frozen=True, slots=True)
class LoggingConfig:
    """The operation log. `file` "" means logs/memex.log in the memory root."""

    level: str = field(default="INFO", metadata={"choices": ("DEBUG", "INFO", "WARNING", "ERROR")})
    file: str = ""
    format: str = field(default="json", metadata={"choices": ("json", "text")})


@dataclass(frozen=True, slots=True)
class MemexConfig:
    """Everything that can be configured, with what holds when memex.toml is silent."""

    app: AppConfig = field(default_factory=AppConfig)
    data_dir: DataDirConfig = field(default_factory=DataDirConfig)
    llm: LLMConfig = field(default_factory=LLMConfig)
    recency_decay: RecencyDecayConfig = field(default_factory=RecencyDecayConfig)
    logging: LoggingConfig = field(default_factory=LoggingConfig)

    bm25: Bm25Config = field(default_factory=Bm25Config)
    index: IndexConfig = field(default_factory=IndexConfig)
    pages: PagesConfig = field(default_factory=PagesConfig)
    capture: CaptureConfig = field(default_factory=CaptureConfig)
    extract: ExtractConfig = field(default_factory=ExtractConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)


def load_config(root: Path) -> MemexConfig:
    """The configuration of a memory root; a missing file means the defaults. Raises ConfigError."""
    path = paths.config_path(root)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a FIFO would be waited for
            raise ConfigError(f"{path} is not a regular file", hint="move it away")
        with path.open("rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        return MemexConfig()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="correct that line, or move the file away") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if "wiki" in document:
        document.setdefault("pages", document["wiki"])
    config = MemexConfig()
    for section in fields(MemexConfig):
        values = document.get(section.name)
        if isinstance(values, dict):
            config = replace(
                config, **{section.name: _section(getattr(config, section.name), values, section.name, path)}
            )
    return config


def _section(defaults: Any, values: Mapping[str, Any], name: str, path: Path) -> Any:
    known = {f.name: f for f in fields(defaults)}
    chosen = {key: value for key, value in values.items() if key in known}
    for key, value in chosen.items():
        expected = getattr(defaults, key)
        fits = (
            isinstance(value, (int, float)) and not isinstance(value, bool)
            if expected is None
            else type(value) is type(expected)
        )
        if not fits and not (isinstance(expected, float) and type(value) is int):
            wanted = "a number" if expected is None else type(expected).__name__
            raise ConfigError(
                f"{path}: [{name}] {key} must be {wanted}, not {value!r}", hint="correct the value"
            )
        _check_allowed(known[key].metadata, value, f"{path}: [{name}] {key}")
    return replace(defaults, **chosen)


def _check_allowed(allowed: Mapping[str, Any], value: Any, what: str) -> None:
    choices, limits = allowed.get("choices"), allowed.get("range")
    if choices and value not in choices:
        raise ConfigError(
            f"{what} must be one of {', '.join(choices)}, not {value!r}", hint="correct the value"
        )
    if limits and not limits[0] <= value <= limits[1]:
        raise ConfigError(
            f"{what} must be {limits[0]} to {limits[1]}, not {value!r}", hint="correct the value"
        )


def config_problems(root: Path) -> list[str]:
    """What is wrong with memex.toml, a line each: a file that cannot be read, keys that nobody reads."""
    path = paths.config_path(root)
    try:
        load_config(root)
        document = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except ConfigError as error:
        return [str(error)]
    known = {section.name: [f.name for f in fields(section.default_factory())] for section in _sections()}
    known["wiki"] = known["pages"]
    unread = []
    for name, values in document.items():
        if name not in known:
            unread.append(_unread(path, f"[{name}]", name, known))
        elif name in known and isinstance(values, dict):
            unread += [
                _unread(path, f"[{name}] {key}", key, known[name]) for key in values if key not in known[name]
            ]
    return unread


def _sections() -> list[Any]:
    return list(fields(MemexConfig))


def _unread(path: Path, what: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"{path}: {what} is no setting" + (f"; did you mean {near[0]}?" if near else "")


def memory_root_of(data_dir: str | None = None) -> Path:
    """The memory root a door works on: its own option, else MEMEX_DATA_DIR, else ~/.memex."""
    return paths.data_dir({**os.environ, "MEMEX_DATA_DIR": data_dir} if data_dir else None)


def root_and_config(data_dir: str | None = None) -> tuple[Path, MemexConfig]:
    """The memory root and its configuration. Raises ConfigError."""
    root = memory_root_of(data_dir)
    return root, load_config(root)
