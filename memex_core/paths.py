"""Where each thing lives under the memory root (DESIGN §1), and the one gate between a name and a path.

The only module that knows file names of the memory root.
"""

from __future__ import annotations

import os
import re
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

_SAFE_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?\Z")
_WINDOWS_NAMES = {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))}


def data_dir(env: Mapping[str, str] | None = None) -> Path:
    """The memory root: MEMEX_DATA_DIR, else ~/.memex. Absolute; the folder may not exist yet."""
    env = os.environ if env is None else env
    chosen = env.get("MEMEX_DATA_DIR", "")
    home = env.get("HOME") or str(Path.home())
    if not chosen:
        return (Path(home) / ".memex").absolute()
    return Path(home + chosen[1:] if chosen == "~" or chosen.startswith("~/") else chosen).absolute()


def safe_id(name: str) -> str:
    """`name` unchanged if it may become a file name as it stands, else InvalidName.

    Session ids come from foreign logs and from the command line: letters, digits, dot, dash, underscore,
    128 at most, never a reserved device name, never ending in a dot.
    """
    if not _SAFE_ID.match(name) or name.split(".")[0].casefold() in _WINDOWS_NAMES:
        raise InvalidName(
            f"not a usable session id: {name[:80]!r}", hint="use letters, digits, '-', '_' and '.' only"
        )
    return name


def docs_dir(root: Path) -> Path:
    return root / "docs"


def page_path(root: Path, node_type: str, slug: str) -> Path:
    """docs/<folder of the type>/<slug>.md. The slug must come from `text.slug` or pass `safe_id`."""
    return root / "docs" / FOLDER_OF_TYPE[node_type] / f"{slug}.md"


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


def index_path(root: Path) -> Path:
    return root / "mem.db"


def config_path(root: Path) -> Path:
    return root / "memex.toml"


def lock_path(root: Path) -> Path:
    return root / ".lock"


def logs_dir(root: Path) -> Path:
    return root / "logs"
