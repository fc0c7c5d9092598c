"""Which journal mode mem.db may have, and why (DESIGN §3 row journal mode).

SQLite 3.7.0 to 3.51.2 can lose a commit when a write-ahead log is reset (mended in 3.51.3, 3.50.7 and
3.44.6), and a write-ahead log is unsafe on network and shared file systems; a rollback journal is safe
everywhere and fast enough.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

_LOCAL = {
    "ext2",
    "ext3",
    "ext4",
    "xfs",
    "btrfs",
    "zfs",
    "f2fs",
    "tmpfs",
    "overlay",
    "bcachefs",
    "jfs",
    "reiserfs",
}
_CHOICES = ("auto", "wal", "delete", "truncate")


def choose_journal_mode(db_path: Path, wanted: str = "auto") -> tuple[str, str]:
    """`(mode, reason)`: "wal" or "delete", or what the configuration names. Raises ValueError for another
    word."""
    if wanted not in _CHOICES:
        raise ValueError(f"journal_mode must be one of {', '.join(_CHOICES)}, not {wanted!r}")
    if wanted != "auto":
        return wanted, "set in the configuration"
    version = sqlite3.sqlite_version_info
    if not wal_is_mended(version):
        return "delete", f"SQLite {sqlite3.sqlite_version} can lose commits in WAL mode (mended in 3.51.3)"
    kind = file_system_of(db_path.parent)
    if kind not in _LOCAL:
        return "delete", f"WAL needs a local disk; this one is {kind or 'of unknown kind'}"
    return "wal", f"SQLite {sqlite3.sqlite_version} on a local disk ({kind})"


def wal_is_mended(version: tuple[int, ...]) -> bool:
    """True for SQLite versions without the WAL reset bug."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def file_system_of(folder: Path) -> str:
    """The kind of the file system that holds `folder`, as Linux names it; "" where that is not known."""
    if not sys.platform.startswith("linux"):
        return ""
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace")
        device = os.stat(folder).st_dev
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in reversed(mounts.splitlines()):
        fields, _, rest = line.partition(" - ")
        if fields.split()[2:3] == [wanted] and rest:
            return rest.split()[0]
    return ""
