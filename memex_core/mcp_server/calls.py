"""What a call of each tool does: one method of Memex, and how its result is told (seed 000 §7, Utility 11).

Structured content is the result as it is, and what most programs show their model. Text is for the others;
recalled text is fenced in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from memex_core.errors import LLMError, MemexError, NotFound, Refused
from memex_core.files.lock import memory_lock
from memex_core.files.timed_log import timed_log
from memex_core.llm import refuse_in_a_child
from memex_core.mcp_server import parameters, tools
from memex_core.mcp_server.answers import Answer, block_answer, page_answer
from memex_core.mcp_server.evidence import LABEL, fenced, hit_line, left_out_line
from memex_core.mcp_server.faults import WHATEVER, ToolFault
from memex_core.mcp_server.intake import each_text, hides_secrets, taken
from memex_core.model.item import RecallItem
from memex_core.model.node import ConsolidateInput, WikiNode, WriteInput
from memex_core.model.results import RecallResult
from memex_core.model.session import IngestTranscriptInput, TurnStreamEntry
from memex_core.paths import NODE_TYPES
from memex_core.store.diary import Diary
from memex_core.store.named_blocks import find_block
from memex_core.store.recallfiles import RecallFileStore
from memex_core.text.blocks import escape, flaw_in, item_name, normalized
from memex_core.text.clean import clean_text
from memex_core.text.generated import merge_generated
from memex_core.text.instant import to_seconds
from memex_core.text.slug import is_plain_name

if TYPE_CHECKING:
    from memex_core.memex import Memex

MAX_EXPORT_CHARS = 500_000
"""Of the JSON of the pages that one export gives."""
MAX_ITEMS_CHARS = 100_000
"""Of the items that one call gives."""
NOT_ALL_WENT_WELL = "Not all of it went well: `memex consolidate` in a terminal says what."
"""For a client: what went wrong may name the provider, an address, or paths."""
EVENT_OWNER = "agent"
"""Whose an event is that a model noted."""


def call(memex: Memex, name: str, arguments: dict[str, Any]) -> Answer:
    """Do what a client asked. Blocks.

    Raises ToolFault, pydantic's ValidationError for arguments that do not fit, and what Memex raises.
    """
    offer = tools.TOOLS[name]
    given = taken(offer, arguments, without_secrets=offer.stores and memex.config.capture.redact)
    answer = _ACTS[name](memex, given)
    return Answer(each_text(answer.structured, clean_text), [clean_text(text) for text in answer.texts])


def _plain(result: BaseModel | Any, *says: str) -> Answer:
    """A result that quotes nothing: what there is to say, and its JSON."""
    structured = result.model_dump(exclude_defaults=True) if isinstance(result, BaseModel) else asdict(result)
    return Answer(structured, [*filter(None, says), _json(structured)])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_SEED = ("query", "hits", "total_indexed", "search_engine", "search_time_ms", "note")
_HIT_EXTRA = ("via", "date", "time", "owner", "matched_terms")


def _plain_result(result: RecallResult) -> dict[str, Any]:
    """The result of seed 000 §5.1, and what else there is to tell."""
    told = {key: value for key, value in asdict(result).items() if key in _SEED or value}
    told["hits"] = [
        {key: value for key, value in hit.items() if value or key not in _HIT_EXTRA} for hit in told["hits"]
    ]
    told.pop("terms", None)
    return told


def _recall(memex: Memex, given: parameters.RecallArguments) -> Answer:
    during = (given.since, given.until) if given.since or given.until else None
    result = memex.recall(given.query, given.top_k, given.node_type, during, budget=given.budget)
    note = result.note
    if not result.hits:
        return Answer(_plain_result(result), [f"Nothing in memory fits. {note}".strip()])
    result.note = f"{LABEL} {note}".strip()
    count = f"{len(result.hits)} hit{'s' if len(result.hits) > 1 else ''}"
    lines = [hit_line(hit) for hit in result.hits]
    lines += [left_out_line(result.dropped)] if result.dropped else []
    block = fenced(f"{count} among {result.total_indexed:,} pages, items and events:", lines)
    return Answer(_plain_result(result), [note, block] if note else [block])


def _read(memex: Memex, given: parameters.ReadArguments) -> Answer:
    page = memex.read(given.slug, given.type)
    if page is not None:
        return page_answer(page)
    try:
        block = None if given.type else find_block(memex.root, given.slug)
    except Refused as error:
        raise ToolFault(str(error)) from None
    if block is None:
        raise NotFound(WHATEVER, given.slug)
    return block_answer(memex.root, block)


def _write(memex: Memex, given: parameters.WriteArguments) -> Answer:
    with memory_lock(memex.root):
        page = memex.page_about(given.type, given.title)
        edited = page is not None and memex.store.is_edited(page)
        node = memex.write(_write_input(memex, page, given, edited=edited), by_person=False)
    says = [_what_happened(page, node, edited=edited)]
    broken = _broken_links(memex, node)
    if broken:
        says.append(f"Links to pages that do not exist yet: {', '.join(broken)}.")
    note = " ".join(says) if page or broken else ""
    return _plain(tools.WriteAnswer(slug=node.slug, file_path=str(node.file_path), note=note), *says)


def _write_input(
    memex: Memex, page: WikiNode | None, given: parameters.WriteArguments, *, edited: bool
) -> WriteInput:
    """What was given; of a page that is there already, what was not given stays."""
    tags, links = given.tags or [], given.links or []
    item = WriteInput(given.type, given.title, given.body, tags, given.importance, links)
    if page is not None:
        item.title = page.title
        item.tags = page.tags if given.tags is None else tags
        item.links = page.given_links if given.links is None else links
        item.transcript_ref, item.valid_from = page.transcript_ref, page.valid_from
        item.valid_to, item.expires_at = (
            _ahead(end, memex.now()) for end in (page.valid_to, page.expires_at)
        )
        if edited:
            is_said = given.body.strip() in page.body
            item.body = page.body if is_said else merge_generated(page.body, given.body, "")
    most, size = memex.config.pages.max_body_chars, len(item.body)
    if size > most:
        raise ToolFault(f"body: a page holds {most:,} characters at most, this one would have {size:,}")
    return item


def _ahead(date: str | None, now: str) -> str | None:
    """A date that is still to come: a page that is written again holds again."""
    return date if date and (to_seconds(date) or 0.0) > (to_seconds(now) or 0.0) else None


def _what_happened(before: WikiNode | None, after: WikiNode, *, edited: bool) -> str:
    name = f"{after.type}/{after.slug}"
    if before is None:
        return f"Added {name}."
    if before == after:
        return f"{name} says so already; nothing was changed."
    if edited:
        return f"Updated {name}. A person has written on it: their words stay, and yours stand below them."
    return f"Updated {name}, which was there already."


def _broken_links(memex: Memex, node: WikiNode) -> list[str]:
    try:
        return memex.links.validate_links(f"{node.type}/{node.slug}")
    except MemexError:  # the index cannot be asked now
        return []


def _diary_append(memex: Memex, given: parameters.DiaryAppendArguments) -> Answer:
    content = normalized(given.content)
    flaw = flaw_in(content)
    with timed_log(memex.root, "diary-add") as entry:
        try:
            diary = Diary(memex.root, memex.journal)
            event = diary.append(escape(content) if flaw else content, owner=EVENT_OWNER)
        except ValueError as error:
            raise ToolFault(f"content: {error}") from None
        entry.subject = event.date
    note = "A backslash stands before what would have begun another event." if flaw else ""
    answer = tools.DiaryAppendAnswer(date=event.date, time=event.time, note=note)
    return _plain(answer, f"Noted on {event.date} at {event.time}.", note)


def _items(memex: Memex, given: parameters.ItemsArguments) -> Answer:
    found = RecallFileStore(memex.root, memex.journal).items(given.file)
    if given.file is None and given.name is None:
        return _names_of_items(found)
    if given.name is not None:
        found = [item for item in found if item.name == item_name(given.name)]
    if not found:
        raise ToolFault("no such item: memex_items without a file and a name lists them all")
    room, fitting = MAX_ITEMS_CHARS, []
    for item in found:
        if room > 0:
            fitting.append(replace(item, content=item.content[:room]))
        room -= len(item.name) + len(item.content)
    note = LABEL + (f" Cut: only {MAX_ITEMS_CHARS:,} characters fit; ask for one item." if room < 0 else "")
    lines = [f"{item.file}:{item.name} ({item.ts or 'no date'}): {_json(item.content)}" for item in fitting]
    rows = [tools.ItemAnswer(**asdict(item)) for item in fitting]
    answer = tools.ItemsAnswer(note=note, files=[], items=rows).model_dump()
    return Answer(answer, [fenced(f"{len(fitting)} of {len(found)} items:", lines)])


def _names_of_items(found: list[RecallItem]) -> Answer:
    room, names = MAX_ITEMS_CHARS, dict[str, list[str]]()
    for item in found:
        room -= len(item.name) + 4
        if room > 0:
            names.setdefault(item.file, []).append(item.name)
    note = LABEL + (" Not all names fit: ask for the items of one file." if room <= 0 else "")
    files = [tools.FileAnswer(file=file, names=each) for file, each in names.items()]
    lines = [f"{file}: {_json(each)}" for file, each in names.items()]
    answer = tools.ItemsAnswer(note=note, files=files, items=[]).model_dump()
    return Answer(answer, [fenced(f"{len(found)} items:", lines)] if found else ["There are no items."])


def _forget(memex: Memex, given: parameters.ForgetArguments) -> Answer:
    slug, exists = given.slug, memex.store.exists
    types = [] if "/" in slug else [kind for kind in NODE_TYPES if exists(slug, kind)]
    if len(types) > 1:
        names = " or ".join(f"{kind}/<slug>" for kind in types)
        raise ToolFault(f"pages of several types have that slug: say {names}")
    if not exists(slug):  # Memex.forget also takes a title, or how a session id begins
        raise NotFound("page", slug)
    result = memex.forget(given.slug, given.mode)
    return _plain(tools.ForgetAnswer(slug=result.slug, forgotten=result.forgotten), _FORGOTTEN[given.mode])


_FORGOTTEN = {
    "soft": "The page is no longer recalled; its file stays.",
    "decay": "The page will cease to be recalled; its file stays.",
    "hard": "The page is deleted.",
}


def _ingest(memex: Memex, given: parameters.IngestArguments) -> Answer:
    numbered = enumerate(given.turns, 1)
    turns = [turn.model_dump(exclude_none=True) | {"turn": number} for number, turn in numbered]
    entries = cast("list[TurnStreamEntry]", turns)
    return _plain(memex.ingest_transcript(IngestTranscriptInput(given.session_id, entries)))


def _provenance(memex: Memex, given: parameters.ProvenanceArguments) -> Answer:
    return _plain(memex.get_provenance(given.slug))


def _consolidate(memex: Memex, given: parameters.ConsolidateArguments) -> Answer:
    try:
        refuse_in_a_child()
    except LLMError as error:
        raise ToolFault(str(error)) from None
    report = memex.consolidate(ConsolidateInput(given.mode, max_episodes=given.max_episodes))
    went_wrong = bool(report.warnings or report.answer_file)
    refused = [(title, _reason(why) or "its page stays as it is") for title, why in report.nodes_refused]
    told = [NOT_ALL_WENT_WELL] if went_wrong else []
    report = replace(report, warnings=told, answer_file=None, nodes_refused=refused)
    return _plain(report, *told)


def _export(memex: Memex, given: parameters.ExportArguments) -> Answer:
    nodes = memex.export_nodes()["nodes"]
    room, fitting = MAX_EXPORT_CHARS, []
    for node in nodes:
        room -= len(_json(node))
        if room < 0:
            break
        fitting.append(node)
    note = ""
    if len(fitting) < len(nodes):
        note = f"Only {len(fitting):,} of {len(nodes):,} pages fit: `memex export` in a terminal gives all."
    return _plain(tools.ExportAnswer(nodes=fitting, note=note), LABEL, note)


def _import(memex: Memex, given: parameters.ImportArguments) -> Answer:
    # What cannot be searched for secrets, or hides one, is left out: such a page comes from its texts.
    redacted = memex.config.capture.redact
    nodes = [
        {key: value for key, value in node.items() if not _is_closed(key, value, redacted)}
        for node in given.nodes
    ]
    odd = [node for node in nodes if not _is_plainly_named(node)]
    nodes = [node for node in nodes if _is_plainly_named(node)]
    report = memex.import_nodes({"version": "1.0", "nodes": nodes}, "skip")
    report.refused += [("a node", "its slug or folder holds more than letters, digits, - _ .") for _ in odd]
    says = []
    if report.conflicts:
        says.append(f"Different pages are here already and stay as they are: {_some(report.conflicts)}.")
    if report.refused:
        says.append(f"No pages: {_some([_refused(name, why) for name, why in report.refused])}.")
    if report.unchanged:
        says.append(f"{len(report.unchanged):,} said the same already.")
    return _plain(tools.ImportAnswer(imported=report.imported, note=" ".join(says)), *says)


def _is_plainly_named(node: dict[str, Any]) -> bool:
    """False for a name that a person would not type: what a model sends may end in somebody's shell."""
    names = [node.get("slug"), node.get("folder")]
    return all(not name or (isinstance(name, str) and is_plain_name(name)) for name in names)


def _is_closed(key: str, value: Any, redacted: bool) -> bool:
    if key == "front_matter" and redacted:
        return isinstance(value, str) and hides_secrets(value)
    return key == "raw"


def _refused(name: str, why: str) -> str:
    reason = _reason(why)
    return f"{name[:100]} ({reason})" if reason else name[:100]


def _reason(why: str) -> str:
    """Why something was refused, unless a path stands in it."""
    return "" if os.sep in why else why[:200]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:20])
    return f"{shown} and {len(names) - 20:,} more" if len(names) > 20 else shown


_ACTS: dict[str, Callable[[Memex, Any], Answer]] = {
    "memex_recall": _recall,
    "memex_read": _read,
    "memex_write": _write,
    "memex_diary_append": _diary_append,
    "memex_items": _items,
    "memex_forget": _forget,
    "memex_provenance": _provenance,
    "memex_consolidate": _consolidate,
    "memex_ingest_transcript": _ingest,
    "memex_export": _export,
    "memex_import": _import,
}
