"""A session into memory: transcript and sidecar here, its pages in `session_pages`, its events in
`session_diary` (DESIGN §3 rows tokens to forgetting, §4 Capture).

Truth and thought meet here; the index is Memex's affair. The sidecar is written last, but for the events that
it plans: a capture that was cut off before it is done again, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from memex_core import paths
from memex_core.config import MemexConfig
from memex_core.errors import OtherCase
from memex_core.files.lock import memory_lock
from memex_core.files.project import project_of
from memex_core.memory.accounting import apply_usage
from memex_core.memory.episode import Digest, Exchange
from memex_core.memory.sharing import is_earlier, share_responses
from memex_core.model.results import TranscriptLinkReport
from memex_core.model.session import Header, Run, Session
from memex_core.model.sidecar import Sidecar, base_id, turn_keys
from memex_core.session_diary import SessionDiary
from memex_core.session_pages import SessionPages
from memex_core.store.journal import Forgotten, ForgottenSession, Journal
from memex_core.store.transcripts import StagedTurns, Transcripts
from memex_core.text.instant import to_seconds
from memex_core.vectors.keys import forget_keys

LOCK_TIMEOUT_S = 60.0
UNSEEN_S = 60.0
"""So much of a run may be in the log when the capture that the end of the one before it caused reads it."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the owner of the index tells and is told. `holders`: response ids -> ids of the sessions that hold
    any of them. `committed`: a session and its response ids are on disk now; called under the memory lock.
    """

    holders: Callable[[set[str]], Iterable[str]]
    committed: Callable[[str, set[str]], None]


class Remembering:
    """Puts sessions into the truth of one memory root. `now` gives ISO 8601 UTC; `holders` is the index's
    answer.
    """

    def __init__(
        self, root: Path, config: MemexConfig, neighbours: Neighbours, now: Callable[[], str], version: str
    ) -> None:
        self.root = root
        self.config = config
        self.neighbours = neighbours
        self.now = now
        self.version = version
        self.transcripts = Transcripts(root)
        self.pages = SessionPages(root, config, self.transcripts, now)
        self.diary = SessionDiary(root, config, self.transcripts, now)
        self.journal = Journal(root)

    def remember(self, session: Session) -> TranscriptLinkReport:
        """Keep what was said, then what it meant. Raises InvalidName, WikiStoreError, LockTimeout, OSError;
        then nothing is half written.
        """
        session_id = paths.safe_id(session.header.session_id)
        fresh = self._describe(session)
        earlier = self.transcripts.sidecar(session_id)
        if earlier is not None and "forked_from" in earlier.metadata:
            fresh.metadata.setdefault("forked_from", earlier.metadata["forked_from"])
        fresh.seniority = (earlier.seniority if earlier else "") or datetime.now(UTC).isoformat()
        reader_turns = [response.turn for response in fresh.responses]
        retracted = list(fresh.retracted_turns)
        leave_out = self._turns_of_others(fresh, self._sharing(fresh, []))
        while True:
            forgotten = self.journal.forgotten()
            if session_id in forgotten.sessions:
                return self._report(Sidecar(session_id), "forgotten")
            with (
                self.transcripts.stage(session.turns, leave_out) as staged,
                memory_lock(self.root, LOCK_TIMEOUT_S),
            ):
                # What was deleted or captured meanwhile counts too, and a fork without counts is known by its
                # turns only once they were read.
                others = self._sharing(fresh, staged.ids)
                known = self._turns_of_others(fresh, others)
                unchanged = self.journal.forgotten().sessions.keys() == forgotten.sessions.keys()
                if unchanged and not known & set(staged.ids):
                    return self._commit(session, fresh, staged, forgotten, others, known | leave_out)
            leave_out |= known
            fresh.retracted_turns = list(retracted)
            for response, turn in zip(fresh.responses, reader_turns, strict=True):
                response.turn = turn

    def forget_session(self, session_id: str) -> list[str]:
        """Delete transcript, sidecar, episode, its events in the diary and the session's place in its nodes;
        it is never captured again. Gives what stays: nodes that other sessions said too, and what a person
        edited.
        """
        session_id = paths.safe_id(session_id)
        with memory_lock(self.root, LOCK_TIMEOUT_S):
            sidecar = self.transcripts.sidecar(session_id) or Sidecar(session_id)
            self.journal.forget_session(_own_part(sidecar), self.now())
            said = self._exchanges(session_id)
            kept = self.pages.forget(sidecar) + self.diary.forget(sidecar, said)
            forget_keys(paths.vector_dirs(self.root)[0], lambda key: not self._has_page(key.file))
            self.transcripts.remove(session_id)
            return kept

    def _has_page(self, name: str) -> bool:
        return (paths.docs_dir(self.root) / f"{name}.md").exists()

    def _turns_of_others(self, fresh: Sidecar, others: list[Sidecar]) -> set[str]:
        """The ids of turns that an earlier one of `others` holds, or a deleted session held. A parent found
        this way is noted in `fresh`.
        """
        parents = [other for other in others if is_earlier(other, fresh)]
        if parents:
            closest = max(parents, key=lambda parent: len(_shared(parent, fresh)))
            fresh.metadata.setdefault("forked_from", closest.session_id)
        taken = {turn_id for parent in parents for turn_id in parent.turn_ids}
        for gone in self.journal.forgotten().sessions.values():
            if gone.forked_from != fresh.session_id and not gone.born_at > fresh.born_at:
                taken |= gone.turn_ids
        return taken

    def _describe(self, session: Session) -> Sidecar:
        header, project = session.header, project_of(str(session.header.meta.get("cwd", "")))
        return Sidecar(
            session_id=header.session_id,
            harness=header.harness,
            kind=session.kind,
            title=session.title,
            started_at=header.started_at,
            ended_at=header.ended_at,
            born_at=session.born_at or header.started_at,
            duration_s=header.duration_s,
            agent_version=f"memex/{self.version}",
            metadata=header.meta,
            project=project.id,
            project_label=project.label,
            retracted_turns=sorted(session.retracted),
            open_calls=session.open_calls,
            skipped=session.skipped,
            sources=session.sources,
            reader_version=session.reader_version,
            usage_fields=session.usage_fields,
            responses=session.responses,
        )

    def _sharing(self, fresh: Sidecar, turn_ids: list[str]) -> list[Sidecar]:
        """The sidecars of other sessions that hold any of these responses or begin with any of these
        turns.
        """
        keys = {base_id(r.id) for r in fresh.responses} | turn_keys(turn_ids)
        ids = self.neighbours.holders(keys)
        found = (self.transcripts.sidecar(other) for other in sorted(set(ids) - {fresh.session_id}))
        return [sidecar for sidecar in found if sidecar is not None]

    def _commit(
        self,
        session: Session,
        fresh: Sidecar,
        staged: StagedTurns,
        forgotten: Forgotten,
        others: list[Sidecar],
        others_turns: set[str],
    ) -> TranscriptLinkReport:
        previous = self.transcripts.sidecar(fresh.session_id)
        same_file = self.transcripts.other_case(fresh.session_id) if previous is None else None
        if same_file is not None:
            raise OtherCase(fresh.session_id, same_file)
        header = self._header(session, fresh, staged, None if session.replaces else previous)
        outcome = self.transcripts.commit(
            staged, header, previous, session.reader_version, replace=session.replaces
        )
        _take_turns(fresh, staged)
        fresh.inherited_turns = _numbers_of(fresh, others_turns)
        if previous is not None and not session.replaces:
            _keep_history(fresh, previous, merged=outcome == "merged")
        for gone in forgotten.sessions.values():
            if gone.turn_ids <= others_turns:
                shared = {base_id(r.id) for r in fresh.responses} & gone.response_ids
                fresh.counted_elsewhere.update(dict.fromkeys(shared, gone.session_id))
        for other in others:
            share_responses(fresh, other)
            self._settle_other(fresh, other)
        apply_usage(fresh, known=session.usage_known)
        self._derive(fresh, previous, forgotten, session.run)
        wrote = self.transcripts.write_sidecar(fresh)
        self.neighbours.committed(fresh.session_id, fresh.sharing_keys())
        return self._report(fresh, "updated" if outcome == "unchanged" and wrote and previous else outcome)

    def _header(
        self, session: Session, fresh: Sidecar, staged: StagedTurns, previous: Sidecar | None
    ) -> Header:
        """The header line; a fork starts where its own turns start, a shrunken log ends where it once
        ended.
        """
        header = session.header
        header.captured_at = self.now()
        if 0 in staged.number_of and staged.first_ts:
            header.started_at = staged.first_ts
        elif previous is not None and previous.started_at:
            header.started_at = min(previous.started_at, header.started_at or previous.started_at)
        if previous is not None:
            header.ended_at = max(previous.ended_at, header.ended_at)
        if (header.started_at, header.ended_at) != (fresh.started_at, fresh.ended_at):
            header.duration_s = seconds_between(header.started_at, header.ended_at)
        fresh.started_at, fresh.ended_at, fresh.duration_s = (
            header.started_at,
            header.ended_at,
            header.duration_s,
        )
        return header

    def _settle_other(self, fresh: Sidecar, other: Sidecar) -> None:
        """Write the sidecar of a session that shares responses; if it is younger, its copied turns feed it
        no longer.
        """
        apply_usage(other, known=other.token_usage is not None)
        if is_earlier(fresh, other):
            other.metadata.setdefault("forked_from", fresh.session_id)
            inherited = sorted({*other.inherited_turns, *_numbers_of(other, set(fresh.turn_ids))})
            if inherited != other.inherited_turns or other.planned is not None:
                other.inherited_turns = inherited
                self._derive(other, other, self.journal.forgotten(), Run())
        self.transcripts.write_sidecar(other)

    def _derive(self, sidecar: Sidecar, previous: Sidecar | None, forgotten: Forgotten, run: Run) -> None:
        """Bring the session's pages, and the diary, to what transcript and sidecar say."""
        digest = self.pages.derive(sidecar, previous, forgotten)
        last_turns = self._last_turns(sidecar, previous, run) if run.resumed else []
        said = digest.exchanges
        self.diary.tell(sidecar, previous, said, forgotten, goes_on=run.goes_on, last_turns=last_turns)

    def _last_turns(self, sidecar: Sidecar, previous: Sidecar | None, run: Run) -> list[int]:
        """The number of the last turn of the user's in each run before one of `run.resumed`; 0 for none.

        Where the clock of the log does not agree with such a time, the run has begun since the last capture:
        at the earliest a moment before that, where it saw the run before it end.
        """
        started, ended = to_seconds(sidecar.started_at) or 0.0, to_seconds(sidecar.ended_at) or inf
        captured = to_seconds(previous.ended_at) or 0.0 if previous else 0.0
        if previous and previous.diary and not previous.diary[-1].open:
            started = max(started, captured - UNSEEN_S)
        limits = [to_seconds(moment) or 0.0 for moment in run.resumed]
        limits = [limit if limit > started else captured for limit in limits]
        if run.answered and limits[-1] > ended:
            limits[-1] = captured
        turns = (turn for turn in self.transcripts.turns(sidecar.session_id) if turn.role == "user")
        asked = [(turn.turn, to_seconds(turn.ts) or inf) for turn in turns]
        return [max((turn for turn, ts in asked if ts <= limit), default=0) for limit in limits]

    def _exchanges(self, session_id: str) -> list[Exchange]:
        """Everything that was asked in a session, and what came of it, whatever became of its turns."""
        digest = Digest()
        for turn in self.transcripts.turns(session_id):
            digest.add(turn)
        return digest.exchanges

    def _report(self, sidecar: Sidecar, outcome: str) -> TranscriptLinkReport:
        session_id = sidecar.session_id
        episode = self.pages.store.episode(session_id)
        return TranscriptLinkReport(
            session_id=session_id,
            transcript_file=str(paths.transcript_path(self.root, session_id)),
            meta_file=str(paths.sidecar_path(self.root, session_id)),
            episode_node=session_id,
            episode_file_path=str(episode.file_path) if episode else "",
            turn_count=sidecar.turn_count,
            user_turns=sidecar.user_turns,
            agent_turns=sidecar.agent_turns,
            tool_turns=sidecar.tool_turns,
            outcome=outcome,
            nodes=[node.path for node in sidecar.nodes],
        )


