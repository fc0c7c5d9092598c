"""`memex sessions`: list, delete, prune."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from memex_core import paths
from memex_core.cli.arguments import chosen_project, completions
from memex_core.cli.input import confirm
from memex_core.cli.output import (
    counted,
    examples,
    memory_root,
    open_memex,
    open_to_read,
    print_json,
    print_table,
    shown,
    with_json,
)
from memex_core.errors import MemexError, NotFound
from memex_core.store.diary import Diary

if TYPE_CHECKING:
    from memex_core.model.results import SessionSummary
    from memex_core.open_memory import OpenMemory

project_option = click.option(
    "--project",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Only sessions of the project that this folder belongs to.",
)
every_option = click.option(
    "--all", "every", is_flag=True, help="Also subagents and the harness's internal sessions."
)


def complete_session(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The ids of captured sessions that begin as typed."""
    try:
        names = sorted(path.name for path in paths.transcripts_dir(memory_root(context)).glob("*.meta.json"))
    except (OSError, MemexError):
        return []
    ids = (name.removesuffix(".meta.json") for name in names if name[0] != ".")
    return completions(ids, incomplete)


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "memex sessions --project .",
        "memex sessions delete 0f6d2c52",
        "memex sessions prune --older-than 90 --dry-run",
    ),
)
@project_option
@every_option
@with_json
@click.pass_context
def sessions(context: click.Context, project: Path | None, every: bool, as_json: bool) -> None:
    """List captured sessions, newest first; delete or prune them."""
    if context.invoked_subcommand is None:
        _print_sessions(project, every, as_json)


@sessions.command("list", epilog=examples("memex sessions list --all"))
@project_option
@every_option
@with_json
def list_sessions(project: Path | None, every: bool, as_json: bool) -> None:
    """List captured sessions, newest first."""
    _print_sessions(project, every, as_json)


@sessions.command(epilog=examples("memex sessions delete 0f6d2c52"))
@click.argument("session_id", shell_complete=complete_session)
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
def delete(session_id: str, yes: bool, as_json: bool) -> None:
    """Delete a session for good.

    Its transcript, its page, its events in the diary and its part in extracted pages; it is never captured
    again. Events that you changed stay.
    """
    memex = open_memex()
    found = memex.find_session(session_id)
    if found is None:
        raise NotFound("session", session_id, hint="memex sessions lists them")
    name = f"{found.session_id} ({shown(found.title) or 'untitled'})"
    events = _events_by_session(memex)
    parts = ["its page", "what you wrote into that page", *_counted_events([found], events)]
    confirm(f"Delete {name}, {', '.join(parts[:-1])} and {parts[-1]}?", yes)
    kept = memex.delete_sessions([found.session_id])
    _print_deleted([found], as_json, events - _events_by_session(memex), kept=kept)


@sessions.command(
    epilog=examples(
        "memex sessions prune --older-than 90 --dry-run", "memex sessions prune --older-than 90d --yes"
    )
)
@click.option(
    "--older-than",
    required=True,
    metavar="DAYS",
    help="Sessions that ended more than this many days ago: 90 or 90d.",
)
@click.option("--dry-run", is_flag=True, help="Only say which.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
def prune(older_than: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete old sessions as `delete` does."""
    digits = older_than.removesuffix("d")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 7):
        raise click.BadParameter(
            f"{older_than!r} is not a number of days such as 90 or 90d", param_hint="--older-than"
        )
    limit = (datetime.now(UTC) - timedelta(days=min(int(digits), 36_500))).strftime("%Y-%m-%dT%H:%M:%SZ")
    memex = open_memex()
    old = [
        summary
        for summary in memex.list_sessions()
        if (summary.ended_at or summary.started_at or "9") < limit
    ]
    events = _events_by_session(memex)
    if old and not dry_run:
        what = f"{counted(len(old), 'session')} that ended before {limit[:10]}"
        confirm(f"Delete {' and '.join([what, *_counted_events(old, events)])}?", yes)
    kept = [] if dry_run else memex.delete_sessions([summary.session_id for summary in old])
    gone = events if dry_run else events - _events_by_session(memex)
    _print_deleted(old, as_json, gone, dry_run=dry_run, kept=kept)


def _events_by_session(memory: OpenMemory) -> Counter[str]:
    """How many events of the diary are in the name of a session."""
    return Counter(event.source_conv or "" for event in Diary(memory.root, memory.journal).events())


def _counted_events(summaries: Sequence[SessionSummary], events: Counter[str]) -> list[str]:
    """`["2 events of the diary"]` of these sessions, [] where there are none."""
    count = sum(events[summary.session_id] for summary in summaries)
    return [f"{counted(count, 'event')} of the diary"] if count else []


def _print_deleted(
    summaries: list[SessionSummary],
    as_json: bool,
    events: Counter[str],
    *,
    dry_run: bool = False,
    kept: Sequence[str] = (),
) -> None:
    if as_json:
        print_json(
            {
                "deleted": [] if dry_run else [s.session_id for s in summaries],
                "matched": [s.session_id for s in summaries],
                "kept": list(kept),
                "diary_events": sum(events[s.session_id] for s in summaries),
            }
        )
        return
    for summary in summaries:
        told = "".join(f"  ({count})" for count in _counted_events([summary], events))
        verb = "would delete" if dry_run else "deleted"
        click.echo(f"{verb} {summary.session_id}  {shown(summary.title)}{told}")
    for name in kept:
        click.echo(f"  {name} stays: another session said it too, or you edited it")
    if not summaries:
        click.echo("no session is that old")


def _print_sessions(project: Path | None, every: bool, as_json: bool) -> None:
    project_id = chosen_project(project).id or None
    found = open_to_read().list_sessions(project=project_id, kind=None if every else "user")
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("no sessions captured yet (memex-hooks capture --all brings in those on disk)")
        return
    rows = [
        [
            s.started_at[:16].replace("T", " "),
            s.harness,
            s.project_label,
            str(s.turn_count),
            _tokens(s),
            s.session_id,
            s.title[:60],
        ]
        for s in found
    ]
    print_table(rows, ["STARTED", "HARNESS", "PROJECT", "TURNS", "TOKENS", "SESSION", "TITLE"])


def _tokens(summary: SessionSummary) -> str:
    return "-" if summary.total_tokens is None else f"{summary.total_tokens:,}"
