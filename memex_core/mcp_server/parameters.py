"""The parameters of each tool, and what they mean (seed 000 §7, Utility 11)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from memex_core.text.instant import to_seconds

WrittenType = Literal["entity", "preference", "procedure", "summary"]
PageType = Literal["entity", "preference", "procedure", "summary", "episode"]
RecalledType = Literal["entity", "preference", "procedure", "summary", "episode", "item", "event"]

TYPES = (
    "entity: a fact about a project, tool, person or decision; preference: how the user wants things; "
    "procedure: steps that worked; summary: an overview of several pages"
)
SLUG = "The page: its slug as memex_recall gives it, or <type>/<slug> where two types use the slug."


def _moment(value: str) -> str:
    if value and to_seconds(value) is None:
        raise ValueError("write a time as 2026-09-15T10:00:00Z")
    return value


def _date(value: str) -> str:
    if to_seconds(value) is None:
        raise ValueError("write a day as 2026-09-15, a time as 2026-09-15T10:00:00Z")
    return value


NOT_BLANK = r"\S"
Name = Annotated[str, Field(min_length=1, max_length=300, pattern=NOT_BLANK)]
Importance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=100)]


class Arguments(BaseModel):
    """The parameters of one tool; anything else is refused."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class WriteArguments(Arguments):
    type: WrittenType = Field(description=TYPES)
    title: Name = Field(
        description="What the page is about, in the words a search would use; names the page."
    )
    body: Annotated[str, Field(min_length=1, pattern=NOT_BLANK)] = Field(
        description="Markdown, short and self-contained. [[Title or slug]] links to another page."
    )
    tags: Names | None = Field(None, description="A few words to filter by. Omitted: the page keeps its own.")
    importance: Importance | None = Field(
        None, description="0 to 1; 0.5 is ordinary, 0.8 and more what every session should know."
    )
    links: Names | None = Field(None, description="Slugs of related pages that the body does not name.")


class RecallArguments(Arguments):
    query: Annotated[str, Field(min_length=1, max_length=10_000)] = Field(
        description="A question, or words that the page would use: names, commands, error texts."
    )
    top_k: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None, description="How many hits at most; default 10. What items among them link to comes on top."
    )
    node_type: RecalledType | None = Field(
        None,
        description=f"Only this. {TYPES}; episode: the record of one session; item: a fact of the user's own "
        "files; event: what happened, if the query names days or since or until is given.",
    )
    since: Annotated[str, AfterValidator(_date)] | None = Field(
        None, description="Only what was changed, or happened, on or after this day or time (ISO 8601)."
    )
    until: Annotated[str, AfterValidator(_date)] | None = Field(
        None, description="Only what was changed, or happened, on or before it."
    )
    budget: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="How many tokens the hits may take; the names of those left out are told."
    )


class ReadArguments(Arguments):
    slug: Name = Field(
        description=f"{SLUG} An item: <file>:<name>. An event: its slug, or its date and time."
    )
    type: PageType | None = Field(None, description="The type of the page, where two types use the slug.")


class ForgetArguments(Arguments):
    slug: Name = Field(description=SLUG)
    mode: Literal["soft", "decay", "hard"] = Field(
        "soft",
        description="soft: the page is no longer recalled, its file stays; decay: it ceases to be recalled "
        "after a while; hard: the file is deleted for good. hard only if the user asks for it.",
    )


class ConsolidateArguments(Arguments):
    mode: Literal["full", "dry-run"] = Field(
        "full", description="dry-run also asks the model, but writes nothing and shows what it would write."
    )
    max_episodes: Annotated[int, Field(ge=1, le=1_000)] = Field(10, description="How many sessions at most.")


class TurnArgument(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    role: Literal["user", "agent", "tool"]
    content: str
    ts: Annotated[str, AfterValidator(_moment)] = Field("", description="ISO 8601 time of the turn.")
    turn: int | None = Field(None, description="Its number; turns are kept in the order given.")
    tool_name: str | None = None
    query: str | None = Field(None, description="What the tool was given.")
    result: str | None = Field(None, description="What the tool answered.")


class IngestArguments(Arguments):
    session_id: Annotated[str, Field(min_length=1, max_length=128)] = Field(
        description="The session's own id: letters, digits, '-', '_' and '.'."
    )
    turns: Annotated[list[TurnArgument], Field(min_length=1, max_length=20_000)] = Field(
        description="The turns of the session, oldest first."
    )


class ProvenanceArguments(Arguments):
    slug: Name = Field(description=SLUG)


class ExportArguments(Arguments):
    format: Literal["json"] = Field("json", description="Only json.")


class ImportArguments(Arguments):
    nodes: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=10_000)] = Field(
        description="Pages as memex_export gives them: each with type, title and body at least."
    )


class DiaryAppendArguments(Arguments):
    content: Annotated[str, Field(min_length=1, max_length=20_000, pattern=NOT_BLANK)] = Field(
        description="What happened, in a sentence or a few. [[Title or slug]] links to a page, "
        "[[file:item]] to an item."
    )


class ItemsArguments(Arguments):
    file: Name | None = Field(None, description="Only the items of this file.")
    name: Name | None = Field(None, description="Only the item of this name, letter case included.")
