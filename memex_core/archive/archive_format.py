"""What a backup archive is (seed 000 §7, Utility 12; DESIGN §1, §3 row backup).

    memex-backup-<time>/manifest.json     the first member: size, SHA-256 and mode of every other one
    memex-backup-<time>/<path>            every truth file, in the order of the names, and mem.db if asked for

One gzip member around a POSIX tar of regular files. The manifest is a JSON object with `version`,
`backed_up_at`, `memex_version`, `file_counts`, `left_out` ([path, why] of what is in no archive) and `files`
({path, size, sha256, mode}). An archive of the seed's own layout has no `files`: it cannot be verified.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from memex_core.errors import Refused
from memex_core.files.atomic import is_temp_name

VERSION = 1
MANIFEST = "manifest.json"
INDEX = "mem.db"
CONFIG = "memex.toml"
FORGOTTEN = "forgotten.jsonl"
TRUTH_FOLDERS = ("diary", "docs", "transcripts", "wiki")
TRUTH_FILES = (FORGOTTEN, "journal.jsonl", CONFIG, "recalls.jsonl")
TRUTH = (*TRUTH_FOLDERS, *TRUTH_FILES)

MAX_DEPTH = 32
MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255

_TOP = re.compile(r"memex-backup-[0-9A-Za-z][0-9A-Za-z.:_+-]{0,63}\Z")
_UNFIT = re.compile(
    "[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
    + ('|[:<>"|?*]|[. ]$' if os.name == "nt" else "")
)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_MODE = re.compile(r"0[0-7]{3}\Z")


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may ask of a reader. `ratio`: bytes for one packed byte, beyond `ratio_floor` bytes."""

    members: int = 200_000
    manifest_bytes: int = 64 << 20
    file_bytes: int = 64 << 30
    total_bytes: int = 512 << 30
    ratio: int = 200
    ratio_floor: int = 16 << 20


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the archive; `path` is relative to the memory root."""

    path: str
    size: int
    sha256: str
    mode: int


@dataclass(slots=True)
class Manifest:
    """`files` None: an archive of the seed's layout, which names none."""

    backed_up_at: str = ""
    memex_version: str = ""
    file_counts: dict[str, int] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, FileEntry] | None = None


