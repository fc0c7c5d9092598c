"""Opening a memory: what a cut-off restore left is settled first; a slip in the configuration is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memex_core import open_memory
from memex_core.archive import swap
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import IngestTranscriptInput
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore


def test_a_restore_that_was_cut_off_is_settled_when_the_memory_is_opened(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Old", "old words"))
    memex.backup(tmp_path / "a.tar.gz")
    memex.write(WriteInput("entity", "New", "new words"))
    with monkeypatch.context() as patch:
        patch.setattr(swap, "_forward", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr(swap, "_back", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memex.restore(tmp_path / "a.tar.gz")
    assert (root / ".memex-restore.json").exists()
    whole = {("old",), ("new", "old")}
    assert tuple(sorted(page.slug for page in Memex(root).list_pages())) in whole
    assert not (root / ".memex-restore.json").exists()
    assert {hit.slug for hit in Memex(root).recall("words").hits} in [set(slugs) for slugs in whole]


def test_info_still_answers_where_the_configuration_cannot_be_read(root: Path) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "Words."))
    (root / "memex.toml").write_text("[bm25\n", "utf-8")
    facts = memex.info()
    assert facts["config"] == [] and "memex.toml" in facts["config_problems"][0]


def test_info_says_every_setting_and_where_it_comes_from(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    (root / "memex.toml").write_text('[bm25]\nk1 = 1.5\n[llm]\napi_key = "sk-secret"\n', "utf-8")
    monkeypatch.setenv("MEMEX_LLM_MODEL", "small")
    facts = Memex(root).info()
    told = {(s["section"], s["key"]): (s["value"], s["origin"]) for s in facts["config"]}
    assert told["bm25", "k1"][0] == 1.5 and "memex.toml" in told["bm25", "k1"][1]
    assert told["bm25", "b"][1] == "default" and told["llm", "model"] == ("small", "MEMEX_LLM_MODEL")
    assert "sk-secret" not in str(facts)


def test_the_index_can_be_built_anew_at_every_start(root: Path) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "Words."))
    (root / "memex.toml").write_text("[index]\nauto_rebuild_on_startup = true\n", "utf-8")
    memex = Memex(root)
    assert memex.heal().rebuilt and not memex.heal(force=True).rebuilt


def test_the_page_of_a_title_is_found_under_whatever_file_name(root: Path) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Page 1", "one"))
    (root / "docs" / "entities" / "page-1.md").rename(root / "docs" / "entities" / "p-one.md")
    assert memex.write(WriteInput("entity", "page 1", "two")).slug == "p-one"
    assert len(memex.list_pages()) == 1


def test_counts_are_the_same_with_and_without_an_index(root: Path) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "Words."))
    memex.recall("words")
    (root / "mem.db").unlink()
    page = Memex(root).read("zephyr")
    assert page is not None and page.access_count == 1 and page.last_access


def test_a_relative_memory_root_gives_absolute_paths(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    monkeypatch.chdir(root.parent)
    page = Memex(Path(root.name)).write(WriteInput("entity", "Zephyr", "Words."))
    assert page.file_path == root / "docs" / "entities" / "zephyr.md"


def test_info_says_what_acts_where_the_configuration_leaves_it_open(root: Path) -> None:
    told = {(s["section"], s["key"]): s["value"] for s in Memex(root).info()["config"]}
    assert told["llm", "model"] == "llama3.1" and told["llm", "api_base"] == "http://localhost:11434/v1"
    assert (told["bm25", "k1"], told["bm25", "b"]) == (0.9, 0.4)
    assert told["logging", "file"] == str(root / "logs" / "memex.log")


def test_a_rebuild_counts_pages_and_nothing_else(root: Path) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "Words."))
    turns = [{"role": "user", "content": "Hello.", "ts": "2026-09-15T10:00:00Z", "turn": 1}]
    memex.ingest_transcript(IngestTranscriptInput("s1", turns))  # type: ignore[arg-type]
    (root / "docs" / "entities" / "new.md").write_text("new words\n", "utf-8")
    report = memex.rebuild_index()
    assert (report.nodes_indexed, report.nodes_skipped) == (1, 2)
    assert memex.rebuild_index(force=True).nodes_indexed == 3


def test_an_item_is_found_and_gone_at_once_also_right_after_a_recall(root: Path) -> None:
    memex, items = Memex(root), RecallFileStore(root)
    assert memex.recall("tabby").hits == []
    items.add("pets", "cat", "Tabby.")
    assert [hit.slug for hit in memex.recall("tabby").hits] == ["pets:cat"]
    items.add("pets", "cat", "Ginger.")
    assert memex.recall("tabby").hits == []
    assert [hit.slug for hit in memex.recall("ginger").hits] == ["pets:cat"]
    items.remove("pets", "cat")
    assert memex.recall("ginger").hits == []


def test_an_event_is_found_at_once_also_right_after_a_recall(root: Path) -> None:
    memex = Memex(root)
    day = ("2026-03-10", "2026-03-10")
    assert memex.recall("tea", time_range=day).hits == []
    Diary(root).append("Had tea.", date=day[0], time="08:00")
    assert [hit.slug for hit in memex.recall("tea", time_range=day).hits] == ["2026-03-10#0"]


def test_what_is_written_while_the_index_is_brought_up_to_date_is_found_by_the_next_recall(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memex, sync = Memex(root), open_memory.sync

    def interrupted(*arguments: Any, **options: Any) -> Any:
        report = sync(*arguments, **options)
        RecallFileStore(root).add("pets", "cat", "Tabby.")
        return report

    with monkeypatch.context() as patch:
        patch.setattr(open_memory, "sync", interrupted)
        memex.heal()
    assert [hit.slug for hit in memex.recall("tabby").hits] == ["pets:cat"]


def test_a_memory_in_which_nothing_changes_is_looked_at_once_in_a_while(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memex, sync, looked = Memex(root), open_memory.sync, list[None]()
    memex.write(WriteInput("entity", "Zephyr", "Words."))
    monkeypatch.setattr(open_memory, "sync", lambda *a, **o: (looked.append(None), sync(*a, **o))[1])
    for _ in range(3):
        memex.recall("words")
    assert looked == []


def test_every_public_name_of_the_package_is_there() -> None:
    import memex_core

    for name in memex_core.__all__:
        assert getattr(memex_core, name) is not None, name
