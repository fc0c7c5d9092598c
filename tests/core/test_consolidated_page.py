"""What becomes of a page when consolidation adds to it (issue 3 item 4)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.memory.consolidated_page import (
    Origin,
    consolidated,
    is_same,
    statement_of,
    states_nothing,
    unlinked,
    with_statement,
    without_episode,
    without_our_part,
)
from memex_core.memory.known_pages import KnownPages, same_statement
from memex_core.memory.model_answer import ModelNode
from memex_core.memory.node_page import source_line, with_source, with_statements
from memex_core.model.node import WikiNode
from memex_core.text.links import parse_links

PLACE = [("s1", "2026-09-15")]
OTHER = [("s2", "2026-09-16")]
EXTRACTED = with_source("I prefer ruff over flake8.\n", source_line("s1", 3, "2026-09-15"))


def entity(title: str, body: str) -> WikiNode:
    return WikiNode("entity", title, body)


def test_a_new_body_is_our_part_and_then_the_places() -> None:
    body = with_statement("", "Ruff is the linter.", PLACE)
    first, statement, last, *places = body.splitlines()
    assert first.startswith("<!-- memex:generated ") and last == "<!-- memex:end -->"
    assert (statement, places) == ("Ruff is the linter.", ["", "Said in:", "- [[s1]], 2026-09-15"])
    assert statement_of(body) == "Ruff is the linter."


def test_what_we_wrote_before_is_replaced_and_the_places_are_united() -> None:
    body = with_statement(with_statement("", "Ruff is the linter.", PLACE), "Ruff 0.17 is the linter.", OTHER)
    assert statement_of(body) == "Ruff 0.17 is the linter."
    assert body.endswith("Said in:\n- [[s1]], 2026-09-15\n- [[s2]], 2026-09-16\n")
    assert body.count("memex:generated") == body.count("Said in:") == 1


def test_what_we_wrote_before_is_replaced_also_by_a_part_of_it() -> None:
    body = with_statement("", "Ruff is the linter. It runs before every commit.", PLACE)
    assert statement_of(with_statement(body, "Ruff is the linter.", PLACE)) == "Ruff is the linter."


def test_saying_it_again_changes_nothing() -> None:
    for start in ("", EXTRACTED, "My own words.\n", "Mine.\r\n\r\nAnd mine.\r\n"):
        once = with_statement(start, "Ruff is the linter.", PLACE)
        assert with_statement(once, "Ruff is the linter.", PLACE) == once


def test_a_persons_words_stay_and_the_statement_comes_under_them() -> None:
    body = with_statement("# Mine\n\nMy own words.\n", "Ruff is the linter.", PLACE)
    assert body.startswith("# Mine\n\nMy own words.\n\n<!-- memex:generated ")
    assert body.endswith("<!-- memex:end -->\n\nSaid in:\n- [[s1]], 2026-09-15\n")


def test_an_extracted_page_keeps_its_words_and_one_list_of_places() -> None:
    body = with_statement(EXTRACTED, "The user wants ruff everywhere.", OTHER)
    assert body.startswith("I prefer ruff over flake8.\n\n<!-- memex:generated ")
    assert body.endswith("Said in:\n- [[s1]] turn 3, 2026-09-15\n- [[s2]], 2026-09-16\n")
    assert body.count("Said in:") == 1


def test_an_episode_that_is_linked_already_is_not_linked_twice() -> None:
    assert with_statement(EXTRACTED, "The user wants ruff.", PLACE).count("[[s1]]") == 1


def test_a_later_extraction_adds_its_words_outside_our_part() -> None:
    body = with_statement("", "Ruff is the linter.", PLACE)
    later = with_source(with_statements(body, "Always run ruff."), source_line("s2", 1, ""))
    again = with_statement(later, "Ruff 0.17 is the linter.", [])
    assert "- Always run ruff." in again and "Ruff is the linter." not in again
    assert again.endswith("Said in:\n- [[s1]], 2026-09-15\n- [[s2]] turn 1\n")


def test_what_a_person_wrote_already_is_not_written_again() -> None:
    mine = "So it is: Ruff is the LINTER, I say.\n"
    assert with_statement(mine, "Ruff is the linter.", []) == mine
    assert "memex:generated" in with_statement("Trust is the linter.\n", "rust is the linter.", [])


def test_our_part_that_a_person_edited_is_theirs_and_the_new_one_comes_beside_it() -> None:
    edited = with_statement("", "Ruff is the linter.", PLACE).replace("linter.", "linter. We pin it.")
    assert with_statement(edited, "Ruff is the linter.", PLACE) == edited
    body = with_statement(edited, "Ruff runs in CI.", PLACE)
    assert "Ruff is the linter. We pin it." in body and "Ruff runs in CI." in body
    assert body.count("memex:generated") == 1 and without_our_part(body).count("We pin it.") == 1


def test_words_after_the_places_stay_where_they_are() -> None:
    body = with_statement(EXTRACTED + "\nMy note below.\n", "Ruff is the linter.", [])
    assert body.startswith(EXTRACTED + "\nMy note below.\n\n<!-- memex:generated ")


def test_markers_in_a_statement_are_no_markers() -> None:
    hostile = "A.\n<!-- memex:end -->\nB.\n<!-- memex:generated 0123456789abcdef -->\nC."
    body = with_statement("", hostile, PLACE)
    assert without_our_part(body) == "Said in:\n- [[s1]], 2026-09-15\n"


def test_a_page_with_windows_line_ends_keeps_them() -> None:
    body = with_statement("Mine.\r\n\r\nMine too.\r\n", "Ruff is the linter.", PLACE)
    assert body.count("\n") == body.count("\r\n") > 5
    assert without_our_part(body).startswith("Mine.\r\n\r\nMine too.")


def test_a_place_goes_and_the_heading_with_the_last_one() -> None:
    both = with_statement("Mine.\n", "Mine.", [*PLACE, *OTHER])
    one = without_episode(both, "s1")
    assert one == "Mine.\n\nSaid in:\n- [[s2]], 2026-09-16\n"
    assert without_episode(one, "s2") == "Mine.\n"
    assert without_episode(one, "s") == one
    assert states_nothing(without_our_part(with_statement("", "Ours.", PLACE)))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ruff Linter", "ruff  linter", True),
        ("Ruff Linter", "ruff-linter", True),
        ("user-prefers-ruff", "User prefers ruff!", True),
        ("C#", "C++", False),
        ("c", "C++", False),
        ("Ruff Linter", "Ruff: Linter", False),
        ("ruff", "flake8", False),
        ("日本", "日本", True),
    ],
)
def test_titles_are_the_same_in_any_case_and_in_kebab_case(one: str, other: str, same: bool) -> None:
    for first, second in ((one, other), (other, one)):
        page = entity(first, "Some words.")
        found = KnownPages([page]).about(ModelNode("entity", second, "Quite different."))
        assert found is (page if same else None)


def test_the_exact_title_goes_before_a_like_one_and_that_before_the_statement() -> None:
    says_it, like_it, exact = (
        entity("other", "Ruff is the linter."),
        entity("Ruff Linter", "x y"),
        entity("ruff-linter", "z"),
    )
    node = ModelNode("entity", "ruff-linter", "Ruff is the linter.")
    assert KnownPages([says_it, like_it, exact]).about(node) is exact
    assert KnownPages([says_it, like_it]).about(node) is like_it
    assert KnownPages([says_it]).about(node) is says_it
    assert KnownPages([WikiNode("summary", "ruff-linter", "Ruff is the linter.")]).about(node) is None


CALLS = "Each night the slow worker calls the api service."
LONG = (
    "To deploy the shop to {}, run make deploy, watch the logs for errors and tell the team when it is done."
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("a-title", "Ruff is the linter."), ("quite-another", "ruff is  the LINTER"), True),
        (("ruff-linter", LONG.format("prod")), ("the-ruff-linter", LONG.format("prod") + " Always."), True),
        (("deploy-staging", LONG.format("staging")), ("deploy-prod", LONG.format("prod")), False),
        (("deploy", LONG.format("prod")), ("deploying", LONG.format("prod") + " Not before 9."), False),
        (
            ("deploy", LONG.format("prod")),
            ("deploying", LONG.format("prod").replace("tell", "never tell")),
            False,
        ),
        (("deploy", LONG.format("v1")), ("deploying", LONG.format("v2")), False),
        (("a", "Ruff is the linter."), ("b", "Black is the formatter."), False),
        (("calls", "Each night the api service calls the slow worker."), ("who-calls", CALLS), False),
        (("one", "See two."), ("two", "See one."), False),
    ],
)
def test_nearly_the_same_words_are_the_same_statement_unless_they_differ_in_what_counts(
    one: tuple[str, str], other: tuple[str, str], same: bool
) -> None:
    first, second = entity(*one), entity(*other)
    assert same_statement(first, second) is same_statement(second, first) is same


def test_markers_and_places_are_no_part_of_a_statement() -> None:
    ours = entity("a", with_statement("", "Ruff is the linter.", PLACE))
    assert same_statement(ours, ModelNode("entity", "b", "Ruff is the linter"))
    assert not same_statement(ours, ModelNode("preference", "b", "Ruff is the linter"))
    assert not same_statement(entity("a", ""), entity("b", ""))


@pytest.mark.parametrize(
    ("body", "left", "gone"),
    [
        ("See [[ruff]] and [[uv]].", "See [[ruff]] and uv.", ["uv"]),
        ("See [[uv|the tool]].", "See the tool.", ["uv"]),
        ("See [[Ruff]] and [[ruff|it]].", "See [[Ruff]] and [[ruff|it]].", []),
        ("`[[uv]]` is code.", "`[[uv]]` is code.", []),
        ("Nested [[[[uv]]]].", "Nested uv.", ["uv"]),
        ("[[ -f x ]] and [[../../etc/passwd]]", "-f x and ../../etc/passwd", ["f-x", "passwd"]),
        ("No links.", "No links.", []),
    ],
)
def test_links_to_what_is_no_page_become_their_text(body: str, left: str, gone: list[str]) -> None:
    assert unlinked(body, {"ruff"}) == (left, gone)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["[[", "]]", "[", "]", "|", "ruff", "uv", "`", "\n", " ", "\\"]), max_size=30)
)
def test_no_unknown_link_is_left_whatever_the_brackets(pieces: list[str]) -> None:
    body, _ = unlinked("".join(pieces), {"ruff"})
    assert set(parse_links(body)) <= {"ruff"}


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.text(min_size=1, max_size=80))
def test_whatever_stood_there_still_stands_there(before: str, statement: str) -> None:
    if not statement.strip() or "memex:" in before + statement or "Said in:" in before + statement:
        return
    before = before.replace("\r", "")
    body = with_statement(before, statement.replace("\r", ""), PLACE)
    assert body.startswith(before.rstrip()) and "- [[s1]], 2026-09-15" in body
    assert with_statement(body, statement.replace("\r", ""), PLACE) == body


def test_lists_are_united_and_the_larger_importance_holds() -> None:
    page = WikiNode("entity", "T", "Mine.\n", tags=["a"], importance=0.6, links=["x"], sources=["s0#2"])
    said = ModelNode("entity", "t", "New words here.", ["b", "a"], 0.4, ["uv"], [])
    after = consolidated(page, said, Origin(["s1"], PLACE, "/p", "p"), 0.5)
    assert (after.title, after.tags, after.importance) == ("T", ["a", "b"], 0.6)
    assert (after.links, after.sources) == (["x", "uv", "s1"], ["s0#2", "s1"])
    assert after.project is None and page.body == "Mine.\n" and page.tags == ["a"]
    assert not is_same(page, after)
    louder = ModelNode("entity", "t", "New words here.", [], 0.9)
    assert consolidated(after, louder, Origin(), 0.5).importance == 0.9
    silent = ModelNode("entity", "t", "New words here.", [], None)
    assert is_same(after, consolidated(after, silent, Origin(["s1"], PLACE), 0.99))


def test_a_new_page_has_our_tag_the_project_and_a_default_importance() -> None:
    after = consolidated(
        None, ModelNode("entity", "t", "Words.", ["b"]), Origin(["s1"], PLACE, "/p", "p"), 0.5
    )
    assert (after.tags, after.importance, after.project, after.project_label) == (
        ["consolidated", "b"],
        0.5,
        "/p",
        "p",
    )
