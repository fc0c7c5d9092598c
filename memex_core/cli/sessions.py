"""`memex sessions`: list, delete, prune."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from memex_core.cli.output import open_memex, print_json, print_table, with_json
from memex_core.errors import NotFound, Refused
from memex_core.files.project import project_of
from memex_core.model.results import SessionSummary


@click.group(invoke_without_command=True)
@click.option(
    "--project", default=None, metavar="DIR", help="Only sessions of the project that this folder belongs to."
)
@click.option("--all", "every", is_flag=True, help="Also subagents and the harness's internal sessions.")
@with_json
@click.pass_context
def sessions(context: click.Context, project: str | None, every: bool, as_json: bool) -> None:
    """List captured sessions, newest first; delete or prune them."""
    if context.invoked_subcommand is None:
        _print_sessions(project, every, as_json)


@sessions.command("list")
@click.option(
    "--project", default=None, metavar="DIR", help="Only sessions of the project that this folder belongs to."
)
@click.option("--all", "every", is_flag=True, help="Also subagents and the harness's internal sessions.")
@with_json
def list_sessions(project: str | None, every: bool, as_json: bool) -> None:
    """List captured sessions, newest first."""
    _print_sessions(project, every, as_json)


@sessions.command()
@click.argument("session_id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
def delete(session_id: str, yes: bool, as_json: bool) -> None:
    """Delete a session: transcript, page, its part in extracted pages. It is never captured again."""
    memex = open_memex()
    found = memex.find_session(session_id)
    if found is None:
        raise NotFound("session", session_id, hint="memex sessions lists them")
    name = f"{found.session_id} ({found.title or 'untitled'})"
    _confirm(f"Delete {name}, its page and what you wrote into that page?", yes)
    _print_deleted([found], as_json, kept=memex.delete_sessions([found.session_id]))


@sessions.command()
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
    if old and not dry_run:
        _confirm(f"Delete {len(old)} sessions that ended before {limit[:10]}?", yes)
    kept = [] if dry_run else memex.delete_sessions([summary.session_id for summary in old])
    _print_deleted(old, as_json, dry_run=dry_run, kept=kept)


def _confirm(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refused("deleting asks for a confirmation", hint="add --yes")
    click.confirm(question, abort=True)


def _print_deleted(
    summaries: list[SessionSummary], as_json: bool, *, dry_run: bool = False, kept: Sequence[str] = ()
) -> None:
    if as_json:
        print_json(
            {
                "deleted": [] if dry_run else [s.session_id for s in summaries],
                "matched": [s.session_id for s in summaries],
                "kept": list(kept),
            }
        )
        return
    for summary in summaries:
        click.echo(f"{'would delete' if dry_run else 'deleted'} {summary.session_id}  {summary.title}")
    for name in kept:
        click.echo(f"  {name} stays: another session said it too, or you edited it")
    if not summaries:
        click.echo("no session is that old")


def _print_sessions(project: str | None, every: bool, as_json: bool) -> None:
    project_id = project_of(str(Path(project).absolute())).id if project else None
    found = open_memex().list_sessions(project=project_id, kind=None if every else "user")
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
