"""What models answer, as it really comes (issue 3 item 4)."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.memory.loose_json import find_values
from memex_core.memory.model_answer import MAX_NODES, TYPES, ModelAnswer, parse_answer
from memex_core.text.slug import slugify


def node(title: str = "ruff-is-the-linter", /, **fields: Any) -> dict[str, Any]:
    body = "The project lints with ruff, never with flake8."
    return {"type": "entity", "title": title, "body": body, **fields}


ONE, TWO = json.dumps(node("one")), json.dumps(node("two"))
BOTH = f"[{ONE}, {TWO}]"
LOOSE = "{'type': 'entity', 'title': 'one', 'body': 'Ruff is the linter.'}"


def titles(answer: ModelAnswer) -> list[str]:
    return [each.title for each in answer.nodes]


@pytest.mark.parametrize(
    "text",
    [
        BOTH,
        json.dumps([node("one"), node("two")], indent=4),
        f"\ufeff{BOTH}",
        f"   \n\n{BOTH}\n\n",
        f"Here are the nodes:\n\n{BOTH}",
        f"{BOTH}\n\nLet me know if you need more.",
        f"```json\n{BOTH}\n```",
        f"```\n{BOTH}\n```",
        f"Sure! Here you go:\n```json\n{BOTH}\n```\nHope that helps [a lot].",
        f"~~~\n{BOTH}\n~~~",
        f"<answer>{BOTH}</answer>",
        f"I looked at the episodes [all of them] and found:\n{BOTH}",
        f"As [1] and [2] show:\n{BOTH}",
        f'I used {{curly}} and [square] brackets, and a " too.\n{BOTH}',
        f'Use {{"quoted [text: {BOTH}',
        f"[{ONE}]\n[{TWO}]",
        f"[{ONE}]\n\nand for the second episode:\n\n```json\n[{TWO}]\n```",
        f"[[{ONE}], [{TWO}]]",
        f"{ONE}\n{TWO}",
        f"{ONE},\n{TWO}",
        f"- {ONE}\n- {TWO}",
        f'{{"nodes": {BOTH}}}',
        f'{{"result": {BOTH}, "count": 2}}',
        f'{{"thoughts": "two nodes", "nodes": {BOTH}}}',
        f"[{ONE}, {TWO},]",
        f"[{ONE[:-1]},}}, {TWO}]",
        f"[{LOOSE}, {TWO}]",
        f"[{ONE}, {TWO}",
        f'{{"nodes": [{ONE}, {TWO}',
        f"[\n{ONE},\n{TWO}\n",
        f"[{ONE}\n{TWO}]",
        f"Draft: [{ONE}]\nFinal: {BOTH}",
        f"[] was my first thought, but:\n{BOTH}",
    ],
)
def test_both_nodes_are_found_in_a_whole_answer(text: str) -> None:
    answer = parse_answer(text)
    assert (sorted(titles(answer)), answer.refused, answer.state) == (["one", "two"], [], "whole")


@pytest.mark.parametrize(
    "text",
    [
        f'[{ONE}, {TWO}, {{"type": "entity", "title": "three", "bo',
        f'[{ONE}, {TWO}, {{"type": "entity", "title": "three", "body": "It ends he',
        f'[{ONE}, {TWO}, {{"type": "entity", "title": "three", "body": "It is all", "tags": ["a", "b"',
        f'[{ONE}, {TWO}, {{"type": "entity", "title": "three", "body": "It is all", "importance": 0.',
        f'[{ONE}, {TWO}, {{"type": "entity", "title": "three", "body": "An escape \\',
        f'[{ONE}, {TWO}, {{"type": "entity", "title": "three", "body": "x", "importance": nul',
        f"[{ONE}, {TWO}, {{",
        f"[{ONE}, {TWO},",
        f'{{"nodes": [{ONE}, {TWO}, {{"type',
        f"```json\n[{ONE}, {TWO}, {{",
    ],
)
def test_whole_nodes_of_an_answer_that_was_cut_off_are_kept_and_it_says_so(text: str) -> None:
    answer = parse_answer(text)
    assert (titles(answer), answer.refused, answer.state) == (["one", "two"], [], "cut")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\t ",
        "I can't help with that.",
        "I'm sorry, but I cannot process these records.",
        "I won't return [] for that, sorry.",
        "There is nothing here, not even a list like [] in it, I am afraid.",
        "null",
        "true",
        "42",
        '"a text"',
        '["one", "two"]',
        "[1, 2, 3]",
        "{}",
        '{"error": "overloaded"}',
        '{"nodes": "none"}',
        '{"a": [], "b": []}',
        '[{"type": "entity", "title": "one", "body": "It ends he',
        '{"type": "entity", "title": "one", "body": "She said "ruff" to me."}',
        "type: entity\ntitle: one\nbody: Ruff is the linter.",
        "<nodes><node>one</node></nodes>",
        "[" * 5_000,
        '{"nodes":' * 5_000,
        '[{"title": "one", "body": "x", "tags":' + "[" * 5_000,
        "]",
        "}{",
        '{"type": "entity" "title": "one"}',
        "\x00\x01\x02",
        "\ud800",
    ],
)
def test_what_holds_no_answer_is_unreadable(text: str) -> None:
    assert parse_answer(text) == ([], [], "unreadable")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        " [ ]\n",
        "```json\n[]\n```",
        "Nothing is worth keeping: []",
        "Nothing is worth keeping: `[]`.",
        "[]\n\nThe session was a one-off.",
        "I looked at all of them.\n\n[]\n\nNone of it lasts.",
        '{"nodes": []}',
        '{"nodes": [], "why": "nothing durable"}',
    ],
)
def test_no_node_is_a_valid_answer(text: str) -> None:
    assert parse_answer(text) == ([], [], "whole")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"type": "episode"}, "episodes are written from sessions"),
        ({"type": "fact"}, "type"),
        ({"type": "../entity"}, "type"),
        ({"type": None}, "type"),
        ({"type": 1}, "type"),
        ({"type": ["entity"]}, "type"),
        ({"title": ""}, "no title"),
        ({"title": "  \n "}, "no title"),
        ({"title": None}, "no title"),
        ({"title": 7}, "no title"),
        ({"title": {"text": "one"}}, "no title"),
        ({"title": "\x00\x01\u202e"}, "no title"),
        ({"title": "!!! ???"}, "no letter or digit"),
        ({"title": "x" * 201}, "longer than 200"),
        ({"body": ""}, "no body"),
        ({"body": " \n\n "}, "no body"),
        ({"body": "---"}, "no body"),
        ({"body": None}, "no body"),
        ({"body": ["a", "b"]}, "no body"),
        ({"body": "x" * 50_001}, "max_body_chars"),
        ({"importance": 1.1}, "importance"),
        ({"importance": -0.1}, "importance"),
        ({"importance": "high"}, "importance"),
        ({"importance": "0.8"}, "importance"),
        ({"importance": True}, "importance"),
        ({"importance": math.nan}, "importance"),
        ({"importance": math.inf}, "importance"),
        ({"importance": 1e300}, "importance"),
        ({"importance": [0.5]}, "importance"),
        ({"tags": 3}, "tags"),
        ({"tags": {"a": 1}}, "tags"),
        ({"links": {"a": 1}}, "links"),
        ({"links": 4}, "links"),
        ({"episodes": 1}, "episodes"),
    ],
)
def test_a_node_that_is_not_as_asked_for_is_refused_and_costs_no_other(
    fields: dict[str, Any], why: str
) -> None:
    answer = parse_answer(json.dumps([node("good"), node("bad", **fields), node("fine")]))
    assert (titles(answer), answer.state) == (["good", "fine"], "whole")
    ((_, reason),) = answer.refused
    assert why in reason


@pytest.mark.parametrize("missing", ["type", "title", "body"])
def test_a_node_without_one_of_its_three_fields_is_refused(missing: str) -> None:
    bad = {key: value for key, value in node("bad").items() if key != missing}
    assert len(parse_answer(json.dumps([bad, node("good")])).refused) == 1


@pytest.mark.parametrize("item", ["a text", 7, None, True, [], ["x"]])
def test_an_item_that_is_no_object_is_refused(item: Any) -> None:
    answer = parse_answer(json.dumps([item, node("good")]))
    assert (titles(answer), answer.refused) == (["good"], [("", "not an object")])


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"type": " Preference "}, "type", "preference"),
        ({"title": "../../etc/passwd"}, "title", "../../etc/passwd"),
        ({"title": "a\nb\tc"}, "title", "a b c"),
        ({"title": "evil\u202etxt.exe"}, "title", "evil txt.exe"),
        ({"title": "\ud800lone"}, "title", "\ufffdlone"),
        ({"title": "日本語の題"}, "title", "日本語の題"),
        ({"body": " It is so.\r\nAnd so.\x00 "}, "body", "It is so.\nAnd so."),
        ({"body": "It is so.\n\nSaid in:\n- [[x]]"}, "body", "It is so.\n\nSaid in\n- [[x]]"),
        ({"tags": ["Python", "Code Style", "code-style", "ci/cd", 7, "", "!!"]}, "tags", "TAGS"),
        ({"tags": "Python, Code Style"}, "tags", ["python", "code-style"]),
        ({"tags": None}, "tags", []),
        ({"tags": [f"t{n}" for n in range(99)]}, "tags", [f"t{n}" for n in range(20)]),
        ({"importance": 0}, "importance", 0.0),
        ({"importance": 1}, "importance", 1.0),
        ({"importance": 0.85}, "importance", 0.85),
        ({"importance": None}, "importance", None),
        ({"links": ["[[ruff]]", "uv|the tool", " black "]}, "links", ["ruff", "uv", "black"]),
        ({"links": "ruff"}, "links", ["ruff"]),
        ({"links": None}, "links", []),
        ({"episodes": "s1"}, "episodes", ["s1"]),
        ({"unknown": {"deep": [1, {"x": 2}]}}, "title", "ruff-is-the-linter"),
    ],
)
def test_what_can_be_mended_is_mended(fields: dict[str, Any], name: str, value: Any) -> None:
    (kept,) = parse_answer(json.dumps([node(**fields)])).nodes
    wanted = ["python", "code-style", "ci-cd"] if value == "TAGS" else value
    assert getattr(kept, name) == wanted


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (r'"A path C:\dir and a \d+ regex."', r"A path C:\dir and a \d+ regex."),
        (r'"It\'s fine."', r"It\'s fine."),
        ('"Two\nlines, one\ttab."', "Two\nlines, one\ttab."),
        (r'"Two\nlines, \u00e9."', "Two\nlines, é."),
        (r'"Joined \ud83d\ude00, lone \ud83d."', "Joined \U0001f600, lone \ufffd."),
        ('"A fence ```json [1] ``` inside."', "A fence ```json [1] ``` inside."),
        (r'"Brackets ]}[{ and \"quotes\"."', 'Brackets ]}[{ and "quotes".'),
        (r"'Single, with a \'quote\' and a \"double\" one.'", "Single, with a 'quote' and a \"double\" one."),
    ],
)
def test_a_body_is_read_as_it_was_meant(raw: str, body: str) -> None:
    (kept,) = parse_answer(f'[{{"type": "entity", "title": "one", "body": {raw}}}]').nodes
    assert kept.body == body


def test_a_text_with_quotes_in_it_costs_that_node_only() -> None:
    broken = '{"type": "entity", "title": "bad", "body": "She said "ruff" [loudly], twice."}'
    answer = parse_answer(f"[{ONE}, {broken}, {TWO}]")
    assert (titles(answer), answer.state) == (["one", "two"], "whole")
    assert answer.refused == [("bad", "its JSON cannot be read")]


def test_a_key_given_twice_with_two_values_is_refused() -> None:
    answer = parse_answer('[{"type": "entity", "title": "a", "body": "It is.", "body": "It is not."}]')
    assert (answer.nodes, answer.refused) == ([], [("a", "it gives body twice")])


def test_a_key_given_twice_with_one_value_is_fine() -> None:
    assert titles(parse_answer('[{"type": "entity", "title": "a", "title": "a", "body": "It is."}]')) == ["a"]


def test_of_a_draft_and_the_final_form_the_final_one_counts() -> None:
    draft, final = node("one", body="It may be ruff."), node("One", body="It is ruff.")
    answer = parse_answer(f"Draft: {json.dumps([draft])}\nFinal: {json.dumps([final])}")
    assert [each.body for each in answer.nodes] == ["It is ruff."]
    assert answer.refused == [("one", "the answer gives it again, differently")]


def test_more_nodes_than_anybody_wants_are_refused() -> None:
    answer = parse_answer(json.dumps([node(f"title {n}") for n in range(MAX_NODES + 3)]))
    assert (len(answer.nodes), len(answer.refused)) == (MAX_NODES, 3)


@pytest.mark.parametrize("depth", [10, 17, 40_000])
def test_what_is_nested_deeper_than_anybody_nests_costs_that_node_only(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    bad = f'{{"type": "entity", "title": "deep", "body": "It is.", "unknown": {deep}}}'
    answer = parse_answer(f"[{ONE}, {bad}]")
    assert titles(answer) == (["one", "deep"] if depth < 17 else ["one"])


def test_max_body_chars_is_the_callers() -> None:
    assert parse_answer(json.dumps([node(body="x" * 101)]), max_body_chars=100).nodes == []


# ------------------------------------------------------------------------------------------ whatever comes

JSONISH = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "title", "body", "tags", "importance", "links", "episodes", "x"]),
            inner | st.sampled_from([*TYPES, "episode", "one", 0.5]),
            max_size=7,
        )
    ),
    max_leaves=25,
)
MARKS = [*"[]{}\",:\\' \n", "null", "0.5", "```", '"title"', '"a"', ONE, LOOSE, "[[x]]", "é", "\ud800"]
PIECES = st.lists(st.sampled_from(MARKS), max_size=40).map("".join)


def assert_sound(answer: ModelAnswer) -> None:
    assert answer.state in ("whole", "cut", "unreadable")
    assert not (answer.state == "unreadable" and (answer.nodes or answer.refused))
    for each in answer.nodes:
        assert (
            each.type in TYPES and slugify(each.title) and "\n" not in each.title and len(each.title) <= 200
        )
        assert each.body.strip() and len(each.body) <= 50_000
        assert each.importance is None or 0 <= each.importance <= 1
        assert each.tags == [slugify(tag) for tag in each.tags]
        (each.title + each.body).encode("utf-8")


@settings(max_examples=200, deadline=None)
@given(st.text() | PIECES)
def test_no_text_raises_or_gives_a_node_that_is_none(text: str) -> None:
    assert_sound(parse_answer(text))


@settings(max_examples=200, deadline=None)
@given(JSONISH, st.integers(0, 400))
def test_no_json_raises_wherever_it_is_cut(value: Any, end: int) -> None:
    text = json.dumps(value)
    assert_sound(parse_answer(text))
    assert_sound(parse_answer(text[:end]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=8), JSONISH, max_size=4), min_size=1, max_size=4))
def test_real_json_is_read_as_json_reads_it(value: list[Any]) -> None:
    def plain(each: Any) -> Any:
        if isinstance(each, list):
            return [plain(item) for item in each]
        if isinstance(each, dict):
            return {key: plain(item) for key, item in each.items()}
        return "not finite" if isinstance(each, float) and not math.isfinite(each) else each

    text = json.dumps(value)
    (found,) = find_values(text).values
    assert plain(found.value) == plain(json.loads(text))
    assert (found.start, found.end) == (0, len(text))


HOSTILE = """[ { " ' \\ a [{ {" [" [' {"a": {"a":1}, {"[ [\\" [1, {}, "[{ {"a":"b] ] : , ```json["""


@pytest.mark.parametrize("piece", [*HOSTILE.split(), " ", "\n", "[ ", f"{ONE},"])
def test_a_megabyte_of_anything_takes_less_than_a_second(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    for answer in (text, f"[{ONE}, {text}"):
        started = time.process_time()
        parse_answer(answer)
        assert time.process_time() - started < 1.0


def test_an_answer_of_many_short_nodes_is_read_as_far_as_anybody_would_read_it() -> None:
    answer = parse_answer("[" + ",".join(json.dumps(node(f"n {n}")) for n in range(20_000)) + "]")
    assert (len(answer.nodes), answer.state) == (MAX_NODES, "cut")


def test_many_empty_lists_in_a_long_line_are_read_in_linear_time() -> None:
    started = time.process_time()
    assert parse_answer("x[]" * 49_000 + "x" * 4_000_000).state == "unreadable"
    assert time.process_time() - started < 20
