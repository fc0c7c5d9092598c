from __future__ import annotations

from pathlib import Path

import pytest
from small_memory import SmallMemory


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    return SmallMemory(root)


def test_links_by_slug_title_and_label_lead_to_the_page(memory: SmallMemory) -> None:
    memory.write("Ruff linter", "x")
    memory.write("部署方案", "x")
    memory.write("a", "[[ruff-linter]] [[部署方案|plan]]")
    memory.write("b", "[[RUFF Linter]]")
    memory.sync()
    assert memory.links.get_outgoing("a") == ["ruff-linter", "部署方案"]
    assert memory.links.get_backlinks("ruff-linter") == ["a", "b"]
    assert memory.links.get_backlinks("部署方案") == ["a"]
    assert memory.links.link_exists("b", "ruff-linter")
    assert not memory.links.link_exists("ruff-linter", "b")


def test_a_title_leads_to_a_page_under_another_name(memory: SmallMemory) -> None:
    memory.page("entities/x1.md", "---\ntitle: Blue green\n---\n")
    memory.write("a", "[[Blue Green]]")
    memory.sync()
    assert memory.links.get_outgoing("a") == ["x1"]
    assert memory.links.get_backlinks("x1") == ["a"]
    assert memory.links.validate_links("a") == []


def test_a_link_that_fits_two_types_means_its_own_type_first(memory: SmallMemory) -> None:
    memory.write("Deploy", "fact")
    memory.write("Deploy", "how", "procedure")
    memory.write("from fact", "[[deploy]]")
    memory.write("from how", "[[deploy]]", "procedure")
    memory.write("from episode", "[[deploy]] [[procedure/deploy]]", "episode")
    memory.sync()
    entity = [page.path for page in memory.links.linking_pages("deploy", "entity")]
    procedure = [page.path for page in memory.links.linking_pages("deploy", "procedure")]
    assert entity == ["docs/entities/from-fact.md", "docs/episodes/from-episode.md"]
    assert procedure == ["docs/episodes/from-episode.md", "docs/procedures/from-how.md"]


def test_broken_links_are_told_and_mended_by_the_page(memory: SmallMemory) -> None:
    memory.write("a", "[[later]] [[never]]")
    memory.sync()
    assert memory.links.validate_links("a") == ["later", "never"]
    assert memory.links.broken_links() == [("docs/entities/a.md", "later"), ("docs/entities/a.md", "never")]
    memory.write("Later", "x")
    memory.sync()
    assert memory.links.validate_links("a") == ["never"]
    assert memory.links.get_backlinks("later") == ["a"]


def test_links_go_with_their_page(memory: SmallMemory) -> None:
    memory.write("b", "x")
    memory.write("a", "[[b]]")
    memory.sync()
    memory.store.delete("a")
    memory.sync()
    assert memory.links.get_backlinks("b") == []


def test_explicit_links_of_the_front_matter_count(memory: SmallMemory) -> None:
    memory.write("b", "x")
    memory.write("a", "no link in the text", links=["b"])
    memory.sync()
    assert memory.links.get_backlinks("b") == ["a"]


def test_sync_links_replaces_what_goes_out(memory: SmallMemory) -> None:
    memory.write("a", "[[x]]")
    memory.sync()
    assert memory.links.sync_links("a", "[[y]] `[[z]]`") == ["y"]
    assert memory.links.get_outgoing("a") == ["y"]
    assert memory.links.parse_links("[[Some Page]]") == ["some-page"]


def test_the_graph_holds_every_page_with_links(memory: SmallMemory) -> None:
    memory.write("b", "[[c]]")
    memory.write("a", "[[b]] [[c]]")
    memory.sync()
    assert memory.links.get_link_graph() == {"a": ["b", "c"], "b": ["c"]}


def test_an_unknown_page_has_no_links(memory: SmallMemory) -> None:
    memory.index.initialize()
    assert (
        memory.links.get_outgoing("x")
        == memory.links.get_backlinks("x")
        == memory.links.validate_links("x")
        == []
    )
