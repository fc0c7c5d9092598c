"""A page that consolidation writes or updates: our part between markers, then where it was said (seed 000
§11, DESIGN §4).

    <!-- memex:generated 0123456789abcdef -->
    What the model made of the sessions.
    <!-- memex:end -->

    Said in:
    - [[<episode>]], 2026-09-15

Everything outside the markers is a person's or an extracted page's, and stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from memex_core.memory.model_answer import ModelNode
from memex_core.memory.node_page import with_source
from memex_core.model.node import WikiNode
from memex_core.model.page import HAND_EDITED, is_crlf
from memex_core.text.generated import generated_digest, merge_generated, without_markers
from memex_core.text.links import link_key, parse_links
from memex_core.text.slug import title_key

TAG = "consolidated"
MARK = "consolidated_hash"
"""The front-matter key of an episode that was consolidated: the `content_hash` of the body that was sent."""

_PART = re.compile(r"^<!-- memex:generated ([0-9a-f]{16}) -->[ \t]*\r?\n(.*?)<!-- memex:end -->", re.M | re.S)
_PLACES = re.compile(r"(?:\A|\n)Said in:\n(?:- \[\[[^\n]*(?:\n+|\Z))+\Z")
_WORD = re.compile(r"\w+")
_LINK = re.compile(r"\[\[([^\[\]\n]{0,300}?)(?:\\?\|([^\[\]\n]{0,300}))?\]\]")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a statement comes from: session ids, (slug, day) of their episodes, the project if they share
    one.
    """

    sources: list[str] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)
    project: str | None = None
    project_label: str | None = None


def place_line(episode: str, day: str) -> str:
    """One place: a link to the episode, the date."""
    return f"- [[{episode}]]" + (f", {day}" if day else "")


def consolidated(
    page: WikiNode | None, node: ModelNode, origin: Origin, default_importance: float
) -> WikiNode:
    """`page` (None: a new one) with what `node` says added; `page` itself stays as it is. What no session
    gave is not ours, and marked so.
    """
    importance = default_importance if node.importance is None else node.importance
    was_there = page is not None
    if page is None:
        page = WikiNode(node.type, node.title, "", tags=[TAG], importance=importance)
        page.project, page.project_label = origin.project, origin.project_label
    elif node.importance is None:
        importance = page.importance
    body = with_statement(page.body, node.body, origin.places)
    links = [*page.links, *map(link_key, node.links), *parse_links(body)]
    return replace(
        page,
        body=body,
        tags=_united(page.tags, node.tags),
        importance=max(page.importance, importance),
        links=_united([key for key in links if key]),
        sources=_united(page.sources, origin.sources),
        extra=page.extra | ({HAND_EDITED: True} if was_there and not page.sources else {}),
    )


def is_same(before: WikiNode, after: WikiNode) -> bool:
    """True where writing `after` over `before` would change nothing."""
    fields = ("tags", "importance", "links", "sources")
    same_body = before.body.rstrip("\r\n") == after.body.rstrip("\r\n")
    return same_body and all(getattr(before, name) == getattr(after, name) for name in fields)


def with_statement(body: str, statement: str, places: list[tuple[str, str]]) -> str:
    """`body` with our part saying `statement`, and the episodes among its places.

    Our part is replaced while it is as we wrote it; else `statement` is added under what stands there, unless
    that says it already.
    """
    before, body = body, body.replace("\r\n", "\n")
    text, said_in = _split_places(body)
    part = _PART.search(text)
    if _is_intact(part) or f" {words_in(statement)} " not in f" {words_in(without_markers(text))} ":
        merged = merge_generated(text, statement, part[1] if part else "")
        if merged != text:
            body = f"{merged.rstrip()}\n\n{said_in}" if said_in else f"{merged.rstrip()}\n"
    for episode, day in places:
        if f"- [[{episode}]]" not in body:
            body = with_source(body, place_line(episode, day))
    return body.replace("\n", "\r\n") if is_crlf(before) else body


def without_episode(body: str, episode: str) -> str:
    """`body` without its places in that episode; the heading goes with the last place."""
    place = re.compile(rf"- \[\[{re.escape(episode)}\]\](?:, \d{{4}}-\d\d-\d\d)?\Z")
    lines = body.replace("\r\n", "\n").split("\n")
    kept = [line for line in lines if not place.match(line)]
    if len(kept) == len(lines):
        return body
    return "\n".join(kept).rstrip().removesuffix("Said in:").rstrip() + "\n"


def without_our_part(body: str) -> str:
    """`body` without what consolidation wrote, if nobody has changed that since."""
    part = _PART.search(body)
    if part is None or not _is_intact(part):
        return body
    rest = f"{body[: part.start()].rstrip()}\n\n{body[part.end() :].lstrip()}".strip()
    return f"{rest}\n" if rest else ""


def states_nothing(body: str) -> bool:
    """True where nothing but places is left of a page."""
    return not _split_places(body.replace("\r\n", "\n"))[0].strip()


def statement_of(body: str) -> str:
    """What a page says, without markers and places."""
    return without_markers(_split_places(body.replace("\r\n", "\n"))[0]).strip()


def words_in(text: str) -> str:
    """The words of `text` without case, one blank between two; "don't" is one."""
    return " ".join(_WORD.findall(title_key(text).replace("'", "").replace("’", "")))


def unlinked(body: str, known: set[str]) -> tuple[str, list[str]]:
    """`body` with every link whose key is not among `known` turned into its text, and those keys."""
    gone: list[str] = []

    def plain(link: re.Match[str]) -> str:
        return (link[2] or link[1]).strip() if link_key(link[1]) in gone else link[0]

    for _ in range(4):  # brackets within brackets make a link of what is left
        unknown = [key for key in parse_links(body) if key not in known]
        if not unknown:
            return body, _united(gone)
        gone += unknown
        body = _LINK.sub(plain, body)
    return body.replace("[[", "[").replace("]]", "]"), _united(gone)


def _split_places(body: str) -> tuple[str, str]:
    """(what stands before the places, "Said in:" and its lines); the second "" where there are none."""
    found = _PLACES.search(body)
    if found is None:
        return body, ""
    return body[: found.start()], body[found.start() :].lstrip("\n").rstrip("\n") + "\n"


def _is_intact(part: re.Match[str] | None) -> bool:
    """True for a part of ours that nobody has edited."""
    return part is not None and generated_digest(part[2]) == part[1]


def _united(*lists: list[str]) -> list[str]:
    return list(dict.fromkeys(item for items in lists for item in items))
