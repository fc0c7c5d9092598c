"""An index in memory, made of the files for one question: what recall falls back on."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from memex_core.index.connection import writing
from memex_core.index.rebuild import create_schema, fill_from_files


@contextlib.contextmanager
def index_in_memory(root: Path) -> Iterator[str]:
    """The SQLite address of a fresh index of everything under `root`; it is gone at the end."""
    uri = f"file:memex-{os.urandom(8).hex()}?mode=memory&cache=shared"
    keeper = sqlite3.connect(uri, uri=True)  # the database lives as long as one connection does
    try:
        with writing(uri, bulk=True) as db:
            create_schema(db)
            fill_from_files(root, time.time(), [])(db)
        yield uri
    finally:
        keeper.close()
