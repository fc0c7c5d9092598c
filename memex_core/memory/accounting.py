"""Token accounting of a session: from its responses to the totals of the sidecar (DESIGN §3, rows tokens
and owner).

Every figure is a sum over the same counted responses, so that the tables agree with one another to the token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from memex_core.model.session import COUNT_FIELDS, Response
from memex_core.model.sidecar import Sidecar, base_id


def apply_usage(sidecar: Sidecar, *, known: bool = True) -> None:
    """Set the usage tables of `sidecar` from its responses less those counted in another session.

    `known` False (the log holds no counts) leaves `token_usage` None. Days are dates in the machine's zone.
    """
    counted = [r for r in sidecar.responses if base_id(r.id) not in sidecar.counted_elsewhere]
    sidecar.token_usage = None
    sidecar.turn_token_usage, sidecar.usage_by_model, sidecar.usage_by_day = {}, {}, {}
    sidecar.lower_bound_responses = sum(1 for r in counted if not r.final)
    if not known:
        return
    totals = dict.fromkeys(COUNT_FIELDS, 0)
    turns: dict[int, dict[str, int]] = {}
    for response in counted:
        _add(totals, response)
        _add(turns.setdefault(response.turn, dict.fromkeys(COUNT_FIELDS, 0)), response)
        _add(sidecar.usage_by_model.setdefault(response.model, dict.fromkeys(COUNT_FIELDS, 0)), response)
        day = sidecar.usage_by_day.setdefault(local_day(response.ts), {})
        _add(day.setdefault(response.model, dict.fromkeys(COUNT_FIELDS, 0)), response)
    names = sidecar.usage_fields
    sidecar.token_usage = native_counts(totals, names)
    sidecar.turn_token_usage = {str(turn): native_counts(turns[turn], names) for turn in sorted(turns)}


def native_counts(counts: Mapping[str, int], names: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The disjoint `counts` under the harness's own field names."""
    return {native: sum(counts[field] for field in parts) for native, parts in names.items()}


def local_day(ts: str) -> str:
    """The date of an ISO 8601 time in the machine's zone; "unknown" where there is no time."""
    try:
        return datetime.fromisoformat(ts).astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):  # no time, or one outside the calendar of the zone
        return "unknown"


def _add(counts: dict[str, int], response: Response) -> None:
    for name in COUNT_FIELDS:
        counts[name] += getattr(response, name)
