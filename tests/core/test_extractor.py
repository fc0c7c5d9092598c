"""NodeExtractor: titles, bodies, sources, whose words count, and time (seed 000 §7 Utility 6)."""

from __future__ import annotations

import re
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.memory.cues import default_cues, parse_cues
from memex_core.memory.extractor import PROMPT_CHARS, TITLE_CHARS, NodeExtractor
from memex_core.memory.own_words import mask, statements
from memex_core.model.node import WriteInput
from memex_core.model.session import Turn


def user(text: str, turn: int = 1) -> Turn:
    return Turn(role="user", content=text, ts="2026-01-02T03:04:05Z", turn=turn)


def agent(text: str, turn: int = 1) -> Turn:
    return Turn(role="agent", content=text, ts="", turn=turn)


def tool(name: str, query: str, result: str, turn: int = 1) -> Turn:
    return Turn(role="tool", content=name, ts="", turn=turn, tool_name=name, query=query, result=result)


def extract(text: str) -> list[WriteInput]:
    return NodeExtractor().extract_from_turn(user(text))


def titles(text: str) -> list[str]:
    return [node.title for node in extract(text)]


TABLE = [
    ("I prefer tabs over spaces.", "preference", "User preference: tabs over spaces", 0.7),
    ("I like small commits", "preference", "User preference: small commits", 0.7),
    (
        "My preference is trunk-based development.",
        "preference",
        "User preference: trunk-based development",
        0.7,
    ),
    ("I always use zsh.", "preference", "User preference: always use zsh", 0.7),
    ("Remember that staging runs Postgres 14.", "entity", "User fact: staging runs Postgres 14", 0.6),
    ("Remember to tag each release.", "entity", "User fact: tag each release", 0.6),
    ("You should know the queue is FIFO.", "entity", "User fact: the queue is FIFO", 0.6),
    ("Important: exports hold personal data.", "entity", "User fact: exports hold personal data", 0.6),
    ("Always use UTC in fixtures.", "procedure", "Rule: always use UTC in fixtures", 0.7),
    ("Never do schema changes on Fridays!", "procedure", "Rule: never do schema changes on Fridays", 0.7),
    ("The rule is: two approvals.", "procedure", "Rule: two approvals", 0.7),
    ("Use ruff for linting.", "procedure", "Rule: use ruff for linting", 0.7),
    ("Don't use lodash.", "procedure", "Rule: don't use lodash", 0.7),
    ("Redis is our session store.", "entity", "Entity: Redis", 0.5),
    ("Sarah mentioned that the lease ends in May.", "entity", "Entity: Sarah", 0.5),
    ("GitHub announced larger runners.", "entity", "Entity: GitHub", 0.5),
]


@pytest.mark.parametrize(("text", "kind", "title", "importance"), TABLE)
def test_each_cue_of_the_table_gives_its_type_title_and_importance(
    text: str, kind: str, title: str, importance: float
) -> None:
    [node] = extract(text)
    assert (node.type, node.title, node.importance) == (kind, title, importance)
    assert node.tags == ["auto-extracted"]
    assert node.sources == ["#1"]
    assert node.cue


def test_every_cue_of_the_file_has_an_id_of_its_own() -> None:
    ids = [cue.id for cue in default_cues().cues]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    "text",
    [
        "don't use lodash",
        "don’t use lodash",
        "dont use lodash",
        "DON'T use lodash.",
        "Please don't use lodash!",
    ],
)
def test_however_an_apostrophe_is_typed_the_rule_has_one_title(text: str) -> None:
    assert [title.lower() for title in titles(text)] == ["rule: don't use lodash"]


def test_case_does_not_matter_to_a_cue() -> None:
    assert titles("i PREFER tabs") == ["User preference: tabs"]


def test_a_long_statement_makes_a_title_of_eighty_characters_cut_at_a_word() -> None:
    words = "explicit configuration files with every key listed, documented and in the order of use, always"
    [node] = extract(f"I prefer {words}.")
    said = node.title.removeprefix("User preference: ")
    assert len(said) <= TITLE_CHARS
    assert words.startswith(f"{said} ")


