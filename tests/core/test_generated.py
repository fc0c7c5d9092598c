"""The generated part of a page beside a person's own words (DESIGN §4 Episode page)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text.generated import merge_generated, part_digest, with_markers, without_markers


def test_a_new_page_holds_the_generated_part_between_markers() -> None:
    assert merge_generated("", "Asked: x", "") == with_markers("Asked: x")


def test_words_around_the_generated_part_survive() -> None:
    page = "My heading\n\n" + with_markers("old") + "\nMy note\n"
    merged = merge_generated(page, "new", part_digest("old"))
    assert merged.startswith("My heading\n\n") and merged.endswith("\nMy note\n")
    assert "new" in merged and "\nold\n" not in merged


def test_an_edited_generated_part_is_kept_and_the_new_one_stands_beside_it() -> None:
    page = with_markers("what we wrote").replace("what we wrote", "what a person made of it")
    merged = merge_generated(page, "newer", part_digest("what we wrote"))
    assert "what a person made of it" in merged and "newer" in merged
    assert merged.count("memex:generated") == 1


def test_an_edited_part_stays_alone_while_there_is_nothing_new_to_say() -> None:
    page = with_markers("what we wrote").replace("what we wrote", "edited")
    assert merge_generated(page, "what we wrote", part_digest("what we wrote")) == page


def test_a_part_that_a_person_deleted_does_not_come_back_unchanged() -> None:
    assert (
        merge_generated("Only mine now.\n", "what we wrote", part_digest("what we wrote"))
        == "Only mine now.\n"
    )


def test_a_page_without_its_closing_marker_loses_no_words() -> None:
    page = with_markers("what we wrote").replace("<!-- memex:end -->", "") + "mine\n"
    merged = merge_generated(page, "newer", "")
    assert "what we wrote" in merged and "mine" in merged and "newer" in merged


def test_crlf_pages_are_recognised_as_unedited() -> None:
    page = with_markers("one\n\ntwo").replace("\n", "\r\n")
    assert "three" in merge_generated(page, "three", "") and "two" not in merge_generated(page, "three", "")


def test_text_that_looks_like_a_marker_cannot_close_the_part() -> None:
    hostile = "before\n<!-- memex:end -->\nafter"
    merged = merge_generated(with_markers(hostile), "next", "")
    assert "after" not in merged


def test_a_reader_of_the_page_sees_no_markers() -> None:
    assert without_markers(f"mine\n{with_markers('ours')}").split() == ["mine", "ours"]


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_merging_twice_is_merging_once(before: str, after: str, old: str, new: str) -> None:
    page = f"{before}\n{with_markers(old)}\n{after}"
    once = merge_generated(page, new, part_digest(old))
    assert merge_generated(once, new, part_digest(new)) == once
