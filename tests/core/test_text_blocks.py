from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text.block_splice import inserted, is_ours, titled, without
from memex_core.text.blocks import (
    BREAKS,
    Provenance,
    escape,
    field_value,
    flaw_in,
    is_representable,
    item_links,
    item_name,
    normalized,
    parse,
    read_body,
    render,
    render_file,
    unescape,
)

ATOMS = (
    *(
        "## ",
        "##",
        "##  ",
        "###",
        " ",
        "\t",
        "\n",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\u3000",
        "\xa0",
        "\ufeff",
    ),
    *("\f", "\v", "\x1c", "\x1f", "\x85", "\u2028", "a", "cat", "猫", "```", "#", "\\", "\\## ", "|", "="),
    *("<!-- wikimem: ", "<!--wikimem:", "<!-- \\wikimem:", " -->", "-->", "owner=k", "ts=T", "wikimem:"),
)
texts = st.lists(st.sampled_from(ATOMS), max_size=14).map("".join)
fields = st.sampled_from([None, "user:kim", "a=b", "--", "=", "wikimem:"])
provenances = st.builds(Provenance, fields, fields, fields)


def blocks_of(text: str) -> list[tuple[str, str, Provenance]]:
    return [(section.heading, *read_body(text, section)) for section in parse(text)]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("## cat", "cat"),
        ("##\tcat  ", "cat"),
        ("##   tall \t cat", "tall \t cat"),
        ("##\u3000宽", "宽"),
        ("##\x1fcat", "cat"),
        ("## cat ##", "cat ##"),
        ("##  ", ""),
    ],
)
def test_a_heading_is_two_signs_a_space_of_any_kind_and_more(line: str, heading: str) -> None:
    assert [section.heading for section in parse(f"{line}\nx")] == [heading]


@pytest.mark.parametrize(
    "line", ["##cat", " ## cat", "### cat", "##", "## ", "# cat", "x ## cat", "\\## cat"]
)
def test_other_lines_are_content(line: str) -> None:
    assert blocks_of(f"## a\n{line}\nend") == [("a", normalized(f"{line}\nend"), Provenance())]


@pytest.mark.parametrize("end", [*BREAKS, "\r\n"])
def test_a_line_ends_where_python_ends_it(end: str) -> None:
    assert blocks_of(f"title{end}## a{end}x{end}y{end}## b{end}") == [
        ("a", "x\ny", Provenance()),
        ("b", "", Provenance()),
    ]


def test_a_byte_order_mark_hides_nothing_at_the_start_and_everything_elsewhere() -> None:
    assert [section.heading for section in parse("\ufeff## a\n\ufeff## b\nx\ufeff## c")] == ["a"]


@pytest.mark.parametrize(
    "line",
    [
        "<!-- wikimem: owner=k",
        "text <!-- wikimem: owner=k -->",
        "<!-- wikimem: owner=k --> text",
        "<!-- WIKIMEM: owner=k -->",
        "<!-- memo: owner=k -->",
        "<!--wikimem:-->x",
    ],
)
def test_a_comment_of_another_shape_is_content(line: str) -> None:
    assert blocks_of(f"## a\n{line}") == [("a", line, Provenance())]


@pytest.mark.parametrize(
    "line", ["<!--wikimem:-->", "<!-- wikimem: -->", "\u3000<!--\u3000wikimem:junk-->\u3000"]
)
def test_a_comment_that_says_nothing_is_still_swallowed(line: str) -> None:
    assert blocks_of(f"## a\nx\n{line}\ny") == [("a", "x\ny", Provenance())]


def test_an_empty_value_never_takes_the_place_of_one() -> None:
    text = "## a\n<!-- wikimem: owner=k | owner= | =x | ts = T=1 -->"
    assert blocks_of(text) == [("a", "", Provenance("k", None, "T=1"))]


def test_the_spans_of_the_blocks_tile_the_file() -> None:
    text = "# t\n\n## a\nx\n\n##  \ny\n## b"
    sections = parse(text)
    assert [text[s.start : s.end] for s in sections] == ["## a\nx\n\n", "##  \ny\n", "## b"]
    assert [text[s.start : s.body] for s in sections] == ["## a", "##  ", "## b"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["cat", "a b", "猫", "## x"]), texts.map(escape), provenances)))
def test_what_is_rendered_is_read_back(blocks: list[tuple[str, str, Provenance]]) -> None:
    text = render_file("pets", blocks)
    assert blocks_of(text) == blocks
    assert render_file("pets", blocks_of(text)) == text


