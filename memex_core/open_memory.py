"""One memory root, opened: its rooms, its index healed, and what can be asked of it (seed 000 §9.2, §12).

Nothing here changes truth; a recall leaves one line in recalls.jsonl.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memex_core import __version__, paths
from memex_core.config import MemexConfig, config_problems, load_config
from memex_core.errors import LockTimeout, WrongValue
from memex_core.files.operation_log import configure_log, log_file, log_operation
from memex_core.files.walk import Stamp, stamp_of
from memex_core.index.bm25_retriever import BM25Retriever, Question
from memex_core.index.connection import IndexUnusable, patience
from memex_core.index.filters import Filters
from memex_core.index.index_manager import RECALL_WAIT_S, IndexManager
from memex_core.index.kinds import EVENT, ITEM
from memex_core.index.link_manager import LinkManager
from memex_core.index.memory_index import index_in_memory
from memex_core.index.page_table import PageRow, PageTable, pages_of_project
from memex_core.index.session_rows import SessionTable
from memex_core.index.sync import SyncReport, ask, sync
from memex_core.model import typed
from memex_core.model.node import WikiNode
from memex_core.model.results import RecallHit, RecallResult, SessionSummary
from memex_core.model.sidecar import Sidecar
from memex_core.recalling import ByMeaning, diary_window, recall_result
from memex_core.store.diary import Diary
from memex_core.store.journal import Forgotten, Journal
from memex_core.store.recall_fold import recalls_of
from memex_core.store.recallfiles import RecallFileStore
from memex_core.store.transcripts import Transcripts
from memex_core.store.wiki_store import WikiStore
from memex_core.text.instant import to_seconds

HEAL_EVERY_S = 2.0
"""A library, server or hook looks at the files again after this long, or where it knows of a change; a
command looks once, at its start."""
MAX_TOP_K = 100
RECALLED_TYPES = (*paths.NODE_TYPES, ITEM, EVENT)

if TYPE_CHECKING:
    from memex_core.embedding import EmbedReport

Answer = TypeVar("Answer")


def utc_now() -> str:
    """Now as ISO 8601 UTC to the second, the form of every time that we write."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class OpenMemory:
    """One memory root. `root` None: MEMEX_DATA_DIR, else ~/.memex; `config` None: its memex.toml. `now` gives
    the time as ISO 8601 UTC.
    """

    def __init__(
        self, root: Path | None = None, config: MemexConfig | None = None, now: Callable[[], str] = utc_now
    ) -> None:
        self.root = paths.data_dir() if root is None else Path(root).absolute()
        self._finish_restore()
        self.config = load_config(self.root) if config is None else config
        configure_log(self.root, self.config.logging)
        self.now = now
        database = paths.index_path(self.root)
        self.store = WikiStore(self.root, slug_algo=self.config.pages.slug_algo)
        self.journal = Journal(self.root)
        self.transcripts = Transcripts(self.root)
        self.index = IndexManager(database, root=self.root, journal_mode=self.config.index.journal_mode)
        self.links = LinkManager(database, root=self.root)
        self.retriever = BM25Retriever(database, self.config.bm25.k1, self.config.bm25.b, root=self.root)
        self._by_meaning = ByMeaning(self.root, self.config.embed)
        self._sessions = SessionTable(database, self.root)
        self._opened = False
        self._healed_changes: tuple[int, Stamp | None] = (0, None)
        self._healed_at = float("-inf")
        self._report = SyncReport()

    def heal(self, *, force: bool = False) -> SyncReport:
        """Bring the index to what the files say: where this process or the journal knows of a change since,
        or HEAL_EVERY_S seconds have passed, or `force`.
        """
        self._finish_restore()
        changes = (self.store.changes, _stamp(paths.journal_path(self.root)))
        behind = changes != self._healed_changes
        if force or behind or time.monotonic() - self._healed_at > HEAL_EVERY_S:
            anew = self.config.index.auto_rebuild_on_startup and not self._opened
            self._report, self._opened = sync(self.index, self.root, force=anew), True
            self._healed_at = time.monotonic()
            self._healed_changes = changes  # what changed meanwhile may have been missed
        return self._report

    def recall(
        self,
        query: str,
        top_k: int | None = None,
        node_type: str | None = None,
        time_range: tuple[str | None, str | None] | None = None,
        tags: list[str] | None = None,
        include_expired: bool = False,
        project: str | None = None,
        budget: int | None = None,
        explain: bool = False,
    ) -> RecallResult:
        """The best pages and items for any text, and what they link to (seed 000 §9.2); events of the diary
        where the text or `time_range` speaks of days.

        `project` is a project id; `node_type` may be "item" or "event", too. `budget` cuts the answer at so
        many tokens, `explain` says what each term brought each hit. Raises ValueError for a `top_k` outside
        1..100, a wrong type, time range or budget. Never for the query.
        """
        started = time.perf_counter()
        limit = self.config.bm25.default_top_k if top_k is None else top_k
        filters = _checked(query, limit, Filters(node_type, time_range, tags or [], project), budget)
        window = diary_window(query, filters.time_range, self.now())
        report = self.heal()
        question, remark = self._by_meaning.add_to(
            Question(query, limit, filters, include_expired, window, explain=explain),
            lambda asked: ask(self.index, self.retriever, self.root, report, lambda r: r.documents(asked))[0],
        )
        found, note = ask(self.index, self.retriever, self.root, report, lambda r: r.answer(question))
        result = recall_result(question, found, "; ".join(filter(None, (note, remark))), budget)
        self._note_recall([hit for hit in result.hits if hit.node_type in paths.NODE_TYPES])
        seconds = time.perf_counter() - started
        result.search_time_ms = round(seconds * 1000, 3)
        log_operation(self.root, "recall", node_type or "", "done", seconds, hits=len(result.hits))
        return result

    def embed(self, *, anew: bool = False, progress: Callable[[int, int], None] | None = None) -> EmbedReport:
        """Make the vectors that pages and items lack; `anew`: of all of them, in place of the old ones. The
        report says what is left and why. Raises ConfigError where [embed] cannot act.
        """
        nearest = self._by_meaning.nearest()
        report, everything = self.heal(), Question("", 1, Filters(None, None, [], None))
        texts = ask(self.index, self.retriever, self.root, report, lambda r: r.documents(everything))[0]
        return nearest.fill(texts or (), progress, anew=anew)

    def vectors_problem(self) -> tuple[str, str]:
        """What keeps [embed] from taking part in a recall, and the command that mends it; ("", "") where
        nothing does. Asks the endpoint once.
        """
        return self._by_meaning.problem()

    def read(self, name: str, node_type: str | None = None) -> WikiNode | None:
        """The page under a slug, `<type>/<slug>`, session id (or how only one begins) or title, or None.

        Its access counts include what recalls.jsonl knows. Reading has no side effect.
        """
        page = self._find(name, node_type)
        if page is not None:
            slug, kind = page.slug, page.type
            counted: tuple[int, str | None] | None
            counted = self._ask(lambda: self.index.get_access(slug, kind), lambda: None)
            count, last = counted or self._access_by_files(page)
            page.access_count = max(page.access_count, count)
            page.last_access = max(page.last_access or "", last or "") or None
        return page

    def _find(self, name: str, node_type: str | None) -> WikiNode | None:
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

    def sidecars(self) -> Iterator[Sidecar]:
        """The sidecar of every captured session that has a readable one."""
        yield from self.transcripts.sidecars()

    def forgotten(self) -> Forgotten:
        """What was deleted on purpose."""
        return self.journal.forgotten()

    def info(self) -> dict[str, Any]:
        """What is here and how it runs, as JSON values."""
        from memex_core.shown_settings import acting_settings, shown_setting  # hooks show none

        report = self.heal(force=True)
        summaries = self.list_sessions()
        counts = self._ask(self.index.count_by_type, self._count_files)
        return {
            "version": __version__,
            "memory_root": str(self.root),
            "pages": {kind: counts[kind] for kind in paths.NODE_TYPES if counts.get(kind)},
            "pages_indexed": self._ask(self.index.count, int),
            "items": counts.get(ITEM, 0),
            "events": counts.get(EVENT, 0),
            "sessions": len(summaries),
            "last_session": max((s.ended_at for s in summaries), default=""),
            "index": "usable" if report.usable else report.note,
            "index_note": report.note,
            "journal_mode": self.index.journal_mode,
            "journal_mode_reason": self.index.journal_mode_reason,
            "broken_links": self.broken_links(),
            "page_warnings": self.page_warnings(),
            "config_file": str(paths.config_path(self.root)),
            "config": acting_settings(self.root, self.config, self.retriever),
            "config_problems": [shown_setting(problem) for problem in config_problems(self.root)],
            "vectors": self._by_meaning.state(),
            "log_file": str(log_file(self.root)),
            "model_tokens_today": self._tokens_today(),
        }

    def _tokens_today(self) -> int | str:
        """What the models were asked and answered today; a word where the ledger cannot be read."""
        from memex_core.llm import tokens_today  # no model is near unless somebody wants to know

        try:
            return tokens_today(self.root)
        except OSError as error:
            return f"unknown: {error.strerror}"

    def broken_links(self) -> list[str]:
        """`<path> -> <what the link says>` of every link that leads nowhere."""
        return [f"{path} -> {key}" for path, key in self._ask_links(lambda links: links.broken_links())]

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

    def session_of_log(self, path: str) -> str | None:
        """The session that was captured from the log at `path`, however the log is named."""
        return self._ask(lambda: self._sessions.of_source(path), lambda: None) if self.heal().usable else None

    def _finish_restore(self) -> None:
        """A restore that was cut off is finished or undone before anything is read."""
        if paths.restore_note_path(self.root).exists():
            from memex_core.archive.restore import finish_restore  # a hook that has nothing to finish goes on

            finish_restore(self.root)

    def _note_recall(self, pages: list[RecallHit]) -> None:
        """One line in recalls.jsonl; a memory that cannot be written to still answers. Items and events have
        no importance that a recall could keep alive.
        """
        if not pages:
            return
        try:
            found = [Path(hit.file_path).relative_to(self.root).as_posix() for hit in pages]
            self.journal.recalled(found, self.now())
            self.index.note_recalls(min(patience.get(), RECALL_WAIT_S))
        except OSError as error:
            log_operation(self.root, "recall", "recalls.jsonl", "not noted", detail=error.strerror or "")
        except (IndexUnusable, LockTimeout):
            """The next heal counts it."""

    def _count_files(self) -> dict[str, int]:
        counts = Counter(page.type for page in self.store.list())
        items, events = RecallFileStore(self.root).items(), Diary(self.root).events()
        return {**counts, ITEM: len(items), EVENT: sum(1 for _ in events)}

    def _access_by_files(self, page: WikiNode) -> tuple[int, str | None]:
        """(times, when last) of the recalls of a page, from the page and recalls.jsonl."""
        place = page.file_path.relative_to(self.root).as_posix() if page.file_path else ""
        times, last = recalls_of(self.root).get(place, (0, ""))
        return page.access_count + times, last or None

    def _ask_links(self, question: Callable[[LinkManager], list[Answer]]) -> list[Answer]:
        """What the index knows of links; from the files while it cannot be used."""
        if self.heal().usable:
            try:
                return question(self.links)
            except IndexUnusable:
                pass
        with index_in_memory(self.root) as address:
            return question(LinkManager(address, root=self.root))

    def _ask(self, question: Callable[[], Answer], otherwise: Callable[[], Answer]) -> Answer:
        """The index's answer, or that of `otherwise` while it cannot be used."""
        try:
            return question()
        except IndexUnusable:
            return otherwise()