def test_a_word_longer_than_a_title_is_cut_rather_than_lost() -> None:
    [node] = extract(f"I prefer {'x' * 200}")
    assert node.title == f"User preference: {'x' * TITLE_CHARS}"


def test_the_reason_stays_in_the_body_and_out_of_the_title() -> None:
    [node] = extract("I prefer tabs because the diffs are smaller.")
    assert node.title == "User preference: tabs"
    assert node.body == "I prefer tabs because the diffs are smaller."


def test_the_body_is_the_statement_then_the_prompt_quoted() -> None:
    [node] = extract("The upload test is flaky.\nI prefer polling over sleep. Can you fix it?")
    assert node.body == (
        "I prefer polling over sleep.\n\n"
        "> The upload test is flaky.\n> I prefer polling over sleep. Can you fix it?"
    )


def test_a_long_prompt_is_quoted_around_the_statement() -> None:
    text = "\n".join(
        ["The log is long and says little."] * 100 + ["I prefer short logs."] + ["And so on."] * 100
    )
    [node] = extract(text)
    quoted = node.body.split("\n\n", 1)[1]
    assert len(quoted.replace("> ", "")) <= PROMPT_CHARS + 10
    assert "> I prefer short logs." in quoted


def test_the_last_line_of_the_agent_before_the_prompt_is_context() -> None:
    turns = [
        agent("Done.\n\nWhich linter shall I set up?", 1),
        tool("Bash", "ls", "a", 2),
        user("I prefer ruff", 3),
    ]
    [node] = NodeExtractor().extract(turns)
    assert node.body == "I prefer ruff\n\nThe agent had said: Which linter shall I set up?"


def test_what_the_agent_says_later_changes_nothing() -> None:
    turns = [user("I prefer ruff", 1)]
    assert NodeExtractor().extract([*turns, agent("Noted.", 2)]) == NodeExtractor().extract(turns)


@pytest.mark.parametrize("role", ["agent", "tool"])
def test_only_what_the_user_says_is_mined(role: str) -> None:
    turn = Turn(
        role=role,
        content="I prefer tabs. Always use UTC.",
        ts="",
        turn=1,
        tool_name="Bash",
        result="I like it",
    )  # type: ignore[arg-type]
    assert NodeExtractor().extract([turn]) == []


def test_the_same_statement_twice_is_one_node_with_both_turns() -> None:
    nodes = NodeExtractor().extract([user("I prefer tabs.", 1), user("Again: i prefer Tabs!", 7)])
    assert [(node.title, node.sources) for node in nodes] == [("User preference: tabs", ["#1", "#7"])]


def test_the_same_statement_twice_in_a_turn_names_the_turn_once() -> None:
    [node] = extract("I prefer tabs. As I said, I prefer tabs.")
    assert node.sources == ["#1"]


def test_an_entity_gathers_what_is_said_of_it() -> None:
    turns = [user("Redis is our session store.", 1), user("redis is our rate limiter, too.", 4)]
    [node] = NodeExtractor().extract(turns)
    assert node.title == "Entity: Redis"
    assert node.body == "- Redis is our session store.\n- redis is our rate limiter, too."
    assert node.sources == ["#1", "#4"]


def test_one_sentence_can_hold_several_cues() -> None:
    assert titles("I prefer tabs, so never use spaces in Go files.") == [
        "User preference: tabs",
        "Rule: never use spaces in Go files",
    ]


@pytest.mark.parametrize(
    "text",
    ["Always use pnpm, never use npm.", "I prefer tabs and never use spaces.", "Don't use npm, use pnpm."],
)
def test_one_thing_said_twice_in_a_sentence_is_one_node(text: str) -> None:
    assert len(extract(text)) == 1


def test_a_rule_that_is_called_important_is_a_fact_and_a_rule() -> None:
    assert [(node.type, node.title) for node in extract("Important: always use UTC.")] == [
        ("entity", "User fact: always use UTC"),
        ("procedure", "Rule: always use UTC"),
    ]


def test_a_list_under_a_cue_gives_a_node_for_each_item() -> None:
    assert titles("My preferences are:\n- tabs\n- single quotes\n\nNow fix the build.") == [
        "User preference: tabs",
        "User preference: single quotes",
    ]


