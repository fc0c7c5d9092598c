"""Our MCP server in a TOML file: a table `[TABLE.SERVER]` with `command`, `args` and, if need be, `env`.

Bytes in, bytes out: the table is appended as text and found again as text, and after every edit tomllib must
read everything else as it did before. What tomllib cannot read is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from memex_core.errors import Refused
from memex_hooks.settings_file.receipts import Receipt
from memex_hooks.settings_file.server_command import SERVER
from memex_hooks.settings_file.strict_json import HINT, encode
from memex_hooks.settings_file.toml_statements import Statement, statements

BOM = "\ufeff"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK_LINE_BEFORE = re.compile(r"(?:\A|(?<=\n))\r?\n\Z")

Table = dict[str, object]


def read_toml(data: bytes, path: Path) -> Table:
    """What the file says, floats as they were typed. Raises Refused where it is no TOML."""
    return _parsed(_decoded(data, path)[1], path)


def server_in(data: bytes, path: Path, table: str) -> Table | None:
    """The entry named SERVER, whoever wrote it, None without one; what is no table counts as an empty one.

    Raises Refused where the file is no TOML.
    """
    return _entry(read_toml(data, path), path, table)


def with_server(
    before: bytes | None, path: Path, table: str, entry: Table, earlier: Receipt | None
) -> tuple[bytes, Receipt]:
    """The file with `entry` under our name, where it stood or at the end; what to keep for the way back."""
    bom, text = _decoded(before or b"", path)
    old = _entry(_parsed(text, path), path, table)
    if old is None:
        gap = "" if not text.strip() else _newline(text) * (1 if text.endswith("\n") else 2)
        added = gap + _block(table, entry, _newline(text))
        after, receipt = text + added, Receipt(existed=before is not None, added=added)
        if earlier is not None and before is not None:
            receipt.existed, receipt.made_folder = earlier.existed, earlier.made_folder
    else:
        receipt = earlier or Receipt()
        after = text if old == entry else _rewritten(text, path, table, old, entry)
        receipt.added = _added_now(text, after, receipt.added)
    if not _holds(text, after, path, table, entry):
        raise Refused(
            f"{path}: no table can be added to {table} as it is written there",
            hint=f"write its servers as [{table}.NAME] tables; {HINT}",
        )
    return encode(bom + after, path), receipt


def without_server(before: bytes, path: Path, table: str, receipt: Receipt) -> bytes | None:
    """The file without our entry and all that belongs to it. None: delete it."""
    bom, text = _decoded(before, path)
    if _entry(_parsed(text, path), path, table) is None:
        return before
    ways = [*_without_added(text, receipt.added), _cut(text, _ours(text, table))]
    after = next((way for way in ways if _holds(text, way, path, table, None)), None)
    if after is None:
        raise Refused(f"{path}: {SERVER} cannot be taken out of {table} as it is written there", hint=HINT)
    return None if not after and not receipt.existed else encode(bom + after, path)


def _decoded(data: bytes, path: Path) -> tuple[str, str]:
    """Byte order mark or "", and the text. The program that owns such a file reads over the mark."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: not UTF-8 at byte {error.start}", hint=HINT) from None
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def _parsed(text: str, path: Path) -> Table:
    try:
        return tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(f"{path}: not TOML 1.0: {error}", hint=HINT) from None


def _entry(document: Table, path: Path, table: str) -> Table | None:
    servers = document.get(table, {})
    if not isinstance(servers, dict):
        raise Refused(f"{path}: {table} is not a table", hint=HINT)
    entry = servers.get(SERVER)
    return entry if isinstance(entry, dict) or entry is None else {}


def _holds(before: str, after: str, path: Path, table: str, entry: Table | None) -> bool:
    """`after` says `entry` under our name, and all else as `before` does; an empty table says nothing."""
    try:
        old, new = _parsed(before, path), _parsed(after, path)
        found = _entry(new, path, table)
    except Refused:
        return False
    for document in (old, new):
        servers = document.get(table)
        if isinstance(servers, dict):
            servers.pop(SERVER, None)
            if not servers:
                del document[table]
    return (found, new) == (entry, old)


def _rewritten(text: str, path: Path, table: str, old: Table, entry: Table) -> str:
    """`text` with the command of our entry, and its variables where they differ, written where they stood."""
    other_variables = entry.get("env") != old.get("env")
    if other_variables:
        text = _cut(text, [part for part in _ours(text, table) if part.path[2:3] == ("env",)])
    command = next((part for part in _ours(text, table) if part.path[2:] == ("command",)), None)
    if command is None:
        raise Refused(
            f"{path}: {table}.{SERVER} starts another release and cannot be edited as it is written there",
            hint=f"take it out; {HINT}",
        )
    key = text[command.start : command.key_end]
    line = f"{key}= {_value(entry['command'])}"
    if other_variables and entry.get("env"):
        line = f"{key.replace('command', 'env')}= {_value(entry['env'])}{_newline(text)}{line}"
    return text[: command.start] + line + text[command.value_end :]


def _added_now(before: str, after: str, added: str) -> str:
    """What has become of the text that was once `added`; "" where it is no longer there in one piece."""
    if not added or added not in before:
        return ""
    head, _, tail = before.partition(added)
    changed_within = after.startswith(head) and after[len(head) :].endswith(tail)
    return after[len(head) : len(after) - len(tail)] if changed_within else ""


def _without_added(text: str, added: str) -> list[str]:
    """`text` without what was once `added`, if it is still there in one piece and no lines are joined."""
    if not added:
        return []
    head, _, tail = text.partition(added)
    return [head + tail] if head.endswith("\n") or not head or tail[:1] in ("", "\r", "\n") else []


def _ours(text: str, table: str) -> list[Statement]:
    return [part for part in statements(text) if part.path[:2] == (table, SERVER)]


def _cut(text: str, parts: list[Statement]) -> str:
    """`text` without these statements, the blank lines among them, and one before a header."""
    kept, at = [], 0
    for part in parts:
        between = text[at : part.start]
        if at == 0 or between.strip():
            kept.append(_BLANK_LINE_BEFORE.sub("", between) if part.header else between)
        at = part.end
    return "".join(kept) + text[at:]


def _block(table: str, entry: Table, newline: str) -> str:
    lines = [f"[{table}.{SERVER}]", *(f"{name} = {_value(value)}" for name, value in entry.items())]
    return newline.join([*lines, ""])


def _value(value: object) -> str:
    """A string, a list or a table of strings; a basic string is written as JSON writes it."""
    if isinstance(value, dict):
        pairs = (
            f"{name if _BARE.fullmatch(name) else _value(name)} = {_value(v)}" for name, v in value.items()
        )
        return f"{{ {', '.join(pairs)} }}"
    return json.dumps(value, ensure_ascii=False)


def _newline(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
