from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text.clean import clean_text


def test_clean_text_comes_back_as_the_same_object() -> None:
    text = "tab\tline\nreturn\r 部署 😀"
    assert clean_text(text) is text


def test_surrogate_pairs_are_joined_and_lone_ones_replaced() -> None:
    assert clean_text("a\ud83d\ude00b\ud83dc\ude00") == "a😀b\ufffdc\ufffd"


def test_nul_and_other_controls_are_dropped() -> None:
    assert clean_text("a\x00b\x1b[31mc\x07\x0b\x0c") == "ab[31mc"


@settings(deadline=None, max_examples=300)
@given(st.text(st.characters(categories=None), max_size=60))
def test_any_text_becomes_encodable_and_stays_as_it_is_then(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned
    assert not any(ord(c) < 0x20 and c not in "\t\n\r" for c in cleaned)
