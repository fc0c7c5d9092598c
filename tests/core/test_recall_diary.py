"""The diary in a recall: closed unless a window of days is open (issue 4 item 5; formats page 2.3, 5.3)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from wiki_and_diary import WikiAndDiary


@pytest.fixture
def memory(root: Path) -> WikiAndDiary:
    """Today is Wednesday, 2026-03-11."""
    memory = WikiAndDiary(root)
    memory.day("2026-03-10", ("08:30", "walked along the river"), ("21:00", "fixed the parser at work"))
    memory.day("2026-03-05", ("09:00", "wrote tests for the parser"))
    memory.write("Parser", "The parser reads files; what is to do at work.")
    memory.wiki("pets", cat="Tabby sleeps by the river.")
    return memory


YESTERDAY = ["2026-03-10#1", "2026-03-10#0"]


@pytest.mark.parametrize("query", ["river", "parser", "work lately", "目前天气", "recently", ""])
def test_without_a_time_the_diary_is_closed(memory: WikiAndDiary, query: str) -> None:
    memory.memory.heal(force=True)
    result = memory.memory.recall(query)
    assert result.window is None and all(hit.node_type != "event" for hit in result.hits)


def test_events_outside_the_window_do_not_change_a_score(memory: WikiAndDiary) -> None:
    before = [(hit.slug, hit.score) for hit in memory.hits("parser river")]
    memory.day("2026-01-01", *((f"{hour:02}:00", "parser river parser") for hour in range(20)))
    assert [(hit.slug, hit.score) for hit in memory.hits("parser river")] == before


@pytest.mark.parametrize(
    "query",
    [
        "What did I do yesterday",
        "yesterday",
        "what happened yesterday?",
        "What did I work on yesterday?",
        "what got done yesterday",
        "昨天",
        "昨天做了什么",
        "我昨天都做了什么？",
        "on 2026-03-10",
        "two days ago or yesterday",
    ],
)
def test_a_question_about_a_time_gives_its_events_the_newest_first(memory: WikiAndDiary, query: str) -> None:
    assert memory.slugs(query)[:2] == YESTERDAY


def test_an_event_tells_when_it_was_and_who_said_it(memory: WikiAndDiary) -> None:
    memory.file(
        "diary/2026-03-10.md", "## 21:00\n\nfixed it\n\n<!-- wikimem: owner=me | source=s1 | ts=T -->\n"
    )
    memory.memory.heal(force=True)
    result = memory.memory.recall("yesterday")
    (hit,) = result.hits
    assert (hit.node_type, hit.title, hit.date, hit.time) == (
        "event",
        "2026-03-10 21:00",
        "2026-03-10",
        "21:00",
    )
    assert (hit.owner, hit.sources, hit.updated, hit.snippet) == ("me", ["s1"], "T", "fixed it")
    assert hit.file_path == str(memory.root / "diary" / "2026-03-10.md")
    assert (result.window, result.window_words, result.window_widened) == (
        ("2026-03-10", "2026-03-10"),
        "yesterday",
        False,
    )


def test_events_of_the_window_compete_with_pages_and_items(memory: WikiAndDiary) -> None:
    found = memory.slugs("parser yesterday")
    assert set(found) == {"parser", "2026-03-10#1"}
    assert set(memory.slugs("river last week")) == {"pets:cat", "2026-03-05#0"}, "the week had one event"


def test_words_that_only_pages_share_do_not_hide_the_events(memory: WikiAndDiary) -> None:
    for number in range(12):
        memory.write(f"Mill {number}", "mill and mill on a river river river")
    found = memory.slugs("what did I do at the mill yesterday")
    assert len(found) == 10 and found[-2:] == YESTERDAY
    found = memory.slugs("river yesterday", top_k=4)
    assert found[-1] == "2026-03-10#0", "an event with a shared word is not outnumbered"


def test_the_words_for_a_time_are_not_searched_for(memory: WikiAndDiary) -> None:
    memory.write("Trap", "yesterday yesterday monday last week 2026-03-10")
    assert memory.slugs("yesterday") == YESTERDAY
    memory.memory.heal(force=True)
    result = memory.memory.recall("parser yesterday or on Monday of last week")
    assert result.terms == ["parser"]


def test_where_the_diary_has_nothing_to_say_the_whole_text_is_searched_for(memory: WikiAndDiary) -> None:
    memory.write("Release", "of 2026-05-08")
    assert memory.slugs("2026-05-08") == ["release"]
    memory.memory.heal(force=True)
    result = memory.memory.recall("2026-05-08")
    assert result.terms == ["2026d05d08"] and "no event in the days asked for (2026-05-08)" in result.note


def test_an_empty_window_is_widened_by_a_day_and_says_so(memory: WikiAndDiary) -> None:
    memory.memory.heal(force=True)
    result = memory.memory.recall("what did I do on 2026-03-06")
    assert [hit.slug for hit in result.hits] == ["2026-03-05#0"]
    assert result.window == ("2026-03-05", "2026-03-07") and result.window_widened
    assert "2026-03-05 to 2026-03-07" in result.note
    result = memory.memory.recall("what did I do on 2026-03-07")
    assert result.hits == [] and result.window == ("2026-03-07", "2026-03-07")
    assert "no event in the days asked for (2026-03-07)" in result.note


def test_a_range_opens_the_diary_and_filters_pages(memory: WikiAndDiary) -> None:
    memory.page("entities/old.md", "---\nupdated: 2026-01-10\n---\nparser")
    memory.page("entities/new.md", "---\nupdated: 2026-03-05\n---\nparser")
    assert set(memory.slugs("parser", time_range=("2026-03-01", "2026-03-09"))) == {"new", "2026-03-05#0"}
    assert "2026-03-10#1" in memory.slugs("parser", time_range=("2026-03-06", None))
    assert set(memory.slugs("parser", time_range=(None, "2026-02-01"))) == {"old"}
    assert memory.slugs("", time_range=("2026-03-01", "2026-03-31")) == [*YESTERDAY, "2026-03-05#0"]
    assert memory.slugs("", time_range=("2026-03-31", "2026-03-10")) == YESTERDAY, "in either order"
    with pytest.raises(ValueError, match="not a date"):
        memory.slugs("parser", time_range=("soon", None))


def test_what_a_range_did_not_ask_for_stays_out_if_anything_fits(memory: WikiAndDiary) -> None:
    memory.page("entities/new.md", "---\nupdated: 2026-03-10\n---\nquokka")
    assert memory.slugs("quokka", time_range=("2026-03-10", None)) == ["new"]


def test_a_range_with_a_time_of_day_is_cut_by_the_local_clock(
    memory: WikiAndDiary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        found = memory.slugs("", time_range=("2026-03-09T20:00:00Z", "2026-03-10T23:00:00Z"))
        cut = memory.slugs("", time_range=("2026-03-09T23:31:00Z", "2026-03-10T12:00:00Z"))
        yesterday_there = WikiAndDiary(memory.root)
        yesterday_there.memory.now = lambda: "2026-03-10T16:00:00Z"
        assert yesterday_there.slugs("yesterday") == YESTERDAY
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found == YESTERDAY and cut == YESTERDAY[:1]


@pytest.mark.parametrize(
    ("query", "options", "found"),
    [
        ("parser yesterday", {"node_type": "event"}, ["2026-03-10#1"]),
        ("parser yesterday", {"node_type": "entity"}, ["parser"]),
        ("yesterday", {"node_type": "item"}, []),
        ("yesterday", {"tags": ["x"]}, []),
    ],
)
def test_filters_hold_for_events(
    memory: WikiAndDiary, query: str, options: dict[str, object], found: list[str]
) -> None:
    assert memory.slugs(query, **options) == found


def test_events_belong_to_the_project_of_their_session(memory: WikiAndDiary) -> None:
    path = memory.root / "transcripts" / "s1.meta.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"session_id": "s1", "project": "p1"}), "utf-8")
    memory.file(
        "diary/2026-03-10.md", "## 08:00\n\nours\n\n<!-- wikimem: source=s1 -->\n\n## 09:00\n\nnot ours\n"
    )
    assert memory.slugs("yesterday", project="p1") == ["2026-03-10#0"]
    assert memory.slugs("yesterday", project="p2") == []


def test_only_events_asked_for_without_a_time_says_that_the_diary_is_closed(memory: WikiAndDiary) -> None:
    memory.memory.heal(force=True)
    result = memory.memory.recall("river", node_type="event")
    assert result.hits == [] and "diary is closed" in result.note


def test_events_of_one_minute_are_all_found(memory: WikiAndDiary) -> None:
    memory.day("2026-03-10", ("08:00", "first quokka"), ("08:00", "second quokka"), ("08:00", "third"))
    assert set(memory.slugs("quokka yesterday")) == {"2026-03-10#0", "2026-03-10#1"}
    assert memory.slugs("yesterday") == ["2026-03-10#2", "2026-03-10#1", "2026-03-10#0"]


def test_a_day_edited_by_hand_is_ordered_by_its_clock(memory: WikiAndDiary) -> None:
    memory.day("2026-03-10", ("22:00", "late"), ("9:00", "early"), ("Evening walk", "whenever"))
    assert memory.slugs("yesterday") == ["2026-03-10#2", "2026-03-10#0", "2026-03-10#1"]
    assert memory.slugs("walk yesterday") == ["2026-03-10#2"]


def test_a_day_that_no_calendar_has_is_in_a_range_that_holds_it(memory: WikiAndDiary) -> None:
    memory.day("2026-13-40", ("08:00", "quokka"))
    assert memory.slugs("quokka", time_range=("2026-12-01", None)) == ["2026-13-40#0"]


def test_an_event_brings_the_items_it_links_to(memory: WikiAndDiary) -> None:
    memory.day("2026-03-10", ("08:00", "fed [[pets:cat]]"))
    memory.memory.heal(force=True)
    result = memory.memory.recall("", time_range=("2026-03-10", "2026-03-10"))
    assert [(hit.slug, hit.source, hit.via) for hit in result.hits] == [
        ("2026-03-10#0", "hit", None),
        ("pets:cat", "link", "2026-03-10#0"),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "99999999 days ago",
        "99999999天前",
        "in the year 9999",
        "0001-01-01",
        "9999-12-31 quokka",
        "yesterday " * 500,
    ],
)
def test_no_time_is_too_far_away(memory: WikiAndDiary, query: str) -> None:
    memory.memory.heal(force=True)
    memory.memory.recall(query)
    memory.memory.recall("x", time_range=("0001-01-01", "0001-01-01"))
    memory.memory.recall("x", time_range=("9999-12-31", "9999-12-31"))


def test_events_with_equal_scores_come_newest_first(memory: WikiAndDiary) -> None:
    memory.day("2026-03-09", *((f"{hour:02}:00", "fed the dog") for hour in range(12)))
    found = memory.slugs("dog last 7 days", top_k=5)
    assert found == [f"2026-03-09#{place}" for place in (11, 10, 9, 8, 7)]


def test_a_list_of_a_time_says_how_many_events_there_are(memory: WikiAndDiary) -> None:
    memory.memory.heal(force=True)
    assert "the newest 1 of 2 events of these days" in memory.memory.recall("yesterday", top_k=1).note
    assert memory.memory.recall("yesterday").note == ""


def test_a_date_without_events_does_not_find_what_only_shares_its_numbers(memory: WikiAndDiary) -> None:
    memory.write("Numbers", "2026 and 20 and 10")
    assert memory.slugs("what did I do on 2026-10-20") == []
    assert memory.slugs("the river on 2026-10-20") == ["pets:cat"]
