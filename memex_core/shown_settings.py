"""Settings as they may be shown: the values that act, and no secret."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memex_core.config import MemexConfig, config_values
from memex_core.errors import ConfigError
from memex_core.files.operation_log import log_file
from memex_core.llm.target import provider_facts
from memex_core.text.redact import redact
from memex_core.text.secret_kinds import name_kind

if TYPE_CHECKING:
    from memex_core.index.bm25_retriever import BM25Retriever


def acting_settings(root: Path, config: MemexConfig, retriever: BM25Retriever) -> list[dict[str, Any]]:
    """Every setting with the value that acts, also where it is left to us (`value` None or ""); [] where
    memex.toml cannot be read, which `config_problems` says.
    """
    try:
        settings = config_values(root)
    except ConfigError:
        return []
    facts = provider_facts(config.llm.provider)
    left_to_us = {
        ("llm", "model"): facts.get("model", ""),
        ("llm", "api_base"): facts.get("api_base", ""),
        ("bm25", "k1"): retriever.k1,
        ("bm25", "b"): retriever.b,
        ("logging", "file"): str(log_file(root)),
    }
    acting = {
        (each.section, each.key): each.value
        if each.value not in (None, "")
        else left_to_us.get((each.section, each.key), each.value)
        for each in settings
    }
    return [asdict(each) | {"value": shown_setting(acting[each.section, each.key])} for each in settings]


def shown_setting(value: object) -> object:
    """A setting as it may be shown: an address or a command line can hold a key."""
    if isinstance(value, str):
        return redact(value)
    if not isinstance(value, list):
        return value
    words: list[str] = []
    is_secret = False
    for word in map(str, value):
        words.append("[REDACTED:secret]" if is_secret else _shown_option(word))
        is_secret = word.startswith("-") and "=" not in word and bool(name_kind(word.encode()))
    return words


def _shown_option(word: str) -> str:
    """A word of a command line; of `--token=x` and `TOKEN=x` only the name."""
    name, _, given = word.partition("=")
    return f"{name}=[REDACTED:secret]" if given and name_kind(name.encode()) else redact(word)
