"""Where Codex keeps its logs, and which files are one thread's (formats/codex.md §1.1, §2.7)."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memex_core.text.clean import clean_text
from memex_hooks.harness import LogFile
from memex_hooks.harnesses.codex.fields import mapping, text, uuid_millis, whole
from memex_hooks.harnesses.codex.identity import ROLLOUT_NAME, identify, name_hint
from memex_hooks.log_lines import LogLines

PROGRAM = "codex"
_SESSIONS, _ARCHIVED = "sessions", "archived_sessions"
_HEAD = 4096
_META_ID = re.compile(
    rb'\s*\{[^{}]*"type"\s*:\s*"session_meta"[^{}]*"payload"\s*:\s*\{[^{}]*?"id"\s*:\s*"([A-Za-z0-9][A-Za-z0-9-]{7,63})"'
)
"""The id in a session_meta whose first fields hold no braces: the line (22 KB and more) need not be read."""


@dataclass(slots=True)
class _File:
    """One rollout file. `rank`: the smaller, the better among copies of the same rollout (§2.7)."""

    path: Path
    thread_id: str
    rollout_id: str
    time: str
    rank: tuple[bool, bool, bool, int]
    stat: os.stat_result


def config_dir(env: Mapping[str, str]) -> Path:
    """CODEX_HOME, else ~/.codex."""
    home = Path(env.get("HOME") or Path.home())
    chosen = env.get("CODEX_HOME", "")
    if not chosen:
        return home / ".codex"
    return _absolute(home / chosen[2:] if chosen.startswith("~/") else Path(chosen))


def with_config_dir(env: Mapping[str, str], config_dir: str) -> Mapping[str, str]:
    """`env` with CODEX_HOME set to `config_dir`; `env` itself for ""."""
    return {**env, "CODEX_HOME": config_dir} if config_dir else env


def is_present(env: Mapping[str, str]) -> bool:
    """The folder is there, or the program is on the PATH."""
    return config_dir(env).is_dir() or shutil.which(PROGRAM, path=env.get("PATH", "")) is not None


def find_logs(env: Mapping[str, str]) -> list[LogFile]:
    """One log per thread, the oldest first by the time in its name. Never raises."""
    threads: dict[str, list[_File]] = {}
    for file in filter(None, map(_examine, _rollouts(config_dir(env), "rollout-"))):
        threads.setdefault(file.thread_id, []).append(file)
    born = {thread_id: min(file.time for file in files) for thread_id, files in threads.items()}
    return [_log_of(threads[thread_id]) for thread_id in sorted(threads, key=lambda name: (born[name], name))]


def log_file(path: Path) -> LogFile | None:
    """The log of the thread that `path` belongs to, also if `path` was archived or compressed since.

    None where there is no such regular file. Never raises, whatever `path` is. `session_id` is the id that
    `read_session` finds, unless the session_meta has that key twice.
    """
    path = _absolute(path)
    own = _examine(path)
    thread_id = own.thread_id if own else name_hint(path)
    home = home_of(path)
    found = [own] if own else []
    if home and thread_id:
        marks = {thread_id, name_hint(path) or thread_id}
        others = (_examine(other) for other in _rollouts(home, *marks) if other != path)
        found += [file for file in others if file and file.thread_id == thread_id]
    return _log_of(found) if found else None


def home_of(path: Path) -> Path | None:
    """The Codex home that a rollout lies in; None for a file from elsewhere."""
    for folder in path.parents:
        if folder.name in (_SESSIONS, _ARCHIVED):
            return folder.parent
    return None


def find_thread(home: Path, thread_id: str) -> Path | None:
    """The file of another thread, by the id in its name."""
    found = (_examine(path) for path in _rollouts(home, thread_id))
    files = [file for file in found if file and file.thread_id == thread_id]
    return min(files, key=lambda file: file.rank).path if files else None


def thread_name(home: Path | None, thread_id: str) -> str:
    """The newest name of the thread in session_index.jsonl, "" without one."""
    name = ""
    try:
        index = home / "session_index.jsonl" if home else None
        for _, line in LogLines(index) if index and index.is_file() else ():
            if line.get("id") == thread_id:
                name = text(line, "thread_name") or name
    except OSError:
        pass
    return " ".join(clean_text(name).split())


def reverted_at(path: Path) -> tuple[str, int | None]:
    """(rollout, byte) behind which the file at `path` goes on; ("", None) where it begins a thread (§1.1)."""
    reference = mapping(identify(path).payload, "history_base")
    return text(reference, "thread_id"), whole(reference, "end_byte_offset")


def rollout_id(path: Path) -> str:
    """What `history_base` calls the file: the second id in its name, else the thread's."""
    named = ROLLOUT_NAME.fullmatch(path.name)
    return (named["rollout"] or named["thread"]) if named else ""


def _rollouts(home: Path, *marks: str) -> Iterator[Path]:
    """The rollout files under `home` whose name holds one of `marks`."""
    for top in (home / _SESSIONS, home / _ARCHIVED):
        for folder, folders, names in os.walk(top) if _can_be(top) else ():
            folders.sort()
            for name in sorted(names):
                if ROLLOUT_NAME.fullmatch(name) and any(mark in name for mark in marks):
                    yield Path(folder, name)


def _examine(path: Path) -> _File | None:
    """None for what is no readable regular file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        thread_id = _thread_id(path)
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return None
    named = ROLLOUT_NAME.fullmatch(path.name)
    archived = any(folder.name == _ARCHIVED for folder in path.parents)
    rank = (status.st_size == 0, archived, path.suffix == ".zst", -status.st_size)
    return _File(path, thread_id, rollout_id(path), named["time"] if named else "", rank, status)


def _absolute(path: Path) -> Path:
    """`path` itself where the working directory is gone."""
    try:
        return path.absolute()
    except OSError:
        return path


def _can_be(path: Path) -> bool:
    """False for a path that no file can have: with a NUL, or not to be encoded."""
    try:
        return b"\0" not in os.fsencode(path)
    except ValueError:
        return False


def _thread_id(path: Path) -> str:
    """What `identify` finds. Where head and name agree, it would find the same, however damaged the line."""
    with open(path, "rb") as file:
        found = _META_ID.match(file.read(_HEAD))
    thread_id = found[1].decode("ascii") if found else ""
    return thread_id if thread_id and thread_id == name_hint(path) else identify(path).thread_id


def _log_of(files: list[_File]) -> LogFile:
    """The files of one thread -> its log: the newest rollout; those that a revert went back to are parts."""
    best: dict[str, _File] = {}
    for file in sorted(files, key=lambda file: file.rank, reverse=True):
        best[file.rollout_id] = file
    newest = max(best.values(), key=lambda file: (not file.rank[0], *_age(file)))
    return LogFile(
        path=newest.path,
        session_id=newest.thread_id,
        size=newest.stat.st_size,
        mtime_ns=newest.stat.st_mtime_ns,
        ino=newest.stat.st_ino,
        parts=_before(newest, best) if len(best) > 1 else [],
    )


def _age(file: _File) -> tuple[int, str]:
    return uuid_millis(file.rollout_id) or 0, file.time


def _before(newest: _File, best: dict[str, _File]) -> list[Path]:
    """The earlier rollouts of a reverted thread, the oldest first; none when `newest` stands alone."""
    try:
        base = reverted_at(newest.path)[0]
    except OSError:
        return []
    if base not in best:
        return []
    return [file.path for file in sorted(best.values(), key=_age) if file is not newest and not file.rank[0]]
