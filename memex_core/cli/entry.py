"""How a command line ends: one line on standard error, and an exit code that says what kind of failure it
was.

0 done · 1 expected failure · 2 wrong arguments · 3 unexpected (the operation log has the trace) · 130
interrupted
"""

from __future__ import annotations

import os
import sys

import click

from memex_core import paths
from memex_core.errors import MemexError
from memex_core.files.operation_log import log_operation, where

EXIT_STATUS = (
    "Exit status: 0 done, 1 failed (the message says why), 2 wrong arguments, 3 unexpected, 130 interrupted."
)


def run(group: click.Group, program: str) -> None:
    """Run a click group and exit with the status of `EXIT_STATUS`. Everything it writes is private (umask
    077).
    """
    os.umask(0o077)
    try:
        status = group.main(prog_name=program, standalone_mode=False)
    except BaseException as error:
        status = _status_of(error, program)
    _close_output()
    sys.exit(status if isinstance(status, int) else 0)


def _status_of(error: BaseException, program: str) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.ctx.get_help() if error.ctx else "")
        return 0
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        return _say(
            program, _one_line(error.format_message()), status=2 if isinstance(error, click.UsageError) else 1
        )
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return _say(program, "interrupted", status=130)
    if isinstance(error, MemexError):
        return _say(program, str(error), error.hint)
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        return _say(program, f"{error.filename or ''}: {error.strerror or error}".lstrip(": "))
    if isinstance(error, (SystemExit, GeneratorExit)):
        raise error
    log_operation(paths.data_dir(), program, "unexpected", "failed", detail=where(error))
    return _say(
        program,
        f"unexpected {type(error).__name__}: {error}",
        f"see {paths.logs_dir(paths.data_dir())}",
        status=3,
    )


def _say(program: str, message: str, hint: str = "", *, status: int = 1) -> int:
    text = f"{program}: {_one_line(message)}" + (f" ({_one_line(hint)})" if hint else "")
    click.echo(text, err=True)
    return status


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _close_output() -> None:
    """A reader that left early (`| head`) is no failure."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
