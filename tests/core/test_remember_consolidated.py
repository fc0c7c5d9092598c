"""Deleting a session takes it out of what a model made of it (issue 2 item 12, issue 3 item 4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripted_model import AskedMemory, node

from memex_core.errors import LLMError
from memex_core.memory.consolidated_page import MARK, statement_of


@pytest.fixture
def memory(root: Path) -> AskedMemory:
    asked = AskedMemory(root)
    asked.said("s1", "The quokka client wants ruff.")
    asked.said("s2", "We lint with ruff.", hour=11)
    return asked


def in_files(memory: AskedMemory, word: str) -> list[str]:
    return [name for name, data in memory.files().items() if word.encode() in data]


def prompts_name(memory: AskedMemory) -> list[str]:
    return [name for name in ("s1", "s2", "s3") if f"session_id: {name}\n" in memory.model.prompts[0]]


def test_a_page_made_of_that_session_alone_goes_with_it(memory: AskedMemory) -> None:
    memory.consolidate([node("quokka-rule", episodes=["s1"]), node("other", episodes=["s2"])])
    assert memory.memex.delete_sessions(["s1"]) == []
    assert [page.slug for page in memory.memex.store.list("entity")] == ["other"]
    assert in_files(memory, "quokka") == [] and MARK in memory.episode("s2").extra
    assert memory.consolidate().llm_calls == 0


def test_a_page_made_of_several_goes_and_the_others_are_consolidated_anew(memory: AskedMemory) -> None:
    memory.said("s3", "Another thing.", hour=12)
    memory.consolidate([node("quokka-lints", episodes=["s1", "s2"]), node("other", episodes=["s3"])])
    memory.memex.delete_sessions(["s1"])
    assert in_files(memory, "quokka") == []
    memory.consolidate([node("shop-lints")])
    assert prompts_name(memory) == ["s2"]
    assert memory.page("shop-lints").sources == ["s2"]


def test_a_page_that_says_more_stays_without_what_was_made_of_that_session(memory: AskedMemory) -> None:
    page = memory.write("Ruff", "My own words.\n", links=["uv"])
    memory.write("Quokka Client", "They pay.\n")
    memory.consolidate([node("ruff", "The [[quokka-client]] wants it."), node("other", episodes=["s2"])])
    assert memory.page("ruff").sources == ["s1", "s2"]
    assert memory.memex.delete_sessions(["s1"]) == ["entities/ruff"]
    after = memory.page("ruff")
    assert after.body == "My own words.\n\nSaid in:\n- [[s2]], 2026-09-15\n"
    assert (after.id, after.sources, after.links) == (page.id, ["s2"], ["uv", "s2"])
    memory.consolidate([node("ruff", "It is wanted.")])
    assert prompts_name(memory) == ["s2"] and "It is wanted." in memory.page("ruff").body


def test_an_extracted_statement_of_another_session_stays(memory: AskedMemory) -> None:
    memory.said("s3", "I prefer ruff over flake8.", hour=12)
    (page,) = memory.memex.list_pages("preference")
    said = node(page.title, "The quokka client wants ruff.", type="preference", episodes=["s1"])
    memory.consolidate([said])
    assert memory.page(page.slug).sources == ["s3#1", "s1"]
    assert memory.memex.delete_sessions(["s1"]) == [f"preferences/{page.slug}"]
    after = memory.page(page.slug)
    assert (after.sources, after.links, after.body) == (["s3#1"], ["s3"], page.body)
    assert in_files(memory, "quokka") == []


def test_what_was_made_of_others_stays_where_that_session_only_said_a_cue_phrase(memory: AskedMemory) -> None:
    memory.said("s3", "I prefer ruff over flake8.", hour=12)
    (page,) = memory.memex.list_pages("preference")
    memory.consolidate([node(page.title, "Ruff is quick.", type="preference", episodes=["s2"])])
    assert memory.memex.delete_sessions(["s3"]) == [f"preferences/{page.slug}"]
    after = memory.page(page.slug)
    assert after.sources == ["s2"] and statement_of(after.body) == "Ruff is quick."
    assert MARK in memory.episode("s2").extra and memory.consolidate().llm_calls == 0


def test_a_page_that_a_person_edited_stays_with_the_persons_words(memory: AskedMemory) -> None:
    memory.consolidate([node("one", "The quokka client wants it.", episodes=["s1"])])
    path = memory.page("one").file_path
    assert path is not None
    path.write_text(path.read_text("utf-8").replace("\nSaid in:", "\nMy note.\n\nSaid in:"), "utf-8")
    assert memory.memex.delete_sessions(["s1"]) == ["entities/one"]
    after = memory.page("one")
    assert (after.body, after.sources, after.links) == ("My note.\n", [], [])
    assert in_files(memory, "quokka") == [] and memory.memex.links.broken_links() == []


def test_our_words_that_a_person_rewrote_are_the_persons(memory: AskedMemory) -> None:
    memory.consolidate([node("one", "It is so.", episodes=["s1"])])
    path = memory.page("one").file_path
    assert path is not None
    path.write_text(path.read_text("utf-8").replace("It is so.", "It is not so."), "utf-8")
    memory.memex.delete_sessions(["s1"])
    assert statement_of(memory.page("one").body) == "It is not so."
    assert in_files(memory, "s1") == ["forgotten.jsonl"]


def test_an_answer_that_was_kept_about_that_session_goes_too(memory: AskedMemory) -> None:
    with pytest.raises(LLMError):
        memory.consolidate("The quokka", "cannot be read")
    assert in_files(memory, "cannot be read") != []
    memory.memex.delete_sessions(["s1"])
    assert in_files(memory, "cannot be read") == []


def test_the_title_of_a_page_that_went_is_not_left_in_the_journal(memory: AskedMemory) -> None:
    memory.consolidate([node("quokka-rule", episodes=["s1"])])
    memory.memex.delete_sessions(["s1"])
    lines = [json.loads(line) for line in (memory.root / "journal.jsonl").read_text("utf-8").splitlines()]
    assert [line["item"] for line in lines if line.get("file") == "entities/(deleted)"] == ["(deleted)"] * 2


def test_a_deletion_that_was_cut_off_before_the_others_were_unmarked_is_finished(
    memory: AskedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.consolidate([node("quokka-lints")])
    store = type(memory.memex.store)
    with monkeypatch.context() as patch:
        patch.setattr(store, "delete", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memory.memex.delete_sessions(["s1"])
    memory.memex.finish_deletions()
    assert memory.memex.store.list("entity") == [] and in_files(memory, "quokka") == []
    memory.consolidate([])
    assert prompts_name(memory) == ["s2"]


def test_a_link_to_a_deleted_session_leaves_the_front_matter_of_a_shared_node(memory: AskedMemory) -> None:
    memory.said("s3", "I prefer ruff over flake8.", hour=12)
    memory.said("s4", "I prefer ruff over flake8.", hour=13)
    (page,) = memory.memex.list_pages("preference")
    assert memory.page(page.slug).links == ["s3", "s4"]
    memory.memex.delete_sessions(["s3"])
    assert memory.page(page.slug).links == ["s4"] and memory.memex.links.broken_links() == []


def test_a_page_that_only_mentions_the_session_is_not_touched(memory: AskedMemory) -> None:
    page = memory.write("Notes", "See [[s1]] and sources: [s1].\n")
    assert page.file_path is not None
    before = page.file_path.read_bytes()
    memory.memex.delete_sessions(["s1"])
    assert page.file_path.read_bytes() == before
