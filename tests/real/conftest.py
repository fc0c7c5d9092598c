"""The real programs, the loopback model and a scratch HOME for each test. Every test is marked `real`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("checks", "driver", "claude_driver", "codex_driver", "house")

# ruff: noqa: E402 - what is imported before that line would fail without saying why
from claude_driver import ClaudeCode
from codex_driver import Codex
from driver import Driver
from house import House
from loopback_model import LoopbackModel
from processes import kill, processes_of
from programs import Programs, installed_programs

DRIVERS: dict[str, type[Driver]] = {ClaudeCode.NAME: ClaudeCode, Codex.NAME: Codex}


@pytest.fixture(scope="session")
def programs() -> Programs:
    """Claude Code, Codex and ccusage at their pinned versions."""
    if shutil.which("tmux") is None:
        pytest.fail(
            "the real-client tests need tmux: install it (Debian/Ubuntu: apt install tmux), then try again"
        )
    try:
        return installed_programs()
    except RuntimeError as problem:
        pytest.fail(str(problem), pytrace=False)


@pytest.fixture(scope="session")
def model() -> Iterator[LoopbackModel]:
    with LoopbackModel() as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, programs: Programs, model: LoopbackModel) -> Iterator[House]:
    """A scratch HOME; whatever still runs in it afterwards is ended, and all of it is deleted."""
    made = House(tmp_path, model, programs)
    yield made
    for process in processes_of(made.home):
        kill(process)
    for folder in tmp_path.iterdir():
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, house: House) -> Driver:
    """Each of the two programs in turn, with its hooks installed."""
    made = DRIVERS[request.param](house)
    made.install()
    return made


@pytest.fixture
def claude(house: House) -> ClaudeCode:
    """Claude Code; nothing is installed yet."""
    return ClaudeCode(house)


@pytest.fixture
def codex(house: House) -> Codex:
    """Codex; nothing is installed yet."""
    return Codex(house)


@pytest.fixture
def project(house: House) -> Path:
    return house.project("demo")
