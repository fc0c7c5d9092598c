"""`memex consolidate`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, Literal

import click

from memex_core.cli.arguments import complete_page, refusing_arguments
from memex_core.cli.output import (
    counted,
    examples,
    open_memex,
    print_json,
    shown,
    warn,
    while_read,
    with_json,
    without_controls,
)
from memex_core.errors import LLMError
from memex_core.llm import refuse_in_a_child
from memex_core.model.node import ConsolidateInput
from memex_core.model.results import ConsolidationReport

Mode = Literal["full", "dry-run"]


@click.command(
    epilog=examples(
        "memex consolidate --dry-run",
        "memex consolidate --max-episodes 3",
        "memex consolidate --episode 0f6d2c52-8a53-4c57-9a34-4c1f0a5c7e11",
    )
)
@click.option(
    "--mode", type=click.Choice(["full", "dry-run"]), default=None, help="full (default) writes the pages."
)
@click.option("--dry-run", is_flag=True, help="The same as --mode dry-run: ask the model, change nothing.")
@click.option(
    "--max-episodes",
    type=click.IntRange(1, 1_000_000_000),
    default=10,
    show_default=True,
    help="At most this many sessions.",
)
@click.option(
    "--episode",
    "episodes",
    multiple=True,
    metavar="SLUG",
    shell_complete=complete_page,
    help="This session, even if it was consolidated before; repeat for more.",
)
@click.option("--no-links", is_flag=True, help="Ask for pages without [[links]].")
@with_json
def consolidate(
    mode: Mode | None,
    dry_run: bool,
    max_episodes: int,
    episodes: tuple[str, ...],
    no_links: bool,
    as_json: bool,
) -> None:
    """Let a model make pages of recent sessions.

    The only command that asks a model: the one of [llm] in memex.toml. Sessions that were consolidated
    before are not sent again.
    """
    refuse_in_a_child()
    if dry_run and mode == "full":
        raise click.UsageError("--mode full or --dry-run, not both")
    wanted = ConsolidateInput(
        mode="dry-run" if dry_run else mode or "full",
        episode_ids=list(episodes) or None,
        max_episodes=max_episodes,
        include_links=not no_links,
    )
    try:
        with refusing_arguments():
            report = open_memex().consolidate(wanted)
    except LLMError as error:
        if error.report is not None:
            with while_read():
                _print(error.report, as_json)
        raise
    _print(report, as_json)


def _print(report: ConsolidationReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    for change in report.changes:
        for line in _change_lines(change, report.dry_run):
            click.echo(line)
    for title, why in report.nodes_refused:
        click.echo(f"refused {shown(title)!r}: {shown(why)}")
    for message in report.warnings:
        warn(message)
    if report.answer_file and not any(report.answer_file in message for message in report.warnings):
        warn(f"an answer that could not be read is kept in {report.answer_file}")
    click.echo(_summary(report))


def _change_lines(change: dict[str, Any], dry_run: bool) -> Iterator[str]:
    """What became, or would become, of one page; in a dry run with every line and key that differs."""
    done = {"add": "added", "update": "updated"}.get(str(change["action"]), str(change["action"]))
    verb = f"would be {done}" if dry_run else done
    yield f"{verb} {shown(str(change['page']))}  {shown(str(change['title']))}"
    if not dry_run:
        return
    for name, (was, will_be) in change.get("fields", {}).items():
        if was != will_be:
            yield f"  {name}: {_value(was)} -> {_value(will_be)}"
    before, after = (str(change.get(name) or "").splitlines() for name in ("before", "after"))
    for line in list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]:
        if not line.startswith("@@"):
            yield f"  {without_controls(line)}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return "-" if value in (None, "") else shown(str(value))


def _summary(report: ConsolidationReport) -> str:
    pages = f"{counted(len(report.changes), 'page')} {'would change' if report.dry_run else 'changed'}"
    tokens = f"{report.llm_prompt_tokens:,} tokens in, {report.llm_completion_tokens:,} out"
    told = [
        f"{counted(report.episodes_processed, 'session')} read",
        pages,
        counted(report.links_added, "link"),
        counted(report.llm_calls, "call"),
        f"{tokens} (estimated)" if report.tokens_estimated else tokens,
    ]
    return ", ".join(told)
