"""`memex diary`: the events of a day or a range of days, and `add`."""

from __future__ import annotations

from pathlib import Path

import click

from memex_core import paths
from memex_core.cli.arguments import refusing_arguments
from memex_core.cli.blocks import event_row, print_events
from memex_core.cli.days import first_and_last_day
from memex_core.cli.output import (
    examples,
    open_memex,
    open_to_read,
    print_json,
    shown,
    warn,
    with_json,
)
from memex_core.cli.text_argument import stored_text
from memex_core.files.timed_log import timed_log
from memex_core.store.block_file import BlockFiles
from memex_core.store.diary import Diary

FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
_WANTED = "write it as 2026-09-15, yesterday, last week or 2026-09-01..2026-09-15"


class _DaysOrCommand(click.Group):
    """`memex diary yesterday` is `memex diary show yesterday`: what names no command names days."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((place for place, word in enumerate(args) if not _is_option(args, place)), len(args))
        if args[first : first + 1] and args[first] in self.commands:
            args = [args[first], *args[:first], *args[first + 1 :]]
        elif args[:1] not in (["-h"], ["--help"]):
            args = ["show", *args]
        return super().parse_args(ctx, args)


def _is_option(args: list[str], place: int) -> bool:
    """True for an option of the line, and for the value of the only one that has a value."""
    return args[place].startswith("-") or (place > 0 and args[place - 1] == "--data-dir")


@click.group(
    "diary",
    cls=_DaysOrCommand,
    epilog=examples(
        "memex diary                                 (today)",
        "memex diary yesterday",
        "memex diary 2026-09-01..2026-09-15 --json",
        'memex diary add "Met Kim about the release."',
    ),
    subcommand_metavar="[DATE | RANGE | add TEXT]",
)
@with_json
def diary(as_json: bool) -> None:
    """What happened on a day, or on several; add what did.

    A day is a date, or words such as yesterday, 3 days ago, last week; a range has two dots.
    """


@diary.command(hidden=True, epilog=examples("memex diary show yesterday"))
@click.argument("days", nargs=-1, metavar="[DATE | RANGE]")
@with_json
def show(days: tuple[str, ...], as_json: bool) -> None:
    """The events of a day, or of several."""
    first, last = _days(" ".join(days) if days else "today")
    memory = open_to_read()
    found = Diary(memory.root, memory.journal)
    if first == last:
        BlockFiles(memory.root, paths.diary_dir(memory.root)).read(first)  # raises where it cannot be read
    with refusing_arguments():
        events = found.day(first) if first == last else found.window(first, last)
    for path, why in found.problems():
        if min(first, last) <= Path(path).stem <= max(first, last):
            warn(f"{path} {why}")
    if as_json:
        print_json([event_row(event) for event in events])
    elif events:
        print_events(events)
    else:
        click.echo(f"nothing on {first}" if first == last else f"nothing from {first} to {last}")


@diary.command(
    epilog=examples(
        'memex diary add "Met Kim about the release."',
        'memex diary add "Deployed." --date yesterday --time 17:30',
        "git log -1 --format=%s | memex diary add",
    )
)
@click.argument("text", nargs=-1)
@click.option("--date", "day", default=None, metavar="DATE", help="Its day, if it was not today.")
@click.option("--time", default=None, metavar="HH:MM", help="Its local time, if it is not now.")
@click.option("--ts", default=None, metavar="TIME", help="Its exact instant, as 2026-09-15T10:00:00Z.")
@click.option("--owner", default=None, metavar="WHO", help="Whose event it is.")
@click.option("--source", default=None, metavar="ID", help="Where it was said, a session's id for example.")
@with_json
def add(
    text: tuple[str, ...],
    day: str | None,
    time: str | None,
    ts: str | None,
    owner: str | None,
    source: str | None,
    as_json: bool,
) -> None:
    """Add an event.

    Without TEXT, or where that is -, it is what is piped in. An event is never changed by a later one.
    """
    content = stored_text(" ".join(text) if text else None)
    when = _one_day(day) if day is not None else None
    memex = open_memex()
    events = Diary(memex.root, memex.journal)
    with timed_log(memex.root, "diary-add") as entry, refusing_arguments():
        event = events.append(content, ts=ts, date=when, time=time, owner=owner, source_conv=source)
        entry.subject = event.date
    if as_json:
        print_json(event_row(event))
    else:
        click.echo(f"{event.date} {event.time}: {shown(str(paths.day_path(memex.root, event.date)))}")


def _days(text: str) -> tuple[str, str]:
    """The first and last day that a person means. Raises click.UsageError."""
    begin, dots, end = (part.strip() for part in text.partition(".."))
    if ".." in end:
        raise _no_day(text)
    if dots:
        first, last = _window(begin) if begin else None, _window(end) if end else None
        return first[0] if first else FIRST_DAY, last[1] if last else LAST_DAY
    return _window(begin)


def _one_day(text: str) -> str:
    first, last = _days(text)
    if first != last:
        raise click.UsageError(f"that is more than one day: {shown(text)[:80]!r}")
    return first


def _window(text: str) -> tuple[str, str]:
    found = first_and_last_day(text)
    if found is None:
        raise _no_day(text)
    return found


def _no_day(text: str) -> click.UsageError:
    return click.UsageError(f"not a day: {shown(text)[:80]!r}; {_WANTED}")
