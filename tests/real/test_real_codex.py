"""What only Codex does: trust in hooks, asked for by its own dialogue, and hooks.json."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import PREFERENCE, assert_kept, assert_next_session_is_told, assert_remembered
from codex_driver import Codex
from house import House
from loopback_model import ANSWER
from terminal import Terminal

pytestmark = pytest.mark.real

HOOKS = b"""{"hooks":
  {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 5}]}] } }
"""


@pytest.fixture
def wary(house: House) -> Codex:
    """Codex without any bypass, hooks installed and not trusted yet."""
    made = Codex(house, bypass=False)
    made.install()
    return made


def test_untrusted_hooks_do_nothing_and_doctor_says_so(wary: Codex, house: House, project: Path) -> None:
    wary.ask(PREFERENCE, project)
    house.settle()
    assert not house.captured()
    done = house.run("memex-hooks", "doctor", "--harness", "codex", status=1)
    assert "are not trusted yet" in done.stdout
    assert f"6 hooks in {wary.settings}" in done.stdout


def test_a_session_of_untrusted_hooks_comes_in_by_capture_all(
    wary: Codex, house: House, project: Path
) -> None:
    session_id = wary.ask(PREFERENCE, project)
    house.run("memex-hooks", "capture", "--all")
    kept = assert_kept(wary, session_id, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(wary, session_id, kept, title=PREFERENCE)


def test_hooks_that_a_person_trusted_in_codex_need_no_bypass(
    wary: Codex, house: House, project: Path
) -> None:
    """As the installer explains it: start codex, choose "Trust all and continue"; an upgrade keeps it."""
    with wary.terminal(project) as terminal:
        _trust_all(wary, terminal)
        wary.say(terminal, PREFERENCE)
        wary.quit(terminal)
    house.settle()
    (session_id,) = house.captured()
    kept = assert_kept(wary, session_id, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(wary, session_id, kept, title=PREFERENCE)
    wary.install()
    later = assert_next_session_is_told(wary, project)
    assert wary.said[later].count("hook: SessionStart Completed") == 1
    wary.assert_hooks_were_silent(later)
    findings = house.json("memex-hooks", "doctor", "--harness", "codex")
    assert [finding for finding in findings if finding["level"] != "ok"] == []
    assert "Codex trusts the 6 memex hooks" in [finding["what"] for finding in findings]


def test_a_session_in_the_background_server_is_in_memory(wary: Codex, house: House, project: Path) -> None:
    """There the hooks run in a process that outlives the terminal; SessionEnd comes half an hour later."""
    with wary.terminal(project, server=True) as terminal:
        _trust_all(wary, terminal)
        wary.say(terminal, PREFERENCE)
        wary.quit(terminal)
    house.settle()
    (session_id,) = house.captured()
    kept = assert_kept(wary, session_id, project, [("user", PREFERENCE), ("agent", ANSWER)], responses=1)
    assert_remembered(wary, session_id, kept, title=PREFERENCE)
    assert_next_session_is_told(wary, project)


def _trust_all(codex: Codex, terminal: Terminal) -> None:
    terminal.wait_for_text("Trust all and continue", seconds=60)
    terminal.press_until("2", lambda screen: "› 2. Trust all" in screen)
    terminal.press_until("Enter", lambda screen: "Trust all" not in screen)
    codex.wait_until_ready(terminal)


@pytest.mark.parametrize("original", [HOOKS, None], ids=["hooks.json with others' hooks", "no hooks.json"])
def test_uninstall_leaves_hooks_json_as_it_was(
    codex: Codex, house: House, project: Path, original: bytes | None
) -> None:
    if original is not None:
        codex.settings.write_bytes(original)
    codex.install()
    session_id = codex.ask(PREFERENCE, project)
    house.settle()
    assert house.captured() == {session_id}
    house.run("memex-hooks", "uninstall")
    assert (codex.settings.read_bytes() if codex.settings.exists() else None) == original
    codex.ask("This one is nobody's business.", project)
    house.settle()
    assert house.captured() == {session_id}
