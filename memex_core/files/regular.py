"""How files of a memory are opened for reading: what is no regular file is not waited for, and no link leads
outside (DESIGN §4 Files).
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from memex_core.files.walk import is_inside

_FLAGS = os.O_RDONLY
for _name in ("O_BINARY", "O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK"):  # O_NONBLOCK: a FIFO would be waited for
    _FLAGS |= getattr(os, _name, 0)


class NotRegular(OSError):
    """A FIFO, a device, a folder, or a link that leads out of the memory root."""


def open_regular(path: Path, root: Path | None = None) -> BinaryIO:
    """The file at `path`, open for reading bytes. With `root`, a link may only lead to what lies under it.

    Raises NotRegular, and OSError as `open` does.
    """
    if root is not None and path.is_symlink() and not is_inside(path, root):
        raise NotRegular(errno.EPERM, "is a link that leads outside the memory root", str(path))
    fd = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotRegular(errno.EINVAL, "is not a regular file", str(path))
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_regular(path: Path, root: Path | None = None) -> bytes:
    """The bytes of `path`; raises as `open_regular`."""
    with open_regular(path, root) as file:
        return file.read()


def is_regular(path: Path, root: Path) -> bool:
    """True where `open_regular` would find a file now."""
    try:
        is_link = stat.S_ISLNK(path.lstat().st_mode)
        return stat.S_ISREG(path.stat().st_mode) and (not is_link or is_inside(path, root))
    except OSError:
        return False