def seconds_between(start: str, end: str) -> float:
    """Seconds from one ISO 8601 time to a later one; 0.0 where either is missing."""
    try:
        return max(
            0.0, round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3)
        )
    except ValueError:
        return 0.0


def _take_turns(fresh: Sidecar, staged: StagedTurns) -> None:
    """The numbers of the transcript in place of the reader's: turns left out shift what follows."""
    fresh.turn_ids = list(staged.ids)
    fresh.turn_count = len(staged.ids)
    fresh.user_turns, fresh.agent_turns, fresh.tool_turns = (
        staged.roles[role] for role in ("user", "agent", "tool")
    )
    fresh.body_sha256, fresh.body_bytes = staged.sha256, staged.bytes
    fresh.retracted_turns = sorted({n for old in fresh.retracted_turns if (n := _number(staged, old))})
    for response in fresh.responses:
        response.turn = _nearest(staged, response.turn)


def _shared(one: Sidecar, other: Sidecar) -> set[str]:
    return {r.id for r in one.responses} & {r.id for r in other.responses}


def _numbers_of(sidecar: Sidecar, turn_ids: set[str]) -> list[int]:
    """The numbers of the session's turns that are among `turn_ids`."""
    return [number for number, turn_id in enumerate(sidecar.turn_ids, 1) if turn_id in turn_ids]


