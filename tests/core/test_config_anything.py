"""Whatever stands in memex.toml, it is read or refused."""

from __future__ import annotations

import datetime
import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core import paths
from memex_core.config import config_problems, config_values, load_config
from memex_core.config.settings import sections
from memex_core.errors import ConfigError

KEYS = sorted({key for keys in sections().values() for key in keys})
NAMES = st.sampled_from([*sections(), "wiki", *KEYS, "other"])
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(0, 2**16_000).map(lambda n: 10**20 + n),
    st.floats(),
    text,
    st.sampled_from(["openai", "sha1", "DEBUG", "wal", "http://x", "~/x", "~x/y", "work", "../x", "'"]),
    st.dates(),
    st.datetimes(min_value=datetime.datetime(1000, 1, 1)),
)
values = st.recursive(scalars, lambda inside: st.lists(inside, max_size=3), max_leaves=4)


def written(value: object) -> str:
    """As TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, int) and not isinstance(value, bool):
        return hex(value) if value > 10**18 else str(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = []
    for section in draw(st.lists(NAMES, unique=True, max_size=5)):
        if draw(st.booleans()) or section in KEYS:
            lines.insert(0, f"{section} = {written(draw(values))}")
            continue
        lines.append(f"[{section}]")
        known = list(sections().get("pages" if section == "wiki" else section, KEYS))
        for key in draw(st.lists(st.sampled_from([*known, "other"]), unique=True, max_size=5)):
            lines.append(f"{key} = {written(draw(values))}")
    return "\n".join(lines)


def is_read_or_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / ".memex").mkdir()
        (home / ".memex" / "memex.toml").write_bytes(data)
        env = {"HOME": folder}
        root = paths.data_dir(env)
        assert root.is_absolute()
        problems = config_problems(root, env)
        assert all(len(line.splitlines()) == 1 for line in problems)
        try:
            load_config(root, env)
        except ConfigError as error:
            assert str(error) in problems
        else:
            assert config_values(root, env)


@given(documents())
@settings(max_examples=300, deadline=None)
def test_any_toml_is_read_or_refused(document: str) -> None:
    is_read_or_refused(document.encode("utf-8"))


@given(st.one_of(st.binary(max_size=60), st.text("[]{}=.'\"#\\ \n\tapp1-:e_m", max_size=60).map(str.encode)))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    is_read_or_refused(data)
