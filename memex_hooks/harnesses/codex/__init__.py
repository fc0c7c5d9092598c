"""Codex: where its logs are, how to read them, how its hooks talk (formats/codex.md).

The members of `harness.Harness`. Rooms: log (finding), identity, reader (and what it is made of), dialect,
settings.
"""

from __future__ import annotations

from memex_hooks.harnesses.codex.dialect import parse_event, reply
from memex_hooks.harnesses.codex.log import (
    PROGRAM,
    config_dir,
    find_logs,
    is_present,
    log_file,
    with_config_dir,
)
from memex_hooks.harnesses.codex.mcp_registration import (
    check_mcp,
    plan_mcp_install,
    plan_mcp_uninstall,
)
from memex_hooks.harnesses.codex.reader import READER_VERSION, read_session
from memex_hooks.harnesses.codex.settings import (
    after_install,
    check_hooks,
    plan_install,
    plan_uninstall,
)

NAME = "codex"
TITLE = "Codex"

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
