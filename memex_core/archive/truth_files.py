"""What of a memory root belongs in a backup (DESIGN §1): every file that is truth, and a reason for each that
is left out.

The four folders are taken wholly, hidden files and files of other programs too: they are the person's. A link
is followed to a regular file inside one of the folders, and where it stands for a whole one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from memex_core.archive.archive_format import CONFIG, INDEX, TRUTH_FILES, TRUTH_FOLDERS, Names, path_problem
from memex_core.files.atomic import is_temp_name
from memex_core.files.walk import Stamp, is_inside, stamp_of


@dataclass(frozen=True, slots=True)
class Found:
    """A file to back up: where its bytes are, and how it looked."""

    source: str
    stamp: Stamp


@dataclass(slots=True)
class Truth:
    """By path relative to the memory root. `left_out`: path -> why."""

    files: dict[str, Found] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def find_truth(root: Path, index_path: Path) -> Truth:
    """Everything under `root` that is truth, as it is now. Raises OSError where a whole folder cannot be
    read.
    """
    scan = _Scan(root, index_path)
    for name in TRUTH_FOLDERS:
        scan.top_folder(name)
    for name in TRUTH_FILES:
        scan.top_file(name)
    return scan.without_namesakes()


def folders_of(root: Path) -> list[Path]:
    """Where the truth folders of `root` really are; a link to a folder that holds `root` is none of them."""
    folders = [Path(os.path.realpath(root / name)) for name in TRUTH_FOLDERS]
    return [folder for folder in folders if not is_inside(root, folder)]


class _Scan:
    def __init__(self, root: Path, index_path: Path) -> None:
        self._root = root
        self._folders = folders_of(root)
        index = (Path(f"{index_path}{suffix}") for suffix in ("", "-journal", "-wal", "-shm"))
        self._private = _inodes([root / CONFIG, *index])
        self._truth = Truth()

    def top_folder(self, name: str) -> None:
        folder = self._root / name
        if is_inside(self._root, folder):
            self._leave_out(name, "it is a link to a folder that holds the whole memory")
        elif folder.is_dir():
            self._folder(os.fspath(folder), f"{name}/")
        elif os.path.lexists(folder):
            self._leave_out(name, "it is not a folder")

    def top_file(self, name: str) -> None:
        path = self._root / name
        if not os.path.lexists(path):
            return
        source = os.path.realpath(path)
        if path.is_symlink() and name != CONFIG and not self._is_truth(source):
            self._leave_out(name, "it is a link that leads out of the memory")
            return
        self._file(name, source)

    def without_namesakes(self) -> Truth:
        """All that was found but what some file system could not keep apart from another."""
        names = Names()
        for path in sorted(self._truth.files):
            refusal = names.refusal_of(path)
            if refusal:
                self._leave_out(path, refusal)
                del self._truth.files[path]
        return self._truth

    def _folder(self, folder: str, prefix: str) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not is_temp_name(entry.name):
                    self._entry(entry, prefix + entry.name)

    def _entry(self, entry: os.DirEntry[str], path: str) -> None:
        problem = path_problem(path)
        if problem:
            self._leave_out(path, problem)
        elif entry.is_dir(follow_symlinks=False):
            try:
                self._folder(entry.path, f"{path}/")
            except OSError as error:
                self._leave_out(path, error.strerror or str(error))
        elif not entry.is_symlink():
            self._file(path, entry.path)
        elif not self._is_truth(target := os.path.realpath(entry.path)):
            self._leave_out(path, "it is a link that leads out of the memory")
        elif os.path.exists(target):
            self._file(path, target)
        else:
            self._leave_out(path, "it is a link to nowhere")

    def _file(self, path: str, source: str) -> None:
        try:
            status = os.lstat(source)
        except FileNotFoundError:
            return  # gone since it was listed
        except OSError as error:
            self._leave_out(path, error.strerror or str(error))
            return
        if not stat.S_ISREG(status.st_mode):
            self._leave_out(path, "it is not a regular file")
        elif path not in (CONFIG, INDEX) and (status.st_dev, status.st_ino) in self._private:
            self._leave_out(path, "it is another name of a file that is not part of the truth")
        else:
            self._truth.files[path] = Found(source, stamp_of(status))

    def _is_truth(self, target: str) -> bool:
        return any(is_inside(Path(target), folder) for folder in self._folders)

    def _leave_out(self, path: str, why: str) -> None:
        self._truth.left_out[os.fsencode(path).decode("utf-8", "backslashreplace")] = why


def _inodes(paths: Iterable[Path]) -> set[tuple[int, int]]:
    found = set()
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        found.add((status.st_dev, status.st_ino))
    return found
