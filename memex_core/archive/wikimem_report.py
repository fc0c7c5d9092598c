"""What an exchange with wikimem did."""

from __future__ import annotations

from dataclasses import dataclass, field

from memex_core.archive.wikimem_folder import Problem
from memex_core.model.results import ImportReport


@dataclass(slots=True)
class WikimemImportReport:
    """`pages`: slugs by outcome. `missing`: items ("<file>:<name>") that are no longer there; their pages
    stay. `renamed`: (old, new) of items that have another name now, as have their pages. `days`: days of the
    diary that learned something; `files`: RecallFiles of a memory's own that came back. `kept`: files that
    are no items, kept as they are. `redacted`: files in which something was a secret. `problems`: (path,
    why).
    """

    pages: ImportReport = field(default_factory=ImportReport)
    missing: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    days: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)
    journal_lines: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class WikimemExportReport:
    """Counts of items; names are "<file>:<name>". `conflicts`: items, days and files that changed on both
    sides and were left as they are there; `again`: items that were deleted there and are not here.
    `written`: paths of the files that were written or deleted. `problems`: (path, why).
    """

    items: int = 0
    added: int = 0
    updated: int = 0
    removed: int = 0
    conflicts: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
