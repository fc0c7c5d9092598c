"""The MCP server that we register: its name, the command that starts it, and how it is recognised again."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from memex_core.paths import data_dir

SERVER = "memex"
ARGUMENTS = ["serve-mcp"]
ROOT_VARIABLE = "MEMEX_DATA_DIR"


def server_command(env: Mapping[str, str]) -> list[str]:
    """`<absolute path of memex> serve-mcp`: the link that install.sh makes where it leads to this
    installation, for it outlives a move of the environment; else the program beside our Python, which may be
    missing."""
    own = Path(sysconfig.get_path("scripts")) / SERVER
    if not own.exists() and sys.prefix == sys.base_prefix:  # `pip install --user`
        own = Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) / SERVER
    link = Path(env.get("HOME") or Path.home()) / ".local" / "bin" / SERVER
    program = link if own.exists() and link.resolve() == own.resolve() else own
    return [str(program), *ARGUMENTS]


def server_variables(env: Mapping[str, str]) -> dict[str, str]:
    """The memory root where it is not the default: programs hand a server few variables of theirs."""
    root = data_dir(env)
    return {} if root == data_dir({**env, ROOT_VARIABLE: ""}) else {ROOT_VARIABLE: str(root)}


def program_of(entry: object) -> Path | None:
    """The `memex` that a server's entry starts, None where it is not ours.

    Ours is an absolute path to a `memex` with our arguments, of whatever release or place. A bare `memex` is
    whichever program the PATH has.
    """
    if not isinstance(entry, Mapping) or entry.get("args") != ARGUMENTS:
        return None
    command = entry.get("command")
    program = Path(command) if isinstance(command, str) else Path()
    return program if program.is_absolute() and program.name == SERVER else None


def brought_up_to_date(
    entry: Mapping[str, object], command: list[str], variables: Mapping[str, str]
) -> dict[str, object]:
    """An entry of ours that starts `command` with `variables`; whatever else a person set in it stays."""
    old = entry.get("env")
    kept = dict(old) if isinstance(old, dict) else {}
    kept.pop(ROOT_VARIABLE, None)
    fresh: dict[str, object] = {**entry, "command": command[0], "args": command[1:]}
    fresh["env"] = {**kept, **variables}
    if not fresh["env"] and old != {}:
        del fresh["env"]
    return fresh
