"""Typed access to records whose shape nobody promises: a value of another type counts as absent."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import orjson

Fields = dict[str, Any]


def text(record: Fields, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def mapping(record: Fields, key: str) -> Fields:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def listing(record: Fields, key: str) -> list[Any]:
    value = record.get(key)
    return value if isinstance(value, list) else []


def whole(record: Fields, key: str) -> int | None:
    """An integer, also when it was written as a float (`used_percent: 26.0` is how those come about)."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value == value and abs(value) < 2**63 else None


def count(record: Fields, key: str) -> int:
    """A token count: 0 where there is none."""
    return max(0, whole(record, key) or 0)


def compact(value: object) -> str:
    """`value` as JSON without blanks, keys in the order of the log."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""


def parsed(json_text: str) -> object:
    """The value of a JSON text inside a record, None where it is not valid (tool arguments may not be)."""
    try:
        return orjson.loads(json_text)
    except ValueError:
        return None


def moment(iso: str) -> datetime | None:
    """The time of an ISO 8601 text; without an offset it is UTC."""
    try:
        time = datetime.fromisoformat(iso)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def utc(iso: str) -> str:
    """`iso` as ISO 8601 UTC ending in Z, "" where it is no time."""
    time = moment(iso) if iso else None
    if time is None:
        return ""
    if len(iso) == 24 and iso[10] == "T" and iso[23] == "Z":  # as Codex writes it: keep it as it is
        return iso
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def millis(iso: str) -> int | None:
    """Milliseconds since 1970."""
    time = moment(iso) if iso else None
    return None if time is None else round(time.timestamp() * 1000)


def is_uuid(name: str) -> bool:
    try:
        return bool(name) and str(uuid.UUID(name)) == name.lower()
    except ValueError:
        return False


def uuid_millis(name: str) -> int | None:
    """When a version 7 UUID was made, in milliseconds since 1970; None for anything else."""
    if not is_uuid(name) or name[14] != "7":
        return None
    return int(name[:8] + name[9:13], 16)
