"""Claude Code's list of MCP servers for the user, which it keeps with much else in .claude.json and rewrites
often (seen with 2.1.197: `claude mcp add -s user`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memex_core.errors import Refused
from memex_hooks.harness import Finding, HookEdit
from memex_hooks.harnesses.claude_code.log import config_dir
from memex_hooks.settings_file import json_server
from memex_hooks.settings_file.mcp_registration import Registration
from memex_hooks.settings_file.wiring import editor_command

REGISTRATION = Registration("claude-code", json_server, "mcpServers", {"type": "stdio"})
INSTALL = "memex-hooks install --mcp --harness claude-code"


def servers_path(env: Mapping[str, str]) -> Path:
    """$CLAUDE_CONFIG_DIR/.claude.json, else ~/.claude.json: beside the configuration folder, not in it. An
    old .config.json in the folder goes before both."""
    old = config_dir(env) / ".config.json"
    if old.exists():
        return old
    return Path(env.get("CLAUDE_CONFIG_DIR") or env.get("HOME") or Path.home()) / ".claude.json"


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
    return found or [Finding("ok", f"the MCP server is registered in {path}")]
