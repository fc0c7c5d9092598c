"""An OpenAI-compatible /embeddings endpoint on 127.0.0.1 that knows which words mean the same.

with Embeddings() as endpoint:
    ... ask at endpoint.url ...
    endpoint.texts -> every text that it was sent
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from loopback_providers import (
    Answer,
    Connection,
    Provider,
    error,
    hang,
    no_http,
    redirect,
    reset,
    response_bytes,
)

from memex_core.config import EmbedConfig, MemexConfig

MEANINGS = (
    ("car", "automobile", "vehicle"),
    ("cat", "kitten", "feline"),
    ("tea", "infusion", "brew"),
    ("bug", "defect", "fault"),
)
"""A direction each; whatever else a text says leans a little to the last one."""


def vector_of(text: str) -> list[float]:
    words = re.findall(r"\w+", text.lower())
    counts = [sum(words.count(word) for word in group) for group in MEANINGS]
    return [*(float(count) for count in counts), 0.1]


def cosine(first: list[float], second: list[float]) -> float:
    dot = sum(a * b for a, b in zip(first, second, strict=True))
    return dot / (math.hypot(*first) * math.hypot(*second))


_FAILURES: dict[str, Answer] = {
    "500": error(500, "broken"),
    "401": error(401, "no such key"),
    "hang": hang,
    "reset": reset,
    "down": reset,
    "garbage": no_http,
    "redirect": redirect("http://127.0.0.1:9/"),
}


class Embeddings(Provider):
    """Answers with `vector_of` each text, in reverse order, as the dialect allows.

    `fails_with`: how it fails, as long as it is set; `fails_after`: how many requests it answers before it
    does; `answers`: what it answers in place of vectors; `dims`: how many numbers its next vectors have;
    `refuses`: what a text may not hold; `text_takes`: seconds.
    """

    def __init__(self) -> None:
        super().__init__(self._embed)
        self.batches: list[list[str]] = []
        self.fails_with = ""
        self.fails_after: int | None = None
        self.answers: object = None
        self.dims: Iterator[int] = iter(())
        self.refuses = ""
        self.text_takes = 0.0
        self.on_batch: Callable[[int], None] = lambda count: None

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    def config(self, **values: Any) -> MemexConfig:
        return MemexConfig(embed=EmbedConfig(api_base=f"{self.url}/v1", model="toy", **values))

    def _embed(self, connection: Connection) -> None:
        if self.fails_with:
            _FAILURES[self.fails_with](connection)
            return
        if self.fails_after is not None:
            self.fails_after -= 1
            if self.fails_after < 0:
                _FAILURES["500"](connection)
                return
        texts = self.requests[-1].body["input"]
        self.batches.append(texts)
        self.on_batch(len(self.batches))
        if self.refuses and any(self.refuses in text for text in texts):
            error(400, f"cannot embed {texts}")(connection)
            return
        connection.stop.wait(self.text_takes * len(texts))
        dim = next(self.dims, None)
        data = [{"index": i, "embedding": vector_of(text)[-(dim or 0) :]} for i, text in enumerate(texts)]
        answer = {"object": "list", "data": data[::-1], "model": "toy", "usage": {"prompt_tokens": 1}}
        body = json.dumps(answer if self.answers is None else self.answers).encode()
        connection.send(response_bytes(body))
