"""A hard forget that was cut off anywhere can be repeated and leaves no word behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from memex_core.errors import NotFound
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.store import recall_fold


@pytest.mark.parametrize("step", ["forget_node", "scrub", "delete", "page_deleted"])
def test_forgetting_goes_on_where_it_was_cut_off(
    root: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    memex = Memex(root)
    memex.write(WriteInput("entity", "Quixotic", "Xylophonic umbrella."))
    memex.recall("umbrella")
    target = memex.store if step == "delete" else memex.journal
    with monkeypatch.context() as patch:
        patch.setattr(target, step, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memex.forget("quixotic")
    if step == "page_deleted":
        with pytest.raises(NotFound):
            memex.forget("quixotic")
    else:
        memex.forget("quixotic")
    for name in ("journal.jsonl", "recalls.jsonl", "forgotten.jsonl"):
        data = (root / name).read_bytes().lower()
        assert b"quixotic" not in data, name
    assert memex.read("quixotic") is None


def test_a_fold_that_was_cut_off_is_settled_before_the_recalls_are_scrubbed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memex = Memex(root)
    for title in ("Zephyr", "Quokka"):
        memex.write(WriteInput("entity", title, f"{title} words."))
    for _ in range(5):
        memex.recall("words")
    with monkeypatch.context() as patch:
        patch.setattr(recall_fold, "finish_fold", lambda *_: None)
        recall_fold.fold_recalls(root, memex.store)
    memex.forget("quokka")
    recall_fold.fold_recalls(root, memex.store)
    page = memex.store.read("zephyr")
    assert page is not None and page.access_count == 5
