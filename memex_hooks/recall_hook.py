"""What a new session is told (issue 2 item 13): `python -I -m memex_hooks.recall_hook <harness> <Event>`,
payload on standard input.

Prints the harness's own dialect or nothing, and always exits 0: memory never stands between the user and
the agent.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.files.atomic import make_dir
from memex_core.files.operation_log import log_operation, where
from memex_core.files.project import project_of
from memex_core.memex import Memex
from memex_core.memory.context_block import Notes, evidence_block
from memex_hooks.harnesses import HARNESSES

MAX_PAYLOAD = 10 << 20
QUIET_SOURCES = ("resume", "fork")
"""A resumed or forked conversation holds what it was told when it began."""
WAIT_S = 0.2
"""How long a starting session waits for a worker that writes."""
RULES = 12
SESSIONS = 3
SAYING_CHARS = 200
ONCE_S = 10.0
"""Plugin and settings hook may both run: what one of them just told a session, the other does not repeat."""


def session_notes(memex: Memex, cwd: str, session_id: str) -> str:
    """The block for a session that starts in `cwd`; "" when there is nothing to say."""
    project = project_of(cwd)
    rules = Notes("Preferences and rules:")
    for page in memex.project_pages(project.id, ("procedure", "preference"), limit=RULES):
        rules.lines.append((_saying(page.title, page.body), f"{page.node_type}, {page.updated[:10]}"))
    last = Notes("Last sessions here:")
    for summary in memex.list_sessions(project=project.id, kind="user", limit=SESSIONS + 1):
        if summary.session_id != session_id and summary.turn_count and len(last.lines) < SESSIONS:
            last.lines.append(
                (summary.title, f"session, {summary.started_at[:10]}, {summary.turn_count} turns")
            )
    limit = memex.config.recall.session_start_chars
    return evidence_block([rules, last], project.label, secrets.token_hex(4), max_chars=limit)


def _saying(title: str, body: str) -> str:
    """What a page says, as its owner last left it: its first line, behind its title unless that repeats
    it.
    """
    lines = (line.strip().removeprefix("- ") for line in body.splitlines())
    first = next((line for line in lines if line and line[0] not in "#>"), "")
    said = first if len(first) <= SAYING_CHARS else first[: SAYING_CHARS - 1].rsplit(" ", 1)[0] + "…"
    if not said:
        return title
    gist = title.partition(": ")[2] or title
    return said if gist.casefold() in first.casefold() else f"{title}: {said}"


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
    with memex.hurried(WAIT_S):
        text = session_notes(memex, event.cwd, event.session_id)
    if not text or not first_to_tell(root, f"{harness_name}.{event.session_id}.{event.source}"):
        return b""
    return harness.reply(event, text)


def first_to_tell(root: Path, name: str) -> bool:
    """True for the first of several hooks that ask within ONCE_S; in doubt True."""
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
    mark = paths.logs_dir(root) / f".told-{digest}.tmp"
    try:
        make_dir(mark.parent)
        if mark.exists() and time.time() - mark.stat().st_mtime > ONCE_S:
            mark.unlink()
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


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
