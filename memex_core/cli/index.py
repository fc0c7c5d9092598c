"""`memex info` and `memex rebuild-index`."""

from __future__ import annotations

import click

from memex_core.cli.output import open_memex, print_json, with_json


@click.command()
@with_json
def info(as_json: bool) -> None:
    """What is in this memory, where it lies, and how its index runs."""
    facts = open_memex().info()
    if as_json:
        print_json(facts)
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count}" for key, count in value.items())
        if isinstance(value, list):
            value = "; ".join(str(item) for item in value) or "none"
        click.echo(f"{name.replace('_', ' ').ljust(width)}  {value}")


@click.command("rebuild-index")
@click.option("--force", is_flag=True, help="Index every file again, changed or not.")
@with_json
def rebuild_index(force: bool, as_json: bool) -> None:
    """Build the search index again from the files. It heals by itself; this is for when in doubt."""
    report = open_memex().rebuild_index(force=force)
    if as_json:
        print_json(report)
        return
    counts = f"{report.nodes_indexed} pages indexed, {report.nodes_skipped} unchanged"
    click.echo(f"{counts}, {report.nodes_errored} with warnings, {report.duration_ms:.0f} ms")
    for error in report.errors:
        click.echo(f"  {error}")
