"""Does a value fit its key, and what would?"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import Field
from typing import Any

MAX_SHOWN = 60
_KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text in one line",
    "list[str]": "a list of texts, or one command line",
}


def kind_of(key: Field[Any]) -> str:
    """The key's type without the None that stands for "not set"."""
    return str(key.type).removesuffix(" | None")


def wanted(key: Field[Any]) -> str:
    """What may stand there, in words that follow "must be"."""
    rule = key.metadata
    if rule.get("wanted"):
        return str(rule["wanted"])
    if rule.get("choices"):
        return f"one of {', '.join(rule['choices'])}"
    if rule.get("range"):
        return f"{_KINDS[kind_of(key)]} from {rule['range'][0]} to {rule['range'][1]}"
    return _KINDS[kind_of(key)]


def accept(key: Field[Any], value: object) -> object | None:
    """The value as the key holds it, None where it does not fit.

    A whole number stands for a float, a command line for its words, a choice may be written in any case.
    """
    return _ACCEPT[kind_of(key)](value, key.metadata)


def shown(value: object) -> str:
    """The value for a message: short, in one line, however deep or long it is."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > MAX_SHOWN:
        return "so long a number"
    text = ascii(value) if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _bool(value: object, _rule: Mapping[str, Any]) -> object | None:
    return value if isinstance(value, bool) else None


def _int(value: object, rule: Mapping[str, Any]) -> object | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and _within(value, rule) else None


def _float(value: object, rule: Mapping[str, Any]) -> object | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if _within(value, rule) else None


def _text(value: object, rule: Mapping[str, Any]) -> object | None:
    if not isinstance(value, str) or not _is_line(value):
        return None
    if rule["choices"]:
        return {choice.casefold(): choice for choice in rule["choices"]}.get(value.casefold())
    return value if rule["fits"] is None or rule["fits"](value) else None


def _texts(value: object, _rule: Mapping[str, Any]) -> object | None:
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError:  # a quotation that does not end
            return None
    return value if isinstance(value, list) and all(map(_is_line, value)) else None


def _within(value: float, rule: Mapping[str, Any]) -> bool:
    low, high = rule["range"]
    return bool(low <= value <= high)


def _is_line(value: object) -> bool:
    """Text without control characters and lone surrogates: nothing that a program or a path chokes on."""
    return isinstance(value, str) and not any(
        ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) < 0xE000 for char in value
    )


_ACCEPT: dict[str, Callable[[object, Mapping[str, Any]], object | None]] = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "str": _text,
    "list[str]": _texts,
}
