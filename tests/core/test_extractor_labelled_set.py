"""Precision and recall of extraction over labelled utterances (issue 2 item 7).

A line of a set: {"text", "expect": [{"type", "contains"}], "kind"}. The halves have two authors;
that of the blind half knew the table of cues and the kinds of traps, and nothing of cues.toml.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memex_core.memory.extractor import NodeExtractor
from memex_core.model.node import WriteInput
from memex_core.model.session import Turn

UTTERANCES = Path(__file__).parent.parent / "fixtures" / "utterances"
HALVES = sorted(UTTERANCES.glob("*_half.jsonl"))
MIN_PRECISION = 0.90
MIN_RECALL = 0.80
KINDS = {
    "positive",
    "mixed",
    "question",
    "quote",
    "code",
    "negation",
    "other-person",
    "momentary",
    "one-off",
} | {
    "hypothetical",
    "request",
    "narration",
    "sarcasm",
}


@dataclass
class Score:
    predicted: int = 0
    expected: int = 0
    matched: int = 0
    mistakes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.matched / self.predicted

    @property
    def recall(self) -> float:
        return self.matched / self.expected

    def __str__(self) -> str:
        counts = f"{self.matched} of {self.predicted} predicted, {self.expected} expected"
        return f"precision {self.precision:.3f}, recall {self.recall:.3f} ({counts})\n" + "\n".join(
            self.mistakes
        )


def read(half: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in half.read_text(encoding="utf-8").splitlines() if line.strip()]


def meets(node: WriteInput, expectation: dict[str, str]) -> bool:
    statement = node.body.split("\n\n", 1)[0]
    return (
        node.type == expectation["type"]
        and expectation["contains"].casefold() in f"{node.title}\n{statement}".casefold()
    )


def score(half: Path) -> Score:
    """Each expectation is met by at most one node."""
    extractor = NodeExtractor()
    result = Score()
    for utterance in read(half):
        nodes = extractor.extract_from_turn(Turn(role="user", content=utterance["text"], ts="", turn=1))
        result.predicted += len(nodes)
        result.expected += len(utterance["expect"])
        for expectation in utterance["expect"]:
            met = next((node for node in nodes if meets(node, expectation)), None)
            if met is None:
                result.mistakes.append(f"missed {expectation} in {utterance['text']!r}")
                continue
            result.matched += 1
            nodes.remove(met)
        result.mistakes += [f"wrong {node.type} {node.title!r} from {utterance['text']!r}" for node in nodes]
    return result


@pytest.mark.parametrize("half", HALVES, ids=lambda path: path.stem)
def test_extraction_is_precise_and_finds_most(half: Path) -> None:
    result = score(half)
    print(f"\n{half.stem}: {result}")
    assert result.precision >= MIN_PRECISION, str(result)
    assert result.recall >= MIN_RECALL, str(result)


def test_the_open_half_is_large_and_half_of_it_are_traps() -> None:
    utterances = read(UTTERANCES / "open_half.jsonl")
    traps = [u for u in utterances if not u["expect"]]
    assert len(utterances) >= 170
    assert 0.4 <= len(traps) / len(utterances) <= 0.6


def test_every_label_of_the_open_half_can_be_met_and_every_utterance_is_there_once() -> None:
    utterances = read(UTTERANCES / "open_half.jsonl")
    assert len({u["text"] for u in utterances}) == len(utterances)
    for utterance in utterances:
        for expectation in utterance["expect"]:
            assert expectation["type"] in {"preference", "entity", "procedure"}
            assert expectation["contains"].casefold() in " ".join(utterance["text"].split()).casefold()


def test_the_open_half_holds_every_kind() -> None:
    assert {u["kind"] for u in read(UTTERANCES / "open_half.jsonl")} == KINDS
