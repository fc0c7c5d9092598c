"""`[[file:item]]` links as rows (formats page 1.7), found in pages, items and events alike.

The item is meant whose RecallFile and name the link says, letter by letter; inner white space counts as one
space, as it does in names. Where it is not there, the page is meant that was imported from it. Links in code
are text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from memex_core.model.item import imported_item
from memex_core.model.node import WikiNode
from memex_core.text.blocks import item_of_link
from memex_core.text.clean import clean_text
from memex_core.text.links import link_key, link_targets


@dataclass(frozen=True, slots=True)
class ItemLink:
    """Where a link leads: the path of an item, which may not exist; `page_key` is what the same words mean
    as a link to a page (`text.links.link_key`).
    """

    target_path: str
    page_key: str


def item_path(file: str, name: str) -> str:
    """How the index knows an item: `wiki/<file>.md#<name>`. The first `#` ends the file."""
    return f"wiki/{file.replace('%', '%25').replace('#', '%23')}.md#{name}"


def item_label(path: str) -> str:
    """`<file>:<name>`, as a link says it, of an item's path."""
    file, _, name = path.removeprefix("wiki/").partition("#")
    return f"{file.removesuffix('.md').replace('%23', '#').replace('%25', '%')}:{name}"


def origin_path(page: WikiNode) -> str | None:
    """The path of the item that the page was imported from; None where it was not."""
    item = imported_item(page)
    return None if item is None else item_path(*item)


def find_item_links(text: str) -> list[ItemLink]:
    """The item links outside code, in the order of their first appearance."""
    keys: dict[str, str] = {}
    for target in map(clean_text, link_targets(text)):
        item = item_of_link(target)
        if item is not None:
            keys.setdefault(item_path(*item), link_key(target))
    return list(map(ItemLink, keys, keys.values()))


def put_item_links(db: sqlite3.Connection, path: str, links: Iterable[ItemLink]) -> None:
    """Add the item links that go out of the page, item or event at `path`, which has none yet."""
    rows = [(path, link.target_path, place, link.page_key) for place, link in enumerate(links)]
    if rows:
        db.executemany("INSERT INTO item_links VALUES (?, ?, ?, ?)", rows)
