"""Memex: introduces truth, index and thought to one another; the public API (DESIGN §2 rule 4).

Order of every change: files first, index second, journal last.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from memex_core import __version__, paths
from memex_core.config import MemexConfig, load_config
from memex_core.errors import BrokenLinkWarning, NotFound
from memex_core.files.operation_log import log_operation
from memex_core.index.bm25_retriever import BM25Retriever
from memex_core.index.connection import IndexUnusable, patience
from memex_core.index.index_manager import IndexManager
from memex_core.index.link_manager import LinkedPage, LinkManager
from memex_core.index.page_table import PageRow, PageTable, pages_of_project
from memex_core.index.session_rows import SessionTable
from memex_core.index.sync import SyncReport, recall_pages, sync
from memex_core.model.node import WikiNode, WriteInput
from memex_core.model.results import (
    ProvenanceReport,
    RebuildIndexReport,
    RecallResult,
    SessionSummary,
    TranscriptLinkReport,
)
from memex_core.model.session import Session
from memex_core.model.sidecar import Sidecar
from memex_core.remember import Neighbours, Remembering
from memex_core.store.journal import Forgotten, Journal
from memex_core.store.wiki_store import WikiStore

HEAL_EVERY_S = 2.0
"""A library, server or hook looks at the files again after this long; a command looks once, at its start."""
MAX_TOP_K = 100

Answer = TypeVar("Answer")


def utc_now() -> str:
    """Now as ISO 8601 UTC to the second, the form of every time that we write."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Memex:
    """One memory root. `root` None: MEMEX_DATA_DIR, else ~/.memex; `config` None: its memex.toml. `now` gives
    the time as ISO 8601 UTC.
    """

    def __init__(
        self, root: Path | None = None, config: MemexConfig | None = None, now: Callable[[], str] = utc_now
    ) -> None:
        self.root = paths.data_dir() if root is None else root
        self.config = load_config(self.root) if config is None else config
        self.now = now
        database = paths.index_path(self.root)
        self.store = WikiStore(self.root, slug_algo=self.config.pages.slug_algo)
        self.journal = Journal(self.root)
        self.index = IndexManager(database, root=self.root, journal_mode=self.config.index.journal_mode)
        self.links = LinkManager(database, root=self.root)
        self.retriever = BM25Retriever(database, self.config.bm25.k1, self.config.bm25.b, root=self.root)
        self._sessions = SessionTable(database, self.root)
        index = Neighbours(self._holders, self._note_committed)
        self._remembering = Remembering(self.root, self.config, index, now, __version__)
        self.transcripts = self._remembering.transcripts
        self._healed_at = float("-inf")
        self._report = SyncReport()
        self._sidecars_at: int | None = None
        self._remembered: dict[str, set[str]] = {}

    def heal(self, *, force: bool = False) -> SyncReport:
        """Bring the index to what the files say, at most every HEAL_EVERY_S seconds unless `force`."""
        if force or time.monotonic() - self._healed_at > HEAL_EVERY_S:
            self._report = sync(self.index, self.root)
            self._healed_at = time.monotonic()
        return self._report

    def remember(self, session: Session) -> TranscriptLinkReport:
        """Keep what was said, then what it meant, then make both findable.

        Raises WikiStoreError, LockTimeout or OSError; the same session may then be remembered again.
        """
        return self._remembering.remember(session)

    def write(self, item: WriteInput) -> WikiNode:
        """Write a page; the same type and title updates it in place (seed 000 §9.1).

        Raises ValueError for a wrong type or a body over `max_body_chars`, WikiStoreError where the file
        cannot be written. Warns BrokenLinkWarning for links whose page does not exist.
        """
        if item.type not in paths.NODE_TYPES:
            raise ValueError(f"not a page type: {item.type!r}; one of {', '.join(paths.NODE_TYPES)}")
        if len(item.body) > self.config.pages.max_body_chars:
            raise ValueError(f"the body has {len(item.body):,} characters, more than max_body_chars")
        written = self.store.put(self._node_of(item), now=self.now())
        self.heal(force=True)
        if written.change:
            name = f"{paths.FOLDER_OF_TYPE[written.node.type]}/{written.node.slug}"
            self.journal.page_changed(written.change, name, written.node.title, self.now())
        for key in self._broken_links(written.node):
            warnings.warn(f"{written.node.slug} links to {key}, which does not exist", BrokenLinkWarning, 2)
        return written.node

    def recall(
        self,
        query: str,
        top_k: int | None = None,
        node_type: str | None = None,
        time_range: tuple[str | None, str | None] | None = None,
        tags: list[str] | None = None,
        include_expired: bool = False,
        project: str | None = None,
    ) -> RecallResult:
        """The best pages for any text (seed 000 §9.2); `project` is a project id.

        Raises ValueError for a `top_k` outside 1..100, a wrong type or time range. Never for the query.
        """
        started = time.perf_counter()
        limit = self.config.bm25.default_top_k if top_k is None else top_k
        if not 1 <= limit <= MAX_TOP_K:
            raise ValueError(f"top_k must be 1 to {MAX_TOP_K}, not {limit}")
        if node_type is not None and node_type not in paths.NODE_TYPES:
            raise ValueError(f"not a page type: {node_type!r}; one of {', '.join(paths.NODE_TYPES)}")
        hits, note = recall_pages(
            self.index,
            self.retriever,
            self.root,
            query,
            self.heal(),
            top_k=limit,
            node_type=node_type,
            time_range=time_range,
            tags=tags,
            include_expired=include_expired,
            project=project,
        )
        self._note_recall([Path(hit.file_path) for hit in hits])
        total = self._ask(self.index.count, int)
        return RecallResult(query, hits, total, search_time_ms=_ms_since(started), note=note)

    def read(self, name: str, node_type: str | None = None) -> WikiNode | None:
        """The page under a slug, `<type>/<slug>`, session id (or how only one begins) or title, or None.

        Reading has no side effect.
        """
        try:
            page = self.store.read(name, node_type)
        except ValueError:
            page = None
        if page is not None:
            return page
        types = [node_type] if node_type else list(paths.NODE_TYPES)
        titled = next((page for each in types if (page := self.store.find(each, name))), None)
        if titled is not None or node_type not in (None, "episode"):
            return titled
        begun = self.find_session(name)
        return self.store.read(begun.session_id, "episode") if begun else None

    def list_pages(self, node_type: str | None = None) -> list[WikiNode]:
        """All pages, the latest change first."""
        pages = self.store.list(node_type)
        return sorted(pages, key=lambda page: (page.updated, page.slug), reverse=True)

    @contextlib.contextmanager
    def hurried(self, seconds: float) -> Iterator[None]:
        """Inside, nothing waits longer than `seconds` for another process: the files answer instead."""
        token = patience.set(seconds)
        try:
            yield
        finally:
            patience.reset(token)

    def project_pages(self, project: str, node_types: Sequence[str], *, limit: int) -> list[PageRow]:
        """Pages of a project (and of none) that hold now, the most important first."""
        now = time.time()
        self.heal()  # where it cannot, what the index knew a moment ago is still the better answer
        table = PageTable(paths.index_path(self.root))
        return self._ask(
            lambda: table.of_project(project, node_types, now=now, limit=limit),
            lambda: pages_of_project(self.root, project, node_types, now=now, limit=limit),
        )

    def list_sessions(
        self, *, project: str | None = None, kind: str | None = None, limit: int | None = None
    ) -> list[SessionSummary]:
        """Captured sessions, the latest first (seed 000 §12.5); `kind` is user, subagent or internal."""
        from_files = self.transcripts.list_sessions
        summaries = self._ask(self._sessions.all, from_files) if self.heal().usable else from_files()
        chosen = [s for s in summaries if project in (None, s.project) and kind in (None, s.kind or "user")]
        return chosen[:limit]

    def find_session(self, session_id: str) -> SessionSummary | None:
        """The session of that id, or the only one whose id begins so."""
        begun = [s for s in self.list_sessions() if s.session_id.startswith(session_id)]
        exact = [s for s in begun if s.session_id == session_id]
        return exact[0] if exact else begun[0] if len(begun) == 1 and session_id else None

    def delete_sessions(self, session_ids: Sequence[str]) -> list[str]:
        """Delete the sessions' transcripts, sidecars, episodes and part in nodes; they are never captured
        again.

        Gives the nodes ("<folder>/<slug>") that stay: other sessions said them too, or a person edited
        them. The index is built anew, so that no deleted word rests in a free page of it. Raises NotFound,
        before anything is deleted.
        """
        for session_id in session_ids:
            if self.transcripts.sidecar(session_id) is None and not self.store.exists(session_id, "episode"):
                raise NotFound("session", session_id, hint="memex sessions lists them")
        kept = {name for each in session_ids for name in self._remembering.forget_session(each)}
        self._report = sync(self.index, self.root, force=True)
        for session_id in session_ids:
            log_operation(self.root, "delete-session", session_id, "done")
        return sorted(name for name in kept if self.store.exists(name.partition("/")[2]))

    def finish_deletions(self) -> None:
        """Delete what a deletion that was cut off half way left of its sessions."""
        left = self.forgotten().sessions.keys() & set(self.transcripts.session_ids())
        if left:
            self.delete_sessions(sorted(left))

    def sidecars(self) -> Iterator[Sidecar]:
        """The sidecar of every captured session that has a readable one."""
        yield from self.transcripts.sidecars()

    def forgotten(self) -> Forgotten:
        """What was deleted on purpose."""
        return self.journal.forgotten()

    def get_provenance(self, slug: str) -> ProvenanceReport:
        """Where a page comes from (seed 000 §12.4). Raises NotFound for a page that does not exist."""
        page = self.read(slug)
        if page is None:
            raise NotFound("page", slug, hint="memex list shows all pages")
        self.heal()
        linking: list[LinkedPage] = self._ask(lambda: self.links.linking_pages(page.slug, page.type), list)
        episodes = sorted({link.slug for link in linking if link.node_type == "episode"})
        own = [source.partition("#")[0] for source in page.sources]
        if page.transcript_ref:
            own.append(Path(page.transcript_ref).name.removesuffix(".jsonl"))
        sessions = list(dict.fromkeys(own or episodes))
        direct = page.transcript_ref or (paths.transcript_ref(own[0]) if own else None)
        return ProvenanceReport(
            slug=page.slug,
            direct_transcript_ref=direct,
            linked_episodes=episodes,
            transcript_files=_existing(paths.transcript_path(self.root, name) for name in sessions),
            meta_files=_existing(paths.sidecar_path(self.root, name) for name in sessions),
            confidence="direct" if own else "inferred" if episodes else "none",
            sources=page.sources,
        )

    def rebuild_index(self, *, force: bool = False) -> RebuildIndexReport:
        """Compare every file with the index, or build it anew with `force` (seed 000 §9.6)."""
        started = time.perf_counter()
        report = sync(self.index, self.root, force=force)
        if not report.usable:
            raise IndexUnusable("unwritable", report.note)
        self._report, self._healed_at = report, time.monotonic()
        skipped = 0 if report.rebuilt else report.unchanged
        errors = [f"{path}: {problem}" for path, problem in report.problems]
        return RebuildIndexReport(
            nodes_indexed=self.index.count() if report.rebuilt else report.changed,
            nodes_skipped=skipped,
            nodes_errored=len(errors),
            duration_ms=_ms_since(started),
            errors=errors,
        )

    def info(self) -> dict[str, Any]:
        """What is here and how it runs, as JSON values."""
        report = self.heal(force=True)
        summaries = self.list_sessions()
        broken: list[tuple[str, str]] = self._ask(self.links.broken_links, list)
        return {
            "version": __version__,
            "memory_root": str(self.root),
            "pages": self._ask(self.index.count_by_type, dict),
            "pages_indexed": self._ask(self.index.count, int),
            "sessions": len(summaries),
            "last_session": max((s.ended_at for s in summaries), default=""),
            "index": "usable" if report.usable else report.note,
            "index_note": report.note,
            "journal_mode": self.index.journal_mode,
            "journal_mode_reason": self.index.journal_mode_reason,
            "broken_links": [f"{path} -> {key}" for path, key in broken],
            "page_warnings": self.page_warnings(),
            "config_file": str(paths.config_path(self.root)),
        }

    def page_warnings(self) -> list[str]:
        """Pages that could be read only in part, and why."""
        self.heal()
        found: list[tuple[str, str]] = self._ask(self.index.warnings, list)
        return [f"{path}: {warning}" for path, warning in found]

    def index_problems(self) -> list[str]:
        """What keeps the index from being used or trusted; [] when it is sound."""
        report = self.heal(force=True)
        if not report.usable:
            return [report.note]
        damage = self.index.check_health()
        return [damage] if damage else []

    def _node_of(self, item: WriteInput) -> WikiNode:
        page = self.store.find(item.type, item.title)
        importance = self.config.pages.default_importance if item.importance is None else item.importance
        node = WikiNode(
            type=item.type, title=item.title, body=item.body, tags=item.tags, importance=importance
        )
        for name in ("links", "session_id", "transcript_ref", "expires_at", "valid_from", "valid_to"):
            setattr(node, name, getattr(item, name))
        node.sources = list(dict.fromkeys([*(page.sources if page else []), *item.sources]))
        node.project = item.project or (page.project if page else None)
        node.project_label = item.project_label or (page.project_label if page else None)
        return node

    def _broken_links(self, node: WikiNode) -> list[str]:
        return self._ask(lambda: self.links.validate_links(f"{node.type}/{node.slug}"), list)

    def session_of_log(self, path: str) -> str | None:
        """The session that was captured from the log at `path`, however the log is named."""
        return self._ask(lambda: self._sessions.of_source(path), lambda: None) if self.heal().usable else None

    def _holders(self, keys: Iterable[str]) -> set[str]:
        """The sessions found by any of these `sharing_keys`; from the sidecars where the index cannot say.

        What this object remembered itself is known without a look at the disk, so that a sweep over thousands
        of logs heals the index once, not once a session.
        """
        wanted = set(keys)
        if not wanted:
            return set()
        if self._sidecars_changed() != self._sidecars_at:
            self._sidecars_at = self._sidecars_changed()
            self._remembered.clear()
            self.heal(force=True)
        if self._report.usable:
            try:
                own = {name for name, held in self._remembered.items() if held & wanted}
                return own | self._sessions.holders(wanted)
            except IndexUnusable:
                pass
        return {sidecar.session_id for sidecar in self.sidecars() if sidecar.sharing_keys() & wanted}

    def _note_committed(self, session_id: str, keys: set[str]) -> None:
        """Called under the memory lock, so that no other writer's sidecar is taken for ours."""
        self._remembered[session_id] = keys
        self._sidecars_at = self._sidecars_changed()
        self._healed_at = float("-inf")

    def _sidecars_changed(self) -> int:
        """When a sidecar was last added, replaced or removed, by anybody; 0 before the first."""
        try:
            return paths.transcripts_dir(self.root).stat().st_mtime_ns
        except OSError:
            return 0

    def _note_recall(self, hits: list[Path]) -> None:
        """One line in recalls.jsonl; a memory that cannot be written to still answers."""
        try:
            self.journal.recalled([path.relative_to(self.root).as_posix() for path in hits], self.now())
        except OSError as error:
            log_operation(self.root, "recall", "recalls.jsonl", "not noted", detail=error.strerror or "")

    def _ask(self, question: Callable[[], Answer], otherwise: Callable[[], Answer]) -> Answer:
        """The index's answer, or that of `otherwise` while it cannot be used."""
        try:
            return question()
        except IndexUnusable:
            return otherwise()


def _existing(files: Iterable[Path]) -> list[str]:
    return [str(path) for path in files if path.exists()]


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
