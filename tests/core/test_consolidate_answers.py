"""Answers that are cut off, cannot be read or do not come (issue 3 item 4)."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from scripted_model import Answer, AskedMemory, CountingModel, ScriptedModel, node

from memex_core.config import LLMConfig, MemexConfig
from memex_core.errors import LLMError, WikiStoreError
from memex_core.memory.consolidated_page import MARK
from memex_core.memory.consolidation_prompt import ONCE_MORE
from memex_core.model.llm import ModelCall
from memex_core.model.results import ConsolidationReport

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
REFUSAL = "I'm sorry, I can't help with that."
CUT = json.dumps([node("one"), node("two")])[:-40]
"""The first of two nodes is whole."""


@pytest.fixture
def memory(root: Path) -> AskedMemory:
    asked = AskedMemory(root)
    asked.said("s1", "We lint with ruff from now on.")
    return asked


def one_call_each(root: Path) -> AskedMemory:
    """A memory with two sessions, of which only one fits a call."""
    asked = AskedMemory(root, MemexConfig(llm=LLMConfig(max_prompt_tokens=1_800)))
    for number in (1, 2):
        asked.said(f"s{number}", f"word{number} " * 200, hour=10 + number)
    return asked


def failing(
    memory: AskedMemory, *answers: Answer, mode: str = "full"
) -> tuple[LLMError, ConsolidationReport]:
    with pytest.raises(LLMError) as raised:
        memory.consolidate(*answers, mode=mode)
    assert raised.value.report is not None and raised.value.report.nodes_created == []
    return raised.value, raised.value.report


def kept_file(memory: AskedMemory) -> Path:
    (path,) = (memory.root / "spool/answers").iterdir()
    return path


def asked_about(prompt: str) -> list[str]:
    return [name for name in ("s1", "s2", "s3") if f"session_id: {name}\n" in prompt]


def is_marked(memory: AskedMemory, name: str) -> bool:
    episode = memory.episode(name)
    return episode.extra.get(MARK) == episode.content_hash


# ------------------------------------------------------------------------------------------ cannot be read


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(memory: AskedMemory) -> None:
    report = memory.consolidate(model=CountingModel(REFUSAL, [node("one")]))
    first, second = memory.model.prompts
    assert second == first + ONCE_MORE
    assert (report.llm_calls, len(report.changes), report.warnings) == (2, 1, [])
    assert is_marked(memory, "s1") and not (memory.root / "spool/answers").exists()


def test_the_second_one_that_cannot_be_read_is_kept_and_everything_stays_as_it_was(
    memory: AskedMemory,
) -> None:
    before = memory.files()
    error, report = failing(memory, REFUSAL, f"Still not. The token is {TOKEN}.")
    path = kept_file(memory)
    assert report.answer_file == str(path) and str(path) in report.warnings[0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text("utf-8")
    assert "Still not." in text and '"s1"' in text and TOKEN not in text
    assert (report.llm_calls, report.episodes_processed, report.changes) == (2, 0, [])
    assert {name: data for name, data in memory.files().items() if "answers" not in name} == before
    assert error.hint


def test_a_kept_answer_that_a_person_mended_is_used_without_a_call_and_deleted(memory: AskedMemory) -> None:
    failing(memory, "", f"[{json.dumps(node('one'))[:-1]}")
    path = kept_file(memory)
    assert '"title": "one"' in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8") + "}]", "utf-8")
    report = memory.consolidate()
    assert (report.llm_calls, report.episodes_processed, len(report.changes)) == (0, 1, 1)
    assert not path.exists() and is_marked(memory, "s1") and memory.page("one").sources == ["s1"]


def test_a_kept_answer_that_still_cannot_be_read_is_replaced_by_what_the_model_says_next(
    memory: AskedMemory,
) -> None:
    failing(memory, REFUSAL, REFUSAL)
    path = kept_file(memory)
    failing(memory, "Again.", "And again.")
    assert kept_file(memory) == path and "And again." in path.read_text("utf-8")
    assert memory.consolidate([]).episodes_processed == 1
    assert not path.exists()


def test_a_kept_answer_about_an_episode_that_changed_is_not_used(memory: AskedMemory) -> None:
    failing(memory, REFUSAL, REFUSAL)
    path = kept_file(memory)
    path.write_text(path.read_text("utf-8").splitlines()[0] + "\n[]", "utf-8")
    memory.said("s1", "We lint with ruff from now on.", "And format.")
    assert memory.consolidate([node("one")]).llm_calls == 1
    assert not path.exists()


def test_a_kept_answer_about_two_episodes_goes_when_both_are_settled(memory: AskedMemory) -> None:
    memory.said("s2", "And uv.", hour=11)
    failing(memory, REFUSAL, REFUSAL)
    path = kept_file(memory)
    memory.consolidate([], episode_ids=["s1"])
    assert path.exists()
    memory.consolidate([])
    assert not path.exists()


def test_a_kept_answer_whose_first_line_is_damaged_is_passed_over_and_logged(memory: AskedMemory) -> None:
    failing(memory, REFUSAL, REFUSAL)
    path = kept_file(memory)
    for text in ("", "not json\n[]", "memex-answer 1 []\n[]", 'memex-answer 1 {"s1": 1}\n[]', "[" * 5_000):
        path.write_text(text, "utf-8")
        assert memory.consolidate([], mode="dry-run").llm_calls == 1
    assert "its first line is damaged" in (memory.root / "logs/memex.log").read_text("utf-8")


def test_a_dry_run_keeps_nothing_and_deletes_nothing(memory: AskedMemory) -> None:
    before = memory.files()
    _, report = failing(memory, REFUSAL, REFUSAL, mode="dry-run")
    assert memory.files() == before and report.answer_file is None and "dry run" in report.warnings[0]
    failing(memory, REFUSAL, REFUSAL)
    path = kept_file(memory)
    path.write_text(path.read_text("utf-8").replace(REFUSAL, json.dumps([node("one")])), "utf-8")
    report = memory.consolidate(mode="dry-run")
    assert (report.llm_calls, len(report.changes)) == (0, 1) and path.exists()
    assert memory.consolidate().changes == report.changes


def test_one_answer_that_cannot_be_read_does_not_cost_the_others(root: Path) -> None:
    memory = one_call_each(root)
    report = memory.consolidate(REFUSAL, REFUSAL, [node("one")])
    assert (report.episodes_processed, len(report.changes), report.llm_calls) == (1, 1, 3)
    assert report.answer_file == str(kept_file(memory))
    assert (is_marked(memory, "s1"), is_marked(memory, "s2")) == (False, True)


def test_a_folder_that_cannot_be_written_is_a_failure_of_the_store(memory: AskedMemory) -> None:
    (memory.root / "spool").mkdir(exist_ok=True)
    (memory.root / "spool/answers").write_text("in the way", "utf-8")
    with pytest.raises(WikiStoreError, match="cannot write"):
        memory.consolidate(REFUSAL, REFUSAL)


# ---------------------------------------------------------------------------------------------- does not come


def test_a_call_that_fails_gives_the_error_and_the_report(memory: AskedMemory) -> None:
    before = memory.files()
    error, report = failing(memory, LLMError("no connection", hint="start it"))
    assert (str(error), error.hint) == ("no connection", "start it")
    assert (report.llm_calls, report.episodes_processed, report.mode) == (1, 0, "full")
    assert memory.files() == before


def test_a_call_that_fails_after_another_gave_pages_is_a_warning(root: Path) -> None:
    memory = one_call_each(root)
    report = memory.consolidate([node("one")], LLMError("daily limit reached"))
    assert (report.episodes_processed, len(report.changes)) == (1, 1)
    assert report.warnings == ["episodes left unread: 1; daily limit reached"]
    assert (is_marked(memory, "s1"), is_marked(memory, "s2")) == (True, False)


class DecliningModel(CountingModel):
    """Its errors mean that it declined."""

    def complete(self, prompt: str, max_tokens: int) -> str:
        declines = isinstance(self.answers[0], Exception)
        try:
            return super().complete(prompt, max_tokens)
        finally:
            if declines:
                self.calls.append(ModelCall("test", "model-a", 1000, 0, False, 1.0, "refused"))


def test_a_question_that_the_model_declines_does_not_cost_the_others(root: Path) -> None:
    memory = one_call_each(root)
    report = memory.consolidate(model=DecliningModel(LLMError("declined"), [node("one")]))
    assert (report.llm_calls, report.episodes_processed, len(report.changes)) == (2, 1, 1)
    assert report.warnings == ["s1: declined"]
    assert (is_marked(memory, "s1"), is_marked(memory, "s2")) == (False, True)


def test_a_model_that_declines_everything_is_an_error(root: Path) -> None:
    memory = one_call_each(root)
    with pytest.raises(LLMError, match="declined") as raised:
        memory.consolidate(model=DecliningModel(LLMError("declined"), LLMError("declined too")))
    assert raised.value.report is not None and raised.value.report.llm_calls == 2


def test_what_a_half_gave_before_a_call_failed_counts(memory: AskedMemory) -> None:
    for number in (2, 3):
        memory.said(f"s{number}", f"Session {number}.", hour=10 + number)
    report = memory.consolidate(CUT, [node("two")], LLMError("daily limit reached"))
    assert report.warnings[1:] == ["episodes left unread: 2; daily limit reached"]
    assert (report.episodes_processed, is_marked(memory, "s1"), is_marked(memory, "s2")) == (1, True, False)


def test_the_first_answer_is_kept_where_the_second_does_not_come(memory: AskedMemory) -> None:
    failing(memory, f"[{json.dumps(node('one'))[:-1]}", LLMError("daily limit reached"))
    assert '"title": "one"' in kept_file(memory).read_text("utf-8")


def test_an_empty_second_answer_does_not_replace_the_first(memory: AskedMemory) -> None:
    failing(memory, REFUSAL, "")
    assert REFUSAL in kept_file(memory).read_text("utf-8")


def test_any_other_error_of_a_client_is_its_own(memory: AskedMemory) -> None:
    with pytest.raises(KeyError):
        memory.consolidate(KeyError("a fault"))
    assert not is_marked(memory, "s1")


# ------------------------------------------------------------------------------------------------ is cut off


def test_a_cut_answer_about_one_episode_is_used_as_far_as_it_goes(memory: AskedMemory) -> None:
    report = memory.consolidate(CUT)
    assert [page.slug for page in memory.memex.store.list("entity")] == ["one"]
    assert is_marked(memory, "s1") and report.llm_calls == 1
    (warning,) = report.warnings
    assert "cut off, 1 nodes" in warning and "max_tokens" in warning


def test_a_cut_answer_about_several_is_asked_for_in_halves(memory: AskedMemory) -> None:
    for number in (2, 3):
        memory.said(f"s{number}", f"Session {number}.", hour=10 + number)
    report = memory.consolidate(CUT, [node("two")], [node("three")])
    assert sorted(page.slug for page in memory.memex.store.list("entity")) == ["one", "three", "two"]
    sent = [asked_about(prompt) for prompt in memory.model.prompts]
    assert sent == [["s1", "s2", "s3"], ["s1"], ["s2", "s3"]]
    assert (report.episodes_processed, report.llm_calls) == (3, 3)
    assert "asked again in halves" in report.warnings[0]


def test_a_half_that_is_cut_too_is_used_as_far_as_it_goes(memory: AskedMemory) -> None:
    for number in (2, 3, 4):
        memory.said(f"s{number}", f"Session {number}.", hour=10 + number)
    report = memory.consolidate(CUT, CUT, CUT)
    assert (report.llm_calls, report.episodes_processed, len(report.changes)) == (3, 4, 1)
    assert len(report.warnings) == 3


def test_a_run_that_dies_between_pages_and_marks_ends_the_same_when_repeated(
    memory: AskedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    consolidating = memory.consolidating()
    memory.model = ScriptedModel()
    with monkeypatch.context() as patch:
        patch.setattr(consolidating.pages, "mark", lambda episode: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr(memory, "consolidating", lambda: consolidating)
        with pytest.raises(KeyboardInterrupt):
            memory.consolidate([node("one")])
    page = memory.page("one")
    report = memory.consolidate([node("one")])
    assert (report.episodes_processed, report.changes) == (1, []) and memory.page("one") == page
