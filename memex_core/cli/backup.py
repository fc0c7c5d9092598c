"""`memex backup` and `memex restore`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memex_core import paths
from memex_core.cli.arguments import FILE, output_file
from memex_core.cli.input import confirm
from memex_core.cli.output import (
    counted,
    examples,
    open_memex,
    print_json,
    shown,
    warn,
    while_read,
    with_json,
)

if TYPE_CHECKING:
    from memex_core.memex import Memex
    from memex_core.model.results import RestoreReport


@click.command(
    epilog=examples(
        "memex backup --output ~/memex-2026-11-30.tar.gz",
        "memex backup --verify ~/memex-2026-11-30.tar.gz",
    )
)
@click.option("--output", type=FILE, default=None, metavar="FILE", help="Where to put the archive (.tar.gz).")
@click.option("--no-mem-db", is_flag=True, help="Leave out the index; a restore builds it anew.")
@click.option(
    "--verify", type=FILE, default=None, metavar="FILE", help="Read an archive and say if it is sound."
)
@with_json
def backup(output: Path | None, no_mem_db: bool, verify: Path | None, as_json: bool) -> None:
    """Put everything into one archive, or check one."""
    if (output is None) == (verify is None):
        raise click.UsageError("say --output FILE to make an archive or --verify FILE to check one")
    memex = open_memex()
    if output is None:
        _verify(memex, Path(str(verify)), as_json)
        return
    report = memex.backup(output_file(output.absolute()), include_mem_db=not no_mem_db)
    left_out = report.file_counts.get("left_out", 0)
    if left_out:
        warn(f"{counted(left_out, 'file')} could not be packed; the archive's manifest.json lists them")
    if as_json:
        print_json(report)
        return
    index = "with the index" if report.file_counts.get("mem_db") else "without the index"
    click.echo(f"{_told(report.file_counts)}, {index}")
    click.echo(f"{report.size_bytes:,} bytes: {shown(report.archive_path)}")


@click.command(epilog=examples("memex restore --input ~/memex-2026-11-30.tar.gz"))
@click.option(
    "--input", "source", type=FILE, required=True, metavar="FILE", help="An archive of memex backup."
)
@click.option("--yes", is_flag=True, help="Do not ask before replacing a memory.")
@with_json
def restore(source: Path, yes: bool, as_json: bool) -> None:
    """Put an archive in the place of this memory, which is kept."""
    memex = open_memex()
    if not _is_empty(memex.root):
        confirm(f"Replace the memory in {memex.root}? It is moved aside, not deleted.", yes)
    report = memex.restore(source.absolute())
    with while_read():
        _print_restored(report, as_json)
    if not report.restored:
        raise click.exceptions.Exit(1)


def _print_restored(report: RestoreReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    click.echo(f"{_told(report.file_counts)} restored")
    if report.previous_backup_dir:
        click.echo(f"what was here before: {shown(report.previous_backup_dir)}")
    for message in report.warnings:
        warn(message)


def _verify(memex: Memex, archive: Path, as_json: bool) -> None:
    problems = memex.check_backup(archive.absolute())
    with while_read():
        if as_json:
            print_json({"archive_path": archive.absolute(), "sound": not problems, "problems": problems})
        else:
            click.echo(f"{shown(str(archive))}: {'damaged' if problems else 'sound'}")
            for problem in problems:
                click.echo(f"  {shown(problem)}")
    if problems:
        raise click.exceptions.Exit(1)


def _told(counts: dict[str, int]) -> str:
    return f"{counted(counts.get('wiki', 0), 'page')}, {counted(counts.get('transcripts', 0), 'session')}"


def _is_empty(root: Path) -> bool:
    """True where no page, transcript or diary would be replaced."""
    folders = (paths.docs_dir(root), paths.transcripts_dir(root), root / "wiki", root / "diary")
    return not any(names for folder in folders for _, _, names in os.walk(folder))
