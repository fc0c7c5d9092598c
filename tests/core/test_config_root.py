"""Where the memory root is, and which files then hold."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from memex_core import paths
from memex_core.config import config_problems, config_values, load_config
from memex_core.errors import ConfigError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".memex").mkdir()
    return tmp_path / "home"


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def say(home: Path, text: str) -> Path:
    path = home / ".memex" / "memex.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ".memex"),
        ('[data_dir]\npath = ""\n', ".memex"),
        ('[app]\nname = "memex"\n', ".memex"),
        ('[app]\nname = "work"\n', ".work"),
        ('[data_dir]\npath = "~/notes/memory"\n', "notes/memory"),
        ('[data_dir]\npath = "notes/memory"\n', "notes/memory"),
        ('[data_dir]\npath = "~"\n', ""),
        ('[data_dir]\npath = "notes"\n[app]\nname = "work"\n', "notes"),
        ('app.name = "work"\n', ".work"),
        ("# happy to append data_dir to it\n", ".memex"),
    ],
)
def test_the_file_in_the_home_says_where_the_memory_is(
    home: Path, env: dict[str, str], text: str, place: str
) -> None:
    say(home, text)
    assert paths.data_dir(env) == home / place


def test_an_absolute_path_is_taken_as_it_is(home: Path, env: dict[str, str], tmp_path: Path) -> None:
    say(home, f"[data_dir]\npath = '{tmp_path}/far away'\n")
    assert paths.data_dir(env) == tmp_path / "far away"


def test_the_variable_comes_before_the_file(home: Path, env: dict[str, str], tmp_path: Path) -> None:
    say(home, '[data_dir]\npath = "notes"\n')
    assert paths.data_dir(env | {"MEMEX_DATA_DIR": str(tmp_path / "v")}) == tmp_path / "v"
    assert paths.data_dir(env | {"MEMEX_DATA_DIR": ""}) == home / "notes"


def test_only_the_file_in_the_home_moves_the_memory(home: Path, env: dict[str, str]) -> None:
    say(home, '[data_dir]\npath = "first"\n')
    (home / "first").mkdir()
    (home / "first" / "memex.toml").write_text('[data_dir]\npath = "second"\n', "utf-8")
    assert paths.data_dir(env) == home / "first"
    (problem,) = config_problems(home / "first", env)
    assert f"line 2: [data_dir] path acts only in {home / '.memex' / 'memex.toml'}" in problem


@pytest.mark.parametrize(
    "text",
    [
        "[data_dir\n",
        "[data_dir]\npath = 3\n",
        "data_dir = 3\n",
        '[data_dir]\npath = "~other/x"\n',
        '[data_dir]\npath = "a\\u0000b"\n',
        '[app]\nname = "../up"\n',
        '[app]\nname = "a/b"\n',
        '[app]\nname = ".."\n',
        '[app]\nname = ""\n',
        "[app]\nname = ['x']\n",
        f"app = {'[' * 5000}",
        f"app = {'9' * 5000}",
        "# app\n" + "#" * 70_000,
    ],
)
def test_a_file_that_cannot_act_moves_nothing_and_is_reported(
    home: Path, env: dict[str, str], text: str
) -> None:
    path = say(home, text)
    assert paths.data_dir(env) == home / ".memex"
    with pytest.raises(ConfigError) as caught:
        load_config(paths.data_dir(env), env)
    assert str(caught.value).startswith(str(path))
    assert config_problems(paths.data_dir(env), env) == [str(caught.value)]


def test_a_folder_a_pipe_or_no_home_at_all_move_nothing(home: Path, env: dict[str, str]) -> None:
    path = home / ".memex" / "memex.toml"
    path.mkdir()
    assert paths.data_dir(env) == home / ".memex"
    path.rmdir()
    os.mkfifo(path)
    assert paths.data_dir(env) == home / ".memex"
    assert paths.data_dir({"HOME": str(home / "nowhere")}) == home / "nowhere" / ".memex"


def test_a_file_that_says_neither_word_is_not_parsed(
    home: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tomllib", None)  # importing it would now fail
    say(home, "[bm25]\nk1 = 1.2\n")
    assert paths.data_dir(env) == home / ".memex"
    say(home, '[app]\nname = "work"\n')
    with pytest.raises(ImportError):
        paths.data_dir(env)


def test_the_file_that_moved_the_memory_holds_there_and_the_memorys_own_wins(
    home: Path, env: dict[str, str]
) -> None:
    say(home, '[app]\nname = "work"\n[bm25]\ndefault_top_k = 3\n[extract]\nenabled = false\n')
    root = paths.data_dir(env)
    config = load_config(root, env)
    assert (config.app.name, config.bm25.default_top_k, config.extract.enabled) == ("work", 3, False)
    root.mkdir()
    (root / "memex.toml").write_text("[bm25]\ndefault_top_k = 5\n", "utf-8")
    config = load_config(root, env)
    assert (config.bm25.default_top_k, config.extract.enabled) == (5, False)


def test_it_holds_there_too_when_a_variable_names_the_place(home: Path, env: dict[str, str]) -> None:
    say(home, '[app]\nname = "work"\n[bm25]\ndefault_top_k = 3\n')
    assert load_config(home / ".work", env | {"MEMEX_DATA_DIR": f"{home}/.work/"}).bm25.default_top_k == 3


def test_the_file_in_the_home_says_nothing_to_another_memory(
    home: Path, env: dict[str, str], tmp_path: Path
) -> None:
    say(home, '[app]\nname = "work"\n[bm25]\ndefault_top_k = 3\n')
    assert load_config(tmp_path / "other", env).bm25.default_top_k == 10
    say(home, "[bm25]\ndefault_top_k = 3\n")
    assert load_config(tmp_path / "other", env).bm25.default_top_k == 10


def test_an_error_names_the_file_that_holds_it(home: Path, env: dict[str, str]) -> None:
    path = say(home, '[app]\nname = "work"\n[bm25]\ndefault_top_k = 0\n')
    with pytest.raises(ConfigError, match=f"{path}, line 4"):
        load_config(home / ".work", env)


@pytest.mark.parametrize("place", ["option", "variable", "path", "name", "home"])
def test_info_says_who_chose_the_memory_root(
    home: Path, env: dict[str, str], tmp_path: Path, place: str
) -> None:
    if place == "variable":
        env |= {"MEMEX_DATA_DIR": str(tmp_path / "v")}
    if place in ("path", "name"):
        say(home, '[data_dir]\npath = "p"\n' if place == "path" else '[app]\n\nname = "p"\n')
    root = tmp_path / "o" if place == "option" else paths.data_dir(env)
    setting = next(s for s in config_values(root, env) if s.section == "data_dir")
    file = home / ".memex" / "memex.toml"
    origin = {"option": "given", "variable": "MEMEX_DATA_DIR", "path": f"{file}:2", "name": f"{file}:3"}
    assert (setting.value, setting.origin) == (str(root), origin.get(place, "default"))
