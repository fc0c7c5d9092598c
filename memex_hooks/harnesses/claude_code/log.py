"""Where the logs lie (formats/claude-code.md §2): a main log per session, and its subagents' logs."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from memex_hooks.harness import LogFile
from memex_hooks.log_lines import LogLines

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_CONVERSATION = ("user", "assistant", "system", "summary", "attachment", "progress")
_HEAD_RECORDS = 50


def config_dir(env: Mapping[str, str]) -> Path:
    """${CLAUDE_CONFIG_DIR:-~/.claude}."""
    chosen = env.get("CLAUDE_CONFIG_DIR", "")
    return Path(chosen) if chosen else Path(env.get("HOME") or Path.home()) / ".claude"


def with_config_dir(env: Mapping[str, str], config_dir: str) -> Mapping[str, str]:
    """`env` with CLAUDE_CONFIG_DIR set; `env` itself for ""."""
    return {**env, "CLAUDE_CONFIG_DIR": config_dir} if config_dir else env


def is_present(env: Mapping[str, str]) -> bool:
    """True when Claude Code has a configuration folder or its program is on the PATH."""
    return config_dir(env).is_dir() or shutil.which("claude", path=env.get("PATH", "")) is not None


def is_uuid(name: str) -> bool:
    return _UUID.fullmatch(name) is not None


def find_logs(env: Mapping[str, str]) -> Iterable[LogFile]:
    """Every main log under projects/, each once however many links lead to it; longest untouched first."""
    seen: set[str] = set()
    logs: list[LogFile] = []
    for project in _entries(config_dir(env) / "projects"):
        mains = [path for path in _entries(project) if path.suffix == ".jsonl" and is_uuid(path.stem)]
        flat = _flat_agents(project) if mains else {}
        for path in mains:
            real = os.path.realpath(path)
            if real not in seen and (log := _log(path, path.stem, flat)):
                seen.add(real)
                logs.append(log)
    return sorted(logs, key=lambda log: (log.mtime_ns, log.path))


def log_file(path: Path) -> LogFile | None:
    """The session's log that `path` is or belongs to; None where there is none, or no log of this harness."""
    path = path.absolute()
    main = _main_log(path)
    if main is None or not main.is_file():
        return None
    session_id = main.stem if is_uuid(main.stem) else _session_id_within(main)
    if session_id is None:
        return None
    return _log(main, session_id, _flat_agents(main.parent))


def _log(path: Path, session_id: str, flat: Mapping[str, list[Path]]) -> LogFile | None:
    try:
        status = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    parts = list(_parts(path)) + flat.get(session_id, [])
    return LogFile(path, session_id, status.st_size, status.st_mtime_ns, status.st_ino, parts)


def _main_log(path: Path) -> Path | None:
    """The main log of the session that `path` belongs to: itself, or that of a subagent's log."""
    for folder in path.parents:
        if folder.name == "subagents":
            main = folder.parent.parent / f"{folder.parent.name}.jsonl"
            if main.is_file():
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
            if path.is_dir():
                folders.append(path)
            elif path.name.startswith("agent-") and path.suffix == ".jsonl":
                yield path


def _flat_agents(project: Path) -> dict[str, list[Path]]:
    """Session id -> the logs of its subagents, as versions 2.0 put them: beside the main logs."""
    found: dict[str, list[Path]] = {}
    for path in _entries(project):
        if path.name.startswith("agent-") and path.suffix == ".jsonl":
            found.setdefault(_session_id_of_agent(path), []).append(path)
    return found


def _session_id_of_agent(path: Path) -> str:
    try:
        for record in _head(path):
            if isinstance(record.get("sessionId"), str):
                return str(record["sessionId"])
    except OSError:
        pass
    return ""


def _session_id_within(path: Path) -> str | None:
    """The session id that the records in a log of any name give, "" for none; None when they are not ours."""
    seen_any = False
    is_ours = False
    try:
        for record in _head(path):
            seen_any = True
            session_id = record.get("sessionId")
            if isinstance(session_id, str) and session_id and not record.get("isSidechain"):
                return session_id
            is_ours = is_ours or isinstance(session_id, str) or record.get("type") in _CONVERSATION
    except OSError:
        return None
    return "" if is_ours or not seen_any else None


def _head(path: Path) -> Iterator[dict[str, Any]]:
    return (record for _, record in islice(LogLines(path), _HEAD_RECORDS))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
