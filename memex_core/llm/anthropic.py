"""Anthropic's Messages API, through the official SDK (seed 000 §7, Utility 5)."""

from __future__ import annotations

from typing import Any

from memex_core.llm.answer import Answer, token_count
from memex_core.llm.body import json_object
from memex_core.llm.failures import broken
from memex_core.llm.sdk import SdkClient

_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicClient(SdkClient):
    """Needs the extra `anthropic` and a key: MEMEX_API_KEY, or ANTHROPIC_API_KEY."""

    def _client(self, sdk: Any, **options: Any) -> Any:
        base = options.pop("base_url").removesuffix("/v1")  # the SDK puts it there itself
        return sdk.Anthropic(base_url=base, **options)

    def _request(self, client: Any, prompt: str, max_tokens: int) -> Any:
        system = {"system": self.system} if self.system else {}
        return client.messages.with_streaming_response.create(
            model=self.target.model,
            max_tokens=max_tokens,
            messages=[{"role": "user", "content": prompt}],
            **system,
        )

    def _read(self, body: bytes) -> Answer:
        value = json_object(body)
        blocks = value.get("content")
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise broken("answered JSON of another shape")
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        if not all(isinstance(text, str) for text in texts):
            raise broken("answered JSON of another shape")
        found = value.get("usage")
        usage = found if isinstance(found, dict) else {}
        counts = [token_count(usage.get(name)) for name in _READ]
        return Answer(
            "".join(str(text) for text in texts),
            None if counts[0] is None else sum(count or 0 for count in counts),
            token_count(usage.get("output_tokens")),
            is_cut=value.get("stop_reason") == "max_tokens",
            declined=value.get("stop_reason") == "refusal",
        )
