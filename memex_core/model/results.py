"""What operations return (seed 000 §5, §7, §9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True)
class RecallHit:
    """One page that answers a query (seed 000 §5.1). A higher `score` is better (DESIGN §3)."""

    slug: str
    file_path: str
    title: str
    node_type: str
    importance: float
    score: float
    rank: int
    snippet: str
    snippet_source: Literal["body", "title"]
    tags: list[str]
    created: str
    updated: str
    last_access: str | None
    transcript_ref: str | None
    links: list[str]
    project: str | None = None
    project_label: str | None = None
    sources: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RecallResult:
    """Seed 000 §5.1; `note` says when the answer came from the files because the index could not be used."""

    query: str
    hits: list[RecallHit]
    total_indexed: int
    search_engine: Literal["bm25"] = "bm25"
    search_time_ms: float = 0.0
    note: str = ""


@dataclass(slots=True)
class TranscriptLinkReport:
    """Seed 000 §5.3, and what the capture did: "new", "extended", "unchanged",
    "updated" (only what is known about it), "replaced" (a newer reader's words), "merged" (the log was
    replaced) or "forgotten"."""

    session_id: str
    transcript_file: str
    meta_file: str
    episode_node: str
    episode_file_path: str
    turn_count: int
    user_turns: int
    agent_turns: int
    tool_turns: int
    outcome: str = "new"
    nodes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ProvenanceReport:
    """Seed 000 §7, Utility 7. `sources` are `<session_id>#<turn>`."""

    slug: str
    direct_transcript_ref: str | None
    linked_episodes: list[str]
    transcript_files: list[str]
    meta_files: list[str]
    confidence: Literal["direct", "inferred", "none"]
    sources: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SessionSummary:
    """Seed 000 §12.5, and what a person needs to recognise a session."""

    session_id: str
    started_at: str
    ended_at: str
    turn_count: int
    episode_slug: str | None
    file_path: str
    title: str = ""
    harness: str = ""
    kind: str = "user"
    project: str = ""
    project_label: str = ""
    total_tokens: int | None = None


@dataclass(slots=True)
class RebuildIndexReport:
    """Seed 000 §9.6."""

    nodes_indexed: int = 0
    nodes_skipped: int = 0
    nodes_errored: int = 0
    duration_ms: float = 0.0
    errors: list[str] = field(default_factory=list)
