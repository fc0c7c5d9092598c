"""A date alone is a day of this machine's zone, for pages as for events."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from wiki_and_diary import WikiAndDiary


@pytest.mark.parametrize(("zone", "is_found"), [("Etc/GMT+12", True), ("UTC", False), ("Asia/Tokyo", False)])
def test_the_last_day_of_a_range_ends_when_it_ends_here(
    root: Path, monkeypatch: pytest.MonkeyPatch, zone: str, is_found: bool
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        memory = WikiAndDiary(root)
        memory.write("Apple", "an apple", updated="2026-03-11T03:00:00Z")
        found = memory.slugs("apple", time_range=(None, "2026-03-10"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found == (["apple"] if is_found else [])
