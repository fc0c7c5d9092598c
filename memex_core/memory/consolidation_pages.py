"""What consolidation needs of the memory it works on; the store is behind it, or a rehearsal of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from memex_core.model.node import WikiNode


class KeptAnswer(Protocol):
    """An answer that could not be read once. `episodes`: slug -> `content_hash` of the body that was sent."""

    @property
    def episodes(self) -> Mapping[str, str]: ...
    @property
    def text(self) -> str: ...


class ConsolidationPages(Protocol):
    """Pages as consolidation reads and writes them."""

    def rehearsal(self) -> ConsolidationPages:
        """The same pages, where every change is only played: nothing reaches the disk."""

    def episodes(self, slugs: Sequence[str] | None, most: int) -> list[WikiNode]:
        """The episodes to process, oldest first: those named, else the `most` recent of the user's sessions
        that were not consolidated as they are now. Raises NotFound.
        """

    def turn_count(self, episode: WikiNode) -> int: ...

    def nodes(self) -> list[WikiNode]:
        """Every page that is no episode, as it is now, hidden ones too."""

    def is_hidden(self, page: WikiNode) -> bool:
        """True for a page that does not hold now: expired, or not valid yet or any more."""

    def relevant(self, text: str, limit: int) -> list[WikiNode]:
        """Pages by relevance to `text`, the best first."""

    def changing(self) -> AbstractContextManager[None]:
        """Inside, nobody else changes the memory."""

    def is_there(self, episode: WikiNode) -> bool:
        """False once somebody deleted the episode."""

    def why_not(self, node_type: str, title: str, said: str, sessions: Sequence[str], *, is_new: bool) -> str:
        """Why these sessions must not give a node of that title that says this, "" where they may."""

    def write(self, page: WikiNode) -> WikiNode:
        """Write a page and note it in the journal; gives it with its slug. Raises BadPage, WikiStoreError."""

    def mark(self, episode: WikiNode) -> None:
        """Note that the episode was consolidated with the body it has in `episode`. Raises BadPage,
        WikiStoreError.
        """

    def kept_answers(self) -> Sequence[KeptAnswer]: ...

    def keep_answer(self, episodes: Sequence[WikiNode], text: str) -> Path | None:
        """Keep an answer that could not be read; None where nothing may be written."""

    def drop_settled_answers(self) -> None:
        """Delete the kept answers about none but episodes that are marked now, or gone."""
