"""Consolidation by the real Claude Code and Codex: asked without tools, and nothing of it is remembered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checks import PREFERENCE
from driver import Driver

pytestmark = pytest.mark.real

ASKED = "EPISODE NODES TO PROCESS"
NODE = {
    "type": "procedure",
    "title": "demo-lints-with-ruff",
    "body": "The demo project lints with ruff. The user asked for it over flake8.",
    "tags": ["python"],
    "importance": 0.8,
}
PROGRAMS = {"claude-code": "claude", "codex": "codex"}


def test_a_session_is_consolidated_by_the_program_that_held_it(driver: Driver, project: Path) -> None:
    house = driver.house
    session_id = driver.ask(PREFERENCE, project)
    house.settle()
    logs, captured = set(driver.logs()), house.captured()
    command = json.dumps([PROGRAMS[driver.NAME]])
    config = f'[llm]\nprovider = "command"\ncommand = {command}\nmodel = "{driver.MODEL}"\n'
    (house.root / "memex.toml").write_text(config, "utf-8")
    house.model.script(ASKED, text=f"Here it is:\n```json\n{json.dumps([NODE])}\n```")
    variables = {**driver.variables, "PATH": f"{house.programs.bin}:{house.programs.path}"}
    mark = house.mark()
    report = json.loads(house.run("memex", "consolidate", "--json", **variables).stdout)
    assert (report["episodes_processed"], report["llm_calls"], report["nodes_refused"]) == (1, 1, [])
    assert [made["title"] for made in report["nodes_created"]] == [NODE["title"]]

    page = house.json("memex", "show", str(NODE["title"]))
    assert (page["type"], page["sources"]) == ("procedure", [session_id])
    provenance = house.json("memex", "provenance", str(NODE["title"]))
    assert (provenance["confidence"], provenance["linked_episodes"]) == ("direct", [session_id])
    assert Path(provenance["transcript_files"][0]).stem == session_id

    asked = [request for request in house.model.requests[mark:] if ASKED in request.conversation]
    assert len(asked) == 1 and PREFERENCE in asked[0].conversation
    assert not any(request.body.get("tools") for request in house.model.requests[mark:])

    mark = house.mark()
    again = json.loads(house.run("memex", "consolidate", "--json", **variables).stdout)
    assert (again["llm_calls"], again["episodes_processed"], house.mark()) == (0, 0, mark)
    house.settle()
    house.run("memex-hooks", "capture", "--all", **driver.variables)
    assert house.captured() == captured == {session_id} and set(driver.logs()) == logs
