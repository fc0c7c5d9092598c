"""Vectors on disk: `vectors.keys.jsonl` says whose each row of `vectors-NNNNNN.npy` is (seed 002; formats
page 1.9).

What is torn, truncated or of another shape counts as no cache. Written anew as a whole: the new matrix first,
then the keys, then the matrix that the old keys named goes; no other file is ever deleted.
"""

from __future__ import annotations

import contextlib
import errno
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memex_core.files.atomic import commit_together, remove_stale_temps, staged_file
from memex_core.vectors.endpoint import Matrix
from memex_core.vectors.keys import KEYS_FILE, MATRIX_FILE, Key, keys_text, matrix_name, read_keys

_LAST_NUMBER = 999_999
_RACY_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """What made the vectors of a cache. `model` None: the cache does not say."""

    model: str | None
    dim: int


@dataclass(frozen=True, slots=True)
class Cached:
    """A cache as it was read: row i of `matrix`, which is the memory-mapped file `name`, is that of key i."""

    keys: list[Key]
    name: str
    matrix: Matrix
    stamp: Stamp


class VectorCache:
    """The cache in `folder`. Writers hold the memory lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: Cached | None = None
        self._read_at: tuple[object, object] = (None, None)

    def load(self) -> Cached | None:
        """What is there, if it can be trusted; read again only where a file has changed."""
        if self._read is None or None in self._read_at or self._stamps(self._read) != self._read_at:
            self._read = self._load()
            self._read_at = self._stamps(self._read) if self._read else (None, None)
        return self._read

    def _stamps(self, cached: Cached) -> tuple[object, object]:
        return _stamp(self.folder / KEYS_FILE), _stamp(self.folder / cached.name)

    def _load(self) -> Cached | None:
        for _ in range(2):  # the first look may meet a writer
            header, keys = read_keys(self.folder)
            name = matrix_name(header)
            matrix = self._map(name) if name else None
            if matrix is not None:
                break
        else:
            return None
        rows, dim = matrix.shape
        if rows != len(keys) or header.get("dim", dim) != dim:
            return None
        model = header.get("model")
        return Cached(keys, name, matrix, Stamp(model if isinstance(model, str) and model else None, dim))

    def save(self, keys: Sequence[Key], matrix: Matrix, model: str) -> None:
        """Put these vectors in place of what is there; without keys there is no cache any more.

        Raises OSError.
        """
        superseded = name = matrix_name(read_keys(self.folder)[0])
        if keys:
            name = self._next_name()
            header = {"vectors_file": name, "model": model, "dim": int(matrix.shape[1])}
            with (
                staged_file(self.folder) as (vectors, vectors_temp),
                staged_file(self.folder) as (listing, listing_temp),
            ):
                np.lib.format.write_array(vectors, np.ascontiguousarray(matrix, "<f4"), allow_pickle=False)
                listing.write(keys_text(header, keys))
                pairs = (
                    (vectors, vectors_temp, self.folder / name),
                    (listing, listing_temp, self.folder / KEYS_FILE),
                )
                commit_together(*pairs)
        else:
            name = ""
            (self.folder / KEYS_FILE).unlink(missing_ok=True)
        remove_stale_temps(self.folder)
        if superseded != name and _is_plain_file(self.folder / superseded):
            with contextlib.suppress(OSError):
                (self.folder / superseded).unlink()

    def check_writable(self) -> None:
        """Raises OSError where `save` would fail for what lies there, so that nothing is paid for in vain."""
        path = self.folder / KEYS_FILE
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
        with staged_file(self.folder):
            """A file can be made."""

    def _map(self, name: str) -> Matrix | None:
        path = self.folder / name
        if not _is_plain_file(path):
            return None
        try:
            matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception:  # numpy fails in many ways on what is no matrix, and none may cost a recall
            return None
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype != np.dtype("<f4"):
            return None
        return matrix if matrix.shape[1] else None

    def _next_name(self) -> str:
        """One more than the highest number there is, as wikimem counts; behind the last, a free one."""
        numbers = {int(found[1]) for name in _names(self.folder) if (found := MATRIX_FILE.match(name))}
        highest = max(numbers, default=0)
        wanted = highest + 1 if highest < _LAST_NUMBER else 1
        while wanted in numbers or (self.folder / f"vectors-{wanted:06d}.npy").exists():
            wanted += 1
        return f"vectors-{wanted:06d}.npy"


def _stamp(path: Path) -> object:
    """What changes when a file is replaced; None where there is none, and for one changed so recently that a
    change may not show.
    """
    try:
        status = path.lstat()
    except OSError:
        return None
    if time.time_ns() - status.st_mtime_ns < _RACY_NS:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _is_plain_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []
