"""Pages, items and events and the links between them, as JSON, as a Mermaid diagram or as a page to look at
(issue 4 item 8).

A link means what it means in the index: in a page a page first, in an item or event an item first; of several
pages one of the source's own type; a slug before a title; for an item that is not there the page that was
imported from it. Links in code are text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memex_core.model.item import DiaryEvent, RecallItem, imported_item
from memex_core.model.node import WikiNode
from memex_core.paths import FOLDER_OF_TYPE, NODE_TYPES
from memex_core.text.blocks import item_of_link
from memex_core.text.clean import clean_text
from memex_core.text.links import link_key, link_targets, name_key, parse_links

ITEM, EVENT, MISSING = "item", "event", "missing"
TITLE_CHARS = 80
_TEMPLATE = Path(__file__).with_name("graph.html")
_MERMAID = {char: f"#{ord(char)};" for char in '"#&<>`\\[]{}|'}
_COLOURS = {
    "entity": "#cfe2ff",
    "preference": "#d7f0d2",
    "procedure": "#ffe7c2",
    "summary": "#eadcf8",
    "episode": "#e2e3e5",
    ITEM: "#d3f2f0",
    EVENT: "#fdd9e3",
}


@dataclass(frozen=True, slots=True)
class GraphNode:
    """`id` is `<type>/<slug>`, `<file>:<name>`, `<date>#<ordinal>` or, where a link leads nowhere, the link;
    `type` a page type, "item", "event" or "missing"; `file` relative to the memory root.
    """

    id: str
    type: str
    title: str
    file: str = ""
    unresolved: bool = False


@dataclass(slots=True)
class Graph:
    """`edges` are (id of the source, id of the target), each once."""

    nodes: list[GraphNode] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)


def build_graph(
    pages: Iterable[WikiNode], items: Iterable[RecallItem], events: Iterable[DiaryEvent]
) -> Graph:
    """Everything that is there, in the order given, then what links lead to and is not there."""
    names = _Names()
    sources: list[tuple[GraphNode, list[str], str]] = []
    for page in pages:
        keys = [*page.links, *parse_links(page.body)]
        sources.append((names.add_page(page), keys, page.body))
    for item in items:
        node = GraphNode(f"{item.file}:{item.name}", ITEM, _title(item.name), f"wiki/{item.file}.md")
        names.items[item.file, item.name] = node
        sources.append((node, parse_links(item.content), item.content))
    for event in events:
        title = _title(f"{event.date} {event.time} {event.content}")
        node = GraphNode(f"{event.date}#{event.ordinal}", EVENT, title, f"diary/{event.date}.md")
        sources.append((node, parse_links(event.content), event.content))
    graph = Graph([node for node, _, _ in sources])
    missing: dict[str, GraphNode] = {}
    for node, keys, text in sources:
        for label, target in dict(names.targets(node, keys, text)).items():
            if target is None:
                target = missing.setdefault(
                    label, GraphNode(f"[[{label}]]", MISSING, _title(label), "", True)
                )
            graph.edges.append((node.id, target.id))
    graph.edges = list(dict.fromkeys(graph.edges))
    graph.nodes += missing.values()
    return graph


def graph_json(graph: Graph) -> dict[str, Any]:
    """`{"nodes": [{id, type, title, file, unresolved}], "edges": [{source, target}]}`."""
    edges = [{"source": source, "target": target} for source, target in graph.edges]
    return {"nodes": [asdict(node) for node in graph.nodes], "edges": edges}


def graph_mermaid(graph: Graph) -> str:
    """A Mermaid flow chart, a class for each type."""
    numbers = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["graph LR"]
    lines += [f'  {numbers[node.id]}["{_mermaid_label(node)}"]:::{node.type}' for node in graph.nodes]
    lines += [f"  {numbers[source]} --> {numbers[target]}" for source, target in graph.edges]
    lines += [f"  classDef {name} fill:{colour},stroke:#555,color:#111" for name, colour in _COLOURS.items()]
    lines.append(f"  classDef {MISSING} fill:#fff,stroke:#c00,color:#c00,stroke-dasharray:4 3")
    return "\n".join(lines) + "\n"


def graph_html(graph: Graph) -> str:
    """One HTML file that needs nothing but itself: no network, no other file."""
    data = json.dumps(graph_json(graph), ensure_ascii=False)
    for char in "<>&":  # nothing in it can end the script element that holds it
        data = data.replace(char, f"\\u{ord(char):04x}")
    colours = json.dumps(_COLOURS)
    page = _TEMPLATE.read_text("utf-8").replace("{{colours}}", colours)
    before, _, after = page.partition("{{graph}}")
    return f"{before}{data}{after}"


class _Names:
    """What links can lead to."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], GraphNode] = {}
        self._slugs: dict[str, list[GraphNode]] = {}
        self._titles: dict[str, list[GraphNode]] = {}
        self._imported: dict[tuple[str, str], list[GraphNode]] = {}
        self._ids: set[str] = set()

    def add_page(self, page: WikiNode) -> GraphNode:
        folder = page.file_path.parent.name if page.file_path else FOLDER_OF_TYPE[page.type]
        place = "" if folder == "docs" else f"{folder}/"
        file = f"docs/{place}{page.slug}.md"
        name = f"{page.type}/{page.slug}"
        node = GraphNode(file if name in self._ids else name, page.type, _title(page.title), file)
        self._ids.add(node.id)
        self._slugs.setdefault(name_key(page.slug), []).append(node)
        self._titles.setdefault(name_key(page.title), []).append(node)
        item = imported_item(page)
        if item is not None:
            self._imported.setdefault(item, []).append(node)
        return node

    def targets(
        self, source: GraphNode, keys: Iterable[str], text: str
    ) -> Iterator[tuple[str, GraphNode | None]]:
        """(how it is called, where it leads or None) of every link."""
        items: dict[str, list[tuple[str, str]]] = {}
        for link in link_targets(text):
            if item := item_of_link(link):
                items.setdefault(link_key(link), []).append(item)
        for key in keys:
            page = self._page(key, source.type)
            if key not in items:
                yield key, page
            for named in items.get(key, ()):
                found = self.items.get(named) or _first_of(self._imported.get(named, []))
                yield ":".join(named), (page or found) if source.type in NODE_TYPES else (found or page)

    def _page(self, key: str, source_type: str) -> GraphNode | None:
        kind, _, name = key.rpartition("/")
        for known in (self._slugs, self._titles):
            found = [node for node in known.get(name, ()) if kind in ("", node.type)] if name else []
            if found:
                return _first_of(found, source_type)
        return None


def _first_of(pages: list[GraphNode], *types: str) -> GraphNode | None:
    """That of the first type, these `types` before all others; of several, the first."""
    order = (*types, *NODE_TYPES)
    return min(pages, key=lambda node: order.index(node.type), default=None)


def _title(text: str) -> str:
    words = " ".join(clean_text(text[: 4 * TITLE_CHARS]).split())
    return words if len(words) <= TITLE_CHARS else words[: TITLE_CHARS - 1].rstrip() + "…"


def _mermaid_label(node: GraphNode) -> str:
    label = f"{node.type}: {node.title}" if node.type in NODE_TYPES else node.title
    return "".join(_MERMAID.get(char, char) for char in (node.id if node.type == ITEM else label))
