"""Memory for coding agents as plain Markdown files with a disposable SQLite index.

>>> from memex_core import Memex
>>> Memex().recall("ruff").hits
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memex_core.memex import Memex
    from memex_core.model.node import WikiNode, WriteInput
    from memex_core.model.results import (
        ProvenanceReport,
        RecallHit,
        RecallResult,
        SessionSummary,
        TranscriptLinkReport,
    )
    from memex_core.model.session import Session, Turn

__version__ = "0.1.0"

_HOMES = {
    "Memex": "memex_core.memex",
    "ProvenanceReport": "memex_core.model.results",
    "RecallHit": "memex_core.model.results",
    "RecallResult": "memex_core.model.results",
    "Session": "memex_core.model.session",
    "SessionSummary": "memex_core.model.results",
    "TranscriptLinkReport": "memex_core.model.results",
    "Turn": "memex_core.model.session",
    "WikiNode": "memex_core.model.node",
    "WriteInput": "memex_core.model.node",
}

__all__ = [
    "Memex",
    "ProvenanceReport",
    "RecallHit",
    "RecallResult",
    "Session",
    "SessionSummary",
    "TranscriptLinkReport",
    "Turn",
    "WikiNode",
    "WriteInput",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Public names load their module on first use, so that `import memex_core.paths` loads nothing else
    (PEP 562).
    """
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'memex_core' has no attribute {name!r}")
