from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text.clean import clean_text
from memex_core.text.frontmatter import FrontMatterError, edit, parse, render, replace, split

ANY_TEXT = st.text(st.characters(categories=None), max_size=40)

HAND_MADE = """# my notes
aliases: [Deploy, "Ship it"]   # other names
title: 'Retry: backoff' # keep
tags:   # why
  - ops   # first
  - infra
cssclass: wide

rating: 5
nested:
  a: {b: [1, 2]}
description: |
  two
  lines
last:
"""


def test_scalars_stay_what_was_typed() -> None:
    typed = (
        "a: no\nb: 1.10\nc: 2026-01-02\nd: 0123\ne: 1:30\nf: null\ng: 'null'\nh: ~\ni: [a, null, yes]\nj:\n"
    )
    assert parse(typed) == {
        "a": "no",
        "b": "1.10",
        "c": "2026-01-02",
        "d": "0123",
        "e": "1:30",
        "f": None,
        "g": "null",
        "h": None,
        "i": ["a", None, "yes"],
        "j": None,
    }


def test_a_page_splits_at_its_fences() -> None:
    assert split("---\na: b\n---\nbody\n---\n") == ("a: b\n", "body\n---\n", "")
    assert split("\ufeff---\r\na: b\r\n---\r\nbody") == ("a: b\r\n", "body", "")
    assert split("---\n---\n") == ("", "", "")


def test_a_page_without_front_matter_is_all_body() -> None:
    assert split("# Title\n---\n") == (None, "# Title\n---\n", "")
    assert split("---\n\na ruler, not a fence\n") == (None, "---\n\na ruler, not a fence\n", "")


def test_front_matter_without_an_end_is_reported() -> None:
    front, body, problem = split("---\ntitle: x\nbody\n")
    assert front is None and body.startswith("---") and "closing" in problem


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("title: Retry: use backoff", "line 2"),
        ("title: @x", "line 2"),
        ("a: [b, c", "line"),
        ("a: &x 1\nb: *x", "anchors"),
        ("a: !!python/object/apply:os.system [id]", "tags"),
        ("a: !custom b", "tags"),
        ("base: {a: 1}\n<<: {b: 2}", "merge"),
        ("- a\n- b", "a list"),
        ("just text", "one text"),
        ("a: b\n--- \nc: d", "more than one document"),
        ("? [a, b]\n: c", "not a text"),
        ("a: " + "[" * 33 + "]" * 33, "nested"),
        ("a: " + "[" * 50_000, "nested"),
        ("- " * 30_000, "nested"),
        ("".join(" " * i + "a:\n" for i in range(300)), "nested"),
        ('a: ["]",' * 8_000, "nested"),
        ("a: " + "x" * 70_000, "64 KiB"),
        ("a: b\x01", "control characters"),
        ("a: b\n\tc: d", "line"),
    ],
)
def test_what_is_not_read_says_why_and_quickly(front: str, reason: str) -> None:
    started = time.perf_counter()
    with pytest.raises(FrontMatterError, match=reason):
        parse(front)
    assert time.perf_counter() - started < 0.5


def test_nesting_of_32_levels_is_read() -> None:
    assert parse("a: " + "[" * 31 + "]" * 31)["a"] is not None


def test_a_lone_surrogate_escape_is_replaced() -> None:
    assert parse('a: "\\ud800"') == {"a": "\ufffd"}


def test_an_edit_touches_only_the_keys_it_names() -> None:
    edited = edit(HAND_MADE, {"title": "New: title", "rating": 6})
    assert edited == HAND_MADE.replace("'Retry: backoff'", '"New: title"').replace("rating: 5", "rating: 6")


def test_a_block_list_becomes_an_inline_one_and_comments_stay() -> None:
    edited = edit(HAND_MADE, {"tags": ["z"]})
    assert 'tags: ["z"]   # why   ' not in edited
    assert 'tags: ["z"]   # why' in edited
    assert parse(edited) == parse(HAND_MADE) | {"tags": ["z"]}
    assert "cssclass: wide\n\nrating: 5\nnested:\n  a: {b: [1, 2]}" in edited


def test_a_block_text_and_an_empty_value_can_be_set() -> None:
    edited = edit(HAND_MADE, {"description": "one", "last": "x"})
    assert parse(edited) == parse(HAND_MADE) | {"description": "one", "last": "x"}
    assert edited.endswith('last: "x"\n')


def test_new_keys_go_to_the_end() -> None:
    assert edit("a: b", {"c": None, "d": ["x"]}) == 'a: b\nc: null\nd: ["x"]\n'


def test_crlf_front_matter_keeps_its_line_ends() -> None:
    front = "a: b\r\ntags:\r\n- x\r\n- y\r\nz: 1\r\n"
    assert edit(front, {"tags": ["q"], "n": 1}) == 'a: b\r\ntags: ["q"]\r\nz: 1\r\nn: 1\r\n'


def test_a_flow_mapping_is_not_edited_by_guess() -> None:
    with pytest.raises(FrontMatterError):
        edit("{a: b}", {"c": "d"})


def test_of_a_key_given_twice_the_last_counts_and_changes() -> None:
    assert parse(edit("a: x\na: y\n", {"a": "z"})) == {"a": "z"}


def test_replace_keeps_mark_and_fences() -> None:
    text = "\ufeff--- \r\na: b\r\n---\r\nold"
    assert replace(text, "a: c\r\n", "new") == "\ufeff--- \r\na: c\r\n---\r\nnew"
    assert replace("body", "a: c\n", "body") == "---\na: c\n---\nbody"


@pytest.mark.parametrize(
    "title",
    [
        "Fix: [[a]] #1 'q' \"x\" — 部署",
        "yes",
        "1.10",
        "null",
        "~",
        "",
        " x ",
        "a\nb",
        "\u2028\x85\ufeff",
        "-",
        "? a",
        "\\",
        "!t",
    ],
)
def test_titles_survive_writing_and_reading_and_writing(title: str) -> None:
    front = render({"title": title})
    assert parse(front) == {"title": title}
    assert render(parse(front)) == front


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=4))
def test_any_value_survives_in_both_readers(text: str, items: list[str]) -> None:
    front = render({"t": text, "l": items})
    expected = {"t": clean_text(text), "l": [clean_text(item) for item in items]}
    assert parse(front) == expected
    assert parse(front + "# read by yaml\n") == expected
    assert yaml.safe_load(front) == expected


KEYS = st.sampled_from(["title", "tags", "x_1", "Über", "a-b"])
PLAIN = st.sampled_from(["no", "5", "a b", "'q'", '"d: e"', "[a, b]", "", "null", "{k: v}"])
NOISE = st.sampled_from(["", "# note\n", "\n", "  # indented note\n"])


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(KEYS, PLAIN, NOISE), max_size=5, unique_by=lambda line: line[0]), KEYS, ANY_TEXT)
def test_an_edit_leaves_every_foreign_line_as_it_was(
    lines: list[tuple[str, str, str]], key: str, value: str
) -> None:
    rendered = [f"{name}: {plain}\n{noise}" for name, plain, noise in lines]
    edited = edit("".join(rendered), {key: value})
    assert parse(edited)[key] == clean_text(value)
    foreign = [text for (name, _, _), text in zip(lines, rendered, strict=True) if name != key]
    for text in foreign:
        assert text in edited
