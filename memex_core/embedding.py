"""What is near to a query in meaning: from the memory's texts to their vectors and back (issue 4 item 9;
formats page 1.9, 2.2).

Only a recall that somebody asked for comes by here, never a hook. Pages, items and events have a cache each;
that of the events is filled only with the days that a query reaches. Whatever goes wrong, words alone rank.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from memex_core import paths
from memex_core.config import EmbedConfig
from memex_core.files.lock import memory_lock
from memex_core.files.operation_log import log_operation
from memex_core.index.documents import Document
from memex_core.index.kinds import EVENTS, ITEMS, PAGES
from memex_core.index.meaning import Meaning
from memex_core.vectors.cache import VectorCache
from memex_core.vectors.cosines import cosines
from memex_core.vectors.endpoint import Endpoint, Matrix, NoVectors
from memex_core.vectors.filling import Filled, Progress, Text, fill, mismatch, text_of
from memex_core.vectors.keys import Key

FILL_S = 10.0
"""A recall embeds what is new for so long; the next one, or `memex embed`, goes on."""
LOCK_WAIT_S = 5.0
_PROBE = "a first word"
ANEW = "words alone rank until `memex embed --anew` has embedded everything anew"


@dataclass(slots=True)
class EmbedReport:
    """How many texts have vectors: `embedded` now, `known` before; `missing` have none, and `trouble` says
    why.
    """

    model: str
    embedded: int = 0
    known: int = 0
    missing: int = 0
    trouble: str = ""


@dataclass(slots=True)
class Nearness:
    """What came of asking for meaning: none, with a `note` where somebody has to do something about it."""

    meaning: Meaning | None = None
    note: str = ""


@dataclass(slots=True)
class _Kind:
    """The documents of one kind with their texts, and the cache of their vectors."""

    cache: VectorCache
    documents: list[Document] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)


def _silent(done: int, of: int) -> None:
    """Nobody watches."""


class Nearest:
    """The vectors of one memory root. Raises ConfigError where [embed] names no endpoint to ask."""

    def __init__(self, root: Path, config: EmbedConfig) -> None:
        self.root = root
        self.config = config
        self.endpoint = Endpoint(config)
        self.caches = tuple(map(VectorCache, paths.vector_dirs(root)))

    def to(self, query: str, documents: Iterable[Document]) -> Nearness:
        """How near `documents` are to `query`. Those without a vector yet are embedded first, FILL_S long."""
        stale = self.why_stale()
        if stale:
            return Nearness(note=f"{stale}; {ANEW}")
        try:
            asked = self.endpoint.embed([query[: self.config.max_chars]])[0]
        except NoVectors as error:
            self._log("recall", str(error))
            return Nearness()
        stale = self.why_stale(len(asked))
        if stale:
            return Nearness(note=f"{stale}; {ANEW}")
        deadline = time.monotonic() + FILL_S
        near = [
            pair
            for kind in self._kinds(documents)
            for pair in self._cosines(kind, self._filled(kind, deadline), asked)
        ]
        near.sort(key=lambda pair: -pair[1])
        return Nearness(Meaning(near, self.config.weight))

    def state(self) -> str:
        """Who is asked, how many vectors there are, and what keeps them from being used."""
        counts = [len(cached.keys) if (cached := cache.load()) else 0 for cache in self.caches]
        kinds = zip(("pages", "items", "events"), counts, strict=True)
        said = f"{self.endpoint}; vectors: {', '.join(f'{kind} {count}' for kind, count in kinds)}"
        stale = self.why_stale()
        return f"{said}; {stale}; {ANEW}" if stale else said

    def fill(self, documents: Iterable[Document], progress: Progress | None = None) -> EmbedReport:
        """Embed whatever has no vector yet, however long it takes; the report says what is left and why."""
        report = EmbedReport(self.endpoint.model, trouble=self.why_stale())
        for kind in () if report.trouble else self._kinds(documents):
            filled = self._filled(kind, float("inf"), progress or _silent)
            report.embedded += filled.embedded
            report.missing += filled.missing
            report.known += len({text.key.hash for text in kind.texts}) - filled.embedded - filled.missing
            report.trouble = report.trouble or filled.trouble
        return report

    def start_anew(self) -> EmbedReport | None:
        """Delete all vectors, unless the endpoint gives none to put in their place; then the report says why.

        Raises OSError, LockTimeout.
        """
        try:
            self.endpoint.embed([_PROBE])
        except NoVectors as error:
            return EmbedReport(self.endpoint.model, trouble=str(error))
        with self._lock():
            for cache in self.caches:
                cache.clear()
        return None

    def problem(self) -> str:
        """What keeps vectors from taking part in a recall; "" where nothing does. Asks the endpoint once."""
        try:
            dim = self.endpoint.embed([_PROBE]).shape[1]
        except NoVectors as error:
            return str(error)
        stale = self.why_stale(dim)
        return f"{stale}; {ANEW}" if stale else ""

    def why_stale(self, dim: int | None = None) -> str:
        """Why the vectors that are there cannot be compared with the endpoint's; "" where they can."""
        found = (mismatch(cache.load(), self.endpoint.model, dim) for cache in self.caches)
        return next(filter(None, found), "")

    def _kinds(self, documents: Iterable[Document]) -> tuple[_Kind, ...]:
        kinds = tuple(map(_Kind, self.caches))
        seen: dict[tuple[int, str, str], int] = {}
        for document in documents:
            place = (document.kind, document.file, document.name)
            seen[place] = seen.get(place, 0) + 1
            # Events of one minute are told apart, which wikimem's own key does not do.
            name = document.name if seen[place] == 1 else f"{document.name} ({seen[place]})"
            whole = f"{document.name}\n{document.content}"
            kind = kinds[(PAGES, ITEMS, EVENTS).index(document.kind)]
            kind.documents.append(document)
            kind.texts.append(text_of(document.file, name, whole, self.config.max_chars))
        return kinds if kinds[-1].documents else kinds[:-1]  # no day is asked about

    def _filled(self, kind: _Kind, deadline: float, progress: Progress = _silent) -> Filled:
        """The vectors of one kind of documents. Those of days that are not asked about stay while the days
        do.
        """
        days = {document.file for document in kind.documents if document.kind == EVENTS}

        def is_kept(key: Key) -> bool:
            return bool(days) and key.file not in days and self._has_day(key.file)

        filled = fill(
            kind.cache,
            kind.texts,
            self.endpoint,
            self._lock,
            deadline=deadline,
            is_kept=is_kept,
            progress=progress,
        )
        if filled.embedded or filled.trouble:
            self._log("embed", filled.trouble, filled.embedded)
        return filled

    def _has_day(self, day: str) -> bool:
        return paths.is_day_name(day) and (paths.diary_dir(self.root) / f"{day}.md").exists()

    def _cosines(self, kind: _Kind, filled: Filled, asked: Matrix) -> list[tuple[str, float]]:
        pairs = [
            (document.path, filled.row_of[text.key.hash])
            for document, text in zip(kind.documents, kind.texts, strict=True)
            if text.key.hash in filled.row_of
        ]
        if not pairs or filled.matrix.shape[1] != len(asked):
            return []
        found = cosines(filled.matrix, [row for _, row in pairs], asked)
        return [(path, cosine) for (path, _), cosine in zip(pairs, found, strict=True) if cosine > 0]

    def _lock(self) -> AbstractContextManager[object]:
        return memory_lock(self.root, LOCK_WAIT_S)

    def _log(self, operation: str, trouble: str, count: int = 0) -> None:
        outcome = "not by meaning" if operation == "recall" else "partial" if trouble else "done"
        log_operation(self.root, operation, "vectors", outcome, detail=trouble, texts=count)
