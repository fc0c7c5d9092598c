from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memex_core.config import Bm25Config, LLMConfig, MemexConfig, load_config, root_and_config
from memex_core.config.settings import sections
from memex_core.errors import ConfigError

OVERRIDES = ("MEMEX_LLM_PROVIDER", "MEMEX_LLM_MODEL", "MEMEX_LOG_LEVEL")


@pytest.fixture(autouse=True)
def _no_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*OVERRIDES, "MEMEX_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


def put(root: Path, text: str | bytes) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    path = root / "memex.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def refusal(root: Path, text: str | bytes, env: dict[str, str] | None = None) -> str:
    put(root, text)
    with pytest.raises(ConfigError) as caught:
        load_config(root, env)
    assert caught.value.hint and len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_without_a_file_the_defaults_hold(root: Path) -> None:
    assert load_config(root) == MemexConfig()
    assert load_config(root).llm.provider == "ollama"


def test_the_file_of_the_specification_is_read_to_the_last_key(root: Path) -> None:
    put(
        root,
        '[app]\nname = "memex"\n[data_dir]\n# path = "/custom/path"\n'
        '[llm]\nprovider = "lmstudio"\nmodel = "llama3.1"\napi_base = "http://localhost:11434/v1"\n'
        'api_key = "k"\ntimeout = 61\nmax_tokens = 4097\n'
        "[bm25]\nk1 = 1.5\nb = 0.7\ndefault_top_k = 11\n"
        "[recency_decay]\nenabled = false\nhalf_life_days = 31\n"
        "[index]\nwatch_poll_interval = 61\nauto_rebuild_on_startup = true\n"
        '[wiki]\ndefault_importance = 0.6\nmax_body_chars = 50001\nslug_algo = "sha1"\n'
        '[logging]\nlevel = "DEBUG"\nfile = "~/.memex/logs/memex.log"\n',
    )
    config = load_config(root)
    assert config.llm == LLMConfig(
        "lmstudio", "llama3.1", "http://localhost:11434/v1", "k", timeout=61.0, max_tokens=4097
    )
    assert config.bm25 == Bm25Config(1.5, 0.7, 11)
    assert (config.recency_decay.enabled, config.recency_decay.half_life_days) == (False, 31.0)
    assert (config.index.watch_poll_interval, config.index.auto_rebuild_on_startup) == (61.0, True)
    assert (config.pages.default_importance, config.pages.max_body_chars) == (0.6, 50_001)
    assert config.pages.slug_algo == "sha1"
    assert (config.logging.level, config.logging.file) == ("DEBUG", "~/.memex/logs/memex.log")


def test_a_whole_number_stands_for_a_float_and_becomes_one(root: Path) -> None:
    put(root, "[llm]\ntimeout = 90\n[bm25]\nk1 = 2\n")
    config = load_config(root)
    assert (config.llm.timeout, config.bm25.k1) == (90.0, 2.0)
    assert isinstance(config.llm.timeout, float) and isinstance(config.bm25.k1, float)


def test_the_older_name_of_a_section_is_read_key_by_key_and_the_newer_one_wins(root: Path) -> None:
    put(root, "[wiki]\ndefault_importance = 0.1\nmax_body_chars = 2000\n[pages]\ndefault_importance = 0.9\n")
    pages = load_config(root).pages
    assert (pages.default_importance, pages.max_body_chars) == (0.9, 2_000)


def test_a_choice_may_be_written_in_any_case(root: Path) -> None:
    put(root, '[logging]\nlevel = "debug"\n[llm]\nprovider = "OpenAI"\n')
    config = load_config(root, {"MEMEX_LOG_LEVEL": "warning"})
    assert (config.logging.level, config.llm.provider) == ("WARNING", "openai")


