"""The real Claude Code and Codex as the model that `consolidate` asks: [llm] provider = "command"."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from driver import Driver
from loopback_model import ANSWER as LOOPBACK_ANSWER
from loopback_model import CLAUDE_COUNTS, CODEX_COUNTS, HANG, TOOL_OUTPUT, TRIGGER, Request
from processes import processes_of
from waiting import wait_for

from memex_core.config import LLMConfig
from memex_core.errors import LLMError
from memex_core.llm import client_for, tokens_today
from memex_core.model.llm import LLMClient, ModelCall

pytestmark = pytest.mark.real

SYSTEM = "You keep notes for a lighthouse crew."
PROMPT = "Sum up the week of the lamp repair."
ANSWER = '{"nodes_created": [], "note": "a quiet week"}'
PROGRAMS = {"claude-code": "claude", "codex": "codex"}
PROMPT_TOKENS = {
    "claude-code": sum(count for name, count in CLAUDE_COUNTS.items() if name != "output_tokens"),
    "codex": CODEX_COUNTS["input_tokens"],
}
CATALOGUED = {"claude-code": "claude-haiku-4-5", "codex": "gpt-5.5"}
"""Models that the programs know and give further tools."""


@pytest.fixture(autouse=True)
def _person(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process becomes the person whose HOME the house is, with the real programs on the PATH."""
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC", "CODEX", "OPENAI", "MEMEX")):
            monkeypatch.delenv(name)
    path = f"{driver.house.programs.bin}:{driver.house.programs.path}"
    wanted = {**driver.house.env, **driver.variables, "PATH": path, "MEMEX_DATA_DIR": str(driver.house.root)}
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)


def client(driver: Driver, **values: Any) -> LLMClient:
    settings = {"provider": "command", "command": [PROGRAMS[driver.NAME]], **values}
    return client_for(LLMConfig(**settings), driver.house.root, system=SYSTEM)


def ask(driver: Driver, prompt: str = PROMPT, **values: Any) -> tuple[str, ModelCall, list[Request]]:
    """The answer, its call, and the requests that reached the model."""
    driver.house.model.script(prompt, text=ANSWER)
    mark = driver.house.mark()
    asking = client(driver, **values)
    text = asking.complete(prompt, 500)
    (call,) = asking.calls  # type: ignore[attr-defined]
    return text, call, driver.house.model.requests[mark:]


def tools_of(request: Request) -> set[str]:
    """The names of all tools that a request offers, also those that come as a message."""
    offered = list(request.body.get("tools") or [])
    for item in request.body.get("input") or []:
        offered += item.get("tools") or [] if isinstance(item, dict) else []
    for tool in offered:
        offered += tool.get("tools") or []
    return {str(tool.get("name") or tool.get("type")) for tool in offered}


def test_a_program_gives_the_models_answer_and_its_tokens(driver: Driver) -> None:
    text, call, requests = ask(driver)
    assert text == ANSWER
    assert (call.prompt_tokens, call.estimated, call.outcome) == (PROMPT_TOKENS[driver.NAME], False, "ok")
    assert call.completion_tokens == driver.PER_RESPONSE["output_tokens"]
    assert len(requests) == 1
    assert f"{SYSTEM}\n\n{PROMPT}" in requests[0].conversation
    assert tokens_today(driver.house.root) == call.prompt_tokens + call.completion_tokens


def test_no_tool_is_offered(driver: Driver) -> None:
    *_, requests = ask(driver)
    assert [tools_of(request) for request in requests] == [set()]


def test_a_tool_that_the_model_calls_all_the_same_is_not_run(driver: Driver) -> None:
    """The loopback model answers TRIGGER with a call of the shell, in Codex's API whether offered or not."""
    mark = driver.house.mark()
    assert client(driver).complete(f"Count the oil cans. {TRIGGER}", 500) == LOOPBACK_ANSWER
    items = [item for request in driver.house.model.requests[mark:] for item in _said_to_the_model(request)]
    refusals = [item["output"] for item in items if "output" in item]
    assert not [output for output in refusals if TOOL_OUTPUT in str(output)]
    assert len(refusals) == (1 if driver.NAME == "codex" else 0)


def _said_to_the_model(request: Request) -> list[dict[str, Any]]:
    return list(request.body.get("input") or request.body.get("messages") or [])


def test_a_model_that_is_set_is_the_one_that_is_asked(driver: Driver) -> None:
    *_, requests = ask(driver, model=CATALOGUED[driver.NAME])
    assert [request.body["model"] for request in requests] == [CATALOGUED[driver.NAME]]
    assert not tools_of(requests[0]) - {"apply_patch"}


def test_no_session_is_kept_by_the_program_or_captured_by_us(driver: Driver) -> None:
    ask(driver)
    driver.house.settle()
    assert driver.logs() == {}
    assert driver.house.captured() == set()
    assert not (driver.house.root / "docs").exists()
    driver.house.run("memex-hooks", "capture", "--all")
    assert driver.house.captured() == set()


def test_our_hooks_do_work_in_a_session_of_the_person(driver: Driver, project: Path) -> None:
    """What the test above would see if the child were not marked as one of ours."""
    session_id = driver.ask("What is left to do?", project)
    driver.house.settle()
    assert driver.house.captured() == {session_id}


def test_the_persons_own_servers_and_hooks_are_not_started(driver: Driver) -> None:
    server, hook = driver.house.home / "server-ran", driver.house.home / "hook-ran"
    _add_server_and_hook(driver, f"touch {server}; sleep 5", f"touch {hook}")
    text, _, requests = ask(driver)
    assert text == ANSWER
    assert not tools_of(requests[0]) & {"mine", "mcp__mine"}
    assert (server.exists(), hook.exists()) == (False, False)


def _add_server_and_hook(driver: Driver, server: str, hook: str) -> None:
    if driver.NAME == "codex":
        path = driver.config_dir / "config.toml"
        table = f'\n[mcp_servers.mine]\ncommand = "sh"\nargs = ["-c", {json.dumps(server)}]\n'
        path.write_text(
            f'notify = ["sh", "-c", {json.dumps(hook)}]\n' + path.read_text("utf-8") + table, "utf-8"
        )
        return
    servers = {"mcpServers": {"mine": {"command": "sh", "args": ["-c", server]}}}
    (driver.house.home / ".claude.json").write_text(json.dumps(servers), "utf-8")
    settings = json.loads(driver.settings.read_text("utf-8"))
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        settings["hooks"].setdefault(event, []).append({"hooks": [{"type": "command", "command": hook}]})
    driver.settings.write_text(json.dumps(settings), "utf-8")


def test_a_program_that_waits_too_long_is_ended_with_all_that_it_started(driver: Driver) -> None:
    started = time.monotonic()
    with pytest.raises(LLMError, match="no answer within 3 s"):
        client(driver, timeout=3.0).complete(f"{PROMPT} {HANG}", 500)
    assert time.monotonic() - started < 6
    wait_for(lambda: not processes_of(driver.house.home), "the end of every process", seconds=3)


def test_nothing_runs_on_after_an_answer(driver: Driver) -> None:
    ask(driver)
    wait_for(lambda: not processes_of(driver.house.home), "the end of every process", seconds=3)


def test_the_daily_limit_stops_before_the_program_is_started(driver: Driver) -> None:
    mark = driver.house.mark()
    with pytest.raises(LLMError, match="was not asked"):
        client(driver, daily_token_limit=1_000).complete(PROMPT, 500)
    assert driver.house.model.requests[mark:] == []
