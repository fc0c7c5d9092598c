"""Models that run under Ollama: the default provider, without a dependency (seed 000 §7, Utility 5)."""

from __future__ import annotations

from pathlib import Path

from memex_core.config import LLMConfig
from memex_core.llm.chat_completions import LocalChat
from memex_core.llm.target import service


class OllamaClient(LocalChat):
    """Asks `[llm] api_base`, http://localhost:11434/v1 unless set."""

    def __init__(self, config: LLMConfig, root: Path, system: str = "") -> None:
        super().__init__(config, root, system, service(config))
