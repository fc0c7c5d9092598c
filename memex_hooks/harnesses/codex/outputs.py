"""What a tool gave back, as text: content items, command output, exit codes (formats/codex.md §1.4, §1.5)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from memex_hooks.harnesses.codex.fields import Fields, compact, mapping, parsed, text, whole
from memex_hooks.harnesses.codex.prompts import image_note


class ToolText(NamedTuple):
    """What a tool turn says. `result` is None where the log holds none."""

    name: str
    query: str
    result: str | None


_HEADER_START = ("Chunk ID:", "Wall time", "Exit code:", "Process exited", "Script ")
_HEADER_LENGTH = 1000
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:?) (-?\d{1,12})", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID (\S{1,40})", re.MULTILINE)


def content_text(value: Any) -> str:
    """A text, a list of content items (text, image, resource ...) or an object around them -> text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(part for part in map(_part_text, value) if part)
    if isinstance(value, dict):
        return content_text(value["content"]) if "content" in value else compact(value)
    return "" if value is None else compact(value)


def _part_text(part: Any) -> str:
    if not isinstance(part, dict):
        return content_text(part)
    if isinstance(part.get("text"), str):
        return text(part, "text")
    if "image" in text(part, "type").lower():
        where = text(part, "image_url") or text(part, "imageUrl") or text(mapping(part, "image_url"), "url")
        media_type = text(part, "mimeType") or text(part, "mime_type")
        return image_note(where) if where else image_note(text(part, "data"), media_type or "image")
    return compact(part)


def command_output(output: Any) -> str:
    """The output of an `*_output` record without the header of command outputs, exit code behind it."""
    said = content_text(output)
    if said.startswith('{"') and '"metadata"' in said:
        wrapped = parsed(said)
        if isinstance(wrapped, dict) and isinstance(wrapped.get("output"), str):
            return with_exit_code(wrapped["output"], whole(mapping(wrapped, "metadata"), "exit_code"))
    if not said.startswith(_HEADER_START):
        return said
    head, mark, body = said.partition("Output:\n")
    if not mark or len(head) > _HEADER_LENGTH or not head.endswith("\n"):
        return said
    code = _EXIT_CODE.search(head)
    running = _RUNNING.search(head)
    if running:
        return _with_note(body, f"[still running, session {running[1]}]")
    if head.startswith("Script failed"):
        return _with_note(body, "[script failed]")
    return with_exit_code(body, int(code[1]) if code else None)


def with_exit_code(output: str, code: int | None) -> str:
    """`output` and, on a line of its own, the exit code unless it is 0 or unknown."""
    return output if not code else _with_note(output, f"[exit code {code}]")


def with_status(output: str, status: str) -> str:
    """`output` and what became of the call, unless it was completed."""
    return _with_note(output, f"[{status}]") if status in ("failed", "declined", "interrupted") else output


def _with_note(output: str, note: str) -> str:
    return f"{output}{'' if not output or output.endswith(chr(10)) else chr(10)}{note}"


def mcp_result(result: Any) -> str:
    """An MCP result: `{content, isError}`, or the older `{Ok: {...}} | {Err: text}`."""
    if not isinstance(result, dict):
        return content_text(result)
    if "Err" in result:
        return _with_note(content_text(result["Err"]), "[failed]")
    inner: Fields = mapping(result, "Ok") or result
    said = content_text(inner)
    return (
        _with_note(said, "[failed]")
        if inner.get("isError") is True or inner.get("is_error") is True
        else said
    )
