"""Where the logs lie (formats/claude-code.md §2): a main log per session, and its subagents' logs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from memex_core import paths
from memex_core.errors import Refused
from memex_hooks.harness import LogFile
from memex_hooks.log_lines import LogLines, open_regular

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_CONVERSATION = ("user", "assistant", "system", "summary", "attachment", "progress")
_HEAD_RECORDS = 50
_HEAD_BUFFER = 1 << 14
_TAIL_BYTES = 1 << 16


def config_dir(env: Mapping[str, str]) -> Path:
    """${CLAUDE_CONFIG_DIR:-~/.claude}."""
    chosen = env.get("CLAUDE_CONFIG_DIR", "")
    return Path(chosen) if chosen else Path(env.get("HOME") or Path.home()) / ".claude"


def with_config_dir(env: Mapping[str, str], config_dir: str) -> Mapping[str, str]:
    """`env` with CLAUDE_CONFIG_DIR set; `env` itself for ""."""
    return {**env, "CLAUDE_CONFIG_DIR": config_dir} if config_dir else env


def is_present(env: Mapping[str, str]) -> bool:
    """True when Claude Code has a configuration folder or its program is on the PATH."""
    return os.path.isdir(config_dir(env)) or shutil.which("claude", path=env.get("PATH", "")) is not None


def is_uuid(name: str) -> bool:
    return _UUID.fullmatch(name) is not None


def find_logs(env: Mapping[str, str]) -> Iterable[LogFile]:
    """Every main log under projects/, each once however many links lead to it; longest untouched first."""
    seen: set[str] = set()
    logs: list[LogFile] = []
    for project in _entries(config_dir(env) / "projects"):
        mains = [path for path in _entries(project) if _is_main(path)]
        flat = _flat_agents(project) if mains else {}
        for path in mains:
            real = os.path.realpath(path)
            if real not in seen and (log := _log(path, flat)):
                seen.add(real)
                logs.append(log)
    return sorted(logs, key=lambda log: (log.mtime_ns, log.path))


def log_file(path: Path) -> LogFile | None:
    """The session's log that `path` is or belongs to; None where there is none, or no log of this harness."""
    try:
        main = _main_log(path.absolute())
    except OSError:  # a relative path where the current folder has gone
        return None
    return _log(main, _flat_agents(main.parent)) if main and os.path.isfile(main) else None


def own_id(record: dict[str, Any]) -> str:
    """The session id in a record of a main log, "" where it can be none: it becomes the name of files."""
    session_id = record.get("sessionId")
    if not isinstance(session_id, str) or record.get("isSidechain"):
        return ""
    try:
        return paths.safe_id(session_id)
    except Refused:
        return ""


def agreed_id(session_ids: Collection[str], log: Path) -> str:
    """The id that the records of a log agree on. Where they hold several, the file's name decides."""
    if session_ids and (len(session_ids) == 1 or not is_uuid(log.stem)):
        return next(iter(session_ids))
    return log.stem


def _log(path: Path, flat: Mapping[str, list[Path]]) -> LogFile | None:
    session_id = _named_id(path) if is_uuid(path.stem) else _session_id_within(path)
    try:
        status = path.stat()
    except OSError:
        return None
    if session_id is None:
        return None
    parts = list(_parts(path)) + flat.get(session_id, [])
    return LogFile(path, session_id, status.st_size, status.st_mtime_ns, status.st_ino, parts)


def _main_log(path: Path) -> Path | None:
    """The main log of the session that `path` belongs to: itself, or that of a subagent's log."""
    for folder in path.parents:
        if folder.name == "subagents":
            main = folder.parent.parent / f"{folder.parent.name}.jsonl"
            if os.path.isfile(main):
                return main
    if path.name.startswith("agent-") and path.suffix == ".jsonl":
        session_id = _session_id_of_agent(path)
        return path.with_name(f"{session_id}.jsonl") if is_uuid(session_id) else None
    return path


def _parts(main: Path) -> Iterator[Path]:
    """The subagents' logs in the session's own folder, however deep; links are followed, each folder once."""
    folders = [main.with_suffix("") / "subagents"]
    seen: set[str] = set()
    while folders:
        folder = folders.pop()
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        for path in _entries(folder):
            if os.path.isdir(path):
                folders.append(path)
            elif _is_agents(path):
                yield path


def _flat_agents(project: Path) -> dict[str, list[Path]]:
    """Session id -> the logs of its subagents, as versions 2.0 put them: beside the main logs."""
    found: dict[str, list[Path]] = {}
    for path in _entries(project, "agent-"):
        if _is_agents(path):
            found.setdefault(_session_id_of_agent(path), []).append(path)
    return found


def _is_main(path: Path) -> bool:
    return path.suffix == ".jsonl" and is_uuid(path.stem) and os.path.isfile(path)


def _is_agents(path: Path) -> bool:
    return path.name.startswith("agent-") and path.suffix == ".jsonl" and os.path.isfile(path)


def _session_id_of_agent(path: Path) -> str:
    try:
        for record in _head(path):
            if isinstance(record.get("sessionId"), str):
                return str(record["sessionId"])
    except OSError:
        pass
    return ""


def _named_id(path: Path) -> str:
    """The id that reading all of a log named by a uuid will find, as far as its two ends tell."""
    found: dict[str, None] = {}
    try:
        for record in _head(path):
            if session_id := own_id(record):
                found[session_id] = None
            if path.stem in found:
                return path.stem
        if found:  # another session's: copied into this log by an old resume, whose own records are behind
            found.update(dict.fromkeys(_ids_in_tail(path)))
    except OSError:
        pass
    return agreed_id(found, path)


def _ids_in_tail(path: Path) -> Iterator[str]:
    with open_regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
        for line in file.read(_TAIL_BYTES).split(b"\n"):
            try:
                record = orjson.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and (session_id := own_id(record)):
                yield session_id


def _session_id_within(path: Path) -> str | None:
    """The session id that the records in a log of any name give, "" for none; None when they are not ours."""
    seen_any = False
    is_ours = False
    try:
        for record in _head(path):
            seen_any = True
            session_id = record.get("sessionId")
            if usable := own_id(record):
                return usable
            is_ours = is_ours or isinstance(session_id, str) or record.get("type") in _CONVERSATION
    except OSError:
        return None
    return "" if is_ours or not seen_any else None


def _head(path: Path) -> Iterator[dict[str, Any]]:
    return (record for _, record in islice(LogLines(path, buffer=_HEAD_BUFFER), _HEAD_RECORDS))


def _entries(folder: Path, prefix: str = "") -> list[Path]:
    """What lies in a folder under names that begin with `prefix`, by name: a project can hold thousands."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(prefix))
    except (OSError, ValueError):
        return []
    return [folder / name for name in names]