def _checked(query: str, top_k: int, filters: Filters, budget: int | None) -> Filters:
    """`filters`, when everything that was asked for can be. Raises WrongValue."""
    typed.check_text("query", query)
    typed.check_whole_number("top_k", top_k)
    typed.check_texts("tags", filters.tags)
    typed.check_text("project", filters.project, optional=True)
    if not 1 <= top_k <= MAX_TOP_K:
        raise WrongValue(f"top_k must be 1 to {MAX_TOP_K}, not {top_k}")
    if filters.node_type is not None and filters.node_type not in RECALLED_TYPES:
        raise WrongValue(f"not a page type: {filters.node_type!r}; one of {', '.join(RECALLED_TYPES)}")
    if filters.time_range is not None:
        if len(filters.time_range) != 2:
            raise WrongValue("time_range must be a pair: from when, until when")
        for end in filters.time_range:
            typed.check_text("time_range", end, optional=True)
        filters = replace(filters, time_range=_in_order(*filters.time_range))
    if budget is not None:
        typed.check_whole_number("budget", budget)
        if budget < 1:
            raise WrongValue(f"a budget must be at least 1 token, not {budget}")
    return filters


def _in_order(begin: str | None, end: str | None) -> tuple[str | None, str | None]:
    """The bounds of a time range, the earlier one first."""
    first, last = to_seconds(begin), to_seconds(end, end=True)
    return (end, begin) if first is not None and last is not None and first > last else (begin, end)


def _stamp(path: Path) -> Stamp | None:
    """How a file looks now; None where it is not there."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return None
