from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_memory import SmallMemory

from memex_core.index.bm25_retriever import BM25Retriever
from memex_core.text.instant import to_seconds


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    return SmallMemory(root)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("部署", ["cjk"]),
        ("部署方案", ["cjk"]),
        ("缓", ["cjk"]),
        ("存", ["cjk"]),
        ("POL-358", ["ticket"]),
        ("358", ["ticket"]),
        ("agent-os", ["ticket"]),
        ("agentos", ["ticket"]),
        ("5432", ["ticket"]),
        ("don't", ["symbols"]),
        ("c++", ["symbols"]),
        ("foo.bar", ["symbols"]),
        ("mcp__read_file", ["symbols"]),
        ("readFile", ["symbols"]),
        ("read file", ["symbols"]),
        ("gen-itgc", ["glued"]),
        ("重跑", ["glued"]),
        ("OR", []),
        ("a AND", []),
        ("2026-05-08", ["release"]),
        ("1.10.3", ["release"]),
        ("src/app/main.py", ["release"]),
        ("main.py", ["release"]),
        ("ann@example.com", ["release"]),
        ("http client", ["release"]),
        ("CAFE", ["accents"]),
        ("café", ["accents"]),
        ("हिन्दी", ["accents"]),
        ("deploying", ["accents"]),
        ("zebra", []),
        ("", []),
        ("🎉", []),
    ],
)
def test_what_people_type_finds_the_page_that_holds_it(
    memory: SmallMemory, query: str, expected: list[str]
) -> None:
    memory.write("cjk", "今天讨论了部署方案和缓存")
    memory.write("ticket", "fix POL-358 retry in agent-os loop, port 5432")
    memory.write("symbols", "don't use c++ foo.bar mcp__read_file")
    memory.write("glued", "重跑gen-itgc后")
    memory.write("release", "1.10.3 of 2026-05-08 by ann@example.com in src/app/main.py uses HTTPClient")
    memory.write("accents", "cafe\u0301 हिन्दी, we deployed it")
    assert memory.found(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        'a"b', "'", '"', "a*", "*", "^a", "a:b", "title:x", "NEAR(a b, 3)", "a NOT b", "a AND", "OR OR",
        "{a b}", "-a", "+a", "a\0b", "\ud800", "(", ")", "a" * 100_000, "x " * 10_000, "%s",
        "; DROP TABLE wiki_index", "\\", "🎉🎉", "\u200b", "--", "~",
        "`ls`", "<b>", "[[x]]", "a.b.c.d", "....", "٣", "ﬁ", "İ",
    ],
)  # fmt: skip
def test_no_query_raises(memory: SmallMemory, query: str) -> None:
    memory.write("a", "a b x title 3 fi i")
    memory.hits(query)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(categories=None), max_size=80))
def test_no_text_at_all_raises(memory: SmallMemory, query: str) -> None:
    if not memory.db.exists():
        memory.write("a", "some words")
        memory.sync()
    memory.retriever.retrieve(query)


def test_only_pages_with_a_term_are_found_and_more_of_it_scores_higher(memory: SmallMemory) -> None:
    memory.write("one", "ruff is a linter, nothing more to say about it")
    memory.write("two", "ruff and ruff and ruff, nothing more to say now")
    for name in ("three", "four", "five"):
        memory.write(name, "something else entirely without that word in it")
    hits = memory.hits("ruff")
    assert [hit.slug for hit in hits] == ["two", "one"]
    assert hits[0].score > hits[1].score > 0
    assert [hit.rank for hit in hits] == [1, 2]


def test_the_score_is_bm25_with_these_k1_and_b(memory: SmallMemory) -> None:
    memory.write("a", "ruff ruff x x")
    memory.write("b", "y y y y y y y y")
    memory.sync()
    (hit,) = BM25Retriever(memory.db, k1=1.5, b=0.75).retrieve("ruff")
    idf = 0.6931471805599453  # ln(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert hit.score == pytest.approx(idf * 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 4 / 6)), abs=1e-5)
    (flat,) = BM25Retriever(memory.db, k1=0.0, b=0.0).retrieve("ruff")
    assert flat.score == pytest.approx(idf, abs=1e-5)


