"""Transcripts and their sidecars: `transcripts/<session_id>.jsonl` + `.meta.json` (seed 000 §6.3, §12;
DESIGN §3).

A transcript is a header line, then one line a turn. Turn lines that were written stay a byte prefix of
every later version of the file; a log that shrank or was replaced adds its new turns behind them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from memex_core import paths
from memex_core.files.atomic import commit_staged, remove_file, staged_file, write_atomic
from memex_core.files.regular import NotRegular, read_regular
from memex_core.model.results import SessionSummary
from memex_core.model.session import Header, Source, Turn
from memex_core.model.sidecar import Sidecar
from memex_core.store.transcript_lines import (
    body_digest,
    digest_of,
    first_line,
    open_transcript,
    prefix_digest,
    turn_of,
    words_of,
)

_TABLES = ("responses", "turn_ids", "turn_token_usage", "counted_elsewhere")


@dataclass(slots=True)
class StagedTurns:
    """Turn lines in a temp file, not yet part of the memory.

    `ids[n-1]` is the id of line n; `number_of[old - 1]` is the line that the reader's turn `old` became, 0
    where it was left out.
    """

    file: BinaryIO
    temp: Path
    ids: list[str] = field(default_factory=list)
    number_of: list[int] = field(default_factory=list)
    roles: Counter[str] = field(default_factory=Counter)
    first_ts: str = ""
    last_ts: str = ""
    sha256: str = ""
    bytes: int = 0


class CapturedFrom(NamedTuple):
    """The version of the reader and the files it read; whether the diary tells all that is known of the
    session.
    """

    reader_version: int
    sources: list[Source]
    is_told: bool


class Transcripts:
    """The transcripts of one memory root (seed 000 §7, Utility 7)."""

    def __init__(self, data_dir: Path) -> None:
        self.root = data_dir

    def get_transcript_path(self, session_id: str) -> Path:
        return paths.transcript_path(self.root, session_id)

    def get_meta_path(self, session_id: str) -> Path:
        return paths.sidecar_path(self.root, session_id)

    def session_ids(self) -> list[str]:
        """The ids of all captured sessions, sorted."""
        folder = paths.transcripts_dir(self.root)
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return []
        return sorted(n.removesuffix(".meta.json") for n in names if n.endswith(".meta.json") and n[0] != ".")

    def sidecar(self, session_id: str) -> Sidecar | None:
        """The sidecar, or None where there is none that can be read: such a session is captured again."""
        try:
            found = Sidecar.from_dict(orjson.loads(read_regular(self.get_meta_path(session_id), self.root)))
            return None if _is_other_case(found.session_id, session_id) else found
        except (FileNotFoundError, NotADirectoryError, NotRegular):
            return None
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    def other_case(self, session_id: str) -> str | None:
        """The captured session whose id differs from `session_id` in letter case only."""
        try:
            names = os.listdir(paths.transcripts_dir(self.root))
        except FileNotFoundError:
            return None
        ids = (name.removesuffix(".meta.json").removesuffix(".jsonl") for name in names if name[0] != ".")
        return next((other for other in ids if _is_other_case(other, session_id)), None)

    def sidecars(self) -> Iterator[Sidecar]:
        """Every sidecar that can be read."""
        for session_id in self.session_ids():
            sidecar = self.sidecar(session_id)
            if sidecar is not None:
                yield sidecar

    def list_sessions(self) -> list[SessionSummary]:
        """Every captured session, the latest first, from the files alone."""
        found = (self._summary(sidecar) for sidecar in self.sidecars())
        return sorted(found, key=lambda summary: (summary.started_at, summary.session_id), reverse=True)

    def read_from(self, session_id: str) -> CapturedFrom | None:
        """What the session was captured from; None where its sidecar cannot be read or its transcript is not
        what the sidecar describes.
        """
        try:
            data = orjson.loads(read_regular(self.get_meta_path(session_id), self.root))
            sources = [Source(**source) for source in data["sources"]]
            whole = self._is_whole(session_id, int(data["body_bytes"]))
            captured = CapturedFrom(int(data["reader_version"]), sources, "planned" not in data)
            return captured if whole else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def damaged(self) -> list[str]:
        """The sessions with a sidecar whose transcript is missing or has another length than it says."""
        return [session_id for session_id in self.session_ids() if self.read_from(session_id) is None]

    def _summary(self, sidecar: Sidecar) -> SessionSummary:
        page = paths.page_path(self.root, "episode", sidecar.session_id)
        return SessionSummary(
            session_id=sidecar.session_id,
            started_at=sidecar.started_at,
            ended_at=sidecar.ended_at,
            turn_count=sidecar.turn_count,
            episode_slug=sidecar.session_id if page.exists() else None,
            file_path=str(self.get_transcript_path(sidecar.session_id)),
            title=sidecar.generated_title or sidecar.title,
            harness=sidecar.harness,
            kind=sidecar.kind,
            project=sidecar.project,
            project_label=sidecar.project_label,
            total_tokens=(sidecar.token_usage or {}).get("total_tokens"),
        )

    def _is_whole(self, session_id: str, body_bytes: int) -> bool:
        with open_transcript(self.get_transcript_path(session_id)) as file:
            header = len(file.readline())
            return os.fstat(file.fileno()).st_size == header + body_bytes

    def write_sidecar(self, sidecar: Sidecar) -> bool:
        """Write the sidecar unless its bytes are there already; True when it wrote."""
        path = self.get_meta_path(sidecar.session_id)
        data = _rendered(sidecar.to_dict())
        if _read(path, self.root) == data:
            return False
        write_atomic(path, data)
        return True

    def turns(self, session_id: str) -> Iterator[Turn]:
        """The turns of a transcript in order; header lines and lines that cannot be read are passed over."""
        try:
            file = open_transcript(self.get_transcript_path(session_id))
        except FileNotFoundError:
            return
        with file:
            for raw in file:
                turn = turn_of(raw)
                if turn is not None:
                    yield turn

    def header(self, session_id: str) -> dict[str, Any] | None:
        """The header line, None where the transcript has none."""
        try:
            with open_transcript(self.get_transcript_path(session_id)) as file:
                line = orjson.loads(file.readline())
        except (FileNotFoundError, ValueError):
            return None
        return line if isinstance(line, dict) and "role" not in line else None

    @contextlib.contextmanager
    def stage(
        self, turns: Iterable[Turn], leave_out: frozenset[str] | set[str] = frozenset()
    ) -> Iterator[StagedTurns]:
        """Stream `turns` into a temp file, without those whose id is in `leave_out`, numbered from 1
        without gaps.
        """
        with staged_file(paths.spool_dir(self.root)) as (file, temp):
            staged = StagedTurns(file, temp)
            digest = hashlib.sha256()
            for turn in turns:
                if turn.id in leave_out:
                    staged.number_of.append(0)
                    continue
                staged.ids.append(turn.id)
                staged.number_of.append(len(staged.ids))
                turn.turn = len(staged.ids)
                line = orjson.dumps(turn.to_line()) + b"\n"
                digest.update(line)
                staged.bytes += file.write(line)
                staged.roles[turn.role] += 1
                staged.first_ts = staged.first_ts or turn.ts
                staged.last_ts = turn.ts or staged.last_ts
            file.flush()
            staged.sha256 = digest.hexdigest()
            yield staged

    def commit(
        self,
        staged: StagedTurns,
        header: Header,
        previous: Sidecar | None,
        reader_version: int = 0,
        *,
        replace: bool = False,
    ) -> str:
        """Make the staged turns the transcript; returns "new", "unchanged", "extended", "replaced" or
        "merged".

        "merged": the log no longer begins with what we kept, so its new turns went behind ours; `staged`
        then describes the merged lines. "replaced": a newer reader gave every kept turn again, in its own
        words; or whatever differs, with `replace`.
        """
        path = self.get_transcript_path(header.session_id)
        outcome = _compare(path, staged, previous, reader_version)
        outcome = "replaced" if replace and outcome == "merged" else outcome
        if outcome == "merged":
            self._merge(path, staged, _kept_ids(path, body_digest(path).lines, previous))
        old_header = self.header(header.session_id)
        if old_header and isinstance(old_header.get("captured_at"), str) and old_header["captured_at"]:
            header.captured_at = old_header["captured_at"]
        line = orjson.dumps(header.to_line()) + b"\n"
        if old_header is not None and first_line(path) == line and _is_body(path, staged):
            return outcome
        with staged_file(path.parent) as (file, temp):
            file.write(line)
            staged.file.seek(0)
            shutil.copyfileobj(staged.file, file, 1 << 20)
            commit_staged(file, temp, path)
        return outcome

    def remove(self, session_id: str) -> bool:
        """Delete transcript and sidecar; True when either was there."""
        found = False
        for path in (self.get_transcript_path(session_id), self.get_meta_path(session_id)):
            with contextlib.suppress(FileNotFoundError):
                remove_file(path)
                found = True
        return found

    def _merge(self, path: Path, staged: StagedTurns, ids: list[str]) -> None:
        """Kept lines first, then the staged turns that none of them is, by id or else by role and words."""
        known = {turn_id: number for number, turn_id in enumerate(ids, 1) if turn_id}
        words: dict[bytes, list[int]] = {}
        for turn in self.turns(path.name.removesuffix(".jsonl")):
            words.setdefault(words_of(turn), []).append(turn.turn)
        with staged_file(path.parent) as (file, _temp):
            staged.roles = Counter()
            _copy_kept(path, file, staged.roles)
            numbers, ids = _append_unknown(staged, file, known, words, ids)
            file.flush()
            staged.file.seek(0)
            staged.file.truncate()
            file.seek(0)
            shutil.copyfileobj(file, staged.file, 1 << 20)
        staged.number_of = [numbers[n - 1] if n else 0 for n in staged.number_of]
        staged.ids = ids
        staged.file.flush()
        staged.bytes = staged.file.tell()
        staged.sha256 = prefix_digest(staged.file, staged.bytes)


def _is_other_case(one: str, other: str) -> bool:
    return one != other and one.casefold() == other.casefold()


def _compare(path: Path, staged: StagedTurns, previous: Sidecar | None, reader_version: int) -> str:
    if not path.exists():
        return "new"
    kept = body_digest(path)
    if kept.size == staged.bytes and kept.sha256 == staged.sha256:
        return "unchanged"
    if kept.size <= staged.bytes and kept.sha256 == prefix_digest(staged.file, kept.size):
        return "extended"
    ids = _kept_ids(path, kept.lines, previous)
    newer = previous is not None and reader_version != previous.reader_version
    return "replaced" if newer and all(ids) and set(ids) <= set(staged.ids) else "merged"


def _kept_ids(path: Path, lines: int, previous: Sidecar | None) -> list[str]:
    """The ids of the turn lines on disk; "" for lines that no sidecar describes (its writer was killed
    before it wrote one).
    """
    ids: list[str] = []
    if previous is not None and len(previous.turn_ids) <= lines:
        with open_transcript(path) as file:
            if b'"memex_session_header"' not in file.readline()[:60]:
                file.seek(0)
            if digest_of(file, previous.body_bytes) == previous.body_sha256:
                ids = list(previous.turn_ids)
    return ids + [""] * (lines - len(ids))


def _is_body(path: Path, staged: StagedTurns) -> bool:
    body = body_digest(path)
    return (body.size, body.sha256) == (staged.bytes, staged.sha256)


def _copy_kept(path: Path, file: BinaryIO, roles: Counter[str]) -> None:
    with open_transcript(path) as kept:
        for number, line in enumerate(kept):
            turn = turn_of(line)
            if turn is not None:
                roles[turn.role] += 1
            if number or turn is not None:
                file.write(line if line.endswith(b"\n") else line + b"\n")


def _append_unknown(
    staged: StagedTurns, file: BinaryIO, known: dict[str, int], words: dict[bytes, list[int]], ids: list[str]
) -> tuple[list[int], list[str]]:
    """Write the staged turns that are not kept yet; gives each staged turn's number in the merged
    transcript.
    """
    numbers: list[int] = []
    staged.file.seek(0)
    for turn_id, raw in zip(list(staged.ids), staged.file, strict=True):
        turn = turn_of(raw)
        assert turn is not None
        same = words.get(words_of(turn), [])
        if turn_id in known:
            number = known[turn_id]
            if number in same:
                same.remove(number)
        elif same:
            number = same.pop(0)
            ids[number - 1] = ids[number - 1] or turn_id
        else:
            ids.append(turn_id)
            number = turn.turn = len(ids)
            staged.roles[turn.role] += 1
            file.write(orjson.dumps(turn.to_line()) + b"\n")
        numbers.append(number)
    return numbers, ids


def _rendered(sidecar: dict[str, Any]) -> bytes:
    """JSON for a person: a key a line, what belongs to it indented; the long tables on one line each."""
    rows = []
    for key, value in sidecar.items():
        option = 0 if key in _TABLES else orjson.OPT_INDENT_2
        rows.append(
            b"  " + orjson.dumps(key) + b": " + orjson.dumps(value, option=option).replace(b"\n", b"\n  ")
        )
    return b"{\n" + b",\n".join(rows) + b"\n}\n"


def _read(path: Path, root: Path) -> bytes | None:
    try:
        return read_regular(path, root)
    except (FileNotFoundError, NotRegular):
        return None
