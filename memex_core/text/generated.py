"""The generated part of a page, between two marker comments (DESIGN §4 Episode page).

The opening marker carries a digest of what we wrote: text that no longer fits it was edited by hand and is
kept.
"""

from __future__ import annotations

import hashlib
import re

_BEGIN = re.compile(r"^<!-- memex:generated ([0-9a-f]{16}) -->[ \t]*\r?\n", re.MULTILINE)
_END = "<!-- memex:end -->"


def generated_digest(text: str) -> str:
    """16 hexadecimal digits over `text` with its line ends normalised."""
    return hashlib.sha256(text.strip().replace("\r\n", "\n").encode("utf-8", "replace")).hexdigest()[:16]


def part_digest(text: str) -> str:
    """The digest that the generated part made of `text` carries."""
    return generated_digest(_defused(text))


def with_markers(text: str) -> str:
    """`text` as a generated part; markers inside it are defused."""
    return f"<!-- memex:generated {part_digest(text)} -->\n{_defused(text)}\n{_END}\n"


def without_markers(body: str) -> str:
    """`body` as a person reads it: the markers are no words of the page."""
    return _BEGIN.sub("", body).replace(_END, "")


def merge_generated(body: str, text: str, previous_digest: str) -> str:
    """`body` with its generated part brought to `text`; everything else stays as it is.

    A generated part edited by hand loses its markers, so that it is the person's from now on, and the new
    one follows it. Where no generated part is left, `text` is added only if it differs from what we wrote
    last (`previous_digest`).
    """
    new = with_markers(text)
    found = _BEGIN.search(body)
    if found is None:
        unchanged = part_digest(text) == previous_digest
        return body if unchanged and body.strip() else _beside(body, new)
    end = body.find(_END, found.end())
    if end < 0:
        return _beside(body[: found.start()] + body[found.end() :], new)
    inside, after = body[found.end() : end], body[end + len(_END) :]
    if generated_digest(inside) == found[1]:
        return body[: found.start()] + new.rstrip("\n") + after
    if part_digest(text) == previous_digest:
        return body
    return _beside(body[: found.start()] + inside.rstrip() + after, new)


def _defused(text: str) -> str:
    return text.strip().replace("<!-- memex:", "<!-- memex\u200b:")


def _beside(body: str, new: str) -> str:
    return f"{body.rstrip()}\n\n{new}" if body.strip() else new
