from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text.query_terms import MAX_TERM_CHARS, MAX_TERMS, index_terms, is_prefix, query_terms, quoted


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("", []),
        ("   \n", []),
        ("🎉 !!", []),
        ("a AND", ["a", "and"]),
        ("OR", ["or"]),
        ("what did we decide about the retry policy?", ["decide", "retry", "policy"]),
        ("POL-358", ["pol", "358", "pol358"]),
        ("don't", ["dont"]),
        ("don’t panic", ["panic"]),
        ("the user's shell", ["user", "shell"]),
        ("c++", ["cplusplus"]),
        ("C# and F#", ["csharp", "fsharp"]),
        (".net .gitignore", ["dotnet", "net", "dotgitignore", "gitignore"]),
        ("foo.bar", ["foo", "bar", "foobar"]),
        ("readFile", ["readfile", "read", "file"]),
        ("read_file", ["read", "file", "readfile"]),
        ("mcp__read_file", ["mcp", "read", "file", "mcpreadfile"]),
        ("HTTPServer2", ["httpserver2", "http", "server"]),
        ("src/app/main.py", ["src", "app", "main", "py", "srcappmainpy", "mainpy"]),
        ("ann@example.com", ["ann", "example", "com", "annexamplecom", "examplecom"]),
        ("v1.10.3", ["v1", "10", "v1d10d3"]),
        ("2026-05-08", ["2026", "05", "08", "2026d05d08"]),
        ("--no-verify", ["verify", "noverify"]),
        ("NEAR(retry, 5) title:x*", ["near", "retry", "5", "title", "titlex"]),
        ('"quoted phrase"', ["quoted", "phrase"]),
        ("部署", ["部署"]),
        ("部署方案", ["部署", "署方", "方案"]),
        ("猫", ["猫"]),
        ("重跑gen-itgc后", ["重跑", "后", "gen", "itgc", "genitgc"]),
        ("한국어 검색", ["한국", "국어", "검색"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("café", ["café"]),
        ("retry retry RETRY", ["retry"]),
    ],
)
def test_what_people_type_becomes_these_terms(typed: str, terms: list[str]) -> None:
    assert query_terms(typed) == terms


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        ("Plain words, and more.", []),
        ("fix POL-358 soon", ["pol358"]),
        ("call readFile and read_file", ["read", "file", "readfile"]),
        ("don't use c++ or foo.bar", ["dont", "cplusplus", "foobar"]),
        ("部署方案", ["部署", "署方", "方案", "案"]),
        ("重跑gen后", ["重跑", "跑", "后", "gen"]),
    ],
)
def test_the_index_also_holds_what_the_tokenizer_would_miss(written: str, terms: list[str]) -> None:
    assert index_terms(written) == terms


def test_ten_thousand_words_give_few_terms_and_keep_the_identifiers() -> None:
    words = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}" for i in range(10_000))
    terms = query_terms(f"{words} POL-358 readFile")
    assert len(terms) == MAX_TERMS
    assert {"pol358"} <= set(terms)


def test_a_term_that_was_cut_or_is_one_character_stands_for_what_begins_so() -> None:
    (term,) = query_terms("a" * 200)
    assert len(term) == MAX_TERM_CHARS
    assert is_prefix(term) and is_prefix("猫") and not is_prefix("a") and not is_prefix("部署")


def test_quoting_leaves_no_syntax() -> None:
    assert quoted(['a"b', "猫"]) == '"a""b" OR "猫"*'


@settings(deadline=None, max_examples=300)
@given(st.text(st.characters(categories=None), max_size=200))
def test_any_text_gives_clean_distinct_terms(text: str) -> None:
    terms = query_terms(text)
    assert len(terms) == len(set(terms)) <= MAX_TERMS
    assert all(0 < len(term) <= MAX_TERM_CHARS and not set(term) & set(" \"'*()-+_.:^") for term in terms)
    for term in index_terms(text):
        term.encode("utf-8")
