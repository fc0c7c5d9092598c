"""What is wrong, if anything, and the one command that mends it (issue 2 item 10)."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memex_core import paths
from memex_core.archive.restore import finish_restore
from memex_core.config import MemexConfig, config_problems, load_config
from memex_core.errors import MemexError
from memex_core.llm import tokens_today
from memex_core.memex import Memex
from memex_core.store.kept_answers import KeptAnswers
from memex_hooks import spool
from memex_hooks.capture import behind
from memex_hooks.harness import Finding, Harness
from memex_hooks.harnesses import HARNESSES
from memex_hooks.install_uninstall import check_launcher, installed_python
from memex_hooks.self_check import check_path, scratch

PENDING_LIMIT_S = 600.0
"""An envelope older than this has been missed by every worker since."""

TOKEN_WARNING = 0.8
"""Of the daily limit: whoever has used more learns of it before a consolidation ends early."""

IN_PROGRESS_S = 120.0
"""A log that changed this recently belongs to a turn under way: its hook has yet to fire."""


@dataclass(slots=True)
class Named:
    """A finding and what it is about: a harness, or "memory"."""

    about: str
    finding: Finding


def examine(root: Path, env: Mapping[str, str], harness_names: list[str], now: float) -> Iterator[Named]:
    """Every finding, in the order in which a person would mend them. Opens and heals the memory; changes
    nothing else. Ends with a restore that can be neither finished nor undone: there is no whole memory then.
    """
    restored = _restore_finding(root)
    if restored:
        yield Named("memory", restored)
        if restored.level == "fail":
            return
    for finding in _memory_findings(root, env, now):
        yield Named("memory", finding)
    for name in harness_names:
        harness = HARNESSES[name]
        if not harness.is_present(env):
            yield Named(name, Finding("ok", f"{harness.TITLE} is not used on this machine"))
            continue
        for finding in _harness_findings(root, harness, env, now):
            yield Named(name, finding)


def _restore_finding(root: Path) -> Finding | None:
    """What became of a restore that was cut off, None where there was none."""
    try:
        done = finish_restore(root)
    except MemexError as error:
        return Finding("fail", f"{error}; {error.hint}", "memex info")
    return Finding("ok", done) if done else None


def _memory_findings(root: Path, env: Mapping[str, str], now: float) -> Iterator[Finding]:
    yield from _config_findings(root)
    yield from _permission_findings(root)
    yield from _spool_findings(root, now)
    yield from _consolidation_findings(root)
    yield from check_launcher(env)
    yield from _worker_findings(env)
    yield from _index_findings(root)


def _config_findings(root: Path) -> Iterator[Finding]:
    for problem in config_problems(root):
        yield Finding("fail", problem, f"${{EDITOR:-vi}} {paths.config_path(root)}")


def _permission_findings(root: Path) -> Iterator[Finding]:
    if not root.exists():
        yield Finding("ok", f"the memory at {root} will be made by the first capture")
        return
    if not os.access(root, os.W_OK | os.X_OK):
        yield Finding("fail", f"{root} cannot be written to", f"chmod u+rwx {root}")
    if stat.S_IMODE(root.stat().st_mode) & 0o077:
        yield Finding("warn", f"others can reach {root}", f"chmod -R go-rwx {root}")
    else:
        yield Finding("ok", f"{root} is private")


def _spool_findings(root: Path, now: float) -> Iterator[Finding]:
    failed = spool.failed(root)
    if failed:
        yield Finding(
            "fail",
            f"{len(failed)} events could not be captured; see {paths.logs_dir(root) / 'memex.log'}",
            "memex-hooks drain --retry",
        )
    waiting = [path for path in spool.pending(root) if now - path.stat().st_mtime > PENDING_LIMIT_S]
    if waiting:
        yield Finding(
            "warn", f"{len(waiting)} events have waited for more than 10 minutes", "memex-hooks drain"
        )
    if not failed and not waiting:
        yield Finding("ok", f"no event is stuck ({len(spool.pending(root))} waiting)")


def _consolidation_findings(root: Path) -> Iterator[Finding]:
    kept = list(KeptAnswers(root).folder.glob("*.json"))
    if kept:
        what = f"answers of a model that could not be read yet: {len(kept)}, in {kept[0].parent}"
        yield Finding("warn", what, "memex consolidate")
    limit = _config(root).llm.daily_token_limit
    used = tokens_today(root) if limit else 0
    if used > TOKEN_WARNING * limit:
        what = f"{used:,} of the {limit:,} tokens of today are used; [llm] daily_token_limit stops the rest"
        yield Finding("warn", what, f"${{EDITOR:-vi}} {paths.config_path(root)}")


def _worker_findings(env: Mapping[str, str]) -> Iterator[Finding]:
    """The Python that the hooks start must have this package: an upgrade of Python can take it away."""
    python = installed_python(env)
    if python is None:
        return
    try:
        done = subprocess.run(
            [python, "-I", "-c", "import memex_hooks.worker"], capture_output=True, timeout=30, check=False
        )
        problem = (
            done.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1] if done.returncode else ""
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        yield Finding(
            "fail", f"the hooks' Python {python} cannot run the worker: {problem}", "memex-hooks install"
        )
    else:
        yield Finding("ok", f"the hooks' worker runs ({python})")


def _index_findings(root: Path) -> Iterator[Finding]:
    if not root.exists():
        return
    memex = Memex(root, _config(root))
    for session_id in memex.transcripts.damaged():
        what = f"transcripts/{session_id}.jsonl is missing or not as it was written"
        yield Finding("fail", what, f"memex-hooks capture --session {session_id}")
    problems = memex.index_problems()
    for problem in problems:
        yield Finding("fail", f"index: {problem}", "memex rebuild-index --force")
    bad_pages = memex.page_warnings()
    for warning in bad_pages[:5]:
        yield Finding("warn", f"page: {warning}", "memex list --warnings")
    if not problems:
        yield Finding("ok", f"the index is sound ({_counted(memex.index.count_by_type())})")
    broken = memex.broken_links()
    if broken:
        yield Finding("ok", f"links that lead nowhere: {len(broken)}; memex links --broken shows them")
    by_meaning, fix = memex.vectors_problem()
    if by_meaning:
        yield Finding("warn", f"recall by meaning: {by_meaning}", fix)


def _counted(by_type: Mapping[str, int]) -> str:
    """`1 page, 2 items, 0 events`."""
    pages = sum(by_type.get(kind, 0) for kind in paths.NODE_TYPES)
    counts = {"page": pages, "item": by_type.get("item", 0), "event": by_type.get("event", 0)}
    return ", ".join(f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())


def _config(root: Path) -> MemexConfig:
    """Findings must not depend on a configuration that cannot be read."""
    return MemexConfig() if config_problems(root) else load_config(root)


def _harness_findings(root: Path, harness: Harness, env: Mapping[str, str], now: float) -> Iterator[Finding]:
    yield from harness.check_hooks(env)
    yield from harness.check_mcp(env)
    yield from _capture_findings(root, harness, env, now)
    with scratch() as folder:
        result = check_path(harness.NAME, folder)
    if result.ok:
        yield Finding("ok", f"a sample session went from hook to recall in {result.seconds:.1f} s")
    else:
        yield Finding("fail", f"a sample session did not arrive: {result.problem}", "memex-hooks install")


def _capture_findings(root: Path, harness: Harness, env: Mapping[str, str], now: float) -> Iterator[Finding]:
    missing, total = behind(Memex(root, _config(root)), harness, env)
    live = [log for log in missing if now - log.mtime_ns / 1e9 < IN_PROGRESS_S]
    if len(missing) > len(live):
        command = f"memex-hooks capture --all --harness {harness.NAME}"
        yield Finding(
            "fail",
            f"{len(missing) - len(live)} of {total} session logs are not in memory as they are on disk",
            command,
        )
    else:
        going = f" ({len(live)} in progress)" if live else ""
        yield Finding("ok", f"all {total} session logs on disk are in memory{going}")
