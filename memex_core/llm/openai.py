"""OpenAI and services that copy its API, through the official SDK (seed 000 §7, Utility 5)."""

from __future__ import annotations

from typing import Any

from memex_core.llm.answer import Answer
from memex_core.llm.chat_completions import messages, read_answer
from memex_core.llm.sdk import SdkClient
from memex_core.llm.target import provider_facts


class OpenAIClient(SdkClient):
    """Needs the extra `openai` and a key: MEMEX_API_KEY, or OPENAI_API_KEY."""

    def _client(self, sdk: Any, **options: Any) -> Any:
        return sdk.OpenAI(**options)

    def _request(self, client: Any, prompt: str, max_tokens: int) -> Any:
        return client.chat.completions.with_streaming_response.create(
            model=self.target.model,
            messages=messages(self.system, prompt),
            **{self._limit: max_tokens},
        )

    @property
    def _limit(self) -> str:
        """OpenAI's own newer models refuse the older name, copies of its API often know no other."""
        own = self.target.address == provider_facts("openai")["api_base"]
        return "max_completion_tokens" if own else "max_tokens"

    def _read(self, body: bytes) -> Answer:
        return read_answer(body)
