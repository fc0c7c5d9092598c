"""Consolidation on a memory root: which episodes are sent, which pages come of it (seed 000 §9.3, issue 3
item 4).
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from scripted_model import AskedMemory, CountingModel, ScriptedModel, node

from memex_core.config import CaptureConfig, LLMConfig, MemexConfig, PagesConfig
from memex_core.errors import ConfigError, LLMError, NotFound, Refused, WikiStoreError
from memex_core.files.lock import memory_lock
from memex_core.memory.consolidated_page import MARK, statement_of
from memex_core.memory.consolidator import WikiConsolidator
from memex_core.model.node import ConsolidateInput, WikiNode, WriteInput

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
WORDS = "The shop lints with ruff since version 0.17, because it is fast."


@pytest.fixture
def memory(root: Path) -> AskedMemory:
    asked = AskedMemory(root)
    asked.said("s1", "We lint with ruff from now on.")
    return asked


def sent(memory: AskedMemory) -> list[list[str]]:
    """The sessions in every prompt."""
    start = "session_id: "
    return [
        [line.removeprefix(start) for line in prompt.splitlines() if line.startswith(start)]
        for prompt in memory.model.prompts
    ]


def journal(memory: AskedMemory) -> list[dict[str, Any]]:
    lines = (memory.root / "journal.jsonl").read_text("utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line.get("detail") == "consolidated"]


# ------------------------------------------------------------------------------------------------ new pages


def test_a_node_becomes_a_page_that_says_where_it_comes_from(memory: AskedMemory) -> None:
    answer = node("shop-lints-with-ruff", WORDS, tags=["Code Style"], importance=0.8, type="procedure")
    report = memory.consolidate([answer])
    page = memory.page("shop-lints-with-ruff")
    assert (page.type, page.title, page.importance) == ("procedure", "shop-lints-with-ruff", 0.8)
    assert (page.tags, page.sources) == (["consolidated", "code-style"], ["s1"])
    assert (page.project, page.project_label) == ("/home/dev/shop", "shop")
    assert statement_of(page.body) == WORDS and page.body.endswith("Said in:\n- [[s1]], 2026-09-15\n")
    assert memory.memex.get_provenance(page.slug).confidence == "direct"
    assert (report.mode, report.dry_run, report.episodes_processed) == ("full", False, 1)
    (created,) = report.nodes_created
    assert (created.title, created.body, created.sources) == (page.title, WORDS, ["s1"])
    assert (report.nodes_updated, report.nodes_refused, report.warnings) == ([], [], [])
    (change,) = report.changes
    assert (change["action"], change["page"], change["before"]) == ("add", f"procedures/{page.slug}", "")
    assert change["after"] == page.body


def test_every_changed_page_is_one_line_in_the_journal(memory: AskedMemory) -> None:
    memory.consolidate([node("one"), node("two")])
    assert [(line["action"], line["file"], line["item"]) for line in journal(memory)] == [
        ("add", "entities/one", "one"),
        ("add", "entities/two", "two"),
    ]


def test_a_node_without_importance_gets_the_configured_one(root: Path) -> None:
    memory = AskedMemory(root, MemexConfig(pages=PagesConfig(default_importance=0.3)))
    memory.said("s1", "Hello.")
    memory.consolidate([node("one", importance=None)])
    assert memory.page("one").importance == 0.3


def test_a_node_comes_from_the_episodes_it_names_or_from_all(memory: AskedMemory) -> None:
    memory.said("s2", "And with uv.", hour=11)
    memory.consolidate(
        [
            node("one", episodes=["s2"]),
            node("two"),
            node("three", episodes=["nope"]),
            node("four", episodes=["s1", "s2"]),
        ]
    )
    assert [memory.page(name).sources for name in ("one", "two", "three", "four")] == [
        ["s2"],
        ["s1", "s2"],
        ["s1", "s2"],
        ["s1", "s2"],
    ]
    assert "[[s1]]" not in memory.page("one").body


def test_a_node_of_sessions_in_two_projects_is_of_none(memory: AskedMemory) -> None:
    memory.memex.store.write(
        WikiNode("episode", "Other", "Words.", slug="s2", session_id="s2", project="/other")
    )
    memory.consolidate([node("both"), node("one", episodes=["s1"])])
    assert memory.page("both").project is None and memory.page("one").project == "/home/dev/shop"


def test_path_like_titles_are_only_titles(memory: AskedMemory) -> None:
    memory.consolidate([node("../../../etc/passwd"), node("CON"), node("a\\b\x00c")])
    pages = memory.memex.store.list("entity")
    assert {(page.title, page.slug) for page in pages} == {
        ("../../../etc/passwd", "etc-passwd"),
        ("CON", "con-page"),
        ("a\\bc", "a-bc"),
    }
    assert not (memory.root.parent / "etc").exists()


def test_secrets_that_come_back_are_not_stored(memory: AskedMemory) -> None:
    secrets = {"tags": [TOKEN, f"x {TOKEN}"], "links": [TOKEN], "episodes": [TOKEN]}
    report = memory.consolidate([node("one", f"The token is {TOKEN}.", **secrets), node(TOKEN, type=TOKEN)])
    assert "[REDACTED:" in memory.page("one").body and TOKEN.lower() not in str(report).lower()
    assert not any(TOKEN.encode() in data for data in memory.files().values())


def test_without_redaction_they_are(root: Path) -> None:
    memory = AskedMemory(root, MemexConfig(capture=CaptureConfig(redact=False)))
    memory.said("s1", "Hello.")
    memory.consolidate([node("one", f"The token is {TOKEN}.")])
    assert TOKEN in memory.page("one").body


# -------------------------------------------------------------------------------------------- which episodes


def test_a_consolidated_episode_is_not_sent_again_and_no_client_is_made(memory: AskedMemory) -> None:
    memory.consolidate([node("one")])
    consolidating = memory.consolidating()
    consolidating.client = lambda: pytest.fail("a client was made")
    report = consolidating.run(ConsolidateInput())
    assert (report.episodes_processed, report.llm_calls, report.changes) == (0, 0, [])


def test_the_mark_is_the_hash_of_what_was_sent_and_survives_a_capture(memory: AskedMemory) -> None:
    memory.consolidate([])
    episode = memory.episode("s1")
    assert episode.extra[MARK] == episode.content_hash
    memory.said("s1", "We lint with ruff from now on.")
    assert memory.episode("s1").extra[MARK] == episode.content_hash


def test_an_episode_that_grew_is_sent_again(memory: AskedMemory) -> None:
    memory.consolidate([node("one")])
    memory.said("s1", "We lint with ruff from now on.", "And we format with it.")
    memory.consolidate([])
    assert sent(memory) == [["s1"]]
    assert memory.consolidate().llm_calls == 0


def test_a_named_episode_is_sent_though_it_was_consolidated(memory: AskedMemory) -> None:
    memory.said("s2", "Something else.", hour=11)
    memory.consolidate([])
    report = memory.consolidate([node("one")], episode_ids=["s1", "s1"])
    assert sent(memory) == [["s1"]] and report.episodes_processed == 1


def test_the_most_recent_episodes_are_sent_oldest_first(memory: AskedMemory) -> None:
    for hour in (14, 12, 13):
        memory.said(f"at{hour}", f"At {hour}.", hour=hour)
    memory.consolidate([], max_episodes=3)
    assert sent(memory) == [["at12", "at13", "at14"]]
    memory.consolidate([], max_episodes=3)
    assert sent(memory) == [["s1"]]


def test_only_a_users_sessions_that_hold_are_sent_by_themselves(memory: AskedMemory) -> None:
    memory.said("sub", "Look into it.", kind="subagent")
    memory.said("old", "Set aside.")
    memory.memex.store.amend("old", "episode", valid_to="2020-01-01T00:00:00Z")
    memory.consolidate([])
    assert sent(memory) == [["s1"]]
    memory.consolidate([], episode_ids=["sub", "old"])
    assert sorted(sent(memory)[0]) == ["old", "sub"]


def test_an_episode_whose_front_matter_is_broken_is_sent_only_when_it_is_named(memory: AskedMemory) -> None:
    (memory.root / "docs/episodes/odd.md").write_text(
        '---\ntitle: "open\n---\nWords of an odd page.\n', "utf-8"
    )
    memory.consolidate([])
    assert sent(memory) == [["s1"]]
    report = memory.consolidate([node("one")], episode_ids=["odd"])
    assert report.episodes_processed == 1 and "will be sent again" in report.warnings[0]
    assert memory.page("one").sources == ["odd"]


@pytest.mark.parametrize("name", ["nope", "../../x", "entities/x", ""])
def test_an_episode_that_does_not_exist_is_not_found(memory: AskedMemory, name: str) -> None:
    with pytest.raises(NotFound, match="no episode named"):
        memory.consolidate(episode_ids=["s1", name])
    assert memory.model.prompts == []


@pytest.mark.parametrize("wanted", [{"mode": "half"}, {"max_episodes": 0}])
def test_an_input_that_is_none_is_refused(memory: AskedMemory, wanted: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        memory.consolidate(**wanted)


def test_a_memory_without_episodes_is_no_error(root: Path) -> None:
    assert AskedMemory(root).consolidate().episodes_processed == 0


# ------------------------------------------------------------------------------------------- existing pages


def test_the_same_type_and_title_updates_the_page_in_place(memory: AskedMemory) -> None:
    memory.consolidate([node("ruff", "Ruff is the linter.", tags=["a"], importance=0.9)])
    before = memory.page("ruff")
    memory.said("s2", "Ruff 0.17 it is.", hour=11)
    report = memory.consolidate([node("Ruff", "Ruff 0.17 is the linter.", tags=["b"], importance=0.6)])
    after = memory.page("ruff")
    assert (after.id, after.created, after.title) == (before.id, before.created, "ruff")
    assert statement_of(after.body) == "Ruff 0.17 is the linter."
    assert (after.tags, after.importance) == (["consolidated", "a", "b"], 0.9)
    assert after.sources == ["s1", "s2"] and "[[s1]]" in after.body and "[[s2]]" in after.body
    assert (report.nodes_created, report.nodes_updated) == ([], ["ruff"])
    (change,) = report.changes
    assert (change["action"], change["before"], change["after"]) == ("update", before.body, after.body)
    assert change["fields"]["sources"] == [["s1"], ["s1", "s2"]]


def test_a_page_that_is_the_same_afterwards_is_not_touched(memory: AskedMemory) -> None:
    memory.consolidate([node("one")])
    files = memory.files()
    report = memory.consolidate([node("one")], episode_ids=["s1"])
    assert (report.nodes_updated, report.changes, report.episodes_processed) == ([], [], 1)
    assert memory.files() == files


def test_a_persons_page_keeps_every_word(memory: AskedMemory) -> None:
    page = memory.write("Ruff", "My own words about ruff.\n")
    memory.consolidate([node("ruff", WORDS)])
    after = memory.page("ruff")
    assert after.body.startswith("My own words about ruff.\n\n<!-- memex:generated ")
    assert after.id == page.id and "consolidated" not in after.tags and after.sources == ["s1"]
    memory.said("s2", "More.", hour=11)
    memory.consolidate([node("ruff", "Ruff again.")])
    assert memory.page("ruff").body.startswith("My own words about ruff.\n\n<!--")
    assert WORDS not in memory.page("ruff").body


def test_an_extracted_page_keeps_its_words_and_its_sources(memory: AskedMemory) -> None:
    memory.said("s2", "I prefer ruff over flake8.", hour=11)
    (page,) = memory.memex.list_pages("preference")
    memory.consolidate(
        [node(page.title, "The user wants ruff everywhere.", type="preference", episodes=["s2"])]
    )
    after = memory.page(page.slug)
    assert after.body.startswith("I prefer ruff over flake8.\n\n<!-- memex:generated ")
    assert after.sources == ["s2#1", "s2"] and after.body.count("Said in:") == 1
    memory.said("s3", "I prefer ruff over flake8.", hour=12)
    assert memory.page(page.slug).sources == ["s2#1", "s2", "s3#1"]
    assert "The user wants ruff everywhere." in memory.page(page.slug).body


def test_a_title_in_kebab_case_means_the_page_that_has_it_in_words(memory: AskedMemory) -> None:
    memory.write("User prefers Ruff", "Mine.\n")
    report = memory.consolidate([node("user-prefers-ruff", WORDS)])
    assert report.nodes_updated == ["user-prefers-ruff"] and len(memory.memex.store.list("entity")) == 1


def test_the_same_statement_under_another_title_updates_that_page(memory: AskedMemory) -> None:
    memory.write("Linting", WORDS)
    report = memory.consolidate([node("what-we-lint-with", WORDS.upper()), node("another-thing")])
    assert (report.nodes_updated, [made.title for made in report.nodes_created]) == (
        ["linting"],
        ["another-thing"],
    )
    assert memory.page("linting").body.startswith(WORDS)


def test_the_same_title_in_another_type_is_another_page(memory: AskedMemory) -> None:
    memory.write("ruff", WORDS)
    report = memory.consolidate([node("ruff", WORDS, type="preference")])
    assert [made.type for made in report.nodes_created] == ["preference"]


def test_our_words_that_a_person_corrected_are_not_put_back(memory: AskedMemory) -> None:
    memory.consolidate([node("one", "It is ruff 0.16.")])
    path = memory.page("one").file_path
    assert path is not None
    path.write_text(path.read_text("utf-8").replace("0.16", "0.17"), "utf-8")
    assert memory.consolidate([node("one", "It is ruff 0.16.")], episode_ids=["s1"]).changes == []
    memory.consolidate([node("one", "Ruff runs in CI.")], episode_ids=["s1"])
    body = memory.page("one").body
    assert "It is ruff 0.17." in body and "Ruff runs in CI." in body and "0.16" not in body


def test_two_nodes_of_one_answer_may_be_one_page(memory: AskedMemory) -> None:
    report = memory.consolidate([node("one", WORDS, tags=["a"]), node("one-again", WORDS, tags=["b"])])
    assert memory.page("one").tags == ["consolidated", "a", "b"]
    (change,) = report.changes
    assert (change["action"], change["fields"]["tags"]) == ("add", [None, ["consolidated", "a", "b"]])
    assert (len(report.nodes_created), report.nodes_updated) == (1, [])


def test_a_page_whose_front_matter_is_broken_is_left_alone(memory: AskedMemory) -> None:
    path = memory.root / "docs/entities/odd.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'---\ntitle: "open\n---\n# odd\n')
    report = memory.consolidate([node("odd"), node("two")])
    assert path.read_bytes() == b'---\ntitle: "open\n---\n# odd\n'
    ((title, why),) = report.nodes_refused
    assert title == "odd" and "odd.md" in why and len(report.changes) == 1


def test_a_page_that_would_grow_too_long_is_left_alone(root: Path) -> None:
    memory = AskedMemory(root, MemexConfig(pages=PagesConfig(max_body_chars=1_000)))
    memory.said("s1", "Hello.")
    memory.write("one", "x " * 480)
    report = memory.consolidate([node("one", "New words. " * 10), node("two", "y" * 1_001)])
    assert report.changes == []
    assert [why.split(" ")[0] for _, why in report.nodes_refused] == ["its", "one"]


# ---------------------------------------------------------------------------------------------------- links


def test_links_to_pages_stay_and_others_become_text(memory: AskedMemory) -> None:
    memory.write("Ruff Linter", "Mine.\n")
    memory.write("Old Tool", "Hidden.\n", valid_to="2020-01-01")
    body = "It is [[ruff-linter]], or [[Ruff Linter|ruff]], not [[flake8]], [[old-tool]], [[s1]] or [[one]]."
    report = memory.consolidate([node("one", body, links=["entity/ruff-linter", "black"])])
    page = memory.page("one")
    assert "It is [[ruff-linter]], or [[Ruff Linter|ruff]], not flake8, old-tool, s1 or one." in page.body
    assert page.links == ["entity/ruff-linter", "ruff-linter", "s1"]
    assert report.links_added == 2
    assert report.warnings == ["one: no page for its links to black, flake8, old-tool, s1"]
    assert memory.memex.links.broken_links() == []


def test_nodes_of_one_answer_do_not_link_to_one_another_in_any_order(memory: AskedMemory) -> None:
    memory.consolidate([node("one", "See [[two]]."), node("two", "See [[one]].")])
    assert "See two." in memory.page("one").body and "See one." in memory.page("two").body


def test_without_links_every_link_becomes_text(memory: AskedMemory) -> None:
    memory.write("Ruff", "Mine.\n")
    report = memory.consolidate([node("one", "It is [[ruff]].", links=["ruff"])], include_links=False)
    assert "It is ruff." in memory.page("one").body and memory.page("one").links == ["s1"]
    assert (report.links_added, report.warnings) == (0, [])


# --------------------------------------------------------------------------------- what a person did not want


@pytest.mark.parametrize("title", ["one-thing", "One Thing", "one thing"])
def test_a_forgotten_node_is_not_written_again(memory: AskedMemory, title: str) -> None:
    memory.consolidate([node("one-thing")])
    memory.memex.forget("one-thing")
    report = memory.consolidate([node(title), node("two")], episode_ids=["s1"])
    assert report.nodes_refused == [(title, "it was forgotten on purpose")]
    assert [page.slug for page in memory.memex.store.list("entity")] == ["two"]


def test_another_session_may_say_what_was_forgotten_of_one(memory: AskedMemory) -> None:
    memory.consolidate([node("one")])
    memory.memex.forget("one")
    memory.said("s2", "But it is so.", hour=11)
    assert len(memory.consolidate([node("one")]).changes) == 1


def test_a_page_that_a_person_wrote_and_forgot_is_not_written_by_us(memory: AskedMemory) -> None:
    memory.memex.write(WriteInput("entity", "one", "Mine."))
    memory.memex.forget("one")
    assert memory.consolidate([node("one")]).nodes_refused == [("one", "it was forgotten on purpose")]
    memory.memex.write(WriteInput("entity", "one", "Mine again."))
    assert memory.consolidate([node("one")], episode_ids=["s1"]).nodes_updated == ["one"]


def test_a_page_that_was_set_aside_is_neither_changed_nor_doubled(memory: AskedMemory) -> None:
    memory.write("one", WORDS, valid_to="2020-01-01T00:00:00Z")
    files = memory.files()["docs/entities/one.md"]
    report = memory.consolidate([node("one", "New."), node("under-another-title", WORDS)])
    assert [why for _, why in report.nodes_refused] == ["one says it, and does not hold any more"] * 2
    assert memory.files()["docs/entities/one.md"] == files and report.changes == []


def test_of_two_pages_that_say_the_same_the_one_that_holds_is_updated(memory: AskedMemory) -> None:
    memory.write("a set aside", WORDS, valid_to="2020-01-01T00:00:00Z")
    memory.write("b holds", WORDS)
    assert memory.consolidate([node("new-title", WORDS)]).nodes_updated == ["b-holds"]


def test_a_page_deleted_by_hand_stays_deleted(memory: AskedMemory) -> None:
    memory.consolidate([node("one"), node("two")])
    (memory.root / "docs/entities/one.md").unlink()
    report = memory.consolidate([node("one"), node("two", "Two is different now.")], episode_ids=["s1"])
    assert report.nodes_refused == [("one", "its page was deleted or moved by hand")]
    assert report.nodes_updated == ["two"]


# ------------------------------------------------------------------------------------------------- a dry run


def full_and_dry(memory: AskedMemory, *answers: Any, **wanted: Any) -> None:
    before = memory.files()
    dry = memory.consolidate(*answers, mode="dry-run", **wanted)
    assert memory.files() == before
    full = memory.consolidate(*answers, **wanted)
    assert dry.changes == full.changes and dry.changes
    assert (dry.mode, dry.dry_run, full.mode, full.dry_run) == ("dry-run", True, "full", False)
    for name in ("nodes_created", "nodes_updated", "nodes_refused", "links_added", "episodes_processed"):
        assert getattr(dry, name) == getattr(full, name), name
    assert (dry.llm_calls, dry.llm_prompt_tokens) == (full.llm_calls, full.llm_prompt_tokens)
    for change in full.changes:
        page = memory.page(change["page"])
        assert page.body == change["after"] and page.title == change["title"]
        for name, (_, after) in change["fields"].items():
            assert getattr(page, name) == after, name


def test_a_dry_run_writes_nothing_and_says_exactly_what_a_full_one_does(memory: AskedMemory) -> None:
    memory.write("Ruff", "Mine.\n", importance=0.2, tags=["mine"])
    memory.write("C++ tips", "Other words.\n")
    (memory.root / "docs/entities/windows.md").write_bytes(b"---\r\ntitle: windows\r\n---\r\nMine.\r\n\r\n")
    (memory.root / "docs/entities/odd.md").write_bytes(b'---\ntitle: "open\n---\n')
    memory.write("gone", "Hidden.\n", valid_to="2020-01-01")
    full_and_dry(
        memory,
        [
            node("ruff", "See [[windows]] and [[nope]].", links=["windows"]),
            node("windows", "Line one.\nLine two."),
            node("c tips", "Takes another slug."),
            node("c-tips!", "Takes yet another one, numbered."),
            node("first", WORDS),
            node("second", WORDS, tags=["more"], importance=0.99),
            node("odd"),
            node("gone"),
            node("bad", type="episode"),
        ],
    )


def test_a_dry_run_knows_in_its_second_call_what_the_first_one_would_have_written(
    memory: AskedMemory,
) -> None:
    small = AskedMemory(memory.root, MemexConfig(llm=LLMConfig(max_prompt_tokens=2_200)))
    for number in range(3):
        small.said(f"long{number}", f"Session {number}. " + f"word{number} " * 300, hour=11 + number)
    answers = [
        [node("one", WORDS)],
        [node("one", "It is black now."), node("two")],
        [node("two", "Three.")],
        [],
    ]
    full_and_dry(small, *answers)
    assert len(small.model.prompts) > 2


def test_a_dry_run_leaves_the_episodes_to_be_sent(memory: AskedMemory) -> None:
    memory.consolidate([node("one")], mode="dry-run")
    assert len(memory.consolidate([node("one")]).changes) == 1


# ------------------------------------------------------------------------------------------------ the counts


def test_calls_of_a_client_that_keeps_them_are_counted_as_they_were(memory: AskedMemory) -> None:
    report = memory.consolidate(model=CountingModel([node("one")]))
    assert (report.llm_calls, report.llm_prompt_tokens, report.llm_completion_tokens) == (1, 1000, 20)
    assert not report.tokens_estimated


def test_only_the_calls_of_this_run_are_counted(memory: AskedMemory) -> None:
    model = CountingModel([], [node("one")])
    model.complete("earlier", 1)
    assert memory.consolidate(model=model).llm_calls == 1


def test_calls_of_another_client_are_estimated(memory: AskedMemory) -> None:
    report = memory.consolidate([node("one")])
    assert report.llm_calls == 1 and report.tokens_estimated
    assert 200 < report.llm_prompt_tokens < 3_000 and 20 < report.llm_completion_tokens < 200


def test_a_client_that_cannot_be_made_was_not_called(memory: AskedMemory) -> None:
    def make() -> ScriptedModel:
        raise ConfigError("no model")

    consolidating = memory.consolidating()
    consolidating.client = make
    with pytest.raises(ConfigError):
        consolidating.run(ConsolidateInput())


# ------------------------------------------------------------------------------- while the model is thinking


class Meanwhile(ScriptedModel):
    """Does something to the memory before it answers."""

    def __init__(self, deed: Any, *answers: Any) -> None:
        super().__init__(*answers)
        self.deed = deed

    def complete(self, prompt: str, max_tokens: int) -> str:
        self.deed()
        return super().complete(prompt, max_tokens)


def test_nobody_waits_for_the_model(memory: AskedMemory) -> None:
    waited: list[bool] = []

    def lock_it() -> None:
        with memory_lock(memory.root, 0.5):
            waited.append(False)

    def from_another_thread() -> None:
        thread = threading.Thread(target=lock_it)
        thread.start()
        thread.join()

    memory.consolidate(model=Meanwhile(from_another_thread, [node("one")]))
    assert waited == [False]


def test_a_page_that_changed_meanwhile_keeps_the_change(memory: AskedMemory) -> None:
    page = memory.write("one", "Mine.\n")

    def edit() -> None:
        assert page.file_path is not None
        page.file_path.write_text(
            page.file_path.read_text("utf-8").replace("Mine.", "Mine, edited."), "utf-8"
        )

    memory.consolidate(model=Meanwhile(edit, [node("one", "Ours.")]))
    assert memory.page("one").body.startswith("Mine, edited.\n\n<!--") and "Ours." in memory.page("one").body


def test_nothing_is_written_of_a_session_deleted_meanwhile(memory: AskedMemory) -> None:
    memory.said("s2", "Something else.", hour=11)
    model = Meanwhile(
        lambda: memory.memex.delete_sessions(["s1"]),
        [node("of-both"), node("of-one", episodes=["s1"]), node("of-the-other", episodes=["s2"])],
    )
    report = memory.consolidate(model=model)
    assert [page.slug for page in memory.memex.store.list("entity")] == ["of-the-other"]
    assert [title for title, _ in report.nodes_refused] == ["of-both", "of-one"]
    assert report.episodes_processed == 0
    memory.consolidate([])
    assert sent(memory) == [["s2"]]


def test_an_episode_that_grew_meanwhile_is_sent_again(memory: AskedMemory) -> None:
    memory.consolidate(model=Meanwhile(lambda: memory.said("s1", "First.", "Second."), [node("one")]))
    memory.consolidate([])
    assert sent(memory) == [["s1"]]


def test_a_memory_that_cannot_be_written_asks_nobody(
    memory: AskedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("memex_core.consolidate.memory_lock", read_only)
    with pytest.raises(WikiStoreError, match="Read-only"):
        memory.consolidate([node("one")])
    assert memory.model.prompts == []
    assert memory.consolidate([node("one")], mode="dry-run").changes != []


def test_the_consolidator_itself_knows_full_and_dry_run(memory: AskedMemory) -> None:
    pages = memory.consolidating().pages
    consolidator = WikiConsolidator(pages, ScriptedModel([node("one")], [node("one")]), memory.memex.config)
    assert len(consolidator.consolidate(ConsolidateInput("dry-run")).changes) == 1
    assert memory.memex.store.list("entity") == []
    assert len(consolidator.consolidate(ConsolidateInput()).changes) == 1
    assert len(memory.memex.store.list("entity")) == 1


def test_one_run_at_a_time_pays(memory: AskedMemory) -> None:
    memory.said("s1", "We use ruff.")

    class Nested(ScriptedModel):
        def complete(self, prompt: str, max_tokens: int) -> str:
            told: list[str] = []

            def another() -> None:
                try:
                    AskedMemory(memory.root).consolidate([node("two")])
                except Refused as refused:
                    told.append(str(refused))

            thread = threading.Thread(target=another)
            thread.start()
            thread.join()
            assert told and "another process" in told[0]
            return super().complete(prompt, max_tokens)

    assert len(memory.consolidate(model=Nested([node("one")])).nodes_created) == 1
    assert memory.consolidate().llm_calls == 0


def test_an_episode_that_cannot_be_marked_is_not_sent_by_itself(memory: AskedMemory) -> None:
    memory.said("s1", "We use ruff.")
    path = memory.root / "docs" / "episodes" / "s1.md"
    path.write_bytes(path.read_bytes() + b"\nCaf\xe9\n")
    assert memory.consolidate().llm_calls == 0
    assert memory.consolidate([node("one")], episode_ids=["s1"]).llm_calls == 1


@pytest.mark.parametrize(
    "again",
    [node("one", "The build server is called Zephyr and runs nightly jobs.", episodes=["s2"]),
     node("another-title", "The build server is called Zephyr and runs nightly jobs.")],
    ids=["laid to another session", "under another title"],
)  # fmt: skip
def test_what_was_forgotten_does_not_come_back(memory: AskedMemory, again: dict[str, Any]) -> None:
    memory.said("s1", "Our build server is Zephyr.")
    memory.said("s2", "Something else.", hour=12)
    memory.consolidate([node("one", "The build server is called Zephyr and runs nightly jobs.")])
    memory.memex.forget("one")
    report = memory.consolidate([again], episode_ids=["s1", "s2"])
    assert report.nodes_created == [] and report.nodes_refused[0][1] == "it was forgotten on purpose"


def test_what_was_ended_does_not_come_back_as_another_type(memory: AskedMemory) -> None:
    memory.said("s1", "Our build server is Zephyr.")
    memory.consolidate([node("one")])
    memory.memex.forget("one", "soft")
    report = memory.consolidate([node("one", type="summary")], episode_ids=["s1"])
    assert report.nodes_created == [] and "does not hold any more" in report.nodes_refused[0][1]


def test_forgetting_an_episode_drops_the_answer_that_is_kept_about_it(memory: AskedMemory) -> None:
    memory.said("s1", "We use ruff.")
    with pytest.raises(LLMError):
        memory.consolidate("no", "no list")
    assert list((memory.root / "spool" / "answers").iterdir())
    memory.memex.forget("s1")
    assert list((memory.root / "spool" / "answers").iterdir()) == []
