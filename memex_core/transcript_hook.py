"""Transcripts as the specification offers them: given by a caller, linked to their episode, found from any
page (seed 000 §7 Utility 7, §9.5, §12).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.errors import AlreadyExists, InvalidName, NotFound, Refused, WrongValue
from memex_core.model import typed
from memex_core.model.node import WikiNode
from memex_core.model.results import ProvenanceReport, TranscriptLinkReport
from memex_core.model.session import Header, IngestTranscriptInput, Session, Turn
from memex_core.store.transcripts import Transcripts
from memex_core.text.clean import clean_text
from memex_core.text.instant import to_seconds

Remember = Callable[[Session], TranscriptLinkReport]
Pages = Callable[[str, str | None], WikiNode | None]
"""(name, page type) -> the page, or None."""
Linking = Callable[[WikiNode], Iterable[str]]
"""A page -> the slugs of the episodes that link to it, or that it links to."""
Delete = Callable[[Sequence[str]], object]


class TranscriptHook(Transcripts):
    """The transcripts of one memory root, and what leads from them to pages and back.

    `read` finds pages, `linking` the episodes of a page; `remember` takes a session into memory, `delete`
    takes sessions out of it.
    """

    def __init__(
        self, data_dir: Path, read: Pages, linking: Linking, remember: Remember, delete: Delete
    ) -> None:
        super().__init__(data_dir)
        self._read = read
        self._linking = linking
        self._remember = remember
        self._delete = delete

    def ingest(self, input: IngestTranscriptInput, *, overwrite: bool = False) -> TranscriptLinkReport:
        """Keep a transcript, make its episode and the nodes of its cue phrases (seed 000 §9.5).

        Raises AlreadyExists (a FileExistsError) unless `overwrite`, ValueError for a session id or turn that
        is none, Refused for a session that was deleted on purpose.
        """
        typed.check_is("input", input, IngestTranscriptInput)
        typed.check_text("session_id", input.session_id)
        typed.check_list("turns", input.turns)
        typed.check_mapping("metadata", input.metadata)
        typed.check_flag("overwrite", overwrite)
        if not input.session_id:
            raise InvalidName("a transcript needs a session id", hint="letters, digits, '-', '_' and '.'")
        if not input.turns:
            raise WrongValue("a transcript needs at least one turn")
        if self.get_transcript_path(input.session_id).exists() and not overwrite:
            hint = "to replace it: --overwrite, in Python overwrite=True"
            raise AlreadyExists("transcript", input.session_id, hint=hint)
        report = self._remember(_session(input))
        if report.outcome == "forgotten":
            raise Refused(
                f"session {input.session_id} was deleted on purpose",
                hint=f"take its line out of {paths.forgotten_path(self.root).name} to allow it again",
            )
        return report

    def get_episode_path(self, session_id: str) -> Path:
        return paths.page_path(self.root, "episode", paths.safe_id(session_id))

    def get_episode_by_session(self, session_id: str) -> WikiNode | None:
        page = self._read(paths.safe_id(session_id), "episode")
        return page if page is not None and session_id in (page.slug, page.session_id) else None

    def delete_transcript(self, session_id: str) -> None:
        """Delete a session: transcript, sidecar, episode and its part in nodes. It is never captured again.

        Raises NotFound.
        """
        self._delete([session_id])

    def get_provenance(self, slug: str) -> ProvenanceReport:
        """Where a page comes from (seed 000 §12.4). Raises NotFound for a page that does not exist.

        "direct": its front matter says so (`sources`, `transcript_ref`). "inferred": an episode links to it,
        or it to an episode. "none": a page that a person wrote.
        """
        typed.check_text("slug", slug)
        page = self._read(slug, None)
        if page is None:
            raise NotFound("page", slug, hint="memex list shows all pages")
        episodes = sorted(set(self._linking(page)) - ({page.slug} if page.type == "episode" else set()))
        own = [source.partition("#")[0] for source in page.sources]
        if page.transcript_ref:
            own.append(Path(page.transcript_ref).name.removesuffix(".jsonl"))
        sessions = list(dict.fromkeys(own or [self._session_of(episode) for episode in episodes]))
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

    def _session_of(self, episode: str) -> str:
        """The session of an episode: that of its transcript_ref, else its slug."""
        page = self._read(episode, "episode")
        ref = page.transcript_ref if page else None
        return Path(ref).name.removesuffix(".jsonl") if ref else episode


def _existing(files: Iterable[Path]) -> list[str]:
    return [str(path) for path in files if path.exists()]


def _session(input: IngestTranscriptInput) -> Session:
    turns = [_turn(entry, number, input.session_id) for number, entry in enumerate(input.turns, 1)]
    times = sorted((turn.ts for turn in turns if turn.ts), key=lambda ts: to_seconds(ts) or 0.0)
    header = Header(
        harness="",
        session_id=paths.safe_id(input.session_id),
        started_at=times[0] if times else "",
        ended_at=times[-1] if times else "",
        meta=_metadata(input.metadata),
    )
    begun, ended = (to_seconds(ts) or 0.0 for ts in (header.started_at, header.ended_at))
    header.duration_s = round(ended - begun, 3)
    return Session(header, turns, usage_known=False, turn_count=len(turns), replaces=True)


def _turn(entry: Mapping[str, Any], number: int, session_id: str) -> Turn:
    """The turn in an entry of seed 000 §4.1, as text that can be stored. Raises ValueError."""
    try:
        turn = Turn.from_entry(entry)
        if turn.ts and to_seconds(turn.ts) is None:
            raise ValueError(f"ts is not an ISO 8601 time: {turn.ts[:40]!r}")
    except ValueError as error:
        raise WrongValue(f"turn {number}: {error}") from None
    turn.turn = number
    turn.id = hashlib.sha256(f"{session_id}/{number}".encode()).hexdigest()[:12]
    for name in ("content", "tool_name", "result", "query"):
        value = getattr(turn, name)
        setattr(turn, name, clean_text(value) if value is not None else None)
    return turn


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as JSON holds it. Raises ValueError where it cannot."""
    try:
        kept = json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongValue(f"metadata is not JSON: {error}") from None
    return kept if isinstance(kept, dict) else {}
