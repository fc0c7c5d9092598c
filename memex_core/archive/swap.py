"""The parts of a memory root exchanged for those of a staging folder: all of them or none (DESIGN §4 Files).

Before the first rename a note of what is to be done is on disk; it goes with the last. Whoever opens the
memory next carries on from it (`finish_restore`): every step is told from the disk alone, so it does not
matter where the one before stopped. What was there goes to `backups/restore-<time>/`, and comes back from
there if the exchange cannot be finished.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from memex_core.archive.archive_format import TRUTH
from memex_core.errors import Refused
from memex_core.files.atomic import TEMP_PREFIX, TEMP_SUFFIX, make_dir, remove_file, sync_dir, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.files.operation_log import log_operation
from memex_core.paths import restore_note_path

NOTE = restore_note_path(Path()).name
_STAGING = re.compile(re.escape(TEMP_PREFIX) + r"[a-z0-9-]+" + re.escape(TEMP_SUFFIX) + r"\Z")
_PREVIOUS = re.compile(r"backups/restore-[0-9TZ-]+\Z")


@dataclass(slots=True)
class _Exchange:
    """`arriving` lie in `staging`, `leaving` go to `previous`; both are names in the memory root, and so are
    `staging` and `previous`. `forward` False: it is being undone.
    """

    staging: str
    previous: str
    arriving: list[str]
    leaving: list[str]
    forward: bool = True


def exchange(
    root: Path, staging: Path, arriving: Sequence[str], leaving: Sequence[str], stamp: str
) -> Path | None:
    """Put `arriving` in and take `leaving` out. The caller holds the memory lock.

    Returns where the old parts are, None if there were none. Raises OSError; then nothing has changed, or
    `finish_restore` will see to it.
    """
    previous = _free_name(root, f"backups/restore-{stamp}")
    plan = _Exchange(staging.name, previous, list(arriving), list(leaving))
    try:
        _save(root, plan)
        _forward(root, plan)
        remove_file(root / NOTE)
    except BaseException:
        plan.forward = False
        _save(root, plan)
        _back(root, plan)
        remove_file(root / NOTE)
        _remove_if_empty(root / previous)
        raise
    return root / previous if (root / previous).is_dir() else None


def pending_staging(root: Path) -> str:
    """The name of the staging folder that an interrupted exchange still needs; "" if there is none."""
    try:
        return str(json.loads((root / NOTE).read_bytes())["staging"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def finish_exchange(root: Path) -> str:
    """Finish or undo what was cut off; says what was done, "" if there was nothing. Raises Refused where
    neither works.
    """
    try:
        if not (root / NOTE).exists():
            return ""
        with memory_lock(root):  # where another process is in the middle of it, this waits
            plan = _load(root)
            return "" if plan is None else _settle(root, plan)
    except OSError as error:
        raise Refused(
            f"{root}: a restore was cut off and can be neither finished nor undone: {error}",
            hint="make the memory root writable, with room to spare, and run the command again",
        ) from error


def _settle(root: Path, plan: _Exchange) -> str:
    try:
        _carry_on(root, plan)
    except OSError:
        plan.forward = not plan.forward
        _save(root, plan)
        _carry_on(root, plan)
    remove_file(root / NOTE)
    _remove_if_empty(root / plan.previous)
    shutil.rmtree(root / plan.staging, ignore_errors=True)
    log_operation(root, "restore", "", "finished" if plan.forward else "undone")
    if plan.forward:
        return f"a restore that was cut off is finished; what was there before is in {root / plan.previous}"
    return "a restore that was cut off is undone; the memory is as it was before"


def _carry_on(root: Path, plan: _Exchange) -> None:
    if plan.forward:
        _forward(root, plan)
    else:
        _back(root, plan)


def _forward(root: Path, plan: _Exchange) -> None:
    for name, live, new, old in _places(root, plan):
        arrived = name in plan.arriving and not os.path.lexists(new)
        if arrived and name in plan.leaving and not os.path.lexists(old):
            raise FileNotFoundError(2, "the restored part is gone", str(new))
        if arrived:
            continue
        if os.path.lexists(live) and (name in plan.arriving or not os.path.lexists(old)):
            _move(live, _free(old))
        if name in plan.arriving:
            _move(new, live)


def _back(root: Path, plan: _Exchange) -> None:
    for name, live, new, old in _places(root, plan):
        arrived = name in plan.arriving and not os.path.lexists(new)
        if arrived and os.path.lexists(live) and (name not in plan.leaving or os.path.lexists(old)):
            _move(live, new)
        if os.path.lexists(old):
            if os.path.lexists(live):
                _move(live, _free(old))
            _move(old, live)


def _places(root: Path, plan: _Exchange) -> list[tuple[str, Path, Path, Path]]:
    """(name, where it belongs, where the new one waits, where the old one goes) of every part."""
    names = sorted({*plan.arriving, *plan.leaving})
    return [(n, root / n, root / plan.staging / n, root / plan.previous / n) for n in names]


def _move(source: Path, target: Path) -> None:
    make_dir(target.parent)
    source.rename(target)
    sync_dir(target.parent)
    sync_dir(source.parent)


def _free(path: Path) -> Path:
    """`path`, or a name beside it: whatever was written while the memory was in parts is kept, too."""
    return path.with_name(_free_name(path.parent, path.name))


def _free_name(folder: Path, name: str) -> str:
    number = 1
    candidate = name
    while os.path.lexists(folder / candidate):
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _remove_if_empty(folder: Path) -> None:
    for each in (folder, folder.parent):
        with contextlib.suppress(OSError):
            each.rmdir()


def _save(root: Path, plan: _Exchange) -> None:
    write_atomic(root / NOTE, json.dumps(asdict(plan)).encode())


def _load(root: Path) -> _Exchange | None:
    """The note, if there is one. Raises Refused for one that none of ours wrote."""
    try:
        plan = _Exchange(**json.loads((root / NOTE).read_bytes()))
        names = {*plan.arriving, *plan.leaving}
        if _STAGING.match(plan.staging) and _PREVIOUS.match(plan.previous) and names <= set(TRUTH):
            return plan
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        pass
    raise Refused(f"{root / NOTE} is not a note of a restore", hint="look at backups/, then move it away")
