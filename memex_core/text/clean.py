"""The one cleaner that text from outside passes (DESIGN §4 Files)."""

from __future__ import annotations

import re

_SUSPECT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_CONTROL = dict.fromkeys((n for n in range(0x20) if chr(n) not in "\t\n\r"), None)


def clean_text(text: str) -> str:
    """`text` in a form that encodes as UTF-8 and survives SQLite, JSON and YAML.

    Surrogate pairs are joined, lone surrogates become U+FFFD, NUL and the other C0 controls except tab,
    newline and carriage return are dropped. Clean text comes back as the same object; idempotent.
    """
    if _SUSPECT.search(text) is None:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.translate(_CONTROL)
