"""The sidecar of a transcript: `transcripts/<session_id>.meta.json` (seed 000 §6.3, DESIGN §3 rows tokens,
owner, captured again).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from memex_core.model.session import Response, Source

FIRST_TURNS = 3
"""So many turns at its start make a transcript findable by a copy that shares no counted response."""
RESPONSE_FIELDS = tuple(f.name for f in fields(Response))


@dataclass(slots=True)
class KeptNode:
    """A node that this session gave: where its page is ("<folder>/<slug>"), which cue in which turn found
    it, under which title. `added` are the statements that it brought to a page that was there before.
    """

    path: str
    turn: int
    cue: str
    title: str
    added: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value != []}


@dataclass(slots=True)
class ToldEvent:
    """An event of the diary that tells of this session: its day, time of the day and exact instant, a digest
    of its content, and the turn up to which it tells (number and id). `open`: the run that it tells of may go
    on; the key is there for such an event alone. Without a digest it is a run that is over and that no event
    could tell of yet.
    """

    date: str
    ts: str
    sha256: str
    turn: int
    turn_id: str = ""
    open: bool = False
    time: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("open", "time") or value}


@dataclass(slots=True)
class Sidecar:
    """What is known of a captured session beyond its words.

    `token_usage`, `turn_token_usage`, `usage_by_model` and `usage_by_day` follow from `responses` less
    `counted_elsewhere` (response id -> session that owns it). `turn_ids[n-1]` identifies turn n in every
    copy of the log. `retracted_turns` were taken back in the harness, `inherited_turns` belong to an
    earlier session; neither feeds page or nodes. `body_sha256` and `body_bytes` describe the turn lines of
    the transcript. `generated_title` and `generated_sha256` are what we last wrote into the page, so that a
    person's edit is told from ours.
    `seniority` is when the session was first captured: of two logs that begin alike, the one captured first
    is the original, for good.
    `planned`: the events that are to tell of it instead of those in `diary`, while that is not done: its
    writer was killed, or a day could not be written. The key is there only then.
    """

    session_id: str
    harness: str = ""
    kind: str = "user"
    title: str = ""
    started_at: str = ""
    ended_at: str = ""
    born_at: str = ""
    seniority: str = ""
    duration_s: float = 0.0
    turn_count: int = 0
    user_turns: int = 0
    agent_turns: int = 0
    tool_turns: int = 0
    agent_version: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    project: str = ""
    project_label: str = ""
    token_usage: dict[str, int] | None = None
    turn_token_usage: dict[str, dict[str, int]] = field(default_factory=dict)
    usage_by_model: dict[str, dict[str, int]] = field(default_factory=dict)
    usage_by_day: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    lower_bound_responses: int = 0
    retracted_turns: list[int] = field(default_factory=list)
    inherited_turns: list[int] = field(default_factory=list)
    open_calls: list[dict[str, str]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    reader_version: int = 0
    body_sha256: str = ""
    body_bytes: int = 0
    generated_title: str = ""
    generated_sha256: str = ""
    nodes: list[KeptNode] = field(default_factory=list)
    diary: list[ToldEvent] = field(default_factory=list)
    planned: list[ToldEvent] | None = None
    usage_fields: dict[str, list[str]] = field(default_factory=dict)
    counted_elsewhere: dict[str, str] = field(default_factory=dict)
    responses: list[Response] = field(default_factory=list)
    turn_ids: list[str] = field(default_factory=list)

    def sharing_keys(self) -> set[str]:
        """What the session is found by when another one may be its copy: its responses and its first
        turns.
        """
        return {base_id(response.id) for response in self.responses} | turn_keys(self.turn_ids[:FIRST_TURNS])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, key order fixed; responses and turn ids as compact rows."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data["sources"] = [asdict(source) for source in self.sources]
        data["nodes"] = [node.to_dict() for node in self.nodes]
        data["diary"] = [event.to_dict() for event in self.diary]
        data["planned"] = [event.to_dict() for event in self.planned or []]
        if self.planned is None:
            del data["planned"]
        rows = [[getattr(response, name) for name in RESPONSE_FIELDS] for response in self.responses]
        data["responses"] = {"fields": list(RESPONSE_FIELDS), "rows": rows}
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Sidecar:
        """The sidecar in `data`; unknown keys are ignored. Raises ValueError, TypeError or KeyError on
        another shape.
        """
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        table = known.pop("responses", {"fields": [], "rows": []})
        known["responses"] = [
            Response(**dict(zip(table["fields"], row, strict=True))) for row in table["rows"]
        ]
        known["sources"] = [Source(**source) for source in known.get("sources", [])]
        known["nodes"] = [KeptNode(**node) for node in known.get("nodes", [])]
        for name in ("diary", "planned"):
            if name in known:
                known[name] = [ToldEvent(**event) for event in known[name]]
        return cls(**known)


def base_id(response_id: str) -> str:
    """The id of the response that an iteration `<id>#<n>` belongs to."""
    return response_id.split("#", 1)[0]


def turn_keys(turn_ids: Iterable[str]) -> set[str]:
    """How turns are looked up among response ids."""
    return {f"turn:{turn_id}" for turn_id in turn_ids if turn_id}