def test_a_command_is_a_list_or_a_line(root: Path) -> None:
    put(root, '[llm]\ncommand = ["my-model", "two words"]\n')
    assert load_config(root).llm.command == ["my-model", "two words"]
    put(root, "[llm]\ncommand = \"my-model 'two words'\"\n")
    assert load_config(root).llm.command == ["my-model", "two words"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[bm25]\ndefault_top_k = "ten"',
            "line 2: [bm25] default_top_k must be a whole number from 1 to 100",
        ),
        ("[bm25]\ndefault_top_k = 0", "must be a whole number from 1 to 100, not 0"),
        ("[bm25]\ndefault_top_k = 1.5", "must be a whole number from 1 to 100, not 1.5"),
        ("[bm25]\ndefault_top_k = true", "must be a whole number from 1 to 100, not True"),
        ("[bm25]\nk1 = nan", "[bm25] k1 must be a number from 0 to 100, not nan"),
        ("[bm25]\nk1 = true", "[bm25] k1 must be a number"),
        ("[bm25]\nb = 1.01", "[bm25] b must be a number from 0 to 1, not 1.01"),
        ("[bm25]\nb = inf", "[bm25] b must be a number from 0 to 1, not inf"),
        (f"[llm]\ntimeout = 0x{'f' * 5000}", "[llm] timeout must be a number from 1 to 3600, not so long"),
        ('[extract]\nenabled = "yes"', "[extract] enabled must be true or false, not 'yes'"),
        ("[extract]\nenabled = 1", "[extract] enabled must be true or false, not 1"),
        ('[logging]\nlevel = "LOUD"', "level must be one of DEBUG, INFO, WARNING, ERROR, not 'LOUD'"),
        ('[llm]\nprovider = "gpt"', "must be one of openai, anthropic, ollama, lmstudio, command"),
        ("[llm]\nmodel = 3", "[llm] model must be text in one line, not 3"),
        ('[llm]\nmodel = """a\nb"""', "[llm] model must be text in one line, not 'a\\nb'"),
        ('[logging]\nfile = "a\\u0000b"', "[logging] file must be text in one line"),
        ('[llm]\napi_base = "localhost"', "must be an address that begins with http:// or https://"),
        ('[llm]\ncommand = "my \'model"', "[llm] command must be a list of texts, or one command line"),
        ("[llm]\ncommand = [1]", "[llm] command must be a list of texts, or one command line, not a list"),
        ("[llm]\nmodel = 2020-01-01", "[llm] model must be text in one line, not 2020-01-01"),
        (f"[llm]\nmodel.{'a.' * 2000}b = 1", "[llm] model must be text in one line, not a table"),
        ('[app]\nname = "../x"', "[app] name must be a plain name such as memex"),
        ('[app]\nname = ""', "[app] name must be a plain name"),
        ('[data_dir]\npath = "~other/x"', "[data_dir] path must be a path"),
        ("[wiki]\ndefault_importance = 7", "line 2: [wiki] default_importance must be a number from 0 to 1"),
        ("bm25 = 3", "line 1: [bm25] must be a table"),
        ("[[bm25]]\nk1 = 3", "line 1: [bm25] must be a table"),
        ('wiki = "x"', "line 1: [wiki] must be a table"),
        ("\n\nbm25.b = 2", "line 3: [bm25] b must be"),
        ("bm25 = {b = 2}", "line 1: [bm25] b must be"),
        ("[ 'bm25' ]\n\"b\" = 2", "line 2: [bm25] b must be"),
    ],
)
def test_a_value_that_cannot_act_is_named_by_file_place_and_what_is_wanted(
    root: Path, text: str, said: str
) -> None:
    message = refusal(root, text)
    assert message.startswith(str(root / "memex.toml")) and said in message
    assert len(message) < len(str(root)) + 250


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[recall\n", "line 1, column 8"),
        ("[bm25]\nk1 = \n", "line 2, column "),
        ("[bm25]\n\n\nk1 = 1\nk1 = 2\n", "line 5, column "),
        ("[bm25] k1 = 1\n", "line 1, column "),
        ('[llm]\nmodel = "a\n', "line 2, column 11"),
        (b'[llm]\nmodel = "\xff"\n', "line 2, column 10: this is no UTF-8"),
    ],
)
def test_a_broken_file_is_named_by_line_and_column(root: Path, text: str | bytes, place: str) -> None:
    message = refusal(root, text)
    assert message.startswith(f"{root / 'memex.toml'}, ") and place in message


def test_the_line_is_not_that_of_a_text_that_looks_like_it(root: Path) -> None:
    message = refusal(root, "x = '''\n[bm25]\nb = 2\n'''\n[llm.bm25]\nb = 2\n[bm25]\nb = 2\n")
    assert "line 8: [bm25] b" in message


def test_a_byte_order_mark_and_crlf_are_read(root: Path) -> None:
    put(root, b"\xef\xbb\xbf[bm25]\r\ndefault_top_k = 7\r\n")
    assert load_config(root).bm25.default_top_k == 7


@pytest.mark.parametrize("text", [f"a = {'9' * 5000}", f"a = {'[' * 5000}", f"a = {'{a=' * 5000}"])
def test_what_the_parser_gives_up_on_is_an_error_of_the_file(root: Path, text: str) -> None:
    assert refusal(root, text).startswith(str(root / "memex.toml"))


