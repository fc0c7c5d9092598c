"""Words and meaning fused (formats page 2.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex_core.memory.fusion import fuse, stretched

SCORES = st.dictionaries(st.integers(0, 9), st.floats(1e-6, 1e6))


def test_each_signal_is_stretched_over_its_own_candidates_then_weighed() -> None:
    scores = fuse({1: 2.0, 2: 6.0, 3: 4.0}, {1: 0.9, 4: 0.1, 3: 0.5}, 0.5)
    assert scores == pytest.approx(
        {
            1: 0.5,
            2: 0.5,
            3: 0.5,
        }
    )
    assert fuse({1: 2.0, 2: 6.0}, {1: 0.9, 4: 0.1}, 0.25) == pytest.approx({1: 0.75, 2: 0.25})


def test_a_signal_with_one_candidate_or_equal_ones_gives_them_all_of_it() -> None:
    assert stretched({7: 0.2}) == {7: 1.0}
    assert stretched({7: 0.2, 8: 0.2}) == {7: 1.0, 8: 1.0}
    assert stretched({}) == {}


def test_what_words_found_last_stays_and_what_meaning_found_last_goes() -> None:
    assert fuse({1: 1.0, 2: 2.0}, {3: 0.1, 4: 0.2}, 0.5) == {1: 0.0, 2: 0.5, 4: 0.5}


@given(SCORES, SCORES, st.floats(0, 1))
def test_no_score_leaves_0_to_1_and_everything_that_words_found_has_one(
    words: dict[int, float], meaning: dict[int, float], weight: float
) -> None:
    scores = fuse(words, meaning, weight)
    assert words.keys() <= scores.keys() <= words.keys() | meaning.keys()
    assert all(0 <= score <= 1 + 1e-9 for score in scores.values())


@given(SCORES)
def test_words_alone_keep_their_order(words: dict[int, float]) -> None:
    scores = fuse(words, {}, 1.0)
    ordered = sorted(words, key=lambda page: words[page])
    assert [scores[page] for page in ordered] == sorted(scores.values())
