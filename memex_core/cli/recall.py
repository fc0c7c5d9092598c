"""`memex recall`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memex_core import paths
from memex_core.cli.arguments import chosen_project, refusing_arguments
from memex_core.cli.days import since_option, until_option
from memex_core.cli.output import (
    counted,
    examples,
    open_to_read,
    print_json,
    shown,
    with_json,
)

if TYPE_CHECKING:
    from memex_core.model.results import RecallHit, RecallResult

TYPES = (*paths.NODE_TYPES, "item", "event")


@click.command(
    epilog=examples(
        "memex recall ruff",
        "memex recall error handling --type procedure --since 2026-11-01",
        "memex recall --project . --tag python --top-k 3 --format context",
        "memex recall what did I do yesterday",
    )
)
@click.argument("query", nargs=-1)
@click.option(
    "--top-k", type=click.IntRange(1, 100), default=None, help="At most this many pages (default 10)."
)
@click.option(
    "--type", "node_type", type=click.Choice(TYPES), help="Only pages of this type, items or events."
)
@click.option("--tag", "tags", multiple=True, help="Only pages with this tag; repeat for more, all must fit.")
@since_option("Changed (episodes: begun) on or after this date, and events of the diary from then on.")
@until_option("Changed (episodes: begun) on or before this date, and events of the diary up to then.")
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Only pages of the project that this folder belongs to.",
)
@click.option("--include-expired", is_flag=True, help="Also pages whose time is over.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=None,
    metavar="TOKENS",
    help="Stop where the answer would take more tokens, and say what is left out.",
)
@click.option("--explain", is_flag=True, help="Say what was searched for, where, and what each word brought.")
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
    budget: int | None,
    explain: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Find pages and items by what they say.

    Words such as yesterday, and --since and --until, open the diary, too.

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
            budget=budget,
            explain=explain,
        )
    if form == "context":
        from memex_core.memory.context_block import context_block

        click.echo(context_block(result))
        for line in filter(None, (result.note, _dropped(result) if result.dropped else "")):
            click.echo(f"note: {line}", err=True)
    elif as_json:
        print_json(result)
    else:
        _print_result(result, explain)


def _print_result(result: RecallResult, explain: bool) -> None:
    if result.note:
        click.echo(f"note: {result.note}", err=True)
    if explain:
        _print_question(result)
    if not result.hits:
        click.echo("nothing found")
    for hit in result.hits:
        _print_hit(hit)
        if explain and hit.source == "hit":
            click.echo(f"   score {hit.score:.3f}: {_reasons(hit)}")
    if result.dropped:
        click.echo(_dropped(result))


def _reasons(hit: RecallHit) -> str:
    brought = [f"{shown(term)} {score:.3f}" for term, score in hit.matched_terms.items()]
    near = [f"meaning {hit.cos_score:.3f}"] if hit.cos_score is not None else []
    return ", ".join([*brought, *near]) or "no word, only the time"


def _dropped(result: RecallResult) -> str:
    count = counted(len(result.dropped), "more hit")
    return f"left out, over the budget: {count}: {shown(', '.join(result.dropped))}"


def _print_question(result: RecallResult) -> None:
    from memex_core.recalling import said_days

    by = ", and by meaning" if result.search_engine == "bm25+vectors" else ""
    click.echo(f"searched for: {shown(', '.join(result.terms)) or 'no word'}{by}")
    if result.window is not None:
        days = said_days(*result.window)
        said = f" ({shown(result.window_words)})" if result.window_words else ""
        click.echo(f"diary: {days}{said}{', widened by a day' if result.window_widened else ''}")
    if result.broken_links:
        click.echo(f"links that lead nowhere: {shown(', '.join(result.broken_links))}")
    click.echo(f"about {counted(result.tokens, 'token')}")


def _print_hit(hit: RecallHit) -> None:
    from memex_core.memory.context_block import kind, label

    when = "" if hit.node_type == "event" else hit.updated[:10]
    about = (kind(hit), when, hit.project_label, hit.owner)
    title = click.style(shown(label(hit)), bold=True)
    click.echo(f"{hit.rank}. {title}  ({shown(', '.join(filter(None, about)))})")
    click.echo(f"   {_said(hit.snippet)}")
    sources = f"  from {', '.join(hit.sources[:3])}" if hit.sources else ""
    click.echo(click.style(f"   {shown(hit.file_path + sources)}", dim=True))


def _said(snippet: str) -> str:
    """One line for a person; the list of places at a node's end is not what was said."""
    said = re.split(r"\s*\bSaid in:\s+- \[\[", snippet, maxsplit=1)[0]
    return shown(said).replace("<mark>", "\x1b[1m").replace("</mark>", "\x1b[22m")
