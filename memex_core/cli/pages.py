"""`memex show`, `list`, `provenance`."""

from __future__ import annotations

import click

from memex_core.cli.output import open_memex, print_json, print_table, with_json
from memex_core.errors import NotFound
from memex_core.paths import NODE_TYPES


@click.command()
@click.argument("slug")
@click.option(
    "--type", "node_type", type=click.Choice(NODE_TYPES), help="Where two pages of that name exist."
)
@with_json
def show(slug: str, node_type: str | None, as_json: bool) -> None:
    """Print a page: by its slug (file name without .md), a session id, or its title."""
    page = open_memex().read(slug, node_type)
    if page is None:
        raise NotFound("page", slug, hint="memex list shows all pages; memex recall searches them")
    if as_json:
        print_json(page)
    elif page.file_path is not None:
        click.echo(page.file_path.read_text("utf-8", "replace"), nl=False)


@click.command("list")
@click.option("--type", "node_type", type=click.Choice(NODE_TYPES), help="Only pages of this type.")
@click.option("--warnings", is_flag=True, help="Only pages that could be read only in part, and why.")
@with_json
def list_pages(node_type: str | None, warnings: bool, as_json: bool) -> None:
    """List pages, newest first."""
    pages = [page for page in open_memex().list_pages(node_type) if page.warning or not warnings]
    if as_json:
        print_json([_row(page) for page in pages])
        return
    if not pages:
        click.echo("no pages yet" if not warnings else "no page has a warning")
        return
    if warnings:
        print_table([[page.slug, page.warning] for page in pages], ["SLUG", "WARNING"])
        return
    rows = [[page.updated[:10], page.type, page.slug, page.title[:80]] for page in pages]
    print_table(rows, ["UPDATED", "TYPE", "SLUG", "TITLE"])


@click.command()
@click.argument("slug")
@with_json
def provenance(slug: str, as_json: bool) -> None:
    """Where a page comes from: the sessions and turns behind it."""
    report = open_memex().get_provenance(slug)
    if as_json:
        print_json(report)
        return
    click.echo(f"{report.slug}: {report.confidence}")
    for source in report.sources:
        click.echo(f"  said in {source.replace('#', ', turn ')}")
    for episode in report.linked_episodes:
        click.echo(f"  linked from session {episode}")
    for file in report.transcript_files:
        click.echo(f"  {file}")


def _row(page: object) -> dict[str, object]:
    names = (
        "slug",
        "type",
        "title",
        "tags",
        "importance",
        "created",
        "updated",
        "project_label",
        "file_path",
        "warning",
    )
    return {name: getattr(page, name) for name in names}