def _number(staged: StagedTurns, old: int) -> int:
    return staged.number_of[old - 1] if 0 < old <= len(staged.number_of) else 0


def _nearest(staged: StagedTurns, old: int) -> int:
    """The kept turn that a response belongs to: its own, else the last kept one before it, else the first."""
    for candidate in range(min(old, len(staged.number_of)), 0, -1):
        if staged.number_of[candidate - 1]:
            return staged.number_of[candidate - 1]
    return 1 if staged.ids else 0


def _keep_history(fresh: Sidecar, previous: Sidecar, *, merged: bool) -> None:
    """What a log that shrank, was replaced or lost a part no longer tells stays known.

    A newer reader's counts replace the older ones, unless a file that they came from is gone.
    """
    if merged:
        fresh.retracted_turns = sorted({*fresh.retracted_turns, *previous.retracted_turns})
    here = {source.path for source in fresh.sources}
    names = {Path(path).name for path in here}
    lost = any(Path(source.path).name not in names for source in previous.sources)
    if merged or lost or previous.reader_version == fresh.reader_version:
        _keep_responses(fresh, previous)
    fresh.sources += [source for source in previous.sources if source.path not in here]


def _keep_responses(fresh: Sidecar, previous: Sidecar) -> None:
    seen = {response.id: place for place, response in enumerate(fresh.responses)}
    before = len(seen)
    for response in previous.responses:
        place = seen.get(response.id)
        if place is None:
            fresh.responses.append(response)
        elif response.output > fresh.responses[place].output:
            fresh.responses[place] = response
    if len(fresh.responses) > before:
        fresh.responses.sort(key=lambda response: (response.ts, response.id))


def _own_part(sidecar: Sidecar) -> ForgottenSession:
    """What is deleted with a session: not the turns and counts that belong to an earlier one."""
    inherited = set(sidecar.inherited_turns)
    own_turns = {turn_id for number, turn_id in enumerate(sidecar.turn_ids, 1) if number not in inherited}
    responses = {base_id(response.id) for response in sidecar.responses}
    return ForgottenSession(
        sidecar.session_id,
        sidecar.born_at,
        str(sidecar.metadata.get("forked_from", "")),
        own_turns,
        responses - sidecar.counted_elsewhere.keys(),
    )
