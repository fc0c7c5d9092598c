"""What RecallFiles and the diary hold: items (what is true now) and events (what happened), and the gates
that refuse what would not be read back as it was given (seed 002; formats page 1.5, 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from memex_core.errors import WrongValue
from memex_core.model.node import WikiNode
from memex_core.text.blocks import Provenance, field_value, flaw_in, item_links, item_name, normalized
from memex_core.text.clean import clean_text

ORIGIN_KEY = "wikimem"
"""The key of front matter that holds what an imported item said: file, name, order, owner, source, ts."""
_REMEDIES = {
    "heading": "indent it, or use another heading level",
    "comment": "put backticks around it, or other words on its line",
}
_NOT_IN_NAMES = ("[[", "]]", ":", "|", "#")


@dataclass(frozen=True, slots=True)
class RecallItem:
    """One `##` block of wiki/<file>.md. Names are unique in their file; `ts` is free text, for people."""

    file: str
    name: str
    content: str
    owner: str | None = None
    source_conv: str | None = None
    ts: str | None = None

    @property
    def links(self) -> list[tuple[str, str]]:
        """(file, name) of every `[[file:name]]` in the content, as wikimem sees them: in code, too."""
        return item_links(self.content)


@dataclass(frozen=True, slots=True)
class DiaryEvent:
    """One `##` block of diary/<date>.md. `time` is its heading as it stands, `HH:MM` where a program wrote
    it; `ts` the exact instant, ISO 8601 UTC. `ordinal` is its place in the day's file, from 0: (date,
    ordinal) names one event, also among several of one minute.
    """

    date: str
    time: str
    content: str
    owner: str | None = None
    source_conv: str | None = None
    ts: str | None = None
    ordinal: int = 0

    @property
    def links(self) -> list[tuple[str, str]]:
        """(file, name) of every `[[file:name]]` in the content, as wikimem sees them."""
        return item_links(self.content)


def origin_of(page: WikiNode) -> dict[str, str]:
    """What the page says about the item it was imported from; {} where it was not."""
    said = page.extra.get(ORIGIN_KEY)
    if not isinstance(said, dict):
        return {}
    return {key: value for key, value in said.items() if isinstance(value, str)}


def imported_item(page: WikiNode) -> tuple[str, str] | None:
    """(file, name) of the item that the page was imported from; None where it was not."""
    said = origin_of(page)
    file, name = said.get("file", ""), item_name(said.get("name", ""))
    return (file, name) if file and name else None


def checked_name(name: str) -> str:
    """The name of an item as it will be read back: white space collapsed. ValueError where none may be so.

    A single bracket is allowed, as in wikimem, though no link can lead to such a name.
    """
    found = item_name(clean_text(item_name(name)))
    if not found:
        raise WrongValue("an item needs a name")
    for mark in _NOT_IN_NAMES:
        if mark in found:
            raise WrongValue(f"the name of an item must not hold {mark!r}: {found[:80]!r}")
    return found


def checked_content(content: str) -> str:
    """Content as it will be read back: LF only, nothing blank at either end. ValueError, which names the
    line, where a part of it would be read as something else.
    """
    kept = normalized(clean_text(normalized(content)))
    flaw = flaw_in(kept)
    if flaw:
        raise WrongValue(f"{flaw}; {_REMEDIES['comment' if ' comment: ' in flaw else 'heading']}")
    return kept


def checked_provenance(owner: str | None, source_conv: str | None, ts: str | None) -> Provenance:
    """The fields of a metadata comment as they will be read back: `|` is `/`, blank is None. ValueError for
    a line end or `-->` in one: they would end the comment.
    """
    values = {"owner": owner, "source": source_conv, "ts": ts}
    return Provenance(*(_checked_field(name, value) for name, value in values.items()))


def _checked_field(name: str, value: str | None) -> str | None:
    value = (value or "").strip()
    if len(value.splitlines()) > 1:
        raise WrongValue(f"{name} must be one line: {value[:80]!r}")
    value = clean_text(value)
    if "-->" in value:
        raise WrongValue(f"{name} must not hold '-->': {value[:80]!r}")
    return field_value(value)


def utc_stamp(moment: datetime) -> str:
    """`2026-09-15T10:00:00+00:00`: an instant as wikimem writes it, whole seconds."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def utc_now() -> datetime:
    return datetime.now(UTC)
