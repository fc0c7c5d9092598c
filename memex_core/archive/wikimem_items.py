"""Between an item of a RecallFile and a page (formats page 3.1, 3.3): names, content, links, provenance.

Values in, values out. An item's content becomes a body as it stands, but for links; a body becomes content
that is read back exactly, escaped where it has to be.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memex_core.model.item import RecallItem, origin_of
from memex_core.model.node import WikiNode
from memex_core.paths import FOLDER_OF_TYPE, NODE_TYPES, TYPE_OF_FOLDER
from memex_core.text.blocks import (
    Provenance,
    escape,
    field_value,
    is_representable,
    item_name,
    normalized,
    parse,
    read_body,
    unescape,
)
from memex_core.text.clean import clean_text
from memex_core.text.instant import to_iso, to_seconds
from memex_core.text.links import link_key, name_key, parse_links

_LOOKALIKES = str.maketrans({":": "\uff1a", "|": "\uff5c", "#": "\uff03", "[": "\uff3b", "]": "\uff3d"})
_PAGE_LINK = re.compile(r"(?<!\\)\[\[([^\[\]|\r\n]{1,300}?)(?:\\?\|[^\[\]\r\n]{0,300})?\]\]")
_ITEM_LINK = re.compile(r"(?<!\\)\[\[([^\[\]\n:|]{1,300}):([^\[\]\n:|]{1,300})\]\]")
_LINKABLE = re.compile(r"[^\[\]|\r\n]+\Z")

Key = tuple[str, str]
"""(file, name) of an item."""
FindPage = Callable[[str, str], Key | None]
"""From the key of a link and the type of the page that holds it to the item of the page it leads to."""


def items_of(file: str, text: str) -> list[RecallItem]:
    """The items of a RecallFile, as wikimem reads them: the last of a name, at the place of the first."""
    latest = {item_name(section.heading): section for section in parse(text)}
    read = ((name, *read_body(text, section)) for name, section in latest.items())
    return [RecallItem(file, name, content, *said) for name, content, said in read]


def item_hash(name: str, content: str) -> str:
    """What wikimem's vector cache knows an item by."""
    return text_hash(f"{name}\n{content}")


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def type_of_file(file: str) -> str | None:
    """The page type that a RecallFile is named for, in the singular or plural; None for any other."""
    return file if file in NODE_TYPES else TYPE_OF_FOLDER.get(file)


def name_for(title: str, taken: Container[str] = ()) -> str:
    """The name of the item of a page: look-alikes for what no name may hold; not one of `taken`."""
    base = item_name(clean_text(title).translate(_LOOKALIKES)) or "page"
    name, number = base, 2
    while name in taken:
        name, number = f"{base} ({number})", number + 1
    return name


def provenance_of(page: WikiNode) -> Provenance:
    """Owner, source and time of the item of a page: what it was imported with, else what the page knows.

    A page that changed since has its own time; of several sessions, the first is the source.
    """
    origin = origin_of(page)
    own = page.extra.get("owner")
    owner = origin.get("owner") or (own if isinstance(own, str) else None) or page.harness
    sessions = [
        page.session_id,
        _session_of(page.transcript_ref),
        *(s.partition("#")[0] for s in page.sources),
    ]
    source = origin.get("source") or next((session for session in sessions if session), None)
    is_as_imported = page.updated == iso_of(origin.get("ts"))
    return Provenance(*map(_one_line, (owner, source, origin["ts"] if is_as_imported else page.updated)))


def iso_of(ts: str | None) -> str | None:
    """A time of wikimem, which is free text, as a page writes times; None for what is none."""
    seconds = to_seconds(ts)
    iso = None if seconds is None else to_iso(seconds)
    return iso if to_seconds(iso) is not None else None


def _session_of(transcript: str | None) -> str | None:
    return None if transcript is None else transcript.rpartition("/")[2].removesuffix(".jsonl")


