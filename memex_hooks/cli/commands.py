"""The group `memex-hooks` and its commands."""

from __future__ import annotations

import click

from memex_core import __version__
from memex_core.cli.entry import EXIT_STATUS
from memex_core.cli.output import data_dir_option
from memex_hooks.cli.capture import capture, drain
from memex_hooks.cli.health import doctor, status
from memex_hooks.cli.usage import usage
from memex_hooks.cli.wiring import install, setup, uninstall


@click.group(name="memex-hooks", epilog=EXIT_STATUS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="memex-hooks")
@data_dir_option
def memex_hooks() -> None:
    """Capture Claude Code and Codex sessions into memory, and keep the capture healthy."""


for command in (install, uninstall, status, doctor, capture, drain, usage, setup):
    memex_hooks.add_command(command)
