"""docs/configuration.md."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from test_config import put

from memex_core.config import MemexConfig, config_problems, load_config
from memex_core.config.reference import reference
from memex_core.config.settings import sections

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
BLOCKS = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
WHOLE = BLOCKS[-1]


def test_the_page_is_what_the_settings_say() -> None:
    assert PAGE.read_text("utf-8") == reference(), "run `make docs`"


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_of_the_page_is_a_configuration_without_problems(block: str, tmp_path: Path) -> None:
    root, env = tmp_path / "home" / ".memex", {"HOME": str(tmp_path / "home")}
    put(root, block)
    load_config(root, env)
    assert config_problems(root, env) == []


def test_the_whole_file_names_every_key_and_changes_nothing(root: Path) -> None:
    put(root, WHOLE)
    assert load_config(root, {}) == MemexConfig()
    written = {section: set(keys) for section, keys in tomllib.loads(WHOLE).items()}
    written["bm25"] |= set(re.findall(r"^# (k1|b) = ", WHOLE, re.MULTILINE))
    assert written == {section: set(keys) for section, keys in sections().items()}


def test_there_is_a_block_for_every_provider() -> None:
    shown = {tomllib.loads(block).get("llm", {}).get("provider") for block in BLOCKS[:-1]}
    assert shown - {None} == set(sections()["llm"]["provider"].metadata["choices"])
    commands = [tomllib.loads(block).get("llm", {}).get("command") for block in BLOCKS]
    assert ["claude"] in commands and ["codex"] in commands
