"""The text that a command stores: on its line, in a file, or piped in."""

from __future__ import annotations

from pathlib import Path

import click

from memex_core.cli.input import STANDARD_STREAM, is_piped, read_text


def stored_text(text: str | None, file: Path | None = None) -> str:
    """`text`, else what is in `file`, else in standard input, which `-` means as well. Raises
    click.UsageError where there is none.
    """
    if text is not None and file is not None:
        raise click.UsageError("a text or --body-file, not both")
    if text is not None and text != str(STANDARD_STREAM):
        return text
    source = file if text is None else STANDARD_STREAM
    if source is None and not is_piped():
        raise click.UsageError("there is no text: write it behind the command, or pipe it in")
    found = read_text(source or STANDARD_STREAM)
    if not found.strip():
        name = "standard input" if source in (None, STANDARD_STREAM) else str(source)
        raise click.UsageError(f"there is no text: nothing is in {name}")
    return found
