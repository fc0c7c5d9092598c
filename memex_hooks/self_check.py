"""The real path tried out in a scratch memory: hook script -> envelope -> worker -> page -> recall (issue 2
items 2 and 10).

Nothing of the user's is read or written: home, harness folders and memory root are temporary.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from memex_core.memex import Memex
from memex_core.model.results import RecallHit
from memex_core.model.session import Turn
from memex_hooks.harnesses import HARNESSES
from memex_hooks.install_uninstall import assets_dir

WORKER_TIMEOUT_S = 30.0
QUERY = "ruff"
EXPECTED = "ruff"


@dataclass(slots=True)
class CheckResult:
    """How the path went for one harness. `page` is the episode's text, `hits` what recall found."""

    harness: str
    ok: bool
    problem: str = ""
    turns: list[Turn] = field(default_factory=list)
    page: str = ""
    page_name: str = ""
    hits: list[RecallHit] = field(default_factory=list)
    seconds: float = 0.0


@contextmanager
def scratch() -> Iterator[Path]:
    """A private folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="memex-check-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sample_log(harness_name: str) -> Path:
    """The bundled session of a harness."""
    return Path(__file__).parent / "samples" / f"{harness_name}.jsonl"


def check_path(harness_name: str, folder: Path) -> CheckResult:
    """Send the bundled session of one harness through the hook script in `folder`, and recall a fact from
    it.
    """
    started = time.monotonic()
    root, log = folder / "memory", folder / "logs" / sample_log(harness_name).name
    log.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(sample_log(harness_name), log)
    found = HARNESSES[harness_name].log_file(log)
    session_id = found.session_id if found else ""
    problem = _run_hook(harness_name, folder, root, log, session_id)
    result = CheckResult(harness_name, ok=not problem, problem=problem)
    if not problem and not _wait_for(root, session_id):
        result.ok, result.problem = False, f"no page appeared within {WORKER_TIMEOUT_S:g} s"
    if result.ok:
        _recall(result, Memex(root), session_id)
    result.seconds = time.monotonic() - started
    return result


def _run_hook(harness_name: str, folder: Path, root: Path, log: Path, session_id: str) -> str:
    payload = {"session_id": session_id, "transcript_path": str(log), "cwd": str(folder), "reason": "other"}
    script = folder / "hook.sh"
    shutil.copyfile(assets_dir() / harness_name / "hook.sh", script)
    (folder / "hook.conf").write_text(f"{root}\n{sys.executable}\n", "utf-8")
    env = {**_clean(os.environ), "HOME": str(folder), "MEMEX_DATA_DIR": str(root)}
    try:
        done = subprocess.run(
            ["sh", str(script), harness_name, "SessionEnd"],
            input=json.dumps(payload).encode(),
            env=env,
            capture_output=True,
            timeout=WORKER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the hook script did not run: {error}"
    if done.returncode or done.stdout or done.stderr:
        return (
            f"the hook script should be silent and exit 0, but: exit {done.returncode}, {done.stderr[:200]!r}"
        )
    return ""


def _clean(env: Mapping[str, str]) -> dict[str, str]:
    dropped = ("MEMEX_CHILD", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
    return {name: value for name, value in env.items() if name not in dropped}


def _wait_for(root: Path, session_id: str) -> bool:
    deadline = time.monotonic() + WORKER_TIMEOUT_S
    while time.monotonic() < deadline:
        if (root / "transcripts" / f"{session_id}.meta.json").exists() and not list(
            (root / "spool").glob("*.json")
        ):
            return True
        time.sleep(0.05)
    return False


def _recall(result: CheckResult, memex: Memex, session_id: str) -> None:
    page = memex.read(session_id)
    if page is None or page.file_path is None:
        result.ok, result.problem = False, "the session's page is missing"
        return
    result.turns = list(memex.transcripts.turns(session_id))
    result.page, result.page_name = (
        page.file_path.read_text("utf-8"),
        str(page.file_path.relative_to(memex.root)),
    )
    result.hits = memex.recall(QUERY).hits
    preferences = [
        hit for hit in result.hits if hit.node_type == "preference" and EXPECTED in hit.title.lower()
    ]
    if not preferences:
        result.ok, result.problem = False, f"recall {QUERY!r} did not find the preference"
