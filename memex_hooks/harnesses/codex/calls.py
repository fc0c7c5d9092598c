"""Tool calls of the model's own layer (`response_item`), joined with their output (formats/codex.md §1.5)."""

from __future__ import annotations

import shlex
from typing import Any

from memex_hooks.harnesses.codex.fields import Fields, compact, listing, mapping, parsed, text
from memex_hooks.harnesses.codex.outputs import ToolText, command_output, mcp_result, with_status

_COMMAND_TOOLS = ("exec_command", "shell", "shell_command", "container.exec", "unified_exec")
_SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "fish")
_POWERSHELLS = ("powershell", "powershell.exe", "pwsh", "pwsh.exe")


def call_text(call: Fields, output: Any, answered: bool) -> ToolText:
    """A `*_call` payload and its output's payload -> what the tool turn says."""
    name, query = call_name(call), call_query(call)
    if query.lstrip().startswith("*** Begin Patch"):
        name = "apply_patch"
    return ToolText(name, query, command_output(output) if answered else None)


def call_name(call: Fields) -> str:
    """The tool's name; MCP tools as `mcp__server__tool`, other namespaces as `namespace.tool`."""
    kind, name, namespace = text(call, "type"), text(call, "name"), text(call, "namespace")
    if kind == "local_shell_call":
        return "local_shell"
    if not name:
        return kind.removesuffix("_call") or "tool"
    if not namespace:
        return name
    if not namespace.startswith("mcp__"):
        return f"{namespace}.{name}"
    return name if name.startswith("mcp__") else f"{namespace.rstrip('_')}__{name}"


def call_query(call: Fields) -> str:
    """The input as it was typed: a command, a patch, else the arguments as JSON (kept raw when invalid)."""
    kind = text(call, "type")
    if kind == "local_shell_call":
        return command_text(mapping(call, "action").get("command"))
    if kind == "web_search_call":
        return search_query(call)
    raw = call.get("arguments", call.get("input"))
    if not isinstance(raw, str):
        return "" if raw is None else compact(raw)
    arguments = parsed(raw) if kind == "function_call" else None
    if not isinstance(arguments, dict):
        return raw
    name, patch = text(call, "name"), text(arguments, "input")
    if name in _COMMAND_TOOLS:
        return command_text(arguments.get("cmd", arguments.get("command"))) or compact(arguments)
    return patch if name == "apply_patch" and patch else compact(arguments)


def command_text(command: Any) -> str:
    """A command line, or an argument vector without its `bash -lc` wrapper."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return ""
    if len(command) == 3:
        program = command[0].replace("\\", "/").rsplit("/", 1)[-1]
        if program in _SHELLS and command[1] in ("-lc", "-c", "-ilc"):
            return str(command[2])
        if program.lower() in _POWERSHELLS and command[1].lower() in ("-command", "-c"):
            return str(command[2])
    if len(command) == 2 and command[0] in ("apply_patch", "applypatch"):
        return str(command[1])
    return shlex.join(command)


def search_query(search: Fields) -> str:
    """What a web search looked for, or the page it opened."""
    action = mapping(search, "action")
    asked = text(search, "query") or text(action, "query") or text(action, "url")
    return asked or "; ".join(q for q in listing(action, "queries") if isinstance(q, str)) or compact(action)


def changes_text(changes: Fields) -> str:
    """Edited files in the words of a patch: a heading per file, then its diff or content."""
    lines: list[str] = []
    for path, change in changes.items():
        body = change if isinstance(change, dict) else {}
        verb = {"add": "Add", "delete": "Delete"}.get(text(body, "type"), "Update")
        lines.append(f"*** {verb} File: {path}")
        if text(body, "move_path"):
            lines.append(f"*** Move to: {text(body, 'move_path')}")
        said = text(body, "unified_diff") or (text(body, "content") if verb == "Add" else "")
        if said:
            lines.append(said.rstrip("\n"))
    return "\n".join(lines)


def patch_text(end: Fields, call: Fields | None) -> ToolText:
    """A `patch_apply_end` event or a FileChange item; a call's own patch is the better query."""
    status = text(end, "status") or ("failed" if end.get("success") is False else "")
    said = with_status(text(end, "stdout") + text(end, "stderr"), status)
    typed = call_query(call) if call else ""
    query = typed if "*** Begin Patch" in typed else changes_text(mapping(end, "changes"))
    return ToolText("apply_patch", query, said)


def mcp_end_text(end: Fields) -> ToolText:
    """An `mcp_tool_call_end` event."""
    invocation = mapping(end, "invocation")
    name = f"mcp__{text(invocation, 'server')}__{text(invocation, 'tool')}"
    arguments = invocation.get("arguments")
    return ToolText(name, "" if arguments is None else compact(arguments), mcp_result(end.get("result")))


def user_shell_text(command: str, result: str) -> ToolText:
    """A `!cmd` of the user's own."""
    return ToolText("user_shell", command, command_output(result))
