"""The only rooms that ask a model (seed 000 §7, Utility 5; DESIGN §3 "model calls").

    client_for(config, root) -> a client: `complete(prompt, max_tokens) -> str` and `calls: list[ModelCall]`
    refuse_in_a_child()      -> LLMError where a model that memex asks started this process
    tokens_today(root)       -> what today's calls used or may have used

Nothing of a provider, and no network library, is loaded before a client is made.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from memex_core.llm.child import refuse_in_a_child
from memex_core.llm.ledger import tokens_today
from memex_core.model.llm import LLMClient

if TYPE_CHECKING:
    from memex_core.config import LLMConfig

__all__ = ["client_for", "refuse_in_a_child", "tokens_today"]

_CLIENTS = {
    "openai": ("openai", "OpenAIClient"),
    "anthropic": ("anthropic", "AnthropicClient"),
    "ollama": ("ollama", "OllamaClient"),
    "lmstudio": ("lmstudio", "LMStudioClient"),
    "command": ("command", "CommandClient"),
}


def client_for(config: LLMConfig, root: Path, *, system: str = "") -> LLMClient:
    """The client of the provider that [llm] names; every call says `system` first.

    `root`: the memory root whose ledger counts the calls. Nothing is asked yet. Raises ConfigError where
    [llm] lacks what this provider needs, LLMError where its SDK is not installed, or where this process was
    itself started by a model that memex asks.
    """
    refuse_in_a_child()
    module, name = _CLIENTS[config.provider]
    client: LLMClient = getattr(importlib.import_module(f"{__name__}.{module}"), name)(config, root, system)
    return client
