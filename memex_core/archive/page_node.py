"""Between a page and a node of an exported document (seed 000 §5.5).

A node has the keys of §5.5, every other key of the page's front matter, and what makes the file again byte
for byte: `front_matter` is the file's text before the body ("" where there is none), `raw` (base64) the whole
file where it is not UTF-8, `folder` where the page lies in none of a page type, `warning` what is odd about
it. A value that was changed in the document is changed in the front matter, too. A node without
`front_matter` was written by somebody: type, title and body are enough, and null says nothing.
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from memex_core.files.walk import PAGE_SUFFIX
from memex_core.model.node import WikiNode
from memex_core.model.page import OWNED_KEYS, changed_page, decode, new_page, page_values, read_page
from memex_core.paths import FOLDER_OF_TYPE, NODE_TYPES
from memex_core.text import frontmatter
from memex_core.text.clean import clean_text
from memex_core.text.instant import to_iso, to_seconds
from memex_core.text.slug import is_plain_name

MAX_PAGE_CHARS = 10_000_000
"""The most that `max_body_chars` can be set to."""

_SIGNS = str.maketrans(" ()[]{}&,'+=@!#~%^", "x" * 18)
"""Signs that people use in file names, beside letters, digits, `-`, `_` and `.`."""
_MAX_NAME_BYTES = 252  # with ".md" the 255 bytes of every common file system

_FIRST = ("slug", "type", "title", "tags", "importance", "created", "updated", "body", "links")
_OF_THE_DOCUMENT = ("slug", "body", "front_matter", "raw", "folder", "warning")
_LISTS = ("tags", "links", "body_links", "sources")
_DATES = ("updated", "created")
_TIMES = (*_DATES, "last_access", "expires_at", "valid_from", "valid_to", "started_at", "ended_at")
_NEVER_NULL = ("id", "type", "title", *_DATES)
_UNDATED = -1.0
_MISSING = object()


@dataclass(slots=True)
class DescribedPage:
    """What a node describes. `data` is the page's file, or None where somebody wrote the node; `given` are
    then our keys that it has, `extra` the others as they were typed. `modified` dates a file that holds no
    dates.
    """

    node: WikiNode
    folder: str
    data: bytes | None = None
    modified: float | None = None
    given: set[str] = field(default_factory=set)
    extra: dict[str, Any] = field(default_factory=dict)


def node_of_file(data: bytes, path: PurePath, modified: float) -> dict[str, Any]:
    """The node of the page at docs/`path`; `modified` in seconds since 1970. JSON values only."""
    page = read_page(data, PurePath("docs", path), modified=modified)
    values: dict[str, Any] = page_values(page) | {"slug": path.stem, "body": page.body}
    node = {key: values[key] for key in (*_FIRST, *values)}
    node |= {key: value for key, value in page.extra.items() if key not in _OF_THE_DOCUMENT}
    text, problem = decode(data)
    if problem:
        node["raw"] = base64.b64encode(data).decode("ascii")
    else:
        node["front_matter"] = text[: len(text) - len(page.body)]
    folder = path.parent.as_posix().removeprefix(".")
    if folder != FOLDER_OF_TYPE[page.type]:
        node["folder"] = folder
    return node | ({"warning": page.warning} if page.warning else {})


def described_page(value: object) -> DescribedPage:
    """The page that a node describes. Raises ValueError, which says what is wrong with the node."""
    if not isinstance(value, dict):
        raise ValueError("a node is an object")
    _check_shape(value)
    if value.get("type") not in NODE_TYPES:
        raise ValueError(f"not a page type: {str(value.get('type'))[:40]!r}; one of {', '.join(NODE_TYPES)}")
    for key in ("title", "body"):
        if not isinstance(value.get(key), str):
            raise ValueError(f"{key} is missing or not a text")
    if len(value["body"]) > MAX_PAGE_CHARS:
        raise ValueError(f"the body has {len(value['body']):,} characters, more than {MAX_PAGE_CHARS:,}")
    if value.get("slug") is not None:
        _check_name("slug", value["slug"])
    return _from_file(value) if "front_matter" in value or "raw" in value else _from_values(value)


def _from_values(value: dict[str, Any]) -> DescribedPage:
    """A node that somebody wrote, brought to how its page will read."""
    given = {key: _typed(key, value[key]) for key in OWNED_KEYS if value.get(key) is not None}
    given |= {"title": " ".join(given["title"].splitlines()).strip(), "body": clean_text(value["body"])}
    given.pop("content_hash", None)
    if not given["title"]:
        raise ValueError("a page needs a title")
    extra = {key: value[key] for key in value if key not in OWNED_KEYS and key not in _OF_THE_DOCUMENT}
    folder, slug = FOLDER_OF_TYPE[given["type"]], value.get("slug") or ""
    undated = dict.fromkeys(_DATES, to_iso(0))
    text = new_page(WikiNode(**(undated | given), extra=extra))
    path = PurePath("docs", folder, f"{slug or 'new'}{PAGE_SUFFIX}")
    node = read_page(text.encode("utf-8"), path, modified=0.0)
    if node.warning or node.extra.keys() != extra.keys():
        raise ValueError(node.warning or "it has a key that front matter cannot hold")
    node.slug, node.content_hash = slug, ""
    for name in _DATES:
        setattr(node, name, given.get(name, ""))
    return DescribedPage(node, folder, given=set(given), extra=extra)


def _from_file(value: dict[str, Any]) -> DescribedPage:
    """A node that holds its file: as it was, with what the document changed since."""
    slug, folder = value.get("slug"), value.get("folder", FOLDER_OF_TYPE[value["type"]])
    _check_name("slug", slug)
    if folder != "":
        _check_name("folder", folder)
        if folder.endswith(PAGE_SUFFIX):
            raise ValueError(f"no folder is called {folder[:80]!r}")
    data, path = _bytes_of(value), PurePath("docs", folder, f"{slug}{PAGE_SUFFIX}")
    modified = _date_of_undated(value, data, path)
    stand_in = time.time() if modified is None else modified
    old, new = (read_page(data, path, modified=stand_in) for _ in range(2))
    for key in value:
        known = getattr(old, key) if key in OWNED_KEYS else old.extra.get(key, _MISSING)
        if key in (*_OF_THE_DOCUMENT, "content_hash") or value[key] == known:
            continue
        if key in OWNED_KEYS:
            setattr(new, key, _typed(key, value[key]))
        elif _as_read(key, value[key]) != known:
            new.extra[key] = value[key]
    if value["body"] != old.body or ("raw" in value and new != old):
        raise ValueError("its text and what the document says of it do not fit together")
    if new != old:
        data = changed_page(decode(data)[0], old, new).encode("utf-8")
        warning = read_page(data, path, modified=stand_in).warning
        if warning not in ("", old.warning):
            raise ValueError(warning)
    return DescribedPage(new, folder, data, modified)


def _date_of_undated(value: dict[str, Any], data: bytes, path: PurePath) -> float | None:
    """When a page was last changed that leaves that to its file, in seconds since 1970; None for a page that
    has its dates.
    """
    page = read_page(data, path, modified=_UNDATED)
    dates = (value.get(key) for key in _DATES if getattr(page, key) == to_iso(_UNDATED))
    return next((to_seconds(date) for date in dates if isinstance(date, str)), None)


def _bytes_of(value: dict[str, Any]) -> bytes:
    key = "raw" if "raw" in value else "front_matter"
    if not isinstance(value[key], str) or len(value[key]) > 4 * MAX_PAGE_CHARS:
        raise ValueError(f"{key} is not a text, or too long")
    if key == "raw":
        return base64.b64decode(value["raw"], validate=True)
    return f"{value['front_matter']}{value['body']}".encode()


def _typed(key: str, value: Any) -> Any:
    """`value` if front matter may hold it under `key`, one of ours. Raises ValueError."""
    if key in _LISTS:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError(f"{key} is not a list of texts")
        return [clean_text(item) for item in value]
    if key in ("importance", "access_count"):
        kinds, most = ((int, float), 1.0) if key == "importance" else ((int,), 1e9)
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value <= most:
            raise ValueError(f"{key} must be a number from 0 to {most:g}")
        return value
    if value is None and key not in _NEVER_NULL:
        return None
    if not isinstance(value, str):
        raise ValueError(f"{key} is not a text")
    if key in _TIMES and to_seconds(value) is None:
        raise ValueError(f"{key}: {value[:40]!r} is not a date")
    return clean_text(value)


def _as_read(key: str, value: Any) -> Any:
    """`value` as it reads in front matter, where every scalar is a text."""
    return next(iter(frontmatter.parse(frontmatter.render({key: value})).values()))


def _check_shape(value: dict[str, Any]) -> None:
    """Refuse what no JSON file holds, and nesting that front matter could not hold."""
    level: list[Any] = [value]
    for _ in range(frontmatter.MAX_DEPTH + 3):  # the node itself, and the values at the end
        objects = [item for item in level if isinstance(item, dict)]
        if not all(isinstance(key, str) for item in objects for key in item):
            raise ValueError("one of its keys is not a text")
        if not all(isinstance(item, (dict, list, str, int, float, type(None))) for item in level):
            raise ValueError("it holds what JSON does not know")
        level = [inner for item in objects for inner in item.values()] + [
            inner for item in level if isinstance(item, list) for inner in item
        ]
        if not level:
            return
    raise ValueError(f"it is nested more than {frontmatter.MAX_DEPTH} levels deep")


def _check_name(what: str, name: object) -> None:
    """The gate between a document and a file name: what a person may have called a page, and nothing that
    runs, hides or leads elsewhere. Raises ValueError.
    """
    plain = name.translate(_SIGNS) if isinstance(name, str) and name == name.strip() else ""
    if not isinstance(name, str) or not is_plain_name(plain) or len(name.encode("utf-8")) > _MAX_NAME_BYTES:
        wanted = "letters, digits, spaces and plain signs, not beginning with '-' or '.'"
        raise ValueError(f"the {what} {str(name)[:80]!r} is no file name to import ({wanted})")
