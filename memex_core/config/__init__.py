"""memex.toml (seed 000 §10): defaults in the dataclasses, then the file, then MEMEX_* variables.

Only doors load it; everything below is told its values.
"""

from __future__ import annotations

from memex_core.config.load import (
    Setting,
    config_values,
    load_config,
    memory_root_of,
    root_and_config,
)
from memex_core.config.problems import config_problems
from memex_core.config.settings import (
    AppConfig,
    Bm25Config,
    CaptureConfig,
    DataDirConfig,
    EmbedConfig,
    ExtractConfig,
    IndexConfig,
    LLMConfig,
    LoggingConfig,
    MemexConfig,
    PagesConfig,
    RecallConfig,
    RecencyDecayConfig,
)

__all__ = [
    "AppConfig",
    "Bm25Config",
    "CaptureConfig",
    "DataDirConfig",
    "EmbedConfig",
    "ExtractConfig",
    "IndexConfig",
    "LLMConfig",
    "LoggingConfig",
    "MemexConfig",
    "PagesConfig",
    "RecallConfig",
    "RecencyDecayConfig",
    "Setting",
    "config_problems",
    "config_values",
    "load_config",
    "memory_root_of",
    "root_and_config",
]
