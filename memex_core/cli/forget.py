"""`memex forget` and `memex decay`."""

from __future__ import annotations

from typing import Literal

import click

from memex_core.cli.arguments import date_option, page_argument, refusing_arguments, which_type_option
from memex_core.cli.input import confirm
from memex_core.cli.output import examples, open_memex, print_json, print_table, shown, with_json
from memex_core.errors import NotFound

Mode = Literal["hard", "soft", "decay"]


@click.command(
    epilog=examples(
        "memex forget user-preference-ruff                              (asks, then deletes it)",
        "memex forget our-build-server --mode soft --valid-to 2026-09-30",
        "memex forget a-passing-thought --mode decay",
    )
)
@page_argument
@click.option(
    "--mode",
    type=click.Choice(["hard", "soft", "decay"]),
    default="hard",
    show_default=True,
    help="hard deletes the page; soft ends its validity; decay lets it expire.",
)
@date_option("--valid-to", "When it ends (soft: now; decay: one half-life from now).")
@which_type_option
@click.option("--yes", is_flag=True, help="Do not ask before deleting.")
@with_json
def forget(
    slug: str, mode: Mode, valid_to: str | None, node_type: str | None, yes: bool, as_json: bool
) -> None:
    """Delete a page, or end its time."""
    if mode == "hard" and valid_to:
        raise click.UsageError("--valid-to goes with --mode soft or decay; hard deletes at once")
    memex = open_memex()
    page = memex.read(slug, node_type)
    if page is None:
        raise NotFound("page", slug, hint="memex list shows all pages")
    if mode == "hard":
        confirm(f'Delete the {page.type} {page.slug}, "{shown(page.title)}", for good?', yes)
    with refusing_arguments():
        result = memex.forget(slug, mode=mode, valid_to=valid_to, node_type=node_type)
    if as_json:
        print_json(result)
    elif mode == "hard":
        click.echo(f"deleted the {page.type} {result.slug}")
        if page.type == "episode":
            click.echo(f"  its transcript stays; memex sessions delete {result.slug} takes that too")
    else:
        ends = "ended" if mode == "soft" else "will expire"
        when = f" on {valid_to}" if valid_to else ""
        click.echo(f"{result.slug} {ends}{when}; its file stays: {shown(str(result.file_path))}")


@click.command(epilog=examples("memex decay --dry-run", "memex decay"))
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@with_json
def decay(dry_run: bool, as_json: bool) -> None:
    """Lower the importance of what nobody recalls any more."""
    memex = open_memex()
    changes = memex.apply_decay(dry_run=dry_run)
    if as_json:
        print_json([{"slug": slug, "old": old, "new": new} for slug, old, new in changes])
    elif changes:
        print_table(
            [[f"{old:.3f}", f"{new:.3f}", slug] for slug, old, new in changes],
            ["WAS", "WOULD BE" if dry_run else "IS", "PAGE"],
        )
    elif not memex.config.recency_decay.enabled:
        click.echo("decay is switched off ([recency_decay] enabled in memex.toml)")
    else:
        click.echo("nothing changes")
