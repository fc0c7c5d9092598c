"""How many tokens a text has, where nobody has counted yet."""

from __future__ import annotations


def estimated_tokens(text: str) -> int:
    """About how many: four ASCII characters a token, one character of other scripts."""
    others = _others(text)
    return (len(text) - others + 3) // 4 + others


def most_tokens(text: str) -> int:
    """At least as many as any usual tokenizer makes of it: what a call may cost, before it is made."""
    others = _others(text)
    return (len(text) - others + 1) // 2 + 2 * others + 32


def _others(text: str) -> int:
    return 0 if text.isascii() else sum(1 for char in text if ord(char) > 127)
