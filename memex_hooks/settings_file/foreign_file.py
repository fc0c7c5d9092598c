"""Reading and replacing a file that belongs to another program (DESIGN §4 Settings of others).

Links are followed and stay links, mode and owner stay, and nothing is written over a change that happened
meanwhile.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from memex_core.errors import Refused
from memex_core.files.atomic import commit_staged, remove_file, staged_file

MAX_BYTES = 16 * 1024 * 1024


class ChangedMeanwhile(Refused):
    """The file is no longer what the edit was planned on: plan again."""


def read_foreign(path: Path) -> bytes | None:
    """The bytes of the file, None where there is none. Raises Refused where it cannot be read as a file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path}: not a regular file", hint="move it out of the way, then try again")
        if status.st_size > MAX_BYTES:
            raise Refused(
                f"{path}: larger than {MAX_BYTES // 1024 // 1024} MB", hint="this is no settings file"
            )
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}", hint="make the file readable, then try again") from None


def real_path(path: Path) -> Path:
    """The file that `path` leads to, through every link, whether it exists or not."""
    return Path(os.path.realpath(path))


def replace_foreign(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Give the file behind `path` the bytes `after` (None deletes it), if it still holds `before`.

    Raises ChangedMeanwhile where it does not, Refused where it cannot be written; the file is then untouched.
    """
    target = real_path(path)
    try:
        if after is None:
            _require_unchanged(path, before)
            remove_file(target)
            return
        with staged_file(target.parent) as (file, temp):
            file.write(after)
            file.flush()
            _take_over(file.fileno(), target)
            _require_unchanged(path, before)
            commit_staged(file, temp, target)
    except OSError as error:
        raise Refused(f"{target}: {error.strerror}", hint="make the file writable, then try again") from None


def _take_over(fd: int, target: Path) -> None:
    """Give the new file the mode and the owner of the old one; a new file keeps 0600."""
    try:
        status = target.stat()
    except FileNotFoundError:
        return
    mine = os.fstat(fd)
    if (status.st_uid, status.st_gid) != (mine.st_uid, mine.st_gid):
        os.fchown(fd, status.st_uid, status.st_gid)
    os.fchmod(fd, stat.S_IMODE(status.st_mode))


def _require_unchanged(path: Path, before: bytes | None) -> None:
    if read_foreign(path) != before:
        raise ChangedMeanwhile(f"{path}: another program is changing it", hint="close it, then try again")
