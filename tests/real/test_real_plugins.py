"""The plugin folders: what the real programs accept, load and run; nothing is in their settings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from checks import PREFERENCE, assert_kept, assert_next_session_is_told, assert_remembered
from claude_driver import ClaudeCode
from codex_driver import Codex
from driver import Driver
from house import PRODUCT, House
from loopback_model import ANSWER
from programs import REPOSITORY

pytestmark = pytest.mark.real


@pytest.fixture
def marketplace(house: House) -> Path:
    """A copy of hooks/, and `memex-hooks` where install.sh links it: all that a plugin needs."""
    folder = house.home / "memex" / "hooks"
    shutil.copytree(REPOSITORY / "hooks", folder)
    link = house.home / ".local" / "bin" / "memex-hooks"
    link.parent.mkdir(parents=True)
    link.symlink_to(PRODUCT / "memex-hooks")
    return folder


def _run(driver: Driver, *words: str) -> str:
    done = driver.house.run_program(list(words), driver.house.home, **driver.variables)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def _assert_plugin_captures(driver: Driver, project: Path) -> None:
    session_id = driver.ask(PREFERENCE, project)
    driver.house.settle()
    kept = assert_kept(driver, session_id, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(driver, session_id, kept, title=PREFERENCE)
    driver.assert_hooks_were_silent(session_id)
    later = assert_next_session_is_told(driver, project)
    driver.assert_hooks_were_silent(later)


@pytest.mark.parametrize("folder", [".", "claude-code"])
def test_claude_accepts_the_folder_strictly(claude: ClaudeCode, marketplace: Path, folder: str) -> None:
    said = _run(
        claude, claude.house.programs.claude, "plugin", "validate", "--strict", str(marketplace / folder)
    )
    assert "Validation passed" in said


def test_the_plugin_of_claude_code_captures_and_recalls(
    claude: ClaudeCode, marketplace: Path, project: Path
) -> None:
    program = claude.house.programs.claude
    _run(claude, program, "plugin", "marketplace", "add", str(marketplace))
    _run(claude, program, "plugin", "install", "memex@memex")
    _assert_plugin_captures(claude, project)


def test_the_plugin_of_codex_captures_and_recalls(codex: Codex, marketplace: Path, project: Path) -> None:
    program = codex.house.programs.codex
    _run(codex, program, "plugin", "marketplace", "add", str(marketplace))
    _run(codex, program, "plugin", "add", "memex@memex")
    _assert_plugin_captures(codex, project)


def test_plugin_and_settings_together_keep_everything_once(
    claude: ClaudeCode, marketplace: Path, project: Path
) -> None:
    program = claude.house.programs.claude
    _run(claude, program, "plugin", "marketplace", "add", str(marketplace))
    _run(claude, program, "plugin", "install", "memex@memex")
    claude.install()
    session_id = claude.ask(PREFERENCE, project)
    claude.house.settle()
    kept = assert_kept(claude, session_id, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(claude, session_id, kept, title=PREFERENCE)
    done = claude.house.run("memex-hooks", "doctor", "--harness", "claude-code", status=1)
    assert "every event is noted twice" in done.stdout
