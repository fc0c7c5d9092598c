"""The real programs at pinned versions (package.json beside this file), installed once by npm and used again.

They go to `.real-clients/` in the repository, or to the folder that MEMEX_REAL_CLIENTS names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).with_name("package.json")
REPOSITORY = Path(__file__).resolve().parents[2]
INSTALL_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the programs are, and which versions they are."""

    bin: Path
    claude_version: str
    codex_version: str

    @property
    def path(self) -> str:
        """The PATH for them: where node is, then the system's."""
        node = shutil.which("node")
        folders = [str(Path(node).parent)] if node else []
        return ":".join(dict.fromkeys([*folders, "/usr/bin", "/bin"]))

    @property
    def claude(self) -> str:
        return str(self.bin / "claude")

    @property
    def codex(self) -> str:
        return str(self.bin / "codex")

    @property
    def ccusage(self) -> str:
        return str(self.bin / "ccusage")


def cache_folder() -> Path:
    return Path(os.environ.get("MEMEX_REAL_CLIENTS") or REPOSITORY / ".real-clients").absolute()


def installed_programs() -> Programs:
    """The programs, installed now if missing or of another version. Raises RuntimeError with what to do."""
    folder, pins = cache_folder(), json.loads(PINS.read_text("utf-8"))["dependencies"]
    if not all(_version(folder, name) == version for name, version in pins.items()):
        _install(folder)
    wrong = {
        name: _version(folder, name) for name, version in pins.items() if _version(folder, name) != version
    }
    if wrong:
        raise RuntimeError(f"npm installed other versions than {PINS.name} names: {wrong}")
    return Programs(
        folder / "node_modules" / ".bin", pins["@anthropic-ai/claude-code"], pins["@openai/codex"]
    )


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError(
            "the real-client tests need npm to install Claude Code and Codex: install Node.js 20 or newer, "
            "then run `make test-real` again (`make test` does without)"
        )
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PINS, folder / "package.json")
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(folder)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"npm could not install {PINS.name} into {folder}:\n{done.stderr[-2000:]}")


def _version(folder: Path, package: str) -> str:
    try:
        text = (folder / "node_modules" / package / "package.json").read_text("utf-8")
    except FileNotFoundError:
        return ""
    return str(json.loads(text)["version"])
