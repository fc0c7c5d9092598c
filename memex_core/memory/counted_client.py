"""A model client whose calls are counted into a report (seed 000 §5.2)."""

from __future__ import annotations

from collections.abc import Sequence

from memex_core.memory.consolidation_prompt import SYSTEM_PROMPT, estimated_tokens
from memex_core.model.llm import LLMClient, ModelCall
from memex_core.model.results import ConsolidationReport


class CountedClient:
    """Asks `client`. Its own `calls` are counted where it keeps them, else what went in and out is
    estimated.
    """

    def __init__(self, client: LLMClient, max_tokens: int, report: ConsolidationReport) -> None:
        self.client = client
        self.max_tokens = max_tokens
        self.report = report
        self.was_declined = False
        """Whether the model declined the last question: another question may be answered."""

    def ask(self, prompt: str) -> str:
        """The answer. Raises LLMError; the call is then counted all the same."""
        before = len(self._calls() or ())
        self.was_declined = False
        text = ""
        try:
            text = self.client.complete(prompt, self.max_tokens)
        finally:
            calls = self._calls()
            if calls is None:
                self._estimate(prompt, text)
            else:
                self._count(calls[before:])
        return text

    def _calls(self) -> list[ModelCall] | None:
        return getattr(self.client, "calls", None)

    def _count(self, calls: Sequence[ModelCall]) -> None:
        self.report.llm_calls += len(calls)
        self.report.llm_prompt_tokens += sum(call.prompt_tokens for call in calls)
        self.report.llm_completion_tokens += sum(call.completion_tokens for call in calls)
        self.report.tokens_estimated |= any(call.estimated for call in calls)
        self.was_declined = bool(calls) and calls[-1].outcome == "refused"

    def _estimate(self, prompt: str, text: str) -> None:
        self.report.llm_calls += 1
        self.report.llm_prompt_tokens += estimated_tokens(SYSTEM_PROMPT + prompt)
        self.report.llm_completion_tokens += estimated_tokens(text)
        self.report.tokens_estimated = True
