"""What several commands take: a page, a page type, a date, a project, a file; and what a wrong value gets."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from memex_core import paths
from memex_core.cli.output import Command, memory_root
from memex_core.errors import InvalidName, MemexError, WrongValue
from memex_core.files.project import Project, project_of
from memex_core.text.instant import to_seconds
from memex_core.text.slug import is_plain_name

MAX_COMPLETIONS = 500
COUNT = click.IntRange(0, 1_000_000_000)
"""More of anything than there is, and fewer than a container can be asked for."""


def date_option(name: str, help: str) -> Callable[[Command], Command]:
    """An option for an ISO 8601 date or time, which stays as it was typed."""
    return click.option(name, default=None, metavar="DATE", callback=_checked_date, help=help)


def _checked_date(_context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and to_seconds(value) is None:
        raise click.BadParameter(f"{value!r} is not a date such as 2026-09-15 or 2026-09-15T10:00:00Z")
    return value.strip() if value else None


def complete_page(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The slugs that begin as typed, from the names of the files alone."""
    found = []
    for node_type, folder in paths.FOLDER_OF_TYPE.items():
        with contextlib.suppress(OSError, MemexError):
            names = sorted(os.listdir(paths.docs_dir(memory_root(context)) / folder))
            slugs = (name.removesuffix(".md") for name in names if name.endswith(".md"))
            found += completions(slugs, incomplete, help=node_type)
    return found[:MAX_COMPLETIONS]


def completions(names: Iterable[str], incomplete: str, help: str | None = None) -> list[CompletionItem]:
    """Those of `names` that begin as typed. Shells put them on the line as they are, and bash reads them as
    code: a name that is more than letters, digits, `-`, `_` and `.` is never offered.
    """
    fitting = (name for name in names if name.startswith(incomplete) and is_plain_name(name))
    return [CompletionItem(name, help=help) for name in itertools.islice(fitting, MAX_COMPLETIONS)]


class _File(click.Path):
    """The name of a file; "" names none, though a path of it is the current folder."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty name", parameter, context)
        return super().convert(value, parameter, context)


TYPE = click.Choice(paths.NODE_TYPES)
FILE = _File(dir_okay=False, path_type=Path)
page_argument = click.argument("slug", shell_complete=complete_page)
type_option = click.option("--type", "node_type", type=TYPE, help="Only pages of this type.")
which_type_option = click.option("--type", "node_type", type=TYPE, help="Where two pages of that name exist.")


def chosen_project(folder: Path | None) -> Project:
    """The project that a folder belongs to; an empty one for None."""
    return project_of(str(folder.absolute()) if folder else "")


@contextlib.contextmanager
def refusing_arguments() -> Iterator[None]:
    """What the API calls a wrong value is a wrong argument here: exit 2. Any other ValueError is a fault."""
    try:
        yield
    except InvalidName as error:
        raise click.UsageError(f"{error} ({error.hint})") from None
    except WrongValue as error:
        raise click.UsageError(str(error)) from None


def output_file(path: Path) -> Path:
    """`path` if a file may be put there. Raises click.UsageError for a folder, device or pipe: what is put
    there replaces what was there.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return path
    if not stat.S_ISREG(mode):
        raise click.UsageError(f"{path} is not a regular file")
    return path
