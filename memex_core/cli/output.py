"""What commands share: the memory that a line names, and printing as text on a terminal or JSON elsewhere."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from memex_core.memex import Memex
    from memex_core.open_memory import OpenMemory

Command = TypeVar("Command", bound=Callable[..., Any])
Memory = TypeVar("Memory", bound="OpenMemory")

READ_WAIT_S = 0.3
"""How long each question of a reading command waits for another process that holds the index."""

data_dir_option = click.option(
    "--data-dir",
    metavar="DIR",
    default=None,
    type=click.Path(file_okay=False),
    expose_value=False,
    is_eager=True,
    callback=lambda context, _parameter, value: _remember_data_dir(context, value),
    help="The memory root (default: $MEMEX_DATA_DIR, else ~/.memex).",
)
json_option = click.option(
    "--json/--text",
    "as_json",
    default=None,
    help="Print JSON (the default when piped) or text (on a terminal).",
)


def _remember_data_dir(context: click.Context, value: str | None) -> None:
    if value and value.startswith("~") and value != "~" and not value.startswith("~/"):
        raise click.BadParameter(f"{value!r} is no folder: only ~ and ~/ are read as a home, your own")
    if value:
        context.find_root().ensure_object(dict)["data_dir"] = value


def data_dir(context: click.Context | None = None) -> str | None:
    """The value of --data-dir, wherever on the line it stood; `context` None: that of the running command."""
    root = (context or click.get_current_context()).find_root()
    value = root.ensure_object(dict).get("data_dir")
    return str(value) if value else None


def memory_root(context: click.Context | None = None) -> Path:
    from memex_core.config import memory_root_of

    return memory_root_of(data_dir(context))


def open_memex() -> Memex:
    """The memory that this command line names, its index healed."""
    from memex_core.config import root_and_config  # here, so that --help and completion need neither
    from memex_core.memex import Memex

    return Memex(*root_and_config(data_dir()))


def open_to_read() -> OpenMemory:
    """The same for a command that only reads, without what writing needs (20 ms)."""
    from memex_core.config import root_and_config
    from memex_core.open_memory import OpenMemory

    return hurried(OpenMemory(*root_and_config(data_dir())))


def hurried(memory: Memory) -> Memory:
    """`memory`, whose files answer where another process holds its index, until the command ends."""
    click.get_current_context().with_resource(memory.hurried(READ_WAIT_S))
    return memory


def with_json(command: Command) -> Command:
    """Gives the command `as_json`: as asked for, else True where standard output is no terminal."""

    @functools.wraps(command)
    def decided(*args: Any, as_json: bool | None, **values: Any) -> Any:
        chosen = not is_terminal(sys.stdout) if as_json is None else as_json
        return command(*args, as_json=chosen, **values)

    return data_dir_option(json_option(decided))  # type: ignore[return-value]


def is_terminal(stream: TextIO | None) -> bool:
    """False also for a stream that was closed before we began."""
    return stream is not None and not stream.closed and stream.isatty()


def examples(*lines: str) -> str:
    """The end of a command's help: lines that can be typed as they stand."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def print_json(value: Any) -> None:
    """`value` as JSON; characters that standard output cannot hold as \\u escapes."""
    plain = _plain(value)
    text = json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=2, allow_nan=False)
    click.echo(escaped(text))


def escaped(text: str) -> str:
    r"""JSON in which characters that act on a terminal, or turn its text around, are \u escapes."""
    if text.isascii():
        return text
    return "".join(f"\\u{ord(char):04x}" if _acts(char) else char for char in text)


def _acts(char: str) -> bool:
    return char not in "\n\t" and (
        unicodedata.category(char) == "Cc" or unicodedata.bidirectional(char) in _TURNS
    )


def print_table(rows: list[list[str]], header: list[str]) -> None:
    """Columns padded to their widest cell; the last one is left ragged. Numbers are aligned right."""
    table = [header, *([shown(cell) for cell in row] for row in rows)]
    widths = [max(_width(row[column]) for row in table) for column in range(len(header))]
    for row in table:
        cells = [
            " " * (width - _width(cell)) + cell
            if row is not header and cell[:1].isdigit() and cell.replace(",", "").isdigit()
            else cell + " " * (width - _width(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())


@contextlib.contextmanager
def while_read() -> Iterator[None]:
    """Printing that ends where the reader leaves early (`| head`): the command goes on to say how it went."""
    with contextlib.suppress(BrokenPipeError):
        yield


def shown(text: str) -> str:
    """`text` as one line for a terminal, without the characters that would steer it."""
    return without_controls(" ".join(text.split()))


def without_controls(text: str) -> str:
    """`text` without control characters (C0, C1) but newline and tab."""
    if text.isprintable():
        return text
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")


def counted(number: int, what: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def warn(message: str) -> None:
    """A line on standard error: it is done, but not all of it went well."""
    click.echo(f"warning: {shown(message)}", err=True)


def _width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