def test_a_sentence_wrapped_by_hand_is_one_statement() -> None:
    assert titles("I prefer composition\nover inheritance.") == [
        "User preference: composition over inheritance"
    ]


def test_a_statement_ends_before_the_question_that_follows() -> None:
    assert titles("I prefer tabs, can you reformat?") == ["User preference: tabs"]


NOT_THE_USERS_OWN = {
    "fence": "```\nI prefer tabs.\n```",
    "tilde fence": "~~~text\nI prefer tabs.\n~~~",
    "open fence": "Look:\n```\nI prefer tabs.",
    "fence in a list": "- ```\n  I prefer tabs.\n  ```",
    "indented code": "What is this?\n\n    I prefer tabs.",
    "blockquote": "> I prefer tabs.",
    "straight quotes": 'He wrote "I prefer tabs." there',
    "curly quotes": "He wrote “I prefer tabs.” there",
    "single quotes": "He wrote 'I don't know, I prefer tabs.' there",
    "guillemets": "Elle dit «I prefer tabs.» ici",
    "corner brackets": "「I prefer tabs.」",
    "inline code": "`I prefer tabs.`",
    "log": "2026-01-02 03:04:05 INFO I prefer tabs.",
    "log level": "[WARN] I prefer tabs.",
    "diff": "diff --git a/x b/x\n+I prefer tabs.\n-I prefer spaces.",
    "JSON": '{"text": "x"}\n"note": "I prefer tabs."',
    "HTML": "<p>I prefer tabs.</p>",
    "comment": "// I prefer tabs.",
    "table": "| a | b |\n| - | - |\n| I prefer tabs | x |",
    "stack trace": "Traceback (most recent call last):\nValueError: I prefer tabs.",
    "recalled": '<memex-memory from="2026-01-01">\nI prefer tabs.\n</memex-memory>',
    "recalled in a line": 'ok <memex-memory x="1">I prefer tabs.\nAlways use UTC.</memex-memory x="1"> go',
    "tagged": "<context>\nI prefer tabs.\n\nAlways use UTC.\n</context>",
    "chat": "Ann: hello\nBob: I prefer tabs.\nAnn: noted",
    "announced": "The reviewer wrote:\nI prefer tabs.",
    "announced before a blank line": "Here is the error message:\n\nI prefer tabs.",
    "long line": "I prefer tabs. " * 1_000,
}


@pytest.mark.parametrize("text", NOT_THE_USERS_OWN.values(), ids=NOT_THE_USERS_OWN.keys())
def test_what_the_user_only_shows_is_not_mined(text: str) -> None:
    assert titles(text) == []


@pytest.mark.parametrize("text", NOT_THE_USERS_OWN.values(), ids=NOT_THE_USERS_OWN.keys())
def test_what_stands_after_something_shown_is_mined(text: str) -> None:
    if "open fence" in text or text.count("```") % 2:
        text += "\n```"
    assert "User preference: short answers" in titles(f"{text}\n\nWell.\n\nI prefer short answers.")


def test_a_value_may_stand_in_backticks_or_quotes() -> None:
    assert titles("I prefer `pathlib` over 'os.path'") == ["User preference: `pathlib` over 'os.path'"]
    assert titles("`ledgerd` is our payout daemon") == ["Entity: ledgerd"]


def test_emphasis_does_not_hide_a_cue() -> None:
    assert titles("**Always** use *pnpm* here.") == ["Rule: always use pnpm here"]


def test_tool_results_are_off_unless_asked_for() -> None:
    turns = [tool("Bash", "ls", "a.txt", 1)]
    assert NodeExtractor().extract(turns) == []
    [node] = NodeExtractor(tool_results=True).extract(turns)
    assert (node.type, node.title, node.body) == ("entity", "Tool result: Bash", "Bash: ls\n\n> a.txt")


