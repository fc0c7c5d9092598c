"""`memex edit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memex_core import paths
from memex_core.cli.arguments import page_argument, which_type_option
from memex_core.cli.editor import edit_file
from memex_core.cli.output import examples, open_memex, print_json, shown, warn, with_json
from memex_core.errors import NotFound
from memex_core.files.regular import NotRegular, read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from memex_core.memex import Memex
    from memex_core.model.node import WikiNode


@click.command(epilog=examples("memex edit user-preference-ruff", "EDITOR='code --wait' memex edit ruff"))
@page_argument
@which_type_option
@with_json
def edit(slug: str, node_type: str | None, as_json: bool) -> None:
    """Open a page's own file in your editor."""
    memex = open_memex()
    page = memex.read(slug, node_type)
    if page is None or page.file_path is None:
        raise NotFound("page", slug, hint="memex list shows all pages; memex write makes one")
    before = read_regular(page.file_path, memex.root)
    edit_file(page.file_path)
    change = _change(page, before, memex.root)
    after = _settle(memex, page, change) if change else page
    if as_json:
        told = {"slug": page.slug, "file_path": page.file_path, "change": change, "warning": after.warning}
        print_json(told)
    else:
        said = {"": "not changed", "update": "changed", "remove": "deleted"}[change]
        click.echo(f"{said}: {shown(str(page.file_path))}")


def _change(page: WikiNode, before: bytes, root: Path) -> str:
    """What the editor did to the page's file: "update", "remove", or "" for nothing."""
    assert page.file_path is not None
    try:
        return "update" if read_regular(page.file_path, root) != before else ""
    except (FileNotFoundError, NotRegular):
        return "remove"


def _settle(memex: Memex, page: WikiNode, change: str) -> WikiNode:
    """Index and journal follow the file; what is odd in it now goes to standard error."""
    assert page.file_path is not None
    folder = page.file_path.parent.name
    node_type = paths.TYPE_OF_FOLDER.get(folder)
    memex.heal(force=True)
    after = memex.read(page.slug, node_type) if change == "update" else None
    title = after.title if after else page.title
    memex.journal.page_changed("update" if after else "remove", f"{folder}/{page.slug}", title, memex.now())
    if after is None:
        return page
    if after.warning:
        warn(f"{after.slug}: {after.warning}")
    for key in _broken_links(memex, f"{node_type}/{page.slug}" if node_type else page.slug):
        warn(f"{page.slug} links to {key}, which does not exist")
    return after


def _broken_links(memex: Memex, name: str) -> list[str]:
    from memex_core.index.connection import IndexUnusable

    try:
        return memex.links.validate_links(name)
    except IndexUnusable:
        return []
