"""A fresh clone, an empty HOME and the commands of the README, as a newcomer types them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checks import PREFERENCE, PREFERENCE_TITLE
from claude_driver import ClaudeCode
from codex_driver import Codex
from house import House
from programs import REPOSITORY

pytestmark = pytest.mark.real

INSTALL_TIMEOUT_S = 240.0
PERSON = Path.home()
"""Whose configuration of pip counts; read before a test moves HOME."""
PASSED_ON = ("PIP_", "UV_", "SSL_", "REQUESTS_CA_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
SETTINGS = b'{\n  "cleanupPeriodDays": 3650\n}\n'


@pytest.fixture
def clone(house: House) -> Path:
    """What git would hand out, in a folder of its own."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listing, cwd=REPOSITORY, capture_output=True, check=True).stdout.split(b"\0")
    folder = house.home.parent / "clone"
    for name in filter(None, map(os.fsdecode, names)):
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, folder / name, follow_symlinks=False)
    return folder


@pytest.fixture
def surroundings(house: House) -> dict[str, str]:
    """A Python that can make environments, this machine's way to its package registry, caches elsewhere."""
    variables = {name: value for name, value in os.environ.items() if name.upper().startswith(PASSED_ON)}
    config = PERSON / ".config" / "pip" / "pip.conf"
    if config.exists():
        variables.setdefault("PIP_CONFIG_FILE", str(config))
    cache = house.home.parent / "cache"
    variables |= {"PIP_CACHE_DIR": str(cache / "pip"), "XDG_CACHE_HOME": str(cache)}
    if not _makes_environments(Path("/usr/bin/python3")):
        variables["PATH"] = f"{Path(sys.base_prefix) / 'bin'}:{house.env['PATH']}"
    return variables


def _makes_environments(python: Path) -> bool:
    check = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
    return (
        python.exists()
        and not subprocess.run([python, "-c", check], capture_output=True, check=False).returncode
    )


def _install(house: House, clone: Path, surroundings: dict[str, str], *words: str) -> str:
    done = house.run_program(["./install.sh", *words], clone, timeout=INSTALL_TIMEOUT_S, **surroundings)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_two_commands_and_one_session_later_recall_finds_the_preference(
    claude: ClaudeCode, house: House, clone: Path, surroundings: dict[str, str], project: Path
) -> None:
    codex = Codex(house, bypass=False)
    claude.settings.write_bytes(SETTINGS)
    said = _install(house, clone, surroundings)
    assert "recalled 'User preference:" in said
    assert "Trust all and continue" in said
    session_id = claude.ask(PREFERENCE, project)
    house.settle()
    memex, memex_hooks = (str(house.home / ".local" / "bin" / name) for name in ("memex", "memex-hooks"))
    assert _sources(house, [memex, "recall", "ruff"]) == [f"{session_id}#1"]
    untrusted_id = codex.ask(PREFERENCE, project)
    house.settle()
    assert _sources(house, [memex, "recall", "ruff"]) == [f"{session_id}#1"]
    house.run_program([memex_hooks, "capture", "--all"], project)
    assert _sources(house, [memex, "recall", "ruff"]) == [f"{session_id}#1", f"{untrusted_id}#1"]
    done = house.run_program([memex_hooks, "uninstall"], project)
    assert done.returncode == 0, done.stderr
    assert claude.settings.read_bytes() == SETTINGS
    assert not codex.settings.exists()


def test_the_demonstration_shows_a_session_a_page_and_a_recall_and_leaves_no_trace(
    claude: ClaudeCode, house: House, clone: Path, surroundings: dict[str, str]
) -> None:
    claude.settings.write_bytes(SETTINGS)
    before = _tree(house.home)
    said = _install(house, clone, surroundings, "--demo")
    assert _tree(house.home) == before
    assert "A session goes in:" in said
    assert "The page that came out (docs/episodes/" in said
    assert "memex recall ruff:\n  1. User preference:" in said


def _sources(house: House, command: list[str]) -> list[str]:
    """The sessions behind the preference that a recall finds."""
    done = house.run_program(command, house.home)
    found = [hit for hit in json.loads(done.stdout)["hits"] if hit["title"] == PREFERENCE_TITLE]
    assert len(found) == 1, done.stdout
    return list(found[0]["sources"])


def _tree(folder: Path) -> dict[str, str]:
    """Path -> hash of its bytes, of everything under `folder`."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }
