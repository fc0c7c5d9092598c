"""From a model's answer to pages: which page each node is, what becomes of it, what the report says of it
(issue 3 item 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from memex_core.config import MemexConfig
from memex_core.errors import BadPage
from memex_core.memory.accounting import local_day
from memex_core.memory.consolidated_page import (
    Origin,
    consolidated,
    is_same,
    statement_of,
    unlinked,
)
from memex_core.memory.consolidation_pages import ConsolidationPages
from memex_core.memory.known_pages import KnownPages
from memex_core.memory.model_answer import ModelAnswer, ModelNode
from memex_core.model.node import WikiNode, WriteInput
from memex_core.model.results import ConsolidationReport
from memex_core.paths import FOLDER_OF_TYPE, safe_id
from memex_core.text.links import link_key, name_key

_FIELDS = ("importance", "tags", "links", "sources")


class AnswerWriter:
    """Writes the nodes of answers to `pages` and tells `report`."""

    def __init__(
        self,
        pages: ConsolidationPages,
        config: MemexConfig,
        report: ConsolidationReport,
        *,
        include_links: bool,
    ) -> None:
        self.pages = pages
        self.config = config
        self.report = report
        self.include_links = include_links
        self._changes: dict[str, dict[str, Any]] = {}

    def write(self, answer: ModelAnswer, episodes: Sequence[WikiNode], *, mark: bool = True) -> None:
        """Write what `answer` says of `episodes`, then mark them as consolidated.

        Of what was deleted while the model thought, nothing is written, and what came with it is asked for
        again. Raises WikiStoreError, LockTimeout.
        """
        self.report.nodes_refused += answer.refused
        with self.pages.changing():
            gone = {episode.slug for episode in episodes if not self.pages.is_there(episode)}
            known = KnownPages(sorted(self.pages.nodes(), key=self.pages.is_hidden))
            links = self._linkable(known)
            is_lost = False
            for node in answer.nodes:
                told_by = _told_by(node, episodes)
                if gone & {episode.slug for episode in told_by}:
                    self._refuse(node.title, "a session that it comes from was deleted meanwhile")
                    is_lost = True
                else:
                    self._place(self._linked(node, links), told_by, episodes, known)
            left = [episode for episode in episodes if episode.slug not in gone]
            if mark and not is_lost:
                self._mark(left)

    def _mark(self, episodes: Sequence[WikiNode]) -> None:
        for episode in episodes:
            try:
                self.pages.mark(episode)
            except BadPage as bad:
                self.report.warnings.append(f"{bad}; it will be sent again")
        self.report.episodes_processed += len(episodes)

    def _linked(self, node: ModelNode, known: set[str]) -> ModelNode:
        """`node` without links to what is no page."""
        known = known - {name_key(node.title)}
        body, dropped = unlinked(node.body, known)
        dropped += [key for link in node.links if (key := link_key(link)) not in known]
        missing = sorted({key for key in dropped if key != name_key(node.title)})
        if missing and self.include_links:
            self.report.warnings.append(f"{node.title}: no page for its links to {', '.join(missing)}")
        return replace(node, body=body, links=[link for link in node.links if link_key(link) in known])

    def _linkable(self, known: Iterable[WikiNode]) -> set[str]:
        """The keys by which a link may name an existing page."""
        if not self.include_links:
            return set()
        names: set[str] = set()
        for page in known:
            if not self.pages.is_hidden(page):
                keys = {name_key(page.slug), name_key(page.title)}
                names |= keys | {f"{page.type}/{key}" for key in keys}
        return names

    def _place(
        self,
        node: ModelNode,
        told_by: Sequence[WikiNode],
        episodes: Sequence[WikiNode],
        known: KnownPages,
    ) -> None:
        page = known.about(node)
        # What was forgotten of any episode that was sent stays forgotten, whichever the model names.
        sessions = [session for episode in episodes if (session := session_of(episode))]
        why = self.pages.why_not(node.type, node.title, node.body, sessions, is_new=page is None)
        over = next(filter(self.pages.is_hidden, [page] if page else known.titled(node)), None)
        if over is not None:
            why = why or f"{over.slug} says it, and does not hold any more"
        if why:
            self._refuse(node.title, why)
            return
        after = consolidated(page, node, _origin(told_by), self.config.pages.default_importance)
        if len(after.body) > self.config.pages.max_body_chars:
            self._refuse(node.title, f"{after.slug or 'the page'} would be longer than max_body_chars")
            return
        if page is not None and is_same(page, after):
            return
        try:
            written = self.pages.write(replace(after))
        except BadPage as bad:
            self._refuse(node.title, str(bad))
            return
        known.replace(page, written)
        places = {link_key(episode.slug) for episode in told_by}
        had = places | set(page.links if page else ())
        self.report.links_added += len(set(after.links) - had)
        self._report(page, written, after, node)

    def _refuse(self, title: str, why: str) -> None:
        self.report.nodes_refused.append((title, why))

    def _report(self, before: WikiNode | None, written: WikiNode, after: WikiNode, node: ModelNode) -> None:
        name = f"{FOLDER_OF_TYPE[written.type]}/{written.slug}"
        change = self._changes.get(name)
        if change is None:
            change = {
                "action": "update" if before else "add",
                "page": name,
                "title": written.title,
                "before": before.body if before else "",
            }
            change["fields"] = {field: [getattr(before, field, None)] for field in _FIELDS}
            self._changes[name] = change
            self.report.changes.append(change)
            if before is None:
                self.report.nodes_created.append(_write_input(after, node))
            else:
                self.report.nodes_updated.append(written.slug)
        change["after"] = after.body
        change["fields"] = {field: [was[0], getattr(after, field)] for field, was in change["fields"].items()}


def session_of(episode: WikiNode) -> str:
    """The id under which the session's transcript lies; "" where the episode has none that may be a file."""
    for name in (episode.session_id, episode.slug):
        try:
            return safe_id(name or "")
        except ValueError:
            continue
    return ""


def _told_by(node: ModelNode, episodes: Sequence[WikiNode]) -> list[WikiNode]:
    """The episodes that a node says it comes from; all, where it names none of them."""
    named = {name.strip("[] ") for name in node.episodes}
    return [each for each in episodes if named & {each.slug, each.session_id}] or list(episodes)


def _origin(told_by: Sequence[WikiNode]) -> Origin:
    sources = [session for episode in told_by if (session := session_of(episode))]
    projects = {episode.project for episode in told_by}
    shared = told_by[0] if len(projects) == 1 else None
    return Origin(
        sources,
        [(each.slug, local_day(each.started_at) if each.started_at else "") for each in told_by],
        shared.project if shared else None,
        shared.project_label if shared else None,
    )


def _write_input(page: WikiNode, node: ModelNode) -> WriteInput:
    return WriteInput(
        type=page.type,
        title=page.title,
        body=statement_of(page.body),
        tags=page.tags,
        importance=page.importance,
        links=node.links,
        sources=page.sources,
        project=page.project,
        project_label=page.project_label,
    )
