"""`memex-hooks capture` and `drain`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from memex_core import paths
from memex_core.cli.output import memory_root, open_memex, print_json, with_json
from memex_core.errors import NotFound
from memex_hooks import spool
from memex_hooks.capture import Captured, capture_log, find_logs, sweep
from memex_hooks.capture import drain as drain_spool
from memex_hooks.cli.options import chosen_or_present, environment, harness_option
from memex_hooks.first_run import summary
from memex_hooks.harness import LogFile
from memex_hooks.harnesses import HARNESSES


@click.command()
@harness_option
@click.option(
    "--all", "every", is_flag=True, help="Every session on disk that is not in memory as it is there."
)
@click.option("--session", default=None, metavar="ID", help="One session, by its id.")
@click.option(
    "--path", "path", default=None, type=click.Path(path_type=Path), metavar="FILE", help="One session log."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be captured.")
@with_json
def capture(
    harnesses: tuple[str, ...],
    every: bool,
    session: str | None,
    path: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Bring session logs into memory now. Doing it twice changes nothing."""
    if sum((every, session is not None, path is not None)) != 1:
        raise click.UsageError("say what to capture: --all, --session ID or --path FILE")
    env = environment()
    names = chosen_or_present(harnesses, env)
    if every:
        results = _all(names, env, dry_run, as_json)
    elif session is not None:
        results = _session(names, env, session, dry_run)
    else:
        results = _path(list(harnesses) or list(HARNESSES), Path(str(path)), dry_run)
    _print(results, as_json, dry_run)
    if any(result.outcome == "failed" for result in results):
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--retry", is_flag=True, help="Also try again what failed before.")
@with_json
def drain(retry: bool, as_json: bool) -> None:
    """Work off what the hooks noted. The hooks start this by themselves."""
    root = memory_root()
    if retry:
        spool.retry_failed(root)
    results = drain_spool(root, environment())
    _print(results, as_json, dry_run=False)
    if any(result.outcome == "failed" for result in results):
        raise click.exceptions.Exit(1)


def _all(names: list[str], env: dict[str, str], dry_run: bool, as_json: bool) -> list[Captured]:
    results: list[Captured] = []
    memex = open_memex()
    for name in names:
        count = len(find_logs(HARNESSES[name], env))
        with click.progressbar(length=count, label=HARNESSES[name].TITLE, file=sys.stderr) as bar:
            results += sweep(memex, HARNESSES[name], env, dry_run=dry_run, on_each=lambda _: bar.update(1))
    return results


def _session(names: list[str], env: dict[str, str], session: str, dry_run: bool) -> list[Captured]:
    paths.safe_id(session)
    for name in names:
        for log in HARNESSES[name].find_logs(env):
            if log.session_id == session:
                return [capture_log(open_memex(), HARNESSES[name], log, dry_run=dry_run)]
    raise NotFound("session log", session, hint="memex-hooks capture --all --dry-run lists the logs on disk")


def _path(names: list[str], path: Path, dry_run: bool) -> list[Captured]:
    """The harness whose reader finds a conversation in the file; where none does, what the first one says."""
    if not path.is_file():
        raise NotFound("session log", str(path))
    outcomes: list[Captured] = []
    for name in names:
        log: LogFile | None = HARNESSES[name].log_file(path.resolve())
        if log is not None:
            outcomes.append(capture_log(open_memex(), HARNESSES[name], log, dry_run=dry_run))
            if outcomes[-1].outcome != "empty":
                return outcomes[-1:]
    return outcomes[:1]


def _print(results: list[Captured], as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json(results)
        return
    for result in results:
        if result.outcome not in ("current", "empty", "gone"):
            detail = f": {result.error}" if result.error else f", {result.turns} turns"
            click.echo(f"{result.outcome}: {result.session_id or result.path} ({result.harness}{detail})")
    click.echo("nothing was changed" if dry_run else summary(results))
