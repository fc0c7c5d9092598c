"""Our MCP server in a JSON file: `{TABLE: {SERVER: {"command": ..., "args": [...], "env": {...}}}}`.

Bytes in, bytes out, like `hook_entries`: everything outside our own entry keeps its bytes, and that is
checked with a second parser. A byte order mark stays; the program that owns such a file reads over it.
"""

from __future__ import annotations

import json
from pathlib import Path

from memex_core.errors import Refused
from memex_hooks.settings_file import splice
from memex_hooks.settings_file.receipts import Receipt
from memex_hooks.settings_file.server_command import SERVER
from memex_hooks.settings_file.strict_json import HINT, Node, decode, encode, parse_object, plain

NEW_FILE = "{}\n"
BOM = b"\xef\xbb\xbf"


def server_in(data: bytes, path: Path, table: str) -> dict[str, object] | None:
    """The entry named SERVER, whoever wrote it, None without one; what is no object counts as an empty one.

    Raises Refused where the file is not strict JSON.
    """
    text = decode(data.removeprefix(BOM), path)
    node = _entry(_servers(parse_object(text, path), path, table)) if text.strip() else None
    value = plain(node) if node else {}
    return (value if isinstance(value, dict) else {}) if node else None


def with_server(
    before: bytes | None, path: Path, table: str, entry: dict[str, object], earlier: Receipt | None
) -> tuple[bytes, Receipt]:
    """The file with `entry` under our name, where it stood or as the last of the table; and what to keep for
    the way back. None or blank stands for a file that is to be made."""
    data = before or b""
    old_text = decode(data.removeprefix(BOM), path)
    blank = old_text if not old_text.strip() else None
    text = NEW_FILE if blank is not None else old_text
    root = parse_object(text, path)
    servers = _servers(root, path, table)
    style = splice.style_of(text, root)
    node = _entry(servers)
    receipt = Receipt(existed=before is not None, blank=blank, inner=_inner(text, table, root, servers))
    receipt.servers = servers is None
    if servers is None:
        text = splice.append_member(text, root, table, {SERVER: entry}, style)
    elif node is None:
        text = splice.append_member(text, servers, SERVER, entry, style)
    elif plain(node) != entry:
        text = splice.replace_value(text, node, entry, style)
    after = _bom(data) + encode(text, path)
    _verify(data, after, path, table)
    return after, _kept(receipt, earlier)


def without_server(before: bytes, path: Path, table: str, receipt: Receipt) -> bytes | None:
    """The file without our entry and without the table if `receipt` says that we made it. None: delete it."""
    text = decode(before.removeprefix(BOM), path)
    if not text.strip():
        return before
    servers = _servers(parse_object(text, path), path, table)
    if servers and SERVER in servers.names:
        inner = receipt.inner.get(table, "")
        text = splice.remove_child(text, servers, servers.names.index(SERVER), inner)
    if receipt.servers:
        text = _without_empty_table(text, path, table, receipt.inner.get("", ""))
    if receipt.blank is not None and not parse_object(text, path).children:
        return _bom(before) + receipt.blank.encode() if receipt.existed else None
    after = _bom(before) + encode(text, path)
    _verify(before, after, path, table)
    return after


def _without_empty_table(text: str, path: Path, table: str, inner_when_empty: str) -> str:
    root = parse_object(text, path)
    servers = root.get(table)
    if servers is None or servers.children:
        return text
    return splice.remove_child(text, root, root.names.index(table), inner_when_empty)


def _servers(root: Node, path: Path, table: str) -> Node | None:
    servers = root.get(table)
    if servers and servers.kind != "object":
        raise Refused(f'{path}: "{table}" is not an object', hint=HINT)
    return servers


def _entry(servers: Node | None) -> Node | None:
    return servers.get(SERVER) if servers else None


def _inner(text: str, table: str, root: Node, servers: Node | None) -> dict[str, str]:
    containers = [("", root), *([(table, servers)] if servers else [])]
    return {name: text[node.start + 1 : node.end - 1] for name, node in containers if not node.children}


def _kept(receipt: Receipt, earlier: Receipt | None) -> Receipt:
    """What an `earlier` receipt of the same file knows stays true while the file exists."""
    if earlier is not None and receipt.existed:
        receipt.servers = receipt.servers or earlier.servers
        receipt.made_folder = earlier.made_folder
        if receipt.blank is None:
            receipt.blank, receipt.existed = earlier.blank, earlier.existed
            receipt.inner = {**earlier.inner, **receipt.inner}
    return receipt


def _bom(data: bytes) -> bytes:
    return BOM if data.startswith(BOM) else b""


def _verify(before: bytes, after: bytes, path: Path, table: str) -> None:
    if _foreign_part(before, table) != _foreign_part(after, table):
        raise Refused(f"{path}: cannot be edited without touching what is not ours", hint=HINT)


def _foreign_part(data: bytes, table: str) -> str:
    """What is not ours, as one string: names in order, numbers as typed, an empty table left out."""
    document = json.loads(data.removeprefix(BOM).strip() or b"{}", parse_int=str, parse_float=str)
    if isinstance(document.get(table), dict):
        document[table].pop(SERVER, None)
    if document.get(table) == {}:
        del document[table]
    return json.dumps(document)
