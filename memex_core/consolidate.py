"""Consolidation on a real memory root (seed 000 §9.3): which episodes, which pages, and how they are written.

The memory lock is held while pages are written, never while a model thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from memex_core import paths
from memex_core.config import MemexConfig
from memex_core.errors import BadPage, LockTimeout, NotFound, Refused, WikiStoreError
from memex_core.files.lock import memory_lock
from memex_core.files.regular import read_regular
from memex_core.memory.consolidated_page import MARK, words_in
from memex_core.memory.consolidator import WikiConsolidator
from memex_core.model import typed
from memex_core.model.llm import LLMClient, ModelCall
from memex_core.model.node import ConsolidateInput, WikiNode
from memex_core.model.page import changed_page, decode, read_page
from memex_core.model.results import ConsolidationReport
from memex_core.store.journal import Journal, title_digest
from memex_core.store.kept_answers import Kept, KeptAnswers
from memex_core.store.page_places import id_of_title
from memex_core.store.transcripts import Transcripts
from memex_core.store.wiki_store import WikiStore
from memex_core.text.frontmatter import FrontMatterError
from memex_core.text.instant import to_seconds
from memex_core.text.slug import numbered, slugify, title_key

LOCK_TIMEOUT_S = 60.0
DETAIL = "consolidated"

Search = Callable[[str, int], list[WikiNode]]


class Consolidating:
    """Consolidates one memory root. `now` gives ISO 8601 UTC, `search` pages by relevance; `client` makes the
    model's client when it is first needed.
    """

    def __init__(
        self,
        root: Path,
        config: MemexConfig,
        store: WikiStore,
        journal: Journal,
        now: Callable[[], str],
        search: Search,
        client: Callable[[], LLMClient],
    ) -> None:
        self.config = config
        self.client = client
        self.pages = StoredPages(root, store, journal, now, search)

    def run(self, input: ConsolidateInput) -> ConsolidationReport:
        """Consolidate what `input` asks for. The caller brings the index up to date afterwards, also after an
        error.

        Raises ValueError, NotFound, LLMError with the partial `report`, ConfigError, WikiStoreError,
        LockTimeout, and Refused while another process consolidates this memory: the same episodes would be
        paid for twice.
        """
        typed.check_is("input", input, ConsolidateInput)
        typed.check_text("mode", input.mode)
        if input.episode_ids is not None:
            typed.check_texts("episode_ids", input.episode_ids)
        typed.check_whole_number("max_episodes", input.max_episodes)
        typed.check_flag("include_links", input.include_links)
        client = _MadeWhenNeeded(self.client)
        with _alone(self.pages.root, input.mode):
            return WikiConsolidator(self.pages, client, self.config).consolidate(input)


class StoredPages:
    """The pages of a memory root, as `ConsolidationPages` wants them."""

    def __init__(
        self, root: Path, store: WikiStore, journal: Journal, now: Callable[[], str], search: Search
    ) -> None:
        self.root = root
        self.store = store
        self.journal = journal
        self.now = now
        self.search = search
        self.answers = KeptAnswers(root)
        self.transcripts = Transcripts(root)
        self._unwanted: Unwanted | None = None

    def rehearsal(self) -> StoredPages:
        return _RehearsedPages(self)

    def episodes(self, slugs: Sequence[str] | None, most: int) -> list[WikiNode]:
        if slugs is not None:
            return sorted(map(self._episode, dict.fromkeys(slugs)), key=_began)
        left = [page for page in self.store.list("episode") if self._is_due(page)]
        return sorted(left, key=_began)[-most:]

    def turn_count(self, episode: WikiNode) -> int:
        try:
            sidecar = self.transcripts.sidecar(episode.session_id or episode.slug)
        except ValueError:
            sidecar = None
        return sidecar.turn_count if sidecar else 0

    def nodes(self) -> list[WikiNode]:
        return [page for page in self.store.list() if page.type != "episode"]

    def is_hidden(self, page: WikiNode) -> bool:
        if not (page.expires_at or page.valid_to or page.valid_from):
            return False
        now = to_seconds(self.now()) or 0.0
        ends = [to_seconds(text, end=True) for text in (page.expires_at, page.valid_to)]
        starts = to_seconds(page.valid_from)
        return any(end is not None and end <= now for end in ends) or (starts is not None and starts > now)

    def relevant(self, text: str, limit: int) -> list[WikiNode]:
        return self.search(text, limit)

    @contextmanager
    def changing(self) -> Iterator[None]:
        with ExitStack() as held:
            try:
                held.enter_context(memory_lock(self.root, LOCK_TIMEOUT_S))
            except OSError as error:
                raise WikiStoreError(f"cannot write to {self.root}: {error.strerror or error}") from error
            self._unwanted = None
            yield

    def is_there(self, episode: WikiNode) -> bool:
        return self.store.exists(episode.slug, "episode")

    def why_not(self, node_type: str, title: str, said: str, sessions: Sequence[str], *, is_new: bool) -> str:
        self._unwanted = self._unwanted or Unwanted(self.journal)
        told = {*sessions, ""} if is_new else set(sessions)
        if self._unwanted.was_forgotten(title, told) or self._unwanted.was_said(said, told):
            return "it was forgotten on purpose"
        pages = self._unwanted.written_before(node_type, title) if is_new else set()
        if any(not self.store.exists(slug, node_type) for slug in pages):
            return "its page was deleted or moved by hand"
        return ""

    def write(self, page: WikiNode) -> WikiNode:
        written = self.store.put(page, now=self.now())
        if written.change:
            name = f"{paths.FOLDER_OF_TYPE[page.type]}/{written.node.slug}"
            self.journal.page_changed(written.change, name, written.node.title, self.now(), DETAIL)
        return written.node

    def mark(self, episode: WikiNode) -> None:
        self.store.amend(episode.slug, "episode", extra={MARK: episode.content_hash})

    def kept_answers(self) -> list[Kept]:
        return self.answers.all()

    def keep_answer(self, episodes: Sequence[WikiNode], text: str) -> Path | None:
        try:
            return self.answers.keep({each.slug: each.content_hash for each in episodes}, text)
        except OSError as error:
            where = error.filename or self.answers.folder
            raise WikiStoreError(f"cannot write {where}: {error.strerror or error}") from error

    def drop_settled_answers(self) -> None:
        for kept in self.answers.all():
            pages = [self.store.read(slug, "episode") for slug in kept.episodes]
            if all(page is None or page.extra.get(MARK) == page.content_hash for page in pages):
                self.answers.drop(kept)

    def _episode(self, slug: str) -> WikiNode:
        page = self.store.read(slug, "episode")
        if page is None:
            raise NotFound("episode", slug, hint="memex sessions lists them")
        return page

    def _is_due(self, page: WikiNode) -> bool:
        """True for a user's session that was not consolidated as it is now. A page that cannot be marked is
        sent only when it is named.
        """
        if page.kind not in (None, "user") or self.is_hidden(page) or (page.warning and not page.session_id):
            return False
        if not page.body.strip() or page.extra.get(MARK) == page.content_hash:
            return False
        return not page.warning or _is_changeable(page)


class Unwanted:
    """What the records of a memory say must not be written again."""

    def __init__(self, journal: Journal) -> None:
        forgotten = journal.forgotten()
        self._forgotten = {(session, digest) for session, _, _, digest in forgotten.nodes}
        self._statements = forgotten.statements
        self._written: dict[tuple[str, str], set[str]] = {}
        for line in journal.lines():
            folder, _, slug = str(line.get("file", "")).partition("/")
            slugs = self._written.setdefault((folder, title_key(str(line.get("item", "")))), set())
            if line.get("action") == "remove":
                slugs.discard(slug)
            elif line.get("action") == "add" and line.get("detail") == DETAIL:
                slugs.add(slug)

    def was_forgotten(self, title: str, sessions: set[str]) -> bool:
        digests = {title_digest(form) for form in (title, title_key(title), slugify(title))}
        return any((session, digest) in self._forgotten for session in sessions for digest in digests)

    def was_said(self, said: str, sessions: set[str]) -> bool:
        """True for the words of a forgotten node under whatever title."""
        digest = title_digest(words_in(said))
        return any((session, digest) in self._statements for session in sessions)

    def written_before(self, node_type: str, title: str) -> set[str]:
        """The slugs of pages of that title that consolidation wrote and nobody noted as removed."""
        return self._written.get((paths.FOLDER_OF_TYPE[node_type], title_key(title)), set())


class _RehearsedPages(StoredPages):
    """Pages on which a dry run plays its changes."""

    def __init__(self, real: StoredPages) -> None:
        super().__init__(real.root, real.store, real.journal, real.now, real.search)
        self.played: dict[tuple[str, str], WikiNode] = {}

    def nodes(self) -> list[WikiNode]:
        return [*({(page.type, page.slug): page for page in super().nodes()} | self.played).values()]

    @contextmanager
    def changing(self) -> Iterator[None]:
        self._unwanted = None
        yield

    def write(self, page: WikiNode) -> WikiNode:
        if page.file_path is not None:
            _check_changeable(page.file_path, page)
        page = replace(page, slug=page.slug or self._free_slug(page))
        self.played[page.type, page.slug] = page
        return page

    def mark(self, episode: WikiNode) -> None:
        """A dry run leaves no mark."""

    def keep_answer(self, episodes: Sequence[WikiNode], text: str) -> Path | None:
        return None

    def drop_settled_answers(self) -> None:
        """A dry run deletes nothing."""

    def _free_slug(self, page: WikiNode) -> str:
        """The slug that the store would give a page of that title, which does not exist yet."""
        fallback = id_of_title(page.type, page.title)
        base = slugify(page.title, algo=self.store.slug_algo, fallback=fallback)
        number = 1
        while (page.type, numbered(base, number)) in self.played or self.store.exists(
            numbered(base, number), page.type
        ):
            number += 1
        return numbered(base, number)


class _MadeWhenNeeded:
    """A client that is made with the first question: a run without one needs no provider."""

    def __init__(self, make: Callable[[], LLMClient]) -> None:
        self._make = make
        self._client: LLMClient | None = None
        self._earlier = 0

    @property
    def calls(self) -> list[ModelCall] | None:
        """Those of this run; None where the client does not keep them."""
        kept = [] if self._client is None else getattr(self._client, "calls", None)
        return None if kept is None else kept[self._earlier :]

    def complete(self, prompt: str, max_tokens: int) -> str:
        if self._client is None:
            client = self._make()
            self._earlier = len(getattr(client, "calls", None) or ())
            self._client = client
        return self._client.complete(prompt, max_tokens)


def _began(episode: WikiNode) -> tuple[float, str]:
    began = to_seconds(episode.started_at) or to_seconds(episode.created) or 0.0
    return began, episode.slug


@contextmanager
def _alone(root: Path, mode: str) -> Iterator[None]:
    """Held while a run that marks episodes asks about them; a dry run disturbs nobody."""
    folder = paths.spool_dir(root) / "consolidation"
    if mode == "dry-run":
        yield
        return
    with ExitStack() as held:
        try:
            held.enter_context(memory_lock(folder, timeout=0.0))
        except LockTimeout:
            raise Refused(
                "another process consolidates this memory right now", hint="wait until it is done"
            ) from None
        except OSError as error:
            raise WikiStoreError(f"cannot write to {folder}: {error.strerror or error}") from error
        yield


def _is_changeable(page: WikiNode) -> bool:
    try:
        if page.file_path is not None:
            _check_changeable(page.file_path, page)
    except BadPage:
        return False
    return True


def _check_changeable(path: Path, page: WikiNode) -> None:
    """Raise BadPage where the store would, were `page` written to `path`."""
    data = read_regular(path)
    text, problem = decode(data)
    if problem:
        raise BadPage(path, problem)
    try:
        changed_page(text, read_page(data, path, modified=0.0), page)
    except FrontMatterError as error:
        raise BadPage(path, str(error)) from None
