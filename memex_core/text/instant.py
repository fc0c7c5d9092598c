"""Times as pages write them (ISO 8601) and as numbers that compare (seconds since 1970, UTC)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta


def to_seconds(text: str | None, *, end: bool = False) -> float | None:
    """Seconds since 1970 of an ISO 8601 date or time; None where `text` is empty or not one.

    Without a zone it is UTC. A date alone means its first moment, with `end` its last one.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if end and len(text.strip()) <= 10:
            moment += timedelta(days=1, microseconds=-1)
        return moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def to_iso(seconds: float) -> str:
    """`2026-09-15T10:00:00Z`, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_bound(text: str, *, end: bool = False) -> str:
    """The first instant, or with `end` the last, of a day of this machine's zone, for a date alone; any other
    text as it is.
    """
    try:
        day = datetime.combine(
            date.fromisoformat(text.strip()), datetime.max.time() if end else datetime.min.time()
        )
        return day.astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        return text
