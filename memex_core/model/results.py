"""What operations return (seed 000 §5, §7, §9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from memex_core.model.node import WriteInput


@dataclass(slots=True)
class RecallHit:
    """One page, item or event that answers a query (seed 000 §5.1). A higher `score` is better (DESIGN §3).

    `node_type` is also "item" (slug `<file>:<name>`) or "event" (slug `<date>#<ordinal>`). `source` "link":
    not found itself, the hit of slug `via` links to it; its score is 0. `date` and `time` are an event's
    local day and its heading, `owner` an item's or event's. `matched_terms`, with what each brought, are only
    there where they were asked for. Where vectors took part, `score` is what words (`bm25_score`) and meaning
    (`cos_score`) come to together; None: not found by that.
    """

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
    source: Literal["hit", "link"] = "hit"
    via: str | None = None
    date: str | None = None
    time: str | None = None
    owner: str | None = None
    matched_terms: dict[str, float] = field(default_factory=dict)
    bm25_score: float | None = None
    cos_score: float | None = None


@dataclass(slots=True)
class RecallResult:
    """Seed 000 §5.1; `note` says what was not as usual: the answer came from the files because the index
    could not be used, or the diary's window was widened.

    `window` are the first and last day of the diary that was open, None for a side without an end;
    `window_words` what in the query opened it. `dropped` are the slugs of what was over the budget, `tokens`
    what the rest takes, where either was asked for. `terms` are what was searched for, `broken_links` the
    item links of the hits that lead nowhere.
    """

    query: str
    hits: list[RecallHit]
    total_indexed: int
    search_engine: Literal["bm25", "bm25+vectors"] = "bm25"
    search_time_ms: float = 0.0
    note: str = ""
    window: tuple[str | None, str | None] | None = None
    window_words: str = ""
    window_widened: bool = False
    tokens: int = 0
    dropped: list[str] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    broken_links: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TranscriptLinkReport:
    """Seed 000 §5.3, and what the capture did: "new", "extended", "unchanged",
    "updated" (only what is known about it), "replaced" (a newer reader's words), "merged" (the log was
    replaced) or "forgotten". `episode_file_path` is "" where the session has no page."""

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


@dataclass(slots=True)
class ForgetResult:
    """Seed 000 §9.4. `file_path` is None where the file was deleted."""

    slug: str
    forgotten: bool
    mode: Literal["hard", "soft", "decay"]
    file_path: str | None = None


@dataclass(slots=True)
class ConsolidationReport:
    """Seed 000 §5.2, and what a person needs to judge the run.

    `nodes_refused` are (title, why) of what the model proposed and was not written; `warnings` what else
    went wrong; `changes` one {"action": "add"|"update", "page", "title", "before", "after"} a page;
    `answer_file` where an answer lies that could not be read. Token counts that a provider did not give are
    estimated, and `tokens_estimated` says so.
    """

    mode: Literal["full", "dry-run"]
    episodes_processed: int = 0
    nodes_created: list[WriteInput] = field(default_factory=list)
    nodes_updated: list[str] = field(default_factory=list)
    links_added: int = 0
    llm_calls: int = 0
    llm_prompt_tokens: int = 0
    llm_completion_tokens: int = 0
    dry_run: bool = False
    tokens_estimated: bool = False
    nodes_refused: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    answer_file: str | None = None


@dataclass(slots=True)
class BackupReport:
    """Seed 000 §9.7. `file_counts`: wiki (pages), transcripts (sessions), mem_db, files (all), and left_out:
    files that no archive can hold, named in the manifest.
    """

    archive_path: str
    size_bytes: int = 0
    file_counts: dict[str, int] = field(default_factory=dict)
    duration_ms: float = 0.0


@dataclass(slots=True)
class RestoreReport:
    """Seed 000 §9.8. `previous_backup_dir` holds what was there before."""

    restored: bool
    file_counts: dict[str, int] = field(default_factory=dict)
    index_rebuilt: bool = False
    warnings: list[str] = field(default_factory=list)
    previous_backup_dir: str | None = None


@dataclass(slots=True)
class ImportReport:
    """What an import did: slugs by outcome; `conflicts` are pages that differ and were left or renamed,
    `refused` (name, why) what is no page.
    """

    imported: int = 0
    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
