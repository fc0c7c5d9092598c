"""What a call gives back, and how a page, item or event is told whole (seed 000 §7, Utility 11)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.mcp_server import tools
from memex_core.mcp_server.evidence import LABEL, fenced
from memex_core.model.item import DiaryEvent, RecallItem
from memex_core.model.node import WikiNode
from memex_core.text.generated import without_markers
from memex_core.text.links import page_links

MAX_BODY_CHARS = 100_000
"""Of what is read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call: `structured` as its output schema says, `texts` the same for a reader."""

    structured: dict[str, Any]
    texts: list[str]


def page_answer(page: WikiNode) -> Answer:
    """A page as it is, and as text."""
    body, cut, note = _cut(page.body, "page")
    own: dict[str, Any] = {name: getattr(page, name, None) for name in tools.PageAnswer.model_fields}
    own |= {"note": note, "body": body, "file_path": str(page.file_path or "")}
    says = [f"created {page.created[:10]}", f"updated {page.updated[:10]}", f"importance {page.importance:g}"]
    says += [f"holds until {page.valid_to}"] if page.valid_to else []
    says += [f"expires {page.expires_at}"] if page.expires_at else []
    heading = f"{page.type}/{page.slug} ({', '.join(says)})"
    text = fenced(heading, [f"# {page.title}", "", without_markers(body), *cut])
    return Answer(tools.PageAnswer(**own).model_dump(exclude={"owner"}), [text])


def _cut(content: str, what: str) -> tuple[str, list[str], str]:
    """As much of `content` as is given, the line that says so behind it, and the note of the answer."""
    body = content[:MAX_BODY_CHARS]
    left_out = len(content) - len(body)
    if not left_out:
        return body, [], LABEL
    note = f"{LABEL} The last {left_out:,} characters of the {what} are left out."
    return body, [f"[{left_out:,} more characters are left out]"], note


def block_answer(root: Path, block: RecallItem | DiaryEvent) -> Answer:
    """An item or event as it is, and as text."""
    if isinstance(block, DiaryEvent):
        kind, slug, name = "event", f"{block.date}#{block.ordinal}", f"{block.date} {block.time}".strip()
        path, when = paths.diary_dir(root) / f"{block.date}.md", block.ts or block.date
    else:
        kind, slug, name = "item", f"{block.file}:{block.name}", f"{block.file}:{block.name}"
        path, when = paths.wiki_dir(root) / f"{block.file}.md", block.ts or ""
    body, cut, note = _cut(block.content, kind)
    answer = tools.PageAnswer(
        note=note,
        slug=slug,
        type=kind,
        title=name,
        body=body,
        tags=[],
        importance=0.5,
        created=when,
        updated=when,
        links=page_links(block.content) + [":".join(link) for link in block.links],
        transcript_ref=None,
        sources=[block.source_conv] if block.source_conv else [],
        valid_from=None,
        valid_to=None,
        expires_at=None,
        file_path=str(path),
        owner=block.owner,
    )
    said = {"said": when or "unknown", "owner": block.owner or "unknown"}
    heading = f"{kind} {json.dumps(said, ensure_ascii=False)}"
    return Answer(answer.model_dump(), [fenced(heading, [f"# {name}", "", body, *cut])])
