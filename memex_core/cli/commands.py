"""The group `memex` and its commands."""

from __future__ import annotations

import click

from memex_core import __version__
from memex_core.cli.entry import EXIT_STATUS
from memex_core.cli.index import info, rebuild_index
from memex_core.cli.output import data_dir_option
from memex_core.cli.pages import list_pages, provenance, show
from memex_core.cli.recall import recall
from memex_core.cli.sessions import sessions


@click.group(epilog=EXIT_STATUS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="memex")
@data_dir_option
def memex() -> None:
    """Memory of your coding sessions: Markdown you can read, edit and search."""


for command in (recall, show, list_pages, sessions, provenance, info, rebuild_index):
    memex.add_command(command)
