"""What a person should know after a restore, told while both memories are still there."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memex_core.archive.archive_format import CONFIG, TRUTH_FOLDERS
from memex_core.archive.archive_reader import Contents
from memex_core.text.clean import clean_text

_ACTING = ("llm.provider", "llm.command", "llm.api_base", "data_dir.path", "app.name", "logging.file")
"""Settings that run a program, or send or put something elsewhere."""


def all_of(
    root: Path, staging: Path, contents: Contents, arriving: Sequence[str], leaving: Sequence[str], back: int
) -> list[str]:
    """A line each. `arriving` is still in `staging`, `leaving` still in `root`; `back` things had been
    forgotten.
    """
    warnings = _about_the_archive(contents)
    for name in leaving:
        if name in TRUTH_FOLDERS and (root / name).is_symlink():
            target = os.readlink(root / name)
            warnings.append(f"{name} was a link to {target}, which is as it was; it is a folder now")
    if CONFIG in arriving:
        warnings += _about_the_config(root / CONFIG, staging / CONFIG)
    if back:
        warnings.append(f"{back:,} things that were forgotten after this backup are back")
    return warnings


def _about_the_archive(contents: Contents) -> list[str]:
    warnings = []
    if contents.manifest.files is None:
        warnings.append("the backup has no checksums; what it held could not be verified")
    if not contents.paths:
        warnings.append("the backup is of an empty memory")
    left_out = contents.manifest.left_out
    if left_out:
        path, why = (" ".join(clean_text(part).split())[:200] for part in left_out[0])
        others = ", and others" if len(left_out) > 1 else ""
        warnings.append(f"{len(left_out):,} files are not in the backup: {path} ({why}){others}")
    return warnings


def _about_the_config(current: Path, restored: Path) -> list[str]:
    before, after = _settings(current), _settings(restored)
    warnings = []
    if _setting(before, "llm.api_key") and not _setting(after, "llm.api_key"):
        warnings.append(f"{CONFIG} is the one of the backup; set [llm] api_key again")
    acting = [key for key in _ACTING if _setting(after, key) not in (None, _setting(before, key))]
    if acting:
        warnings.append(f"{CONFIG} is the one of the backup and changes {', '.join(acting)}: check that")
    return warnings


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _setting(settings: dict[str, Any], key: str) -> object:
    section, _, name = key.partition(".")
    table = settings.get(section)
    return table.get(name) if isinstance(table, dict) else None
