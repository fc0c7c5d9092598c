"""Our hooks inside a settings file: `{"hooks": {EVENT: [{"hooks": [HANDLER, ...]}, ...]}}`.

Both programs use this shape (formats/claude-code.md §1.2, formats/codex.md §4.3).

Bytes in, bytes out. Everything outside our own entries keeps its bytes; that is checked with a second parser
before a result is handed out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memex_core.errors import Refused
from memex_hooks.settings_file import splice
from memex_hooks.settings_file.receipts import HOOKS, Receipt
from memex_hooks.settings_file.strict_json import HINT, Node, decode, encode, parse_object, plain

Owns = Callable[[str, Mapping[str, object]], bool]
"""(event, handler) -> is this handler ours?"""

Handler = dict[str, object]

NEW_FILE = "{}\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """One handler of ours: where it stands, what is written there. `alone`: its group holds only ours."""

    event: str
    group: int
    handler: int
    value: Handler
    alone: bool
    matcher: str | None


def entries_of(data: bytes, path: Path, owns: Owns) -> list[Entry]:
    """Our handlers in the order of the file. Raises Refused where the file is not strict JSON."""
    return _entries(parse_object(decode(data, path), path), owns) if data.strip() else []


def with_hooks(before: bytes | None, path: Path, wanted: Mapping[str, Handler], owns: Owns) -> bytes:
    """The file with exactly one handler of ours per event of `wanted`, and none in another event.

    A missing one is appended as the last group of its event, a differing one is rewritten where it stands,
    further ones are removed. The same bytes come back when nothing is to do. None or blank stands for a file
    that is to be made.
    """
    text = decode(before, path) if before and before.strip() else NEW_FILE
    for event in sorted({entry.event for entry in _entries(parse_object(text, path), owns)} - set(wanted)):
        text = _keep(text, path, event, owns, 0)
    for event, handler in wanted.items():
        text = _keep(text, path, event, owns, 1)
        text = _settle(text, path, event, handler, owns)
    after = encode(text, path)
    _verify(before, after, path, owns)
    return after


def without_hooks(before: bytes, path: Path, owns: Owns, receipt: Receipt) -> bytes | None:
    """The file without our handlers and the containers that `receipt` says we made. None: delete the file."""
    if not before.strip():
        return before
    text = decode(before, path)
    events = list(dict.fromkeys(entry.event for entry in _entries(parse_object(text, path), owns)))
    if not events:
        return before
    for event in events:
        text = _keep(text, path, event, owns, 0, receipt)
    text = _prune(text, path, receipt)
    if receipt.blank is not None and not parse_object(text, path).children:
        return receipt.blank.encode() if receipt.existed else None
    after = encode(text, path)
    _verify(before, after, path, owns)
    return after


def _entries(root: Node, owns: Owns) -> list[Entry]:
    found = []
    hooks = root.get(HOOKS)
    for event, groups in zip(hooks.names, hooks.children, strict=True) if hooks else ():
        for group_index, group in enumerate(groups.children):
            handlers = _handlers_of(group)
            ours = [_is_ours(handler, event, owns) for handler in handlers]
            matcher = group.get("matcher")
            label = matcher.value if matcher and isinstance(matcher.value, str) else None
            for index in (i for i, mine in enumerate(ours) if mine):
                value = plain(handlers[index])
                assert isinstance(value, dict)
                found.append(Entry(event, group_index, index, value, all(ours), label))
    return found


def _handlers_of(group: Node) -> list[Node]:
    handlers = group.get("hooks")
    return handlers.children if handlers and handlers.kind == "array" else []


def _is_ours(handler: Node, event: str, owns: Owns) -> bool:
    value = plain(handler)
    return isinstance(value, dict) and owns(event, value)


def _settle(text: str, path: Path, event: str, handler: Handler, owns: Owns) -> str:
    root = parse_object(text, path)
    style = splice.style_of(text, root)
    present = [entry for entry in _entries(root, owns) if entry.event == event]
    if present:
        node = _handler_node(root, present[0])
        same = json.loads(text[node.start : node.end]) == handler
        return text if same else splice.replace_value(text, node, handler, style)
    hooks = root.get(HOOKS)
    if hooks is None:
        text = splice.append_member(text, root, HOOKS, {}, style)
        return _settle(text, path, event, handler, owns)
    if hooks.kind != "object":
        raise Refused(f'{path}: "hooks" is not an object', hint=HINT)
    groups = hooks.get(event)
    if groups is None:
        text = splice.append_member(text, hooks, event, [], style)
        return _settle(text, path, event, handler, owns)
    if groups.kind != "array":
        raise Refused(f'{path}: "hooks.{event}" is not an array', hint=HINT)
    return splice.append_item(text, groups, {"hooks": [handler]}, style)


def _keep(text: str, path: Path, event: str, owns: Owns, count: int, receipt: Receipt | None = None) -> str:
    """`text` with at most `count` of our handlers in `event`: the first ones stay."""
    receipt = receipt or Receipt()
    while True:
        root = parse_object(text, path)
        present = [entry for entry in _entries(root, owns) if entry.event == event]
        if len(present) <= count:
            return text
        last = present[-1]
        groups = _groups(root, event)
        together = sum(entry.group == last.group for entry in present)
        if last.alone and together <= len(present) - count:
            text = splice.remove_child(text, groups, last.group, receipt.inner.get(event, ""))
        else:
            handlers = groups.children[last.group].get("hooks")
            assert handlers is not None
            text = splice.remove_child(text, handlers, last.handler)


def _prune(text: str, path: Path, receipt: Receipt) -> str:
    for event in receipt.events:
        root = parse_object(text, path)
        hooks = root.get(HOOKS)
        groups = hooks.get(event) if hooks else None
        if hooks and groups and not groups.children:
            text = splice.remove_child(text, hooks, hooks.names.index(event), receipt.inner.get(HOOKS, ""))
    root = parse_object(text, path)
    hooks = root.get(HOOKS)
    if receipt.hooks and hooks and not hooks.children:
        text = splice.remove_child(text, root, root.names.index(HOOKS), receipt.inner.get("", ""))
    return text


def _groups(root: Node, event: str) -> Node:
    hooks = root.get(HOOKS)
    groups = hooks.get(event) if hooks else None
    assert groups is not None
    return groups


def _handler_node(root: Node, entry: Entry) -> Node:
    return _handlers_of(_groups(root, entry.event).children[entry.group])[entry.handler]


def _verify(before: bytes | None, after: bytes, path: Path, owns: Owns) -> None:
    if _foreign_part(before or b"{}", owns) != _foreign_part(after, owns):
        raise Refused(f"{path}: cannot be edited without touching what is not ours", hint=HINT)


def _foreign_part(data: bytes, owns: Owns) -> str:
    """What is not ours, as one string: names in order, numbers as typed, empty hook containers left out."""
    document = json.loads(data.strip() or b"{}", parse_int=str, parse_float=str)
    hooks = document.get(HOOKS)
    if isinstance(hooks, dict):
        document[HOOKS] = {
            event: kept
            for event, groups in hooks.items()
            if (kept := _foreign_groups(event, groups, owns)) != []
        }
    if document.get(HOOKS) == {}:
        del document[HOOKS]
    return json.dumps(document)


def _foreign_groups(event: str, groups: object, owns: Owns) -> object:
    if not isinstance(groups, list):
        return groups
    kept: list[object] = []
    for group in groups:
        handlers = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(handlers, list) or not handlers:
            kept.append(group)
            continue
        foreign = [
            handler for handler in handlers if not (isinstance(handler, dict) and owns(event, handler))
        ]
        if foreign:
            kept.append({**group, "hooks": foreign})
    return kept
