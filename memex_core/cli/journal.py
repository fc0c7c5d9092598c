"""`memex journal`."""

from __future__ import annotations

from collections import deque
from typing import Any

import click

from memex_core.cli.arguments import complete_page, date_option
from memex_core.cli.output import examples, open_to_read, print_json, print_table, with_json
from memex_core.text.instant import to_seconds

Line = dict[str, Any]


@click.command(
    epilog=examples(
        "memex journal", "memex journal --page zephyr", "memex journal --since 2026-11-01 --limit 0"
    )
)
@click.option(
    "--limit", type=click.IntRange(0), default=50, show_default=True, help="At most this many; 0 for all."
)
@date_option("--since", "Only changes on or after this date.")
@click.option("--page", default=None, metavar="SLUG", shell_complete=complete_page, help="Only this page.")
@with_json
def journal(limit: int, since: str | None, page: str | None, as_json: bool) -> None:
    """What changed in this memory, newest first."""
    begin = to_seconds(since)
    found = deque(
        (line for line in open_to_read().journal.lines() if _is_asked_for(line, begin, page)),
        maxlen=limit or None,
    )
    newest = list(reversed(found))
    if as_json:
        print_json(newest)
    elif newest:
        print_table([_row(line) for line in newest], ["TIME", "CHANGE", "PAGE", "TITLE"])
    else:
        click.echo("nothing changed")


def _is_asked_for(line: Line, begin: float | None, page: str | None) -> bool:
    if begin is not None and (to_seconds(str(line.get("ts", ""))) or 0.0) < begin:
        return False
    name = str(line.get("file", "")).removesuffix(".md")
    return page is None or page in (name, name.rpartition("/")[2])


def _row(line: Line) -> list[str]:
    """A line of ours or of wikimem, whatever it holds."""
    cells = [str(line.get(name, "")) for name in ("ts", "action", "file", "item")]
    return [cells[0][:16].replace("T", " "), cells[1][:12], cells[2][:70], cells[3][:80]]
