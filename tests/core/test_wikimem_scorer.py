"""wikimem's tokenizer and ranking: its conformance cases, and what they do not show."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.memory.wikimem_scorer import Ranked, Ranking, est_tokens, open_window, rank, tokens
from memex_core.model.item import DiaryEvent, RecallItem

CASES = json.loads((Path(__file__).parent.parent / "fixtures" / "wikimem" / "cases.json").read_text("utf-8"))
DEVIATIONS = {
    # Two events of one minute are two events.
    "k09-same-minute-events-collapse": [
        ["2026-03-05", "08:30", "hit", "*"],
        ["2026-03-05", "08:30", "hit", "*"],
    ],
}


def of_kind(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


def item(name: str, content: str, file: str = "pets") -> RecallItem:
    return RecallItem(file, name, content)


def event(day: str, hour: str, content: str) -> DiaryEvent:
    return DiaryEvent(day, hour, content)


def place(ranked: Ranked) -> tuple[str, str]:
    found = ranked.item
    return (found.file, found.name) if isinstance(found, RecallItem) else (found.date, found.time)


def names(ranked: list[Ranked]) -> list[str]:
    return [place(line)[1] for line in ranked]


@pytest.mark.parametrize("case", of_kind("tokens"))
def test_tokens_are_those_of_wikimem(case: dict[str, Any]) -> None:
    assert tokens(case["text"]) == case["want"]


@pytest.mark.parametrize("case", of_kind("est"))
def test_a_text_costs_what_wikimem_says(case: dict[str, Any]) -> None:
    assert est_tokens(case["text"]) == case["want"]


@pytest.mark.parametrize("case", of_kind("rank"))
def test_an_answer_is_ranked_as_wikimem_ranks_it(case: dict[str, Any]) -> None:
    items = [RecallItem(*row[1:]) for row in case["store"] if row[0] == "wiki"]
    events = [DiaryEvent(*row[1:]) for row in case["store"] if row[0] == "diary"]
    options = dict(case.get("opts", {}))
    bounds = options.pop("time_range", None)
    window = open_window(events, *map(date.fromisoformat, bounds)) if bounds else None
    found = rank(items, case["query"], window_entries=window.entries if window else (), **options)
    wanted = DEVIATIONS.get(case["id"], case["want"])
    assert [[*place(line), line.source] for line in found.items] == [row[:3] for row in wanted]
    for line, (_, _, _, score) in zip(found.items, wanted, strict=True):
        if score != "*":
            assert line.score == (None if score is None else pytest.approx(score, rel=1e-12))
    assert found.unresolved_links == case.get("unresolved", found.unresolved_links)
    if "window" in case and window:
        (start, end), _, widened = case["window"]
        assert (window.start.isoformat(), window.end.isoformat(), window.widened) == (start, end, widened)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("🎉 - …", []),
        ("Retry-Policy v1.5", ["retry", "policy", "v1", "5"]),
        ("喝茶 吧", ["喝茶", "吧"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("重跑gen后", ["gen", "重跑", "后"]),
        ("人々 𠀀 ｶﾅ", ["人"]),
        ("Kelvin \u212a1", ["kelvin", "k1"]),
    ],
)
def test_words_and_pairs_are_the_tokens(text: str, terms: list[str]) -> None:
    assert tokens(text) == terms


def test_a_term_in_no_document_changes_nothing() -> None:
    items = [item("a", "red fox"), item("b", "red dog")]
    assert rank(items, "fox unheard") == rank(items, "fox")
    assert rank(items, "unheard") == Ranking()


def test_equal_scores_keep_the_order_of_the_documents() -> None:
    items = [item(name, "fox") for name in "cab"]
    assert names(rank(items, "fox").items) == ["c", "a", "b"]


def test_a_hit_says_which_terms_it_holds_and_what_it_costs() -> None:
    (line,) = rank([item("a b", "red fox 喝茶")], "fox 喝茶 red dog").items
    assert line.matched_terms == ("fox", "red", "喝茶")
    assert line.tokens == 6


def test_the_limit_counts_hits_and_not_their_links() -> None:
    items = [item("a", "fox fox [[pets:c]]"), item("b", "fox far away today and longer"), item("c", "eel")]
    assert names(rank(items, "fox", limit=1).items) == ["a", "c"]
    assert names(rank(items, "fox", limit=1, expand_links=False).items) == ["a"]
    assert rank(items, "fox", limit=0).items == rank(items, "fox", limit=-1).items == []


def test_a_link_is_followed_once_and_only_one_hop() -> None:
    items = [
        item("a", "fox fox fox [[pets:b]] [[pets:b]] [[pets:a]]"),
        item("b", "eel [[pets:c]] fox"),
        item("c", "owl"),
    ]
    found = rank(items, "fox")
    assert [(place(line)[1], line.source, line.via, line.score is None) for line in found.items] == [
        ("a", "hit", None, False),
        ("b", "link", "a", True),
    ]


def test_every_mention_of_a_missing_item_is_listed() -> None:
    found = rank([item("a", "fox [[pets:x]] [[ pets : x ]]")], "fox")
    assert found.unresolved_links == ["[[pets:x]]", "[[pets:x]]"]


def test_the_budget_cuts_the_end_and_says_what_it_dropped() -> None:
    items = [item("a", "fox"), item("b", "fox fox red"), item("c", "fox blue red x y")]
    found = rank(items, "fox", budget_tokens=6)
    assert (names(found.items), names(found.dropped), found.tokens_used) == (["b", "a"], ["c"], 6)


def test_the_first_line_survives_any_budget() -> None:
    found = rank([item("a", "fox " * 100)], "fox", budget_tokens=1)
    assert (names(found.items), found.dropped) == (["a"], [])


def test_nothing_asked_of_no_window_gives_nothing() -> None:
    assert rank([item("a", "fox")], "") == rank([], "fox") == Ranking()


def test_a_window_is_listed_newest_first_without_links_when_no_word_asks() -> None:
    events = [event("2026-03-05", "08:30", "x [[pets:a]]"), event("2026-03-05", "20:00", "y")]
    found = rank([item("a", "fox")], "…", window_entries=events)
    assert names(found.items) == ["20:00", "08:30"]
    assert names(rank([], "", window_entries=events, limit=1).items) == ["20:00"]


def test_an_empty_window_widens_by_a_day_only_where_that_helps() -> None:
    events = [event("2026-03-04", "08:00", "x"), event("2026-03-08", "08:00", "y")]
    near = open_window(events, date(2026, 3, 6), date(2026, 3, 5))
    assert (names_of(near.entries), near.start, near.end) == (["x"], date(2026, 3, 4), date(2026, 3, 7))
    assert near.widened
    far = open_window(events, date(2026, 3, 20), date(2026, 3, 21))
    assert (far.entries, far.start, far.end, far.widened) == ([], date(2026, 3, 20), date(2026, 3, 21), False)
    assert open_window(events, date(2026, 3, 4), date(2026, 3, 4)).widened is False


def names_of(events: list[DiaryEvent]) -> list[str]:
    return [each.content for each in events]


def test_a_window_at_either_end_of_the_calendar_opens() -> None:
    last = event("9999-12-31", "08:00", "x")
    assert open_window([last], date.min, date.min).entries == []
    assert open_window([last], date.max, date.max).entries == [last]


@settings(deadline=None, max_examples=150)
@given(st.text(st.characters(categories=None), max_size=100), st.text("ab 喝茶吧々[]:пｶ", max_size=40))
def test_any_text_can_be_counted_asked_and_ranked(wild: str, made: str) -> None:
    for text in (wild, made):
        assert est_tokens(text) >= len(tokens(text)) / 2
        assert all(term == term.lower() and term for term in tokens(text))
        found = rank([item("n", text)], text)
        assert len(found.items) == (1 if tokens(text) else 0)
        assert all(line.score and line.score > 0 for line in found.items)


@pytest.mark.parametrize("piece", ["[[", "[[a", "[[a:", "a:", "喝", "x", " ", "[[a:b]]"])
def test_a_long_text_takes_time_in_proportion(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        begun = time.process_time()
        rank([item("a", f"fox {text}")], "fox")
        return time.process_time() - begun

    seconds(100)
    assert seconds(400_000) < 8 * max(min(seconds(100_000), seconds(100_000)), 0.01)
