"""What is near to a query in meaning: from the memory's texts to their vectors and back (issue 4 item 9;
formats page 1.9, 2.2).

Only a recall that somebody asked for comes by here, never a hook. Pages, items and events have a cache each;
that of the events is filled only with the days that a query reaches. Whatever goes wrong, words alone rank.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from memex_core import paths
from memex_core.config import EmbedConfig
from memex_core.files.lock import memory_lock
from memex_core.files.operation_log import log_operation
from memex_core.index.documents import Document
from memex_core.index.kinds import EVENTS, PAGES
from memex_core.index.meaning import Meaning
from memex_core.vectors.cache import VectorCache
from memex_core.vectors.cosines import cosines
from memex_core.vectors.endpoint import Endpoint, Matrix, NoVectors
from memex_core.vectors.filling import Filled, Filling, Progress, Text, fill, mismatch, text_of
from memex_core.vectors.keys import Key

FILL_S = 10.0
"""A recall embeds what is new for so long; the next one, or `memex embed`, goes on."""
LOCK_WAIT_S = 5.0
SHORT_TURN_S = 2.0
"""A recall waits so long for another process that embeds, then takes what is there."""
LONG_WAIT_S = 60.0
"""`memex embed` waits so long for an answer, or for who writes the memory; TURN_WAIT_S for who embeds."""
TURN_WAIT_S = 3_600.0
ANEW = "words alone rank until `memex embed --anew` has embedded everything anew"
_PROBE = "a first word"


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
    """The documents of one kind that are asked about, their texts, and the cache of their vectors. `hashes`:
    those of all texts of the same files, by file.
    """

    number: int
    cache: VectorCache
    documents: list[Document] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    hashes: dict[str, set[str]] = field(default_factory=dict)


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
            asked = self.endpoint.embed_query(query[: self.config.max_chars])
        except NoVectors as error:
            self._log("recall", str(error))
            return Nearness()
        stale = self.why_stale(len(asked))
        if stale:
            return Nearness(note=f"{stale}; {ANEW}")
        deadline = time.monotonic() + FILL_S
        near: list[tuple[str, float]] = []
        notes = []
        for kind in self._kinds(documents):
            stale = mismatch(kind.cache.load(), self.endpoint.model, len(asked))
            if stale:
                notes.append(f"of events, {stale}; words alone rank them")
                continue
            filled = self._filled(kind, self._filling(kind, len(asked), deadline))
            near += self._cosines(kind, filled, asked)
        near.sort(key=lambda pair: -pair[1])
        return Nearness(Meaning(near, self.config.weight) if near else None, "; ".join(notes))

    def state(self) -> str:
        """Who is asked, how many vectors there are, and what keeps them from being used."""
        counts = [len(cached.keys) if (cached := cache.load()) else 0 for cache in self.caches]
        kinds = zip(("pages", "items", "events"), counts, strict=True)
        said = f"{self.endpoint}; vectors: {', '.join(f'{kind} {count}' for kind, count in kinds)}"
        stale = self.why_stale()
        return f"{said}; {stale}; {ANEW}" if stale else said

    def problem(self) -> str:
        """What keeps vectors from taking part in a recall; "" where nothing does. Asks the endpoint once."""
        return self._dim_or_problem(anew=False)[1]

    def fill(self, documents: Iterable[Document], progress: Progress | None, *, anew: bool) -> EmbedReport:
        """Embed whatever has no vector yet, however long it takes; the report says what is left and why.

        `anew`: embed everything; what is there of a kind goes when the first of its new vectors are there.
        """
        kinds = self._kinds(documents)
        dim, trouble = self._dim_or_problem(anew=anew)
        report = EmbedReport(self.endpoint.model, trouble=trouble)
        for kind in kinds:
            count = len({text.key.hash for text in kind.texts})
            if trouble:
                report.missing += count
                continue
            how = self._filling(kind, dim, float("inf"), progress=progress or _silent, anew=anew)
            filled = self._filled(kind, how)
            report.embedded += filled.embedded
            report.missing += filled.missing
            report.known += count - filled.embedded - filled.missing
            report.trouble = report.trouble or filled.trouble
        return report

    def why_stale(self, dim: int | None = None) -> str:
        """Why the vectors of pages or items cannot be compared with the endpoint's; "" where they can. Those
        of events count for themselves.
        """
        found = (mismatch(cache.load(), self.endpoint.model, dim) for cache in self.caches[:EVENTS])
        return next(filter(None, found), "")

    def _dim_or_problem(self, *, anew: bool) -> tuple[int, str]:
        """(how many numbers the endpoint's vectors have, what keeps them from being used)."""
        try:
            dim = len(self.endpoint.embed_query(_PROBE))
        except NoVectors as error:
            return 0, str(error)
        stale = "" if anew else self.why_stale(dim)
        return dim, f"{stale}; {ANEW}" if stale else ""

    def _kinds(self, documents: Iterable[Document]) -> list[_Kind]:
        kinds = [_Kind(number, cache) for number, cache in enumerate(self.caches)]
        seen: Counter[tuple[int, str, str]] = Counter()
        for document in documents:
            kind = kinds[document.kind]
            place = (document.kind, document.file, document.name)
            seen[place] += 1
            # Events of one minute are told apart, which wikimem's own key does not do.
            name = document.name if seen[place] == 1 else f"{document.name} ({seen[place]})"
            whole = f"{document.name}\n{document.content}"
            text = text_of(document.file, name, whole, self.config.max_chars)
            kind.hashes.setdefault(document.file, set()).add(text.key.hash)
            if document.is_asked:
                kind.documents.append(document)
                kind.texts.append(text)
        return kinds if kinds[EVENTS].documents else kinds[:EVENTS]  # no day is asked about

    def _filling(
        self, kind: _Kind, dim: int, deadline: float, *, progress: Progress = _silent, anew: bool = False
    ) -> Filling:
        is_long = deadline == float("inf")
        return Filling(
            endpoint=self.endpoint,
            dim=dim,
            turn=lambda: memory_lock(self.caches[PAGES].folder, TURN_WAIT_S if is_long else SHORT_TURN_S),
            lock=lambda: memory_lock(self.root, LONG_WAIT_S if is_long else LOCK_WAIT_S),
            deadline=deadline,
            patience=max(LONG_WAIT_S, self.endpoint.timeout) if is_long else FILL_S,
            is_kept=lambda key: self._is_kept(kind, key),
            is_there=lambda key: kind.number != PAGES or self._has_file(kind, key.file),
            anew=anew,
            progress=progress,
        )

    def _filled(self, kind: _Kind, how: Filling) -> Filled:
        filled = fill(kind.cache, kind.texts, how)
        if filled.embedded or filled.trouble:
            self._log("embed", filled.trouble, filled.embedded)
        return filled

    def _is_kept(self, kind: _Kind, key: Key) -> bool:
        """True for the vector of a text that is there but not asked about now: of another day or project, or
        in a file that cannot be read at the moment.
        """
        if key.file in kind.hashes:
            return kind.number == EVENTS and key.hash in kind.hashes[key.file]
        return self._has_file(kind, key.file)

    def _has_file(self, kind: _Kind, file: str) -> bool:
        folders = (paths.docs_dir(self.root), paths.wiki_dir(self.root), paths.diary_dir(self.root))
        path = Path(f"{folders[kind.number]}/{file}.md")
        return bool(file) and "\0" not in file and ".." not in path.parts and path.exists()

    def _cosines(self, kind: _Kind, filled: Filled, asked: Matrix) -> list[tuple[str, float]]:
        pairs = [
            (document.path, filled.row_of[text.key.hash])
            for document, text in zip(kind.documents, kind.texts, strict=True)
            if text.key.hash in filled.row_of
        ]
        if not pairs:
            return []
        found = cosines(filled.matrix, [row for _, row in pairs], asked)
        return [(path, cosine) for (path, _), cosine in zip(pairs, found, strict=True) if cosine > 0]

    def _log(self, operation: str, trouble: str, count: int = 0) -> None:
        outcome = "not by meaning" if operation == "recall" else "partial" if trouble else "done"
        log_operation(self.root, operation, "vectors", outcome, detail=trouble, texts=count)
