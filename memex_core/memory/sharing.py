"""Which of two sessions that hold the same responses or turns owns them: the earlier one (DESIGN §3, row
who owns a response).
"""

from __future__ import annotations

from memex_core.model.session import Response
from memex_core.model.sidecar import Sidecar, base_id


def is_earlier(one: Sidecar, other: Sidecar) -> bool:
    """True when `one` is the older of two sessions, so that shared responses and turns are its own.

    A fork's log says so or began later. Where both logs begin with the same copied record, the session that
    was captured first was there first. That order is total and never changes, so ownership has no cycle and
    does not move.
    """
    if one.metadata.get("forked_from") == other.session_id:
        return False
    if other.metadata.get("forked_from") == one.session_id:
        return True
    return _age(one) < _age(other)


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


def _age(sidecar: Sidecar) -> tuple[str, str, str]:
    return sidecar.born_at or sidecar.started_at, sidecar.seniority, sidecar.session_id
