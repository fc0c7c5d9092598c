"""Every test has a HOME and a memory root of its own; nothing outside tmp_path is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

_FOREIGN = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_DATA_HOME",
    "MEMEX_CHILD",
    "MEMEX_API_KEY",
    "MEMEX_LLM_PROVIDER",
    "MEMEX_LLM_MODEL",
    "MEMEX_LOG_LEVEL",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "VISUAL",
    "EDITOR",
)


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
