"""From a title to a file stem (seed 000 §6.1, DESIGN §3 row slug), and when two titles count as the same."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Literal

SlugAlgo = Literal["kebab", "sha1"]

MAX_CHARS = 64
_MAX_BYTES = 200  # with ".md" and a number this stays under the 255 bytes of every common file system
_WINDOWS_DEVICE = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])\Z")
# Letters and marks that some file systems ignore when comparing names (Default_Ignorable_Code_Point).
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_ASCII_NAME = re.compile(r"[A-Za-z0-9_.-]+\Z")
_ASCII_RUN = re.compile(r"[^a-z0-9]+")


def fold(text: str) -> str:
    """`text` as a case-insensitive, normalising file system compares it: NFC of its full case folding."""
    if text.isascii():
        return text.lower()
    for _ in range(4):
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
        if folded == text:
            break
        text = folded
    return text


def title_key(title: str) -> str:
    """Equal keys mean the same title: NFC, case folded, white space collapsed."""
    return " ".join(fold(title).split())


def slugify(title: str, *, algo: SlugAlgo = "kebab", fallback: str = "") -> str:
    """The file stem of a title: letters and digits of any script, joined by hyphens, at most 64 characters.

    `fallback` (the page's id) gives its first 8 characters where nothing of the title is left. `algo="sha1"`
    gives 40 hexadecimal digits instead. The result is its own slug, is never a Windows device name, and two
    different results stay two files on a case-insensitive file system.
    """
    if algo == "sha1":
        return hashlib.sha1(title_key(title).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    slug = _shorten(_kebab(fold(title)), MAX_CHARS)
    if not slug and fallback:
        slug = slugify(fallback[:8])
    return f"{slug}-page" if _WINDOWS_DEVICE.match(slug) else slug


def numbered(slug: str, number: int) -> str:
    """The `number`-th page that wants `slug`: `slug`, then `slug-2`, `slug-3`; 64 characters at most."""
    if number < 2:
        return slug
    suffix = f"-{number}"
    return _shorten(slug, MAX_CHARS - len(suffix)) + suffix


def is_plain_name(name: str) -> bool:
    """True for a name that no shell, path or terminal takes for more: letters, digits and marks of any
    script, `-`, `_` and `.`, beginning with neither `-` nor `.`.
    """
    return bool(
        name and name[0] not in "-." and (_ASCII_NAME.match(name) if name.isascii() else _is_plain(name))
    )


def _is_plain(name: str) -> bool:
    return not _IGNORABLE.search(name) and all(
        char in "-_." or unicodedata.category(char)[0] in "LMN" for char in name
    )


def _kebab(folded: str) -> str:
    if folded.isascii():
        return _ASCII_RUN.sub("-", folded).strip("-")
    kept = _IGNORABLE.sub("", folded)
    spaced = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in kept)
    return unicodedata.normalize("NFC", "-".join(spaced.split()))


def _shorten(slug: str, limit: int) -> str:
    slug = slug[:limit]
    while len(slug.encode("utf-8", "replace")) > _MAX_BYTES:
        slug = slug[:-1]
    return slug.strip("-")
