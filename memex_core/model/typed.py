"""What a caller of the Python API gave, by its type: WrongValue (a ValueError) names what does not fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from memex_core.errors import WrongValue


def check_text(name: str, value: object, *, optional: bool = False) -> None:
    if not (isinstance(value, str) or (optional and value is None)):
        raise _wrong(name, "a text", value)


def check_texts(name: str, value: object) -> None:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise _wrong(name, "a list of texts", value)


def check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(name, "a number", value)


def check_whole_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, "a whole number", value)


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise _wrong(name, "True or False", value)


def check_list(name: str, value: object) -> None:
    if not isinstance(value, (list, tuple)):
        raise _wrong(name, "a list", value)


def check_mapping(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise _wrong(name, "a dict", value)


def check_is(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise _wrong(name, f"a {kind.__name__}", value)


def as_path(name: str, value: object) -> Path:
    if not isinstance(value, (str, os.PathLike)):
        raise _wrong(name, "a path", value)
    return Path(value)


def _wrong(name: str, wanted: str, value: object) -> WrongValue:
    return WrongValue(f"{name} must be {wanted}, not {value!r:.80}")
