"""Tool items of paginated rollouts (`item_completed`): call and result in one (formats/codex.md §1.4)."""

from __future__ import annotations

import re
from collections.abc import Callable

from memex_hooks.harnesses.codex.calls import command_text, patch_text, search_query
from memex_hooks.harnesses.codex.fields import Fields, compact, listing, mapping, text, whole
from memex_hooks.harnesses.codex.outputs import (
    ToolText,
    content_text,
    mcp_result,
    with_exit_code,
    with_status,
)
from memex_hooks.harnesses.codex.prompts import image_note

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def message_text(item: Fields) -> str:
    """The words of an AgentMessage or Plan item."""
    parts = listing(item, "content")
    return "".join(text(part, "text") for part in parts if isinstance(part, dict)) or text(item, "text")


def command_item(item: Fields) -> ToolText:
    name = "user_shell" if text(item, "source") == "user_shell" else "command"
    query = command_text(item.get("command"))
    typed = text(item, "interaction_input")
    if typed:
        query = f"{query}\n[stdin] {typed}"
    said = text(item, "aggregated_output") or text(item, "stdout") + text(item, "stderr")
    code = whole(item, "exit_code")
    said = said or text(item, "formatted_output")
    return ToolText(
        name, query, with_exit_code(said, code) if code else with_status(said, text(item, "status"))
    )


def file_item(item: Fields) -> ToolText:
    return patch_text(item, None)


def mcp_item(item: Fields) -> ToolText:
    arguments = item.get("arguments")
    error = text(mapping(item, "error"), "message")
    said = with_status(error, "failed") if error else mcp_result(item.get("result"))
    name = f"mcp__{text(item, 'server')}__{text(item, 'tool')}"
    return ToolText(name, "" if arguments is None else compact(arguments), said)


def dynamic_item(item: Fields) -> ToolText:
    space, name = text(item, "namespace"), text(item, "tool") or text(item, "name") or "dynamic_tool"
    arguments = item.get("arguments")
    output = item.get("content_items", item.get("contentItems", item.get("result")))
    said = with_status(
        content_text(output), "failed" if item.get("success") is False else text(item, "status")
    )
    return ToolText(
        f"{space}.{name}" if space else name, "" if arguments is None else compact(arguments), said
    )


def collab_item(item: Fields) -> ToolText:
    tool = _HUMP.sub("_", text(item, "tool")).lower() or "agent"
    query = text(item, "prompt") or compact(item.get("receiver_thread_ids", item.get("receiverThreadIds")))
    states = item.get("agents_states", item.get("agentsStates"))
    return ToolText(f"collaboration.{tool}", query, with_status(content_text(states), text(item, "status")))


def activity_item(item: Fields) -> ToolText:
    return ToolText("subagent", f"{text(item, 'kind')} {text(item, 'agent_path')}".strip(), None)


def search_item(item: Fields) -> ToolText:
    results = item.get("results")
    return ToolText("web_search", search_query(item), content_text(results) if results else None)


def extension_item(item: Fields) -> ToolText:
    rest = {
        key: value for key, value in item.items() if key not in ("type", "id", "kind", "result", "results")
    }
    said = item.get("result", item.get("results"))
    return ToolText(
        text(item, "kind") or "extension", compact(rest), None if said is None else content_text(said)
    )


def view_item(item: Fields) -> ToolText:
    return ToolText("view_image", text(item, "path"), None)


def image_item(item: Fields) -> ToolText:
    prompt = text(item, "revised_prompt") or text(item, "revisedPrompt") or text(item, "prompt")
    data = text(item, "result")
    return ToolText("image_generation", prompt, image_note(data, "image/png") if data else None)


TOOL_ITEMS: dict[str, Callable[[Fields], ToolText]] = {
    "CommandExecution": command_item,
    "FileChange": file_item,
    "McpToolCall": mcp_item,
    "DynamicToolCall": dynamic_item,
    "CollabAgentToolCall": collab_item,
    "SubAgentActivity": activity_item,
    "WebSearch": search_item,
    "Extension": extension_item,
    "ImageView": view_item,
    "ImageGeneration": image_item,
}

KEEP_THE_CALL = {"CollabAgentToolCall", "SubAgentActivity"}
"""Items that say less than the call of the same id: it holds the task that was given."""