def test_a_word_of_every_page_still_ranks(memory: SmallMemory) -> None:
    memory.write("a", "ruff")
    memory.write("b", "ruff ruff ruff")
    assert memory.found("ruff") == ["b", "a"]


def test_title_counts_more_than_tags_and_tags_more_than_body(memory: SmallMemory) -> None:
    filler = " ".join(f"w{i}" for i in range(30))
    memory.write("Mentions", f"ruff {filler}")
    memory.write("Tagged", f"x {filler}", tags=["ruff"])
    memory.write("Ruff", f"x {filler}")
    assert memory.found("ruff") == ["ruff", "tagged", "mentions"]


def test_equal_scores_are_ordered_by_path(memory: SmallMemory) -> None:
    for name in ("c", "a", "b", "d"):
        memory.write(f"page {name}", "ruff")
    assert memory.found("ruff", top_k=3) == ["page-a", "page-b", "page-c"]


def test_a_hit_tells_all_about_its_page(memory: SmallMemory) -> None:
    page = memory.write(
        "Ruff",
        "ruff is fast [[flake8]]",
        tags=["lint"],
        importance=0.8,
        sources=["s#1"],
        project="p",
        project_label="l",
    )
    (hit,) = memory.hits("ruff")
    assert (hit.slug, hit.file_path, hit.title, hit.node_type) == (
        "ruff",
        str(page.file_path),
        "Ruff",
        "entity",
    )
    assert (hit.importance, hit.tags, hit.links, hit.sources) == (0.8, ["lint"], ["flake8"], ["s#1"])
    assert (hit.created, hit.updated, hit.last_access) == (page.created, page.updated, None)
    assert (hit.project, hit.project_label, hit.transcript_ref) == ("p", "l", None)


def test_the_snippet_marks_the_words_in_the_body(memory: SmallMemory) -> None:
    memory.write("t", "start " + "filler " * 200 + "we are deploying with kubernetes " + "filler " * 200)
    (hit,) = memory.hits("deploy kubernetes")
    assert hit.snippet_source == "body"
    assert "<mark>deploying</mark> with <mark>kubernetes</mark>" in hit.snippet
    assert len(hit.snippet.split()) < 45


def test_a_match_in_the_title_alone_shows_the_title(memory: SmallMemory) -> None:
    memory.write("Ruff linter", "nothing here")
    (hit,) = memory.hits("ruff")
    assert (hit.snippet, hit.snippet_source) == ("<mark>Ruff</mark> linter", "title")


def test_a_match_within_a_longer_word_is_marked(memory: SmallMemory) -> None:
    memory.write("a", "x " * 100 + "call readFile here")
    memory.write("b", "我们今天讨论了部署方案和缓存的问题")
    assert "read<mark>File</mark> here" in memory.hits("file")[0].snippet
    assert memory.hits("部署方案")[0].snippet == "我们今天讨论了<mark>部署方案</mark>和缓存的问题"


def test_a_snippet_of_endless_words_stays_short_and_whole(memory: SmallMemory) -> None:
    memory.write("a", "é" * 3000 + " ruff " + "😀ü" * 3000)
    (hit,) = memory.hits("ruff")
    assert len(hit.snippet) < 450 and "<mark>ruff</mark>" in hit.snippet
    hit.snippet.encode("utf-8")


def test_filters_by_type_tags_and_project(memory: SmallMemory) -> None:
    memory.write("a", "ruff", tags=["Lint", "py"], project="p1")
    memory.write("b", "ruff", "procedure", tags=["lint"], project="p2")
    memory.write("c", "ruff")
    assert memory.found("ruff", node_type="procedure") == ["b"]
    assert memory.found("ruff", tags=["lint"]) == ["a", "b"]
    assert memory.found("ruff", tags=["LINT", "#py"]) == ["a"]
    assert memory.found("ruff", project="p2") == ["b"]
    assert memory.found("ruff", tags=["nothing"]) == []


