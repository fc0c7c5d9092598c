"""Captured sessions as rows, from their sidecars (`transcripts/<session_id>.meta.json`)."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memex_core.files.walk import SIDECAR_SUFFIX
from memex_core.index.connection import reading
from memex_core.model.results import SessionSummary
from memex_core.model.sidecar import FIRST_TURNS, base_id, turn_keys
from memex_core.paths import transcript_path
from memex_core.text.clean import clean_text

_TEXTS = ("harness", "kind", "started_at", "ended_at", "born_at", "title", "project", "project_label")
_BATCH = 500


class SessionTable:
    """What the index knows of captured sessions. Raises IndexUnusable."""

    def __init__(self, db_path: Path | str, root: Path) -> None:
        self.db_path = db_path
        self.root = root

    def all(self) -> list[SessionSummary]:
        """Every captured session, the latest first; its title is the page's, which a person may have
        changed.
        """
        with reading(self.db_path) as db:
            rows = db.execute(
                """SELECT s.*, w.slug AS episode, w.title AS page_title FROM sessions s
                   LEFT JOIN wiki_index w ON w.path = 'docs/episodes/' || s.session_id || '.md'
                   ORDER BY s.started_at DESC, s.session_id"""
            ).fetchall()
        return [self._summary(row) for row in rows]

    def of_source(self, path: str) -> str | None:
        """The id of the session that was read from the log at `path`."""
        with reading(self.db_path) as db:
            row = db.execute("SELECT session_id FROM session_sources WHERE path = ?", (path,)).fetchone()
        return str(row[0]) if row else None

    def holders(self, keys: Iterable[str]) -> set[str]:
        """The ids of the sessions with any of these `Sidecar.sharing_keys`."""
        wanted = sorted({base_id(key) for key in keys})
        found: set[str] = set()
        with reading(self.db_path) as db:
            for start in range(0, len(wanted), _BATCH):
                batch = wanted[start : start + _BATCH]
                marks = ", ".join("?" * len(batch))
                query = f"SELECT DISTINCT session_id FROM session_responses WHERE response_id IN ({marks})"
                found.update(row[0] for row in db.execute(query, batch))
        return found

    def _summary(self, row: sqlite3.Row) -> SessionSummary:
        return SessionSummary(
            session_id=row["session_id"],
            started_at=row["started_at"],
            ended_at=row["ended_at"],
            turn_count=row["turn_count"],
            episode_slug=row["episode"],
            file_path=str(transcript_path(self.root, row["session_id"])),
            title=row["page_title"] or row["title"],
            harness=row["harness"],
            kind=row["kind"],
            project=row["project"],
            project_label=row["project_label"],
            total_tokens=row["total_tokens"],
        )


def put_session(db: sqlite3.Connection, path: str, data: bytes) -> None:
    """Bring the rows of the sidecar at `path` to what its bytes say.

    Raises ValueError where they are no sidecar.
    """
    sidecar = json.loads(data)
    session_id = path.rpartition("/")[2].removesuffix(SIDECAR_SUFFIX)
    if not isinstance(sidecar, dict) or sidecar.get("session_id") != session_id:
        raise ValueError("it does not describe the session it is named after")
    drop_session(db, path)
    usage = sidecar.get("token_usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    turns = sidecar.get("turn_count")
    texts = {
        name: clean_text(value) if isinstance(value := sidecar.get(name), str) else "" for name in _TEXTS
    }
    db.execute(
        """INSERT INTO sessions (harness, kind, started_at, ended_at, born_at, title, project, project_label,
             session_id, path, turn_count, total_tokens, digest)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')""",
        (
            *texts.values(),
            session_id,
            path,
            turns if _is_count(turns) else 0,
            total if _is_count(total) else None,
        ),
    )
    db.executemany(
        "INSERT OR IGNORE INTO session_responses VALUES (?, ?)",
        [(response_id, session_id) for response_id in _keys(sidecar)],
    )
    db.executemany(
        "INSERT OR REPLACE INTO session_sources VALUES (?, ?)",
        [(source, session_id) for source in _source_paths(sidecar)],
    )
    digest = session_digest(db, session_id)
    db.execute("UPDATE sessions SET digest = ? WHERE session_id = ?", (digest, session_id))


def session_digest(db: sqlite3.Connection, session_id: str) -> str:
    """A digest of all rows of a session as they are."""
    columns = f"session_id, path, turn_count, total_tokens, {', '.join(_TEXTS)}"
    parts: list[object] = []
    for query in (
        f"SELECT {columns} FROM sessions WHERE session_id = ?",
        "SELECT response_id FROM session_responses WHERE session_id = ? ORDER BY response_id",
    ):
        for row in db.execute(query, (session_id,)):
            parts.extend(tuple(row))
    text = "\0".join(map(str, parts)).encode("utf-8", "replace")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def drop_session(db: sqlite3.Connection, path: str) -> bool:
    """Take the session of the sidecar at `path` out of the index; False where it was not there."""
    row = db.execute("SELECT session_id FROM sessions WHERE path = ?", (path,)).fetchone()
    if row is None:
        return False
    for table in ("session_responses", "session_sources"):
        db.execute(f"DELETE FROM {table} WHERE session_id = ?", (row[0],))
    db.execute("DELETE FROM sessions WHERE session_id = ?", (row[0],))
    return True


def _keys(sidecar: dict[str, Any]) -> set[str]:
    """`Sidecar.sharing_keys`, from the JSON."""
    table = sidecar.get("responses")
    rows = table.get("rows") if isinstance(table, dict) else None
    ids = {row[0] for row in rows or () if isinstance(row, list) and row and isinstance(row[0], str)}
    turns = [turn for turn in _list(sidecar.get("turn_ids"))[:FIRST_TURNS] if isinstance(turn, str)]
    return {base_id(clean_text(response_id)) for response_id in ids} | turn_keys(turns)


def _source_paths(sidecar: dict[str, Any]) -> set[str]:
    sources = (source for source in _list(sidecar.get("sources")) if isinstance(source, dict))
    return {clean_text(path) for source in sources if isinstance(path := source.get("path"), str)}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62
