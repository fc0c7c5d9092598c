"""A cache brought to what the memory says: what is new is embedded once, by the hash of its text; the rest is
carried over (seed 002).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np

from memex_core.errors import LockTimeout
from memex_core.vectors.cache import Cached, VectorCache
from memex_core.vectors.endpoint import BATCH, Endpoint, Matrix, NoVectors
from memex_core.vectors.keys import Key

Lock = Callable[[], AbstractContextManager[object]]
Progress = Callable[[int, int], None]
"""(texts embedded so far, texts to embed)."""


@dataclass(frozen=True, slots=True)
class Text:
    """What is embedded for a page, item or event: `sent`, the beginning of the text that `key.hash` is of."""

    key: Key
    sent: str


@dataclass(slots=True)
class Filled:
    """The vectors there are: that of a text is row `row_of[hash]` of `matrix`. `embedded` counts those made
    now, `missing` those that are not there; `trouble` says why.
    """

    matrix: Matrix
    row_of: dict[str, int] = field(default_factory=dict)
    embedded: int = 0
    missing: int = 0
    trouble: str = ""


def text_of(file: str, name: str, whole: str, max_chars: int) -> Text:
    """The text of the item or page `name` in `file`; `whole` is what names it, a line end, its content."""
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
    return Text(Key(file, name, digest), whole[:max_chars])


def mismatch(cached: Cached | None, model: str, dim: int | None = None) -> str:
    """Why the vectors of a cache cannot be compared with those of `model`; "" where they can. A cache that
    does not name its model is taken to be of this one.
    """
    if cached is None:
        return ""
    if cached.stamp.model not in (None, model):
        return f"the vectors were made by {cached.stamp.model!r}, and [embed] model is {model!r}"
    if dim is not None and cached.stamp.dim != dim:
        return f"the vectors have {cached.stamp.dim} numbers each, those of {model!r} now {dim}"
    return ""


def fill(
    cache: VectorCache,
    texts: Sequence[Text],
    endpoint: Endpoint,
    lock: Lock,
    *,
    deadline: float = float("inf"),
    is_kept: Callable[[Key], bool] = lambda key: False,
    progress: Progress = lambda done, of: None,
) -> Filled:
    """Bring `cache` to `texts`, and beside them the keys that are there and `is_kept`; asks nothing after
    `deadline` (time.monotonic).

    What was embedded is kept, whatever fails afterwards. A cache that cannot be written to serves this time
    only. The caller has seen that there is no `mismatch`.
    """
    cached = cache.load()
    known = _rows(cached)
    missing = list({text.key.hash: text for text in texts if text.key.hash not in known}.values())
    fresh, trouble = _embedded(missing, endpoint, deadline, progress)
    wanted = {text.key for text in texts if text.key.hash in known}
    there = {key for key in cached.keys if not is_kept(key)} if cached else set()
    keys, matrix = (cached.keys, cached.matrix) if cached else ([], _none())
    if fresh or wanted != there:
        keys, matrix = _merged(texts, cached, fresh, is_kept)
        try:
            with lock():
                cached = cache.load()  # another process may have filled it meanwhile
                if not mismatch(cached, endpoint.model, _dim(fresh)):
                    keys, matrix = _merged(texts, cached, fresh, is_kept)
                    cache.save(keys, matrix, endpoint.model)
        except (OSError, LockTimeout) as error:
            trouble = trouble or f"the vectors cannot be kept: {error}"
    row_of = {key.hash: row for row, key in enumerate(keys)}
    lacking = sum(text.key.hash not in row_of for text in missing)
    return Filled(matrix, row_of, len(fresh), lacking, trouble)


def _embedded(
    missing: Sequence[Text], endpoint: Endpoint, deadline: float, progress: Progress
) -> tuple[dict[str, Matrix], str]:
    """(the vectors of `missing` by their hashes, why some are not there)."""
    found: dict[str, Matrix] = {}
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        if time.monotonic() >= deadline:
            return found, "there was no time for all of them"
        try:
            vectors = endpoint.embed([text.sent for text in batch], deadline)
        except NoVectors as error:
            return found, str(error)
        if found and vectors.shape[1] != _dim(found):
            return found, f"{endpoint}: vectors of {vectors.shape[1]} numbers after some of {_dim(found)}"
        found.update(zip((text.key.hash for text in batch), vectors, strict=True))
        progress(len(found), len(missing))
    return found, ""


def _merged(
    texts: Sequence[Text], cached: Cached | None, fresh: dict[str, Matrix], is_kept: Callable[[Key], bool]
) -> tuple[list[Key], Matrix]:
    """(keys, matrix) of a cache of `texts`, in their order, behind the rows that are kept."""
    known = _rows(cached)
    kept = [key for key in cached.keys if is_kept(key)] if cached else []
    keys = [
        key
        for key in dict.fromkeys([*kept, *(text.key for text in texts)])
        if key.hash in known or key.hash in fresh
    ]
    if not keys:
        return [], _none()
    dim = cached.stamp.dim if cached else _dim(fresh)
    matrix = np.empty((len(keys), dim or 0), "<f4")
    carried = [place for place, key in enumerate(keys) if key.hash in known]
    if cached and carried:
        matrix[carried] = cached.matrix[[known[keys[place].hash] for place in carried]]
    for place, key in enumerate(keys):
        if key.hash not in known:
            matrix[place] = fresh[key.hash]
    return keys, matrix


def _rows(cached: Cached | None) -> dict[str, int]:
    return {key.hash: row for row, key in enumerate(cached.keys)} if cached else {}


def _dim(vectors: dict[str, Matrix]) -> int | None:
    return next((len(row) for row in vectors.values()), None)


def _none() -> Matrix:
    return np.empty((0, 0), "<f4")
