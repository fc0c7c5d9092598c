"""The endpoint that turns texts into vectors: `POST {api_base}/embeddings`, as OpenAI defined it and local
servers speak it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memex_core.config import EmbedConfig
from memex_core.errors import ConfigError
from memex_core.llm.body import json_object
from memex_core.llm.failures import CallFailed, Sent, broken, failure_of_status
from memex_core.llm.http_post import post_json
from memex_core.llm.target import checked_address, checked_key

Matrix = npt.NDArray[np.float32]
"""One row a text, little-endian float32."""

BATCH = 64
"""Texts in one request, as wikimem asks."""


class NoVectors(Exception):
    """The endpoint gave none; the message is safe to show."""


class Endpoint:
    """Raises ConfigError for an address or key that cannot be used."""

    def __init__(self, config: EmbedConfig) -> None:
        self.model = config.model.strip()
        self._address = checked_address(config.api_base.strip(), "embed")
        self._key = checked_key(config.api_key.strip(), "embed", "MEMEX_EMBED_API_KEY")
        self._timeout = config.timeout

    def __str__(self) -> str:
        return f"{self.model} at {self._address}"

    def embed(self, texts: Sequence[str], deadline: float = float("inf")) -> Matrix:
        """A row for each of `texts`, BATCH at most, all of one length. Raises NoVectors; at `deadline`
        (time.monotonic) or the configured timeout at the latest.
        """
        until = min(deadline, time.monotonic() + self._timeout)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        asked = {"model": self.model, "input": list(texts)}
        try:
            reply = post_json(f"{self._address}/embeddings", asked, headers, until)
            if not 200 <= reply.status < 300:
                sent = Sent(tuple(texts), self._key)
                raise failure_of_status(reply.status, reply.body, reply.retry_after, sent)
            return _matrix(json_object(reply.body), len(texts))
        except CallFailed as failure:
            raise NoVectors(f"{self}: {failure.what}") from None
        except TimeoutError:
            raise NoVectors(f"{self}: no answer in time") from None


def usable_endpoint(config: EmbedConfig) -> Endpoint | None:
    """The endpoint that is configured; None where none is, or none that can be asked."""
    try:
        return Endpoint(config) if config.api_base.strip() and config.model.strip() else None
    except ConfigError:
        return None


def _matrix(answer: dict[str, Any], count: int) -> Matrix:
    """The vectors of an answer in the order of what was asked. Raises CallFailed for any other shape."""
    data = answer.get("data")
    if not isinstance(data, list) or len(data) != count:
        raise broken("did not answer with one vector for each text")
    rows: dict[int, Any] = {}
    for place, entry in enumerate(data):
        if not isinstance(entry, dict):
            raise broken("answered JSON of another shape")
        number = entry.get("index", place)
        rows[number if isinstance(number, int) else place] = entry.get("embedding")
    if rows.keys() != set(range(count)) or not all(isinstance(row, list) and row for row in rows.values()):
        raise broken("answered JSON of another shape")
    try:
        matrix = np.asarray([rows[number] for number in range(count)], dtype="<f4")
    except (TypeError, ValueError, OverflowError):
        raise broken("answered vectors that are no numbers, or of different lengths") from None
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise broken("answered vectors that are no numbers, or of different lengths")
    return matrix
