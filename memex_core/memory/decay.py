"""Importance fades without an access (seed 000 §7, Utility 8; DESIGN §3 row decay). Only when asked for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from memex_core.errors import BadPage, NotFound, WrongValue
from memex_core.model.node import WikiNode
from memex_core.model.page import is_ours
from memex_core.text.instant import to_iso, to_seconds

DECAYED_AT = "decayed_at"
"""The front-matter key that says until when a page's importance has been reckoned."""
SECONDS_A_DAY = 86_400.0
_DIGITS = 12  # so that thirty daily runs end where one monthly run does
_NOTHING = 1e-9
_OFTEN_S = 3_600.0
"""So soon after the last access or decay a page is left alone: the next run reckons the whole time."""


class Pages(Protocol):
    """The pages that fade: what WikiStore offers."""

    def scan_all(self) -> list[WikiNode]: ...

    def amend(self, slug: str, node_type: str | None = None, **fields: Any) -> WikiNode: ...


class RecencyDecay:
    """Importance halves with every `half_life_days` since the last access (or the last decay)."""

    def __init__(self, half_life_days: float = 30, enabled: bool = True) -> None:
        if half_life_days <= 0:
            raise WrongValue(f"half_life_days must be more than 0, not {half_life_days}")
        self.half_life_days = half_life_days
        self.enabled = enabled

    def decay_importance(self, node: WikiNode, *, now: float | None = None, recalled: str = "") -> float:
        """importance x 2^(-(now - max(last_access, decayed_at)) / half-life); `now` in seconds since 1970.

        A page that was neither recalled nor decayed fades since it was created. `recalled` is an access that
        its front matter does not know yet.
        """
        if not self.enabled:
            return node.importance
        since = _since(node, recalled)
        moment = time.time() if now is None else now
        if since is None or moment <= since:
            return node.importance
        faded = node.importance * 2 ** (-(moment - since) / (self.half_life_days * SECONDS_A_DAY))
        return round(faded, _DIGITS)

    def apply_decay(
        self,
        wiki_store: Pages,
        dry_run: bool = False,
        *,
        now: float | None = None,
        recalled: Mapping[str, str] | None = None,
    ) -> list[tuple[str, float, float]]:
        """Bring every page's importance to `now`: (slug, before, after) of those that changed.

        `updated` stays: fading is no edit. `recalled` has the last access by path ("docs/…") that front
        matter does not know yet. A page that another hand or program made stays as it is, byte for byte.
        """
        moment = float(int(time.time() if now is None else now))
        changes = []
        for node in wiki_store.scan_all() if self.enabled else ():
            if node.file_path is None or not is_ours(node):
                continue
            place = f"docs/{node.file_path.parent.name}/{node.file_path.name}"
            last = (recalled or {}).get(place, "")
            after = self.decay_importance(node, now=moment, recalled=last)
            if moment - (_since(node, last) or moment) < _OFTEN_S or abs(after - node.importance) < _NOTHING:
                continue
            if not dry_run:
                try:
                    wiki_store.amend(
                        node.slug, node.type, importance=after, extra={DECAYED_AT: to_iso(moment)}
                    )
                except (BadPage, NotFound):  # its owner was quicker
                    continue
            changes.append((node.slug, node.importance, after))
        return changes


def _since(node: WikiNode, recalled: str) -> float | None:
    """From when on a page's importance has not been reckoned yet, in seconds since 1970."""
    marks = (node.last_access, recalled, node.extra.get(DECAYED_AT))
    known = [s for mark in marks if isinstance(mark, str) and (s := to_seconds(mark)) is not None]
    return max(known, default=to_seconds(node.created))
