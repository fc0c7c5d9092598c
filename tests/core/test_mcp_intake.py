"""What a client sends is decoded first, then cleaned and freed of secrets, before anything is kept of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memex_core.errors import LLMError
from memex_core.mcp_server import tools
from memex_core.mcp_server.calls import call
from memex_core.mcp_server.server import _tool
from memex_core.memex import Memex
from memex_core.model.node import ConsolidateInput, WriteInput
from memex_core.model.results import ConsolidationReport

HIDDEN = "hunter2xyzzyQ9a"
ESCAPED = rf"DB_PASSWORD\u003d{HIDDEN}"
PLAIN = f"DB_PASSWORD={HIDDEN}"
PAGE = {"type": "entity", "title": "A", "slug": "a", "body": "x"}


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root)


def kept(root: Path) -> str:
    """Everything that is under the memory root, as text."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


WITH_SECRETS: dict[str, tuple[str, dict[str, Any]]] = {
    "nodes as JSON text": (
        "memex_import",
        {"nodes": f'[{{"type":"entity","title":"A","body":"{ESCAPED}"}}]'},
    ),
    "a key in JSON text": (
        "memex_import",
        {"nodes": f'[{{"type":"entity","title":"A","body":"x","{ESCAPED}":1}}]'},
    ),
    "turns as JSON text": (
        "memex_ingest_transcript",
        {"session_id": "s1", "turns": f'[{{"role":"user","content":"{ESCAPED}"}}]'},
    ),
    "tags as JSON text": (
        "memex_write",
        {"type": "entity", "title": "A", "body": "x", "tags": f'["{ESCAPED}"]'},
    ),
    "links as JSON text": (
        "memex_write",
        {"type": "entity", "title": "A", "body": "x", "links": f' ["{ESCAPED}"]'},
    ),
    "a key": ("memex_import", {"nodes": [PAGE | {PLAIN: 1}]}),
    "a key inside": ("memex_import", {"nodes": [PAGE | {"deep": {"er": [{PLAIN: 1}]}}]}),
    "a value that its key gives away": ("memex_import", {"nodes": [PAGE | {"db_password": HIDDEN}]}),
    "values that their key gives away": ("memex_import", {"nodes": [PAGE | {"db_password": [HIDDEN]}]}),
    "an escape of YAML": (
        "memex_import",
        {"nodes": [PAGE | {"front_matter": f'---\nnote: "DB_PASSWORD\\x3d{HIDDEN}"\n---\n'}]},
    ),
    "front matter": ("memex_import", {"nodes": [PAGE | {"front_matter": f"---\nnote: {PLAIN}\n---\n"}]}),
}


@pytest.mark.filterwarnings("ignore::memex_core.errors.BrokenLinkWarning")
@pytest.mark.parametrize(("tool", "arguments"), WITH_SECRETS.values(), ids=WITH_SECRETS.keys())
def test_no_secret_is_kept_however_it_is_sent(memex: Memex, tool: str, arguments: dict[str, Any]) -> None:
    call(memex, tool, arguments)
    assert [*memex.root.rglob("docs/*/*.md")]
    assert HIDDEN not in kept(memex.root)
    titles = [f"{page.title} {page.tags} {page.extra}" for page in memex.list_pages()]
    assert HIDDEN not in " ".join(titles)


def test_a_list_as_text_of_json_is_cleaned_as_any_other(memex: Memex) -> None:
    nodes = rf"[{json.dumps(PAGE)[:-1]}, {json.dumps('k')}: {chr(34)}a\u0000\ud800b{chr(34)}}}]"
    assert call(memex, "memex_import", {"nodes": nodes}).structured["imported"] == 1
    page = memex.read("a")
    assert page is not None and page.extra["k"] == "a\ufffdb"


@pytest.mark.parametrize("nodes", ["[NaN]", "[", '["x"]', "[1]", "[{}", '"[]"'])
def test_a_text_that_is_no_list_of_pages_is_refused(memex: Memex, nodes: str) -> None:
    with pytest.raises(ValueError, match="nodes"):
        call(memex, "memex_import", {"nodes": nodes})


def test_front_matter_that_hides_nothing_stays_byte_for_byte(memex: Memex) -> None:
    front = '---\n# mine\ntitle:   "A"  # the name\n---\n'
    call(memex, "memex_import", {"nodes": [PAGE | {"front_matter": front}]})
    assert (memex.root / "docs" / "entities" / "a.md").read_bytes() == f"{front}x".encode()


def test_what_went_wrong_in_a_consolidation_is_told_without_provider_path_or_answer(
    memex: Memex, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = "https://models.example/v1 said 500: internal words of the server"
    path = str(memex.root / "answers" / "1.txt")

    def consolidate(self: Memex, wanted: ConsolidateInput) -> ConsolidationReport:
        report = ConsolidationReport("full", episodes_processed=1, llm_calls=2, answer_file=path)
        report.warnings = [f"s-2: {failure}", f"cannot be read; it is kept in {path}"]
        report.nodes_refused = [("Zephyr", f"{path}: bad front matter"), ("Quokka", "forgotten on purpose")]
        return report

    monkeypatch.setattr(Memex, "consolidate", consolidate)
    answer = call(memex, "memex_consolidate", {})
    said = json.dumps(answer.structured) + "\n".join(answer.texts)
    assert "models.example" not in said and "internal words" not in said and str(memex.root) not in said
    assert answer.structured["answer_file"] is None
    assert answer.structured["warnings"] == [answer.texts[0]]
    assert "`memex consolidate` in a terminal" in answer.texts[0]
    assert ("Quokka", "forgotten on purpose") in map(tuple, answer.structured["nodes_refused"])


class OneFailure:
    """A model that answers once."""

    asked = 0

    def complete(self, prompt: str, max_tokens: int) -> str:
        self.asked += 1
        if self.asked > 1:
            raise LLMError("POST http://127.0.0.1:9/api/chat (qwen): the server says: secret words")
        return "[]"


def test_a_consolidation_that_fails_halfway_names_no_provider(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "memex.toml").write_text("[llm]\nmax_prompt_tokens = 1000\n", "utf-8")
    memex = Memex(root, llm_client=OneFailure())
    for number in range(3):
        words = f"Words about the build of Zephyr {number}. " * 200
        memex.write(WriteInput("episode", f"Session {number}", words, session_id=f"s-{number}"))
    answer = call(memex, "memex_consolidate", {})
    said = json.dumps(answer.structured) + "\n".join(answer.texts)
    assert answer.structured["episodes_processed"] == 1
    assert "127.0.0.1" not in said and "secret words" not in said
    assert "terminal" in answer.structured["warnings"][0]


def test_only_what_can_be_repeated_without_a_change_is_called_idempotent() -> None:
    hints = {name: _tool(name, offer).annotations for name, offer in tools.TOOLS.items()}
    assert hints["memex_forget"] is not None and hints["memex_forget"].idempotent_hint is False
    assert hints["memex_write"] is not None and hints["memex_write"].idempotent_hint is True
