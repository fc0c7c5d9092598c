"""What `install.sh` hands over to: wire the harnesses, capture what is on disk, prove that it works; or the
demonstration.

Reports through `say`, so that the steps can be watched.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from memex_core import paths
from memex_core.memex import Memex
from memex_hooks.capture import Captured, capture_log, find_logs
from memex_hooks.harness import Harness
from memex_hooks.harnesses import HARNESSES
from memex_hooks.install_uninstall import Installed, install
from memex_hooks.self_check import QUERY, CheckResult, check_path, scratch

Say = Callable[[str], None]

_WORDS = {
    ("hooks", False): ("hooks are in", "hooks were there already", "not wired"),
    ("hooks", True): ("hooks removed from", "no hooks of ours", "hooks not removed"),
    ("mcp", False): (
        "MCP server registered in",
        "MCP server was registered already",
        "MCP server not registered",
    ),
    ("mcp", True): ("MCP server removed from", "no MCP server of ours", "MCP server not removed"),
}
"""What happened to a part, removed or not: done, nothing to do, failed."""


class Progress(Protocol):
    """Makes a progress bar over a list, for a `with` statement."""

    def __call__(self, items: list[object], label: str) -> AbstractContextManager[Iterable[object]]: ...


def set_up(env: Mapping[str, str], say: Say, progress: Progress, *, wire: bool = True) -> bool:
    """Wire every harness found, capture the sessions on disk, end with a self-check. True when all went well.

    What went wrong is said where it happens and once more at the end. `wire` False leaves the settings alone.
    """
    present = [name for name, harness in HARNESSES.items() if harness.is_present(env)]
    problems = _wire(present, env, say) if wire else []
    root = paths.data_dir(env)
    for name in present:
        problems += _capture_all(Memex(root), HARNESSES[name], env, say, progress)
    problems += _check(say)
    _say_next(present if wire else [], root, say)
    _say_path(env, say)
    for problem in problems:
        say(f"NOT DONE: {problem}")
    return not problems


def demonstrate(say: Say) -> bool:
    """Show a session going in, the page that came out, and the recall, in a scratch memory; no setting is
    touched.
    """
    with scratch() as folder:
        result = check_path(next(iter(HARNESSES)), folder)
    if not result.ok:
        say(f"The demonstration failed: {result.problem}")
        return False
    _show_session(result, say)
    _show_page(result, say)
    _show_recall(result, say)
    say("")
    say("All of this ran in a temporary folder that is gone now; no setting was touched.")
    say("To set it up for real: ./install.sh")
    return True


def _wire(present: list[str], env: Mapping[str, str], say: Say) -> list[str]:
    if not present:
        say("Neither Claude Code nor Codex was found; run `memex-hooks install` once one of them is there.")
        return []
    problems = []
    for report in install(present, env):
        say(f"{HARNESSES[report.harness].TITLE}: {describe(report)}")
        for note in report.notes:
            say(f"  {note}")
        if report.problem:
            problems.append(f"{HARNESSES[report.harness].TITLE}: {describe(report)}")
    return problems


def describe(report: Installed, *, removed: bool = False) -> str:
    """One line on what was done to a harness's settings."""
    done, nothing, failed = _WORDS[report.part, removed]
    if report.problem:
        return f"{failed}: {report.problem}" + (f" ({report.hint})" if report.hint else "")
    return f"{done} {', '.join(map(str, report.changed))}" if report.changed else nothing


def _capture_all(
    memex: Memex, harness: Harness, env: Mapping[str, str], say: Say, progress: Progress
) -> list[str]:
    logs: list[object] = list(find_logs(harness, env))
    if not logs:
        say(f"{harness.TITLE}: no sessions on disk yet")
        return []
    results: list[Captured] = []
    with progress(logs, f"{harness.TITLE} sessions") as bar:
        for log in bar:
            try:
                results.append(capture_log(memex, harness, log))  # type: ignore[arg-type]
            except Exception as error:
                # The next session may still be read; this one is reported below.
                results.append(Captured(harness.NAME, str(log.path), "", "failed", error=str(error)))  # type: ignore[attr-defined]
    say(f"{harness.TITLE}: {summary(results)}")
    failed = [result for result in results if result.outcome == "failed"]
    return [f"{result.path} was not captured: {result.error}" for result in failed[:5]]


def summary(results: list[Captured]) -> str:
    """One line that counts what became of the logs."""
    kinds = {
        "current": "already there",
        "empty": "without a conversation",
        "failed": "failed",
        "gone": "gone",
        "forgotten": "forgotten on purpose",
    }
    counts = {words: sum(1 for r in results if r.outcome == kind) for kind, words in kinds.items()}
    done = len(results) - sum(counts.values())
    nodes = sum(result.nodes for result in results)
    parts = [f"{done} captured" + (f" ({nodes} preferences, rules and facts in them)" if nodes else "")]
    return ", ".join(parts + [f"{count} {words}" for words, count in counts.items() if count])


def _check(say: Say) -> list[str]:
    say("Self-check: a sample session through hook, worker and recall, in a scratch memory")
    problems = []
    for name, harness in HARNESSES.items():
        with scratch() as folder:
            result = check_path(name, folder)
        if result.ok:
            say(f"  {harness.TITLE}: recalled {result.hits[0].title!r} after {result.seconds:.1f} s")
        else:
            say(f"  {harness.TITLE}: {result.problem}")
            problems.append(f"self-check of {harness.TITLE}: {result.problem}; memex-hooks doctor says more")
    return problems


def _say_path(env: Mapping[str, str], say: Say) -> None:
    """The two ways in which `memex` would not start, or would start something else."""
    folder = Path(env.get("HOME", "~")) / ".local" / "bin"
    if str(folder) not in env.get("PATH", "").split(":"):
        say(f'Your PATH lacks {folder}. Add  export PATH="$HOME/.local/bin:$PATH"  to your shell profile,')
        say("then open a new shell.")
    ours, found = Path(sys.prefix) / "bin" / "memex", shutil.which("memex", path=env.get("PATH", ""))
    if found and ours.exists() and Path(found).resolve() != ours.resolve():
        say(f"`memex` on your PATH is another program, {found}; ours is {ours}.")


def _say_next(present: list[str], root: Path, say: Say) -> None:
    say("")
    say(f"Memory: {root}")
    say("Next: work as usual; then  memex recall <words>,  memex sessions,  memex-hooks doctor")
    for name in present:
        for line in HARNESSES[name].after_install():
            say(line)
    if present:
        say("To let the model itself search and write the memory: memex-hooks install --mcp")
    say("To undo: memex-hooks uninstall   (your memory stays)")


def _show_session(result: CheckResult, say: Say) -> None:
    say("A session goes in:")
    for turn in result.turns:
        words = turn.content if turn.role != "tool" else f"{turn.tool_name}: {turn.query}"
        say(f"  {turn.turn}. {turn.role:<5} {' '.join(words.split())[:100]}")


def _show_page(result: CheckResult, say: Say) -> None:
    say("")
    say(f"The page that came out ({result.page_name}):")
    for line in result.page.splitlines():
        say(f"  | {line}")


def _show_recall(result: CheckResult, say: Say) -> None:
    say("")
    say(f"memex recall {QUERY}:")
    for hit in result.hits:
        say(f"  {hit.rank}. {hit.title}  ({hit.node_type}; from {', '.join(hit.sources) or hit.slug})")
