"""Archives that were made to do harm: a restore refuses each and changes nothing (issue 3, item 6)."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_archives import END, FILES, HOSTILE, TOP, archive, listing, long_name, member, pax, plain, sound

from memex_core.archive.archive_format import Limits
from memex_core.archive.backup import BackupRestore
from memex_core.errors import MemexError, Refused


def tree(folder: Path) -> dict[str, str]:
    """Everything below `folder`, links and modes and times too."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        name = str(path.relative_to(folder))
        found[name] = f"{status.st_mode:o}"
        if path.is_symlink():
            found[name] += os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            found[name] += f" {status.st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found


@pytest.fixture
def backups(tmp_path: Path) -> BackupRestore:
    """Of a memory two folders below `tmp_path`, with a page of its own."""
    root = tmp_path / "house" / "memex"
    page = root / "docs" / "entities" / "mine.md"
    page.parent.mkdir(parents=True)
    page.write_bytes(b"mine\n")
    (root / "journal.jsonl").write_bytes(b"{}\n")
    return BackupRestore(root, root / "mem.db")


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_and_changes_nothing(
    backups: BackupRestore, tmp_path: Path, what: str
) -> None:
    make, why = HOSTILE[what]
    folder = tmp_path / "mail"
    folder.mkdir()
    path = make(folder)
    before = tree(tmp_path)
    with pytest.raises(MemexError) as refused:
        backups.restore(path)
    assert str(path) in str(refused.value)
    assert why in str(refused.value)
    assert refused.value.hint
    assert why in backups.problems(path)[0] and not backups.verify(path)
    with pytest.raises(MemexError):
        backups.restore(path, tmp_path / "elsewhere" / "new")
    assert tree(tmp_path) == before


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(HOSTILE) >= 45


@pytest.mark.parametrize(
    "tar",
    [
        sound(),
        plain(),
        sound([]),
        member(f"{TOP}/", kind=b"5") + plain(),
        plain(more=long_name(f"{TOP}/docs/{'x' * 150}.md") + member("x", b"long\n", magic=b"ustar  \0")),
        plain(more=pax(path=f"{TOP}/docs/{'é' * 100}.md", mtime="1.5") + member("x", b"long\n")),
        plain(more=member("long.md", b"long\n", prefix=f"{TOP}/docs".encode())),
        sound(end=END + bytes(8192)),
        sound(manifest=listing(FILES, version="1.0", file_counts={}, later="unknown")),
    ],
)
def test_the_archives_that_the_flaws_are_made_from_are_taken(
    backups: BackupRestore, tmp_path: Path, tar: bytes
) -> None:
    path = archive(tar)(tmp_path)
    assert backups.problems(path) == []
    assert backups.restore(path).restored


def test_the_number_of_members_is_limited(backups: BackupRestore, tmp_path: Path) -> None:
    path = archive(plain())(tmp_path)
    assert backups.problems(path, Limits(members=7)) == []
    assert "more than 6 members" in backups.problems(path, Limits(members=6))[0]


def test_what_all_files_hold_together_is_limited(backups: BackupRestore, tmp_path: Path) -> None:
    whole = sum(len(data) for _, data in FILES)
    for tar in (sound(), plain()):
        path = archive(tar)(tmp_path)
        assert backups.problems(path, Limits(total_bytes=whole)) == []
        assert "larger than" in backups.problems(path, Limits(total_bytes=whole - 1))[0]


def test_an_archive_that_the_disk_cannot_hold_is_refused_before_it_is_unpacked(
    backups: BackupRestore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=40))
    for tar in (sound(), plain()):
        path = archive(tar)(tmp_path)
        before = tree(tmp_path)
        with pytest.raises(Refused, match="has 40 left"):
            backups.restore(path)
        assert tree(tmp_path) == before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says how much memory it was")
def test_a_hostile_archive_takes_little_memory(tmp_path: Path) -> None:
    paths = []
    for number, what in enumerate(HOSTILE):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append(str(HOSTILE[what][0](folder)))
    script = (
        "import sys\nfrom pathlib import Path\nfrom memex_core.archive.backup import BackupRestore\n"
        "backups = BackupRestore(Path('nowhere'), Path('nowhere/mem.db'))\n"
        "assert all(backups.problems(Path(path)) for path in sys.argv[1:])\n"
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert int(done.stdout) < 60_000  # kB
