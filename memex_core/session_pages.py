"""The pages of a session: its episode, and the nodes that its user's words gave (DESIGN §3, §4; issue 2
items 6 and 7).

Both are derived from the transcript as it lies on disk, so that they can be derived again when turns turn
out to be another session's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from memex_core import paths
from memex_core.config import MemexConfig
from memex_core.errors import BadPage, OtherCase
from memex_core.files.operation_log import log_operation
from memex_core.files.regular import read_regular
from memex_core.files.walk import walk_pages
from memex_core.memory.accounting import local_day
from memex_core.memory.consolidated_page import MARK, states_nothing, without_episode, without_our_part
from memex_core.memory.episode import Digest, episode_body, episode_title
from memex_core.memory.extractor import NodeExtractor
from memex_core.memory.node_page import (
    missing_statements,
    source_line,
    with_source,
    with_statements,
    without_session,
    without_statements,
    without_words,
)
from memex_core.model.node import WikiNode, WriteInput
from memex_core.model.page import HAND_EDITED
from memex_core.model.session import Turn
from memex_core.model.sidecar import KeptNode, Sidecar
from memex_core.store.journal import EPISODE_CUE, Forgotten, Journal, title_digest
from memex_core.store.kept_answers import KeptAnswers
from memex_core.store.transcripts import Transcripts
from memex_core.store.wiki_store import WikiStore
from memex_core.text.generated import merge_generated, part_digest
from memex_core.text.links import link_key, parse_links
from memex_core.text.slug import title_key


class SessionPages:
    """Writes and removes the pages of sessions in one memory root. `now` gives ISO 8601 UTC."""

    def __init__(
        self, root: Path, config: MemexConfig, transcripts: Transcripts, now: Callable[[], str]
    ) -> None:
        self.root = root
        self.config = config
        self.transcripts = transcripts
        self.now = now
        self.store = WikiStore(root, slug_algo=config.pages.slug_algo)
        self.journal = Journal(root)

    def derive(self, sidecar: Sidecar, previous: Sidecar | None, forgotten: Forgotten) -> Digest:
        """Bring episode and nodes to what transcript and sidecar say; notes in `sidecar` what it wrote. Gives
        what it read in the transcript.
        """
        digest = Digest()
        left_out = {*sidecar.retracted_turns, *sidecar.inherited_turns}
        turns = self._kept_turns(sidecar.session_id, left_out, digest)
        inputs: list[WriteInput] = []
        if self.config.extract.enabled and sidecar.kind == "user":
            inputs = NodeExtractor(tool_results=self.config.extract.tool_results).extract(turns)
        for _ in turns:  # the digest wants every turn, whatever the extractor took
            pass
        if sidecar.inherited_turns and digest.first_ts:
            sidecar.started_at = digest.first_ts  # a fork begins where its own part begins
        if sidecar.kind != "internal" and sidecar.turn_count > len(left_out):
            if (sidecar.session_id, 0, EPISODE_CUE, title_digest("")) not in forgotten.nodes:
                self._write_episode(sidecar, previous, digest)
        elif previous is not None:
            self._remove(sidecar.session_id, "episode", "its turns belong to an earlier session")
        if self.config.extract.enabled:
            self._write_nodes(sidecar, previous, inputs, forgotten)
        elif previous is not None:
            sidecar.nodes = list(previous.nodes)
        return digest

    def forget(self, sidecar: Sidecar) -> list[str]:
        """Delete the episode and the session's part in every node that it gave, titles in the records
        included.

        Each page is changed by itself and only while it names the session, so that a deletion cut off half
        way is finished by the next one. Gives the nodes that stay.
        """
        said, added = self._inputs(sidecar), {line for node in sidecar.nodes for line in node.added}
        KeptAnswers(self.root).drop_about(sidecar.session_id)
        gone, kept = {f"episodes/{sidecar.session_id}"}, set()
        for name in {node.path for node in sidecar.nodes} | self._naming(sidecar.session_id):
            page = self._find(name)
            if page is None or not any(_is_from(s, sidecar.session_id, None) for s in page.sources):
                continue
            if self._forget_in(page, sidecar.session_id, said, added):
                kept.add(_name(page))
            else:
                gone |= {name, _name(page)}
        self._remove(sidecar.session_id, "episode", "session deleted")
        self.journal.scrub(gone)
        return sorted(kept)

    def _naming(self, session_id: str) -> set[str]:
        """The nodes whose front matter names the session: what a model made of it is in no sidecar."""
        named = set()
        for relative, _ in walk_pages(self.root):
            path = self.root / relative
            with contextlib.suppress(FileNotFoundError):
                if path.parent.name != "episodes" and session_id.encode() in read_regular(path, self.root):
                    named.add(f"{path.parent.name}/{path.stem}")
        return named

    def _forget_in(
        self, page: WikiNode, session_id: str, said: dict[tuple[str, str], WriteInput], added: set[str]
    ) -> bool:
        """Take a session out of a node; False when the node went with it. What a person wrote stays."""
        was_consolidated = session_id in page.sources
        page.sources = [s for s in page.sources if not _is_from(s, session_id, None)]
        page.links = [key for key in page.links if key != link_key(session_id)]
        edited = self.store.is_edited(page)
        if was_consolidated and not self._forget_consolidated(page, edited):
            return False
        if not page.sources and not edited:
            self._remove(page.slug, page.type, "its last source is gone")
            return False
        page.body = without_episode(without_session(page.body, session_id), session_id)
        mine = said.get((page.type, title_key(page.title)))
        if edited:
            page.body = self._without_added(page, added)
        elif mine is not None:
            page.body = without_words(page.body, mine.body, self._words_of_others(page))
        self._put(page)
        return True

    def _forget_consolidated(self, page: WikiNode, edited: bool) -> bool:
        """Take out what a model made of the session and others: whose words these are cannot be told. The
        others are consolidated anew. False when nothing else was there and the node went with it.
        """
        body = without_our_part(page.body)
        if body == page.body:
            return True
        for session_id in page.sources:
            episode = self.store.episode(session_id)
            if episode is not None and episode.extra.get(MARK):
                with contextlib.suppress(BadPage):  # then it is sent again only when it is named
                    self.store.amend(episode.slug, "episode", extra={MARK: None})
        if states_nothing(body) and not edited:
            self._remove(page.slug, page.type, "what it said may be a deleted session's")
            return False
        lost = set(parse_links(page.body)) - set(parse_links(body))
        page.body, page.links = body, [key for key in page.links if key not in lost]
        return True

    def _without_added(self, page: WikiNode, added: set[str]) -> str:
        """The body without what one session added to it and no session that stays says too."""
        said_too = {
            line.removeprefix("- ").strip()
            for words in (self._words_of_others(page) if added else ())
            for line in words.splitlines()
        }
        return without_statements(page.body, added - said_too)

    def _words_of_others(self, page: WikiNode) -> list[str]:
        """What the sessions that stay said for a node, as they would have written it."""
        words = []
        for session_id in dict.fromkeys(source.partition("#")[0] for source in page.sources):
            sidecar = self.transcripts.sidecar(session_id)
            item = self._inputs(sidecar).get((page.type, title_key(page.title))) if sidecar else None
            words += [item.body] if item else []
        return words

    def _inputs(self, sidecar: Sidecar) -> dict[tuple[str, str], WriteInput]:
        """What the session's turns give, by type and title."""
        left_out = {*sidecar.retracted_turns, *sidecar.inherited_turns}
        found = NodeExtractor(tool_results=self.config.extract.tool_results).extract(
            self._kept_turns(sidecar.session_id, left_out, Digest())
        )
        return {(item.type, title_key(item.title)): item for item in found}

    def _kept_turns(self, session_id: str, left_out: set[int], digest: Digest) -> Iterator[Turn]:
        for turn in self.transcripts.turns(session_id):
            if turn.turn not in left_out:
                digest.add(turn)
                yield turn

    def _write_episode(self, sidecar: Sidecar, previous: Sidecar | None, digest: Digest) -> None:
        page = self.store.episode(sidecar.session_id)
        known_title, known_digest = _last_generated(previous)
        sidecar.generated_title, sidecar.generated_sha256 = known_title, known_digest
        if page is None and known_digest and self._has_docs():
            return  # a person deleted the page
        title = episode_title(sidecar, digest)
        text = episode_body(sidecar, digest, max_chars=self.config.pages.max_body_chars)
        fresh = [tag for tag in (sidecar.harness, sidecar.kind if sidecar.kind != "user" else "") if tag]
        written = self._put(
            WikiNode(
                type="episode",
                title=page.title if page and page.title not in ("", known_title) else title,
                body=merge_generated(page.body if page else "", text, known_digest),
                slug=sidecar.session_id,
                tags=page.tags if page else fresh,
                importance=page.importance if page else self.config.pages.default_importance,
                transcript_ref=paths.transcript_ref(sidecar.session_id),
                session_id=sidecar.session_id,
                harness=sidecar.harness or None,
                kind=sidecar.kind or None,
                started_at=sidecar.started_at or None,
                ended_at=sidecar.ended_at or None,
                project=sidecar.project or None,
                project_label=sidecar.project_label or None,
            )
        )
        if written is not None:
            sidecar.generated_title, sidecar.generated_sha256 = title, part_digest(text)

    def _write_nodes(
        self, sidecar: Sidecar, previous: Sidecar | None, inputs: list[WriteInput], forgotten: Forgotten
    ) -> None:
        wanted = _by_place(inputs)
        kept: list[KeptNode] = []
        for node in previous.nodes if previous else []:
            if wanted.pop((node.turn, node.cue, node.title), None) is None:
                self._drop_source(node, sidecar.session_id, {node.turn})
            elif self._find(node.path) is not None:
                kept.append(node)
            elif self._has_docs():  # a person deleted the page
                self.journal.forget_node(sidecar.session_id, node.turn, node.cue, node.title, self.now())
        for (turn, cue, title), item in wanted.items():
            if (sidecar.session_id, turn, cue, title_digest(title)) not in forgotten.nodes:
                kept += self._write_node(sidecar, item, turn, cue)
        sidecar.nodes = sorted(kept, key=lambda node: (node.turn, node.cue, node.path))

    def _write_node(self, sidecar: Sidecar, item: WriteInput, turn: int, cue: str) -> list[KeptNode]:
        page = self.store.find(item.type, item.title)
        day = local_day(sidecar.started_at) if sidecar.started_at else ""
        place = source_line(sidecar.session_id, turn, day)
        node = page or WikiNode(
            type=item.type,
            title=item.title,
            body=item.body,
            tags=item.tags,
            importance=self.config.pages.default_importance if item.importance is None else item.importance,
            expires_at=item.expires_at,
            valid_from=item.valid_from,
            valid_to=item.valid_to,
            project=sidecar.project or None,
            project_label=sidecar.project_label or None,
        )
        added = missing_statements(page.body, item.body) if page else []
        if page is not None and not page.sources:
            node.extra[HAND_EDITED] = True  # no session gave it: it stays when this one goes
        node.body = with_source(with_statements(node.body, item.body), place)
        node.sources = list(dict.fromkeys([*node.sources, f"{sidecar.session_id}#{turn}"]))
        written = self._put(node)
        return [KeptNode(_name(written), turn, cue, item.title, added)] if written else []

    def _drop_source(self, kept: KeptNode, session_id: str, turns: set[int] | None = None) -> None:
        """Take a session, or some of its turns, out of a node; a node without a source that no hand has
        edited goes.
        """
        page = self._find(kept.path)
        if page is None or not any(_is_from(source, session_id, turns) for source in page.sources):
            return
        page.sources = [s for s in page.sources if not _is_from(s, session_id, turns)]
        if not page.sources and not self.store.is_edited(page):
            self._remove(page.slug, page.type, "its last source is gone")
            return
        page.body = without_session(page.body, session_id, turns)
        page.body = self._without_added(page, set(kept.added))
        self._put(page)

    def _find(self, name: str) -> WikiNode | None:
        """The page "<folder>/<slug>", also after a person moved it to another type."""
        folder, _, slug = name.partition("/")
        node_type = paths.TYPE_OF_FOLDER.get(folder)
        return (self.store.read(slug, node_type) if node_type else None) or self.store.read(slug)

    def _put(self, node: WikiNode) -> WikiNode | None:
        """The page as written; None where its front matter cannot be read, it is no page, or that of another
        session: such a page is its owner's to mend, and costs the session nothing else.
        """
        try:
            written = self.store.put(node, now=self.now())
        except BadPage as bad:
            log_operation(self.root, "write-page", str(bad.path.name), "left alone", detail=bad.reason)
            return None
        except OtherCase as other:
            log_operation(self.root, "write-page", node.slug, "left alone", detail=str(other))
            return None
        if written.change:
            self.journal.page_changed(written.change, _name(written.node), written.node.title, self.now())
        return written.node

    def _remove(self, slug: str, node_type: str, why: str) -> None:
        page = self.store.episode(slug) if node_type == "episode" else self.store.read(slug, node_type)
        if page is not None:
            self.store.delete(page.slug, node_type)
            self.journal.page_changed("remove", _name(page), page.title, self.now(), why)

    def _has_docs(self) -> bool:
        """False when the whole page folder is gone: then nobody deleted one page on purpose."""
        return paths.docs_dir(self.root).is_dir()


def _by_place(inputs: list[WriteInput]) -> dict[tuple[int, str, str], WriteInput]:
    """(turn, cue, title) -> what was found there; the extractor gives turns as sources "#<turn>"."""
    found: dict[tuple[int, str, str], WriteInput] = {}
    for item in inputs:
        for source in item.sources:
            found.setdefault((int(source.rpartition("#")[2]), item.cue, item.title), item)
    return found


def _is_from(source: str, session_id: str, turns: set[int] | None) -> bool:
    session, _, turn = source.partition("#")
    return session == session_id and (turns is None or (turn.isdigit() and int(turn) in turns))


def _last_generated(previous: Sidecar | None) -> tuple[str, str]:
    return (previous.generated_title, previous.generated_sha256) if previous else ("", "")


def _name(page: WikiNode) -> str:
    return f"{paths.FOLDER_OF_TYPE[page.type]}/{page.slug}"