def test_a_filter_reaches_pages_behind_many_better_ones(memory: SmallMemory) -> None:
    for i in range(30):
        memory.write(f"better {i}", "ruff ruff ruff")
    memory.write("last", "a long text that mentions ruff only once among many words", tags=["x"])
    assert memory.found("ruff", tags=["x"], top_k=3) == ["last"]


def test_a_time_range_is_on_updated_and_for_episodes_on_their_start(memory: SmallMemory) -> None:
    memory.page("entities/old.md", "---\nupdated: 2026-01-10T12:00:00Z\n---\nruff")
    memory.page("entities/new.md", "---\nupdated: 2026-03-01T00:00:00+02:00\n---\nruff")
    memory.page("episodes/s1.md", "---\nupdated: 2026-06-01\nstarted_at: 2026-01-31T23:30:00Z\n---\nruff")
    assert memory.found("ruff", time_range=("2026-01-01", "2026-01-31")) == ["old", "s1"]
    assert memory.found("ruff", time_range=("2026-02-28T22:00:00Z", None)) == ["new"]
    assert memory.found("ruff", time_range=(None, "2026-01-10")) == ["old"]
    with pytest.raises(ValueError, match="not a date"):
        memory.found("ruff", time_range=("soon", None))


@pytest.mark.parametrize(
    ("field", "value", "visible"),
    [
        ("expires_at", "2026-05-01T00:00:00Z", False),
        ("expires_at", "2026-05-03", True),
        ("expires_at", "2026-05-02", True),
        ("valid_to", "2026-05-01", False),
        ("valid_to", "2027-01-01", True),
        ("valid_from", "2026-05-03", False),
        ("valid_from", "2026-05-02", True),
        ("valid_from", "someday", True),
    ],
)
def test_pages_that_do_not_hold_are_left_out(
    memory: SmallMemory, field: str, value: str, visible: bool
) -> None:
    memory.page("entities/a.md", f"---\n{field}: {value}\n---\nruff")
    noon = to_seconds("2026-05-02T12:00:00Z")
    assert memory.found("ruff", now=noon) == (["a"] if visible else [])
    assert memory.found("ruff", now=noon, include_expired=True) == ["a"]


def test_search_fts_gives_slugs_and_scores(memory: SmallMemory) -> None:
    memory.write("a", "ruff ruff")
    memory.write("b", "ruff with some other words")
    memory.sync()
    scored = memory.retriever.search_fts("ruff", 5)
    assert [slug for slug, _ in scored] == ["a", "b"]
    assert scored[0][1] > scored[1][1] > 0


def test_a_long_prompt_still_finds_its_rare_words(memory: SmallMemory) -> None:
    for i in range(60):
        memory.write(f"page {i}", " ".join(f"common{j}" for j in range(40)))
    memory.write("needle", "the xylograph setting")
    prompt = " ".join(f"common{j % 40} filler{j}" for j in range(400)) + " Xylograph"
    assert memory.found(prompt)[0] == "needle"


def test_a_page_of_any_size_is_searched_at_its_start(memory: SmallMemory) -> None:
    memory.write("big", "first " + "x" * 300_000 + " unreached")
    assert memory.found("first") == ["big"]


def test_recall_over_a_thousand_pages_is_quick(memory: SmallMemory) -> None:
    words = [f"w{i}" for i in range(400)]
    for i in range(1000):
        text = " ".join(words[(i * k) % 400] for k in range(1, 120))
        memory.page(f"entities/p{i}.md", f"---\ntitle: {words[i % 400]}\n---\n{text}")
    memory.sync()
    started = time.perf_counter()
    for i in range(10):
        memory.retriever.retrieve(f"w{i} w{i + 50} w{i + 100} w{i + 150}")
    assert (time.perf_counter() - started) / 10 < 0.25
