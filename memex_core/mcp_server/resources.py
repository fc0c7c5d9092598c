"""Pages as resources: a list in parts, and each page under memex://page/<type>/<slug>."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from memex_core.errors import NotFound
from memex_core.files.walk import walk_pages
from memex_core.mcp_server.answers import page_answer
from memex_core.mcp_server.faults import ToolFault
from memex_core.model.node import WikiNode
from memex_core.paths import NODE_TYPES, TYPE_OF_FOLDER
from memex_core.text.clean import clean_text

if TYPE_CHECKING:
    from memex_core.memex import Memex

TEMPLATE = "memex://page/{type}/{slug}"
MIME_TYPE = "text/markdown"
PER_LIST = 100
_PAGE = re.compile(rf"memex://page/({'|'.join(NODE_TYPES)})/([^/?#]{{1,900}})\Z")


def listed(memex: Memex, cursor: str | None) -> tuple[list[WikiNode], str | None]:
    """The pages after `cursor`, PER_LIST at most, by their place, and the cursor of the rest (None: no rest).

    Raises ToolFault for a cursor that we never gave.
    """
    after = unquote(cursor or "")
    if cursor is not None and not after.startswith("docs/"):
        raise ToolFault("that cursor is not one of this list")
    places = sorted(path for path, _ in walk_pages(memex.root) if path > after and _type_of(path))
    pages = [memex.store.read(_slug_of(path), _type_of(path)) for path in places[:PER_LIST]]
    more = quote(places[PER_LIST - 1]) if len(places) > PER_LIST else None
    return [page for page in pages if page is not None], more


def uri_of(page: WikiNode) -> str:
    return f"memex://page/{page.type}/{quote(page.slug, safe='')}"


def text_at(memex: Memex, uri: str) -> str:
    """The page under a URI as Markdown, fenced. Raises NotFound."""
    found = _PAGE.match(uri)
    page = memex.read(clean_text(unquote(found[2])), found[1]) if found else None
    if page is None:
        raise NotFound("page", uri)
    (text,) = page_answer(page).texts
    return clean_text(text)


def _type_of(path: str) -> str | None:
    """The type of a page by its place; None for one in a folder of no type."""
    return TYPE_OF_FOLDER.get(path.split("/")[1])


def _slug_of(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")
