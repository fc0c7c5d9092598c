"""Envelope -> log -> session -> memory, and the sweep for sessions whose hook never ran (DESIGN §4
Capture).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from memex_core import paths
from memex_core.config import MemexConfig, load_config
from memex_core.errors import ConfigError, LockTimeout
from memex_core.files.lock import memory_lock
from memex_core.files.operation_log import log_operation, where
from memex_core.memex import Memex
from memex_core.model.session import Run, Session, Turn, TurnSource
from memex_core.text.instant import to_seconds
from memex_core.text.redact import redact
from memex_hooks import spool
from memex_hooks.harness import Harness, HookEvent, LogFile
from memex_hooks.harnesses import HARNESSES

SETTLE_S = 1.0
"""How long a worker lets the spool and a log settle at most, in seconds."""
QUIET_S = 0.25
"""A spool without a new envelope for this long has no burst under way."""
UNSEEN, GOES_ON = Run(), Run(goes_on=True)

Found = TypeVar("Found")


@dataclass(slots=True)
class Captured:
    """What became of one log. `outcome` is that of `TranscriptLinkReport`, or "current", "empty", "gone",
    "failed".
    """

    harness: str
    path: str
    session_id: str
    outcome: str
    turns: int = 0
    nodes: int = 0
    error: str = ""


class RedactedTurns:
    """The turns of a session with secrets taken out; as lazy and as repeatable as what it wraps."""

    def __init__(self, turns: TurnSource) -> None:
        self.turns = turns

    def __iter__(self) -> Iterator[Turn]:
        for turn in self.turns:
            turn.content = redact(turn.content)
            turn.tool_name = redact(turn.tool_name) if turn.tool_name is not None else None
            turn.query = redact(turn.query) if turn.query is not None else None
            turn.result = redact(turn.result) if turn.result is not None else None
            yield turn


def redacted(session: Session) -> Session:
    """`session` with every text of it redacted before the core sees it (DESIGN §3, row redaction)."""
    session.turns = RedactedTurns(session.turns)
    session.title = redact(session.title)
    session.header.meta = _redact_values(session.header.meta)
    session.open_calls = [{key: redact(value) for key, value in call.items()} for call in session.open_calls]
    for response in session.responses:
        response.id, response.model = redact(response.id), redact(response.model)
    for source in session.sources:
        source.path = redact(source.path)
    return session


def is_current(memex: Memex, harness: Harness, log: LogFile) -> bool:
    """True when the log and its parts are as they were when their session was captured by this reader, the
    transcript is as it was written, and the diary tells of it; or when the session was deleted on purpose.
    """
    if log.session_id in memex.forgotten().sessions:
        return True
    captured = _of_session(memex, log, memex.transcripts.read_from)
    if captured is None or captured.reader_version != harness.READER_VERSION or not captured.is_told:
        return False
    seen = {(source.path, source.size, source.mtime_ns, source.ino) for source in captured.sources}
    return seen.issuperset((redact(path), *stamp) for path, *stamp in _stats(log))


def capture_log(
    memex: Memex, harness: Harness, log: LogFile, *, dry_run: bool = False, run: Run = UNSEEN
) -> Captured:
    """Bring one log into memory unless it is there already; `run` is what is known of how it goes on.
    Content never raises; a full disk or a held lock does.
    """
    if is_current(memex, harness, log) and (dry_run or not _is_other_run(memex, log, run)):
        return Captured(harness.NAME, str(log.path), log.session_id, "current")
    try:
        session = harness.read_session(log)
    except FileNotFoundError:
        return Captured(harness.NAME, str(log.path), log.session_id, "gone")
    if session is None:
        return Captured(harness.NAME, str(log.path), log.session_id, "empty")
    session_id = session.header.session_id
    if dry_run:
        return Captured(harness.NAME, str(log.path), session_id, "would capture", session.turn_count)
    if memex.config.capture.redact:
        session = redacted(session)
    session.run = run
    started = time.perf_counter()
    report = memex.remember(session)
    log_operation(memex.root, "capture", session_id, report.outcome, time.perf_counter() - started)
    return Captured(
        harness.NAME, str(log.path), session_id, report.outcome, report.turn_count, len(report.nodes)
    )


def find_logs(harness: Harness, env: Mapping[str, str]) -> list[LogFile]:
    """Every log of a harness, oldest change first, so that a fork meets its original in memory."""
    return sorted(harness.find_logs(env), key=lambda log: (log.mtime_ns, str(log.path)))


def sweep(
    memex: Memex,
    harness: Harness,
    env: Mapping[str, str],
    *,
    dry_run: bool = False,
    run: Run = UNSEEN,
    on_each: Callable[[Captured], None] = lambda captured: None,
) -> list[Captured]:
    """Capture every log of a harness that is not in memory as it is on disk; a log that fails does not stop
    the others.
    """
    results = []
    if not dry_run:
        memex.finish_deletions()
    for log in find_logs(harness, env):
        results.append(_captured_or_failed(memex, harness, log, dry_run, run))
        on_each(results[-1])
    memex.heal()
    return results


def behind(memex: Memex, harness: Harness, env: Mapping[str, str]) -> tuple[list[LogFile], int]:
    """The logs that hold a conversation and are not in memory as they are on disk, and how many logs there
    are in all.
    """
    logs = find_logs(harness, env)
    missing = [log for log in logs if not is_current(memex, harness, log)]
    forgotten = memex.forgotten().sessions.keys()
    return [log for log in missing if _holds_a_session(harness, log, forgotten)], len(logs)


def drain(root: Path, env: Mapping[str, str], *, settle_s: float = SETTLE_S) -> list[Captured]:
    """Work off the spool, one worker at a time; a second one leaves at once, the first sees its envelopes.

    Looks once more after it let go of the lock, for the envelope that came in between.
    """
    results: list[Captured] = []
    tried: set[str] = set()
    while _untried(root, tried):
        try:
            with memory_lock(paths.spool_dir(root), timeout=0.0):
                spool.remove_stale(root, time.time())
                while _untried(root, tried):
                    _wait_for_quiet(root, settle_s)
                    batch = _untried(root, tried)
                    tried.update(_stem(path) for path in batch)
                    results += _batch_or_given_back(root, env, batch, settle_s)
        except LockTimeout:
            break
    return results


def _batch_or_given_back(
    root: Path, env: Mapping[str, str], batch: list[Path], settle_s: float
) -> list[Captured]:
    """What went wrong outside a single capture counts as an attempt for every envelope that is still
    there.
    """
    try:
        return _drain_batch(root, env, batch, settle_s)
    except Exception as error:
        log_operation(root, "drain", f"{len(batch)} envelopes", "failed", detail=where(error))
        for path in batch:
            spool.give_back(path)
        return [Captured("", str(root), "", "failed", error=f"{type(error).__name__}: {error}")]


def _config_or_defaults(root: Path) -> MemexConfig:
    """A slip in memex.toml must not stop the capture: the defaults redact and extract, and doctor names
    it.
    """
    try:
        return load_config(root)
    except ConfigError as error:
        log_operation(root, "config", "memex.toml", "defaults taken", detail=str(error))
        return MemexConfig()


@dataclass(slots=True)
class _Job:
    """The envelopes of one session, in their order: worth one capture."""

    harness: Harness
    env: Mapping[str, str]
    event: HookEvent
    envelopes: list[spool.Envelope] = field(default_factory=list)
    run: Run = GOES_ON

    def add(self, envelope: spool.Envelope, event: HookEvent, noted_at: float) -> None:
        """One more of them; `noted_at` in seconds since 1970."""
        self.envelopes.append(envelope)
        if event.resumes:
            self.run = Run(True, (*self.run.resumed, datetime.fromtimestamp(noted_at, UTC).isoformat()))
        elif event.kind == "paused":
            self.run = replace(self.run, answered=True)
        else:
            self.run = replace(self.run, goes_on=event.kind != "ended")


def _drain_batch(root: Path, env: Mapping[str, str], batch: list[Path], settle_s: float) -> list[Captured]:
    memex = Memex(root, _config_or_defaults(root))
    jobs, sweeps = _jobs(batch, env)
    results = []
    for job in jobs:
        results.append(_run_job(memex, job, settle_s))
        for envelope in job.envelopes:
            if results[-1].outcome == "failed":
                spool.give_back(envelope.path)
            else:
                spool.done(envelope)
    memex.heal()
    for harness, harness_env in sweeps:
        results += sweep(memex, harness, harness_env, run=GOES_ON)
    return results


def _jobs(
    batch: list[Path], env: Mapping[str, str]
) -> tuple[list[_Job], list[tuple[Harness, Mapping[str, str]]]]:
    jobs: dict[tuple[str, str, str], _Job] = {}
    sweeps: dict[tuple[str, str], tuple[Harness, Mapping[str, str]]] = {}
    for path in batch:
        try:
            envelope, noted_at = spool.read_envelope(path), path.stat().st_mtime
        except OSError:
            continue
        harness = HARNESSES.get(envelope.harness) if envelope else None
        if envelope is None or harness is None:
            spool.give_back(path)
            continue
        event = harness.parse_event(envelope.event, envelope.payload)
        harness_env = harness.with_config_dir(env, envelope.config_dir)
        key = (harness.NAME, envelope.config_dir, event.log_path or event.session_id)
        job = jobs.setdefault(key, _Job(harness, harness_env, event))
        job.add(envelope, event, noted_at)
        if event.kind == "started":
            sweeps[(harness.NAME, envelope.config_dir)] = (harness, harness_env)
    return list(jobs.values()), list(sweeps.values())


def _run_job(memex: Memex, job: _Job, settle_s: float) -> Captured:
    event = job.event
    try:
        log = _log_of(job)
        log = _settled(job.harness, log, settle_s) if log is not None else None
    except (OSError, ValueError) as error:
        log_operation(memex.root, "drain", event.session_id, "failed", detail=where(error))
        return Captured(
            job.harness.NAME, job.event.log_path, job.event.session_id, "failed", error=str(error)
        )
    if log is None:
        return Captured(job.harness.NAME, job.event.log_path, job.event.session_id, "gone")
    return _captured_or_failed(memex, job.harness, log, False, job.run)


def _log_of(job: _Job) -> LogFile | None:
    if job.event.log_path:
        return job.harness.log_file(Path(job.event.log_path))
    if not job.event.session_id:
        return None
    return next(
        (log for log in job.harness.find_logs(job.env) if log.session_id == job.event.session_id), None
    )


def _wait_for_quiet(root: Path, settle_s: float) -> None:
    """Let a burst of hooks end, so that its last capture is the only one that does work."""
    deadline = time.monotonic() + settle_s
    while time.monotonic() < deadline:
        try:
            youngest = max(path.stat().st_mtime for path in spool.pending(root))
        except (ValueError, FileNotFoundError):
            return
        age = time.time() - youngest
        if age >= QUIET_S or age < 0:
            return
        time.sleep(min(QUIET_S - age, settle_s))


def _settled(harness: Harness, log: LogFile, settle_s: float) -> LogFile:
    """The log once its size has stood still for a moment: the harness writes it while the hook fires."""
    deadline = time.monotonic() + settle_s
    while time.monotonic() < deadline:
        time.sleep(min(QUIET_S / 2, settle_s))
        later = harness.log_file(log.path)
        if later is None or (later.size, later.mtime_ns) == (log.size, log.mtime_ns):
            return later or log
        log = later
    return log


def _captured_or_failed(memex: Memex, harness: Harness, log: LogFile, dry_run: bool, run: Run) -> Captured:
    try:
        return capture_log(memex, harness, log, dry_run=dry_run, run=run)
    except Exception as error:
        # One session must never cost another: what went wrong is noted, shown by doctor, and tried again.
        log_operation(memex.root, "capture", log.session_id or log.path.stem, "failed", detail=where(error))
        reason = f"{type(error).__name__}: {error}"
        return Captured(harness.NAME, str(log.path), log.session_id, "failed", error=reason)


def _untried(root: Path, tried: set[str]) -> list[Path]:
    return [path for path in spool.pending(root) if _stem(path) not in tried]


def _stem(path: Path) -> str:
    return path.name.removesuffix(".json").split(".try", 1)[0]


def _stats(log: LogFile) -> Iterable[tuple[str, int, int, int]]:
    yield str(log.path), log.size, log.mtime_ns, log.ino
    for part in log.parts:
        try:
            status = part.stat()
        except OSError:
            continue
        yield str(part), status.st_size, status.st_mtime_ns, status.st_ino


def _holds_a_session(harness: Harness, log: LogFile, forgotten: Container[str]) -> bool:
    """True for a log with a conversation that nobody deleted on purpose; a log that cannot be read may be
    one.
    """
    try:
        session = harness.read_session(log)
    except OSError:
        return True
    return session is not None and session.header.session_id not in forgotten


def _of_session(memex: Memex, log: LogFile, find: Callable[[str], Found | None]) -> Found | None:
    """What `find` finds for the session of a log, also where the log is named for another one."""
    found = find(log.session_id) if _usable(log.session_id) else None
    if found is None:
        owner = memex.session_of_log(redact(str(log.path)))
        found = find(owner) if owner else None
    return found


def _is_other_run(memex: Memex, log: LogFile, run: Run) -> bool:
    """True where memory takes a run for one that goes on, or what was said since another began for a part of
    it, and `run` says otherwise.
    """
    if run.goes_on is not False and not run.resumed:
        return False
    sidecar = _of_session(memex, log, memex.transcripts.sidecar)
    if sidecar is None or not sidecar.diary:
        return False
    said = to_seconds(sidecar.ended_at) or 0.0
    return sidecar.diary[-1].open or any(said > (to_seconds(moment) or 0.0) for moment in run.resumed)


def _usable(session_id: str) -> bool:
    try:
        return bool(paths.safe_id(session_id))
    except Exception:
        return False


def _redact_values(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redact_values(item) for item in value]
    if isinstance(value, dict):
        return {key: _redact_values(item) for key, item in value.items()}
    return value
