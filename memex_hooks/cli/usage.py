"""`memex-hooks usage`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import click

from memex_core.cli.output import open_memex, print_json, print_table, with_json
from memex_hooks.cli.options import harness_option
from memex_hooks.usage import By, UsageRow, table_total, usage_table

DAY = click.DateTime(["%Y-%m-%d"])
_COLUMNS = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning", "requests")


@click.command()
@click.option(
    "--by",
    type=click.Choice(["session", "day", "model", "project"]),
    default="session",
    help="What a row is.",
)
@click.option("--since", default=None, type=DAY, metavar="DATE", help="From this day on (YYYY-MM-DD).")
@click.option("--until", default=None, type=DAY, metavar="DATE", help="Up to and with this day.")
@harness_option
@with_json
def usage(
    by: By, since: datetime | None, until: datetime | None, harnesses: tuple[str, ...], as_json: bool
) -> None:
    """Tokens of all captured sessions; what several logs share counts once. >= marks a lower bound."""
    sidecars = (s for s in open_memex().sidecars() if not harnesses or s.harness in harnesses)
    rows = usage_table(sidecars, by, since=_date(since), until=_date(until))
    total = table_total(rows)
    if as_json:
        print_json({"by": by, "rows": [_json(row) for row in rows], "total": _json(total)})
        return
    if not rows:
        click.echo("no counts yet")
        return
    header = [by.upper(), *(name.upper().replace("_", " ") for name in _COLUMNS), "TOTAL"]
    print_table([_cells(row) for row in [*rows, total]], header)


def _date(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else ""


def _json(row: UsageRow) -> dict[str, object]:
    return {**asdict(row), "sessions": sorted(row.sessions), "total": row.total}


def _cells(row: UsageRow) -> list[str]:
    total = f"{row.total:,}"
    counts = [f"{row.counts[name]:,}" for name in _COLUMNS]
    return [row.label[:50], *counts, f">= {total}" if row.at_least else total]
