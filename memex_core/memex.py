"""Memex: introduces truth, index and thought to one another; the public API (DESIGN §2 rule 4; seed 000 §9).

Order of every change: files first, index second, journal last.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memex_core import __version__, paths
from memex_core.config import MemexConfig
from memex_core.errors import BrokenLinkWarning, NotFound, Refused
from memex_core.files.operation_log import log_operation
from memex_core.files.timed_log import timed_log
from memex_core.forget import Forgetting, Mode
from memex_core.index.connection import IndexUnusable
from memex_core.index.session_holders import SessionHolders
from memex_core.index.sync import recall_pages, sync
from memex_core.memory.decay import RecencyDecay
from memex_core.model import typed
from memex_core.model.llm import LLMClient
from memex_core.model.node import ConsolidateInput, WikiNode, WriteInput
from memex_core.model.page import HAND_EDITED
from memex_core.model.results import (
    BackupReport,
    ConsolidationReport,
    ForgetResult,
    ImportReport,
    ProvenanceReport,
    RebuildIndexReport,
    RestoreReport,
    TranscriptLinkReport,
)
from memex_core.model.session import IngestTranscriptInput, Session
from memex_core.open_memory import OpenMemory, utc_now
from memex_core.remember import Neighbours, Remembering
from memex_core.store.recall_fold import fold_recalls, last_recalls
from memex_core.store.wiki_store import Written
from memex_core.text.instant import to_seconds
from memex_core.transcript_hook import TranscriptHook
from memex_core.write import checked_node

if TYPE_CHECKING:
    from memex_core.archive.backup import BackupRestore
    from memex_core.archive.import_export import ImportExport
    from memex_core.archive.wikimem_exchange import (
        WikimemExchange,
        WikimemExportReport,
        WikimemImportReport,
    )
    from memex_core.consolidate import Consolidating


class Memex(OpenMemory):
    """One memory root and every operation on it. `root` None: MEMEX_DATA_DIR, else ~/.memex; `config` None:
    its memex.toml. `now` gives the time as ISO 8601 UTC. `llm_client` None: the one that [llm] names, made
    when it is needed.
    """

    def __init__(
        self,
        root: Path | None = None,
        config: MemexConfig | None = None,
        now: Callable[[], str] = utc_now,
        llm_client: LLMClient | None = None,
    ) -> None:
        super().__init__(root, config, now)
        self.llm_client = llm_client
        self.decay = RecencyDecay(self.config.recency_decay.half_life_days, self.config.recency_decay.enabled)
        self.transcripts: TranscriptHook = TranscriptHook(
            self.root, self.read, self._linked_episodes, self.remember, self.delete_sessions
        )
        self._holders = SessionHolders(
            self.root, self._sessions, lambda: self.heal(force=True), self.transcripts.sidecars
        )
        index = Neighbours(self._holders.holders, self._committed)
        self._remembering = Remembering(self.root, self.config, index, now, __version__)

    def remember(self, session: Session) -> TranscriptLinkReport:
        """Keep what was said, then what it meant, then make both findable.

        Raises WikiStoreError, LockTimeout or OSError; the same session may then be remembered again.
        """
        return self._remembering.remember(session)

    def write(self, item: WriteInput, *, by_person: bool = True) -> WikiNode:
        """Write a page; the same type and title updates it in place (seed 000 §9.1). What a person writes is
        marked as theirs: no session that goes takes it along, and no machine replaces it.

        Raises ValueError for what seed 000 §4.2 does not allow or a body over `max_body_chars`,
        WikiStoreError where the file cannot be written. Warns BrokenLinkWarning for links whose page does not
        exist.
        """
        with timed_log(self.root, "write") as entry:
            with self.store.held():  # what a capture adds meanwhile must not be written over
                node = checked_node(item, self.page_about, self.config.pages)
                if by_person:
                    node.extra[HAND_EDITED] = True
                node.slug = node.slug or self._slug_of_title(node)
                written = self._put(node)
                if by_person and written.change == "add":
                    self.journal.wrote_again(written.node.title, self.now())
            self.heal(force=True)
            entry.subject, entry.outcome = _name(written.node), written.change or "unchanged"
        place = f"{item.type}/{written.node.slug}"
        broken = self._ask_links(lambda links: links.validate_links(place))
        for key in broken:
            warnings.warn(f"{written.node.slug} links to {key}, which does not exist", BrokenLinkWarning, 2)
        return written.node

    def consolidate(self, input: ConsolidateInput | None = None) -> ConsolidationReport:
        """Ask the configured model what recent episodes are worth keeping, and write it (seed 000 §9.3).

        Raises LLMError with the partial `report`, NotFound for an episode that does not exist, ConfigError.
        """
        with timed_log(self.root, "consolidate") as entry:
            try:
                report = self._consolidating().run(ConsolidateInput() if input is None else input)
            finally:
                self.heal(force=True)
            entry.outcome = report.mode
            entry.counts = {
                "episodes": report.episodes_processed,
                "created": len(report.nodes_created),
                "updated": len(report.nodes_updated),
                "calls": report.llm_calls,
                "tokens": report.llm_prompt_tokens + report.llm_completion_tokens,
            }
        return report

    def forget(
        self, slug: str, mode: Mode = "hard", valid_to: str | None = None, node_type: str | None = None
    ) -> ForgetResult:
        """Forget a page (seed 000 §9.4): "hard" deletes it for good, "soft" ends its validity, "decay" lets
        it expire.

        Raises NotFound (a FileNotFoundError), ValueError for another mode, a date that is none or goes with
        "hard", Refused for a slug that several types use.
        """
        typed.check_text("slug", slug)
        typed.check_text("mode", mode)
        typed.check_text("node_type", node_type, optional=True)
        with timed_log(self.root, "forget") as entry:
            page = self.read(slug, node_type)
            if page is None:
                raise NotFound("page", slug, hint="memex list shows all pages")
            self._refuse_ambiguous(slug, node_type)
            entry.subject, entry.outcome = _name(page), mode
            forgetting = Forgetting(self.store, self.journal, self.transcripts, self.now)
            result = forgetting.forget(page, mode, valid_to, self.config.recency_decay.half_life_days)
            self.heal(force=True)
            if mode == "hard":
                self._ask(self.index.purge, lambda: None)
        return result

    def ingest_transcript(
        self, input: IngestTranscriptInput, *, overwrite: bool = False
    ) -> TranscriptLinkReport:
        """Keep a transcript, its episode and what its cue phrases give (seed 000 §9.5).

        Raises AlreadyExists (a FileExistsError) unless `overwrite`, ValueError for a session id or turn that
        is none.
        """
        typed.check_is("input", input, IngestTranscriptInput)
        typed.check_text("session_id", input.session_id)
        with timed_log(self.root, "ingest", input.session_id) as entry:
            report = self.transcripts.ingest(input, overwrite=overwrite)
            self.heal(force=True)
            entry.outcome, entry.counts = report.outcome, {"turns": report.turn_count}
        return report

    def apply_decay(self, dry_run: bool = False) -> list[tuple[str, float, float]]:
        """Let importance fade (seed 000 §7, Utility 8): (slug, before, after) of every page that changed.

        Folds recalls.jsonl into front matter first; `dry_run` writes nothing.
        """
        typed.check_flag("dry_run", dry_run)
        with timed_log(self.root, "decay", "dry-run" if dry_run else "") as entry:
            recalled = last_recalls(self.root)
            if not dry_run and self.decay.enabled:
                fold_recalls(self.root, self.store)
            moment = to_seconds(self.now())
            changes = self.decay.apply_decay(self.store, dry_run, now=moment, recalled=recalled)
            self.heal(force=True)
            entry.counts = {"pages": len(changes)}
        return changes

    def backup(self, output_path: Path, include_mem_db: bool = True) -> BackupReport:
        """Every truth path in one archive (seed 000 §9.7). Raises Refused, WikiStoreError, OSError."""
        typed.check_flag("include_mem_db", include_mem_db)
        output = typed.as_path("output_path", output_path)
        with timed_log(self.root, "backup") as entry:
            report = self._archive().backup(output, include_mem_db)
            entry.counts = {"files": report.file_counts.get("files", 0), "bytes": report.size_bytes}
        return report

    def check_backup(self, archive_path: Path) -> list[str]:
        """What is wrong with an archive, every byte read; [] where it is sound."""
        return self._archive().problems(typed.as_path("archive_path", archive_path))

    def restore(self, input_path: Path) -> RestoreReport:
        """Put an archive in the place of what is here, which is kept beside it (seed 000 §9.8).

        Raises Refused for an archive that is not sound; then nothing has changed.
        """
        with timed_log(self.root, "restore") as entry:
            report = self._archive().restore(typed.as_path("input_path", input_path))
            self.heal(force=True)
            entry.counts = {"pages": report.file_counts.get("wiki", 0)}
        return report

    def export_nodes(self, node_type: str | None = None) -> dict[str, Any]:
        """All pages as the JSON document of seed 000 §5.5."""
        typed.check_text("node_type", node_type, optional=True)
        with timed_log(self.root, "export", node_type or "") as entry:
            document = self._exchange().export_nodes(node_type)
            entry.counts = {"pages": len(document["nodes"])}
        return document

    def import_nodes(self, document: Any, on_conflict: str = "skip") -> ImportReport:
        """Pages from a document of seed 000 §5.5; `on_conflict` is skip, update or rename.

        Raises ValueError for what is no such document; a node that is no page is refused by itself.
        """
        typed.check_text("on_conflict", on_conflict)
        with timed_log(self.root, "import", on_conflict) as entry:
            report = self._exchange().import_nodes(document, on_conflict)
            self.heal(force=True)
            entry.counts = {"imported": report.imported, "refused": len(report.refused)}
        return report

    def import_wikimem(self, folder: Path, on_conflict: str = "skip") -> WikimemImportReport:
        """Take the items and days of a wikimem directory, or what changed in one that we exported.

        Raises NotFound, Refused, ValueError, WikiStoreError, LockTimeout.
        """
        typed.check_text("on_conflict", on_conflict)
        with timed_log(self.root, "import-wikimem", on_conflict) as entry:
            report = self._wikimem().import_from(typed.as_path("folder", folder), on_conflict)
            self.heal(force=True)
            entry.counts = {"imported": report.pages.imported, "refused": len(report.pages.refused)}
        return report

    def export_wikimem(self, folder: Path) -> WikimemExportReport:
        """Put pages, items and days into a directory that wikimem opens.

        Raises Refused, LockTimeout, OSError.
        """
        with timed_log(self.root, "export-wikimem") as entry:
            report = self._wikimem().export_to(typed.as_path("folder", folder))
            entry.counts = {"items": report.items, "written": len(report.written)}
        return report

    def delete_sessions(self, session_ids: Sequence[str]) -> list[str]:
        """Delete the sessions' transcripts, sidecars, episodes and part in nodes; they are never captured
        again.

        Gives the nodes ("<folder>/<slug>") that stay: other sessions said them too, or a person edited
        them. The index is built anew, so that no deleted word rests in a free page of it. Raises NotFound,
        before anything is deleted.
        """
        typed.check_texts("session_ids", session_ids)
        for session_id in session_ids:
            if self.transcripts.sidecar(session_id) is None and self.store.episode(session_id) is None:
                raise NotFound("session", session_id, hint="memex sessions lists them")
        kept = {name for each in session_ids for name in self._remembering.forget_session(each)}
        if paths.imported_dir(self.root).is_dir():
            from memex_core.archive.wikimem_origin import forget_missing  # few have imported anything

            forget_missing(self.root, self.store.list())
        self._report = sync(self.index, self.root, force=True)
        for session_id in session_ids:
            log_operation(self.root, "delete-session", session_id, "done")
        return sorted(
            name for name in kept if name.startswith("diary/") or self.store.exists(name.partition("/")[2])
        )

    def finish_deletions(self) -> None:
        """Delete what a deletion that was cut off half way left of its sessions."""
        left = self.forgotten().sessions.keys() & set(self.transcripts.session_ids())
        if left:
            self.delete_sessions(sorted(left))

    def get_provenance(self, slug: str) -> ProvenanceReport:
        """Where a page comes from (seed 000 §12.4). Raises NotFound for a page that does not exist."""
        self.heal()
        return self.transcripts.get_provenance(slug)

    def rebuild_index(self, force: bool = False) -> RebuildIndexReport:
        """Compare every file with the index, or build it anew with `force` (seed 000 §9.6)."""
        typed.check_flag("force", force)
        started = time.perf_counter()
        report = sync(self.index, self.root, force=force)
        if not report.usable:
            raise IndexUnusable("unwritable", report.note)
        self._report, self._healed_at = report, time.monotonic()
        pages = self.index.count()
        indexed = pages if report.rebuilt else report.changed_pages
        errors = [f"{path}: {problem}" for path, problem in report.problems]
        seconds = time.perf_counter() - started
        log_operation(self.root, "rebuild-index", "", "done", seconds, errors=len(errors))
        return RebuildIndexReport(
            nodes_indexed=indexed,
            nodes_skipped=pages - indexed,
            nodes_errored=len(errors),
            duration_ms=round(seconds * 1000, 3),
            errors=errors,
        )

    def page_about(self, node_type: str, title: str) -> WikiNode | None:
        """The page of that type and title, also where its file has another name."""
        page = self.store.find(node_type, title)
        slug = "" if page else self._slug_of_title(WikiNode(node_type, title, ""))
        return self.store.read(slug, node_type) if slug else page

    def _slug_of_title(self, node: WikiNode) -> str:
        """The slug of the page of that type and title where its file has another name; "" for none."""
        if self.store.find(node.type, node.title) is not None or not self.heal(force=True).usable:
            return ""
        return self._ask(lambda: self.index.slug_of_title(node.title, node.type), lambda: "")

    def _refuse_ambiguous(self, slug: str, node_type: str | None) -> None:
        kinds = [kind for kind in paths.NODE_TYPES if node_type is None and self.store.exists(slug, kind)]
        if len(kinds) > 1 and "/" not in slug:
            names = " or ".join(f"{kind}/{slug}" for kind in kinds)
            raise Refused(f"several pages are named {slug!r}", hint=f"say which: {names}")

    def _put(self, node: WikiNode) -> Written:
        written = self.store.put(node, now=self.now())
        if written.change:
            self.journal.page_changed(written.change, _name(written.node), written.node.title, self.now())
        return written

    def _wrote(self, action: Literal["add", "update"], page: str, title: str) -> None:
        self.journal.page_changed(action, page, title, self.now())

    def _search(self, text: str, limit: int) -> list[WikiNode]:
        """Nodes by relevance, for a model's prompt: no recall that counts."""
        report, hits = self.heal(), []
        for node_type in (kind for kind in paths.NODE_TYPES if kind != "episode"):
            options = {"top_k": max(limit // 4, 1), "node_type": node_type}
            hits += recall_pages(self.index, self.retriever, self.root, text, report, **options)[0]
        hits.sort(key=lambda hit: -hit.score)
        pages = (self.store.read(hit.slug, hit.node_type) for hit in hits)
        return [page for page in pages if page is not None]

    def _consolidating(self) -> Consolidating:
        from memex_core.consolidate import Consolidating

        return Consolidating(
            self.root, self.config, self.store, self.journal, self.now, self._search, self._client
        )

    def _client(self) -> LLMClient:
        from memex_core.llm import client_for
        from memex_core.memory.consolidation_prompt import SYSTEM_PROMPT

        return self.llm_client or client_for(self.config.llm, self.root, system=SYSTEM_PROMPT)

    def _archive(self) -> BackupRestore:
        from memex_core.archive.backup import BackupRestore
        from memex_core.index.copy import copy_database

        database = paths.index_path(self.root)
        return BackupRestore(
            self.root,
            database,
            copy_index=lambda copy: copy_database(database, copy),
            rebuild_index=lambda: self.index.rebuild_from_wiki(),
        )

    def _exchange(self) -> ImportExport:
        from memex_core.archive.import_export import ImportExport

        return ImportExport(self.store, self._put, self.forgotten, self._wrote)

    def _wikimem(self) -> WikimemExchange:
        from memex_core.archive.wikimem_exchange import WikimemExchange

        redacting = self.config.capture.redact
        return WikimemExchange(self.store, self._put, self.journal, self.now, redacting=redacting)

    def _linked_episodes(self, page: WikiNode) -> list[str]:
        """The slugs of the episodes that link to a page, and of those that it links to."""
        name = f"{page.type}/{page.slug}"
        linking = self._ask_links(lambda links: links.linking_pages(name))
        here = [link.slug for link in linking if link.node_type == "episode"]
        return here + [link for link in page.links if self.store.exists(link.rpartition("/")[2], "episode")]

    def _committed(self, session_id: str, keys: set[str]) -> None:
        self._holders.note(session_id, keys)
        self._healed_at = float("-inf")


def _name(page: WikiNode) -> str:
    return f"{paths.FOLDER_OF_TYPE[page.type]}/{page.slug}"
