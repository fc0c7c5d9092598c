"""`memex recall` over pages, items and the diary (issue 4 items 5 and 8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from memex_program import memex_cli, on_a_terminal
from wiki_and_diary import WikiAndDiary


@pytest.fixture
def memory(root: Path) -> WikiAndDiary:
    memory = WikiAndDiary(root)
    memory.file(
        "wiki/pets.md",
        "## cat\n\nTabby likes fish [[pets:dog]] [[gone:x]]\n\n"
        "<!-- wikimem: owner=user:kim | ts=2026-03-01T00:00:00+00:00 -->\n\n## dog\n\nBarks.\n",
    )
    memory.file("diary/2026-03-10.md", "## 08:30\n\nfed the dog\n\n<!-- wikimem: owner=me -->\n")
    memory.write("Aquarium", "fish live here")
    return memory


def test_an_item_is_shown_as_file_and_name_with_its_owner_and_what_led_to_it(memory: WikiAndDiary) -> None:
    lines = on_a_terminal("recall", "tabby").stdout.splitlines()
    assert "1. " in lines[0] and "pets:cat" in lines[0] and "(item, 2026-03-01, user:kim)" in lines[0]
    assert "pets:dog" in lines[3] and "(item, linked from pets:cat)" in lines[3]
    assert "wiki/pets.md" in lines[2]


def test_an_event_is_shown_with_its_date_and_time(memory: WikiAndDiary) -> None:
    shown = on_a_terminal("recall", "--since", "2026-03-01", "--until", "2026-03-31").stdout
    assert "2026-03-10 08:30" in shown and "(event, me)" in shown and "fed the dog" in shown
    assert "diary/2026-03-10.md" in shown


def test_as_json_every_hit_says_what_it_is(memory: WikiAndDiary) -> None:
    hits = memex_cli("recall", "fish", "dog", "--since", "2026-03-01").json["hits"]
    by_slug = {hit["slug"]: hit for hit in hits}
    assert by_slug["2026-03-10#0"]["date"] == "2026-03-10" and by_slug["2026-03-10#0"]["time"] == "08:30"
    assert by_slug["pets:cat"]["owner"] == "user:kim" and by_slug["pets:dog"]["source"] == "link"
    assert by_slug["pets:dog"]["via"] == "pets:cat"


@pytest.mark.parametrize("kind", ["item", "entity"])
def test_a_type_is_also_item(memory: WikiAndDiary, kind: str) -> None:
    found = {hit["node_type"] for hit in memex_cli("recall", "fish", "--type", kind).json["hits"]}
    assert found == {kind}


def test_events_alone_without_a_time_says_why_there_are_none(memory: WikiAndDiary) -> None:
    done = memex_cli("recall", "dog", "--type", "event", "--text")
    assert done.stdout == "nothing found\n" and "diary is closed" in done.stderr
    assert len(memex_cli("recall", "dog", "--type", "event", "--since", "2026-03-01").json["hits"]) == 1


def test_a_budget_names_what_is_left_out(memory: WikiAndDiary) -> None:
    shown = on_a_terminal("recall", "tabby", "--budget", "3").stdout
    assert "pets:cat" in shown and shown.endswith("left out, over the budget: 1 more hit: pets:dog\n")
    assert memex_cli("recall", "tabby", "--budget", "3").json["dropped"] == ["pets:dog"]
    assert memex_cli("recall", "tabby", "--budget", "0").returncode == 2


def test_an_explanation_shows_words_scores_window_and_links_that_lead_nowhere(memory: WikiAndDiary) -> None:
    shown = on_a_terminal(
        "recall", "fish", "--explain", "--since", "2026-03-01", "--until", "2026-03-31"
    ).stdout
    assert "searched for: fish" in shown and "diary: 2026-03-01 to 2026-03-31" in shown
    assert "links that lead nowhere: gone:x" in shown and "score " in shown and ": fish 0." in shown


def test_a_widened_window_is_told(memory: WikiAndDiary) -> None:
    done = memex_cli("recall", "--since", "2026-03-11", "--until", "2026-03-11", "--text")
    assert "2026-03-10 to 2026-03-12" in done.stderr and "fed the dog" in done.stdout


def test_what_an_item_says_cannot_steer_the_terminal(memory: WikiAndDiary) -> None:
    memory.file(
        "wiki/evil.md",
        "## na\x1b[2Jme\n\nquokka \x1b]0;owned\x07 \x9b31m\n\n"
        "<!-- wikimem: owner=o\x1b[31m | source=s\x9b -->\n",
    )
    shown = on_a_terminal("recall", "quokka", "--explain").stdout
    assert (
        "\x1b[2J" not in shown and "\x1b]0" not in shown and "\x9b" not in shown and "\x1b[31m" not in shown
    )


def test_a_bound_that_is_no_date_is_refused(root: Path) -> None:
    for bound in ("", "soon", "2026-13-01"):
        done = memex_cli("recall", "x", "--since", bound)
        assert done.returncode == 2 and "is not a date such as" in done.stderr


def test_bounds_the_wrong_way_round_mean_the_days_between_them(root: Path) -> None:
    memory = WikiAndDiary(root)
    memory.day("2026-03-10", ("08:30", "saw a heron"))
    memory.write("Heron", "a heron", updated="2026-03-10T12:00:00Z")
    one = memex_cli("recall", "heron", "--since", "2026-03-01", "--until", "2026-03-20").json["hits"]
    other = memex_cli("recall", "heron", "--since", "2026-03-20", "--until", "2026-03-01").json["hits"]
    assert [hit["slug"] for hit in one] == [hit["slug"] for hit in other] == ["heron", "2026-03-10#0"]


def test_a_window_that_is_open_on_one_side_is_told_as_such(root: Path) -> None:
    WikiAndDiary(root).day("2026-03-10", ("08:30", "saw a heron"))
    assert memex_cli("recall", "heron", "--since", "2026-03-01").json["window"] == ["2026-03-01", None]
    said = memex_cli("recall", "heron", "--since", "2026-03-01", "--explain", "--text").stdout
    assert "diary: from 2026-03-01 on" in said
    said = memex_cli("recall", "heron", "--until", "2026-04-01", "--explain", "--text").stdout
    assert "diary: up to 2026-04-01" in said
