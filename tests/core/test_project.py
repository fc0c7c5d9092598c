"""Which project a folder belongs to (DESIGN §3)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from memex_core.files.project import project_of


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(
        [
            "git",
            "-c",
            "user.name=Dev",
            "-c",
            "user.email=dev@example.org",
            "-c",
            "protocol.file.allow=always",
            *arguments,
        ],
        cwd=cwd,
        check=True,
        capture_output=True,
    )


def repository(folder: Path) -> Path:
    folder.mkdir()
    git("init", "-q", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=folder)
    return folder


def test_a_folder_inside_a_repository_belongs_to_the_repository(tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop")
    (repo / "src" / "deep").mkdir(parents=True)
    assert project_of(str(repo / "src" / "deep")) == project_of(str(repo))
    assert project_of(str(repo)).label == "shop"


def test_a_linked_worktree_shares_the_project_of_its_repository(tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop")
    git("worktree", "add", "-q", str(tmp_path / "shop-fix"), cwd=repo)
    assert project_of(str(tmp_path / "shop-fix")) == project_of(str(repo))


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    repo = repository(tmp_path / "shop")
    git("submodule", "add", "-q", str(library), "vendor", cwd=repo)
    assert project_of(str(repo / "vendor")).id != project_of(str(repo)).id


def test_a_clone_is_another_project(tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop")
    git("clone", "-q", str(repo), str(tmp_path / "copy"), cwd=tmp_path)
    assert project_of(str(tmp_path / "copy")).id != project_of(str(repo)).id


def test_a_folder_without_git_is_a_project_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    assert project_of(str(folder)).id == str(folder)
    assert project_of(str(folder)).label == "notes"


def test_a_folder_that_is_gone_still_belongs_to_the_repository_around_it(tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop")
    assert project_of(str(repo / "deleted" / "deeper")) == project_of(str(repo))


def test_no_folder_gives_no_project() -> None:
    assert project_of("").id == ""


def test_a_broken_git_file_does_not_stop_us(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / ".git").write_bytes(b"\xff\xfe nonsense")
    assert project_of(str(folder)).id == str(folder)