@settings(max_examples=500, deadline=None)
@given(texts)
def test_content_is_representable_iff_it_is_read_back_exactly(content: str) -> None:
    text = render("a", content, Provenance("k"))
    assert is_representable(content) == (blocks_of(text) == [("a", content, Provenance("k"))])


@settings(max_examples=500, deadline=None)
@given(texts)
def test_an_escape_makes_content_representable_and_can_be_undone(content: str) -> None:
    assert is_representable(escape(content))
    assert unescape(escape(content)) == normalized(content)


def test_an_escape_shows_the_heading_and_spares_what_needs_none() -> None:
    assert (
        escape("## a\n\\## b\n<!-- wikimem: x -->\n### c") == "\\## a\n\\\\## b\n<!-- \\wikimem: x -->\n### c"
    )


def test_a_lone_surrogate_is_not_representable() -> None:
    assert not is_representable("a\ud800b")


def test_the_flaw_names_its_line() -> None:
    assert flaw_in("x\ny\n## dog\nz") == "line 3 would be read as a heading: '## dog'"
    assert flaw_in("<!-- wikimem: owner=eve -->").startswith("line 1 would be read as a metadata comment")
    assert flaw_in("### dog\n `## dog`\n<!-- note -->") == ""


@settings(max_examples=500, deadline=None)
@given(texts, st.integers(0, 5))
def test_a_block_put_in_or_taken_out_leaves_every_other_byte(text: str, index: int) -> None:
    sections = parse(text)
    place = sections[index].start if index < len(sections) else None
    after = inserted(text, render("new", "n", Provenance()), place)
    before, behind = text[:place], text[len(text) if place is None else place :]
    assert after.startswith(before) and after.endswith(behind)
    added = after[len(before) : len(after) - len(behind)]
    assert normalized(added) == "## new\n\nn"
    names = [section.heading for section in sections]
    where = len(names) if place is None else index
    assert [section.heading for section in parse(after)] == [*names[:where], "new", *names[where:]]
    new = parse(after)[where]
    assert without(after, [new]) == after[: new.start] + behind


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("## a\n", "# t\n\n## a\n"),
        ("\ufeff## a\r\n", "\ufeff# t\r\n\r\n## a\r\n"),
        ("", "# t\n\n"),
        (" \n\n", "# t\n\n"),
        ("notes\n## a\n", "notes\n## a\n"),
        ("# T", "# T"),
    ],
)
def test_a_file_gets_its_title_where_nothing_else_stands_first(text: str, after: str) -> None:
    assert titled(text, "t") == after


def test_a_title_and_empty_lines_are_no_words_of_a_person() -> None:
    assert is_ours("\ufeff# t\r\n\r\n", "t") and is_ours("", "t")
    assert not is_ours("# T\n", "t") and not is_ours("# t\n\nnote\n", "t")


def test_a_link_without_a_file_or_a_name_is_none() -> None:
    assert item_links("[[ :y]] [[x: ]] [[\u3000:\t]] [[ a : b ]]") == [("a", "b")]


@pytest.mark.parametrize(
    ("value", "kept"), [(" a|b ", "a/b"), ("|", "/"), (" \u3000", None), ("", None), (None, None)]
)
def test_a_field_holds_no_bar_and_nothing_blank(value: str | None, kept: str | None) -> None:
    assert field_value(value) == kept


def test_names_collapse_white_space() -> None:
    assert item_name(" tall \u3000\n cat ") == "tall cat"


@pytest.mark.parametrize(
    "text",
    [
        "## a\n" + " " * 100_000,
        "## a\n<!-- wikimem:" + " " * 100_000 + "x",
        "## a\n<!--" + " " * 100_000,
        "##" + " " * 100_000 + "x",
        "#" * 500_000,
        "## a\n" * 50_000,
        "## a\n" + "<!-- wikimem: owner=k -->\n" * 50_000,
        "## a\n<!-- wikimem: " + "owner=k | " * 50_000 + "-->",
        "## a\n" + "word " * 2_000_000,
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    started = time.process_time()
    blocks_of(text)
    flaw_in(text)
    unescape(escape(text))
    inserted(titled(text, "t"), render("b", "x", Provenance()))
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    "text", ["[[" * 100_000, "[[a:" * 100_000, "[[" + "a" * 200_000, "[[a:" + "b" * 200_000]
)
def test_hostile_links_take_linear_time(text: str) -> None:
    started = time.process_time()
    assert item_links(text) == []
    assert time.process_time() - started < 1.0
