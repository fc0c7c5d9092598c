"""Which project a folder belongs to (DESIGN §3, row project): the git common directory, else the folder.

Worktrees share their repository's common directory; a submodule has one of its own. Read from the files that
git keeps, without running git.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Project:
    """`id` is a path: of the git common directory, else of the folder. `label` is what a person calls it."""

    id: str
    label: str


def project_of(folder: str) -> Project:
    """The project of `folder`, which need not exist any more. An empty `folder` gives an empty project.
    Never raises."""
    if not folder:
        return Project("", "")
    start = Path(folder)
    for place in (start, *start.parents):
        try:
            common = _common_dir(place / ".git")
        except OSError:
            common = None
        if common is not None:
            owner = common.parent if common.name == ".git" else common
            return Project(str(common), owner.name.removesuffix(".git") or str(owner))
    return Project(str(start), start.name or str(start))


def _common_dir(dot_git: Path) -> Path | None:
    if dot_git.is_dir():
        return dot_git.resolve() if (dot_git / "HEAD").exists() else None
    if not dot_git.is_file():
        return None
    text = dot_git.read_text("utf-8", "replace").strip()
    if not text.startswith("gitdir:"):
        return None
    git_dir = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    try:
        common = (git_dir / "commondir").read_text("utf-8", "replace").strip()
    except OSError:
        return git_dir
    return (git_dir / common).resolve()
