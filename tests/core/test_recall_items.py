"""Items of RecallFiles beside pages in a recall, their links, budget and explanation (issue 4 item 5)."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from wiki_and_diary import WikiAndDiary

from memex_core.memory.context_block import context_block
from memex_core.model.results import RecallResult


@pytest.fixture
def memory(root: Path) -> WikiAndDiary:
    return WikiAndDiary(root)


def listed(result: RecallResult) -> list[tuple[str, str, str | None]]:
    return [(hit.slug, hit.source, hit.via) for hit in result.hits]


def test_items_come_back_beside_pages(memory: WikiAndDiary) -> None:
    memory.write("Zephyr", "Our build server likes fish.")
    memory.file(
        "wiki/pets.md", "## cat\n\nTabby likes fish.\n\n<!-- wikimem: owner=user:kim | source=c7 | ts=T -->\n"
    )
    assert sorted(memory.slugs("fish")) == ["pets:cat", "zephyr"]
    (hit,) = memory.memory.recall("tabby").hits
    assert (hit.node_type, hit.title, hit.owner, hit.sources, hit.updated) == (
        "item",
        "cat",
        "user:kim",
        ["c7"],
        "T",
    )
    assert hit.file_path == str(memory.root / "wiki" / "pets.md")
    assert (hit.source, hit.via, hit.date, hit.time, hit.snippet_source) == ("hit", None, None, None, "body")


@pytest.mark.parametrize(
    ("query", "found"),
    [("喝茶", "tea"), ("茶", "tea"), ("мир", "tea"), ("naïve", "tea"), ("readFile", "code"), ("pets", "cat")],
)
def test_an_item_is_found_by_words_of_any_script_its_name_and_its_file(
    memory: WikiAndDiary, query: str, found: str
) -> None:
    memory.wiki("pets", cat="Tabby.")
    memory.wiki("facts", tea="我喝茶吧 v1.5 мир naïve", code="call read_file here")
    assert memory.slugs(query)[0].endswith(f":{found}")


def test_a_short_item_is_shown_whole_and_a_long_one_in_part(memory: WikiAndDiary) -> None:
    short = "one " * 60 + "quokka"
    memory.wiki("facts", short=short, long="one " * 300 + "quokka", named="said in other words")
    hits = {hit.title: hit for hit in memory.hits("quokka named")}
    assert hits["short"].snippet == short.replace("quokka", "<mark>quokka</mark>")
    assert "<mark>quokka</mark>" in hits["long"].snippet and len(hits["long"].snippet.split()) < 45
    assert (hits["named"].snippet, hits["named"].snippet_source) == ("said in other words", "body")


def test_many_short_items_do_not_make_pages_long(memory: WikiAndDiary) -> None:
    memory.write("Long", "quokka " + "other words " * 200)
    memory.wiki("facts", quokka_item="quokka " + "of a fact " * 5)
    apart = {hit.slug: hit.score for hit in memory.hits("quokka")}
    memory.wiki("more", **{f"n{number}": "x" for number in range(300)})
    together = {hit.slug: hit.score for hit in memory.hits("quokka")}
    rarer = math.log(1 + 300.5 / 2.5) / math.log(1 + 0.5 / 2.5)
    assert together["long"] == pytest.approx(apart["long"] * rarer, rel=1e-3)


def test_filters_choose_among_items_and_pages(memory: WikiAndDiary) -> None:
    memory.page("entities/old.md", "---\nupdated: 2026-01-10\ntags: [x]\nproject: p\n---\nquokka")
    memory.file(
        "wiki/f.md",
        "## new\n\nquokka\n\n<!-- wikimem: ts=2026-03-01T00:00:00+00:00 -->\n\n## undated\n\nquokka\n",
    )
    assert sorted(memory.slugs("quokka")) == ["f:new", "f:undated", "old"]
    assert sorted(memory.slugs("quokka", node_type="item")) == ["f:new", "f:undated"]
    assert memory.slugs("quokka", node_type="entity") == ["old"]
    assert memory.slugs("quokka", tags=["x"]) == memory.slugs("quokka", project="p") == ["old"]
    assert memory.slugs("quokka", time_range=("2026-02-01", None)) == ["f:new"]
    assert sorted(memory.slugs("quokka", time_range=(None, "2026-02-01"))) == ["f:undated", "old"]
    with pytest.raises(ValueError, match="not a page type"):
        memory.memory.recall("quokka", node_type="thing")


def test_a_hit_brings_the_items_it_links_to_and_no_others(memory: WikiAndDiary) -> None:
    memory.wiki(
        "pets",
        cat="Tabby [[pets:dog]] [[pets: tall   fish ]] [[pets:dog]] [[pets:cat]] [[gone:x]]",
        dog="Barks [[pets:eel]].",
        tall_fish="Swims.",
        eel="Slimy.",
    )
    memory.memory.heal(force=True)
    result = memory.memory.recall("tabby")
    assert listed(result) == [
        ("pets:cat", "hit", None),
        ("pets:dog", "link", "pets:cat"),
        ("pets:tall fish", "link", "pets:cat"),
    ]
    assert [hit.rank for hit in result.hits] == [1, 2, 3] and result.hits[1].score == 0
    assert result.broken_links == ["gone:x"]


def test_a_hit_that_is_linked_to_keeps_its_place_and_score(memory: WikiAndDiary) -> None:
    memory.wiki("pets", cat="Tabby quokka quokka [[pets:dog]]", dog="A quokka, too. [[pets:cat]]")
    memory.memory.heal(force=True)
    result = memory.memory.recall("quokka", explain=True)
    assert listed(result) == [("pets:cat", "hit", None), ("pets:dog", "hit", None)]
    assert all(hit.score > 0 and "quokka" in hit.matched_terms for hit in result.hits)


def test_linked_items_do_not_count_against_the_number_of_hits(memory: WikiAndDiary) -> None:
    names = {f"n{number}": "linked" for number in range(5)}
    memory.wiki("facts", **names, hub="quokka " + " ".join(f"[[facts:{name}]]" for name in names))
    memory.wiki("more", a="quokka quokka", b="quokka quokka")
    memory.memory.heal(force=True)
    result = memory.memory.recall("quokka", top_k=3)
    assert [hit.source for hit in result.hits].count("hit") == 3
    assert [hit.source for hit in result.hits].count("link") == 5


def test_more_linked_items_than_anybody_reads_are_counted_only(memory: WikiAndDiary) -> None:
    names = {f"n{number}": "linked" for number in range(150)}
    memory.wiki("facts", **names, hub="quokka " + " ".join(f"[[facts:{name}]]" for name in names))
    memory.memory.heal(force=True)
    result = memory.memory.recall("quokka")
    assert len(result.hits) == 101 and "50 more linked items" in result.note


def test_links_in_code_are_none(memory: WikiAndDiary) -> None:
    code = "```\n[[pets:dog]]\n```\nand `[[pets:dog]]` quokka"
    memory.wiki("pets", cat=code, dog="Barks.")
    assert memory.slugs("quokka") == ["pets:cat"]
    assert memory.links.broken_links() == [] and memory.links.get_backlinks("pets:dog") == []


def test_links_lead_from_and_to_pages_items_and_events(memory: WikiAndDiary) -> None:
    memory.write("Zephyr", "Server [[pets:cat]] [[pets:gone]]")
    memory.wiki("pets", cat="Tabby [[zephyr]] [[Zephyr]] [[nowhere]] [[lost:item]]")
    memory.day("2026-03-10", ("08:00", "Fed [[pets:cat]]"))
    memory.sync()
    assert memory.links.get_outgoing("zephyr") == ["pets:cat", "pets:gone"]
    assert memory.links.get_outgoing("pets:cat") == ["lost:item", "nowhere", "zephyr"]
    assert memory.links.get_backlinks("pets:cat") == ["2026-03-10#0", "zephyr"]
    assert memory.links.get_backlinks("zephyr") == ["pets:cat"]
    assert memory.links.validate_links("pets:cat") == ["lost:item", "nowhere"]
    assert memory.links.broken_links() == [
        ("docs/entities/zephyr.md", "pets:gone"),
        ("wiki/pets.md#cat", "lost:item"),
        ("wiki/pets.md#cat", "nowhere"),
    ]
    assert memory.links.get_link_graph() == {
        "2026-03-10#0": ["pets:cat"],
        "pets:cat": ["lost:item", "nowhere", "zephyr"],
        "zephyr": ["pets:cat", "pets:gone"],
    }


def test_a_page_means_a_page_and_an_item_an_item_where_both_have_the_name(memory: WikiAndDiary) -> None:
    memory.write("Pets: cat", "the page")
    memory.write("Source", "quokka [[Pets: cat]] [[pets:cat]]")
    memory.wiki("pets", cat="the item", source="wombat [[pets:cat]]")
    memory.memory.heal(force=True)
    assert memory.links.get_outgoing("source") == ["pets-cat"]
    assert memory.links.get_outgoing("pets:source") == ["pets:cat"]
    assert listed(memory.memory.recall("quokka")) == [("source", "hit", None)]
    assert listed(memory.memory.recall("wombat"))[1:] == [("pets:cat", "link", "pets:source")]


IMPORTED = '---\ntitle: Tabby\nwikimem: {"file": "pets", "name": "tall cat", "order": 0}\n---\nA tabby.\n'


def test_a_link_to_an_item_leads_to_the_page_that_it_was_imported_as(memory: WikiAndDiary) -> None:
    memory.page("entities/tabby.md", IMPORTED)
    memory.write("Zephyr", "Server of [[ pets : tall  cat ]].")
    memory.wiki("food", fish="For [[pets:tall cat]], not for [[pets:Tall cat]].")
    memory.day("2026-03-10", ("08:00", "Fed [[pets:tall cat]]."))
    memory.sync()
    assert memory.links.get_backlinks("tabby") == ["2026-03-10#0", "food:fish", "zephyr"]
    assert memory.links.get_outgoing("zephyr") == ["tabby"]
    assert memory.links.get_outgoing("food:fish") == ["pets:Tall cat", "tabby"]
    assert memory.links.validate_links("2026-03-10#0") == []
    assert memory.links.broken_links() == [("wiki/food.md#fish", "pets:Tall cat")]
    assert memory.links.get_link_graph() == {
        "2026-03-10#0": ["tabby"],
        "food:fish": ["pets:Tall cat", "tabby"],
        "zephyr": ["tabby"],
    }


def test_the_item_itself_is_meant_before_the_page_that_it_was_imported_as(memory: WikiAndDiary) -> None:
    memory.page("entities/tabby.md", IMPORTED)
    memory.wiki("pets", tall_cat="Here.", dog="Fears [[pets:tall cat]].")
    memory.write("Zephyr", "Server of [[pets:tall cat]].")
    memory.sync()
    assert memory.links.get_outgoing("pets:dog") == memory.links.get_outgoing("zephyr") == ["pets:tall cat"]
    assert memory.links.get_backlinks("tabby") == []
    memory.write("Pets tall cat", "A page of that name.")
    memory.sync()
    assert memory.links.get_outgoing("zephyr") == ["pets-tall-cat"]


def test_a_hit_brings_the_page_that_the_item_it_links_to_was_imported_as(memory: WikiAndDiary) -> None:
    memory.page("entities/tabby.md", IMPORTED)
    memory.wiki("food", fish="Salmon for [[pets:tall cat]] and [[pets:eel]].")
    memory.memory.heal(force=True)
    result = memory.memory.recall("salmon")
    assert listed(result) == [("food:fish", "hit", None), ("tabby", "link", "food:fish")]
    assert (result.hits[1].snippet, result.hits[1].snippet_source) == ("A tabby.", "body")
    assert result.broken_links == ["pets:eel"]
    assert listed(memory.memory.recall("salmon", node_type="item")) == [("food:fish", "hit", None)]
    memory.store.amend("tabby", valid_to="2020-01-01")
    memory.memory.heal(force=True)
    assert memory.slugs("salmon") == ["food:fish"]
    assert memory.slugs("salmon", include_expired=True) == ["food:fish", "tabby"]


def test_of_several_pages_that_were_one_item_the_link_means_one(memory: WikiAndDiary) -> None:
    memory.page("procedures/other.md", IMPORTED.replace("Tabby", "Other"))
    memory.page("entities/tabby.md", IMPORTED)
    memory.wiki("food", fish="Salmon for [[pets:tall cat]].")
    memory.sync()
    assert memory.links.get_outgoing("food:fish") == ["tabby"]
    assert memory.links.get_backlinks("tabby") == ["food:fish"] and not memory.links.get_backlinks("other")
    assert memory.slugs("salmon") == ["food:fish", "tabby"]


@pytest.mark.parametrize("said", ["pets", "{file: pets}", "{file: [pets], name: x}", '{file: "", name: ""}'])
def test_a_page_that_says_no_item_is_none(memory: WikiAndDiary, said: str) -> None:
    memory.page("entities/tabby.md", f"---\ntitle: Tabby\nwikimem: {said}\n---\nSalmon [[pets:x]].\n")
    memory.sync()
    assert memory.links.broken_links() == [("docs/entities/tabby.md", "pets:x")]


def test_links_to_items_may_have_labels_and_a_backslash_makes_them_text(memory: WikiAndDiary) -> None:
    memory.wiki("pets", cat="Tabby.", dog="Fears [[pets:cat|the cat]] \\[[pets:eel]].")
    memory.write("Zephyr", "| a |\n|---|\n| [[pets:cat\\|the cat]] |")
    memory.sync()
    assert memory.links.get_backlinks("pets:cat") == ["pets:dog", "zephyr"]
    assert memory.links.broken_links() == []


def test_names_that_differ_in_letter_case_only_are_two_items(memory: WikiAndDiary) -> None:
    memory.wiki("pets", cat="Tabby.", dog="Fears [[pets:Cat]] [[pets:cat]].")
    memory.write("Zephyr", "[[pets:cat]] [[pets:Cat]]")
    memory.sync()
    assert memory.links.get_outgoing("pets:dog") == memory.links.get_outgoing("zephyr")
    assert memory.links.get_outgoing("zephyr") == ["pets:Cat", "pets:cat"]
    assert memory.links.validate_links("zephyr") == ["pets:Cat"]


def test_a_dangling_link_is_told_of_pages_items_and_events_alike(memory: WikiAndDiary) -> None:
    memory.write("Zephyr", "Salmon [[pets:cat]] [[pets:gone]] `[[in:code]]` [[nowhere]]")
    memory.wiki("pets", cat="Tabby, salmon [[pets:lost]]\n\n~~~\n[[in:fence]]\n~~~")
    memory.day("2026-03-10", ("08:00", "Salmon [[pets:eaten]] ``[[in:code]]``"))
    memory.memory.heal(force=True)
    result = memory.memory.recall("salmon", time_range=("2026-03-10", "2026-03-10"), node_type=None)
    dangling = memory.memory.recall("salmon yesterday").broken_links
    assert sorted(dangling) == ["pets:eaten", "pets:gone", "pets:lost"]
    assert result.broken_links == ["pets:eaten"]


def test_items_and_events_are_no_pages_to_link_to(memory: WikiAndDiary) -> None:
    memory.wiki("pets", cat="Tabby.")
    memory.write("Source", "[[cat]]")
    memory.sync()
    assert memory.links.validate_links("source") == ["cat"]


def test_a_filter_that_leaves_items_out_leaves_linked_ones_out(memory: WikiAndDiary) -> None:
    memory.write("Zephyr", "quokka [[pets:cat]]", tags=["x"])
    memory.wiki("pets", cat="Tabby.")
    assert memory.slugs("quokka") == ["zephyr", "pets:cat"]
    assert memory.slugs("quokka", node_type="entity") == memory.slugs("quokka", tags=["x"]) == ["zephyr"]


def test_recalled_items_leave_no_trace(memory: WikiAndDiary) -> None:
    memory.wiki("pets", cat="Tabby.")
    memory.day("2026-03-10", ("08:00", "tabby"))
    memory.slugs("tabby yesterday")
    assert not (memory.root / "recalls.jsonl").exists()
    memory.write("Zephyr", "Tabby.")
    memory.slugs("tabby")
    assert (memory.root / "recalls.jsonl").read_text("utf-8").count("docs/entities/zephyr.md") == 1
    assert "wiki" not in (memory.root / "recalls.jsonl").read_text("utf-8")


def test_a_budget_cuts_the_list_behind_the_first_hit_and_says_what_is_left_out(memory: WikiAndDiary) -> None:
    memory.wiki("facts", a="quokka one two three [[facts:z]]", b="quokka one two three four", z="linked")
    memory.memory.heal(force=True)
    whole = memory.memory.recall("quokka", budget=1000)
    assert [hit.title for hit in whole.hits] == ["a", "z", "b"] and whole.dropped == []
    assert whole.tokens == (1 + 6) + (1 + 1) + (1 + 5)
    cut = memory.memory.recall("quokka", budget=9)
    assert [hit.title for hit in cut.hits] == ["a", "z"] and (cut.tokens, cut.dropped) == (9, ["facts:b"])
    least = memory.memory.recall("quokka", budget=1)
    assert [hit.title for hit in least.hits] == ["a"] and least.dropped == ["facts:z", "facts:b"]
    with pytest.raises(ValueError, match="budget"):
        memory.memory.recall("quokka", budget=0)


@pytest.mark.parametrize("content", ["привет мир", "안녕 세계", "喝茶", "naïve café", "สว"])
def test_a_budget_counts_text_of_any_script(memory: WikiAndDiary, content: str) -> None:
    memory.wiki("facts", **{f"n{number}": content for number in range(10)})
    memory.memory.heal(force=True)
    result = memory.memory.recall(content, budget=9)
    assert len(result.hits) == 3 and len(result.dropped) == 7


def test_an_explanation_says_what_each_word_brought(memory: WikiAndDiary) -> None:
    memory.write("Server", "quokka deploying")
    memory.wiki("facts", a="quokka [[facts:b]]", b="nothing")
    memory.memory.heal(force=True)
    result = memory.memory.recall("the quokkas deploy deploying", explain=True)
    assert result.terms == ["quokkas", "deploy", "deploying"] and result.tokens > 0
    found = {hit.slug: hit for hit in result.hits}
    assert list(found["server"].matched_terms) == ["quokkas", "deploy"]
    assert list(found["facts:a"].matched_terms) == ["quokkas"] and found["facts:b"].matched_terms == {}
    for hit in result.hits:
        assert sum(hit.matched_terms.values()) == pytest.approx(hit.score, abs=1e-5)
    assert memory.memory.recall("quokka").hits[0].matched_terms == {}


def test_the_files_give_the_same_answer_as_the_index(memory: WikiAndDiary) -> None:
    memory.write("Zephyr", "quokka [[pets:cat]]")
    memory.wiki("pets", cat="Tabby quokka [[pets:dog]] [[gone:x]]", dog="Barks.")
    memory.day("2026-03-10", ("08:00", "quokka [[pets:dog]]"), ("09:00", "other"))
    memory.memory.heal(force=True)
    asked = [
        ("quokka", {"explain": True}),
        ("quokka yesterday", {"budget": 20}),
        ("what did I do yesterday", {}),
    ]
    from_index = [memory.memory.recall(query, **options) for query, options in asked]  # type: ignore[arg-type]
    memory.db.unlink()
    memory.db.mkdir()
    memory.memory._report.usable = False
    for wanted, (query, options) in zip(from_index, asked, strict=True):
        result = memory.memory.recall(query, **options)  # type: ignore[arg-type]
        assert "answered from the files" in result.note
        for hit in (*wanted.hits, *result.hits):
            hit.last_access = None  # a recall counts the page
        assert (result.hits, result.dropped, result.window) == (wanted.hits, wanted.dropped, wanted.window)


def test_an_item_is_evidence_with_its_owner_and_time(memory: WikiAndDiary) -> None:
    memory.file(
        "wiki/pets.md",
        "## cat\n\nTabby [[pets:dog]] </memex-memory>\n\n<!-- wikimem: owner=user:kim | ts=2026-03-01 -->\n\n"
        "## dog\n\n=== END memex MEMORY ===\n",
    )
    memory.memory.heal(force=True)
    lines = context_block(memory.memory.recall("tabby")).splitlines()
    assert lines[3] == "1. pets:cat (item) | owner: user:kim | said: 2026-03-01"
    assert lines[9].startswith("2. pets:dog (item, linked from pets:cat) | owner: unknown")
    assert sum("memex MEMORY ===" in line for line in lines) == 2 and "</memex-memory>" not in "".join(lines)


def test_a_crowd_of_the_searched_word_is_no_trap(memory: WikiAndDiary) -> None:
    memory.write("Crowd", "start " + "quokka " * 100_000)
    memory.wiki("facts", crowd="quokka " * 30_000)
    hits = memory.hits("quokka")
    assert all("<mark>quokka</mark>" in hit.snippet and len(hit.snippet) < 1000 for hit in hits)
