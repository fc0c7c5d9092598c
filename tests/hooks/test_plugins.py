"""The plugin folders say the same as the settings that `memex-hooks install` writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memex_hooks.harnesses.claude_code.settings import WIRING as CLAUDE
from memex_hooks.harnesses.codex.settings import PLUGIN_LAUNCHER
from memex_hooks.harnesses.codex.settings import WIRING as CODEX
from memex_hooks.install_uninstall import assets_dir

REPOSITORY = Path(__file__).parent.parent.parent
HOOKS = REPOSITORY / "hooks"
MANIFESTS = {"claude-code": ".claude-plugin", "codex": ".codex-plugin"}


def read(*parts: str) -> Any:
    return json.loads(HOOKS.joinpath(*parts).read_text("utf-8"))


@pytest.mark.parametrize(
    ("wiring", "launcher"),
    [(CLAUDE, 'sh "${CLAUDE_PLUGIN_ROOT}/hook.sh"'), (CODEX, PLUGIN_LAUNCHER)],
    ids=lambda value: getattr(value, "harness", ""),
)
def test_the_hooks_of_a_plugin_are_those_of_the_settings(wiring: Any, launcher: str) -> None:
    expected = {event: [{"hooks": [handler]}] for event, handler in wiring.wanted(launcher).items()}
    assert read(wiring.harness, "hooks", "hooks.json") == {"hooks": expected}


@pytest.mark.parametrize("harness", MANIFESTS)
def test_a_manifest_has_the_version_of_the_project_and_does_not_list_its_hooks(harness: str) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    manifest = read(harness, MANIFESTS[harness], "plugin.json")
    assert (manifest["name"], manifest["version"]) == ("memex", project["version"])
    assert "hooks" not in manifest  # listed there, hooks/hooks.json would be loaded twice and dropped


def test_each_marketplace_leads_to_its_plugin() -> None:
    claude = read(".claude-plugin", "marketplace.json")
    codex = read(".agents", "plugins", "marketplace.json")
    assert claude["name"] == codex["name"] == "memex"
    assert claude["description"]
    (plugin,) = claude["plugins"]
    assert (HOOKS / plugin["source"] / ".claude-plugin" / "plugin.json").is_file()
    (plugin,) = codex["plugins"]
    assert (HOOKS / plugin["source"]["path"] / ".codex-plugin" / "plugin.json").is_file()


@pytest.mark.parametrize("harness", MANIFESTS)
def test_a_plugin_folder_carries_all_that_it_runs(harness: str) -> None:
    names = {path.name for path in (assets_dir() / harness).iterdir()}
    assert names == {MANIFESTS[harness], "hooks", "hook.sh", "README.md"}


def test_the_wheel_takes_the_folders_along() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["hooks"] == "memex_hooks/assets"
