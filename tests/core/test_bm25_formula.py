"""k1 and b act as the formula says (DESIGN §3 row k1, b): compared with a BM25 written here, from the formula
alone. Words stand in bodies only, so that no field weight is in play.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import pytest

from memex_core.config import load_config
from memex_core.memex import Memex

PAGES = 300
VOCABULARY = 120


def made_up_words(rng: random.Random) -> list[str]:
    """Words that a stemmer leaves alone."""
    words: set[str] = set()
    while len(words) < VOCABULARY:
        words.add("".join(rng.choice("bkzmpg") + rng.choice("aou") for _ in range(3)) + "k")
    return sorted(words)


@pytest.fixture(scope="module")
def bodies() -> dict[str, list[str]]:
    """Slug -> words: short and long pages, rare and common words."""
    rng = random.Random(20)
    words = made_up_words(rng)
    weights = [1 / (rank + 1) for rank in range(len(words))]
    lengths = [rng.choice([3, 8, 20, 60, 200]) for _ in range(PAGES)]
    return {f"p{n:03d}": rng.choices(words, weights, k=length) for n, length in enumerate(lengths)}


def bm25(bodies: dict[str, list[str]], query: list[str], k1: float, b: float) -> dict[str, float]:
    average = sum(map(len, bodies.values())) / len(bodies)
    scores: dict[str, float] = {}
    for word in query:
        holding = {slug: Counter(words)[word] for slug, words in bodies.items() if word in words}
        idf = math.log(1 + (len(bodies) - len(holding) + 0.5) / (len(holding) + 0.5))
        for slug, times in holding.items():
            length = k1 * (1 - b + b * len(bodies[slug]) / average)
            scores[slug] = scores.get(slug, 0.0) + idf * times * (k1 + 1) / (times + length)
    return scores


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, bodies: dict[str, list[str]]) -> Path:
    root = tmp_path_factory.mktemp("bm25") / "memex"
    folder = root / "docs" / "entities"
    folder.mkdir(parents=True)
    for slug, words in bodies.items():
        (folder / f"{slug}.md").write_text(f"---\ntitle: {slug}\n---\n{' '.join(words)}\n", "utf-8")
    return root


@pytest.mark.parametrize(
    ("k1", "b"), [(1.5, 0.75), (1.2, 0.75), (0.9, 0.4), (0.0, 0.5), (2.0, 0.0), (2.0, 1.0), (10.0, 0.3)]
)
def test_scores_are_those_of_the_formula(
    written: Path, bodies: dict[str, list[str]], k1: float, b: float
) -> None:
    (written / "memex.toml").write_text(f"[bm25]\nk1 = {k1}\nb = {b}\n", "utf-8")
    memex = Memex(written, load_config(written))
    words = sorted({word for body in bodies.values() for word in body})
    rng = random.Random(7)
    for _ in range(12):
        query = rng.sample(words, rng.randint(1, 4))
        wanted = bm25(bodies, query, k1, b)
        hits = memex.recall(" ".join(query), top_k=100).hits
        assert len(hits) == min(100, len(wanted))
        for hit in hits:
            assert hit.score == pytest.approx(wanted[hit.slug], abs=1e-6)
        least = hits[-1].score
        assert all(
            score <= least + 1e-6 for slug, score in wanted.items() if slug not in {h.slug for h in hits}
        )


def test_k1_and_b_change_the_order(written: Path) -> None:
    orders = set()
    for k1, b in ((0.1, 0.0), (0.1, 1.0), (5.0, 0.0), (5.0, 1.0)):
        memex = Memex(written)
        memex.retriever.k1, memex.retriever.b = k1, b
        query = " ".join(made_up_words(random.Random(20))[:4])
        orders.add(tuple(hit.slug for hit in memex.retriever.retrieve(query, top_k=50)))
    assert len(orders) >= 4
