"""The dialect of /chat/completions, which OpenAI defined and the local servers speak too."""

from __future__ import annotations

from typing import Any

from memex_core.llm.answer import Answer, token_count
from memex_core.llm.asking import Asking
from memex_core.llm.body import json_object
from memex_core.llm.failures import broken, failure_of_status
from memex_core.llm.http_post import post_json

_SHAPE = "answered JSON of another shape"


class LocalChat(Asking):
    """A server of this dialect, asked over plain http.client; what is special about each is its own class."""

    may_read_a_part = True

    def _ask(self, prompt: str, max_tokens: int, deadline: float) -> Answer:
        body = {
            "model": self.target.model,
            "messages": messages(self.system, prompt),
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": False,
        }
        headers = {"Authorization": f"Bearer {self.target.key}"} if self.target.key else {}
        reply = post_json(f"{self.target.address}/chat/completions", body, headers, deadline)
        if not 200 <= reply.status < 300:
            raise failure_of_status(reply.status, reply.body, reply.retry_after, self._sent(prompt))
        return read_answer(reply.body)


def messages(system: str, prompt: str) -> list[dict[str, str]]:
    """The conversation that is asked: `system` first, where there is one."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": prompt}]


def read_answer(body: bytes) -> Answer:
    """The answer that a response body holds. Raises CallFailed for a body of any other shape."""
    value = json_object(body)
    choices = value.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise broken(_SHAPE)
    if not choices:
        raise broken("answered without a choice")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise broken(_SHAPE)
    text = message.get("content")
    if text is not None and not isinstance(text, str):
        raise broken(_SHAPE)
    reason = choices[0].get("finish_reason")
    usage = _dict(value.get("usage"))
    return Answer(
        text or "",
        token_count(usage.get("prompt_tokens")),
        token_count(usage.get("completion_tokens")),
        is_cut=reason == "length",
        declined=reason == "content_filter" or (bool(message.get("refusal")) and not text),
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