def _one_line(value: str | None) -> str | None:
    return field_value(clean_text(" ".join((value or "").splitlines())).replace("-->", "->"))


def content_of(page: WikiNode, find: FindPage, known: Callable[[Key], bool]) -> tuple[str, bool]:
    """The content of a page's item, and whether it is escaped. Links to pages become links to their items."""
    content = normalized(_with_item_links(page, find, known))
    if is_representable(content):
        return content, False
    return escape(content), True


def _with_item_links(page: WikiNode, find: FindPage, known: Callable[[Key], bool]) -> str:
    body = page.body
    keys = set(parse_links(body))

    def put(match: re.Match[str]) -> str:
        key = link_key(match[1])
        file, colon, name = match[1].partition(":")
        if key not in keys or (colon and known((file.strip(), name.strip()))):
            return match[0]
        target = find(key, page.type)
        return link_to(*target) if target and _is_linkable(target) else match[0]

    return _PAGE_LINK.sub(put, body) if keys else body


def link_to(file: str, name: str) -> str:
    return f"[[{file}:{name}]]"


def _is_linkable(item: Key) -> bool:
    return all(part and not set(part) & set("[]\n:|") for part in item)


def body_of(
    content: str, pages: Mapping[Key, str], before: str, places: Mapping[str, str], *, escaped: bool = False
) -> str:
    """The body of the page of an item. Links to items become links to their `pages`, `<type>/<slug>`.

    `before` is the body that the item was made of, `places` says which page a link there led to, by its key:
    it is spelled again as it was.
    """
    content = clean_text(unescape(content) if escaped else content)
    keys = set(parse_links(content))
    spelled: dict[str, list[str]] = {}
    for match in _PAGE_LINK.finditer(before):
        spelled.setdefault(places.get(link_key(match[1]), ""), []).append(match[0])

    def put(match: re.Match[str]) -> str:
        target = pages.get((match[1].strip(), match[2].strip()))
        if target is None or link_key(match[0][2:-2]) not in keys or not _LINKABLE.match(target):
            return match[0]
        known = spelled.get(target, [f"[[{target}]]"])
        return known.pop(0) if len(known) > 1 else known[0]

    return _ITEM_LINK.sub(put, content) if keys else content


@dataclass(slots=True)
class PageLinks:
    """Where links between pages lead (`index.link_manager` says how): by slug, else by title, of several to
    one of the source's own type first.
    """

    by_slug: dict[str, list[WikiNode]] = field(default_factory=dict)
    by_title: dict[str, list[WikiNode]] = field(default_factory=dict)

    @classmethod
    def of(cls, pages: Iterable[WikiNode]) -> PageLinks:
        links = cls()
        for page in sorted(pages, key=lambda page: NODE_TYPES.index(page.type)):
            links.by_slug.setdefault(name_key(page.slug), []).append(page)
            links.by_title.setdefault(name_key(page.title), []).append(page)
        return links

    def find(self, key: str, source_type: str) -> WikiNode | None:
        kind, _, name = key.rpartition("/")
        for pages in (self.by_slug.get(name, []), self.by_title.get(name, [])):
            fitting = [page for page in pages if kind in ("", page.type)]
            own = [page for page in fitting if page.type == source_type]
            if fitting:
                return (own or fitting)[0]
        return None


def page_keys(pages: Iterable[WikiNode], docs: Path) -> dict[str, WikiNode]:
    """Every page by what records know it by: its id; its place where it has none, or another page's."""
    found: dict[str, WikiNode] = {}
    for page in pages:
        found[page.id if page.id and page.id not in found else place_of(page, docs)] = page
    return found


def place_of(page: WikiNode, docs: Path) -> str:
    """`<folder>/<slug>`: the path below docs/, without its suffix."""
    if page.file_path is None:
        return f"{FOLDER_OF_TYPE[page.type]}/{page.slug}"
    return page.file_path.relative_to(docs).as_posix().removesuffix(".md")
