"""`memex consolidate` (seed 000 §5.2, §9.3; issue 3 items 2 and 4), asking a program that answers as a model
does.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from memex_program import memex_cli

from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.results import ConsolidationReport

ANSWER = [
    {"type": "entity", "title": "Zephyr", "body": "Zephyr builds for ARM as well.", "tags": ["ci"]},
    {
        "type": "procedure",
        "title": "release-steps",
        "body": "Tag, then build on Zephyr.",
        "episodes": ["s-1"],
    },
    {"type": "spell", "title": "no-such-type", "body": "x"},
]


class Answering:
    """A memory with one session and one page, and what its model answers."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.answer, self.prompts = root, folder / "answer", folder / "prompts"
        program = folder / "model.py"
        program.write_text(
            "import pathlib, sys\n"
            f"with open({str(self.prompts)!r}, 'a', encoding='utf-8') as seen: seen.write(sys.stdin.read())\n"
            f"answer = pathlib.Path({str(self.answer)!r})\n"
            "sys.exit('no answer today') if not answer.exists() else print(answer.read_text('utf-8'))\n",
            "utf-8",
        )
        memex = Memex(root)
        memex.write(WriteInput("entity", "Zephyr", "Zephyr is our build server."))
        memex.write(WriteInput("episode", "A session", "> We release on Zephyr.", session_id="s-1"))
        command = json.dumps([sys.executable, str(program)])
        (root / "memex.toml").write_text(f'[llm]\nprovider = "command"\ncommand = {command}\n', "utf-8")

    def answers(self, value: Any) -> None:
        self.answer.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")

    def asked(self) -> str:
        return self.prompts.read_text("utf-8") if self.prompts.exists() else ""


@pytest.fixture
def model(root: Path, tmp_path: Path) -> Answering:
    answering = Answering(root, tmp_path)
    answering.answers(ANSWER)
    return answering


def bodies(root: Path) -> dict[str, str]:
    return {page.slug: page.body for page in Memex(root).list_pages() if page.type != "episode"}


def test_consolidate_gives_the_report_of_the_specification_and_writes_the_pages(model: Answering) -> None:
    report = memex_cli("consolidate").json
    assert list(report) == [field.name for field in fields(ConsolidationReport)]
    assert list(report)[:9] == [
        *("mode", "episodes_processed", "nodes_created", "nodes_updated", "links_added", "llm_calls"),
        *("llm_prompt_tokens", "llm_completion_tokens", "dry_run"),
    ]
    assert (report["mode"], report["dry_run"], report["llm_calls"]) == ("full", False, 1)
    assert report["nodes_updated"] == ["zephyr"] and len(report["nodes_created"]) == 1
    assert [title for title, _ in report["nodes_refused"]] == ["no-such-type"]
    assert "Tag, then build" in bodies(model.root)["release-steps"]


@pytest.mark.parametrize("arguments", [["--dry-run"], ["--mode", "dry-run"]])
def test_a_dry_run_changes_nothing_and_tells_the_same(model: Answering, arguments: list[str]) -> None:
    before = bodies(model.root)
    report = memex_cli("consolidate", *arguments).json
    assert (report["mode"], report["dry_run"], report["nodes_updated"]) == ("dry-run", True, ["zephyr"])
    assert bodies(model.root) == before


def test_a_dry_run_as_text_shows_each_line_that_would_change(model: Answering) -> None:
    done = memex_cli("consolidate", "--dry-run", "--text")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "would be updated entities/zephyr  Zephyr" in lines
    assert any(line.startswith("would be added procedures/release-steps  ") for line in lines)
    assert any(line.startswith("  +") and "ARM" in line for line in lines)
    assert any(line.startswith("  tags: ") and "ci" in line for line in lines)
    assert any(line.startswith("refused 'no-such-type': ") for line in lines)
    assert "1 session read, 2 pages would change" in lines[-1] and "1 call, " in lines[-1]


def test_as_text_each_page_is_named_and_the_cost_told(model: Answering) -> None:
    lines = memex_cli("consolidate", "--text").stdout.splitlines()
    assert "updated entities/zephyr  Zephyr" in lines
    assert "tokens in" in lines[-1] and "tokens" in lines[-1]


def test_a_session_is_not_sent_twice_unless_it_is_named(model: Answering) -> None:
    assert memex_cli("consolidate").json["episodes_processed"] == 1
    again = memex_cli("consolidate").json
    assert (again["episodes_processed"], again["llm_calls"]) == (0, 0)
    assert memex_cli("consolidate", "--episode", "s-1").json["episodes_processed"] == 1


def test_links_can_be_left_out(model: Answering) -> None:
    memex_cli("consolidate", "--dry-run", "--no-links")
    assert "Write no [[links]]" in model.asked()


def test_an_episode_that_does_not_exist_is_named_and_no_model_is_asked(model: Answering) -> None:
    done = memex_cli("consolidate", "--episode", "nope")
    assert (done.returncode, done.stdout) == (1, "") and "nope" in done.stderr
    assert model.asked() == ""


@pytest.mark.parametrize("arguments", [(), ("--dry-run",), ("--episode", "nope")])
def test_a_program_that_is_asked_cannot_ask_again(
    model: Answering, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEX_CHILD", "1")
    done = memex_cli("consolidate", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("memex: no model was asked: this memex was started by a model")
    assert len(done.stderr.splitlines()) == 1
    assert model.asked() == ""


def test_a_model_that_fails_gets_one_line_and_exit_1_and_the_partial_report(model: Answering) -> None:
    model.answer.unlink()
    done = memex_cli("consolidate")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    report = json.loads(done.stdout)
    assert list(report) == [field.name for field in fields(ConsolidationReport)]
    assert (report["nodes_created"], report["nodes_updated"]) == ([], [])


def test_an_answer_that_cannot_be_read_is_kept_and_said_where(model: Answering) -> None:
    model.answers("I am sorry, I cannot help with that.")
    done = memex_cli("consolidate", "--text")
    assert done.returncode == 1 and "kept in " in done.stderr
    kept = done.stderr.partition("kept in ")[2].splitlines()[0]
    assert "I am sorry" in (model.root / kept).read_text("utf-8")
