"""`memex info` and `memex rebuild-index`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import click

from memex_core.cli.output import counted, examples, open_memex, open_to_read, print_json, shown, with_json


@click.command(epilog=examples("memex info", "memex info --json | jq .config"))
@with_json
def info(as_json: bool) -> None:
    """What is here, how it runs, and what is configured."""
    facts = open_to_read().info()
    if as_json:
        print_json(facts)
        return
    settings = facts.pop("config", [])
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        first, *more = _lines(value)
        click.echo(f"{name.replace('_', ' ').ljust(width)}  {shown(first)}")
        for line in more:
            click.echo(f"{' ' * width}  {shown(line)}")
    _print_settings(settings)


@click.command("rebuild-index", epilog=examples("memex rebuild-index", "memex rebuild-index --force"))
@click.option("--force", is_flag=True, help="Index every file again, changed or not.")
@with_json
def rebuild_index(force: bool, as_json: bool) -> None:
    """Build the search index again from the files.

    It heals by itself; this is for when in doubt.
    """
    memex = open_memex()
    report = memex.rebuild_index(force=force)
    if as_json:
        print_json(report)
        return
    counts = f"{counted(report.nodes_indexed, 'page')} indexed, {report.nodes_skipped} unchanged"
    click.echo(f"{counts}, {report.nodes_errored} with warnings, {report.duration_ms:.0f} ms")
    beside = memex.index.count_by_type()
    if "item" in beside or "event" in beside:
        click.echo(f"{counted(beside.get('item', 0), 'item')} and {counted(beside.get('event', 0), 'event')}")
    for error in report.errors:
        click.echo(f"  {shown(error)}")


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [", ".join(f"{key} {count}" for key, count in value.items()) or "none"]
    if isinstance(value, list):
        return [str(item) for item in value] or ["none"]
    return [str(value) or "-"]


def _print_settings(settings: Sequence[Mapping[str, Any]]) -> None:
    """What holds, section by section; where it does not come from us, also from where."""
    width = max((len(str(setting["key"])) for setting in settings), default=0)
    for section, members in groupby(settings, key=lambda setting: str(setting["section"])):
        click.echo(f"\n[{section}]")
        for setting in members:
            origin = "" if setting["origin"] == "default" else f"  ({shown(str(setting['origin']))})"
            click.echo(f"{str(setting['key']).ljust(width)} = {_value(setting['value'])}{origin}")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None or value == "" else shown(str(value))
