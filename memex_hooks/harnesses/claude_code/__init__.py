"""Claude Code: everything that this project knows about it (formats/claude-code.md).

The names below are the members of `memex_hooks.harness.Harness`.
"""

from __future__ import annotations

from memex_hooks.harnesses.claude_code.dialect import parse_event, reply
from memex_hooks.harnesses.claude_code.header import NAME
from memex_hooks.harnesses.claude_code.log import config_dir, find_logs, is_present, log_file, with_config_dir
from memex_hooks.harnesses.claude_code.mcp_registration import (
    check_mcp,
    plan_mcp_install,
    plan_mcp_uninstall,
)
from memex_hooks.harnesses.claude_code.reader import READER_VERSION, read_session
from memex_hooks.harnesses.claude_code.settings import (
    after_install,
    check_hooks,
    plan_install,
    plan_uninstall,
)

TITLE = "Claude Code"
PROGRAM = "claude"

__all__ = [
    "NAME",
    "PROGRAM",
    "READER_VERSION",
    "TITLE",
    "after_install",
    "check_hooks",
    "check_mcp",
    "config_dir",
    "find_logs",
    "is_present",
    "log_file",
    "parse_event",
    "plan_install",
    "plan_mcp_install",
    "plan_mcp_uninstall",
    "plan_uninstall",
    "read_session",
    "reply",
    "with_config_dir",
]
