"""`memex item`: add, get, remove, list."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from memex_core import paths
from memex_core.cli.arguments import FILE, completions, refusing_arguments
from memex_core.cli.blocks import print_block
from memex_core.cli.input import confirm
from memex_core.cli.output import (
    data_dir_option,
    examples,
    memory_root,
    open_memex,
    open_to_read,
    print_json,
    print_table,
    shown,
    warn,
    with_json,
)
from memex_core.cli.text_argument import stored_text
from memex_core.errors import MemexError, NotFound
from memex_core.files.timed_log import timed_log
from memex_core.model.item import RecallItem
from memex_core.store.block_file import SUFFIX, BlockFiles, is_stem
from memex_core.store.recallfiles import RecallFileStore


def _complete_file(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    names: list[str] = []
    with contextlib.suppress(OSError, MemexError):
        names = sorted(path.name for path in paths.wiki_dir(memory_root(context)).glob(f"*{SUFFIX}"))
    stems = (name.removesuffix(SUFFIX) for name in names)
    return completions(stems, incomplete)


_NO_ITEMS = """\
no items
memex item add FILE NAME TEXT makes one, and so does a `## name` that you type into wiki/<file>.md
what was imported from wikimem became pages (memex list)"""

file_argument = click.argument("file", shell_complete=_complete_file)


@click.group(
    "item",
    epilog=examples(
        'memex item add preferences linter "Ruff, never flake8."',
        "memex item list",
        "memex item list preferences",
        "memex item get preferences linter",
        "memex item remove preferences linter",
    ),
)
@data_dir_option
def item() -> None:
    """What holds now, one fact an item, by file.

    The files are wiki/*.md, one `##` section an item: the RecallFiles of wikimem.
    """


@item.command(
    epilog=examples(
        'memex item add preferences linter "Ruff, never flake8." --owner user:kim',
        "memex item add howto deploy --body-file deploy.md",
        "date | memex item add state last-run",
    )
)
@file_argument
@click.argument("name")
@click.argument("text", required=False)
@click.option("--body-file", type=FILE, default=None, help="The text from a file, - for standard input.")
@click.option("--owner", default=None, metavar="WHO", help="Whose fact it is.")
@click.option("--source", default=None, metavar="ID", help="Where it was said, a session's id for example.")
@with_json
def add(
    file: str,
    name: str,
    text: str | None,
    body_file: Path | None,
    owner: str | None,
    source: str | None,
    as_json: bool,
) -> None:
    """Write an item, as the last of its file.

    One of the same name is replaced. Without TEXT it comes from --body-file, or from what is piped in, as it
    does where TEXT is -.
    """
    content = stored_text(text, body_file)
    memex = open_memex()
    store = RecallFileStore(memex.root, memex.journal)
    with timed_log(memex.root, "item-add", shown(file)), refusing_arguments():
        was_there = store.get(file, name) is not None
        written = store.add(file, name, content, owner=owner, source_conv=source)
    if as_json:
        print_json({**asdict(written), "replaced": was_there})
    else:
        done = "replaced" if was_there else "added"
        click.echo(f"{done} {shown(written.name)}: {shown(str(paths.recallfile_path(memex.root, file)))}")


@item.command(epilog=examples("memex item get preferences linter"))
@file_argument
@click.argument("name")
@with_json
def get(file: str, name: str, as_json: bool) -> None:
    """Print an item."""
    memory = open_to_read()
    _refuse_unreadable(memory.root, file)
    found = RecallFileStore(memory.root, memory.journal).get(file, name)
    if found is None:
        raise NotFound(f"item of {shown(file)}", name, hint="memex item list shows all")
    print_block(found, as_json)


@item.command(epilog=examples("memex item remove preferences linter --yes"))
@file_argument
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
def remove(file: str, name: str, yes: bool, as_json: bool) -> None:
    """Delete an item; its file goes with the last one."""
    memex = open_memex()
    store = RecallFileStore(memex.root, memex.journal)
    with refusing_arguments():
        paths.recallfile_path(memex.root, file)
    _refuse_unreadable(memex.root, file)
    found = store.get(file, name)
    if found is not None:
        confirm(f"Delete {shown(found.name)} from {file}, for good?", yes)
    with timed_log(memex.root, "item-remove", file):
        if found is None or not store.remove(file, found.name):
            raise NotFound(f"item of {shown(file)}", name, hint="memex item list shows all")
    if as_json:
        print_json({"file": file, "name": found.name, "removed": True})
    else:
        click.echo(f"deleted {shown(found.name)}")


@item.command("list", epilog=examples("memex item list", "memex item list preferences --json"))
@click.argument("file", required=False, shell_complete=_complete_file)
@with_json
def list_items(file: str | None, as_json: bool) -> None:
    """List items, those of one file or all."""
    memory = open_to_read()
    store = RecallFileStore(memory.root, memory.journal)
    if file is None:
        for path, why in store.problems():
            warn(f"{path} {why}")
    else:
        _refuse_unreadable(memory.root, file)
    found = store.items(file)
    if as_json:
        print_json([_row(each, with_file=file is None) for each in found])
    elif found:
        rows = [[each.file[:40], each.name[:40], shown(each.content[:300])[:80]] for each in found]
        print_table(rows, ["FILE", "NAME", "CONTENT"])
    else:
        click.echo(_NO_ITEMS if file is None else f"no items in {shown(file)}")


def _row(found: RecallItem, *, with_file: bool) -> dict[str, Any]:
    row = asdict(found)
    return row if with_file else {key: value for key, value in row.items() if key != "file"}


def _refuse_unreadable(root: Path, file: str) -> None:
    """Raise BadBlockFile where the file is there and cannot be read: it is not the same as an empty one.
    NotFound for a name that no file has.
    """
    if not is_stem(file):
        raise NotFound("RecallFile", file[:80], hint="memex item list names all")
    BlockFiles(root, paths.wiki_dir(root)).read(file)
