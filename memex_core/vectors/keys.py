"""`vectors.keys.jsonl`: which matrix is the current one, and whose each of its rows is (seed 002).

Without numpy: forgetting comes by here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from memex_core.files.atomic import remove_stale_temps, write_atomic
from memex_core.files.regular import open_regular

KEYS_FILE = "vectors.keys.jsonl"
MAX_BYTES = 1 << 28
"""More than a million keys take."""
MATRIX_FILE = re.compile(r"vectors-([0-9]{1,12})\.npy\Z")


class Key(NamedTuple):
    """Whose vector a row is, and the hash of the text that it was made of."""

    file: str
    name: str
    hash: str


_NOBODY = Key("", "", "")


def read_keys(folder: Path) -> tuple[dict[str, Any], list[Key]]:
    """(header, keys in the order of the rows); ({}, []) for no such file, and for one of another shape."""
    try:
        with open_regular(folder / KEYS_FILE) as file:
            data = file.read(MAX_BYTES + 1)
        header, *rows = [orjson.loads(line) for line in data.split(b"\n") if line.strip()]
        keys = [Key(row["file"], row["name"], row["hash"]) for row in rows]
    except (OSError, ValueError, TypeError, KeyError):
        return {}, []
    if len(data) > MAX_BYTES or not isinstance(header, dict):
        return {}, []
    return (header, keys) if all(isinstance(part, str) for key in keys for part in key) else ({}, [])


def keys_text(header: dict[str, Any], keys: Sequence[Key]) -> bytes:
    """The file of these keys."""
    rows = [json.dumps(row, ensure_ascii=False) for row in (header, *(key._asdict() for key in keys))]
    return "".join(f"{row}\n" for row in rows).encode("utf-8", "replace")


def matrix_name(header: dict[str, Any]) -> str:
    """The matrix that a header names; "" where it names none that lies beside it."""
    name = header.get("vectors_file")
    return name if isinstance(name, str) and MATRIX_FILE.match(name) else ""


def forget_keys(folder: Path, is_gone: Callable[[Key], bool]) -> None:
    """Take the names of what is gone out of the keys; its rows go when the cache is next filled. Keys that
    cannot be read go as a whole. Raises OSError.
    """
    remove_stale_temps(folder)
    header, keys = read_keys(folder)
    if not header and (folder / KEYS_FILE).is_file():
        (folder / KEYS_FILE).unlink()
    left = [_NOBODY if is_gone(key) else key for key in keys]
    if left != keys:
        write_atomic(folder / KEYS_FILE, keys_text(header, left))
