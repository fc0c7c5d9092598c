"""Forgetting a page: deleted, out of date from a day on, or fading out (seed 000 §9.4; DESIGN §3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from memex_core import paths
from memex_core.errors import NotFound, WrongValue
from memex_core.files.lock import memory_lock
from memex_core.memory.consolidated_page import statement_of, words_in
from memex_core.memory.decay import SECONDS_A_DAY
from memex_core.model import typed
from memex_core.model.node import WikiNode
from memex_core.model.results import ForgetResult
from memex_core.store.journal import CONSOLIDATED_CUE, EPISODE_CUE, TYPED_CUE, Journal
from memex_core.store.kept_answers import KeptAnswers
from memex_core.store.recall_fold import finish_fold
from memex_core.store.transcripts import Transcripts
from memex_core.store.wiki_store import WikiStore
from memex_core.text.instant import to_iso, to_seconds
from memex_core.vectors.keys import forget_keys

Mode = Literal["hard", "soft", "decay"]
MODES: tuple[Mode, ...] = ("hard", "soft", "decay")


class Forgetting:
    """Forgets pages of one memory root. `now` gives ISO 8601 UTC."""

    def __init__(
        self, store: WikiStore, journal: Journal, transcripts: Transcripts, now: Callable[[], str]
    ) -> None:
        self.store = store
        self.journal = journal
        self.transcripts = transcripts
        self.now = now

    def forget(self, page: WikiNode, mode: Mode, valid_to: str | None, half_life_days: float) -> ForgetResult:
        """Forget `page`. hard: the file goes, and what it came from never gives it again. soft: `valid_to`
        ends it (default: now). decay: it expires at `valid_to` (default: one half-life from now).

        Raises ValueError for another mode or a date that is none, NotFound, BadPage, WikiStoreError.
        """
        typed.check_text("valid_to", valid_to, optional=True)
        if mode not in MODES:
            raise WrongValue(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        if valid_to is not None and to_seconds(valid_to) is None:
            raise WrongValue(f"not a date or time: {valid_to!r}; write 2026-09-15 or 2026-09-15T10:00:00Z")
        if mode == "hard" and valid_to is not None:
            raise WrongValue("a date goes with mode soft or decay: hard deletes at once")
        if mode == "hard":
            self._delete(page)
            return ForgetResult(page.slug, True, mode)
        now = self.now()
        fields = {"valid_to": valid_to or now}
        if mode == "decay":
            fades = (to_seconds(now) or 0.0) + half_life_days * SECONDS_A_DAY
            fields = {"expires_at": valid_to or to_iso(fades)}
        changed = self.store.amend(page.slug, _folder_type(page), updated=now, **fields)
        detail = f"forgotten ({mode})"
        self.journal.page_changed("update", _name(changed), changed.title, now, detail)
        return ForgetResult(changed.slug, True, mode, str(changed.file_path))

    def _delete(self, page: WikiNode) -> None:
        """What must not come back is noted, and the words of the page leave the records, before it goes."""
        with memory_lock(self.store.root):
            if not self.store.exists(page.slug, _folder_type(page)):
                raise NotFound("page", page.slug)
            self._never_again(page)
            finish_fold(self.store.root, self.store)
            self.journal.scrub({_name(page)})
            if paths.imported_dir(self.store.root).is_dir():
                from memex_core.archive.wikimem_origin import forget_imported  # few have imported anything

                forget_imported(self.store.root, {page.id or _name(page)})
            forget_keys(paths.vector_dirs(self.store.root)[0], lambda key: key.file == _name(page))
            self.store.delete(page.slug, _folder_type(page))  # last: cut off before it, it is asked for again
            self.journal.page_deleted(_name(page), self.now(), "forgotten (hard)")

    def _never_again(self, page: WikiNode) -> None:
        now = self.now()
        if page.type == "episode":
            self.journal.forget_node(page.session_id or page.slug, 0, EPISODE_CUE, "", now)
            KeptAnswers(self.store.root).drop_about(page.slug)
            return
        said = words_in(statement_of(page.body))
        sessions = list(dict.fromkeys(source.partition("#")[0] for source in page.sources))
        for session_id in sessions:
            sidecar = self.transcripts.sidecar(session_id)
            given = [node for node in sidecar.nodes if node.path == _name(page)] if sidecar else []
            for node in given:
                self.journal.forget_node(session_id, node.turn, node.cue, node.title, now)
            self.journal.forget_node(session_id, 0, CONSOLIDATED_CUE, page.title, now, said=said)
        if not sessions:
            self.journal.forget_node("", 0, TYPED_CUE, page.title, now, said=said)


def _name(page: WikiNode) -> str:
    """Where the page is under docs/, without its suffix."""
    if page.file_path is None:
        return f"{paths.FOLDER_OF_TYPE[page.type]}/{page.slug}"
    folder = page.file_path.parent.name
    return page.slug if folder == "docs" else f"{folder}/{page.slug}"


def _folder_type(page: WikiNode) -> str | None:
    """The type that leads to the page's file; None for one in a folder of no type."""
    folder = page.file_path.parent.name if page.file_path else ""
    return paths.TYPE_OF_FOLDER.get(folder)
