"""What lies on disk, with the marks that tell a changed file from an unchanged one (DESIGN §4 Index).

Pages are docs/*.md and docs/<folder>/*.md; deeper folders, names that begin with a dot and other suffixes
are not ours. A symbolic link counts as a page only if it leads to a regular file inside the memory root; a
linked folder under docs/ holds none.
RecallFiles are wiki/*.md, days diary/YYYY-MM-DD.md (seed 002).
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from memex_core.paths import diary_dir, docs_dir, is_day_name, transcripts_dir, wiki_dir

PAGE_SUFFIX = ".md"
SIDECAR_SUFFIX = ".meta.json"


Stamp = tuple[int, int, int, int]
"""(size, mtime_ns, ctime_ns, ino): two equal stamps mean the same bytes, unless the file changed within the
clock's tick (`index/file_rows.py`).
"""


_NO_STAMP: Stamp = (0, 0, 0, 0)


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def walk_pages(root: Path) -> Iterator[tuple[str, Stamp]]:
    """(path relative to the memory root, stamp) of every page, in no order.

    A folder that is missing holds nothing; one that cannot be read raises OSError, so that its pages are not
    taken for deleted. Names that are not UTF-8 are left out: neither Markdown links nor SQLite could hold
    them.
    """
    folder = os.fspath(docs_dir(root))
    real_root = os.path.realpath(root)
    folders: list[str] = []
    yield from _files(folder, "docs/", PAGE_SUFFIX, real_root, folders)
    for name in sorted(folders):
        yield from _files(f"{folder}{os.sep}{name}", f"docs/{name}/", PAGE_SUFFIX, real_root, None)


def walk_sidecars(root: Path) -> Iterator[tuple[str, Stamp]]:
    """(path relative to the memory root, stamp) of every transcript's sidecar, in no order."""
    folder = os.fspath(transcripts_dir(root))
    yield from _files(folder, "transcripts/", SIDECAR_SUFFIX, os.path.realpath(root), None)


def walk_blocks(root: Path) -> Iterator[tuple[str, Stamp]]:
    """(path relative to the memory root, stamp) of every RecallFile and day, in no order: also of what only
    has the name of one, a folder or a link that leads outside, so that whoever reads it can say so.

    A folder that is missing costs one look at the disk; one that cannot be read, or leads outside, comes as a
    path of its own and its files do not come.
    """
    for folder in (wiki_dir(root), diary_dir(root)):
        try:
            scan = os.scandir(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            yield folder.name, _NO_STAMP
            continue
        with scan:
            if folder.is_symlink() and not is_inside(folder, root):
                yield folder.name, _NO_STAMP
            else:
                yield from _blocks(scan, f"{folder.name}/", days_only=folder == diary_dir(root))


def _blocks(scan: Iterable[os.DirEntry[str]], prefix: str, *, days_only: bool) -> Iterator[tuple[str, Stamp]]:
    for entry in scan:
        name = entry.name
        stem = name.removesuffix(PAGE_SUFFIX)
        if not stem or stem == name or (days_only and not is_day_name(stem)):
            continue
        if name.isascii() or _is_utf8(name):
            with contextlib.suppress(OSError):  # gone since it was listed, or a link to nowhere
                yield prefix + name, stamp_of(entry.stat())


def is_inside(path: Path, root: Path) -> bool:
    """True where `path`, with every link on the way followed, lies under `root`."""
    real, top = os.path.realpath(path), os.path.realpath(root)
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


def _files(
    folder: str, prefix: str, suffix: str, real_root: str, folders: list[str] | None
) -> Iterator[tuple[str, Stamp]]:
    try:
        scan = os.scandir(folder)
    except FileNotFoundError:
        return
    with scan:
        for entry in scan:
            name = entry.name
            if name[0] == ".":
                continue
            if name.endswith(suffix) and (name.isascii() or _is_utf8(name)):
                try:
                    status = entry.stat() if not entry.is_symlink() else _inside(entry, real_root)
                except OSError:
                    continue  # gone since it was listed, or a link to nowhere
                if stat.S_ISREG(status.st_mode):
                    yield prefix + name, stamp_of(status)
            elif folders is not None and _is_utf8(name) and entry.is_dir(follow_symlinks=False):
                folders.append(name)


def _inside(entry: os.DirEntry[str], real_root: str) -> os.stat_result:
    if not is_inside(Path(entry.path), Path(real_root)):
        raise PermissionError("the link leads outside the memory root")
    return entry.stat()


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
