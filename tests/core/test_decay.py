"""Importance that fades, and recalls that move into front matter (seed 000 Utility 8; DESIGN §1, §3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex_core.config import MemexConfig, RecencyDecayConfig
from memex_core.memex import Memex
from memex_core.memory.decay import RecencyDecay
from memex_core.model.node import WikiNode, WriteInput
from memex_core.store.recall_fold import fold_recalls
from memex_core.text.instant import to_iso, to_seconds

DAY = 86_400.0
START = to_seconds("2026-09-15T10:00:00Z") or 0.0


class Clock:
    """A time that the test moves."""

    def __init__(self) -> None:
        self.seconds = START

    def __call__(self) -> str:
        return to_iso(self.seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memex(root: Path, clock: Callable[[], str]) -> Memex:
    memex = Memex(root, now=clock)
    memex.write(WriteInput("entity", "Zephyr", "Zephyr is our build server.", importance=0.8))
    return memex


def importance(memex: Memex, slug: str = "zephyr") -> float:
    page = memex.read(slug)
    assert page is not None
    return page.importance


def test_importance_halves_after_one_half_life_without_an_access() -> None:
    node = WikiNode("entity", "t", "b", importance=0.8, last_access=to_iso(START))
    assert RecencyDecay(30).decay_importance(node, now=START + 30 * DAY) == pytest.approx(0.4, abs=1e-12)


def test_a_page_that_was_never_recalled_fades_since_it_was_created() -> None:
    node = WikiNode("entity", "t", "b", importance=0.8, created=to_iso(START))
    assert RecencyDecay(30).decay_importance(node, now=START + 60 * DAY) == pytest.approx(0.2, abs=1e-12)


@given(
    steps=st.lists(st.integers(1, 20 * 86_400), min_size=1, max_size=60),
    half_life=st.floats(0.5, 400),
    start=st.floats(0, 1),
)
def test_many_small_decays_end_where_one_large_one_does(
    steps: list[int], half_life: float, start: float
) -> None:
    decay = RecencyDecay(half_life)
    often = WikiNode("entity", "t", "b", importance=start, created=to_iso(START))
    once = WikiNode("entity", "t", "b", importance=start, created=to_iso(START))
    now = START
    for step in steps:
        now += step
        often.importance = decay.decay_importance(often, now=now)
        often.extra["decayed_at"] = to_iso(now)
    assert often.importance == pytest.approx(decay.decay_importance(once, now=now), abs=1e-9)


def test_daily_and_monthly_runs_over_files_end_at_the_same_value(
    tmp_path: Path, memex: Memex, clock: Clock
) -> None:
    monthly = Memex(tmp_path / "other", now=clock)
    monthly.write(WriteInput("entity", "Zephyr", "Zephyr is our build server.", importance=0.8))
    for _ in range(30):
        clock.seconds += DAY
        memex.apply_decay()
    monthly.apply_decay()
    assert importance(memex) == pytest.approx(0.4, abs=1e-9)
    assert importance(memex) == pytest.approx(importance(monthly), abs=1e-9)


@pytest.mark.parametrize("small", [0.001, 0.02])
def test_small_importances_too_end_at_the_same_value(
    tmp_path: Path, root: Path, clock: Clock, small: float
) -> None:
    daily, monthly = Memex(root, now=clock), Memex(tmp_path / "other", now=clock)
    for memory in (daily, monthly):
        memory.write(WriteInput("entity", "Zephyr", "Words.", importance=small))
    for _ in range(30):
        clock.seconds += DAY
        daily.apply_decay()
    monthly.apply_decay()
    assert importance(daily) == pytest.approx(importance(monthly), rel=1e-6)


def test_decay_says_slug_before_and_after_and_leaves_updated_alone(memex: Memex, clock: Clock) -> None:
    clock.seconds += 30 * DAY
    (change,) = memex.apply_decay()
    assert change[0] == "zephyr" and change[1:] == pytest.approx((0.8, 0.4))
    page = memex.read("zephyr")
    assert page is not None and page.updated == to_iso(START)
    assert page.extra["decayed_at"] == to_iso(clock.seconds)
    assert memex.apply_decay() == []


def test_a_dry_run_says_the_same_and_writes_nothing(memex: Memex, clock: Clock) -> None:
    memex.recall("zephyr")
    clock.seconds += 30 * DAY
    files = {path: path.read_bytes() for path in memex.root.rglob("*") if path.suffix in (".md", ".jsonl")}
    would = memex.apply_decay(dry_run=True)
    assert {path: path.read_bytes() for path in files} == files
    assert memex.apply_decay() == would


def test_a_recall_counts_as_an_access_before_it_is_folded(memex: Memex, clock: Clock) -> None:
    clock.seconds += 30 * DAY
    memex.recall("zephyr")
    clock.seconds += 30 * DAY
    memex.apply_decay()
    assert importance(memex) == pytest.approx(0.4, abs=1e-9)


def test_switched_off_it_changes_nothing(memex: Memex, clock: Clock) -> None:
    clock.seconds += 300 * DAY
    off = Memex(memex.root, MemexConfig(recency_decay=RecencyDecayConfig(enabled=False)), now=clock)
    assert off.apply_decay() == [] and importance(off) == 0.8


def test_a_page_that_cannot_be_rewritten_is_left_as_it_is(memex: Memex, clock: Clock) -> None:
    odd = memex.root / "docs" / "entities" / "odd.md"
    odd.write_text("---\ntitle: [\n---\nodd words\n", "utf-8")
    foreign = memex.root / "docs" / "loose.md"
    foreign.write_text("loose words\n", "utf-8")
    before = odd.read_bytes(), foreign.read_bytes()
    clock.seconds += 30 * DAY
    assert [change[0] for change in memex.apply_decay()] == ["zephyr"]
    assert (odd.read_bytes(), foreign.read_bytes()) == before


def test_recalls_move_into_front_matter_and_the_counts_stay(memex: Memex) -> None:
    for _ in range(3):
        memex.recall("zephyr")
    assert memex.recall("zephyr").hits[0].last_access is not None
    assert fold_recalls(memex.root, memex.store) == 1
    page = memex.read("zephyr")
    assert page is not None and page.access_count == 4 and page.last_access == to_iso(START)
    assert (memex.root / "recalls.jsonl").read_bytes() == b""
    assert _indexed_count(memex) == 4
    memex.recall("zephyr")
    assert _indexed_count(memex) == 5


def test_folding_nothing_does_nothing(memex: Memex) -> None:
    assert fold_recalls(memex.root, memex.store) == 0
    assert not (memex.root / "recalls.jsonl").exists()


@pytest.mark.parametrize("stop_before", ["write_atomic", "amend", "remove_file"])
def test_a_fold_that_was_cut_off_is_finished_and_counts_nothing_twice(
    memex: Memex, monkeypatch: pytest.MonkeyPatch, stop_before: str
) -> None:
    from memex_core.store import recall_fold

    memex.recall("zephyr")
    memex.recall("zephyr")
    real, calls = recall_fold.write_atomic, []

    def second_write_fails(path: Path, data: bytes) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(path, data)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if stop_before == "write_atomic":
            patch.setattr(recall_fold, "write_atomic", second_write_fails)
        elif stop_before == "amend":
            patch.setattr(memex.store, "amend", stop)
        else:
            patch.setattr(recall_fold, "remove_file", stop)
        with pytest.raises(KeyboardInterrupt):
            fold_recalls(memex.root, memex.store)
    memex.recall("zephyr")
    fold_recalls(memex.root, memex.store)
    page = memex.read("zephyr")
    assert page is not None and page.access_count == 3
    assert _indexed_count(memex) == 3


def test_lines_of_recalls_that_make_no_sense_are_dropped_with_the_fold(memex: Memex) -> None:
    memex.recall("zephyr")
    with (memex.root / "recalls.jsonl").open("ab") as file:
        file.write(
            b'not json\n{"ts": 1}\n{"ts": "2026-09-15T10:00:00Z", "paths": ["docs/entities/gone.md", 7]}\n'
        )
    assert fold_recalls(memex.root, memex.store) == 1


def _indexed_count(memex: Memex) -> int:
    import sqlite3

    memex.heal(force=True)
    db = sqlite3.connect(memex.root / "mem.db")
    try:
        return int(db.execute("SELECT access_count FROM wiki_index WHERE slug = 'zephyr'").fetchone()[0])
    finally:
        db.close()


def test_a_plan_that_cannot_be_read_is_dropped(memex: Memex) -> None:
    memex.recall("zephyr")
    (memex.root / ".recalls-folding.json").write_text(json.dumps({"bytes": "x"}), "utf-8")
    assert fold_recalls(memex.root, memex.store) == 1
    assert not (memex.root / ".recalls-folding.json").exists()


def test_pages_of_another_hand_are_never_rewritten_and_keep_their_counts(memex: Memex, clock: Clock) -> None:
    hand = memex.root / "docs" / "entities" / "by-hand.md"
    hand.write_text("---\ntitle: Mine\nimportance: high\nmood: 3\n---\nzephyr by hand\n", "utf-8")
    before = hand.read_bytes()
    memex.heal(force=True)
    memex.recall("zephyr")
    clock.seconds += 30 * DAY
    assert [slug for slug, _, _ in memex.apply_decay()] == ["zephyr"]
    assert hand.read_bytes() == before
    page = memex.read("by-hand")
    assert page is not None and page.access_count == 1


def test_a_run_soon_after_another_waits_and_loses_nothing(memex: Memex, clock: Clock) -> None:
    clock.seconds += 60
    assert memex.apply_decay() == []
    clock.seconds += 30 * DAY - 60
    memex.apply_decay()
    assert importance(memex) == pytest.approx(0.4, abs=1e-9)
