"""`memex recall`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memex_core.cli.arguments import chosen_project, refusing_arguments, type_option
from memex_core.cli.output import (
    examples,
    open_to_read,
    print_json,
    shown,
    with_json,
)

if TYPE_CHECKING:
    from memex_core.model.results import RecallHit


@click.command(
    epilog=examples(
        "memex recall ruff",
        "memex recall error handling --type procedure --since 2026-11-01",
        "memex recall --project . --tag python --top-k 3 --format context",
    )
)
@click.argument("query", nargs=-1)
@click.option(
    "--top-k", type=click.IntRange(1, 100), default=None, help="At most this many pages (default 10)."
)
@type_option
@click.option("--tag", "tags", multiple=True, help="Only pages with this tag; repeat for more, all must fit.")
@click.option(
    "--since", default=None, metavar="DATE", help="Changed (episodes: begun) on or after this date."
)
@click.option(
    "--until", default=None, metavar="DATE", help="Changed (episodes: begun) on or before this date."
)
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Only pages of the project that this folder belongs to.",
)
@click.option("--include-expired", is_flag=True, help="Also pages whose time is over.")
@click.option(
    "--format", "form", type=click.Choice(["context"]), default=None, help="context: the block for a prompt."
)
@with_json
def recall(
    query: tuple[str, ...],
    top_k: int | None,
    node_type: str | None,
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    project: Path | None,
    include_expired: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Find pages by what they say.

    Any text will do: memex recall "don't use c++"
    """
    with refusing_arguments():
        result = open_to_read().recall(
            " ".join(query),
            top_k=top_k,
            node_type=node_type,
            time_range=(since, until) if since or until else None,
            tags=list(tags) or None,
            include_expired=include_expired,
            project=chosen_project(project).id or None,
        )
    if form == "context":
        from memex_core.memory.context_block import context_block

        click.echo(context_block(result))
    elif as_json:
        print_json(result)
    else:
        _print_hits(result.hits, result.note)


def _print_hits(hits: list[RecallHit], note: str) -> None:
    if note:
        click.echo(f"note: {note}", err=True)
    if not hits:
        click.echo("nothing found")
    for hit in hits:
        origin = f", {shown(hit.project_label)}" if hit.project_label else ""
        title = click.style(shown(hit.title), bold=True)
        click.echo(f"{hit.rank}. {title}  ({hit.node_type}, {hit.updated[:10]}{origin})")
        click.echo(f"   {_said(hit.snippet)}")
        sources = f"  from {', '.join(hit.sources[:3])}" if hit.sources else ""
        click.echo(click.style(f"   {shown(hit.file_path + sources)}", dim=True))


def _said(snippet: str) -> str:
    """One line for a person; the list of places at a node's end is not what was said."""
    said = re.split(r"\s*\bSaid in:\s+- \[\[", snippet, maxsplit=1)[0]
    return shown(said).replace("<mark>", "\x1b[1m").replace("</mark>", "\x1b[22m")
