"""Which captured sessions hold a response or begin with a turn (DESIGN §3 row who owns a response)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from memex_core import paths
from memex_core.index.connection import IndexUnusable
from memex_core.index.session_rows import SessionTable
from memex_core.index.sync import SyncReport
from memex_core.model.sidecar import Sidecar


class SessionHolders:
    """Looks sessions up by their `Sidecar.sharing_keys`; from the sidecars where the index cannot say.

    What this process remembered itself is known without a look at the disk, so that a sweep over thousands of
    logs heals the index once, not once a session. `heal` brings the index to what the files say.
    """

    def __init__(
        self,
        root: Path,
        table: SessionTable,
        heal: Callable[[], SyncReport],
        sidecars: Callable[[], Iterator[Sidecar]],
    ) -> None:
        self.root = root
        self._table = table
        self._heal = heal
        self._sidecars = sidecars
        self._sidecars_at: int | None = None
        self._remembered: dict[str, set[str]] = {}
        self._usable = False

    def holders(self, keys: Iterable[str]) -> set[str]:
        """The ids of the sessions found by any of these keys."""
        wanted = set(keys)
        if not wanted:
            return set()
        if self._changed_at() != self._sidecars_at:
            self._sidecars_at = self._changed_at()
            self._remembered.clear()
            self._usable = self._heal().usable
        if self._usable:
            try:
                own = {name for name, held in self._remembered.items() if held & wanted}
                return own | self._table.holders(wanted)
            except IndexUnusable:
                pass
        return {sidecar.session_id for sidecar in self._sidecars() if sidecar.sharing_keys() & wanted}

    def note(self, session_id: str, keys: set[str]) -> None:
        """A session of ours is on disk. Called under the memory lock, so that no other writer's sidecar is
        taken for ours.
        """
        self._remembered[session_id] = keys
        self._sidecars_at = self._changed_at()

    def _changed_at(self) -> int:
        """When a sidecar was last added, replaced or removed, by anybody; 0 before the first."""
        try:
            return paths.transcripts_dir(self.root).stat().st_mtime_ns
        except OSError:
            return 0
