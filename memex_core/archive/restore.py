"""A backup put in the place of what is there (seed 000 §9.8): unpacked beside it, checked, then exchanged."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memex_core.archive import restore_warnings
from memex_core.archive.archive_format import CONFIG, FORGOTTEN, INDEX, TRUTH, counts_of
from memex_core.archive.archive_reader import Contents, read_archive
from memex_core.archive.config_secret import without_api_key
from memex_core.archive.forgotten_lines import keep_forgotten
from memex_core.archive.staging import Staging, sweep_staging
from memex_core.archive.swap import exchange, finish_exchange
from memex_core.errors import MemexError, Refused
from memex_core.files.lock import memory_lock
from memex_core.model.results import RestoreReport

_SEED_LAYOUT = ("docs", "transcripts", FORGOTTEN)


def finish_restore(root: Path) -> str:
    """Finish or undo a restore that was cut off; to be called before anything of `root` is read.

    Says what was done, "" where nothing was to do (then it costs two looks at the folder). Raises Refused,
    LockTimeout.
    """
    done = finish_exchange(root)
    sweep_staging(root)
    return done


def restore_into(root: Path, archive: Path, rebuild_index: Callable[[], object] | None) -> RestoreReport:
    """Make the memory root what the archive says. Raises NotFound, LockTimeout, OSError, and Refused for an
    archive that is not sound; then nothing has changed.
    """
    finish_restore(root)
    with Staging(root) as staging:
        contents = read_archive(archive, staging)
        if contents.problems:
            raise _unsound(archive, contents.problems)
        staging.make_durable()
        with memory_lock(root):
            finish_exchange(root)
            back = keep_forgotten(root / FORGOTTEN, staging.folder / FORGOTTEN, contents.paths)
            arriving, leaving = _parts(root, staging, contents)
            warnings = restore_warnings.all_of(root, staging.folder, contents, arriving, leaving, back)
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
            previous = exchange(root, staging.folder, arriving, leaving, stamp)
    rebuilt = _rebuild(rebuild_index, warnings)
    counts = counts_of([path for path in contents.paths if path != INDEX])
    return RestoreReport(
        restored=True,
        file_counts={name: counts[name] for name in ("wiki", "transcripts", "files")},
        index_rebuilt=rebuilt,
        warnings=warnings,
        previous_backup_dir=None if previous is None else str(previous),
    )


def _parts(root: Path, staging: Staging, contents: Contents) -> tuple[list[str], list[str]]:
    """What is put in and what is taken out.

    The configuration stays where the archive has none, or the same one but for the key. An archive of the
    seed's layout knows two folders: what it does not know stays, too.
    """
    arriving = staging.names()
    if CONFIG in arriving and _is_same_config(root / CONFIG, staging.folder / CONFIG):
        arriving.remove(CONFIG)
    known = set(arriving) | set(_SEED_LAYOUT if contents.manifest.files is None else TRUTH)
    if CONFIG not in arriving:
        known.discard(CONFIG)
    return arriving, [name for name in TRUTH if name in known and os.path.lexists(root / name)]


def _is_same_config(current: Path, restored: Path) -> bool:
    try:
        return current.is_file() and without_api_key(current.read_bytes()) == restored.read_bytes()
    except OSError:
        return False


def _rebuild(rebuild_index: Callable[[], object] | None, warnings: list[str]) -> bool:
    if rebuild_index is None:
        return False
    try:
        rebuild_index()
    except (MemexError, OSError) as error:
        warnings.append(f"the index could not be rebuilt ({error}); the next command tries again")
        return False
    return True


def _unsound(archive: Path, problems: list[str]) -> Refused:
    more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
    return Refused(f"{archive}: {problems[0]}{more}", hint="take another backup; nothing was changed")
