"""What a model answered to the consolidation prompt, node by node (seed 000 §11; issue 3 item 4).

A node that is not as the prompt asked for is refused by itself, with the reason; it never costs the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from memex_core.memory.loose_json import REPEATED, Found, find_values
from memex_core.text.clean import clean_text
from memex_core.text.slug import slugify, title_key

TYPES = ("entity", "preference", "procedure", "summary")
MAX_NODES = 100
MAX_TITLE_CHARS = 200
MAX_TAGS = 20
MAX_LINKS = 50

_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
_PLACES_HEADING = re.compile(r"^(Said in):[ \t]*$", re.MULTILINE)
_AROUND_LIST = " \t\r\n`.*:\"'"
_NEAR = 200  # characters of a line beside an empty list that are looked at
_FIELDS = ("type", "title", "body")

State = Literal["whole", "cut", "unreadable"]


@dataclass(frozen=True, slots=True)
class ModelNode:
    """A node that may be written. `links` are names as the model gave them, `episodes` the ids it says the
    node comes from; `importance` None: it gave none.
    """

    type: str
    title: str
    body: str
    tags: list[str] = field(default_factory=list)
    importance: float | None = None
    links: list[str] = field(default_factory=list)
    episodes: list[str] = field(default_factory=list)


class ModelAnswer(NamedTuple):
    """`refused` are (title, why). `state`: "whole", "cut" (it ends too early; what was whole before that is
    in `nodes`), or "unreadable" (no list and no node is in it). A whole answer may hold no node at all.
    """

    nodes: list[ModelNode]
    refused: list[tuple[str, str]]
    state: State


class _Unfit(Exception):
    """Why a proposed node is refused."""


def parse_answer(
    text: str, *, max_body_chars: int = 50_000, clean: Callable[[str], str] = str
) -> ModelAnswer:
    """The nodes in an answer, every text in them through `clean`; linear in its length, never raises."""
    found = find_values(text)
    proposals, is_list = _proposals(found, text)
    proposals = _each_text(proposals, clean)
    broken = [each for each in found.broken if any(name in each for name in _FIELDS)]
    if not proposals and (found.cut or broken or not is_list):
        return ModelAnswer([], [], "unreadable")
    broken = _each_text(broken, clean)
    refused = [(_shown(each.get("title")), "its JSON cannot be read") for each in broken]
    nodes: list[ModelNode] = []
    for number, proposal in enumerate(proposals):
        try:
            if number >= MAX_NODES:
                raise _Unfit(f"more than {MAX_NODES} nodes in one answer")
            nodes.append(_node(proposal, max_body_chars))
        except _Unfit as unfit:
            title = proposal.get("title") if isinstance(proposal, dict) else None
            refused.append((_shown(title), str(unfit)))
    nodes, twice = _once(nodes)
    return ModelAnswer(nodes, refused + twice, "cut" if found.cut else "whole")


def _proposals(found: Found, text: str) -> tuple[list[Any], bool]:
    """What the answer proposes, and whether it holds a list at all, if only an empty one."""
    proposals: list[Any] = []
    is_list = False
    for value, start, end in found.values:
        if isinstance(value, dict) and not any(name in value for name in _FIELDS):
            lists = [inner for inner in value.values() if isinstance(inner, list)]
            value = lists[0] if len(lists) == 1 else None
        if isinstance(value, list) and value and all(isinstance(inner, list) for inner in value):
            value = [item for inner in value for item in inner]
        if isinstance(value, dict):
            proposals.append(value)
        elif value and any(isinstance(item, dict) for item in value):
            proposals += value
        elif value == []:
            is_list = is_list or _stands_alone(text, start, end)
    return proposals, is_list or bool(proposals)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """False for an empty list in the middle of a sentence."""
    before = text[max(start - _NEAR, 0) : start]
    after = text[end : end + _NEAR]
    at_end = end + _NEAR >= len(text) and not after.strip(_AROUND_LIST)
    return at_end or (_is_bare(before.rpartition("\n")[2]) and _is_bare(after.partition("\n")[0]))


def _is_bare(line: str) -> bool:
    return not line.strip(_AROUND_LIST)


def _each_text(value: Any, clean: Callable[[str], str]) -> Any:
    """`value` with `clean` applied to its texts, keys aside."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_each_text(item, clean) for item in value]
    if isinstance(value, dict):
        return {key: _each_text(item, clean) for key, item in value.items()}
    return value


