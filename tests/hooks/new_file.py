"""A file of the same name again and again, for the tests that read thousands of variants of a log."""

from __future__ import annotations

from pathlib import Path


def new_file(path: Path, data: bytes) -> Path:
    """Write `data` to a new file at `path`.

    A file that is emptied and filled again goes to the disk as it is closed, and the next one who empties it
    waits for that: once for every variant. A new file waits for nobody.
    """
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path
