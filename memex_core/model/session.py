"""A session: header, turns, usage (DESIGN §3, §5; seed 000 §4.1, §6.3, §12.6).

A reader makes a `Session` in one pass over the log; `turns` opens the log again, so that a log of any size
passes through memory one turn at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NotRequired, Protocol, TypedDict, get_args

Role = Literal["user", "agent", "tool"]
ROLES = get_args(Role)
SessionKind = Literal["user", "subagent", "internal"]
RUN_ENDS_AFTER_S = 6 * 3600.0
"""After so long a silence, whoever goes on with a session has come back to it."""


class TurnStreamEntry(TypedDict):
    """One turn as a caller gives it (seed 000 §4.1)."""

    role: Role
    content: str
    ts: str
    turn: int
    tool_name: NotRequired[str]
    result: NotRequired[str]
    query: NotRequired[str]


@dataclass(slots=True)
class IngestTranscriptInput:
    """A transcript as a caller gives it (seed 000 §4.4)."""

    session_id: str
    turns: list[TurnStreamEntry]
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Turn:
    """One line of a transcript: exactly the fields of seed 000 §12.6, and `id`, which only the sidecar keeps.

    `turn` counts from 1 over all turns of the session. `content` of a tool turn is the tool's name, `query`
    its input, `result` its result. `ts` is ISO 8601 UTC ending in Z, or "" where the log has no times. `id`
    identifies the turn in every copy of the log (fork, rewritten file): 12 hex digits of a hash over the
    harness's own identifier.
    """

    role: Role
    content: str
    ts: str
    turn: int
    tool_name: str | None = None
    result: str | None = None
    query: str | None = None
    id: str = ""

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Turn:
        """The turn in an object of seed 000 §4.1. Raises ValueError for what is none."""
        role: Any = entry.get("role") if isinstance(entry, Mapping) else None
        if role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, not {role!r}")
        texts = {name: entry.get(name) for name in ("content", "ts", "tool_name", "result", "query")}
        for name, value in texts.items():
            if value is not None and not isinstance(value, str):
                raise ValueError(f"{name} must be a text, not {type(value).__name__}")
        if texts["content"] is None and role != "tool":
            raise ValueError("content is missing")
        number = entry.get("turn", 0)
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError(f"turn must be a number, not {number!r}")
        content = texts["content"] if texts["content"] is not None else texts["tool_name"]
        tool = (texts["tool_name"], texts["result"], texts["query"])
        return cls(role, content or "", texts["ts"] or "", number, *tool)

    def to_line(self) -> dict[str, Any]:
        """The JSON object of the transcript line, absent fields left out, key order fixed."""
        line: dict[str, Any] = {"role": self.role, "content": self.content, "ts": self.ts, "turn": self.turn}
        for name in ("tool_name", "result", "query"):
            value = getattr(self, name)
            if value is not None:
                line[name] = value
        return line


@dataclass(slots=True)
class Response:
    """The tokens of one model response, in disjoint fields; `turn` is the turn they are attributed to.

    `output` includes `reasoning`. `final` is False where the log never got a final count: `output` is a
    lower bound. `id` is the harness's own response id; an iteration billed under another model carries
    `#<n>` behind it. `requests` is 1, or 0 for such an iteration inside a response that is already counted.
    """

    id: str
    model: str
    ts: str
    turn: int
    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    requests: int = 1
    final: bool = True


COUNT_FIELDS = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning", "requests")


@dataclass(slots=True)
class Source:
    """One file a session was read from, as it was when it was read. `sha256` covers the `size` bytes that
    were read.
    """

    path: str
    size: int
    mtime_ns: int
    ino: int
    sha256: str


@dataclass(slots=True)
class Header:
    """The first line of a transcript: identity only, never a token count (seed 000 §6.3).

    `meta` holds cli_version, provider, cwd, git{branch, commit_hash}, models, reasoning_efforts and what
    else identifies the session (originator, entrypoint, kind, parent_session_id, root_session_id,
    forked_from ...); keys without a value are left out.
    """

    harness: str
    session_id: str
    captured_at: str = ""
    started_at: str = ""
    ended_at: str = ""
    duration_s: float = 0.0
    meta: dict[str, Any] = field(default_factory=dict)

    def to_line(self) -> dict[str, Any]:
        return {"type": "memex_session_header", **asdict(self)}


class TurnSource(Protocol):
    """Gives the turns of a log from its start, as often as asked; stops where the first pass stopped."""

    def __iter__(self) -> Iterator[Turn]: ...


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of the runs of a session, each from a start or resume to its end.

    `goes_on`: more of the last one may follow; what is said after one that ended is another. None where
    nobody knows: a run that was seen to go on still does, and one that nobody saw is over. `resumed`: when
    runs began that were not the first (ISO 8601, ascending), as far as somebody saw it; what was asked before
    belongs to earlier ones. `answered`: the agent has finished an answer since.
    """

    goes_on: bool | None = None
    resumed: tuple[str, ...] = ()
    answered: bool = False


@dataclass(slots=True)
class Session:
    """What a reader gives.

    `usage_fields` names, per count of the harness, the disjoint fields it sums: that is how the core writes
    the harness's own names into a sidecar without knowing the harness. `usage_known` is False where the
    format holds no counts. `retracted` are turn numbers that a rewind or rollback took back. `born_at` is
    when the log itself began (a fork's log is younger than the records copied into it). `skipped` counts
    what could not be read, by reason. `open_calls` are tool calls still without a result at the end of the
    log ({"tool_name", "query"}): they become turns when they are answered or given up. `replaces` where a
    caller gives the whole transcript anew: nothing that was kept of it before outlives it. `run` is for the
    caller to say: the diary has one event for each.
    """

    header: Header
    turns: TurnSource
    responses: list[Response] = field(default_factory=list)
    usage_fields: dict[str, list[str]] = field(default_factory=dict)
    usage_known: bool = True
    kind: SessionKind = "user"
    title: str = ""
    born_at: str = ""
    retracted: set[int] = field(default_factory=set)
    open_calls: list[dict[str, str]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    reader_version: int = 1
    turn_count: int = 0
    replaces: bool = False
    run: Run = Run()
