"""A cache brought to what the memory says: what is new is embedded once, by the hash of its text; the rest is
carried over (seed 002).

What was paid for is kept: it is saved while more is asked for, so that a kill costs seconds of it, and one
text that the endpoint refuses costs that text.
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

Progress = Callable[[int, int], None]
"""(texts embedded so far, texts to embed)."""

FIRST_BATCH = 16
"""How fast the endpoint is is not known yet."""
CHEAP_S = 0.2
SAVES_SHARE = 4
"""Every batch is saved while a save takes less than CHEAP_S; then so many times what one takes is spent on
asking in between.
"""
MAX_REFUSED = 5
"""So many texts refused with none taken before: it is not for their sake."""
MAX_SLOW = 4


@dataclass(frozen=True, slots=True)
class Text:
    """What is embedded for a page, item or event: `sent`, the beginning of the text that `key.hash` is of."""

    key: Key
    sent: str


@dataclass(frozen=True, slots=True)
class Filling:
    """How a cache is filled. `dim`: how many numbers the endpoint's vectors have. `deadline` (time.monotonic)
    and `patience` (seconds) bound the whole and one request. `is_kept`: keys that stay although no text has
    them; `is_there`: False where what a key names is gone by the time it is saved. `turn` lets one process
    fill at a time, `lock` one process write; both raise LockTimeout. `anew`: what is there does not count.
    """

    endpoint: Endpoint
    dim: int
    turn: Callable[[], AbstractContextManager[object]]
    lock: Callable[[], AbstractContextManager[object]]
    deadline: float = float("inf")
    patience: float = float("inf")
    is_kept: Callable[[Key], bool] = lambda key: False
    is_there: Callable[[Key], bool] = lambda key: True
    anew: bool = False
    progress: Progress = lambda done, of: None


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


def fill(cache: VectorCache, texts: Sequence[Text], how: Filling) -> Filled:
    """Bring `cache` to `texts`. The caller has seen that there is no `mismatch`. Never raises for an endpoint
    that fails or a cache that cannot be written: what could not be done is `missing`.
    """
    work = _Work(cache, texts, how)
    if work.missing():
        try:
            cache.check_writable()
            with how.turn():
                work.ask()
        except LockTimeout:
            work.trouble = "another process is embedding"
        except OSError as error:
            work.trouble = f"vectors cannot be kept: {error}"
    else:
        work.save(only_changed=True)
    return work.filled()


class _Work:
    """The state of one filling. `fresh` are the rows that are not saved yet, by the hashes of their texts."""

    def __init__(self, cache: VectorCache, texts: Sequence[Text], how: Filling) -> None:
        self.cache = cache
        self.texts = texts
        self.how = how
        self.cached = None if how.anew else cache.load()
        self.known_first = set(self.cached.keys) if self.cached else set()
        self.fresh: dict[str, Matrix] = {}
        self.embedded = 0
        self.trouble = ""
        self._replaces = how.anew
        self._saved_at = time.monotonic()
        self._save_took = 0.0

    def missing(self) -> list[Text]:
        """The texts without a vector, each once."""
        known = _rows(self.cached)
        there = known.keys() | self.fresh.keys()
        return list({text.key.hash: text for text in self.texts if text.key.hash not in there}.values())

    def ask(self) -> None:
        """Ask for what is missing until it is there or something stops it; whatever came is saved."""
        self.cached = None if self._replaces else self.cache.load()  # another process may have been at it
        rest = self.missing()
        total = len(rest)
        asking = _Asking(self.how)
        try:
            while rest and not asking.trouble:
                batch, rows = asking.next(rest)
                rest = rest[len(batch) :]
                self._take(batch, rows)
                self.how.progress(total - len(rest), total)
                if self._save_took < CHEAP_S or self._since_save() >= SAVES_SHARE * self._save_took:
                    self.save()
        finally:
            self.trouble = asking.trouble or asking.refused
            self.save()

    def _take(self, batch: Sequence[Text], rows: Matrix) -> None:
        for text, row in zip(batch, rows, strict=True):
            if _is_direction(row):
                self.fresh[text.key.hash] = row
                self.embedded += 1

    def save(self, *, only_changed: bool = False) -> None:
        """Put what there is on disk, beside what other processes put there meanwhile."""
        if not self.fresh and not (only_changed and self._is_out_of_date()):
            return
        started = time.monotonic()
        try:
            with self.how.lock():
                cached = None if self._replaces else self.cache.load()
                if mismatch(cached, self.how.endpoint.model, self.how.dim):
                    return
                self.cached = cached
                keys, matrix = self._merged()
                self.cache.save(keys, matrix, self.how.endpoint.model)
                self.cached, self.fresh, self._replaces = self.cache.load(), {}, False
        except (OSError, LockTimeout) as error:
            self.trouble = self.trouble or f"vectors cannot be kept: {error}"
        self._saved_at = time.monotonic()
        self._save_took = self._saved_at - started

    def _since_save(self) -> float:
        return time.monotonic() - self._saved_at

    def filled(self) -> Filled:
        keys, matrix = (
            self._merged()
            if self.fresh
            else (list(self.cached.keys), self.cached.matrix)
            if self.cached
            else ([], _none())
        )
        row_of = {key.hash: row for row, key in enumerate(keys)}
        lacking = len({text.key.hash for text in self.texts} - row_of.keys())
        return Filled(matrix, row_of, self.embedded, lacking, self.trouble)

    def _is_out_of_date(self) -> bool:
        if self.cached is None:
            return False
        wanted, there = {text.key for text in self.texts}, set(self.cached.keys)
        return bool(wanted - there) or any(not self.how.is_kept(key) for key in there - wanted)

    def _merged(self) -> tuple[list[Key], Matrix]:
        """(keys, matrix) of a cache of the texts, in their order, behind the rows that are kept."""
        known = _rows(self.cached)
        mine = [text.key for text in self.texts]
        others = self.cached.keys if self.cached else []
        kept = [key for key in others if self.how.is_kept(key) or key not in self.known_first]
        keys = [
            key
            for key in dict.fromkeys([*(key for key in kept if key not in set(mine)), *mine])
            if (key.hash in known or key.hash in self.fresh) and self.how.is_there(key)
        ]
        matrix = np.empty((len(keys), self.how.dim), "<f4")
        carried = [place for place, key in enumerate(keys) if key.hash in known]
        if self.cached and carried:
            matrix[carried] = self.cached.matrix[[known[keys[place].hash] for place in carried]]
        for place, key in enumerate(keys):
            if key.hash not in known:
                matrix[place] = self.fresh[key.hash]
        return keys, matrix


class _Asking:
    """How many texts the next request may have, by how the ones before went. `trouble` ends it; `refused`
    tells of texts that were left out.
    """

    def __init__(self, how: Filling) -> None:
        self.how = how
        self.trouble = ""
        self.refused = ""
        self._size = BATCH if how.deadline == float("inf") else FIRST_BATCH
        self._text_took = 0.0
        self._refusals = 0
        self._taken = 0
        self._slow = 0

    def next(self, rest: Sequence[Text]) -> tuple[Sequence[Text], Matrix]:
        """The next texts that are done with, and their rows; without any, `trouble` is set, or fewer are
        asked for the next time.
        """
        batch = rest[: self._affordable()]
        if not batch:
            self.trouble = "there was no time for all of them"
            return [], _none()
        started = time.monotonic()
        try:
            until = min(self.how.deadline, started + self.how.patience)
            rows = self.how.endpoint.embed([text.sent for text in batch], until)
        except NoVectors as error:
            return self._without(batch, error)
        if rows.shape[1] != self.how.dim:
            self.trouble = (
                f"{self.how.endpoint}: vectors of {rows.shape[1]} numbers, others have {self.how.dim}"
            )
            return [], _none()
        self._text_took = (time.monotonic() - started) / len(batch)
        self._taken += len(batch)
        self._size = min(BATCH, self._size * 2)
        return batch, rows

    def _affordable(self) -> int:
        left = self.how.deadline - time.monotonic()
        if left <= 0:
            return 0
        return int(min(self._size, left / (1.5 * self._text_took))) if self._text_took else self._size

    def _without(self, batch: Sequence[Text], error: NoVectors) -> tuple[Sequence[Text], Matrix]:
        if error.kind == "slow" and len(batch) > 1 and self._slow < MAX_SLOW:
            self._slow += 1
            self._size = max(1, len(batch) // 4)
        elif error.kind == "refused" and len(batch) > 1:
            self._size = len(batch) // 2
        elif error.kind == "refused" and (self._taken or self._refusals + 1 < MAX_REFUSED):
            self._refusals += 1
            self.refused = f"{self._refusals} refused; {error}"
            return batch, np.full((1, self.how.dim), np.nan, "<f4")
        else:
            self.trouble = str(error)
        return [], _none()


def _is_direction(row: Matrix) -> bool:
    return bool(np.isfinite(row).all() and row.any())


def _rows(cached: Cached | None) -> dict[str, int]:
    return {key.hash: row for row, key in enumerate(cached.keys)} if cached else {}


def _none() -> Matrix:
    return np.empty((0, 0), "<f4")
