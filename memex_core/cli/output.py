"""What commands share: their options, and printing as text on a terminal or JSON elsewhere."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from memex_core.config import memory_root_of, root_and_config
from memex_core.memex import Memex

Command = TypeVar("Command", bound=Callable[..., Any])

data_dir_option = click.option(
    "--data-dir",
    metavar="DIR",
    default=None,
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
    if value:
        context.find_root().meta["memex.data_dir"] = value


def data_dir() -> str | None:
    """The value of --data-dir, wherever on the line it stood."""
    value = click.get_current_context().find_root().meta.get("memex.data_dir")
    return str(value) if value else None


def memory_root() -> Path:
    return memory_root_of(data_dir())


def open_memex() -> Memex:
    """The memory that this command line names, its index healed."""
    root, config = root_and_config(data_dir())
    return Memex(root, config)


def with_json(command: Command) -> Command:
    """Gives the command `as_json`: as asked for, else True where standard output is no terminal."""

    @functools.wraps(command)
    def decided(*args: Any, as_json: bool | None, **values: Any) -> Any:
        return command(*args, as_json=not sys.stdout.isatty() if as_json is None else as_json, **values)

    return data_dir_option(json_option(decided))  # type: ignore[return-value]


def print_json(value: Any) -> None:
    click.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def print_table(rows: list[list[str]], header: list[str]) -> None:
    """Columns padded to their widest cell; the last one is left ragged. Numbers are aligned right."""
    table = [header, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    for row in table:
        cells = [
            cell.rjust(width)
            if row is not header and cell[:1].isdigit() and cell.replace(",", "").isdigit()
            else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
