"""What is reported about a memex.toml, and where its values are said to come from."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_config import put

from memex_core.config import config_problems, config_values, load_config
from memex_core.config.settings import sections


def problems(root: Path, text: str, env: dict[str, str] | None = None) -> list[str]:
    path = put(root, text)
    return [line.removeprefix(str(path)) for line in config_problems(root, env or {})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[bm25]\ntop_k = 3\n", ", line 2: [bm25] top_k is no setting; did you mean default_top_k?"),
        ("[bm52]\nk1 = 3\n", ", line 1: [bm52] is no setting; did you mean bm25?"),
        ("[llm]\nk1 = 3\n", ", line 2: [llm] k1 is no setting; k1 belongs to [bm25]"),
        ("\nk1 = 3\n", ", line 2: [k1] is no setting; k1 belongs to [bm25]"),
        (
            "[recall]\nenabled = true\n",
            ", line 2: [recall] enabled is no setting; enabled belongs to [recency_decay] or [extract]",
        ),
        ("[wiki]\nslug_alg = 'x'\n", ", line 2: [wiki] slug_alg is no setting; did you mean slug_algo?"),
        ("[qqqqqq]\n", ", line 1: [qqqqqq] is no setting"),
        ("[llm.openai]\nmodel = 'x'\n", ": [llm] openai is no setting"),
        ('"a\\nb" = 1\n', ": ['a\\nb'] is no setting"),
        (
            "[wiki]\nslug_algo = 'sha1'\n[pages]\nslug_algo = 'kebab'\n",
            ", line 2: [wiki] slug_algo is also set in [pages], which holds",
        ),
    ],
)
def test_what_nobody_reads_is_reported_with_what_was_meant(root: Path, text: str, said: str) -> None:
    assert problems(root, text) == [said]
    load_config(root, {})


def test_everything_that_is_wrong_is_reported_at_once(root: Path) -> None:
    found = problems(root, "[bm25]\nk1 = -1\nb = 2\ntop = 1\n", {"MEMEX_LOG_LEVEL": "LOUD"})
    assert [line.partition(" must")[0] for line in found[:3]] == [
        ", line 2: [bm25] k1",
        ", line 3: [bm25] b",
        "MEMEX_LOG_LEVEL",
    ]
    assert "[bm25] top is no setting" in found[3] and len(found) == 4


def test_a_sound_file_has_no_problems(root: Path) -> None:
    assert problems(root, "[bm25]\nk1 = 1\n[wiki]\nslug_algo = 'sha1'\n[data_dir]\npath = ''\n") == []
    assert config_problems(root / "nothing here", {}) == []


def test_every_value_says_where_it_comes_from(root: Path) -> None:
    path = put(
        root,
        "# mine\n[bm25]\nk1 = 1\n\n[wiki]\nslug_algo = 'sha1'\n[llm]\nmodel = 'a'\nprovider = 'openai'\n",
    )
    env = {"MEMEX_LLM_MODEL": "b", "MEMEX_LOG_LEVEL": ""}
    found = {(s.section, s.key): s for s in config_values(root, env)}
    assert list(found) == [(section, key) for section, keys in sections().items() for key in keys]
    assert (found["bm25", "k1"].value, found["bm25", "k1"].origin) == (1.0, f"{path}:3")
    assert (found["pages", "slug_algo"].value, found["pages", "slug_algo"].origin) == ("sha1", f"{path}:6")
    assert (found["llm", "model"].value, found["llm", "model"].origin) == ("b", "MEMEX_LLM_MODEL")
    assert (found["llm", "provider"].value, found["llm", "provider"].origin) == ("openai", f"{path}:9")
    assert (found["logging", "level"].value, found["logging", "level"].origin) == ("INFO", "default")
    assert all(setting.doc for setting in found.values())


def test_of_two_places_that_say_the_same_the_one_that_holds_is_named(root: Path) -> None:
    path = put(root, "[pages]\nslug_algo = 'sha1'\n[wiki]\nslug_algo = 'kebab'\n")
    setting = next(s for s in config_values(root, {}) if s.key == "slug_algo")
    assert (setting.value, setting.origin) == ("sha1", f"{path}:2")


def test_an_api_key_is_said_to_be_set_and_never_shown(root: Path) -> None:
    path = put(root, '[llm]\napi_key = "sk-secret"\n')
    for env, origin in (({}, f"{path}:2"), ({"MEMEX_API_KEY": "sk-secret-2"}, "MEMEX_API_KEY")):
        settings = config_values(root, env)
        key = next(s for s in settings if s.key == "api_key")
        assert (key.value, key.origin) == ("(set)", origin) and "sk-secret" not in repr(settings)
    put(root, "")
    assert next(s for s in config_values(root, {}) if s.key == "api_key").value == ""
