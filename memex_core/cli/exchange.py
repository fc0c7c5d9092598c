"""`memex export` and `memex import`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memex_core.cli.arguments import FILE, output_file, refusing_arguments, type_option
from memex_core.cli.input import STANDARD_STREAM, is_piped, read_json
from memex_core.cli.output import (
    counted,
    examples,
    hurried,
    open_memex,
    print_json,
    shown,
    warn,
    while_read,
    with_json,
)
from memex_core.files.atomic import write_atomic
from memex_core.model.results import ImportReport

if TYPE_CHECKING:
    from memex_core.archive.wikimem_exchange import WikimemExportReport, WikimemImportReport

_OUTCOMES = ("created", "updated", "unchanged", "renamed", "skipped", "refused")
_DECIDE = "memex import --from wikimem --on-conflict update takes what is there"
_PROGRAM = click.Choice(["wikimem"])
_folder_argument = click.argument(
    "folder", required=False, metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path)
)


@click.command(
    "export",
    epilog=examples(
        "memex export --output nodes.json",
        "memex export --type procedure | jq",
        "memex export --to wikimem ~/notes",
    ),
)
@_folder_argument
@click.option("--to", "program", type=_PROGRAM, help="Into DIR, as the files of another program.")
@click.option(
    "--output",
    type=FILE,
    default=STANDARD_STREAM,
    metavar="FILE",
    help="Where to put it; - (default) prints it.",
)
@type_option
@with_json
def export_nodes(
    folder: Path | None, program: str | None, output: Path, node_type: str | None, as_json: bool
) -> None:
    """All pages as one JSON document.

    With --to, all of the memory as another program's directory.
    DIR must be new, empty or an earlier export. What was edited there since is left as it is; import it.
    What changed there and here, or could not be written, is named, and the exit code is 1.
    """
    if program is not None or folder is not None:
        if program is None or folder is None or output != STANDARD_STREAM or node_type is not None:
            raise click.UsageError("say --to wikimem DIR, without --output and --type")
        _print_exported(open_memex().export_wikimem(folder.absolute()), folder, as_json)
        return
    if output != STANDARD_STREAM:
        output = output_file(output.absolute())
    document = hurried(open_memex()).export_nodes(node_type)
    if output == STANDARD_STREAM:
        print_json(document)
        return
    write_atomic(output, json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n")
    count = len(document["nodes"])
    if as_json:
        print_json({"output": output, "nodes": count})
    else:
        click.echo(f"{counted(count, 'page')}: {shown(str(output))}")


@click.command(
    "import",
    epilog=examples(
        "memex import --input nodes.json",
        "memex import < nodes.json",
        "memex import --from wikimem ~/notes",
    ),
)
@_folder_argument
@click.option("--from", "program", type=_PROGRAM, help="The files in DIR are those of another program.")
@click.option(
    "--input",
    "source",
    type=FILE,
    default=None,
    metavar="FILE",
    help="What memex export wrote; - is what is piped in.",
)
@click.option(
    "--on-conflict",
    type=click.Choice(["skip", "update", "rename"]),
    default="skip",
    show_default=True,
    help="Where a page of that type and slug says something else.",
)
@with_json
def import_nodes(
    folder: Path | None, program: str | None, source: Path | None, on_conflict: str, as_json: bool
) -> None:
    """Take pages from such a document, or what is in such a directory. Twice is once.

    Conflicts are reported and no failure; what cannot be taken is refused, the others come in, exit 1.
    Nothing is deleted here because it is missing there.
    """
    if program is not None or folder is not None:
        if program is None or folder is None or source is not None:
            raise click.UsageError("say --from wikimem DIR, without --input")
        done = open_memex().import_wikimem(folder.absolute(), on_conflict)
        with while_read():
            _print_imported(done, as_json)
        raise click.exceptions.Exit(1 if done.pages.refused or done.problems else 0)
    if source is None and not is_piped():
        raise click.UsageError("say --input FILE, or pipe a document in")
    document = read_json(source or STANDARD_STREAM)
    with refusing_arguments():
        report = open_memex().import_nodes(document, on_conflict)
    with while_read():
        _warn(report)
        if as_json:
            print_json(report)
        else:
            click.echo(_told(report) or "nothing to import")
    if report.refused:
        raise click.exceptions.Exit(1)


def _warn(report: ImportReport) -> None:
    left = "; it was left as it is (--on-conflict update takes what is imported, rename keeps both)"
    skipped = set(report.skipped)
    for slug in report.conflicts:
        warn(f"conflict: {slug} differs from what is here{left if slug in skipped else ''}")
    for name, why in report.refused:
        warn(f"refused {name}: {why}")


def _told(report: ImportReport) -> str:
    counts = {name: len(getattr(report, name)) for name in _OUTCOMES}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _print_imported(report: WikimemImportReport, as_json: bool) -> None:
    _warn(report.pages)
    for path, why in report.problems:
        warn(f"{path} {why}")
    for old, new in report.renamed:
        warn(f"{old} is {new} now, and so is its page")
    for name in report.missing:
        warn(f"{name} is no longer there; it stays here (memex forget or memex item remove deletes it)")
    for path in report.redacted:
        warn(f"{path} held secrets, which were left out; an export cannot give them back")
    if as_json:
        print_json(report)
        return
    counts = [(report.days, "day"), (report.files, "RecallFile")]
    more = [counted(len(names), what) for names, what in counts if names]
    pages = " (items became pages: memex list)" if report.pages.created else ""
    click.echo((", ".join(filter(None, [_told(report.pages), *more])) or "nothing to import") + pages)


def _print_exported(report: WikimemExportReport, folder: Path, as_json: bool) -> None:
    for name in report.conflicts:
        warn(f"{name} changed there and here; it was left as it is there ({_DECIDE})")
    for name in report.again:
        warn(f"{name} was deleted there, but is still here; it was written there again")
    for path, why in report.problems:
        warn(f"{path} {why}")
    with while_read():
        if as_json:
            print_json(report)
        else:
            changed = f"{report.added} added, {report.updated} updated, {report.removed} removed"
            click.echo(f"{counted(report.items, 'item')} ({changed}): {shown(str(folder))}")
    if report.problems or report.conflicts:
        raise click.exceptions.Exit(1)
