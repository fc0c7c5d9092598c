"""Consolidation: episodes and existing nodes go to a model, what it proposes becomes pages (seed 000 §7,
Utility 5, §9.3; issue 3 item 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from memex_core.config import MemexConfig
from memex_core.errors import LLMError, WrongValue
from memex_core.memory.answer_writer import AnswerWriter
from memex_core.memory.consolidation_pages import ConsolidationPages
from memex_core.memory.consolidation_prompt import (
    ONCE_MORE,
    batched,
    build_prompt,
    cost_of_episode,
    cut_to,
    episode_text,
    estimated_tokens,
    existing_line,
    room_for_records,
)
from memex_core.memory.counted_client import CountedClient
from memex_core.memory.model_answer import ModelAnswer, parse_answer
from memex_core.model.llm import LLMClient
from memex_core.model.node import ConsolidateInput, WikiNode
from memex_core.model.results import ConsolidationReport
from memex_core.text.clean import clean_text
from memex_core.text.generated import without_markers
from memex_core.text.redact import redact

RELEVANT = 100
"""Pages that the index is asked for, an episode, where not all existing nodes fit."""
_QUERY_CHARS = 4_000


class WikiConsolidator:
    """Lets `llm_client` make nodes of episodes. `pages` are the memory that it reads and writes."""

    def __init__(self, pages: ConsolidationPages, llm_client: LLMClient, config: MemexConfig) -> None:
        self.pages = pages
        self.llm_client = llm_client
        self.config = config

    def consolidate(self, input: ConsolidateInput) -> ConsolidationReport:
        """Process the episodes that `input` asks for; "dry-run" asks and reports the same and writes nothing.

        Raises ValueError for an input that is none, NotFound for an episode that does not exist, and LLMError
        with the partial `report` where the model was of no use for any episode.
        """
        if input.mode not in ("full", "dry-run"):
            raise WrongValue(f"mode must be full or dry-run, not {input.mode!r}")
        if input.max_episodes < 1:
            raise WrongValue(f"max_episodes must be at least 1, not {input.max_episodes}")
        dry_run = input.mode == "dry-run"
        report = ConsolidationReport(input.mode, dry_run=dry_run)
        pages = self.pages.rehearsal() if dry_run else self.pages
        _Run(self, pages, report, include_links=input.include_links).process(
            pages.episodes(input.episode_ids, input.max_episodes)
        )
        return report

    def _build_prompt(
        self,
        existing_nodes: Sequence[WikiNode],
        episode_nodes: Sequence[WikiNode],
        *,
        include_links: bool = True,
    ) -> str:
        return build_prompt(
            [existing_line(node, self._safe) for node in existing_nodes],
            [(episode.slug, self._safe(self._episode_text(episode))) for episode in episode_nodes],
            include_links=include_links,
        )

    def _episode_text(self, episode: WikiNode) -> str:
        return episode_text(episode, self.pages.turn_count(episode))

    def _safe(self, text: str) -> str:
        return redact(text) if self.config.capture.redact else text


class _Run:
    """One run over episodes."""

    def __init__(
        self,
        consolidator: WikiConsolidator,
        pages: ConsolidationPages,
        report: ConsolidationReport,
        *,
        include_links: bool,
    ) -> None:
        self.consolidator = consolidator
        self.config = consolidator.config
        self.pages = pages
        self.report = report
        self.include_links = include_links
        self.client = CountedClient(consolidator.llm_client, self.config.llm.max_tokens, report)
        self.writer = AnswerWriter(pages, self.config, report, include_links=include_links)
        self.room = room_for_records(self.config.llm.max_prompt_tokens)
        self.for_nodes = self.room // 3
        self.unread = 0

    def process(self, episodes: Sequence[WikiNode]) -> None:
        if episodes:
            with self.pages.changing():  # who cannot write asks nobody
                pass
        batches = self._batches(self._from_kept_answers(episodes))
        failure: LLMError | None = None
        left = sum(map(len, batches)) + self.report.episodes_processed
        for batch in batches:
            try:
                self._settle(batch)
            except LLMError as error:
                failure = error
                if not self.client.was_declined:
                    break
                self.unread += len(batch)
                self.report.warnings.append(f"{_names(batch)}: {error}")
        left -= self.report.episodes_processed + self.unread
        if failure is not None and left > 0:
            self.report.warnings.append(f"episodes left unread: {left}; {failure}")
        if self.unread and failure is None:
            failure = LLMError(
                "the model's answer cannot be read", hint="mend the kept answer and run again, or run again"
            )
        if failure is not None and not self.report.episodes_processed and not self.report.changes:
            failure.report = self.report
            raise failure

    def _from_kept_answers(self, episodes: Sequence[WikiNode]) -> list[WikiNode]:
        """Use answers that could not be read once and can now; gives the episodes that are left."""
        left = {episode.slug: episode for episode in episodes}
        for kept in self.pages.kept_answers():
            told = [left[slug] for slug in kept.episodes if slug in left]
            if not told or [(each.slug, each.content_hash) for each in told] != [*kept.episodes.items()]:
                continue
            answer = self._parsed(kept.text)
            if answer.state != "unreadable":
                self._finish(answer, told)
                left = {slug: episode for slug, episode in left.items() if slug not in kept.episodes}
        return list(left.values())

    def _batches(self, episodes: Sequence[WikiNode]) -> list[list[WikiNode]]:
        """As many calls as it takes; an episode that no call has room for is cut."""
        if not episodes:
            return []
        self.for_nodes = min(sum(map(_cost, self._visible())) + self.room // 20, self.for_nodes)
        room = self.room - self.for_nodes
        fitted = [self._fitted(episode, room) for episode in episodes]
        costs = [cost_of_episode(each.slug, self.consolidator._episode_text(each)) for each in fitted]
        return [[fitted[place] for place in run] for run in batched(costs, room)]

    def _fitted(self, episode: WikiNode, room: int) -> WikiNode:
        over = cost_of_episode(episode.slug, self.consolidator._episode_text(episode)) - room
        if over <= 0:
            return episode
        body = self.consolidator._safe(without_markers(episode.body).strip())
        self.report.warnings.append(
            f"{episode.slug}: too long for [llm] max_prompt_tokens; its end was left out"
        )
        return replace(episode, body=cut_to(body, estimated_tokens(body) - over))

    def _settle(self, batch: Sequence[WikiNode], *, is_half: bool = False) -> None:
        """Ask about `batch` and write what comes back; an answer that was cut off is asked for in halves."""
        answer = self._answer(batch)
        if answer.state == "unreadable":
            self.unread += len(batch)
        elif answer.state == "cut" and len(batch) > 1 and not is_half:
            self.report.warnings.append(
                f"the answer about {_names(batch)} was cut off; asked again in halves"
            )
            self.writer.write(answer, batch, mark=False)
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                self._settle(half, is_half=True)
        else:
            self._finish(answer, batch)

    def _finish(self, answer: ModelAnswer, batch: Sequence[WikiNode]) -> None:
        if answer.state == "cut":
            used = f"{len(answer.nodes)} nodes before that were read"
            self.report.warnings.append(
                f"the answer about {_names(batch)} was cut off, {used}; [llm] max_tokens may be too low"
            )
        self.writer.write(answer, batch)
        self.pages.drop_settled_answers()

    def _answer(self, batch: Sequence[WikiNode]) -> ModelAnswer:
        """What the model says; one that cannot be read is asked once more, then kept."""
        prompt = self.consolidator._build_prompt(
            self._existing(batch), batch, include_links=self.include_links
        )
        text = self.client.ask(prompt)
        answer = self._parsed(text)
        if answer.state == "unreadable":
            try:
                text = self.client.ask(prompt + ONCE_MORE) or text
            except LLMError:
                self._keep(batch, text)
                raise
            answer = self._parsed(text)
        if answer.state == "unreadable":
            self._keep(batch, text)
        return answer

    def _parsed(self, text: str) -> ModelAnswer:
        most = self.config.pages.max_body_chars
        return parse_answer(text, max_body_chars=most, clean=self.consolidator._safe)

    def _keep(self, batch: Sequence[WikiNode], text: str) -> None:
        path = self.pages.keep_answer(batch, self.consolidator._safe(clean_text(text)))
        self.report.answer_file = str(path) if path else self.report.answer_file
        told = f"mend what stands below its first line, or run again; it is kept in {path}"
        where = told if path else "a dry run keeps nothing"
        self.report.warnings.append(f"the answer about {_names(batch)} cannot be read; {where}")

    def _visible(self) -> list[WikiNode]:
        return [node for node in self.pages.nodes() if not self.pages.is_hidden(node)]

    def _existing(self, batch: Sequence[WikiNode]) -> list[WikiNode]:
        """The nodes that the model is shown: all, or as many as fit, the most relevant and latest first."""
        visible = self._visible()
        if sum(map(_cost, visible)) > self.for_nodes:
            visible = self._most_relevant(batch, visible)
        return sorted(visible, key=lambda node: (node.type, node.title))

    def _most_relevant(self, batch: Sequence[WikiNode], visible: Sequence[WikiNode]) -> list[WikiNode]:
        found = [
            self.pages.relevant(f"{each.title}\n{without_markers(each.body)[:_QUERY_CHARS]}", RELEVANT)
            for each in batch
        ]
        best = [node for row in zip_longest(*found) for node in row if node is not None]
        latest = sorted(visible, key=lambda node: node.updated, reverse=True)
        at = {(node.type, node.slug): node for node in visible}
        chosen, room = [], self.for_nodes
        for place in dict.fromkeys((node.type, node.slug) for node in chain(best, latest)):
            if place in at and _cost(at[place]) <= room:
                chosen.append(at[place])
                room -= _cost(at[place])
        return chosen


def _cost(node: WikiNode) -> int:
    return estimated_tokens(existing_line(node) + "\n")


def _names(batch: Sequence[WikiNode]) -> str:
    return ", ".join(episode.slug for episode in batch)
