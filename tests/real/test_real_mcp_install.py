"""The MCP server as `memex-hooks install --mcp` registers it: listed, started and offered by the real
programs, and gone without a trace after `uninstall`."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_driver import ClaudeCode
from codex_driver import Codex
from driver import Driver
from house import PRODUCT, House
from loopback_model import Request

pytestmark = pytest.mark.real

PROMPT = "Which linter does this project use?"
TOOLS = {"memex_recall", "memex_write", "memex_read", "memex_forget"}


def servers_file(driver: Driver) -> Path:
    """Where each program lists the MCP servers of the user."""
    return (
        driver.house.home / ".claude.json"
        if isinstance(driver, ClaudeCode)
        else driver.config_dir / "config.toml"
    )


def program(driver: Driver, *words: str) -> subprocess.CompletedProcess[str]:
    programs = driver.house.programs
    command = programs.claude if isinstance(driver, ClaudeCode) else programs.codex
    return driver.house.run_program([command, *words], driver.house.home, **driver.variables)


def register(driver: Driver, **variables: str) -> None:
    driver.house.run(
        "memex-hooks", "install", "--mcp", "--harness", driver.NAME, **driver.variables, **variables
    )


def offered(requests: list[Request]) -> set[str]:
    """The names of all tools that the requests offered, without a program's prefix."""
    return {
        name.rpartition("__")[2] for request in requests for name in _names(request.body.get("tools") or [])
    }


def _names(tools: list[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        yield str(tool.get("name", ""))
        yield from _names(tool.get("tools") or [])


def test_the_program_lists_the_server_with_its_command(driver: Driver) -> None:
    register(driver)
    assert re.search(
        rf"memex\W.*{re.escape(str(PRODUCT / 'memex'))}\W+serve-mcp", program(driver, "mcp", "list").stdout
    )
    told = program(driver, "mcp", "get", "memex").stdout
    assert str(PRODUCT / "memex") in told
    assert "Connected" in told if isinstance(driver, ClaudeCode) else "enabled: true" in told


def ask_with_tools(driver: Driver, project: Path, **arguments: str) -> list[Request]:
    """The requests of a session in which memex_recall is called with `arguments`.

    Codex begins without a server that is not ready yet, unless its entry says that it is required: a busy
    machine may take longer to start one than Codex takes to its first request.
    """
    if isinstance(driver, Codex):
        with servers_file(driver).open("a", encoding="utf-8") as file:
            file.write("required = true\n")
    driver.house.model.script(PROMPT, tool=("memex_recall", arguments))
    mark = driver.house.mark()
    driver.ask(PROMPT, project)
    return driver.house.model.requests[mark:]


def test_a_session_offers_the_tools_to_the_model(driver: Driver, house: House, project: Path) -> None:
    register(driver)
    assert offered(ask_with_tools(driver, project, query="linter")) >= TOOLS
    house.settle()


def test_a_moved_memory_is_served_whatever_the_program_passes_on(
    codex: Codex, house: House, project: Path
) -> None:
    """Codex hands a server hardly any of its own variables."""
    moved = {"MEMEX_DATA_DIR": str(house.home / "elsewhere")}
    house.run("memex", "write", "--type", "preference", "--title", "Linter", "--body", "It is ruff.", **moved)
    register(codex, **moved)
    assert "It is ruff." in ask_with_tools(codex, project, query="linter")[-1].conversation


def test_uninstall_restores_the_file_byte_for_byte(driver: Driver, project: Path) -> None:
    driver.ask(PROMPT, project)
    before = servers_file(driver).read_bytes()
    register(driver)
    assert servers_file(driver).read_bytes() != before
    driver.house.run("memex-hooks", "uninstall", **driver.variables)
    assert servers_file(driver).read_bytes() == before
    assert program(driver, "mcp", "get", "memex").returncode != 0


def test_uninstall_after_real_sessions_takes_out_nothing_else(driver: Driver, project: Path) -> None:
    driver.ask(PROMPT, project)
    register(driver)
    driver.ask(PROMPT, project)
    assert program(driver, "mcp", "add", *_user(driver), "other", "--", "/bin/true").returncode == 0
    table, expected = servers(driver)
    assert table.pop("memex")
    driver.house.run("memex-hooks", "uninstall", **driver.variables)
    assert servers(driver)[1] == expected
    assert "other" in program(driver, "mcp", "list").stdout


def servers(driver: Driver) -> tuple[dict[str, Any], dict[str, Any]]:
    """The table of servers, and the whole document it is in."""
    text = servers_file(driver).read_text("utf-8")
    document: dict[str, Any] = json.loads(text) if isinstance(driver, ClaudeCode) else tomllib.loads(text)
    return document["mcpServers" if isinstance(driver, ClaudeCode) else "mcp_servers"], document


def _user(driver: Driver) -> list[str]:
    return ["-s", "user"] if isinstance(driver, ClaudeCode) else []


def test_a_running_session_does_not_undo_the_registration(claude: ClaudeCode, project: Path) -> None:
    with claude.terminal(project) as terminal:
        claude.wait_until_ready(terminal)
        claude.say(terminal, PROMPT)
        startups = json.loads(servers_file(claude).read_bytes())
        register(claude)
        claude.say(terminal, PROMPT + " Again.")
        claude.quit(terminal)
    later = json.loads(servers_file(claude).read_bytes())
    assert later != startups
    assert later["mcpServers"]["memex"]["command"] == str(PRODUCT / "memex")


def test_what_the_program_removes_itself_leaves_nothing_behind(driver: Driver) -> None:
    program(driver, "mcp", "list")
    before = servers_file(driver).read_bytes()
    register(driver)
    assert program(driver, "mcp", "remove", *_user(driver), "memex").returncode == 0
    driver.house.run("memex-hooks", "uninstall", **driver.variables)
    assert servers_file(driver).read_bytes().strip() == before.strip()
    assert not (driver.house.home / ".local" / "share" / "memex").exists()


def test_the_way_by_hand_that_a_refusal_names_works(codex: Codex) -> None:
    config = servers_file(codex)
    config.write_text("mcp_servers = {}\n" + config.read_text("utf-8"), "utf-8")
    done = codex.house.run("memex-hooks", "install", "--mcp", "--harness", "codex", status=1)
    command = done.stderr.rpartition("; or: ")[2].strip().rstrip(")").split()
    assert program(codex, *command[1:]).returncode == 0
    status = codex.house.json("memex-hooks", "status", "--harness", "codex")
    assert status["harnesses"][0]["mcp"] == "registered"
