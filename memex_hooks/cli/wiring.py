"""`memex-hooks install`, `uninstall` and `setup`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager

import click

from memex_core.cli.output import data_dir_option
from memex_hooks import install_uninstall
from memex_hooks.cli.options import chosen_or_present, environment, harness_option
from memex_hooks.first_run import demonstrate, describe, set_up
from memex_hooks.harnesses import HARNESSES
from memex_hooks.install_uninstall import Installed

dry_run_option = click.option("--dry-run", is_flag=True, help="Print the difference and change nothing.")


@click.command()
@harness_option
@click.option("--mcp", is_flag=True, help="Register the MCP server as well: memory tools for the model.")
@click.option("--no-hooks", is_flag=True, help="With --mcp: only that, for those who use the plugin.")
@dry_run_option
@data_dir_option
def install(harnesses: tuple[str, ...], mcp: bool, no_hooks: bool, dry_run: bool) -> None:
    """Put our hooks into the settings of the harnesses; everything else in them stays byte for byte."""
    if no_hooks and not mcp:
        raise click.UsageError("--no-hooks leaves nothing to install; did you mean --mcp --no-hooks?")
    env = environment()
    names = chosen_or_present(harnesses, env)
    if not names:
        raise click.ClickException("no harness found; name one with --harness")
    _print(install_uninstall.install(names, env, hooks=not no_hooks, mcp=mcp, dry_run=dry_run), dry_run)
    for name in () if dry_run or no_hooks else names:
        for line in HARNESSES[name].after_install():
            click.echo(line)
    if mcp and not dry_run:
        click.echo("Sessions that are open now have the memory tools once they are started again.")


@click.command()
@harness_option
@dry_run_option
@data_dir_option
def uninstall(harnesses: tuple[str, ...], dry_run: bool) -> None:
    """Take our hooks and the MCP server out again. The memory stays."""
    names = list(harnesses) or list(HARNESSES)
    _print(install_uninstall.uninstall(names, environment(), dry_run=dry_run), dry_run, removed=True)


@click.command()
@click.option("--demo", is_flag=True, help="Show it in a scratch memory; touch no settings.")
@click.option("--no-hooks", is_flag=True, help="Leave the settings alone: for those who use the plugin.")
@data_dir_option
def setup(demo: bool, no_hooks: bool) -> None:
    """Install, capture the sessions on disk, check. What install.sh runs."""
    fine = (
        demonstrate(click.echo) if demo else set_up(environment(), click.echo, _progress, wire=not no_hooks)
    )
    if not fine:
        raise click.exceptions.Exit(1)


def _progress(items: list[object], label: str) -> AbstractContextManager[Iterable[object]]:
    return click.progressbar(items, label=label, file=sys.stderr)


def _print(reports: list[Installed], dry_run: bool, *, removed: bool = False) -> None:
    for report in reports:
        if dry_run and report.diff:
            click.echo(report.diff, nl=False)
        if report.problem or not (dry_run and report.diff):
            unchanged = "nothing to change" if dry_run and not report.problem else ""
            line = unchanged or describe(report, removed=removed)
            click.echo(f"{HARNESSES[report.harness].TITLE}: {line}", err=bool(report.problem))
        for note in report.notes:
            click.echo(f"  {note}")
    if any(report.problem for report in reports):
        raise click.exceptions.Exit(1)
