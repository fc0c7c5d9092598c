"""What a new session is told (issue 2 item 13): `python -I -m memex_hooks.recall_hook <harness> <Event>`,
payload on standard input.

Prints the harness's own dialect or nothing, and always exits 0: memory never stands between the user and
the agent.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from typing import Any

from memex_core import paths
from memex_core.files.operation_log import log_operation, where
from memex_core.files.project import project_of
from memex_core.memex import Memex
from memex_core.memory.context_block import Notes, evidence_block
from memex_hooks.harnesses import HARNESSES

MAX_PAYLOAD = 10 << 20
QUIET_SOURCES = ("resume", "fork")
"""A resumed or forked conversation holds what it was told when it began."""
RULES = 12
SESSIONS = 3


def session_notes(memex: Memex, cwd: str, session_id: str) -> str:
    """The block for a session that starts in `cwd`; "" when there is nothing to say."""
    project = project_of(cwd)
    rules = Notes("Preferences and rules:")
    for page in memex.project_pages(project.id, ("procedure", "preference"), limit=RULES):
        rules.lines.append((page.title, f"{page.node_type}, {page.updated[:10]}"))
    last = Notes("Last sessions here:")
    for summary in memex.list_sessions(project=project.id, kind="user", limit=SESSIONS + 1):
        if summary.session_id != session_id and summary.turn_count and len(last.lines) < SESSIONS:
            last.lines.append(
                (summary.title, f"session, {summary.started_at[:10]}, {summary.turn_count} turns")
            )
    limit = memex.config.recall.session_start_chars
    return evidence_block([rules, last], project.label, secrets.token_hex(4), max_chars=limit)


def answer(harness_name: str, event_name: str, payload: Mapping[str, Any]) -> bytes:
    """The standard output for one hook call."""
    harness = HARNESSES[harness_name]
    event = harness.parse_event(event_name, payload)
    if event.kind != "started" or event.source in QUIET_SOURCES or not event.cwd:
        return b""
    root = paths.data_dir()
    if not root.is_dir():
        return b""
    memex = Memex(root)
    if not memex.config.recall.session_start:
        return b""
    return harness.reply(event, session_notes(memex, event.cwd, event.session_id))


def main(argv: list[str]) -> int:
    if os.environ.get("MEMEX_CHILD"):
        return 0
    os.umask(0o077)
    try:
        payload = json.loads(sys.stdin.buffer.read(MAX_PAYLOAD).decode("utf-8", "replace"))
        output = answer(argv[0], argv[1], payload if isinstance(payload, dict) else {})
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
    except Exception as error:
        # A hook that complains would stop the user's work; doctor finds the line in the log.
        log_operation(paths.data_dir(), "recall-hook", " ".join(argv[:2]), "failed", detail=where(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
