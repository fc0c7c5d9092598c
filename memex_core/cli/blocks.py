"""How items and events are printed."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby

import click

from memex_core.cli.output import print_json, shown, without_controls
from memex_core.model.item import DiaryEvent, RecallItem


def print_block(block: RecallItem | DiaryEvent, as_json: bool) -> None:
    """An item as `memex item get` prints it, or an event as `memex diary` does; as JSON one object."""
    if isinstance(block, DiaryEvent):
        if as_json:
            print_json(event_row(block))
        else:
            print_events([block])
    elif as_json:
        print_json(asdict(block))
    else:
        click.echo(without_controls(block.content))


def event_row(event: DiaryEvent) -> dict[str, str | None]:
    """An event as one object of `memex diary --json`."""
    row = asdict(event)
    return {name: row[name] for name in ("date", "time", "content", "owner", "source_conv", "ts")}


def print_events(events: list[DiaryEvent]) -> None:
    """Events for a person, by day."""
    for day, of_day in groupby(events, key=lambda event: event.date):
        click.echo(click.style(day, bold=True))
        for event in of_day:
            indent = " " * 9
            lines = without_controls(event.content).split("\n")
            owner = click.style(f"  ({shown(event.owner)})", dim=True) if event.owner else ""
            click.echo(f"  {shown(event.time):5}  {lines[0]}{owner}")
            for line in lines[1:]:
                click.echo(f"{indent}{line}".rstrip())
