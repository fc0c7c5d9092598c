"""A page in memory (seed 000 §6.1) and what asks for one to be written (§4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(slots=True)
class WriteInput:
    """What a caller wants written (seed 000 §4.2), and where it comes from.

    `sources` are strings `<session_id>#<turn>`; `cue` is the id of the cue in cues.toml that found it.
    """

    type: str
    title: str
    body: str
    tags: list[str] = field(default_factory=list)
    importance: float | None = None
    links: list[str] = field(default_factory=list)
    session_id: str | None = None
    transcript_ref: str | None = None
    expires_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    sources: list[str] = field(default_factory=list)
    project: str | None = None
    project_label: str | None = None
    cue: str = ""


@dataclass(slots=True)
class WikiNode:
    """One page. `extra` keeps front-matter keys that are not ours, `warning` says why a page is only partly
    understood, `note` what is unusual about the form of one that is understood.

    Times are ISO 8601 UTC. `content_hash` is "sha256:" + hex digest of the body. `links` are the outgoing
    slugs: those that were given, then `body_links`, which the body says. `started_at`, `ended_at`, `harness`,
    `kind` and `session_id` are set on episodes only.
    """

    type: str
    title: str
    body: str
    slug: str = ""
    id: str = ""
    tags: list[str] = field(default_factory=list)
    importance: float = 0.5
    created: str = ""
    updated: str = ""
    access_count: int = 0
    last_access: str | None = None
    expires_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    transcript_ref: str | None = None
    links: list[str] = field(default_factory=list)
    body_links: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    project: str | None = None
    project_label: str | None = None
    session_id: str | None = None
    harness: str | None = None
    kind: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    content_hash: str = ""
    file_path: Path | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    warning: str = ""
    note: str = field(default="", compare=False)

    @property
    def given_links(self) -> list[str]:
        """Those of `links` that its body does not say."""
        return [key for key in self.links if key not in self.body_links]


WriteResult = WikiNode
"""What `Memex.write` returns (DESIGN §3 row write() returns)."""


@dataclass(slots=True)
class ConsolidateInput:
    """What to consolidate (seed 000 §4.3). `episode_ids` are slugs of episodes; given ones are sent even if
    they were consolidated before.
    """

    mode: Literal["full", "dry-run"] = "full"
    episode_ids: list[str] | None = None
    max_episodes: int = 10
    include_links: bool = True
