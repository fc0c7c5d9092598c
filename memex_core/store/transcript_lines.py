"""The lines of a transcript file: its header, its turns, and their digests."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from memex_core.files.regular import open_regular
from memex_core.model.session import Turn


@dataclass(slots=True)
class Body:
    """The turn lines of a transcript; its header line is not part of them."""

    size: int
    sha256: str
    lines: int


def open_transcript(path: Path) -> BinaryIO:
    """transcripts/<file> of a memory root, open for reading. Raises as `open_regular`."""
    return open_regular(path, path.parent.parent)


def body_digest(path: Path) -> Body:
    """Size, hash and number of the turn lines of a transcript; its header line is not part of them."""
    digest, size, lines = hashlib.sha256(), 0, 0
    with open_transcript(path) as file:
        for number, line in enumerate(file):
            if number == 0 and b'"memex_session_header"' in line[:60]:
                continue
            digest.update(line)
            size += len(line)
            lines += 1
    return Body(size, digest.hexdigest(), lines)


def prefix_digest(file: BinaryIO, size: int) -> str:
    """SHA-256 of the first `size` bytes of `file`, which is then at its end."""
    file.seek(0)
    found = digest_of(file, size)
    file.seek(0, os.SEEK_END)
    return found


def digest_of(file: BinaryIO, size: int) -> str:
    """SHA-256 of the next `size` bytes of `file`."""
    digest = hashlib.sha256()
    while size > 0 and (chunk := file.read(min(size, 1 << 20))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def first_line(path: Path) -> bytes:
    """The header line, where the transcript has one."""
    with open_transcript(path) as file:
        return file.readline()


def words_of(turn: Turn) -> bytes:
    """What a turn says, as a digest."""
    text = "\0".join((turn.role, turn.content, turn.query or "", turn.result or ""))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()


def turn_of(raw: bytes) -> Turn | None:
    """The turn in a line; None for a header and for what cannot be read."""
    try:
        line = orjson.loads(raw)
        if line.get("role") not in ("user", "agent", "tool"):
            return None
        return Turn(
            line["role"],
            str(line.get("content", "")),
            str(line.get("ts", "")),
            int(line.get("turn", 0)),
            line.get("tool_name"),
            line.get("result"),
            line.get("query"),
        )
    except (ValueError, TypeError, AttributeError):
        return None
