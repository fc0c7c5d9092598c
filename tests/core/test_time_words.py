"""Which days a text means: the tables of fixtures/time_words, seen from two days; what any text gives."""

from __future__ import annotations

import json
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text.chinese_lookalikes import CHINESE_LOOKALIKES
from memex_core.text.time_words import time_window

FIXTURES = Path(__file__).parent.parent / "fixtures"
WEDNESDAY, FRIDAY = date(2026, 3, 11), date(2026, 7, 24)
CASES = json.loads((FIXTURES / "wikimem" / "cases.json").read_text("utf-8"))
DEVIATIONS = {
    # Wrong windows of wikimem; the right ones.
    "p-wrong-十五天前": "2026-02-24",
    "p-wrong-2024年3月1日": "2024-03-01",
    "p-wrong-早上月亮": "-",
    "p-wrong-the day before yesterday": "2026-03-09",
    # wikimem does not know it; we do.
    "p-last week": "2026-03-02..2026-03-08",
}
ANY_TEXT = st.text(st.characters(categories=None), max_size=200)
ANY_DAY = st.dates()
PIECES = """
the a in on of to and since from between until before after last this next past ago today yesterday tomorrow
day days week weeks month year weekend Monday friday Mon July may March Sept. 21 21st 2025 2026-07-21
2026-02-30 99999999 9999 0 two twenty couple half Q3 .. - , . ` early mid every night or so now
上 下 个 周 五 天 月 日 号 年 前 后 以来 之前 去年 今天 前天 三 十 两 百 7月21日 2025年 最近 过去 从 到 和
之间 星期 礼拜 末 季度 第 每 大 的
"""
TIME_TALK = st.lists(
    st.sampled_from([*PIECES.split(), *CHINESE_LOOKALIKES]).flatmap(
        lambda piece: st.sampled_from([piece, f"{piece} "])
    ),
    max_size=12,
).map("".join)


def rows(name: str) -> list[Any]:
    lines = (FIXTURES / "time_words" / name).read_text("utf-8").splitlines()
    return [pytest.param(*line.split("\t"), id=line.split("\t")[0]) for line in lines if line[0] != "#"]


def shown(text: str, today: date) -> str:
    window = time_window(text, today)
    if window is None:
        return "-"
    return f"{window.start}" if window.start == window.end else f"{window.start}..{window.end}"


@pytest.mark.parametrize(("text", "wednesday", "friday", "words"), rows("english.tsv") + rows("chinese.tsv"))
def test_a_time_opens_its_days(text: str, wednesday: str, friday: str, words: str) -> None:
    assert (shown(text, WEDNESDAY), shown(text, FRIDAY)) == (wednesday, friday)
    window = time_window(text, WEDNESDAY)
    assert window is not None and window.words == words


@pytest.mark.parametrize("text", rows("nothing.txt"))
def test_what_only_looks_like_a_time_opens_nothing(text: str) -> None:
    assert time_window(text, WEDNESDAY) is time_window(text, FRIDAY) is None


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == "time"]
)
def test_a_window_of_wikimem_is_ours_unless_it_is_wrong(case: dict[str, Any]) -> None:
    start, end = case["want"] or ("-", "-")
    assert (case["id"] in DEVIATIONS) >= case["quirk"]
    assert shown(case["text"], WEDNESDAY) == DEVIATIONS.get(
        case["id"], start if start == end else f"{start}..{end}"
    )


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("this week, or from Monday to Tuesday?", "2026-03-09..2026-03-10"),
        ("yesterday: what changed since last week?", "2026-03-02..2026-03-11"),
        ("yesterday we spoke of 2026-01-05", "2026-01-05"),
        ("昨天提到的 2026-01-05 那次", "2026-01-05"),
        ("today I go on with what we did last week", "2026-03-02..2026-03-08"),
        ("今天接着做上周的事", "2026-03-02..2026-03-08"),
        ("this month, this week, today", "2026-03-11"),
        ("last month, last week, yesterday", "2026-03-10"),
        ("3 days ago or yesterday", "2026-03-08"),
        ("not before Monday, but on Tuesday", "2026-03-10"),
        ("in 2030-02-30 or last week", "2026-03-02..2026-03-08"),
    ],
)
def test_of_several_times_a_range_then_a_date_then_the_past_then_the_narrowest_is_meant(
    text: str, window: str
) -> None:
    assert shown(text, WEDNESDAY) == window