def _node(proposal: Any, max_body_chars: int) -> ModelNode:
    if not isinstance(proposal, dict):
        raise _Unfit("not an object")
    if REPEATED in proposal:
        raise _Unfit(f"it gives {_shown(proposal[REPEATED])} twice")
    return ModelNode(
        _type(proposal.get("type")),
        _title(proposal.get("title")),
        _body(proposal.get("body"), max_body_chars),
        _tags(proposal.get("tags")),
        _importance(proposal.get("importance")),
        [target for link in _texts(proposal, "links")[:MAX_LINKS] if (target := _target(link))],
        _texts(proposal, "episodes"),
    )


def _type(value: Any) -> str:
    node_type = value.strip().lower() if isinstance(value, str) else ""
    if node_type == "episode":
        raise _Unfit("episodes are written from sessions only")
    if node_type not in TYPES:
        raise _Unfit(f"its type is none of {', '.join(TYPES)}")
    return node_type


def _title(value: Any) -> str:
    title = " ".join(_INVISIBLE.sub(" ", clean_text(value)).split()) if isinstance(value, str) else ""
    if not title:
        raise _Unfit("it has no title")
    if len(title) > MAX_TITLE_CHARS:
        raise _Unfit(f"its title is longer than {MAX_TITLE_CHARS} characters")
    if not slugify(title):
        raise _Unfit("its title has no letter or digit")
    return title


def _body(value: Any, most: int) -> str:
    body = clean_text(value).replace("\r\n", "\n").strip() if isinstance(value, str) else ""
    if not any(char.isalnum() for char in body):
        raise _Unfit("it has no body")
    if len(body) > most:
        raise _Unfit(f"its body has {len(body):,} characters, more than max_body_chars ({most:,})")
    return _PLACES_HEADING.sub(r"\1", body)


def _tags(value: Any) -> list[str]:
    texts = value.split(",") if isinstance(value, str) else [] if value is None else value
    if not isinstance(texts, list):
        raise _Unfit("its tags are no list")
    tags = [slugify(clean_text(text)) for text in texts if isinstance(text, str)]
    return list(dict.fromkeys(tag for tag in tags if tag))[:MAX_TAGS]


def _importance(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, float) or not 0 <= value <= 1:
        raise _Unfit("its importance is not a number from 0 to 1")
    return value


def _texts(proposal: dict[str, Any], name: str) -> list[str]:
    value = proposal.get(name)
    texts = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(texts, list):
        raise _Unfit(f"its {name} are no list")
    cleaned = (clean_text(text).strip() for text in texts if isinstance(text, str))
    return list(dict.fromkeys(text for text in cleaned if text))


def _target(link: str) -> str:
    """`[[slug|label]]` and `slug` name the same page."""
    return " ".join(link.strip("[] \t").partition("|")[0].split())


def _once(nodes: list[ModelNode]) -> tuple[list[ModelNode], list[tuple[str, str]]]:
    """One node a title: of a draft and its later form, the later one counts."""
    last = {(node.type, title_key(node.title)): node for node in nodes}
    earlier = [node for node in nodes if node != last[node.type, title_key(node.title)]]
    return list(last.values()), [(node.title, "the answer gives it again, differently") for node in earlier]


def _shown(title: Any) -> str:
    return _INVISIBLE.sub(" ", clean_text(title))[:80] if isinstance(title, str) else ""
