"""No model that memex asks may have memex ask a model: that would go on without an end."""

from __future__ import annotations

import os

from memex_core.errors import LLMError

CHILD = "MEMEX_CHILD"
"""Whoever finds it set was started by memex; our hooks then do nothing (DESIGN §3 "model calls")."""


def refuse_in_a_child() -> None:
    """LLMError where this process was started by a program that memex asks."""
    if os.environ.get(CHILD):
        raise LLMError(
            "no model was asked: this memex was started by a model that memex asks",
            hint=f"take it out of the program of [llm] command; {CHILD} marks what that starts",
        )
