"""How our MCP server should stand in the file where one harness lists its servers (DESIGN §3 MCP)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from memex_core.errors import Refused
from memex_core.paths import data_dir
from memex_hooks.settings_file.foreign_file import read_foreign, real_path
from memex_hooks.settings_file.receipts import Receipt, load_receipts, noted_files
from memex_hooks.settings_file.server_command import (
    ARGUMENTS,
    ROOT_VARIABLE,
    SERVER,
    brought_up_to_date,
    program_of,
    server_command,
)
from memex_hooks.settings_file.wiring import Change, distinct

TAKE_OUT = "it was left alone; take it out if you do not need it, then run the same command again"


class ServerFile(Protocol):
    """What the modules `json_server` and `toml_server` offer."""

    def server_in(self, data: bytes, path: Path, table: str) -> dict[str, object] | None: ...

    def with_server(
        self, before: bytes | None, path: Path, table: str, entry: dict[str, object], earlier: Receipt | None
    ) -> tuple[bytes, Receipt]: ...

    def without_server(self, before: bytes, path: Path, table: str, receipt: Receipt) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Registration:
    """The MCP server of one harness: its id, how and in which table its file lists servers, and what a new
    entry says besides the command. `by_hand` is the harness's own command for adding one (with `option`
    before a variable) where that can edit a file that we cannot."""

    harness: str
    file: ServerFile
    table: str
    fixed: Mapping[str, str]
    by_hand: str = ""
    option: str = ""

    def addition(
        self, path: Path, command: list[str], variables: Mapping[str, str], env: Mapping[str, str]
    ) -> Change:
        """The file with our server in it. Raises Refused where it cannot be edited safely, or where another
        server has our name."""
        before, earlier = read_foreign(path), load_receipts(env).get(real_path(path))
        try:
            entry = self.file.server_in(before or b"", path, self.table)
            if entry is None or program_of(entry):
                fresh = brought_up_to_date(entry or self.fixed, command, variables)
                after, receipt = self.file.with_server(before, path, self.table, fresh, earlier)
                return Change(path, before, after, replace(receipt, harness=self.harness, part="mcp"))
        except Refused as refused:
            raise Refused(str(refused), hint=refused.hint + self._or_by_hand(command, variables)) from None
        raise Refused(f"{path}: has a server named {SERVER} that is not ours", hint=TAKE_OUT)

    def removals(self, path: Path, env: Mapping[str, str]) -> list[Change]:
        """`path` and every other file of this harness that a receipt names, without our server; only real
        changes."""
        receipts = load_receipts(env)
        changes = []
        for place in distinct([path, *noted_files(receipts, self.harness, "mcp")]):
            before, receipt = read_foreign(place), receipts.get(real_path(place), Receipt())
            if before is None or not (_may_be_in(before) or receipt.servers):
                continue  # a file that cannot name our server need not parse
            entry = self.file.server_in(before, place, self.table)
            if entry is not None and program_of(entry) is None:
                continue
            after = self.file.without_server(before, place, self.table, receipt)
            if after != before:
                changes.append(Change(place, before, after))
        return changes

    def found(self, path: Path) -> dict[str, object] | None:
        """Our entry, None without one. Raises Refused where the file may hold one and cannot be read."""
        data = read_foreign(path) or b""
        entry = self.file.server_in(data, path, self.table) if _may_be_in(data) else None
        return entry if program_of(entry) else None

    def problems(self, entry: Mapping[str, object], path: Path, env: Mapping[str, str]) -> list[str]:
        """What is wrong with an entry of ours. Installing mends it all."""
        program, wanted = program_of(entry) or Path(), Path(server_command(env)[0])
        variables = entry.get("env")
        chosen = variables.get(ROOT_VARIABLE) if isinstance(variables, dict) else None
        served = data_dir({**env, ROOT_VARIABLE: chosen if isinstance(chosen, str) else ""})
        problems = []
        if not os.access(program, os.X_OK):
            problems.append(f"the MCP server in {path} is {program}, which is not there")
        elif wanted.exists() and real_path(program) != real_path(wanted):
            problems.append(f"the MCP server in {path} is {program}, of another installation than this one")
        if served != data_dir(env):
            problems.append(f"the MCP server in {path} serves the memory {served}, not {data_dir(env)}")
        return problems

    def _or_by_hand(self, command: list[str], variables: Mapping[str, str]) -> str:
        options = [word for name, value in variables.items() for word in (self.option, f"{name}={value}")]
        words = shlex.join([SERVER, *options, "--", *command])
        return f"; or: {self.by_hand} {words}" if self.by_hand else ""


def _may_be_in(data: bytes) -> bool:
    return ARGUMENTS[0].encode() in data