class Names:
    """The names of one archive: each may stand in it, and no file system takes two of them for one."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}

    def refusal_of(self, path: str, *, folder: bool = False) -> str:
        """Why `path` may not join the others; "" where it now has."""
        problem = path_problem(path, folder=folder)
        if problem:
            return problem
        parts = path.split("/")
        above = ["/".join(parts[:n]) for n in range(1, len(parts) + folder)]
        key = _folded(path)
        taken = self._files.get(key) or (None if folder else self._folders.get(key))
        taken = taken or next((self._files[k] for k in map(_folded, above) if k in self._files), None)
        if taken is not None:
            return "it is there twice" if taken == path else f"some file systems take it for {taken!r}"
        self._folders.update((_folded(each), each) for each in above)
        if not folder:
            self._files[key] = path
        return ""


def is_top(name: str) -> bool:
    """True for the name of the one folder that an archive has at its top."""
    return _TOP.match(name) is not None


def path_problem(path: str, *, folder: bool = False) -> str:
    """Why a file (or folder) of the memory root may not be in an archive under this path; "" if it may."""
    if not folder and (path in TRUTH_FILES or path == INDEX):
        return ""
    parts = path.split("/")
    if parts[0] not in TRUTH_FOLDERS or len(parts) + folder < 2:
        return "it is no part of a memory"
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if len(parts) > MAX_DEPTH or sum(sizes) + len(parts) > MAX_PATH_BYTES or max(sizes) > MAX_NAME_BYTES:
        return "its name is too long or too deep"
    if any(part in ("", ".", "..") or _UNFIT.search(part) for part in parts):
        return "its name could be taken for another place or hide a part of itself"
    if any(is_temp_name(part) for part in parts):
        return "it is called like a temp file"
    return ""


def counts_of(paths: list[str]) -> dict[str, int]:
    """The counts of seed 000 §9.7, and `files`: all of them, mem.db too."""
    return {
        "wiki": sum(path.startswith("docs/") and _is_page(path.split("/")[1:]) for path in paths),
        "transcripts": sum(_is_transcript(path) for path in paths),
        "mem_db": int(INDEX in paths),
        "files": len(paths),
    }


def render_manifest(manifest: Manifest) -> bytes:
    """The manifest as JSON, one file a line, in the order of the paths."""
    head = {
        "version": VERSION,
        "backed_up_at": manifest.backed_up_at,
        "memex_version": manifest.memex_version,
        "file_counts": manifest.file_counts,
        "left_out": manifest.left_out,
    }
    files = [
        json.dumps({"path": e.path, "size": e.size, "sha256": e.sha256, "mode": f"{e.mode:04o}"})
        for _, e in sorted((manifest.files or {}).items())
    ]
    listed = ",\n  ".join(files)
    return (json.dumps(head, indent=1)[:-2] + f',\n "files": [\n  {listed}\n ]\n}}\n').encode()


def parse_manifest(data: bytes, limits: Limits = LIMITS) -> Manifest:
    """The manifest that `data` is. Raises Refused."""
    try:
        document = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{MANIFEST} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise Refused(f"{MANIFEST} is not an object")
    _require_version(document.get("version"))
    files = document.get("files")
    return Manifest(
        backed_up_at=_typed(document, "backed_up_at", str, ""),
        memex_version=_typed(document, "memex_version", str, ""),
        file_counts={k: _count(v, k) for k, v in _typed(document, "file_counts", dict, {}).items()},
        left_out=[_left_out(pair) for pair in _typed(document, "left_out", list, [])],
        files=None if files is None else _entries(files, limits),
    )


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _is_page(parts: list[str]) -> bool:
    """As `files.walk.walk_pages` has it."""
    return len(parts) <= 2 and parts[-1].endswith(".md") and not any(part[0] == "." for part in parts)


def _is_transcript(path: str) -> bool:
    return path.startswith("transcripts/") and path.endswith(".jsonl") and path.count("/") == 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _require_version(version: object) -> None:
    text = str(version) if type(version) in (int, str) else ""
    number = re.fullmatch(r"([0-9]{1,9})(?:\.[0-9.]{1,9})?", text)
    if number is not None and int(number[1]) > VERSION:
        raise Refused(f"it has format {text}, and this memex knows {VERSION}", hint="update memex")
    if number is None or int(number[1]) != VERSION:
        raise Refused(f"{MANIFEST} has no usable version")


def _typed(document: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    value = document.get(key, default)
    if type(value) is not kind:
        raise Refused(f"{MANIFEST}: {key} has the wrong type")
    return value


def _count(value: object, what: str) -> int:
    if type(value) is not int or value < 0:
        raise Refused(f"{MANIFEST}: {what[:80]!r} is not a count")
    return value


def _left_out(pair: object) -> tuple[str, str]:
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
        raise Refused(f"{MANIFEST}: left_out has the wrong type")
    return pair[0], pair[1]


def _entries(items: object, limits: Limits) -> dict[str, FileEntry]:
    if not isinstance(items, list) or len(items) > limits.members:
        raise Refused(f"{MANIFEST}: files is no list, or a longer one than {limits.members:,}")
    names = Names()
    entries = [_entry(item, names) for item in items]
    if any(e.size > limits.file_bytes for e in entries) or sum(e.size for e in entries) > limits.total_bytes:
        raise Refused("it is larger than an archive may be")
    return {entry.path: entry for entry in entries}


def _entry(item: object, names: Names) -> FileEntry:
    if not isinstance(item, dict):
        raise Refused(f"{MANIFEST}: a file has the wrong type")
    path, sha256, mode = (item.get(key) for key in ("path", "sha256", "mode"))
    if not isinstance(path, str) or not isinstance(sha256, str) or not isinstance(mode, str):
        raise Refused(f"{MANIFEST}: a file has no path, sha256 or mode")
    refusal = names.refusal_of(path)
    if refusal:
        raise Refused(f"{MANIFEST}: {path[:200]!r}: {refusal}")
    if not _SHA256.match(sha256) or not _MODE.match(mode):
        raise Refused(f"{MANIFEST}: {path!r} has no usable sha256 or mode")
    return FileEntry(path, _count(item.get("size"), path), sha256, int(mode, 8))
