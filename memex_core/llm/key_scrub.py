"""A key that a service sends back, in any form that can be turned into it again, out of what is told."""

from __future__ import annotations

import string
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote

LEAST_KEY = 4
"""Characters. What is shorter is no secret, but part of many words."""
RUN = 8
"""So many characters of a form in a row make it the key, also where only a part of it came back."""
MARK = "[REDACTED]"

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def without_key(text: str, key: str) -> str:
    """`text` with every part of `key` replaced: as it is, in any case, as in a URL, in base64 and in hex."""
    if len(key) < LEAST_KEY:
        return text
    lowered, hidden = text.translate(_LOWER), bytearray(len(text))
    for form in _forms(key):
        size = min(len(form), RUN)
        runs = {form[at : at + size] for at in range(len(form) - size + 1)}
        for at in range(len(text) - size + 1):
            if lowered[at : at + size] in runs:
                hidden[at : at + size] = b"\1" * size
    return "".join(_shown(text, hidden)) if any(hidden) else text


def _shown(text: str, hidden: bytearray) -> Iterator[str]:
    for at, char in enumerate(text):
        if not hidden[at]:
            yield char
        elif not at or not hidden[at - 1]:
            yield MARK


def _forms(key: str) -> set[str]:
    data = key.encode()
    long = [quote(key, safe=""), quote(key), data.hex()]
    for before in range(3):  # in the middle of other bytes it begins at any of three places
        packed = b64encode(b"\0" * before + data).decode().rstrip("=")
        packed = packed[before + 1 if before else 0 : -2]
        long += [packed, packed.translate(str.maketrans("+/", "-_"))]
    return {key.translate(_LOWER)} | {form.translate(_LOWER) for form in long if len(form) >= RUN}