def test_a_tool_used_again_is_one_node_with_its_latest_result() -> None:
    turns = [tool("Bash", "ls", "one", 1), tool("Bash", "pwd", "two", 2), tool("Read", "x", "three", 3)]
    nodes = NodeExtractor(tool_results=True).extract(turns)
    assert [(node.title, node.sources) for node in nodes] == [
        ("Tool result: Bash", ["#1", "#2"]),
        ("Tool result: Read", ["#3"]),
    ]
    assert "two" in nodes[0].body and "one" not in nodes[0].body


def test_other_cues_can_be_given() -> None:
    text = """
        [[cue]]
        id = "wish"
        type = "preference"
        title = "Wish: {}"
        importance = 0.9
        needs = ["wish for"]
        pattern = '\\bI wish for\\b'
        openers = []
        not_next = []
        not_rest = []
        subject = "first"
        [words]
        {lists}
        [openers]
        [lines]
        shows = ["^shown:$"]
        speaks = ["note"]
        [sets]
        tools = []
        first_names = []
    """
    words = default_cues().words
    cues = parse_cues(text.replace("{lists}", "\n".join(f'{name} = ["zzz"]' for name in words)))
    [node] = NodeExtractor(cues=cues).extract_from_turn(user("I wish for rain. I prefer tabs."))
    assert (node.title, node.importance, node.cue) == ("Wish: rain", 0.9, "wish")


def test_turns_are_seen_one_at_a_time() -> None:
    def turns(count: int) -> Iterator[Turn]:
        for number in range(count):
            yield user(f"Line {number}: nothing to keep here. " * 20, number + 1)

    NodeExtractor().extract(turns(10))
    tracemalloc.start()
    NodeExtractor().extract(turns(500))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet=st.sampled_from("aI prefer`'\"“”*<>/:-,.?!\n\t|{}()#🙂é\u200b\ue000"), max_size=300))
def test_any_text_gives_one_line_titles_and_masks_of_the_same_length(text: str) -> None:
    cues = default_cues()
    for statement in statements(text, shows=cues.shows, speaks=cues.speaks):
        assert len(statement.text) == len(statement.masked)
    assert len(mask(text)) == len(text)
    for node in extract(text):
        assert "\n" not in node.title
        assert node.title.split(": ", 1)[1].strip()


# ---------------------------------------------------------------------------------------------------- time

PUMPS = ["A ", "a ", "never ", "I really ", "my preference for a ", "Redis is the a ", "\ue000", "( "]


def seconds(pattern: re.Pattern[str], text: str) -> float:
    start = time.process_time()
    for _match in pattern.finditer(text):
        pass
    return time.process_time() - start


def cue_patterns() -> dict[str, re.Pattern[str]]:
    patterns = {cue.id: cue.pattern for cue in default_cues().cues}
    patterns |= {f"{cue.id} not next": cue.not_next for cue in default_cues().cues if cue.not_next}
    patterns |= {f"{cue.id} not in the rest": cue.not_rest for cue in default_cues().cues if cue.not_rest}
    return patterns | {"shows": default_cues().shows}


@pytest.mark.parametrize("pattern", cue_patterns().values(), ids=cue_patterns().keys())
def test_a_pattern_takes_time_in_proportion_to_its_text(pattern: re.Pattern[str]) -> None:
    for pump in PUMPS:
        text = (pump * 10_000)[:10_000]
        if seconds(pattern, text) < 0.04:  # in proportion to a millisecond, the least that a clock tells
            continue
        short, long = (min(seconds(pattern, part) for _ in range(2)) for part in (text[:1_000], text))
        assert long < max(short, 0.001) * 10 * 4, pump


@pytest.mark.parametrize(
    "pump",
    [
        *PUMPS,
        "'",
        '"',
        "`",
        "<a>",
        "</a>",
        "</b>\n<b>",
        "```\n",
        "- a\n",
        "> ",
        "\n",
        "* ",
        "x: y\n",
        "A b. ",
        "Use X\n",
        "(\n",
        "a|b",
    ],
)
def test_a_prompt_takes_time_in_proportion_to_its_length(pump: str) -> None:
    times = []
    for size in (1_000, 10_000, 100_000):
        text = (pump * size)[:size]
        start = time.process_time()
        extract(text)
        times.append(time.process_time() - start)
    assert times[2] < max(times[1], 0.005) * 10 * 3, times
