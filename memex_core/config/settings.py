"""Every section and key of memex.toml, what holds when it is silent, and what may stand there (seed 000 §4.5,
§10).

A key's metadata says the rest: `doc`; `choices` or `range`; `env`, the variable that overrides it; `fits` and
`wanted`, a check of its own and what it asks for; `example`, for a key that has no default.
docs/configuration.md is made from it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from memex_core import paths

T = TypeVar("T")


def _key(
    default: T,
    doc: str,
    *,
    choices: tuple[str, ...] = (),
    range: tuple[float, float] | None = None,
    env: str = "",
    fits: Callable[[str], bool] | None = None,
    wanted: str = "",
    example: object = None,
) -> T:
    rule = {"choices": choices, "range": range, "env": env, "fits": fits, "wanted": wanted}
    return field(default=default, metadata={**rule, "doc": doc, "example": example})


@dataclass(frozen=True, slots=True)
class AppConfig:
    """Only `~/.memex/memex.toml` is asked."""

    name: str = _key(
        "memex",
        "The memory root is `~/.<name>`, unless `[data_dir] path` says otherwise.",
        fits=paths.is_safe_id,
        wanted="a plain name such as memex (letters, digits, '-', '_' and '.')",
    )


@dataclass(frozen=True, slots=True)
class DataDirConfig:
    """Only `~/.memex/memex.toml` is asked."""

    path: str = _key(
        "",
        "The memory root. `~` is your home; a relative path starts there. Empty: `~/.<[app] name>`.",
        env="MEMEX_DATA_DIR",
        fits=paths.is_root_path,
        wanted="a path, absolute, relative to your home or beginning with ~/",
    )


def _is_address(text: str) -> bool:
    return not text or text.startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """The model that `memex consolidate` asks. Nothing else asks one."""

    provider: str = _key(
        "ollama",
        "Who answers: a service (`openai`, `anthropic`; their SDK must be installed), a server of your own "
        "(`ollama`, `lmstudio`), or a program (`command`).",
        choices=("openai", "anthropic", "ollama", "lmstudio", "command"),
        env="MEMEX_LLM_PROVIDER",
    )
    model: str = _key("", "The model's name. Empty: the provider's default.", env="MEMEX_LLM_MODEL")
    api_base: str = _key(
        "",
        "Where the service listens. Empty: the provider's default.",
        fits=_is_address,
        wanted="an address that begins with http:// or https://",
    )
    api_key: str = _key(
        "",
        "The service's key. Better in the environment than in a file; never shown, logged or backed up.",
        env="MEMEX_API_KEY",
    )
    timeout: float = _key(60.0, "Seconds to wait for an answer.", range=(1, 3_600))
    max_tokens: int = _key(4_096, "The most tokens an answer may have.", range=(64, 1_000_000))
    max_prompt_tokens: int = _key(
        24_000, "The most tokens that one question may have.", range=(1_000, 10_000_000)
    )
    daily_token_limit: int = _key(
        0,
        "Tokens a day (from local midnight), questions and answers together; a call that could exceed it is "
        "not made. 0: no limit.",
        range=(0, 1_000_000_000),
    )
    command: list[str] = field(
        default_factory=list,
        metadata={
            "doc": 'With `provider = "command"`: the program that reads the question on standard input and '
            "writes the answer, with its arguments."
        },
    )


@dataclass(frozen=True, slots=True)
class EmbedConfig:
    """Recall by meaning beside words, by vectors from an endpoint such as OpenAI's or a local server's. Off
    until both `api_base` and `model` are set; then a recall sends it the query and, once, every page, item
    and event it can find. Needs the extra `embed` (numpy).
    """

    api_base: str = _key(
        "",
        "Where it listens, up to `/v1`; `/embeddings` is added. Empty: off.",
        fits=_is_address,
        wanted="an address that begins with http:// or https://",
    )
    model: str = _key("", "The model's name. Empty: off.")
    api_key: str = _key(
        "",
        "Its key, if it wants one. Better in the environment than in a file; never shown, logged or "
        "backed up.",
        env="MEMEX_EMBED_API_KEY",
    )
    timeout: float = _key(
        5.0, "Seconds to wait for one of its answers; without one, words alone rank.", range=(0.1, 600)
    )
    weight: float = _key(0.5, "How much words count; meaning counts for what is left of 1.", range=(0, 1))
    max_chars: int = _key(
        6_000, "Of a longer text, only so many characters are sent.", range=(100, 1_000_000)
    )


@dataclass(frozen=True, slots=True)
class RecencyDecayConfig:
    """How importance fades when `memex decay` runs."""

    enabled: bool = _key(True, "False: `memex decay` changes nothing.")
    half_life_days: float = _key(
        30.0,
        "Importance halves every so many days without an access; `memex forget --mode decay` lets a page "
        "expire after as many.",
        range=(0.01, 36_500),
    )


@dataclass(frozen=True, slots=True)
class LoggingConfig:
    """The operation log: one line an operation, never content."""

    level: str = _key(
        "INFO",
        "What is below it is not logged.",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
        env="MEMEX_LOG_LEVEL",
    )
    file: str = _key(
        "",
        "Where the log lies. `~` is your home; a relative path starts at the memory root. Empty: "
        "`logs/memex.log`. At 1 MiB it is put aside; three old ones are kept.",
    )
    format: str = _key("json", "A JSON object a line, or text.", choices=("json", "text"))


@dataclass(frozen=True, slots=True)
class Bm25Config:
    """How search ranks by words. `k1` and `b` are tuned for each kind of text until you set them."""

    k1: float | None = _key(
        None,
        "How much a word that is said again counts. Set, it holds for every kind of text.",
        range=(0, 100),
        example=1.2,
    )
    b: float | None = _key(
        None,
        "How much a long text is held back. Set, it holds for every kind of text.",
        range=(0, 1),
        example=0.75,
    )
    default_top_k: int = _key(10, "How many pages a recall gives.", range=(1, 100))


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """The index, `mem.db`: derived from the files, deletable at any time."""

    journal_mode: str = _key(
        "auto",
        "SQLite's. `auto`: WAL where it is safe, else a rollback journal; `memex info` says which and why.",
        choices=("auto", "wal", "delete", "truncate"),
    )
    watch_poll_interval: float = _key(
        60.0, "Seconds between two looks when files are watched by polling. 0: no polling.", range=(0, 86_400)
    )
    auto_rebuild_on_startup: bool = _key(
        False, "True: every command, server and hook builds the index anew when it starts. It heals without."
    )


@dataclass(frozen=True, slots=True)
class PagesConfig:
    """The pages. The section may also be called `[wiki]`, its older name."""

    default_importance: float = _key(0.5, "The importance of a page that was given none.", range=(0, 1))
    max_body_chars: int = _key(
        50_000,
        "A longer body is refused; the page of a session is cut and points to its transcript.",
        range=(1_000, 10_000_000),
    )
    slug_algo: str = _key(
        "kebab",
        "How a new page's file name follows from its title: its words, or (`sha1`) letters and digits that "
        "are ASCII in any language.",
        choices=("kebab", "sha1"),
    )


@dataclass(frozen=True, slots=True)
class CaptureConfig:
    """What is kept of a session."""

    redact: bool = _key(True, "Take secrets out before anything of a session is stored.")
    diary: bool = _key(True, "Note each session in the diary: what was asked and what came of it.")


@dataclass(frozen=True, slots=True)
class ExtractConfig:
    """What becomes a page of its own."""

    enabled: bool = _key(True, "Make pages of what a session says by cue phrases.")
    tool_results: bool = _key(False, "Also make a page of every tool result.")


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """What a new session is told by itself."""

    session_start: bool = _key(True, "False: it is told nothing.")
    session_start_chars: int = _key(1_500, "The most characters it is told.", range=(300, 8_000))


@dataclass(frozen=True, slots=True)
class MemexConfig:
    """Everything that can be configured, with what holds when memex.toml is silent."""

    app: AppConfig = field(default_factory=AppConfig)
    data_dir: DataDirConfig = field(default_factory=DataDirConfig)
    llm: LLMConfig = field(default_factory=LLMConfig)
    bm25: Bm25Config = field(default_factory=Bm25Config)
    embed: EmbedConfig = field(default_factory=EmbedConfig)
    recency_decay: RecencyDecayConfig = field(default_factory=RecencyDecayConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    pages: PagesConfig = field(default_factory=PagesConfig)
    capture: CaptureConfig = field(default_factory=CaptureConfig)
    extract: ExtractConfig = field(default_factory=ExtractConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    logging: LoggingConfig = field(default_factory=LoggingConfig)


@functools.cache
def sections() -> dict[str, dict[str, Field[Any]]]:
    """Every key of every section, in the order in which people read about them."""
    defaults = MemexConfig()
    return {
        section.name: {key.name: key for key in fields(getattr(defaults, section.name))}
        for section in fields(MemexConfig)
    }
