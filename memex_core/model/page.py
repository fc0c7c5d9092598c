"""Between a page's text and a WikiNode (seed 000 §6.1): what our schema makes of front matter, and what it
writes.

Front matter that cannot be read never hides a page: its whole text becomes the body and `warning` says why.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from memex_core.model.node import WikiNode
from memex_core.paths import NODE_TYPES, TYPE_OF_FOLDER
from memex_core.text import frontmatter
from memex_core.text.clean import clean_text
from memex_core.text.frontmatter import FrontMatterError, Value
from memex_core.text.instant import to_iso, to_seconds
from memex_core.text.links import link_key, page_links, parse_links

ALWAYS_WRITTEN = (
    "id",
    "type",
    "title",
    "tags",
    "importance",
    "created",
    "updated",
    "access_count",
    "last_access",
    "expires_at",
    "valid_from",
    "valid_to",
    "transcript_ref",
    "links",
    "content_hash",
)
WRITTEN_IF_SET = (
    "body_links",
    "sources",
    "project",
    "project_label",
    "session_id",
    "harness",
    "kind",
    "started_at",
    "ended_at",
)
OWNED_KEYS = (*ALWAYS_WRITTEN, *WRITTEN_IF_SET)

LONG_BODY = 1_000_000
MAX_BODY_LINKS = 8_000
"""Characters of `body_links` that front matter takes, which must have room for `links` too. Of a body with
more, an editor's hand leaves what it takes out in `links`.
"""
OUR_MARKS = ("hand_edited", "decayed_at", "consolidated_hash")
"""Keys that we write beside the owned ones, where there is a reason to."""
HAND_EDITED = "hand_edited"
"""Set where words on a page are a person's, and stay: who writes through us says so, and where we write to a
page that a hand wrote or changed, `content_hash` alone would forget it.
"""

_LISTS = ("tags", "links", "body_links", "sources")
_TIMES = (
    "created",
    "updated",
    "last_access",
    "expires_at",
    "valid_from",
    "valid_to",
    "started_at",
    "ended_at",
)
_FALLBACK_TYPE = "entity"
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S[^\r\n]{0,300})", re.MULTILINE)


def body_hash(body: str) -> str:
    """The `content_hash` of a body: "sha256:" and the hex digest of its UTF-8 bytes."""
    return "sha256:" + hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def decode(data: bytes) -> tuple[str, str]:
    """`(text, problem)`: bytes that are not UTF-8 become U+FFFD, and the problem says so."""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        return data.decode("utf-8", "replace"), f"is not UTF-8 (byte {error.start})"


def read_page(data: bytes, path: PurePath, *, modified: float) -> WikiNode:
    """The node that the bytes of the page at docs/<folder>/<slug>.md say. Never raises on content.

    `modified` (seconds since 1970) stands in for `created` and `updated` where a hand-made page has none.
    """
    text, problem = decode(data)
    front, body, shape = frontmatter.split(text)
    problems = [p for p in (problem, shape) if p]
    values: dict[str, Any] = {}
    if front is not None:
        try:
            values, repeated = frontmatter.parse_counted(front)
            problems += [f"{key} stands there twice; the last counts" for key in repeated]
        except FrontMatterError as error:
            problems.append(str(error))
            body = text.removeprefix("\ufeff")
    node = WikiNode(type=_type_of(path, values, problems), title="", body=body, slug=path.stem)
    _fill(node, values, problems)
    node.title = node.title or _title_from(body) or path.stem
    node.created = node.created or to_iso(modified)
    node.updated = node.updated or to_iso(modified)
    set_links(node)
    node.content_hash = body_hash(body)
    node.warning = "; ".join(problems)
    node.note = "; ".join(_unusual(text, front, node))
    return node


def set_links(node: WikiNode) -> None:
    """Bring the links of `node` to what its body says: those that `body_links` says are the body's go with
    it, those that were given stay. A link to an item is none of a page.
    """
    of_body = {*map(link_key, node.body_links), *parse_links(node.body)}
    given = [key for key in map(link_key, node.links) if key and key not in of_body]
    node.body_links = page_links(node.body)
    node.links = list(dict.fromkeys([*given, *node.body_links]))


def page_values(node: WikiNode) -> dict[str, Value]:
    """The owned keys of `node` as front matter holds them, in the order of the specification;
    unset ones left out.
    """
    values: dict[str, Value] = {key: getattr(node, key) for key in ALWAYS_WRITTEN}
    values |= {key: getattr(node, key) for key in WRITTEN_IF_SET if getattr(node, key)}
    if sum(map(len, node.body_links)) > MAX_BODY_LINKS:
        del values["body_links"]
    return values


def new_page(node: WikiNode) -> str:
    """The text of a page that does not exist yet."""
    front = frontmatter.render(page_values(node) | node.extra)
    return f"---\n{front}---\n{node.body}"


def changed_page(text: str, old: WikiNode, new: WikiNode) -> str:
    """`text`, which reads as `old`, changed so that it reads as `new`; bytes that say the same stay the same.

    Raises FrontMatterError where the front matter cannot be read or changed safely.
    """
    front, _, problem = frontmatter.split(text)
    if problem:
        raise FrontMatterError(problem)
    present = {} if front is None else frontmatter.parse(front)
    wanted = page_values(new)
    for key in WRITTEN_IF_SET:
        if key in present:
            wanted.setdefault(key, [] if key == "body_links" else getattr(new, key))
    must = {"id", "type", "title", "created", "updated", "content_hash"}
    changes = {
        key: value
        for key, value in wanted.items()
        if getattr(old, key) != value or (key in must and key not in present)
    }
    if "body_links" in present and _list(present["body_links"], prefix="") != old.body_links:
        changes |= {key: wanted[key] for key in ("links", "body_links")}
    if present.get("content_hash") != new.content_hash:
        changes["content_hash"] = new.content_hash
    if HAND_EDITED not in present and present.get("content_hash") != old.content_hash:
        changes[HAND_EDITED] = True
    changes |= {
        key: value for key, value in new.extra.items() if key not in old.extra or old.extra[key] != value
    }
    if front is None:
        newline = "\r\n" if is_crlf(text) else "\n"
        return frontmatter.replace(text, frontmatter.render(changes, newline=newline), new.body)
    return frontmatter.replace(text, frontmatter.edit(front, changes), new.body)


def edited_by_hand(text: str) -> bool:
    """True where a person has written or changed the body since we wrote it, now or at any time before."""
    front, body, problem = frontmatter.split(text)
    try:
        present = frontmatter.parse(front) if front is not None else {}
    except FrontMatterError:
        return True
    return bool(problem) or HAND_EDITED in present or present.get("content_hash") != body_hash(body)


def is_ours(node: WikiNode) -> bool:
    """True for a page that has our id and our form: one whose numbers we may set unasked."""
    folder = node.file_path.parent.name if node.file_path else ""
    return bool(node.id) and not node.warning and not node.note and folder in TYPE_OF_FOLDER


def is_crlf(text: str) -> bool:
    """True where every line of `text` ends in CRLF, as editors on Windows write them."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def _unusual(text: str, front: str | None, node: WikiNode) -> Iterator[str]:
    """What is not as we would write it, and yet understood."""
    if text.startswith("\ufeff"):
        yield "begins with a byte order mark"
    if is_crlf(text):
        yield "has Windows line ends"
    if front is None:
        yield "has no front matter"
    others = [key for key in node.extra if key not in OUR_MARKS]
    if others:
        yield f"has keys of its owner: {', '.join(others[:5])}"
    if len(node.body) > LONG_BODY:
        yield f"has {len(node.body):,} characters"


