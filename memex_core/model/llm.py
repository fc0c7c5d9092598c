"""What asks a model, and what a call cost (seed 000 §7, Utility 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a model. `estimated` where the provider gave no token counts. `outcome` is "ok",
    "cut" (at max_tokens), "refused" or "failed".
    """

    provider: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    ms: float
    outcome: str = "ok"


class LLMClient(Protocol):
    """Anything that answers a prompt. Raises LLMError.

    A client that keeps `calls: list[ModelCall]` has its calls counted as they were; another one's are
    estimated.
    """

    def complete(self, prompt: str, max_tokens: int) -> str: ...
