"""Which of two sessions that hold the same responses or turns owns them: the earlier one (DESIGN §3, row
who owns a response).
"""

from __future__ import annotations

from memex_core.model.session import Response
from memex_core.model.sidecar import Sidecar, base_id


def is_earlier(one: Sidecar, other: Sidecar) -> bool:
    """True when `one` is the older of two sessions, so that shared responses and turns are its own.

    A fork names its parent, or its log began later. Where both logs begin with the same copied record, the
    one whose first response of its own is older was there first (none of its own: it ended before the other
    was copied from it).
    """
    if one.metadata.get("forked_from") == other.session_id:
        return False
    if other.metadata.get("forked_from") == one.session_id:
        return True
    return _age(one, other) < _age(other, one)


def share_responses(one: Sidecar, other: Sidecar) -> None:
    """Count every response that both hold in the earlier session only, with the greatest output that either
    saw.
    """
    owner, guest = (one, other) if is_earlier(one, other) else (other, one)
    own = {r.id: r for r in owner.responses}
    copies = {r.id: r for r in guest.responses}
    for response_id in own.keys() & copies.keys():
        base = base_id(response_id)
        if base not in owner.counted_elsewhere and copies[response_id].output > own[response_id].output:
            _take_counts(own[response_id], copies[response_id])
        guest.counted_elsewhere[base] = owner.counted_elsewhere.get(base, owner.session_id)


def _take_counts(mine: Response, copy: Response) -> None:
    for name in (
        "model",
        "input",
        "cache_read",
        "cache_write_5m",
        "cache_write_1h",
        "output",
        "reasoning",
        "final",
    ):
        setattr(mine, name, getattr(copy, name))


def _age(one: Sidecar, other: Sidecar) -> tuple[str, str, str]:
    shared = {base_id(r.id) for r in other.responses}
    own_first = min((r.ts for r in one.responses if base_id(r.id) not in shared), default="")
    return (one.born_at or one.started_at, own_first, one.session_id)
