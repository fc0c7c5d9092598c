"""What may be written: a page as a caller asks for it, checked (seed 000 §4.2, §9.1)."""

from __future__ import annotations

import math
from collections.abc import Callable

from memex_core import paths
from memex_core.config import PagesConfig
from memex_core.errors import WrongValue
from memex_core.model import typed
from memex_core.model.node import WikiNode, WriteInput
from memex_core.text.instant import to_seconds

Find = Callable[[str, str], WikiNode | None]
"""(type, title) -> the page."""
MAX_TITLE = 500
MAX_NAMES = 30_000
_TIMES = ("expires_at", "valid_from", "valid_to")


def checked_node(item: WriteInput, find: Find, config: PagesConfig) -> WikiNode:
    """The node that `item` asks for; sources and project of a page of that title stay.

    Raises WrongValue (a ValueError) for a value that is no text, list or number where one is asked for, a
    wrong page type, a body over `max_body_chars`, an importance outside 0..1, a date that is none, an episode
    without a session.
    """
    _check(item, config)
    page = find(item.type, item.title)
    importance = item.importance
    if importance is None:
        importance = page.importance if page else config.default_importance
    node = WikiNode(item.type, item.title, item.body, tags=list(item.tags), importance=float(importance))
    if item.type == "episode":
        node.slug = paths.safe_id(item.session_id or "")
    node.links = list(item.links)
    for name in ("session_id", "transcript_ref", *_TIMES):
        setattr(node, name, getattr(item, name))
    node.sources = list(dict.fromkeys([*(page.sources if page else []), *item.sources]))
    node.project = item.project or (page.project if page else None)
    node.project_label = item.project_label or (page.project_label if page else None)
    return node


def _check_types(item: WriteInput) -> None:
    typed.check_is("item", item, WriteInput)
    for name in ("type", "title", "body"):
        typed.check_text(name, getattr(item, name))
    for name in ("tags", "links", "sources"):
        typed.check_texts(name, getattr(item, name))
    for name in ("session_id", "transcript_ref", "project", "project_label", *_TIMES):
        typed.check_text(name, getattr(item, name), optional=True)
    if item.importance is not None:
        typed.check_number("importance", item.importance)


def _check(item: WriteInput, config: PagesConfig) -> None:
    _check_types(item)
    if item.type not in paths.NODE_TYPES:
        raise WrongValue(f"not a page type: {item.type!r}; one of {', '.join(paths.NODE_TYPES)}")
    if not item.title.strip():
        raise WrongValue("a page needs a title")
    if len(item.body) > config.max_body_chars:
        most = f"max_body_chars ({config.max_body_chars:,})"
        raise WrongValue(f"the body has {len(item.body):,} characters, more than {most}")
    if item.importance is not None and not (math.isfinite(item.importance) and 0 <= item.importance <= 1):
        raise WrongValue(f"importance must be 0 to 1, not {item.importance}")
    named = len(item.title) + sum(len(text) + 4 for text in (*item.tags, *item.links, *item.sources))
    if len(item.title) > MAX_TITLE or named > MAX_NAMES:
        most = f"a title of {MAX_TITLE}, and {MAX_NAMES:,} with tags, links and sources"
        raise WrongValue(f"too much for front matter: at most {most} characters")
    if item.type == "episode" and not item.session_id:
        raise WrongValue("an episode needs the session_id of its session")
    for name in _TIMES:
        value = getattr(item, name)
        if value is not None and to_seconds(value) is None:
            raise WrongValue(
                f"{name} is not a date or time: {value!r}; write 2026-09-15 or 2026-09-15T10:00:00Z"
            )