def test_a_key_is_never_repeated(root: Path) -> None:
    assert "sk-secret" not in refusal(root, '[llm]\napi_key = ["sk-secret"]')
    assert "sk-secret" not in refusal(root, '[llm]\napi_key = "sk-secret\\n"')
    put(root, "")
    with pytest.raises(ConfigError, match=r"\AMEMEX_API_KEY must be text in one line\Z"):
        load_config(root, {"MEMEX_API_KEY": "sk-sec\nret"})


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    root.mkdir()
    os.mkfifo(root / "memex.toml")
    code = (
        "import pathlib, sys; from memex_core import config; from memex_core.errors import ConfigError\n"
        "try: config.load_config(pathlib.Path(sys.argv[1]))\nexcept ConfigError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout == f"{root / 'memex.toml'}: not a regular file\n"


def test_a_folder_is_no_configuration(root: Path) -> None:
    (root / "memex.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_config(root)


def test_a_huge_file_is_refused_unread(root: Path) -> None:
    path = put(root, "")
    with path.open("wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(ConfigError, match="larger than 64 KiB"):
        load_config(root)


def test_a_file_in_place_of_the_memory_is_named(root: Path) -> None:
    root.write_text("no folder", "utf-8")
    with pytest.raises(ConfigError, match="Not a directory"):
        load_config(root)


def test_the_configuration_may_be_a_link_to_a_file_elsewhere(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles.toml"
    elsewhere.write_text("[bm25]\ndefault_top_k = 3\n", "utf-8")
    root.mkdir()
    (root / "memex.toml").symlink_to(elsewhere)
    assert load_config(root).bm25.default_top_k == 3


@pytest.mark.parametrize(
    ("variable", "section", "key", "value"),
    [
        ("MEMEX_API_KEY", "llm", "api_key", "sk-1"),
        ("MEMEX_LLM_PROVIDER", "llm", "provider", "anthropic"),
        ("MEMEX_LLM_MODEL", "llm", "model", "m"),
        ("MEMEX_LOG_LEVEL", "logging", "level", "ERROR"),
        ("MEMEX_DATA_DIR", "data_dir", "path", "/elsewhere"),
    ],
)
def test_a_variable_overrides_the_file_and_an_empty_one_does_not(
    root: Path, variable: str, section: str, key: str, value: str
) -> None:
    in_file = {"provider": "openai", "level": "DEBUG"}.get(key, "in the file")
    put(root, f'[{section}]\n{key} = "{in_file}"\n')

    def got(env: dict[str, str]) -> Any:
        return getattr(getattr(load_config(root, env), section), key)

    assert got({variable: value}) == value
    assert got({variable: ""}) == got({}) == in_file


def test_the_environment_of_the_process_is_asked_by_itself(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEX_LLM_MODEL", "from-the-shell")
    assert load_config(root).llm.model == "from-the-shell"


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("MEMEX_LLM_PROVIDER", "gpt", "one of openai, anthropic, ollama, lmstudio, command, not 'gpt'"),
        ("MEMEX_LOG_LEVEL", "LOUD", "one of DEBUG, INFO, WARNING, ERROR, not 'LOUD'"),
        ("MEMEX_LLM_MODEL", "a\nb", "text in one line, not 'a\\nb'"),
        ("MEMEX_LLM_MODEL", "\udcff", "text in one line, not '\\udcff'"),
    ],
)
def test_a_bad_variable_is_named(root: Path, variable: str, value: str, wanted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(root, {variable: value})
    assert str(caught.value) == f"{variable} must be {wanted}"


def test_the_option_of_a_door_comes_before_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEX_DATA_DIR", str(tmp_path / "variable"))
    put(tmp_path / "option", "[bm25]\ndefault_top_k = 4\n")
    root, config = root_and_config(str(tmp_path / "option"))
    assert root == tmp_path / "option" and config.bm25.default_top_k == 4
    assert config.data_dir.path == str(tmp_path / "option")
    assert root_and_config()[0] == tmp_path / "variable"


def test_every_key_says_what_it_does_and_what_may_stand_there() -> None:
    for section, keys in sections().items():
        for name, key in keys.items():
            assert key.metadata["doc"].endswith("."), f"[{section}] {name}"
            if str(key.type).startswith(("int", "float")):
                assert key.metadata["range"], f"[{section}] {name}"
