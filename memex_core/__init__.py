"""Memory for coding agents as plain Markdown files with a disposable SQLite index.

>>> from memex_core import Memex
>>> Memex().recall("ruff").hits
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memex_core.archive.backup import BackupRestore
    from memex_core.archive.import_export import ImportExport
    from memex_core.config import MemexConfig
    from memex_core.errors import BrokenLinkWarning, LLMError, MemexError, NotFound, WikiStoreError
    from memex_core.index.bm25_retriever import BM25Retriever
    from memex_core.index.index_manager import IndexManager
    from memex_core.index.link_manager import LinkManager
    from memex_core.llm.anthropic import AnthropicClient
    from memex_core.llm.command import CommandClient
    from memex_core.llm.lmstudio import LMStudioClient
    from memex_core.llm.ollama import OllamaClient
    from memex_core.llm.openai import OpenAIClient
    from memex_core.memex import Memex
    from memex_core.memory.consolidator import WikiConsolidator
    from memex_core.memory.decay import RecencyDecay
    from memex_core.memory.extractor import NodeExtractor
    from memex_core.model.llm import LLMClient
    from memex_core.model.node import ConsolidateInput, WikiNode, WriteInput, WriteResult
    from memex_core.model.results import (
        BackupReport,
        ConsolidationReport,
        ForgetResult,
        ImportReport,
        ProvenanceReport,
        RebuildIndexReport,
        RecallHit,
        RecallResult,
        RestoreReport,
        SessionSummary,
        TranscriptLinkReport,
    )
    from memex_core.model.session import IngestTranscriptInput, Session, Turn, TurnStreamEntry
    from memex_core.store.wiki_store import WikiStore
    from memex_core.transcript_hook import TranscriptHook
    from memex_core.watcher import IndexWatcher

__version__ = "0.1.0"

_HOMES = {
    "AnthropicClient": "memex_core.llm.anthropic",
    "BM25Retriever": "memex_core.index.bm25_retriever",
    "BackupReport": "memex_core.model.results",
    "BackupRestore": "memex_core.archive.backup",
    "BrokenLinkWarning": "memex_core.errors",
    "CommandClient": "memex_core.llm.command",
    "ConsolidateInput": "memex_core.model.node",
    "ConsolidationReport": "memex_core.model.results",
    "ForgetResult": "memex_core.model.results",
    "ImportExport": "memex_core.archive.import_export",
    "ImportReport": "memex_core.model.results",
    "IndexManager": "memex_core.index.index_manager",
    "IndexWatcher": "memex_core.watcher",
    "IngestTranscriptInput": "memex_core.model.session",
    "LLMClient": "memex_core.model.llm",
    "LLMError": "memex_core.errors",
    "LMStudioClient": "memex_core.llm.lmstudio",
    "LinkManager": "memex_core.index.link_manager",
    "Memex": "memex_core.memex",
    "MemexConfig": "memex_core.config",
    "MemexError": "memex_core.errors",
    "NodeExtractor": "memex_core.memory.extractor",
    "NotFound": "memex_core.errors",
    "OllamaClient": "memex_core.llm.ollama",
    "OpenAIClient": "memex_core.llm.openai",
    "ProvenanceReport": "memex_core.model.results",
    "RebuildIndexReport": "memex_core.model.results",
    "RecallHit": "memex_core.model.results",
    "RecallResult": "memex_core.model.results",
    "RecencyDecay": "memex_core.memory.decay",
    "RestoreReport": "memex_core.model.results",
    "Session": "memex_core.model.session",
    "SessionSummary": "memex_core.model.results",
    "TranscriptHook": "memex_core.transcript_hook",
    "TranscriptLinkReport": "memex_core.model.results",
    "Turn": "memex_core.model.session",
    "TurnStreamEntry": "memex_core.model.session",
    "WikiConsolidator": "memex_core.memory.consolidator",
    "WikiNode": "memex_core.model.node",
    "WikiStore": "memex_core.store.wiki_store",
    "WikiStoreError": "memex_core.errors",
    "WriteInput": "memex_core.model.node",
    "WriteResult": "memex_core.model.node",
}

__all__ = [
    "AnthropicClient",
    "BM25Retriever",
    "BackupReport",
    "BackupRestore",
    "BrokenLinkWarning",
    "CommandClient",
    "ConsolidateInput",
    "ConsolidationReport",
    "ForgetResult",
    "ImportExport",
    "ImportReport",
    "IndexManager",
    "IndexWatcher",
    "IngestTranscriptInput",
    "LLMClient",
    "LLMError",
    "LMStudioClient",
    "LinkManager",
    "Memex",
    "MemexConfig",
    "MemexError",
    "NodeExtractor",
    "NotFound",
    "OllamaClient",
    "OpenAIClient",
    "ProvenanceReport",
    "RebuildIndexReport",
    "RecallHit",
    "RecallResult",
    "RecencyDecay",
    "RestoreReport",
    "Session",
    "SessionSummary",
    "TranscriptHook",
    "TranscriptLinkReport",
    "Turn",
    "TurnStreamEntry",
    "WikiConsolidator",
    "WikiNode",
    "WikiStore",
    "WikiStoreError",
    "WriteInput",
    "WriteResult",
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
