"""Codex's list of MCP servers in config.toml (formats/codex.md §4 MCP)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memex_core.errors import Refused
from memex_hooks.harness import Finding, HookEdit
from memex_hooks.harnesses.codex.log import config_dir
from memex_hooks.settings_file import toml_server
from memex_hooks.settings_file.mcp_registration import Registration
from memex_hooks.settings_file.wiring import editor_command

REGISTRATION = Registration("codex", toml_server, "mcp_servers", {}, by_hand="codex mcp add", option="--env")
INSTALL = "memex-hooks install --mcp --harness codex"


def servers_path(env: Mapping[str, str]) -> Path:
    """${CODEX_HOME:-~/.codex}/config.toml."""
    return config_dir(env) / "config.toml"


def plan_mcp_install(
    env: Mapping[str, str], command: list[str], variables: Mapping[str, str]
) -> list[HookEdit]:
    """The edit that lists our server. Raises Refused where that cannot be done safely."""
    change = REGISTRATION.addition(servers_path(env), command, variables, env)
    return [HookEdit(change.path, change.before, change.after, receipt=change.receipt)]


def plan_mcp_uninstall(env: Mapping[str, str]) -> list[HookEdit]:
    """The edits that take our server out of every file that we put it in."""
    changes = REGISTRATION.removals(servers_path(env), env)
    return [HookEdit(change.path, change.before, change.after) for change in changes]


def check_mcp(env: Mapping[str, str]) -> list[Finding]:
    """Can our server be started, and does it serve this memory? [] where it is not listed."""
    path = servers_path(env)
    try:
        entry = REGISTRATION.found(path)
    except Refused as refused:
        return [Finding("fail", str(refused), editor_command(path))]
    if entry is None:
        return []
    problems = REGISTRATION.problems(entry, path, env)
    found = [Finding("fail", problem, INSTALL) for problem in problems]
    off = ", but switched off there" if entry.get("enabled") is False else ""
    return found or [Finding("ok", f"the MCP server is registered in {path}{off}")]
