"""Who is asked: provider, model, address and key, from [llm] and providers.toml."""

from __future__ import annotations

import functools
import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from memex_core.config import LLMConfig
from memex_core.errors import ConfigError

MAX_HOST = 253
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")


@dataclass(frozen=True, slots=True)
class Target:
    """`address` is an API base or the name of a program; `hints` says what to do, by kind of failure."""

    provider: str
    model: str
    address: str
    key: str = field(default="", repr=False)
    hints: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        named = " at ".join(part for part in (self.model, self.address) if part)
        return f"{self.provider} ({named})" if named else self.provider


def service(config: LLMConfig) -> Target:
    """The target of a provider with an address. Raises ConfigError naming the missing key of [llm]."""
    known = provider_facts(config.provider)
    model = config.model.strip() or known.get("model", "")
    if not model:
        raise ConfigError(
            f"[llm] model is not set, and {config.provider} has no default one",
            hint="set [llm] model in memex.toml, or MEMEX_LLM_MODEL",
        )
    address = checked_address(config.api_base.strip() or known["api_base"], "llm")
    variable = known.get("variable", "")
    key = (config.api_key or os.environ.get(variable, "")).strip()
    if variable and not key:
        raise ConfigError(
            f"{config.provider} needs a key, and none is set",
            hint=f"set MEMEX_API_KEY or {variable} in the environment",
        )
    key = checked_key(key, "llm", "MEMEX_API_KEY")
    return Target(config.provider, model, address, key, hints_of(config, model, address))


def hints_of(config: LLMConfig, model: str, address: str) -> dict[str, str]:
    """What to do, by kind of failure: the provider's own words before the general ones."""
    known = provider_facts(config.provider)
    filled = {
        "{model}": model,
        "{address}": address,
        "{timeout}": f"{config.timeout:g}",
    }
    hints: dict[str, str] = {**_facts()["hints"], **known.get("hints", {})}
    for place, value in filled.items():
        hints = {kind: hint.replace(place, value) for kind, hint in hints.items()}
    return hints


def provider_facts(provider: str) -> dict[str, Any]:
    """What providers.toml says of one provider."""
    facts: dict[str, Any] = _facts()[provider]
    return facts


def checked_key(key: str, section: str, variable: str) -> str:
    """`key`, if a header can hold it. Raises ConfigError naming section and variable."""
    if not all("!" <= char <= "~" for char in key):
        raise ConfigError(
            f"the key of [{section}] holds characters that no key has",
            hint=f"look at {variable}, or at [{section}] api_key in memex.toml",
        )
    return key


def checked_address(address: str, section: str) -> str:
    """`address` without a slash at its end. Nothing secret may be in it: failures name it. Raises ConfigError
    naming the section of memex.toml.
    """
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and parts.port != 0 and _is_host(parts)
    except ValueError:
        sound = False
    plain = address.isascii() and address.isprintable() and not set(address) & set(" @?#\\")
    if not sound or not plain:
        raise ConfigError(
            f"[{section}] api_base is no address that can be asked",
            hint="write it as http://host:port/v1 or https://host/v1, without a name, a password or a query",
        )
    return address.rstrip("/")


def _is_host(parts: SplitResult) -> bool:
    """Whether the address names a machine that a resolver can be asked for. Raises ValueError."""
    name = parts.hostname or ""
    if "[" in parts.netloc or ":" in name:
        literal = re.fullmatch(r"\[([^\[\]]+)\](?::[0-9]*)?", parts.netloc)
        return literal is not None and bool(ipaddress.IPv6Address(unquote(literal[1])))
    labels = name.removesuffix(".").split(".")
    return len(name) <= MAX_HOST and all(map(_LABEL.fullmatch, labels))


@functools.cache
def _facts() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("providers.toml").read_text("utf-8"))
