"""`memex journal`."""

from __future__ import annotations

import contextlib
import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from memex_core import paths
from memex_core.cli.arguments import COUNT, complete_page
from memex_core.cli.days import since_option
from memex_core.cli.journal_tail import follow_lines
from memex_core.cli.output import examples, open_to_read, print_json, print_table, shown, with_json
from memex_core.errors import MemexError
from memex_core.model.item import DiaryEvent, RecallItem
from memex_core.store.named_blocks import find_block
from memex_core.text.blocks import item_of_link
from memex_core.text.instant import to_seconds

Line = dict[str, Any]
ACTIONS = ("add", "update", "remove", "diary")


@click.command(
    epilog=examples(
        "memex journal",
        "memex journal --page zephyr",
        "memex journal --page preferences:linter",
        "memex journal --action diary --since 2026-11-01 --limit 0",
        "memex journal --follow",
    )
)
@click.option("--limit", type=COUNT, default=50, show_default=True, help="At most this many; 0 for all.")
@since_option("Only changes on or after this date.")
@click.option(
    "--action",
    "actions",
    type=click.Choice(ACTIONS),
    multiple=True,
    help="Only such changes, diary for new events; repeat for more.",
)
@click.option(
    "--page",
    default=None,
    metavar="NAME",
    shell_complete=complete_page,
    help="Only this page, RecallFile, item (FILE:NAME), day or event.",
)
@click.option(
    "--follow", is_flag=True, help="Print changes as they come, until Ctrl-C; with --since also those before."
)
@with_json
def journal(
    limit: int, since: str | None, actions: tuple[str, ...], page: str | None, follow: bool, as_json: bool
) -> None:
    """What changed in this memory, newest first."""
    begin = to_seconds(since)
    memory = open_to_read()
    page = _as_in_the_journal(memory.root, page)
    if follow:
        with contextlib.suppress(KeyboardInterrupt):  # that is how it ends
            for line in follow_lines(paths.journal_path(memory.root), from_start=since is not None):
                if _is_asked_for(line, begin, actions, page):
                    _print_now(line, as_json)
        return
    found = deque(
        (line for line in memory.journal.lines() if _is_asked_for(line, begin, actions, page)),
        maxlen=limit or None,
    )
    newest = list(reversed(found))
    if as_json:
        print_json(newest)
    elif newest:
        print_table([_row(line) for line in newest], ["TIME", "CHANGE", "PAGE", "TITLE"])
    else:
        click.echo("nothing changed")


def _is_asked_for(line: Line, begin: float | None, actions: tuple[str, ...], page: str | None) -> bool:
    if begin is not None and (to_seconds(str(line.get("ts", ""))) or 0.0) < begin:
        return False
    if actions and line.get("action") not in actions:
        return False
    return page is None or page in _names(line)


def _names(line: Line) -> Iterator[str]:
    """What a person may call that which a line is about."""
    file = _file(line)
    name = file.removesuffix(".md")
    yield from (file, name, name.rpartition("/")[2])
    if "item" in line and "/" not in name:
        yield f"{name}:{line['item']}"
    if "date" in line:
        yield f"{line['date']} {line.get('time', '')}"


def _as_in_the_journal(root: Path, name: str | None) -> str | None:
    """`name` as lines may have it: an event by its time, an item with single spaces, a page without .md."""
    if name is None:
        return None
    block = None
    with contextlib.suppress(MemexError):  # a name that no file can have, or several have: as it stands
        block = find_block(root, name)
    if isinstance(block, DiaryEvent):
        return f"{block.date} {block.time}"
    if isinstance(block, RecallItem):
        return f"{block.file}:{block.name}"
    item = item_of_link(name)
    return ":".join(item) if item else name.removesuffix(".md")


def _file(line: Line) -> str:
    """What changed; of an event, its day."""
    return str(line.get("file", f"diary/{line['date']}" if "date" in line else ""))


def _row(line: Line) -> list[str]:
    """A line of ours or of wikimem, whatever it holds."""
    ts, action = str(line.get("ts", "")), str(line.get("action", ""))
    item = str(line.get("item", line.get("time", "")))
    return [ts[:16].replace("T", " "), action[:12], _file(line)[:70], item[:80]]


def _print_now(line: Line, as_json: bool) -> None:
    """One line, not held back until there are more."""
    if as_json:
        click.echo(json.dumps(line))
    else:
        ts, action, file, item = map(shown, _row(line))
        click.echo(f"{ts}  {action:6}  {file}  {item}".rstrip())
