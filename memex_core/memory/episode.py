"""The page of a session: what was asked, what came of it, which files and commands (DESIGN §3 Episode page,
issue 2 item 6).

`Digest` sees the turns one at a time and keeps only what the page needs; `episode_body` and `episode_title`
write it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from memex_core.model.session import Turn
from memex_core.model.sidecar import Sidecar

PROMPT_CHARS = 1_200
ANSWER_CHARS = 900
MAX_FILES = 60
MAX_COMMANDS = 60
COMMAND_CHARS = 240
TITLE_CHARS = 80

_EDITS = re.compile(r"edit|write|patch|create|notebook", re.IGNORECASE)
_SHELLS = re.compile(r"shell|bash|command|exec|terminal", re.IGNORECASE)
_PATCH_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATH_KEYS = ("file_path", "path", "notebook_path", "filename")


@dataclass(slots=True)
class Exchange:
    """One prompt and the last thing the agent said before the next one; `ended_at` is the time of its last
    turn.
    """

    turn: int
    prompt: str
    answer: str = ""
    ended_at: str = ""


@dataclass(slots=True)
class Digest:
    """What the page keeps of the turns. `files` and `commands` keep first-seen order, without repeats."""

    exchanges: list[Exchange] = field(default_factory=list)
    opening: str = ""
    first_ts: str = ""
    files: dict[str, None] = field(default_factory=dict)
    commands: dict[str, None] = field(default_factory=dict)

    def add(self, turn: Turn) -> None:
        self.first_ts = self.first_ts or turn.ts
        if turn.role == "user":
            self.exchanges.append(Exchange(turn.turn, _cut(turn.content, PROMPT_CHARS)))
        elif turn.role == "agent":
            self._answer(_cut(turn.content, ANSWER_CHARS))
        else:
            self._tool(turn)
        if self.exchanges and turn.ts:
            self.exchanges[-1].ended_at = turn.ts

    def _answer(self, text: str) -> None:
        if self.exchanges:
            self.exchanges[-1].answer = text
        else:
            self.opening = text

    def _tool(self, turn: Turn) -> None:
        call = _arguments(turn.query or "")
        name = turn.tool_name or turn.content
        if _EDITS.search(name):
            for path in _paths(call, turn.query or ""):
                self.files.setdefault(path, None)
        elif _SHELLS.search(name):
            command = _command(call, turn.query or "")
            if command:
                self.commands.setdefault(_cut(command, COMMAND_CHARS), None)


def episode_title(sidecar: Sidecar, digest: Digest) -> str:
    """The harness's own title, else the first line of the first prompt that has words, else the session's
    id. At most 80 chars.
    """
    candidates = [sidecar.title, *(exchange.prompt for exchange in digest.exchanges), digest.opening]
    for text in candidates:
        for line in text.splitlines():
            words = " ".join(line.strip().lstrip("#>*- `").split())
            if any(char.isalnum() for char in words):
                return _cut_title(words)
    return f"Session {sidecar.session_id[:8]}"


def episode_body(sidecar: Sidecar, digest: Digest, *, max_chars: int) -> str:
    """Markdown of the generated part, at most `max_chars` characters: cut with a pointer to the
    transcript.
    """
    parts = [_facts(sidecar)]
    parts += [_exchange(exchange) for exchange in digest.exchanges]
    if not digest.exchanges and digest.opening:
        parts.append(digest.opening)
    if digest.files:
        parts.append("## Files touched\n\n" + _bullets(digest.files, MAX_FILES))
    if digest.commands or sidecar.open_calls:
        parts.append("## Commands run\n\n" + _bullets(digest.commands, MAX_COMMANDS) + _unfinished(sidecar))
    text = "\n\n".join(part.strip() for part in parts)
    pointer = f"\n\n_Cut here; the whole session: transcripts/{sidecar.session_id}.jsonl_"
    return text if len(text) <= max_chars else text[: max_chars - len(pointer)].rstrip() + pointer


def _facts(sidecar: Sidecar) -> str:
    meta = sidecar.metadata
    git = meta.get("git") if isinstance(meta.get("git"), dict) else {}
    branch = git.get("branch") if git else ""
    project = sidecar.project_label + (f" (branch {branch})" if branch not in (None, "", "HEAD") else "")
    models = ", ".join(str(model) for model in meta.get("models") or [])
    when = f"{sidecar.started_at} to {sidecar.ended_at}" if sidecar.started_at else ""
    turns = f"{sidecar.user_turns} from the user, {sidecar.agent_turns} from the agent"
    rows = [
        ("Project", project),
        ("Folder", meta.get("cwd", "")),
        ("When", when),
        ("Harness", " ".join(str(part) for part in (sidecar.harness, meta.get("cli_version", "")) if part)),
        ("Models", models),
        ("Turns", f"{turns}, {sidecar.tool_turns} of tools"),
        ("Part of", f"[[{meta['root_session_id']}]]" if meta.get("root_session_id") else ""),
        ("Forked from", f"[[{meta['forked_from']}]]" if meta.get("forked_from") else ""),
        ("Transcript", f"transcripts/{sidecar.session_id}.jsonl"),
    ]
    return "\n".join(f"- {name}: {value}" for name, value in rows if value)


def _exchange(exchange: Exchange) -> str:
    text = f"## Turn {exchange.turn}\n\n{_quoted(exchange.prompt)}"
    return f"{text}\n\n{_nested(exchange.answer)}" if exchange.answer else text


def _unfinished(sidecar: Sidecar) -> str:
    lines = [
        f"\n- unfinished: {_inline(_cut(call.get('query', ''), COMMAND_CHARS))}"
        for call in sidecar.open_calls
    ]
    return "".join(lines)


def _bullets(items: dict[str, None], limit: int) -> str:
    shown = [f"- {_inline(item)}" for item in list(items)[:limit]]
    if len(items) > limit:
        shown.append(f"- and {len(items) - limit} more in the transcript")
    return "\n".join(shown)


def _inline(text: str) -> str:
    one_line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", one_line)), default=0))
    pad = " " if "`" in one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _unlinked(text).splitlines())


def _nested(text: str) -> str:
    """The agent's words with their headings pushed below ours and a code block that was cut open closed
    again.
    """
    nested = re.sub(r"^(#{1,4})(?= )", r"##\1", _unlinked(text), flags=re.MULTILINE)
    fences = re.findall(r"^ {0,3}(`{3,}|~{3,})", nested, flags=re.MULTILINE)
    return nested if len(fences) % 2 == 0 else f"{nested}\n{fences[-1]}"


def _unlinked(text: str) -> str:
    """What somebody said is no link of this page: `[[ -f x ]]` is shell."""
    return text.strip().replace("[[", "[\u200b[")


def _arguments(query: str) -> dict[str, Any]:
    if not query.startswith("{"):
        return {}
    try:
        call = json.loads(query)
    except (ValueError, RecursionError):
        return {}
    return call if isinstance(call, dict) else {}


def _paths(call: dict[str, Any], query: str) -> list[str]:
    named = [call[key] for key in _PATH_KEYS if isinstance(call.get(key), str)]
    if named:
        return [str(named[0])]
    patched = _PATCH_FILE.findall(query)
    if patched:
        return [str(path).strip() for path in patched]
    lines = query.splitlines()
    return [line.strip() for line in lines[:1] if not call and _looks_like_path(line)]


def _looks_like_path(line: str) -> bool:
    text = line.strip()
    return bool(text) and " " not in text and ("/" in text or bool(PurePosixPath(text).suffix))


def _command(call: dict[str, Any], query: str) -> str:
    for key in ("command", "cmd"):
        value = call.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return " ".join(str(part) for part in value)
    return "" if call else query


def _cut(text: str, limit: int) -> str:
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _cut_title(words: str) -> str:
    if len(words) <= TITLE_CHARS:
        return words
    return words[: TITLE_CHARS - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
