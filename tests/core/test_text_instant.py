from __future__ import annotations

import pytest

from memex_core.text.instant import to_iso, to_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-02", 86400.0),
        ("1970-01-01 00:01", 60.0),
    ],
)
def test_iso_times_are_seconds(text: str, seconds: float) -> None:
    assert to_seconds(text) == seconds


@pytest.mark.parametrize("text", [None, "", "soon", "9999-99-99", "2026-02-30"])
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert to_seconds(text) is None


def test_a_date_as_an_end_means_its_last_moment() -> None:
    assert to_seconds("1970-01-01", end=True) == pytest.approx(86400, abs=1e-3)


def test_seconds_are_written_in_utc() -> None:
    assert to_iso(10.9) == "1970-01-01T00:00:10Z"
