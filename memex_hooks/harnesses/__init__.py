"""The only list of harnesses. A new one is a module here, a folder in hooks/, a line in HARNESSES, recorded
fixtures.
"""

from __future__ import annotations

from typing import cast

from memex_hooks.harness import Harness
from memex_hooks.harnesses import claude_code, codex

HARNESSES: dict[str, Harness] = {
    "claude-code": cast(Harness, claude_code),
    "codex": cast(Harness, codex),
}
