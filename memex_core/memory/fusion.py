"""Words and meaning in one ranking (formats page 2.2): each signal stretched over its own candidates, then
weighed.
"""

from __future__ import annotations

from collections.abc import Mapping


def fuse(words: Mapping[int, float], meaning: Mapping[int, float], weight: float) -> dict[int, float]:
    """The score of everything that either signal found, `weight` being the share of the words.

    What ends at 0 because it is the weakest of its signal stays if its words were asked for (wikimem drops
    it), else it is left out.
    """
    by_words, by_meaning = stretched(words), stretched(meaning)
    scores = {
        page: weight * by_words.get(page, 0.0) + (1 - weight) * by_meaning.get(page, 0.0)
        for page in by_words.keys() | by_meaning.keys()
    }
    return {page: score for page, score in scores.items() if score > 0 or page in words}


def stretched(scores: Mapping[int, float]) -> dict[int, float]:
    """The scores from 0, the least of them, to 1; equal ones are all 1, or 0 where they are not above 0."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    if high <= low:
        return {page: float(score > 0) for page, score in scores.items()}
    return {page: (score - low) / (high - low) for page, score in scores.items()}
