"""What a provider answered, before anybody interprets it."""

from __future__ import annotations

from dataclasses import dataclass

MAX_BYTES = 32 << 20
"""No answer is longer: 1,000,000 tokens, the most that [llm] max_tokens allows, are about 8 MB."""
MOST_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class Answer:
    """`prompt_tokens` and `completion_tokens` as the provider counted them, None where it did not.

    `is_cut`: it ended at max_tokens. `declined`: the model refused, whatever the text says.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    is_cut: bool = False
    declined: bool = False


def token_count(value: object) -> int | None:
    """`value` where it can be a count of tokens, else None."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS
    return value if is_count and isinstance(value, int) else None
