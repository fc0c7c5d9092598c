"""Token tables over all captured sessions: by session, day, model or project (issue 2 item 4).

Counts are those of the sidecars, in which a response shared by several logs counts once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from memex_core.model.session import COUNT_FIELDS
from memex_core.model.sidecar import Sidecar

By = Literal["session", "day", "model", "project"]


@dataclass(slots=True)
class UsageRow:
    """One line of a table. `counts` are the disjoint fields; `at_least` says that some output never got a
    final count.
    """

    key: str
    label: str
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNT_FIELDS, 0))
    sessions: set[str] = field(default_factory=set)
    at_least: bool = False

    @property
    def total(self) -> int:
        """All tokens; reasoning is a part of output."""
        return sum(
            self.counts[name]
            for name in ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
        )


def usage_table(sidecars: Iterable[Sidecar], by: By, *, since: str = "", until: str = "") -> list[UsageRow]:
    """Rows sorted by key (sessions by start). `since` and `until` are dates, both included."""
    rows: dict[str, UsageRow] = {}
    for sidecar in sidecars:
        for day, models in sidecar.usage_by_day.items():
            if (since and day < since) or (until and day > until):
                continue
            for model, counts in models.items():
                key, label = _key(sidecar, by, day, model)
                row = rows.setdefault(key, UsageRow(key, label))
                row.sessions.add(sidecar.session_id)
                row.at_least |= sidecar.lower_bound_responses > 0
                for name in COUNT_FIELDS:
                    row.counts[name] += counts.get(name, 0)
    return [rows[key] for key in sorted(rows)]


def table_total(rows: Iterable[UsageRow]) -> UsageRow:
    total = UsageRow("total", "total")
    for row in rows:
        total.sessions |= row.sessions
        total.at_least |= row.at_least
        for name in COUNT_FIELDS:
            total.counts[name] += row.counts[name]
    return total


def _key(sidecar: Sidecar, by: By, day: str, model: str) -> tuple[str, str]:
    if by == "day":
        return day, day
    if by == "model":
        return model, model
    if by == "project":
        return sidecar.project or "(no project)", sidecar.project_label or "(no project)"
    return (
        f"{sidecar.started_at} {sidecar.session_id}",
        sidecar.title or sidecar.generated_title or sidecar.session_id,
    )
