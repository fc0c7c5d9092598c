from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from memex_core.files.walk import is_inside, walk_pages, walk_sidecars


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def pages(root: Path) -> list[str]:
    return sorted(path for path, _ in walk_pages(root))


def test_pages_are_markdown_files_one_folder_deep(root: Path) -> None:
    for name in (
        "entities/a.md",
        "notes/b.md",
        "c.md",
        "entities/deep/d.md",
        "entities/e.txt",
        "entities/F.MD",
    ):
        put(root / "docs" / name)
    assert pages(root) == ["docs/c.md", "docs/entities/a.md", "docs/notes/b.md"]


def test_hidden_and_temp_files_are_no_pages(root: Path) -> None:
    for name in ("entities/.hidden.md", "entities/.memex-12.tmp", ".obsidian/x.md", "entities/a.md"):
        put(root / "docs" / name)
    assert pages(root) == ["docs/entities/a.md"]


def test_a_link_counts_only_if_it_stays_inside(root: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside.md")
    inside = put(root / "docs" / "entities" / "a.md")
    (inside.parent / "alias.md").symlink_to(inside)
    (inside.parent / "escape.md").symlink_to(outside)
    (inside.parent / "dangling.md").symlink_to(tmp_path / "nothing")
    (root / "docs" / "linked").symlink_to(tmp_path, target_is_directory=True)
    assert pages(root) == ["docs/entities/a.md", "docs/entities/alias.md"]


def test_what_is_not_a_regular_file_is_no_page(root: Path) -> None:
    put(root / "docs" / "entities" / "a.md")
    os.mkfifo(root / "docs" / "entities" / "pipe.md")
    (root / "docs" / "entities" / "folder.md").mkdir()
    assert pages(root) == ["docs/entities/a.md"]


def test_a_name_that_is_not_utf8_is_left_out(root: Path) -> None:
    put(root / "docs" / "entities" / "ünï.md")
    with contextlib.suppress(OSError):  # some file systems take no such name
        (root / "docs" / "entities" / os.fsdecode(b"bad\xff.md")).write_text("x", "utf-8")
    assert pages(root) == ["docs/entities/ünï.md"]


def test_an_unreadable_folder_is_an_error_and_not_empty(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root / "docs" / "entities" / "a.md")

    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("memex_core.files.walk.os.scandir", refuse)
    with pytest.raises(PermissionError):
        list(walk_pages(root))


def test_sidecars_are_the_meta_files(root: Path) -> None:
    for name in ("s1.meta.json", "s1.jsonl", ".memex-1.tmp"):
        put(root / "transcripts" / name)
    assert [path for path, _ in walk_sidecars(root)] == ["transcripts/s1.meta.json"]


def test_a_stamp_tells_size_times_and_inode(root: Path) -> None:
    path = put(root / "docs" / "entities" / "a.md", "four")
    ((_, stamp),) = walk_pages(root)
    status = path.stat()
    assert stamp == (4, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def test_inside_means_with_links_followed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "rooted").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "rooted")
    assert is_inside(tmp_path / "root" / "new.md", tmp_path / "root")
    assert not is_inside(tmp_path / "rooted" / "x", tmp_path / "root")
    assert not is_inside(tmp_path / "root" / "link" / "x", tmp_path / "root")
