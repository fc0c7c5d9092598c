"""`memex show`, `list`, `provenance`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memex_core.cli.arguments import page_argument, type_option, which_type_option
from memex_core.cli.blocks import print_block
from memex_core.cli.output import (
    examples,
    hurried,
    is_terminal,
    open_memex,
    open_to_read,
    print_json,
    print_table,
    shown,
    with_json,
    without_controls,
)
from memex_core.errors import NotFound
from memex_core.files.regular import read_regular
from memex_core.model.node import WikiNode
from memex_core.store.named_blocks import find_block

if TYPE_CHECKING:
    from pathlib import Path


_WHERE_TO_LOOK = "memex list shows all pages, memex item list all items; memex recall searches them"


@click.command(
    epilog=examples(
        "memex show user-preference-ruff",
        "memex show 0f6d2c52",
        'memex show "Our build server"',
        "memex show preferences:linter",
        "memex show 2026-09-15#0",
    )
)
@page_argument
@which_type_option
@with_json
def show(slug: str, node_type: str | None, as_json: bool) -> None:
    """Print a page: by its slug, a session id, or its title.

    The slug is the file's name without .md; of a session id its beginning is enough.

    Also an item, FILE:NAME, or an event, 2026-09-15#0 for the first of that day, or "2026-09-15 10:30".
    """
    memory = open_to_read()
    page = memory.read(slug, node_type)
    if page is None:
        block = None if node_type else find_block(memory.root, slug)
        if block is None:
            raise NotFound("page, item or event", slug, hint=_WHERE_TO_LOOK)
        print_block(block, as_json)
    elif as_json:
        print_json(page)
    elif page.file_path is not None:
        _print_file(page.file_path)


@click.command(
    "list", epilog=examples("memex list --type procedure", "memex list --tag python", "memex list --warnings")
)
@type_option
@click.option("--tag", "tags", multiple=True, help="Only pages with this tag; repeat for more, all must fit.")
@click.option("--warnings", is_flag=True, help="Only pages with something odd about them, and what.")
@with_json
def list_pages(node_type: str | None, tags: tuple[str, ...], warnings: bool, as_json: bool) -> None:
    """List pages, newest first."""
    wanted = {tag.casefold() for tag in tags}
    pages = [
        page
        for page in open_to_read().list_pages(node_type)
        if (_odd(page) or not warnings) and wanted <= {tag.casefold() for tag in page.tags}
    ]
    if as_json:
        print_json([_row(page) for page in pages])
        return
    if not pages:
        click.echo("no page has a warning" if warnings else "no pages")
        return
    if warnings:
        print_table([[page.slug, _odd(page)] for page in pages], ["SLUG", "WARNING"])
        return
    rows = [[page.updated[:10], page.type, page.slug, page.title[:80]] for page in pages]
    print_table(rows, ["UPDATED", "TYPE", "SLUG", "TITLE"])


@click.command(epilog=examples("memex provenance user-preference-ruff"))
@page_argument
@with_json
def provenance(slug: str, as_json: bool) -> None:
    """Where a page comes from: the sessions and turns behind it."""
    report = hurried(open_memex()).get_provenance(slug)
    if as_json:
        print_json(report)
        return
    known = {"direct": "its page says so", "inferred": "from links", "none": "nothing is known"}
    click.echo(f"{shown(report.slug)}: {report.confidence} ({known[report.confidence]})")
    for source in report.sources:
        click.echo(f"  said in {shown(source.replace('#', ', turn '))}")
    for episode in report.linked_episodes:
        click.echo(f"  linked from session {episode}")
    for file in report.transcript_files:
        click.echo(f"  {file}")


def _print_file(path: Path) -> None:
    """As it is where it is piped; what would steer the terminal is left out on one."""
    data = read_regular(path)
    if is_terminal(sys.stdout):
        click.echo(without_controls(data.decode("utf-8", "replace").replace("\r\n", "\n")), nl=False)
    else:
        click.echo(data, nl=False)


def _odd(page: WikiNode) -> str:
    """Why a page is only partly understood, and what is unusual about its form."""
    return "; ".join(part for part in (page.warning, page.note) if part)


def _row(page: WikiNode) -> dict[str, object]:
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
    )
    return {name: getattr(page, name) for name in names} | {"warning": _odd(page)}
