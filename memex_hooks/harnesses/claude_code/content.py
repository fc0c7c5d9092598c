"""Content blocks as text (formats/claude-code.md §3.8): what stands for an image, what a result says, where a
large result was put."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson

from memex_core.text.clean import clean_text
from memex_hooks.log_lines import open_regular

SPILLED_BYTES = 1 << 20
"""As much of a result that was saved to a file is read."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_SPILLED = "<persisted-output>"
_SPILLED_TO = re.compile(r"Full output saved to: (.+)")


def blocks(content: Any) -> list[Any]:
    """Content as a list of blocks: it can be a string, a list, one block or null, and hold bare strings."""
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def block_type(block: Any) -> str:
    """The type of a block; "text" for a bare string, "" for what is no block."""
    if isinstance(block, str):
        return "text"
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def block_text(block: Any) -> str:
    """The text of a text block, "" when it has none."""
    text = block.get("text") if isinstance(block, dict) else block
    return text if isinstance(text, str) else ""


def first_text(content: Any) -> str:
    """The first text of the content, which tells what kind of record it is."""
    for block in blocks(content):
        text = block_text(block) if block_type(block) == "text" else ""
        if text.strip():
            return text.lstrip()
    return ""


def placeholder(block: dict[str, Any]) -> str:
    """What stands for an image or document: `[image image/png 1234 bytes]`."""
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    data, address = source.get("data"), source.get("url")
    if isinstance(address, str):
        return f"[{block_type(block)} {address}]"
    if source.get("type") == "text" and isinstance(data, str):
        return data
    media = source.get("media_type")
    size = len(data) * 3 // 4 - data[-2:].count("=") if isinstance(data, str) else 0
    return f"[{block_type(block)} {media if isinstance(media, str) else 'unknown'} {size} bytes]"


def plain(text: str) -> str:
    """`text` without terminal escapes and without what no file or index can hold."""
    return clean_text(_ANSI.sub("", text) if "\x1b" in text else text)


def compact_json(value: Any) -> str:
    """`value` as JSON without spaces; "" where it is nested too deeply to be written."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""


def query_text(value: Any) -> str:
    """A tool's input: compact JSON, or the text itself where it is a string."""
    return plain(value if isinstance(value, str) else compact_json(value))


def result_text(content: Any, log: Path) -> str:
    """A tool's result as text, read from its file where it has one. `log` is the session's main log."""
    text = "\n".join(_result_block(block) for block in blocks(content))
    if text.lstrip().startswith(_SPILLED):
        text = _spilled(text, log) or text
    return plain(text)


def _result_block(block: Any) -> str:
    kind = block_type(block)
    if not isinstance(block, dict):
        return block if isinstance(block, str) else compact_json(block)
    if isinstance(block.get("text"), str):
        return block_text(block)
    if kind in ("image", "document"):
        return placeholder(block)
    if kind == "tool_reference":
        return f"[tool {block.get('tool_name')}]"
    if kind == "web_search_result":
        return f"{block.get('title')} {block.get('url')}"
    if isinstance(block.get("error_code"), str):
        return f"error: {block['error_code']}"
    if "encrypted_content" in block:
        return f"[{kind}]"
    return compact_json(block)


def _spilled(text: str, log: Path) -> str:
    """The saved output that `text` names, "" unless it is in a session's tool-results folder beside the log.

    The name is looked up in this session's own folder first (`/cd` moves a session); a fork's log names the
    folder of the session that it was forked from.
    """
    named = _SPILLED_TO.search(text)
    if not named:
        return ""
    path = Path(named[1].strip())
    name = re.split(r"[\\/]", named[1].strip())[-1]
    for candidate in (log.with_suffix("") / "tool-results" / name, path):
        try:
            real = candidate.resolve()
            home = log.parent.resolve()
            if real.parent.name == "tool-results" and real.parent.parent.parent == home and real.is_file():
                return _head(real)
        except (OSError, ValueError, RuntimeError):
            continue
    return ""


def _head(path: Path) -> str:
    with open_regular(path) as file:
        data = file.read(SPILLED_BYTES)
        rest = path.stat().st_size - len(data)
    text = data.decode("utf-8", "replace")
    return f"{text}\n[{rest} more bytes]" if rest > 0 else text
