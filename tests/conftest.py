"""Every test has a HOME and a memory root of its own; nothing outside tmp_path is touched."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

_FOREIGN = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_DATA_HOME",
    "MEMEX_CHILD",
    "MEMEX_API_KEY",
    "MEMEX_EMBED_API_KEY",
    "MEMEX_LLM_PROVIDER",
    "MEMEX_LLM_MODEL",
    "MEMEX_LOG_LEVEL",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "VISUAL",
    "EDITOR",
    "PYTHONDONTWRITEBYTECODE",  # with it, every program that a test starts is compiled anew
)

_COUNT = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test's own, as pytest gives it, without the link to the newest of each name.

    On a slow disk, putting that link in the place of the one before takes longer than most tests.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}-{next(_COUNT)}", numbered=False)


@pytest.fixture(autouse=True)
def _scratch_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMEX_DATA_DIR", str(tmp_path / "memex"))
    monkeypatch.setenv("TZ", "UTC")
    for name in _FOREIGN:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The memory root of this test; it does not exist yet."""
    return tmp_path / "memex"