@pytest.mark.parametrize(
    ("text", "today", "window"),
    [
        ("Monday", date(2026, 3, 9), "2026-03-02"),
        ("this Monday", date(2026, 3, 9), "2026-03-09"),
        ("周一", date(2026, 3, 9), "2026-03-02"),
        ("last week", date(2026, 3, 9), "2026-03-02..2026-03-08"),
        ("last week", date(2026, 3, 15), "2026-03-02..2026-03-08"),
        ("last weekend", date(2026, 3, 15), "2026-03-07..2026-03-08"),
        ("上个月", date(2026, 1, 15), "2025-12-01..2025-12-31"),
        ("last month", date(2024, 3, 31), "2024-02-01..2024-02-29"),
        ("the past month", date(2024, 3, 31), "2024-02-29..2024-03-31"),
        ("last quarter", date(2026, 1, 1), "2025-10-01..2025-12-31"),
        ("last year", date(2024, 2, 29), "2023-01-01..2023-12-31"),
        ("a year ago today", date(2024, 2, 29), "2023-02-28"),
        ("February 29", date(2024, 2, 29), "2024-02-29"),
        ("2月29日", date(2024, 2, 28), "2020-02-29"),
        ("in December", date(2025, 12, 31), "2025-12-01..2025-12-31"),
        ("last December", date(2025, 12, 31), "2024-12-01..2024-12-31"),
        ("on the 31st", date(2026, 3, 1), "2026-01-31"),
        ("since Friday", date(2026, 7, 25), "2026-07-24..2026-07-25"),
        ("yesterday", date(1, 1, 1), "-"),
        ("上周", date(1, 1, 1), "-"),
        ("tomorrow", date(9999, 12, 31), "-"),
        ("this week", date(9999, 12, 31), "-"),
        ("this year", date(9999, 12, 31), "9999-01-01..9999-12-31"),
        ("last 3 days", date(1, 1, 2), "-"),
        ("25年7月", date(1999, 1, 1), "1925-07-01..1925-07-31"),
    ],
)
def test_the_calendar_is_right_at_its_edges(text: str, today: date, window: str) -> None:
    assert shown(text, today) == window


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("Monday.com setup, what did we do on Monday?", "Monday.com setup, what did we do on "),
        ("the yesterday.py of   yesterday", "the yesterday.py of   "),
        ("`last week` and last week", "`last week` and "),
        ("以前天天跑步，前天呢", "以前天天跑步，"),
    ],
)
def test_the_words_are_found_where_they_mean_a_time(text: str, before: str) -> None:
    window = time_window(text, WEDNESDAY)
    assert window is not None and window.place == (len(before), len(before) + len(window.words))


@settings(deadline=None, max_examples=150)
@given(st.one_of(ANY_TEXT, TIME_TALK), ANY_DAY)
def test_any_text_on_any_day_gives_a_sound_window_or_none(text: str, today: date) -> None:
    window = time_window(text, today)
    if window is not None:
        assert date.min <= window.start <= window.end <= date.max
        assert window.words and window.words == text[slice(*window.place)]


@settings(deadline=None, max_examples=100)
@given(st.dates(date(1000, 1, 1)), ANY_DAY)
def test_every_date_in_digits_is_that_day(day: date, today: date) -> None:
    for text in (f"on {day.isoformat()}.", f"记录{day.year}年{day.month}月{day.day}日", f"({day:%Y/%m/%d})"):
        assert shown(text, today) == day.isoformat()


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 3000), st.dates(date(1900, 1, 1), date(2100, 1, 1)))
def test_days_ago_are_that_many_days_ago(number: int, today: date) -> None:
    day = (today - timedelta(days=number)).isoformat()
    assert shown(f"what happened {number} days ago?", today) == shown(f"{number}天前发生了什么", today) == day


@settings(deadline=None, max_examples=100)
@given(ANY_DAY)
def test_a_date_without_a_year_is_never_in_the_future(today: date) -> None:
    for text in ("July 21", "7月21日", "21 July", "in July", "七月", "Monday", "周一"):
        window = time_window(text, today)
        assert window is None or window.start <= today
        assert window is not None or today < date(9, 1, 1)


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from([row.values for row in rows("english.tsv")]),
    st.sampled_from(["{}", "so, {}?", "({})", "我说{}。"]),
)
def test_what_stands_around_a_time_does_not_change_it(row: tuple[str, ...], around: str) -> None:
    assert shown(around.format(row[0]), WEDNESDAY) == row[1]


LONG = (
    "last |a |1|1 |q1 |in the |July |2025 |2026-07-21 to |`|`a|every single |twenty |from | |last         "
    "|二|上|1月|过去|每|前天"
)


@pytest.mark.parametrize("piece", LONG.split("|"))
def test_a_long_text_takes_time_in_proportion(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size]
        begun = time.process_time()
        time_window(text, WEDNESDAY)
        return time.process_time() - begun

    seconds(100)
    assert seconds(64_000) < 8 * max(min(seconds(16_000), seconds(16_000)), 0.01)