def _type_of(path: PurePath, values: dict[str, Any], problems: list[str]) -> str:
    """The folder decides (seed 000 §6.1)."""
    folder = path.parent.name
    said = values.get("type")
    node_type = TYPE_OF_FOLDER.get(folder)
    if node_type is None:
        problems.append(f"its folder {folder!r} is not one of a page type")
        return said if said in NODE_TYPES else _FALLBACK_TYPE
    if isinstance(said, str) and said in NODE_TYPES and said != node_type:
        problems.append(f"it says type {said}, but its folder says {node_type}; the folder counts")
    return node_type


def _fill(node: WikiNode, values: dict[str, Any], problems: list[str]) -> None:
    for key, value in values.items():
        if key == "type" or key == "content_hash":
            continue
        if key not in OWNED_KEYS:
            node.extra[key] = value
        elif key in _LISTS:
            setattr(node, key, _list(value, prefix="#" if key == "tags" else ""))
        elif key == "importance":
            node.importance = _number(value, 0.5, key, problems)
        elif key == "access_count":
            node.access_count = max(int(_number(value, 0, key, problems)), 0)
        elif isinstance(value, str):
            setattr(node, key, " ".join(value.splitlines()) if key == "title" else value)
            if key in _TIMES and to_seconds(value) is None:
                problems.append(f"{key}: {value[:40]!r} is not a date")
        elif value is not None:
            problems.append(f"{key} is not a text")


def _list(value: Any, *, prefix: str) -> list[str]:
    """A list of texts; a single text counts as one with commas, as in Obsidian's `tags: a, b`."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return []
    items = (item.strip().lstrip(prefix) if prefix else item for item in value if isinstance(item, str))
    return [item for item in items if item.strip()]


def _number(value: Any, default: float, key: str, problems: list[str]) -> float:
    if value is None:
        return default
    try:
        number = float(value)
        if abs(number) < 1e12:  # false for nan as well
            return number
    except (TypeError, ValueError):
        pass
    problems.append(f"{key}: {str(value)[:40]!r} is not a number")
    return default


def _title_from(body: str) -> str:
    match = _HEADING.search(body)
    return clean_text(match.group(1)).rstrip("# \t") if match else ""
