"""A snapshot as an archive: the same files give the same bytes, but for the time of the backup."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from typing import BinaryIO

from memex_core.archive.archive_format import MANIFEST
from memex_core.archive.snapshot import Copied
from memex_core.archive.tar_stream import BLOCK

_CHUNK = 1 << 20


def write_archive(
    file: BinaryIO,
    top: str,
    manifest: bytes,
    made: int,
    files: Mapping[str, Copied],
    store: BinaryIO,
    level: int,
) -> None:
    """Write the archive to `file`, from its beginning: the manifest, which was made at `made` (seconds), then
    `files`, whose bytes are in `store`. `level`: how hard to pack, 0 to 9.
    """
    file.seek(0)
    file.truncate()
    with (
        gzip.GzipFile("", "wb", level, file, mtime=0) as packed,
        io.BufferedWriter(packed, _CHUNK) as tar,
    ):
        tar.write(_header(f"{top}/{MANIFEST}", len(manifest), 0o600, made))
        tar.write(manifest)
        tar.write(bytes(-len(manifest) % BLOCK))
        for path, copied in sorted(files.items()):
            size = copied.entry.size
            tar.write(_header(f"{top}/{path}", size, copied.entry.mode, copied.mtime))
            _copy(store, copied.offset, size, tar)
            tar.write(bytes(-size % BLOCK))
        tar.write(bytes(2 * BLOCK))


def _header(name: str, size: int, mode: int, mtime: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, mode, mtime
    return member.tobuf(tarfile.PAX_FORMAT)


def _copy(store: BinaryIO, offset: int, size: int, tar: BinaryIO) -> None:
    store.seek(offset)
    while size:
        chunk = store.read(min(size, _CHUNK))
        if not chunk:
            raise OSError(5, "the snapshot ended early")
        tar.write(chunk)
        size -= len(chunk)
