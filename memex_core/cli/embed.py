"""`memex embed`."""

from __future__ import annotations

import sys

import click

from memex_core.cli.input import confirm
from memex_core.cli.output import counted, examples, is_terminal, open_to_read, print_json, shown, with_json


@click.command(
    epilog=examples("memex embed", "memex embed --anew      (asks; after [embed] model has changed)")
)
@click.option("--anew", is_flag=True, help="Throw away the vectors that are there first.")
@click.option("--yes", is_flag=True, help="Do not ask before throwing away.")
@with_json
def embed(anew: bool, yes: bool, as_json: bool) -> None:
    """Make the vectors that recall by meaning needs.

    A recall makes what is missing itself, for some seconds; this makes all of it. Exit status 1: some are
    still missing. [embed] in memex.toml says whom to ask; without it nothing is asked.
    """
    memory = open_to_read()
    if anew:
        confirm("Throw away all vectors and ask the endpoint for them again?", yes)
    report = memory.embed(anew=anew, progress=_show_progress if is_terminal(sys.stderr) else None)
    if as_json:
        print_json(report)
    else:
        click.echo(
            f"{counted(report.embedded, 'text')} embedded with {shown(report.model)}, {report.known} known"
        )
    if report.trouble or report.missing:
        why = shown(report.trouble) or "unknown"
        click.echo(f"{counted(report.missing, 'text')} without a vector: {why}", err=True)
        raise SystemExit(1)


def _show_progress(done: int, of: int) -> None:
    click.echo(f"\r{done} of {of}", err=True, nl=done == of)
