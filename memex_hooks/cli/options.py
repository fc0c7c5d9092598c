"""Options that several commands of `memex-hooks` share."""

from __future__ import annotations

import os

import click

from memex_core.cli.output import data_dir
from memex_hooks.harnesses import HARNESSES

harness_option = click.option(
    "--harness",
    "harnesses",
    multiple=True,
    type=click.Choice(list(HARNESSES)),
    help="Only this harness; repeat for more (default: every one found).",
)


def environment() -> dict[str, str]:
    """The process's environment, with the memory root of --data-dir in it."""
    chosen = data_dir()
    return {**os.environ, "MEMEX_DATA_DIR": chosen} if chosen else dict(os.environ)


def chosen_or_present(harnesses: tuple[str, ...], env: dict[str, str]) -> list[str]:
    """The harnesses named, else those found on this machine."""
    return list(harnesses) or [name for name, harness in HARNESSES.items() if harness.is_present(env)]
