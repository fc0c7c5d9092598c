"""`memex recall`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from memex_core.cli.output import open_memex, print_json, with_json
from memex_core.files.project import project_of
from memex_core.memory.context_block import context_block
from memex_core.model.results import RecallHit
from memex_core.paths import NODE_TYPES


@click.command()
@click.argument("query", nargs=-1)
@click.option(
    "--top-k", type=click.IntRange(1, 100), default=None, help="At most this many pages (default 10)."
)
@click.option("--type", "node_type", type=click.Choice(NODE_TYPES), help="Only pages of this type.")
@click.option("--tag", "tags", multiple=True, help="Only pages with this tag; repeat for more, all must fit.")
@click.option(
    "--since", default=None, metavar="DATE", help="Changed (episodes: begun) on or after this date."
)
@click.option(
    "--until", default=None, metavar="DATE", help="Changed (episodes: begun) on or before this date."
)
@click.option(
    "--project", default=None, metavar="DIR", help="Only pages of the project that this folder belongs to."
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
    project: str | None,
    include_expired: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Find pages by what they say. Any text will do: memex recall "don't use c++" """
    try:
        result = open_memex().recall(
            " ".join(query),
            top_k=top_k,
            node_type=node_type,
            time_range=(since, until) if since or until else None,
            tags=list(tags) or None,
            include_expired=include_expired,
            project=project_of(str(Path(project).absolute())).id if project else None,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if form == "context":
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
        origin = f", {hit.project_label}" if hit.project_label else ""
        click.echo(
            f"{hit.rank}. {click.style(hit.title, bold=True)}  ({hit.node_type}, {hit.updated[:10]}{origin})"
        )
        click.echo(f"   {_shown(hit.snippet)}")
        click.echo(
            click.style(
                f"   {hit.file_path}" + (f"  from {', '.join(hit.sources[:3])}" if hit.sources else ""),
                dim=True,
            )
        )


def _shown(snippet: str) -> str:
    """One line for a person; the list of places at a node's end is not what was said."""
    said = re.split(r"\s*\bSaid in:\s+- \[\[", snippet, maxsplit=1)[0]
    return " ".join(said.replace("<mark>", "\x1b[1m").replace("</mark>", "\x1b[22m").split())
