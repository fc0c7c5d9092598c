from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memex_core.files import atomic
from memex_core.files.atomic import append_line, make_dir, remove_stale_temps, write_atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_files_are_0600_and_folders_0700_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_atomic(tmp_path / "r" / "a" / "page.md", b"x")
        append_line(tmp_path / "r" / "journal.jsonl", b"{}")
    finally:
        os.umask(before)
    assert mode(tmp_path / "r") == mode(tmp_path / "r" / "a") == 0o700
    assert mode(tmp_path / "r" / "a" / "page.md") == mode(tmp_path / "r" / "journal.jsonl") == 0o600


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    make_dir(tmp_path / "open")
    assert mode(tmp_path / "open") == 0o755


def test_a_file_where_a_folder_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        make_dir(tmp_path / "file" / "below")


def test_a_write_replaces_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_atomic(page, b"old" * 1000)
    write_atomic(page, b"new")
    assert page.read_bytes() == b"new"
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def test_a_link_is_replaced_and_its_target_untouched(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"precious")
    link = tmp_path / "page.md"
    link.symlink_to(outside)
    write_atomic(link, b"new")
    assert outside.read_bytes() == b"precious"
    assert not link.is_symlink() and link.read_bytes() == b"new"


@pytest.mark.parametrize("broken", ["fsync", "write", "replace"])
def test_any_error_leaves_the_old_page_and_no_temp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    page = tmp_path / "page.md"
    write_atomic(page, b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    target: object = Path if broken == "replace" else atomic.os
    monkeypatch.setattr(target, broken, fail)
    with pytest.raises(OSError, match="No space"):
        write_atomic(page, b"new")
    monkeypatch.undo()
    assert page.read_bytes() == b"old"
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(atomic.os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    write_atomic(tmp_path / "page.md", b"0123456789" * 10)
    monkeypatch.undo()
    assert (tmp_path / "page.md").read_bytes() == b"0123456789" * 10


def test_a_full_disk_leaves_the_old_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_atomic(page, b"old")
    script = (
        "import resource, signal, sys, pathlib\n"
        "from memex_core.files.atomic import write_atomic\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    write_atomic(pathlib.Path(sys.argv[1]), b'n' * 100_000)\n"
        "except OSError as error:\n    print(error.errno)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(page)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == errno.EFBIG
    assert page.read_bytes() == b"old"
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


def test_appended_lines_end_in_a_newline_each(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    append_line(journal, b"1")
    append_line(journal, b"2", durable=False)
    assert journal.read_bytes() == b"1\n2\n"


def test_a_torn_last_line_stays_a_line_of_its_own(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b'{"a": 1}\n{"to')
    append_line(journal, b"next")
    assert journal.read_bytes() == b'{"a": 1}\n{"to\nnext\n'


def test_a_line_with_a_newline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="newline"):
        append_line(tmp_path / "journal.jsonl", b"a\nb")


def test_lines_do_not_go_through_a_link_or_into_a_pipe(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"")
    (tmp_path / "link").symlink_to(outside)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError):
            append_line(tmp_path / name, b"x")
    assert outside.read_bytes() == b""


def test_lines_of_many_processes_never_interleave(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    script = (
        "import sys, pathlib\nfrom memex_core.files.atomic import append_line\n"
        "path, line = pathlib.Path(sys.argv[1]), sys.argv[2].encode() * 20_000\n"
        "for i in range(50): append_line(path, line, durable=False)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, str(journal), letter]) for letter in "abcd"]
    assert [writer.wait() for writer in writers] == [0] * 4
    lines = [line for line in journal.read_bytes().split(b"\n") if line]
    assert len(lines) == 200
    assert all(len(set(line)) == 1 and len(line) == 20_000 for line in lines)


def test_only_old_temp_files_are_swept(tmp_path: Path) -> None:
    old, young, page = tmp_path / ".memex-aa.tmp", tmp_path / ".memex-bb.tmp", tmp_path / "page.md"
    for path in (old, young, page):
        path.write_bytes(b"")
    long_ago = time.time() - 7200
    os.utime(old, (long_ago, long_ago))
    os.utime(page, (long_ago, long_ago))
    assert remove_stale_temps(tmp_path) == 1
    assert not old.exists() and young.exists() and page.exists()


def test_a_new_file_has_its_name_on_the_disk_in_folders_that_have_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, synced = os.fsync, set()

    def note(fd: int) -> None:
        fsync(fd)
        synced.add(os.fstat(fd).st_ino)

    monkeypatch.setattr(os, "fsync", note)
    append_line(tmp_path / "a" / "b" / "journal.jsonl", b"{}")
    assert {path.stat().st_ino for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")} <= synced
