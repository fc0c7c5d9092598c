"""What front matter says of links: those of the body go with the body, those that were given stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from memex_program import memex_cli
from small_memory import SmallMemory

from memex_core.memex import Memex
from memex_core.text.frontmatter import parse, split
from memex_core.text.links import page_links

PAGE = ("write", "--type", "entity", "--title", "House rules")


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    return SmallMemory(root)


def front_matter(path: Path) -> dict[str, object]:
    return parse(split(path.read_text("utf-8"))[0] or "")


def broken(memory: SmallMemory) -> list[tuple[str, str]]:
    memory.sync(force=True)
    return memory.links.broken_links()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("[[tools:ruff]] [[deploy]]", ["deploy"]),
        ("[[tools:ruff|the linter]]", []),
        ("[[tools:ruff]] [[tools-ruff]]", ["tools-ruff"]),
        ("[[a:b:c]] [[C# tips]] `[[code]]`", ["a-b-c", "c-tips"]),
    ],
)
def test_a_link_to_an_item_is_no_link_to_a_page(text: str, keys: list[str]) -> None:
    assert page_links(text) == keys


def test_an_item_that_the_body_names_is_no_page_in_front_matter(memory: SmallMemory) -> None:
    page = memory.write("House rules", "See [[tools:ruff]] and [[deploy]].")
    assert page.file_path is not None
    assert front_matter(page.file_path)["links"] == ["deploy"] == page.links
    assert broken(memory) == [(page_path(page.slug), "deploy"), (page_path(page.slug), "tools:ruff")]


def page_path(slug: str) -> str:
    return f"docs/entities/{slug}.md"


@pytest.mark.parametrize("link", ["tools:ruff", "deploy", "entities/deploy", "Deploy it|so"])
def test_a_link_that_an_editor_takes_out_of_the_body_is_gone(memory: SmallMemory, link: str) -> None:
    page = memory.write("House rules", f"See [[{link}]].", links=["wanted"])
    assert page.file_path is not None
    text = page.file_path.read_text("utf-8")
    page.file_path.write_text(text.replace(f"[[{link}]]", "nothing"), "utf-8")
    assert broken(memory) == [(page_path(page.slug), "wanted")]
    after = memory.store.read(page.slug)
    assert after is not None and after.links == ["wanted"]
    after.body += "\nMore.\n"
    assert front_matter(memory.store.write(after).file_path or Path())["links"] == ["wanted"]


def test_a_link_that_a_person_types_into_front_matter_stays(memory: SmallMemory) -> None:
    page = memory.write("House rules", "See [[deploy]].")
    assert page.file_path is not None
    text = page.file_path.read_text("utf-8").replace("\nlinks: [", '\nlinks: ["typed", ')
    page.file_path.write_text(text.replace("[[deploy]]", "nothing"), "utf-8")
    assert broken(memory) == [(page_path(page.slug), "typed")]


def test_a_page_without_a_word_of_ours_keeps_what_its_front_matter_says(memory: SmallMemory) -> None:
    path = memory.page("entities/mine.md", "---\nlinks: [Uv, deploy]\n---\nSee [[deploy]], [[tools:ruff]].\n")
    before = path.read_bytes()
    assert broken(memory) == [(page_path("mine"), key) for key in ("deploy", "tools:ruff", "uv")]
    page = memory.store.read("mine")
    assert page is not None and page.links == ["uv", "deploy"]
    assert memory.store.put(page).change == "" and path.read_bytes() == before
    page.body = "Nothing.\n"
    assert memory.store.write(page).links == ["uv"]


def test_a_caller_who_gives_a_link_that_the_body_held_keeps_it(memory: SmallMemory) -> None:
    memory.write("House rules", "See [[deploy]].")
    assert memory.write("House rules", "Nothing.", links=["deploy"]).links == ["deploy"]


@pytest.mark.parametrize("link", ["tools:ruff", "deploy"])
def test_writing_a_page_anew_without_a_link_of_its_body_leaves_none(root: Path, link: str) -> None:
    memex_cli(*PAGE, "--link", "wanted", "--body", f"See [[{link}]].")
    done = memex_cli(*PAGE, "--body", "Nothing.")
    assert done.json["links"] == ["wanted"]
    assert done.stderr == "warning: house-rules links to wanted, which does not exist\n"
    assert [each["link"] for each in memex_cli("links", "--broken").json] == ["wanted"]
    assert "tools-ruff" not in memex_cli("graph", "--format", "json").stdout


def test_the_graph_knows_an_item_that_a_page_names(root: Path) -> None:
    memex_cli("item", "add", "tools", "ruff", "--text", "A linter.")
    memex_cli(*PAGE, "--body", "See [[tools:ruff]].")
    edges = memex_cli("graph", "--format", "json").json["edges"]
    assert edges == [{"source": "entity/house-rules", "target": "tools:ruff"}]


def test_an_exported_page_comes_back_with_its_links(root: Path, tmp_path: Path) -> None:
    memex_cli(*PAGE, "--link", "wanted", "--body", "See [[deploy]], [[tools:ruff]].")
    before = (root / "docs/entities/house-rules.md").read_bytes()
    document = tmp_path / "all.json"
    memex_cli("export", "--output", str(document))
    (root / "docs/entities/house-rules.md").unlink()
    assert memex_cli("import", "--input", str(document)).returncode == 0
    assert (root / "docs/entities/house-rules.md").read_bytes() == before
    page = Memex(root).read("house-rules")
    assert page is not None and page.links == ["wanted", "deploy"]
