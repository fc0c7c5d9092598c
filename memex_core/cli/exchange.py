"""`memex export` and `memex import`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from memex_core.cli.arguments import FILE, output_file, refusing_arguments, type_option
from memex_core.cli.input import STANDARD_STREAM, is_piped, read_json
from memex_core.cli.output import (
    counted,
    examples,
    hurried,
    open_memex,
    print_json,
    shown,
    warn,
    with_json,
)
from memex_core.files.atomic import write_atomic
from memex_core.model.results import ImportReport


@click.command(
    "export", epilog=examples("memex export --output nodes.json", "memex export --type procedure | jq")
)
@click.option(
    "--output",
    type=FILE,
    default=STANDARD_STREAM,
    metavar="FILE",
    help="Where to put it; - (default) prints it.",
)
@type_option
@with_json
def export_nodes(output: Path, node_type: str | None, as_json: bool) -> None:
    """All pages as one JSON document."""
    if output != STANDARD_STREAM:
        output = output_file(output.absolute())
    document = hurried(open_memex()).export_nodes(node_type)
    if output == STANDARD_STREAM:
        print_json(document)
        return
    write_atomic(output, json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n")
    count = len(document["nodes"])
    if as_json:
        print_json({"output": output, "nodes": count})
    else:
        click.echo(f"{counted(count, 'page')}: {shown(str(output))}")


@click.command("import", epilog=examples("memex import --input nodes.json", "memex import < nodes.json"))
@click.option(
    "--input",
    "source",
    type=FILE,
    default=None,
    metavar="FILE",
    help="What memex export wrote; - is what is piped in.",
)
@click.option(
    "--on-conflict",
    type=click.Choice(["skip", "update", "rename"]),
    default="skip",
    show_default=True,
    help="Where a page of that type and slug says something else.",
)
@with_json
def import_nodes(source: Path | None, on_conflict: str, as_json: bool) -> None:
    """Take pages from such a document. Twice is once.

    Conflicts are reported and no failure; a node that is no page is refused, the others come in, exit 1.
    """
    if source is None and not is_piped():
        raise click.UsageError("say --input FILE, or pipe a document in")
    document = read_json(source or STANDARD_STREAM)
    with refusing_arguments():
        report = open_memex().import_nodes(document, on_conflict)
    _print(report, as_json)
    if report.refused:
        raise click.exceptions.Exit(1)


def _print(report: ImportReport, as_json: bool) -> None:
    for slug in report.conflicts:
        warn(f"conflict: {slug}")
    for name, why in report.refused:
        warn(f"refused {name}: {why}")
    if as_json:
        print_json(report)
        return
    counts = {name: len(getattr(report, name)) for name in _OUTCOMES}
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    click.echo(told or "nothing to import")


_OUTCOMES = ("created", "updated", "unchanged", "renamed", "skipped", "refused")
