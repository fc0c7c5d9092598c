"""`memex links`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from memex_core.cli.arguments import complete_page, which_type_option
from memex_core.cli.output import examples, open_to_read, print_json, print_table, shown, with_json
from memex_core.errors import NotFound
from memex_core.files.walk import PAGE_SUFFIX
from memex_core.paths import TYPE_OF_FOLDER

if TYPE_CHECKING:
    from memex_core.index.link_manager import LinkManager
    from memex_core.open_memory import OpenMemory

Answer = TypeVar("Answer")


@click.command(
    epilog=examples(
        "memex links zephyr",
        "memex links pets:cat",
        "memex links --broken",
        "memex links --graph | jq keys",
    )
)
@click.argument("slug", required=False, shell_complete=complete_page)
@which_type_option
@click.option("--broken", is_flag=True, help="Every link of the memory whose page does not exist.")
@click.option("--graph", is_flag=True, help="Every page with links, and where they lead.")
@with_json
def links(slug: str | None, node_type: str | None, broken: bool, graph: bool, as_json: bool) -> None:
    """What a page links to, what links to it, what is broken.

    Also of an item, FILE:NAME, or of an event, 2026-09-15#0 for the first of that day.
    """
    if sum((slug is not None, broken, graph)) != 1:
        raise click.UsageError("say which links: those of a page, --broken or --graph")
    memex = open_to_read()
    if slug is not None:
        _print_page(memex, slug, node_type, as_json)
    elif broken:
        _print_broken(_ask(memex, lambda known: known.broken_links()), as_json)
    else:
        _print_graph(_ask(memex, lambda known: known.get_link_graph()), as_json)


def _ask(memex: OpenMemory, question: Callable[[LinkManager], Answer]) -> Answer:
    """The index's answer, or that of one made of the files for this question."""
    from memex_core.index.connection import IndexUnusable
    from memex_core.index.link_manager import LinkManager
    from memex_core.index.memory_index import index_in_memory

    if memex.heal().usable:
        try:
            return question(memex.links)
        except IndexUnusable:
            pass
    with index_in_memory(memex.root) as address:
        return question(LinkManager(address, root=memex.root))


def _print_page(memex: OpenMemory, slug: str, node_type: str | None, as_json: bool) -> None:
    name, found, kind = _found(memex, slug, node_type)
    answer = _ask(
        memex,
        lambda known: {
            "outgoing": known.get_outgoing(name),
            "backlinks": known.get_backlinks(name),
            "broken": known.validate_links(name),
        },
    )
    if as_json:
        print_json({"slug": found, "type": kind, **answer})
        return
    for heading, ends in (("links to", answer["outgoing"]), ("linked from", answer["backlinks"])):
        for each in ends:
            is_gone = heading == "links to" and each in answer["broken"]
            gone = f"  (no such {'item' if ':' in each else 'page'})" if is_gone else ""
            click.echo(f"{heading}  {shown(each)}{gone}")
    if not any(answer.values()):
        click.echo("no links")


def _found(memex: OpenMemory, slug: str, node_type: str | None) -> tuple[str, str, str]:
    """(what the index knows it by, slug, type) of the page, item or event that is meant. Raises NotFound."""
    page = memex.read(slug, node_type)
    if page is not None:
        return f"{page.type}/{page.slug}", page.slug, page.type
    block = None if node_type else _ask(memex, lambda known: known.find(slug))
    if block is None:
        raise NotFound("page", slug, hint="memex list shows all pages, memex item list all items")
    return slug, block.slug, block.node_type


def _print_broken(found: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        print_json([{"page": path, "link": key, "name": _name_at(path)} for path, key in found])
    elif found:
        print_table([[_name_at(path), key] for path, key in found], ["IN", "LINKS TO"])
    else:
        click.echo("no link is broken")


def _name_at(path: str) -> str:
    """What `memex links` and `memex show` know the page, item or event at `path` by."""
    from memex_core.index.item_links import item_label

    if path.startswith("wiki/"):
        return item_label(path)
    if path.startswith("diary/"):
        return path.removeprefix("diary/").replace(f"{PAGE_SUFFIX}#", "#")
    folder, _, name = path.removeprefix("docs/").removesuffix(PAGE_SUFFIX).rpartition("/")
    return f"{TYPE_OF_FOLDER[folder]}/{name}" if folder in TYPE_OF_FOLDER else name


def _print_graph(graph: dict[str, list[str]], as_json: bool) -> None:
    if as_json:
        print_json(graph)
        return
    for slug, targets in graph.items():
        click.echo(shown(f"{slug} -> {', '.join(targets)}"))
    if not graph:
        click.echo("no links")
