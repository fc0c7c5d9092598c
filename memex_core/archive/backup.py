"""The whole memory in one file, and back (seed 000 §7 Utility 12, §9.7, §9.8; DESIGN §3 row backup)."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from memex_core import __version__
from memex_core.archive.archive_format import (
    INDEX,
    LIMITS,
    TRUTH,
    Limits,
    Manifest,
    counts_of,
    render_manifest,
)
from memex_core.archive.archive_reader import Nowhere, begins_as_backup, read_archive
from memex_core.archive.archive_writer import write_archive
from memex_core.archive.restore import finish_restore, restore_into
from memex_core.archive.snapshot import Snapshot
from memex_core.archive.staging import no_empty_folder_left
from memex_core.archive.truth_files import folders_of
from memex_core.errors import AlreadyExists, MemexError, NotFound, Refused
from memex_core.files.atomic import (
    TEMP_PREFIX,
    TEMP_SUFFIX,
    commit_staged,
    is_temp_name,
    remove_stale_temps,
    staged_file,
)
from memex_core.files.walk import is_inside
from memex_core.model.results import BackupReport, RestoreReport

_LEVELS = (6, 0)
"""How hard to pack. What packs as well as a bomb is stored as it is, so that a restore takes it."""
_OWN = (*TRUTH, INDEX, f"{INDEX}-journal", f"{INDEX}-wal", f"{INDEX}-shm", ".lock", "spool", "logs")


class BackupRestore:
    """Backups of the memory root `data_dir`.

    `copy_index(dest)` makes a consistent copy of mem.db at `dest`, which does not exist; without it mem.db is
    in no backup. `rebuild_index` is called after a restore; without it the next command heals the index.
    """

    def __init__(
        self,
        data_dir: Path,
        db_path: Path,
        *,
        copy_index: Callable[[Path], None] | None = None,
        rebuild_index: Callable[[], object] | None = None,
    ) -> None:
        self.data_dir = Path(os.path.abspath(data_dir))
        self.db_path = db_path
        self._copy_index = copy_index
        self._rebuild_index = rebuild_index

    def backup(self, output_path: Path, include_mem_db: bool = True) -> BackupReport:
        """Every truth path, and mem.db if it is wanted and there, verified before the file has its name.

        What cannot be in it is counted as `left_out` and listed in the manifest. Raises NotFound for a memory
        that does not exist, AlreadyExists where something else than a backup would be replaced, Refused for a
        place inside the memory, LockTimeout, OSError; then nothing is left behind.
        """
        started = time.perf_counter()
        output = Path(os.path.abspath(output_path))
        if not self.data_dir.is_dir():
            raise NotFound("memory", str(self.data_dir), hint="nothing was remembered yet")
        finish_restore(self.data_dir)
        self._require_free_place(output)
        with _named(output), no_empty_folder_left(output.parent):
            remove_stale_temps(output.parent)
            with staged_file(output.parent) as (store, at), staged_file(output.parent) as (file, temp):
                with contextlib.suppress(OSError):
                    at.unlink()  # where that can be, not even a killed process leaves it behind
                manifest = self._write(file, temp, store, include_mem_db)
                commit_staged(file, temp, output)
        counts = manifest.file_counts | {"left_out": len(manifest.left_out)}
        duration = round((time.perf_counter() - started) * 1000, 3)
        return BackupReport(str(output), output.stat().st_size, counts, duration)

    def restore(self, input_path: Path, target_dir: Path | None = None) -> RestoreReport:
        """Put a backup in the place of what is here, or into a new `target_dir`.

        The old files are kept in `previous_backup_dir`; mem.db is rebuilt, never taken from the archive.
        Raises NotFound, LockTimeout, OSError, and Refused for an archive that is not sound or a target that
        is in use; then nothing has changed. Cut off at any moment, `finish_restore` makes it whole.
        """
        archive = Path(os.path.abspath(input_path))
        if target_dir is None or os.path.realpath(target_dir) == os.path.realpath(self.data_dir):
            with _named(self.data_dir):
                return restore_into(self.data_dir, archive, self._rebuild_index)
        target = Path(os.path.abspath(target_dir))
        self._require_outside(target)
        if os.path.lexists(target) and not (target.is_dir() and not os.listdir(target)):
            raise Refused(f"{target} is not an empty folder", hint="name a folder that does not exist yet")
        with _named(target):
            return restore_into(target, archive, None)

    def verify(self, archive_path: Path) -> bool:
        """True where every byte of the archive is what its manifest says."""
        return not self.problems(archive_path)

    def problems(self, archive_path: Path, limits: Limits = LIMITS) -> list[str]:
        """What is wrong with an archive, a line each, every byte of it read; [] where it is sound."""
        try:
            return read_archive(Path(archive_path), Nowhere(), limits).problems
        except (MemexError, OSError) as error:
            return [str(error)]

    def _write(self, file: BinaryIO, temp: Path, store: BinaryIO, include_mem_db: bool) -> Manifest:
        """A verified archive in `file`, which is at `temp`."""
        snapshot = Snapshot(self.data_dir, self.db_path, store)
        no_index = self._add_index(snapshot, temp.parent) if include_mem_db else ""
        snapshot.take()
        left_out = snapshot.left_out | ({INDEX: no_index} if no_index else {})
        now = datetime.now(UTC)
        manifest = Manifest(
            backed_up_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            memex_version=__version__,
            file_counts=counts_of(list(snapshot.files)),
            left_out=sorted(left_out.items()),
            files={path: copied.entry for path, copied in snapshot.files.items()},
        )
        top, listed = now.strftime("memex-backup-%Y%m%dT%H%M%SZ"), render_manifest(manifest)
        problems = [""]
        for level in _LEVELS:
            write_archive(file, top, listed, int(now.timestamp()), snapshot.files, store, level)
            file.flush()
            problems = self.problems(temp)
            if not problems:
                return manifest
        raise Refused(f"the backup could not be verified: {problems[0]}", hint="nothing was written")

    def _add_index(self, snapshot: Snapshot, folder: Path) -> str:
        """Take mem.db in; says why it could not be, "" also where there is none. It can be derived again."""
        if self._copy_index is None or not os.path.lexists(self.db_path):
            return ""
        copy = folder / f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"
        try:
            self._copy_index(copy)
            snapshot.add_index(copy, int(self.db_path.stat().st_mtime))
        except (MemexError, OSError) as error:
            return str(error)
        finally:
            with contextlib.suppress(OSError):
                copy.unlink()
        return ""

    def _require_free_place(self, output: Path) -> None:
        self._require_outside(output)
        if output.is_symlink() and not output.exists():
            return
        if os.path.lexists(output) and not (output.is_file() and begins_as_backup(output)):
            raise AlreadyExists("file", str(output), hint="it is no backup; give another name")

    def _require_outside(self, path: Path) -> None:
        """Refused for a place where the memory keeps something else."""
        inside = any(is_inside(path.parent, folder) for folder in folders_of(self.data_dir))
        own = os.path.realpath(path.parent) == os.path.realpath(self.data_dir) and path.name in _OWN
        if inside or own:
            raise Refused(f"{path} is inside the memory itself", hint="choose a place outside of it")


@contextlib.contextmanager
def _named(place: Path) -> Iterator[None]:
    """An error that names no file, or one of our temp files, names `place`."""
    try:
        yield
    except OSError as error:
        known = error.filename is not None and not is_temp_name(os.path.basename(str(error.filename)))
        if known or error.errno is None or isinstance(error, MemexError):
            raise
        raise OSError(error.errno, error.strerror, str(place)) from error
