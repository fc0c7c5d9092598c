"""`memex graph`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memex_core.cli.arguments import FILE, output_file
from memex_core.cli.input import STANDARD_STREAM
from memex_core.cli.output import (
    counted,
    data_dir_option,
    escaped,
    examples,
    open_to_read,
    shown,
    warn,
    without_controls,
)
from memex_core.files.atomic import write_atomic
from memex_core.memory.graph import Graph, build_graph, graph_html, graph_json, graph_mermaid
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore

if TYPE_CHECKING:
    from memex_core.open_memory import OpenMemory


@click.command(
    epilog=examples(
        "memex graph > memory.mmd",
        "memex graph --format html --output memory.html",
        "memex graph --format json | jq '.edges | length'",
    )
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "json", "html"]),
    default="mermaid",
    show_default=True,
    help="A diagram, data, or one page for a browser that needs no network.",
)
@click.option(
    "--output",
    type=FILE,
    default=STANDARD_STREAM,
    metavar="FILE",
    help="Where to put it; - (default) prints it.",
)
@data_dir_option
def graph(form: str, output: Path) -> None:
    """Pages, items and events, and how they link."""
    if output != STANDARD_STREAM:
        output = output_file(output.absolute())
    found = _graph(open_to_read())
    text = {"mermaid": graph_mermaid, "json": _json, "html": graph_html}[form](found)
    if output == STANDARD_STREAM:
        click.echo(escaped(text) if form == "json" else without_controls(text), nl=False)
        return
    write_atomic(output, text.encode("utf-8", "replace"))
    missing = sum(node.unresolved for node in found.nodes)
    counts = [counted(len(found.nodes) - missing, "node"), counted(len(found.edges), "link")]
    click.echo(f"{', '.join(counts)} ({missing} broken): {shown(str(output))}")


def _graph(memory: OpenMemory) -> Graph:
    items, diary = RecallFileStore(memory.root, memory.journal), Diary(memory.root, memory.journal)
    for path, why in (*items.problems(), *diary.problems()):
        warn(f"{path} {why}")
    return build_graph(memory.store.scan_all(), items.items(), diary.events())


def _json(found: Graph) -> str:
    return json.dumps(graph_json(found), ensure_ascii=False, indent=2) + "\n"
