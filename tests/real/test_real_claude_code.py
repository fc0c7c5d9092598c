"""What only Claude Code does: `/clear`, and settings.json with other people's entries in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import (
    FENCE,
    PREFERENCE,
    TOLD,
    assert_kept,
    assert_next_session_is_told,
    assert_remembered,
    assert_tokens,
    without_farewell,
)
from claude_driver import ClaudeCode
from house import House
from loopback_model import ANSWER
from waiting import wait_for

pytestmark = pytest.mark.real

SECOND = "Always run the linter before you commit."
SETTINGS = b"""{
   "permissions": { "allow": [ "Bash(ls:*)" ] },
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
  "cleanupPeriodDays": 3650 }"""


@pytest.fixture
def installed(claude: ClaudeCode) -> ClaudeCode:
    """Hooks in a settings.json that has entries, and an indentation, of its own."""
    claude.settings.write_bytes(SETTINGS)
    claude.install()
    return claude


def test_clear_ends_one_session_and_begins_another_that_is_told_of_it(
    installed: ClaudeCode, house: House, project: Path
) -> None:
    with installed.terminal(project) as terminal:
        installed.wait_until_ready(terminal)
        installed.say(terminal, PREFERENCE)
        house.settle()
        (first,) = house.captured()
        terminal.type_line("/clear")
        wait_for(lambda: ANSWER not in terminal.screen(), "a cleared screen", report=terminal.screen)
        installed.wait_until_ready(terminal)
        mark = house.mark()
        installed.say(terminal, SECOND)
        installed.quit(terminal)
    house.settle()
    (second,) = house.captured() - {first}
    kept = assert_kept(installed, first, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(installed, first, kept, title=PREFERENCE)
    turns = without_farewell(installed, house.kept(second))
    said = [("tool", "command"), ("user", SECOND), ("agent", ANSWER)]
    assert [(turn["role"], turn["content"]) for turn in turns] == said
    assert turns[0]["query"] == "/clear"
    assert_tokens(installed, house.kept(second), responses=1)
    assert TOLD in house.asked_since(mark, SECOND).conversation
    assert FENCE not in str(house.kept(second).turns)
    assert_next_session_is_told(installed, project)


def test_every_capture_hook_runs_to_its_end_without_a_word(
    installed: ClaudeCode, house: House, project: Path
) -> None:
    """SessionEnd leaves no trace in the session's log; Claude Code's own debug log has it."""
    debug = house.home / "debug.log"
    command = [*installed.new_command(PREFERENCE), "--debug-file", str(debug)]
    done = house.run_program(command, project, **installed.variables)
    assert done.returncode == 0, done.stderr
    house.settle()
    lines = debug.read_text("utf-8").splitlines()
    ended = [line for line in lines if "SessionEnd:other" in line]
    assert "claude-code SessionEnd] completed with status 0" in ended[0]
    assert not [line for line in lines if "success:" in line and "Hook " in line]


def test_uninstall_leaves_settings_byte_for_byte_after_real_sessions(
    installed: ClaudeCode, house: House, project: Path
) -> None:
    assert installed.settings.read_bytes() != SETTINGS
    session_id = installed.ask(PREFERENCE, project)
    house.settle()
    house.run("memex-hooks", "uninstall")
    assert installed.settings.read_bytes() == SETTINGS
    assert house.captured() == {session_id}
    installed.ask("This one is nobody's business.", project)
    house.settle()
    assert house.captured() == {session_id}


def test_uninstall_removes_a_settings_file_that_only_install_needed(
    claude: ClaudeCode, house: House, project: Path
) -> None:
    claude.install()
    claude.ask(PREFERENCE, project)
    house.settle()
    house.run("memex-hooks", "uninstall")
    assert not claude.settings.exists()


def test_doctor_finds_nothing_wrong_after_a_real_session(
    installed: ClaudeCode, house: House, project: Path
) -> None:
    installed.ask(PREFERENCE, project)
    house.settle()
    findings = house.json("memex-hooks", "doctor", "--harness", "claude-code")
    assert [finding for finding in findings if finding["level"] != "ok"] == []
    assert f"6 hooks in {installed.settings}" in [finding["what"] for finding in findings]
