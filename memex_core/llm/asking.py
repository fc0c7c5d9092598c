"""What every client does around its one request: count it, bound it, ask once more where that can help."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

from memex_core.config import LLMConfig
from memex_core.errors import LLMError
from memex_core.llm.answer import Answer
from memex_core.llm.failures import CallFailed, Sent
from memex_core.llm.ledger import Ledger, Ticket
from memex_core.llm.target import Target
from memex_core.llm.tokens import estimated_tokens, most_tokens
from memex_core.model.llm import ModelCall
from memex_core.text.clean import clean_text

LEAST_TIME_S = 1.0
"""With less than this left of the timeout, asking once more is no use."""
CHARS_A_TOKEN = 8
"""No text has more on average: a prompt counted below that was not read whole."""

LEAST_SHARE = 10
"""A count below this part of our estimate is not believed; the estimate counts in its place."""


class Asking(ABC):
    """A client of one provider (seed 000 §7, Utility 5, `LLMClient`).

    `calls` holds every request that was made, in order; [llm] timeout bounds `complete` as a whole.
    """

    may_read_a_part = False
    """Whether the provider silently drops what does not fit the model's context."""
    overhead = 0
    """Tokens that the provider itself adds to a prompt, at most."""

    def __init__(self, config: LLMConfig, root: Path, system: str, target: Target) -> None:
        self.calls: list[ModelCall] = []
        self.target = target
        self.system = clean_text(system)
        self.timeout = config.timeout
        self._ledger = Ledger(root, target.provider, self._asked, config.daily_token_limit)

    def complete(self, prompt: str, max_tokens: int) -> str:
        """The model's answer, never empty. One that ended at `max_tokens` is an answer (outcome "cut").

        Raises LLMError naming provider, model, address and what happened, without key and content.
        """
        deadline = time.monotonic() + self.timeout
        prompt = clean_text(prompt)
        try:
            return self._attempt(prompt, max_tokens, deadline)
        except CallFailed as failure:
            if failure.retry_in is None or time.monotonic() + failure.retry_in + LEAST_TIME_S > deadline:
                raise self._error(failure) from None
            time.sleep(failure.retry_in)
        try:
            return self._attempt(prompt, max_tokens, deadline)
        except CallFailed as failure:
            raise self._error(failure) from None

    @abstractmethod
    def _ask(self, prompt: str, max_tokens: int, deadline: float) -> Answer:
        """One request, over by `deadline` (time.monotonic). Raises CallFailed, TimeoutError."""

    @property
    def _asked(self) -> str:
        return self.target.model or self.target.address

    def _sent(self, prompt: str) -> Sent:
        return Sent((prompt, self.system), self.target.key)

    def _attempt(self, prompt: str, max_tokens: int, deadline: float) -> str:
        most = most_tokens(prompt) + most_tokens(self.system) + self.overhead + max_tokens
        ticket = self._ledger.reserve(most)
        began = time.perf_counter()
        answer: Answer | None = None
        failure: CallFailed | None = CallFailed("broken", "was interrupted", may_have_run=True)
        try:
            given = self._ask(prompt, max_tokens, deadline)
            failure = self._fault_of(given, prompt)
            answer = self._believed(given, prompt)
        except CallFailed as error:
            answer, failure = error.counted, error
        except TimeoutError:
            failure = CallFailed("slow", f"no answer within {self.timeout:g} s", may_have_run=True)
        finally:
            self._note(ticket, prompt, answer, failure, (time.perf_counter() - began) * 1000)
        if failure is not None:
            raise failure
        return clean_text(answer.text).strip() if answer else ""

    def _believed(self, answer: Answer, prompt: str) -> Answer:
        """`answer` without counts that cannot be true: nobody escapes the daily limit by counting nothing."""
        read = estimated_tokens(prompt) + estimated_tokens(self.system)
        return replace(
            answer,
            prompt_tokens=_possible(answer.prompt_tokens, read),
            completion_tokens=_possible(answer.completion_tokens, estimated_tokens(answer.text)),
        )

    def _fault_of(self, answer: Answer, prompt: str) -> CallFailed | None:
        read, length = answer.prompt_tokens, len(prompt) + len(self.system)
        if answer.declined:
            return CallFailed("declined", "the model declined to answer")
        if self.may_read_a_part and read and read * CHARS_A_TOKEN < length:
            about = estimated_tokens(prompt) + estimated_tokens(self.system)
            return CallFailed("window", f"read only {read:,} of about {about:,} tokens")
        if not answer.text.strip():
            cut = "used up max_tokens before it answered"
            return CallFailed("empty", cut if answer.is_cut else "gave an empty answer")
        return None

    def _note(
        self, ticket: Ticket, prompt: str, answer: Answer | None, failure: CallFailed | None, ms: float
    ) -> None:
        """Count the call. Where its cost is unknown, what was reserved for it stays counted."""
        may_have_run = failure is not None and failure.may_have_run
        counted = answer or Answer("", None if may_have_run else 0, 0)
        read, written = counted.prompt_tokens, counted.completion_tokens
        call = ModelCall(
            self.target.provider,
            self._asked,
            estimated_tokens(prompt) + estimated_tokens(self.system) if read is None else read,
            estimated_tokens(counted.text) if written is None else written,
            None in (read, written),
            ms,
            _outcome(answer, failure),
        )
        self.calls.append(call)
        self._ledger.settle(ticket, call, cost_is_known=answer is not None or not may_have_run)

    def _error(self, failure: CallFailed) -> LLMError:
        return LLMError(f"{self.target}: {failure.what}", hint=self.target.hints.get(failure.kind, ""))


def _possible(count: int | None, estimate: int) -> int | None:
    return None if count is None or count * LEAST_SHARE < estimate else count


def _outcome(answer: Answer | None, failure: CallFailed | None) -> str:
    if failure is not None:
        return "refused" if failure.kind == "declined" else "failed"
    return "cut" if answer and answer.is_cut else "ok"
