"""From a RecallFile or a day of the diary to its rows: an item or event a block (seed 002).

An item is known by `wiki/<file>.md#<name>`, an event by `diary/<date>.md#<ordinal>`. Of a file that changed,
only the blocks that changed are indexed again. Every function works inside the caller's transaction.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from dataclasses import dataclass

from memex_core.index.item_links import find_item_links, item_label, item_path
from memex_core.index.kinds import EVENT, EVENTS, ITEM, ITEMS
from memex_core.index.page_rows import Row, column_values, drop_page, put_row
from memex_core.model.node import WikiNode
from memex_core.text.blocks import Section, item_name, parse, read_body
from memex_core.text.clean import clean_text
from memex_core.text.instant import to_seconds
from memex_core.text.links import parse_links
from memex_core.text.query_terms import index_terms

SEARCHED_CHARS = 262_144
"""Characters of an item or event that are searched; what lies behind is kept in its file but not found."""

_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])\Z")
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class _Named:
    """How a block is known and shown. `moment` (seconds) orders and filters it; `searched` are the columns
    slug and title of wiki_fts.
    """

    slug: str
    title: str
    moment: float
    when: str
    searched: tuple[str, str]


def put_blocks(db: sqlite3.Connection, file: str, text: str) -> None:
    """Bring the rows of the items or events of the file at `file` to what `text`, its content, says."""
    key = "place" if _is_day(file) else "heading"
    rows = db.execute(f"SELECT {key}, hash FROM blocks WHERE file = ?", (file,))
    known = {row[0]: row[1] for row in rows}
    for name, section in _sections(file, text).items():
        written = text[section.start : section.end].rstrip()
        digest = hashlib.blake2b(written.encode("utf-8"), digest_size=16).hexdigest()
        if known.pop(name, None) != digest:
            put_row(db, _row(file, name, text, section, digest))
    for name in known:
        drop_page(db, _path(file, name))


def drop_blocks(db: sqlite3.Connection, file: str) -> None:
    """Take all items or events of a file out of the index."""
    put_blocks(db, file, "")


def _is_day(file: str) -> bool:
    return file.startswith("diary/")


def _path(file: str, name: int | str) -> str:
    return f"{file}#{name}" if isinstance(name, int) else item_path(_stem(file), name)


def _stem(file: str) -> str:
    return file.partition("/")[2].removesuffix(".md")


def _sections(file: str, text: str) -> dict[int, Section] | dict[str, Section]:
    """The blocks of a day by their places, those of a RecallFile by their names: of several the last one."""
    if _is_day(file):
        return dict(enumerate(parse(text)))
    return {clean_text(item_name(section.heading)): section for section in parse(text)}


def _row(file: str, name: int | str, text: str, section: Section, digest: str) -> Row:
    content, said = read_body(text, section)
    content = clean_text(content)
    owner, source_conv, ts = (value and clean_text(value) for value in said)
    if isinstance(name, int):
        heading = clean_text(section.heading)
        named = _event(_stem(file), name, heading, ts)
    else:
        heading = name
        named = _item(_stem(file), name, ts)
    item_links = find_item_links(content)
    as_items = {link.page_key for link in item_links}
    page_links = [key for key in parse_links(content) if key not in as_items]
    node = WikiNode(
        type=EVENT if _is_day(file) else ITEM,
        title=named.title,
        body=content,
        slug=named.slug,
        created=named.when,
        updated=named.when,
        links=[*(item_label(link.target_path) for link in item_links), *page_links],
        sources=[source_conv] if source_conv else [],
        content_hash=digest,
    )
    body = content[:SEARCHED_CHARS]
    extra = index_terms("\n".join((*named.searched, body)))
    return Row(
        kind=EVENTS if _is_day(file) else ITEMS,
        path=_path(file, name),
        values=column_values(node, slug_key="", title_key="", moment=named.moment),
        searched=(*named.searched, body, "", " ".join(extra)),
        tags=[],
        links=page_links,
        item_links=item_links,
        block=(file, name if isinstance(name, int) else 0, heading, digest, owner, source_conv),
    )


def _item(file: str, name: str, ts: str | None) -> _Named:
    return _Named(item_label(item_path(file, name)), name, to_seconds(ts) or 0.0, ts or "", (file, name))


def _event(date: str, place: int, heading: str, ts: str | None) -> _Named:
    """An event is ordered by the wall clock, as its day is; a heading that is no time comes last."""
    clock = _TIME.match(heading)
    seconds = int(clock[1]) * 3600 + int(clock[2]) * 60 if clock else _DAY_S - 1
    moment = (to_seconds(date) or 0.0) + seconds
    when = ts or (f"{date}T{heading}" if clock else date)
    told = "" if clock else heading  # a time of day says nothing that a query could ask for
    return _Named(f"{date}#{place}", f"{date} {heading}".strip(), moment, when, ("", told))
