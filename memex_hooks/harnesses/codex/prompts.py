"""Which words of a user message are the user's own (formats/codex.md §1.6), and what stands for an image."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from memex_hooks.harnesses.codex.fields import Fields, listing, mapping, text

_BLOCKS = (
    ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<codex_internal_context", "</codex_internal_context>"),
    ("<goal_context>", "</goal_context>"),
    ("<recommended_plugins>", "</recommended_plugins>"),
    ("<hook_prompt", "</hook_prompt>"),
    ("<INSTRUCTIONS>", "</INSTRUCTIONS>"),
)
"""What the harness puts before or in place of the user's words: from a start at the head to an end."""

_WHOLE = (
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via ",
    "Warning: Your account was flagged",
    "Another language model started to solve this problem and produced a summary",
)
"""A text that begins so is the harness's from end to end."""

_EXTERNAL = re.compile(r"<external_([A-Za-z0-9_.-]{1,100})>")
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_RECALL_MARK = re.compile(
    r'<(?P<close>/?)memex-memory (?P<name>nonce="[^"<>\n]{1,100}")>'
    r"|^[ \t]*=== (?P<end>END )?memex MEMORY ===[ \t]*\r?$",
    re.MULTILINE,
)
"""Where what our own recall prints begins or ends: the notes of a hook, or `memex recall --format
context`.
"""
_CWD = re.compile(r"<cwd>([^<]{1,4096})</cwd>|^Current working directory: (.{1,4096})$", re.MULTILINE)
_INK = re.compile(r"\S")


def own_words(words: str) -> str:
    """`words` without what the harness, an IDE or a recall of ours put in; "" when nothing is left."""
    left = without_recall(words)
    at = 0
    while (behind := _behind_block(left, at)) > at:
        at = behind
    left = left[at:]
    if left.lstrip().startswith(_WHOLE):
        return ""
    request = _REQUEST.search(left)
    if request:
        left = left[request.end() :]
    if left != words:
        left = left.strip()
    return left if left.strip() else ""


def without_recall(words: str) -> str:
    """`words` without the complete blocks that a recall of ours printed.

    A block ends at the mark that closes its own name. What is not closed is no block: the user speaks of one.
    """
    opened: dict[str, int] = {}
    blocks: list[tuple[int, int]] = []
    for mark in _RECALL_MARK.finditer(words):
        name = mark["name"] or ""
        if not (mark["close"] or mark["end"]):
            opened.pop(name, None)  # so that the names stay in the order of their places
            opened[name] = mark.start()
        elif name in opened:
            start = opened[name]
            while opened.popitem()[0] != name:
                pass
            while blocks and blocks[-1][0] > start:
                blocks.pop()
            blocks.append((start, mark.end()))
    kept, at = [], 0
    for start, end in blocks:
        kept.append(words[at:start])
        at = end
    return "".join(kept) + words[at:]


def _behind_block(words: str, at: int) -> int:
    """Where the injected block ends that comes next from `at` on; `at` when no block does."""
    ink = _INK.search(words, at)
    start = ink.start() if ink else len(words)
    if not words.startswith(("<", "#"), start):
        return at
    for head, tail in _BLOCKS:
        if words.startswith(head, start):
            end = words.find(tail, start + len(head))
            return end + len(tail) if end >= 0 else at
    external = _EXTERNAL.match(words, start)
    tail = f"</external_{external[1]}>" if external else ""
    end = words.find(tail, start) if external else -1
    return end + len(tail) if end >= 0 else at


def shell_command(words: str) -> tuple[str, str] | None:
    """(command, result) of a `!cmd` that the user ran, as legacy rollouts tell the model about it."""
    if not words.lstrip().startswith("<user_shell_command>"):
        return None
    command, _, rest = words.partition("<command>")[2].partition("</command>")
    result = rest.partition("<result>")[2].partition("</result>")[0]
    return (command.strip("\n"), result.removeprefix("\n").removesuffix("\n")) if command else None


def working_directory(words: str) -> str:
    """The folder that an environment context names (the only place for it in pre-envelope logs), else ""."""
    if not words.lstrip().startswith("<environment_context>"):
        return ""
    found = _CWD.search(words)
    return (found[1] or found[2]).strip() if found else ""


def assignment(message: Fields) -> str:
    """What an inter-agent message hands to a subagent: the payload of a NEW_TASK, else ""."""
    words = _joined(text(part, "text") for part in listing(message, "content") if isinstance(part, dict))
    if not words.startswith("Message Type: NEW_TASK"):
        return ""
    return words.partition("\nPayload:\n")[2]


def event_prompt(event: Fields) -> str:
    """The user's words and images in a `user_message` event (legacy)."""
    if text(event, "kind") not in ("", "plain"):  # 2025: user_instructions, environment_context
        return ""
    images = [image_note(url) for url in listing(event, "images") if isinstance(url, str)]
    images += [image_note(path) for path in listing(event, "local_images") if isinstance(path, str)]
    return _joined([own_words(text(event, "message")), *images])


def item_prompt(item: Fields) -> str:
    """The user's words and images in a `UserMessage` item; skill and mention parts repeat the text."""
    return _joined(_user_part(part) for part in listing(item, "content") if isinstance(part, dict))


def message_prompt(message: Fields) -> str:
    """The user's words in a `response_item` message: by kind where that is told, else by text."""
    kinds = listing(mapping(message, "internal_chat_message_metadata_passthrough"), "content_item_kinds")
    parts = listing(message, "content")
    told: list[Any] = [*kinds, *["unknown"] * (len(parts) - len(kinds))]
    return _joined(
        _user_part(part)
        for part, kind in zip(parts, told, strict=False)
        if isinstance(part, dict) and (kind == "unknown" or str(kind).startswith("user."))
    )


def _user_part(part: Fields) -> str:
    kind = text(part, "type")
    if "image" in kind:
        return image_note(
            text(part, "image_url") or text(mapping(part, "image_url"), "url") or text(part, "path")
        )
    if "audio" in kind:
        return "[audio]"
    return own_words(text(part, "text")) if kind in ("text", "input_text", "") else ""


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def image_note(where: str, media_type: str = "") -> str:
    """`[image image/png 1234 bytes]` for a data URL or (with `media_type`) base64, else `[image PLACE]`."""
    if where.startswith("data:"):
        head, _, data = where[5:].partition(",")
        size = _base64_size(data) if head.endswith(";base64") else len(unquote_to_bytes(data))
        return f"[image {head.split(';')[0][:60] or 'unknown'} {size} bytes]"
    if media_type:
        return f"[image {media_type[:60]} {_base64_size(where)} bytes]"
    return f"[image {where[:300]}]" if where else "[image]"


def _base64_size(data: str) -> int:
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))
