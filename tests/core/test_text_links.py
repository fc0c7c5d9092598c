from __future__ import annotations

import time

import pytest

from memex_core.text.links import link_key, name_key, parse_links


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("see [[ruff-linter]].", ["ruff-linter"]),
        ("[[Ruff Linter]] and [[RUFF-LINTER|that]]", ["ruff-linter"]),
        ("[[部署方案|plan]] ![[image]]", ["部署方案", "image"]),
        ("| [[a\\|label]] |", ["a"]),
        ("[[page#Heading]] [[C# tips]] [[Fix #1]]", ["page", "c-tips", "fix-1"]),
        ("[[entities/ruff]] [[docs/procedures/Deploy.md]]", ["entity/ruff", "procedure/deploy"]),
        ("[[A / B]]", ["a-b"]),
        ("[[🎉]]", ["🎉"]),
        ("\\[[escaped]] [[]] [[ ]] [[a]b]] [one]", []),
        ("[[two\nlines]]", []),
    ],
)
def test_links_are_known_by_their_key(text: str, keys: list[str]) -> None:
    assert parse_links(text) == keys


@pytest.mark.parametrize(
    "code",
    [
        "`[[x]]`",
        "``a ` [[x]] ` b``",
        "```py\n[[x]]\n```",
        "~~~\n[[x]]\n```\n[[x]]\n~~~",
        "   ```\n[[x]]",
        "````\n```\n[[x]]\n```\n````",
        "`two\nlines [[x]]`",
    ],
)
def test_links_in_code_are_text(code: str) -> None:
    assert parse_links(f"[[before]]\n\n{code}") == ["before"]


@pytest.mark.parametrize("text", ["` [[x]]", "`a`` [[x]]", "``` a ``` [[x]]", "`a\n\n[[x]] `"])
def test_backticks_that_close_nothing_hide_nothing(text: str) -> None:
    assert parse_links(text) == ["x"]


def test_a_title_and_the_link_to_it_share_a_key() -> None:
    for title in ("Use ruff, not flake8!", "C# tips", "Fix #1", "A / B", "🎉", "部署 方案"):
        assert link_key(title) == name_key(title)


@pytest.mark.parametrize(
    "text",
    [
        "[[" * 50_000,
        "`" * 100_000,
        "` `` ```" * 20_000,
        "[[a|" * 50_000,
        "[[" + "a" * 100_000,
        "```\n" * 50_000,
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    started = time.perf_counter()
    assert parse_links(text) == []
    assert time.perf_counter() - started < 1.0
