"""The endpoint that turns texts into vectors: `POST {api_base}/embeddings`, as OpenAI defined it and local
servers speak it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from memex_core.config import EmbedConfig
from memex_core.llm.body import json_object
from memex_core.llm.failures import CallFailed, Sent, broken, failure_of_status
from memex_core.llm.http_post import post_json
from memex_core.llm.target import checked_address, checked_key

Matrix = npt.NDArray[np.float32]
"""One row a text, little-endian float32."""

BATCH = 64
"""Texts in one request, as wikimem asks."""


Failure = Literal["refused", "slow", "other"]
"""What the endpoint will not take, what it did not do in time, and what no other request would change."""


class NoVectors(Exception):
    """The endpoint gave none; the message is safe to show, and holds nothing of what was sent."""

    def __init__(self, what: str, kind: Failure) -> None:
        super().__init__(what)
        self.kind = kind


class Endpoint:
    """Raises ConfigError for an address or key that cannot be used."""

    def __init__(self, config: EmbedConfig) -> None:
        self.model = config.model.strip()
        self._address = checked_address(config.api_base.strip(), "embed")
        self._key = checked_key(config.api_key.strip(), "embed", "MEMEX_EMBED_API_KEY")
        self.timeout = config.timeout

    def __str__(self) -> str:
        return f"{self.model} at {self._address}"

    def embed(self, texts: Sequence[str], deadline: float) -> Matrix:
        """A row for each of `texts`, BATCH at most, all of one length; they may be no directions. Raises
        NoVectors, at `deadline` (time.monotonic) at the latest.
        """
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        asked = {"model": self.model, "input": list(texts)}
        try:
            reply = post_json(f"{self._address}/embeddings", asked, headers, deadline)
            if not 200 <= reply.status < 300:
                sent = Sent(tuple(texts), self._key)
                raise failure_of_status(reply.status, b"", reply.retry_after, sent)  # its words may be ours
            return _matrix(json_object(reply.body), len(texts))
        except CallFailed as failure:
            kind: Failure = "refused" if failure.kind == "request" else "other"
            raise NoVectors(f"{self}: {failure.what}", kind) from None
        except TimeoutError:
            raise NoVectors(f"{self}: no answer in time", "slow") from None

    def embed_query(self, text: str) -> Matrix:
        """The vector of one text, a direction, within the configured timeout. Raises NoVectors."""
        row: Matrix = self.embed([text], time.monotonic() + self.timeout)[0]
        if not np.isfinite(row).all() or not row.any():
            raise NoVectors(f"{self}: answered a vector that is no direction", "other")
        return row


def _matrix(answer: dict[str, Any], count: int) -> Matrix:
    """The vectors of an answer in the order of what was asked. Raises CallFailed for any other shape."""
    data = answer.get("data")
    if not isinstance(data, list) or len(data) != count:
        raise broken("did not answer with one vector for each text")
    rows: dict[Any, Any] = {}
    for place, entry in enumerate(data):
        if not isinstance(entry, dict):
            raise broken("answered JSON of another shape")
        rows[entry.get("index", place)] = entry.get("embedding")
    numbers = [rows.get(place) for place in range(count)]
    if any(type(place) is not int for place in rows) or not all(isinstance(row, list) for row in numbers):
        raise broken("answered JSON of another shape")
    try:
        matrix = np.array(numbers)
    except ValueError:
        raise broken("answered vectors of different lengths") from None
    if matrix.ndim != 2 or not matrix.shape[1] or matrix.dtype.kind not in "iuf":
        raise broken("answered vectors that are no numbers")
    with np.errstate(over="ignore"):
        return matrix.astype("<f4")
