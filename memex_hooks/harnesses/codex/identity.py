"""Whose log it is: the first session_meta (formats/codex.md §1.3, §2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from memex_core.errors import Refused
from memex_core.model.session import SessionKind
from memex_core.paths import safe_id
from memex_core.text.clean import clean_text
from memex_hooks.harnesses.codex.fields import Fields, mapping, text, utc
from memex_hooks.log_lines import LogLines

_INTERNAL_SOURCES = ("guardian_review", "memory_consolidation")
_INTERNAL_SUBAGENTS = ("review", "compact", "memory_consolidation")
_HEAD_RECORDS = 64
"""How far a lost first line is looked for: a later session_meta may repeat it (or be a copied parent's)."""

ROLLOUT_NAME = re.compile(
    r"rollout-(?P<time>\d{4}-\d\d-\d\d(?:T\d\d-\d\d-\d\d)?)-(?P<thread>[^_]+)(?:_(?P<rollout>.+))?\.jsonl(?:\.zst)?"
)


@dataclass(slots=True)
class Identity:
    """Who a thread is. `payload` is its session_meta; {} when the log has lost it or never had one."""

    thread_id: str
    kind: SessionKind = "user"
    pre_envelope: bool = False
    born_at: str = ""
    payload: Fields = field(default_factory=dict)

    @property
    def parent_id(self) -> str:
        """The thread whose history may be copied to the start of this log."""
        return text(self.payload, "forked_from_id") or self.spawned_by

    @property
    def spawned_by(self) -> str:
        return text(self.payload, "parent_thread_id") or text(_spawn(self.payload), "parent_thread_id")

    @property
    def is_spawned(self) -> bool:
        return "thread_spawn" in mapping(mapping(self.payload, "source"), "subagent")


def identify(path: Path) -> Identity:
    """Whose log `path` is: its first record says so. A few more are read if that one is not the meta."""
    named = name_hint(path)
    head = list(islice(LogLines(path), 1))
    if head and _meta_id(head[0][1]) and (head[0][0] == 0 or _meta_id(head[0][1]) == named or not named):
        return _from_meta(head[0][1])
    if head and head[0][1].keys().isdisjoint(("payload", "type")) and text(head[0][1], "id"):
        return _pre_envelope(head[0][1])
    metas = [record for _, record in islice(LogLines(path), _HEAD_RECORDS) if _meta_id(record)]
    for record in metas:
        if not named or _meta_id(record) == named:
            return _from_meta(record)
    bare = bool(head) and "payload" not in head[0][1]
    return Identity(thread_id=_usable(named) or _stand_in(path), pre_envelope=bare)


def name_hint(path: Path) -> str:
    """The thread id in the file's name, "" where it has none. Only a hint: the session_meta decides."""
    named = ROLLOUT_NAME.fullmatch(path.name)
    return named["thread"] if named else ""


def _meta_id(record: Fields) -> str:
    return _usable(text(mapping(record, "payload"), "id")) if record.get("type") == "session_meta" else ""


def _usable(name: str) -> str:
    try:
        return safe_id(name)
    except Refused:
        return ""


def _stand_in(path: Path) -> str:
    """A name for a log without any id: the same one when the log has been compressed."""
    name = path.name.removesuffix(".zst")
    return "codex-" + blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _from_meta(record: Fields) -> Identity:
    payload = mapping(record, "payload")
    return Identity(
        thread_id=text(payload, "id"),
        kind=_kind(payload),
        born_at=utc(text(payload, "timestamp")) or utc(text(record, "timestamp")),
        payload={key: value for key, value in payload.items() if key != "base_instructions"},
    )


def _pre_envelope(record: Fields) -> Identity:
    payload = {"id": record["id"], "git": record.get("git")}
    name = _usable(text(record, "id"))
    return Identity(
        thread_id=name
        or "codex-" + blake2b(text(record, "id").encode("utf-8", "replace"), digest_size=8).hexdigest(),
        pre_envelope=True,
        born_at=utc(text(record, "timestamp")),
        payload=payload,
    )


def _spawn(payload: Fields) -> Fields:
    return mapping(mapping(mapping(payload, "source"), "subagent"), "thread_spawn")


def _kind(payload: Fields) -> SessionKind:
    """§2.5, §2.6: by the marks of the format, never by model name or missing prompts."""
    source, thread_source = mapping(payload, "source"), text(payload, "thread_source")
    subagent = source.get("subagent")
    if thread_source in _INTERNAL_SOURCES or "internal" in source:
        return "internal"
    if subagent in _INTERNAL_SUBAGENTS or (isinstance(subagent, dict) and "other" in subagent):
        return "internal"
    return "subagent" if subagent is not None or thread_source == "subagent" else "user"


def header_meta(identity: Identity) -> dict[str, Any]:
    """What the header says about the thread, keys without a value left out."""
    payload, git = identity.payload, mapping(identity.payload, "git")
    root = text(payload, "session_id")
    meta: dict[str, Any] = {
        "cli_version": text(payload, "cli_version"),
        "provider": text(payload, "model_provider"),
        "cwd": text(payload, "cwd"),
        "git": _present({key: text(git, key) for key in ("branch", "commit_hash", "repository_url")}),
        "originator": text(payload, "originator"),
        "source": _source_name(payload.get("source")),
        "history_mode": text(payload, "history_mode"),
        "root_session_id": root if root != identity.thread_id else "",
        "parent_session_id": identity.spawned_by,
        "forked_from": text(payload, "forked_from_id"),
        "agent_nickname": text(payload, "agent_nickname") or text(_spawn(payload), "agent_nickname"),
        "agent_role": text(payload, "agent_role")
        or text(payload, "agent_type")
        or text(_spawn(payload), "agent_role"),
    }
    return _present(meta)


def _present(meta: dict[str, Any]) -> dict[str, Any]:
    return {
        key: clean_text(value) if isinstance(value, str) else value for key, value in meta.items() if value
    }


def _source_name(source: Any) -> str:
    """`cli`, `exec` ...; an object becomes its keys: `subagent:thread_spawn`, `internal:guardian`."""
    names: list[str] = []
    while isinstance(source, dict) and source and len(names) < 4:
        name, source = next(iter(source.items()))
        names.append(name)
        if name == "thread_spawn":
            return ":".join(names)
    return ":".join([*names, source] if isinstance(source, str) else names)
