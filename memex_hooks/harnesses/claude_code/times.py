"""The times of a log: ISO 8601, UTC, ending in Z."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


def iso_utc(value: Any) -> str:
    """`value` as ISO 8601 UTC ending in Z, unchanged where it already is; "" when it is no time."""
    if not isinstance(value, str):
        return ""
    try:
        time = datetime.fromisoformat(value)
        if _CANONICAL.fullmatch(value):
            return value
        utc = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return ""
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(ts: str) -> float:
    """Seconds since the epoch of a time that `iso_utc` gave; 0.0 for ""."""
    return datetime.fromisoformat(ts).timestamp() if ts else 0.0
