"""A memory to and from a directory of wikimem (DESIGN §2; formats page 3.3). `wikimem_import.py` and
`wikimem_export.py` do it; here they get what they need of a memory.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from memex_core.archive.import_export import ON_CONFLICT, Gone, ImportExport, Pages, WrittenPage
from memex_core.archive.wikimem_export import WikimemExport
from memex_core.archive.wikimem_import import WikimemImport, check_importable
from memex_core.archive.wikimem_origin import forget_imported, forget_missing
from memex_core.archive.wikimem_report import WikimemExportReport, WikimemImportReport
from memex_core.errors import WrongValue
from memex_core.files.lock import memory_lock
from memex_core.model.node import WikiNode
from memex_core.text.slug import SlugAlgo

__all__ = [
    "WikimemExchange",
    "WikimemExportReport",
    "WikimemImportReport",
    "forget_imported",
    "forget_missing",
]

LOCK_WAIT_S = 60.0


class Notes(Protocol):
    """What is asked of the journal."""

    def page_changed(
        self, action: Literal["add", "update", "remove"], page: str, title: str, now: str, detail: str = ""
    ) -> None: ...

    def forgotten(self) -> Gone: ...


class SluggedPages(Pages, Protocol):
    slug_algo: SlugAlgo


class WikimemExchange:
    """Imports into and exports from one memory root. `put` writes one page and notes it in the journal."""

    def __init__(
        self,
        store: SluggedPages,
        put: Callable[[WikiNode], WrittenPage],
        journal: Notes,
        now: Callable[[], str],
        *,
        redacting: bool = True,
    ) -> None:
        self._store = store
        self._now = now
        self._redacting = redacting
        self._exchange = ImportExport(
            store,
            put,
            journal.forgotten,
            lambda action, page, title: journal.page_changed(action, page, title, now()),
        )

    def import_from(self, folder: Path, on_conflict: str = "skip") -> WikimemImportReport:
        """Items become pages, days join the diary, everything else is kept raw; twice is once.

        `on_conflict` decides where a page and its item both changed since they were last seen: "skip" leaves
        the page, "update" takes the item's words, "rename" makes a second page. With `redacting`, secrets are
        taken out of what no export of ours holds. Raises NotFound, Refused, ValueError, WikiStoreError where
        the disk fails, LockTimeout.
        """
        if on_conflict not in ON_CONFLICT:
            raise WrongValue(f"on_conflict must be one of {', '.join(ON_CONFLICT)}, not {on_conflict!r}")
        check_importable(folder, self._store.root)
        with memory_lock(self._store.root, LOCK_WAIT_S):  # what is read must be as it was when it is written
            return WikimemImport(
                self._exchange,
                folder,
                self._now,
                redacting=self._redacting,
                slug_algo=self._store.slug_algo,
            ).run(on_conflict)

    def export_to(self, folder: Path) -> WikimemExportReport:
        """Pages become items of a directory that is new, empty, or an earlier export; twice is once.

        Raises Refused for any other directory, LockTimeout, OSError where the disk fails.
        """
        return WikimemExport(self._store.root, folder, self._now).run()
