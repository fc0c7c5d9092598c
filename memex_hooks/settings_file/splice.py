"""Adding and removing one part of a JSON text while every other character stays what and where it was."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from memex_hooks.settings_file.strict_json import Node

_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Style:
    """How this file is written. `unit` is one step of indentation, None where all stands on one line."""

    newline: str = "\n"
    unit: str | None = "  "
    colon: str = ": "
    comma: str = ", "


def style_of(text: str, root: Node) -> Style:
    """The habits of the file, taken from its first newline and the first member of its root."""
    first_newline = text.find("\n")
    newline = "\r\n" if first_newline > 0 and text[first_newline - 1] == "\r" else "\n"
    if not root.children:
        return Style(newline)
    unit = _line_indent(text, root.name_starts[0])
    name_end = text.index(":", _end_of_string(text, root.name_starts[0]))
    colon = text[name_end : root.children[0].start]
    colon = colon if "\n" not in colon else ": "
    comma = ", " if colon.endswith(" ") else ","
    if len(root.children) > 1:
        between = text[root.children[0].end : root.name_starts[1]]
        comma = between if "\n" not in between else comma
    return Style(newline, unit, colon, comma)


def append_item(text: str, array: Node, value: object, style: Style) -> str:
    """`text` with `value` as the last element of `array`."""
    starts = [child.start for child in array.children]
    return _append(text, array, starts, "", value, style)


def append_member(text: str, parent: Node, name: str, value: object, style: Style) -> str:
    """`text` with `name: value` as the last member of the object `parent`."""
    label = json.dumps(name, ensure_ascii=False) + style.colon
    return _append(text, parent, parent.name_starts, label, value, style)


def remove_child(text: str, parent: Node, index: int, inner_when_empty: str = "") -> str:
    """`text` without one child of `parent`; `inner_when_empty` is left between the brackets by the last to
    go."""
    starts = parent.name_starts if parent.kind == "object" else [child.start for child in parent.children]
    if len(starts) == 1:
        return text[: parent.start + 1] + inner_when_empty + text[parent.end - 1 :]
    if index == 0:
        return text[: starts[0]] + text[starts[1] :]
    return text[: parent.children[index - 1].end] + text[parent.children[index].end :]


def replace_value(text: str, node: Node, value: object, style: Style) -> str:
    """`text` with `value` written where `node` stood."""
    indent = _opening_indent(text, node) if "\n" in text[node.start : node.end] else None
    return text[: node.start] + render(value, indent, style) + text[node.end :]


def render(value: object, indent: str | None, style: Style) -> str:
    """`value` as JSON; its further lines start at `indent`, None writes it on one line."""
    if indent is None or style.unit is None:
        return json.dumps(value, ensure_ascii=False, separators=(style.comma, style.colon))
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon)).split(
        "\n"
    )
    return (style.newline + indent).join(lines)


def _append(text: str, parent: Node, starts: list[int], label: str, value: object, style: Style) -> str:
    if not starts:
        return _fill(text, parent, label, value, style)
    end = parent.children[-1].end
    indent = _line_indent(text, starts[-1])
    if indent is not None:
        added = "," + style.newline + indent + label + render(value, indent, style)
    else:
        inline = "\n" not in text[parent.start : parent.end]
        added = style.comma + label + render(value, None if inline else _opening_indent(text, parent), style)
    return text[:end] + added + text[end:]


def _fill(text: str, parent: Node, label: str, value: object, style: Style) -> str:
    if style.unit is None:
        inner = label + render(value, None, style)
    else:
        base = _opening_indent(text, parent)
        indent = base + style.unit
        inner = style.newline + indent + label + render(value, indent, style) + style.newline + base
    return text[: parent.start + 1] + inner + text[parent.end - 1 :]


def _opening_indent(text: str, node: Node) -> str:
    line_start = text.rfind("\n", 0, node.start) + 1
    match = _INDENT.match(text, line_start)
    return match.group() if match else ""


def _line_indent(text: str, at: int) -> str | None:
    """The white space before `at` when nothing else stands before it on its line; None on the first line."""
    line_start = text.rfind("\n", 0, at) + 1
    before = text[line_start:at]
    return before if line_start and not before.strip(" \t") else None


def _end_of_string(text: str, at: int) -> int:
    return int(json.decoder.scanstring(text, at + 1, True)[1])  # type: ignore[attr-defined]
