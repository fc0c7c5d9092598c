"""The text that a command stores: on its line, in a file, or piped in."""

from __future__ import annotations

from pathlib import Path

import click

from memex_core.cli.input import STANDARD_STREAM, is_piped, read_text


def stored_text(text: str | None, file: Path | None = None) -> str:
    """`text`, else what is in `file`, else in standard input. Raises click.UsageError where there is none."""
    if text is not None and file is not None:
        raise click.UsageError("a text or --body-file, not both")
    if text is not None:
        return text
    if file is None and not is_piped():
        raise click.UsageError("there is no text: write it behind the command, or pipe it in")
    found = read_text(file or STANDARD_STREAM)
    if not found.strip():
        raise click.UsageError(f"there is no text: nothing is in {file or 'standard input'}")
    return found
