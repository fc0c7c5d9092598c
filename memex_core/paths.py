"""Where each thing lives under the memory root (DESIGN §1), and the one gate between a name and a path.

The only module that knows file names of the memory root.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from memex_core.errors import InvalidName

NODE_TYPES = ("entity", "preference", "procedure", "summary", "episode")
"""The five page types, in the order in which people list them (seed 000 §6.1)."""

FOLDER_OF_TYPE = {
    "entity": "entities",
    "preference": "preferences",
    "procedure": "procedures",
    "summary": "summaries",
    "episode": "episodes",
}
TYPE_OF_FOLDER = {folder: node_type for node_type, folder in FOLDER_OF_TYPE.items()}

MAX_CONFIG_BYTES = 1 << 16
"""More than any configuration needs, and read and parsed in a moment."""

MAX_RECALLFILE_BYTES = 200
"""With ".md" this stays under the 255 bytes of every common file system."""

_RECALLFILE = re.compile(r"[a-z0-9_][a-z0-9_-]*\Z")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_SAFE_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?\Z")
_WINDOWS_NAMES = {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))}


def data_dir(env: Mapping[str, str] | None = None) -> Path:
    """The memory root: MEMEX_DATA_DIR, else where ~/.memex/memex.toml puts it, else ~/.memex (seed 000 §10).

    Absolute; the folder may not exist yet.
    """
    env = os.environ if env is None else env
    chosen = env.get("MEMEX_DATA_DIR", "")
    if not chosen:
        return moved_root(env) or home_root(env)
    return Path(_home(env) + chosen[1:] if chosen == "~" or chosen.startswith("~/") else chosen).absolute()


def home_root(env: Mapping[str, str]) -> Path:
    """~/.memex: the memory root unless something says otherwise, and the only one whose memex.toml may."""
    return Path(_home(env), ".memex").absolute()


def moved_root(env: Mapping[str, str]) -> Path | None:
    """Where ~/.memex/memex.toml puts the memory root: [data_dir] path, else ~/.<[app] name>. None where it
    says nothing, or nothing that can act; `config` then names what is wrong.
    """
    try:
        data = read_config(config_path(home_root(env)))
        if b"data_dir" not in data and b"app" not in data:  # every hook comes by here; most files say neither
            return None
        import tomllib

        document = tomllib.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    path = _said(document, "data_dir", "path")
    if path:
        inside = path.removeprefix("~").lstrip("/") if path.startswith("~") else path
        return Path(_home(env), inside).absolute() if is_root_path(path) else None
    name = _said(document, "app", "name")
    return Path(_home(env), f".{name}").absolute() if name != "memex" and is_safe_id(name) else None


def is_root_path(text: str) -> bool:
    """False for what [data_dir] path cannot be: another user's home, anything with a control character."""
    foreign = text.startswith("~") and text != "~" and not text.startswith("~/")
    return not foreign and not any(ord(char) < 32 or ord(char) == 127 for char in text)


def read_config(path: Path) -> bytes:
    """The bytes of a memex.toml. OSError where it is not a regular file, or no configuration by its size."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:  # O_NONBLOCK: a FIFO would be waited for
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if status.st_size > MAX_CONFIG_BYTES:
            raise OSError(errno.EFBIG, f"larger than {MAX_CONFIG_BYTES >> 10} KiB", str(path))
        with open(fd, "rb", closefd=False) as file:
            return file.read(MAX_CONFIG_BYTES)
    finally:
        os.close(fd)


def _home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or str(Path.home())


def _said(document: Mapping[str, object], section: str, key: str) -> str:
    table = document.get(section)
    value = table.get(key) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""


def safe_id(name: str) -> str:
    """`name` unchanged if it may become a file name as it stands, else InvalidName.

    Session ids come from foreign logs and from the command line: letters, digits, dot, dash, underscore,
    128 at most, never a reserved device name, never ending in a dot.
    """
    if not is_safe_id(name):
        raise InvalidName(
            f"not a usable session id: {name[:80]!r}", hint="use letters, digits, '-', '_' and '.' only"
        )
    return name


def is_safe_id(name: str) -> bool:
    return bool(_SAFE_ID.match(name)) and name.split(".")[0].casefold() not in _WINDOWS_NAMES


def docs_dir(root: Path) -> Path:
    return root / "docs"


def page_path(root: Path, node_type: str, slug: str) -> Path:
    """docs/<folder of the type>/<slug>.md. The slug must come from `text.slug` or pass `safe_id`."""
    return root / "docs" / FOLDER_OF_TYPE[node_type] / f"{slug}.md"


def wiki_dir(root: Path) -> Path:
    return root / "wiki"


def recallfile_path(root: Path, file: str) -> Path:
    """wiki/<file>.md for a RecallFile that may be written (seed 002). InvalidName for what may not."""
    if not _RECALLFILE.match(file):
        raise InvalidName(
            f"not a usable RecallFile: {file[:80]!r}", hint="use lower-case letters, digits, '_' and '-' only"
        )
    if len(file) > MAX_RECALLFILE_BYTES:
        raise InvalidName(
            f"not a usable RecallFile: {file[:80]!r}… has {len(file):,} characters",
            hint=f"use {MAX_RECALLFILE_BYTES} at most",
        )
    return wiki_dir(root) / f"{file}.md"


def diary_dir(root: Path) -> Path:
    return root / "diary"


def day_path(root: Path, day: str) -> Path:
    """diary/YYYY-MM-DD.md for a day of the calendar. InvalidName for anything else."""
    from datetime import date  # the hooks come by this module, and need no calendar

    try:
        if is_day_name(day) and date.fromisoformat(day):
            return diary_dir(root) / f"{day}.md"
    except ValueError:
        pass
    raise InvalidName(f"not a day: {day[:80]!r}", hint="write it as 2026-09-15")


def is_day_name(name: str) -> bool:
    """True for what has the shape of a day, in the calendar or not (seed 002 lists by shape)."""
    return _DAY.match(name) is not None


def transcripts_dir(root: Path) -> Path:
    return root / "transcripts"


def transcript_path(root: Path, session_id: str) -> Path:
    return root / "transcripts" / f"{safe_id(session_id)}.jsonl"


def sidecar_path(root: Path, session_id: str) -> Path:
    return root / "transcripts" / f"{safe_id(session_id)}.meta.json"


def transcript_ref(session_id: str) -> str:
    """The transcript's path relative to the memory root, as front matter stores it (seed 000 §6.1)."""
    return f"transcripts/{safe_id(session_id)}.jsonl"


def spool_dir(root: Path) -> Path:
    return root / "spool"


def journal_path(root: Path) -> Path:
    return root / "journal.jsonl"


def recalls_path(root: Path) -> Path:
    return root / "recalls.jsonl"


def forgotten_path(root: Path) -> Path:
    return root / "forgotten.jsonl"


def vector_dirs(root: Path) -> tuple[Path, Path, Path]:
    """Where vectors are kept of pages, of items and of events, in this order. wikimem knows the last two."""
    return root / "page-vectors", root, root / "diary-vectors"


def index_path(root: Path) -> Path:
    return root / "mem.db"


def config_path(root: Path) -> Path:
    return root / "memex.toml"


def lock_path(root: Path) -> Path:
    return root / ".lock"


def imported_dir(root: Path) -> Path:
    """What an import from another program keeps, so that an export gives it back."""
    return root / "docs" / ".wikimem"


def restore_note_path(root: Path) -> Path:
    """Where a restore that is under way notes what it does; there only until it is done."""
    return root / ".memex-restore.json"


def logs_dir(root: Path) -> Path:
    return root / "logs"
