"""Asking for common words only among the found pages changes no hit and no score (index/scoring.py)."""

from __future__ import annotations

import random

import pytest
from wiki_and_diary import WikiAndDiary

from memex_core.index.connection import reading
from memex_core.index.scoring import Scorer, best_of
from memex_core.index.tokens import stems_of

ITEMS = 1500


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> WikiAndDiary:
    """Items and pages whose words follow Zipf's law, as those of people do."""
    memory = WikiAndDiary(tmp_path_factory.mktemp("filled"))
    dice = random.Random(3)
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}k" for n in range(1500)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    for start in range(0, ITEMS, 100):
        items = {
            f"n{n}": " ".join(dice.choices(words, weights, k=dice.choice([4, 20, 60])))
            for n in range(start, start + 100)
        }
        memory.wiki(f"f{start:04}", **items)
    for number in range(200):
        memory.page(f"entities/p{number}.md", " ".join(dice.choices(words, weights, k=150)))
    memory.day("2026-03-10", *((f"{hour:02}:00", " ".join(words[: hour + 1])) for hour in range(20)))
    memory.sync()
    return memory


@pytest.mark.parametrize("top_k", [1, 3, 10, 50])
@pytest.mark.parametrize("diary", [False, True])
def test_the_best_are_those_of_a_whole_scan(filled: WikiAndDiary, top_k: int, diary: bool) -> None:
    dice = random.Random(top_k)
    with reading(filled.db) as db:
        vocabulary = [row[0] for row in db.execute("SELECT term FROM wiki_term_counts ORDER BY doc DESC")]
        hidden = set(dice.sample(range(1, 200), 50))
        for _ in range(25):
            common, any_word = dice.sample(vocabulary[:40], 3), dice.sample(vocabulary, dice.randint(0, 2))
            stems = stems_of([*common, *any_word])
            scorer = Scorer(db, 0.9, 0.4, diary=diary)
            whole = {
                page: score
                for page, score in scorer.best(stems, 1_000_000, None).items()
                if page not in hidden
            }
            quick = scorer.best(stems, top_k, lambda page: page not in hidden)
            assert best_of(db, quick, top_k) == best_of(db, whole, top_k)


def test_common_words_are_asked_for_among_the_found_pages_only(
    filled: WikiAndDiary, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []
    real = Scorer._gains

    def watched(self: Scorer, each: object, pages: list[int] | None) -> list[tuple[int, float]]:
        asked.append(None if pages is None else len(pages))
        return real(self, each, pages)  # type: ignore[arg-type]

    monkeypatch.setattr(Scorer, "_gains", watched)
    with reading(filled.db) as db:
        counts = db.execute("SELECT term, doc FROM wiki_term_counts ORDER BY doc DESC").fetchall()
        rare = next(term for term, documents in counts if documents < 40)
        Scorer(db, 0.9, 0.4, diary=False).best([(counts[0][0], False), (rare, False)], 10, None)
    assert asked[0] is None and asked[1] is not None and asked[1] < 40
