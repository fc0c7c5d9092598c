"""How a command line begins and ends: standard streams that hold anything, one line on standard error, and an
exit code that says what kind of failure it was.

0 done · 1 expected failure · 2 wrong arguments · 3 unexpected (the operation log has the trace) · 130
interrupted
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Sequence

import click

from memex_core import paths
from memex_core.errors import MemexError

EXIT_STATUS = (
    "Exit status: 0 done, 1 failed (the message says why), 2 wrong arguments, 3 unexpected, 130 interrupted."
)


_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def run(group: click.Group, program: str, arguments: Sequence[str] | None = None) -> None:
    """Run a click group and exit with the status of `EXIT_STATUS`; `arguments` None: those of the process.
    Everything it writes is private (umask 077).
    """
    os.umask(0o077)
    _prepare_streams()
    chosen: dict[str, str] = {}  # the group's `obj`: what its options say about the whole line
    typed = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _invoke(group, program, typed, chosen)
    except BaseException as error:
        status = _status_of(_wrong_argument(error, typed) or error, program, chosen)
    sys.exit(_close_output(program, status))


def _invoke(group: click.Group, program: str, arguments: list[str], chosen: dict[str, str]) -> int:
    """Run one line, or answer the shell that asks how one could go on."""
    variable = f"_{program.replace('-', '_')}_COMPLETE".upper()
    asked = os.environ.get(variable)
    if asked:
        from click.shell_completion import shell_complete

        with contextlib.suppress(
            Exception
        ):  # whatever is wrong, a line that is being typed is no place for it
            shell_complete(group, {"obj": chosen}, program, variable, asked)
        return 0
    colour = False if os.environ.get("NO_COLOR") else None  # None: on a terminal
    with group.make_context(program, arguments, obj=chosen, color=colour) as context:
        group.invoke(context)
    return 0


def _prepare_streams() -> None:
    """A stream that was closed becomes the null device, so that no file of ours takes its number; what a
    terminal cannot show is shown as `?`.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _wrong_argument(error: BaseException, arguments: list[str]) -> click.UsageError | None:
    """What an argument that is no text did where text belongs; a path may be of any bytes."""
    odd = next((each for each in arguments if any("\ud800" <= char <= "\udfff" for char in each)), None)
    if odd is None or not isinstance(error, UnicodeEncodeError):
        return None
    return click.UsageError(f"not UTF-8: {os.fsencode(odd)!r}")


def _status_of(error: BaseException, program: str, chosen: dict[str, str]) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.ctx.get_help() if error.ctx else "")
        return 0
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        return _say(program, error.format_message(), status=2 if isinstance(error, click.UsageError) else 1)
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        if sys.stderr is not None and sys.stderr.isatty():
            click.echo(err=True)  # the terminal shows ^C, or a question, on this line
        return _say(program, "interrupted", status=130)
    if isinstance(error, MemexError):
        return _say(program, str(error), error.hint)
    if isinstance(error, BrokenPipeError):  # a reader that left early (`| head`) is no failure
        _discard_output()
        return 0
    if isinstance(error, OSError):
        return _say(program, f"{_place(error)}: {error.strerror or error}".lstrip(": "))
    if isinstance(error, (SystemExit, GeneratorExit)):
        raise error
    return _unexpected(error, program, chosen)


def _place(error: OSError) -> str:
    """What failed: a file, or the folder of one that is ours for a moment. What cannot be written and has no
    name is standard output.
    """
    from memex_core.files.atomic import TEMP_PREFIX, TEMP_SUFFIX

    if error.filename:
        folder, name = os.path.split(os.fsdecode(error.filename))
        return folder if name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX) else f"{folder}/{name}"
    return "standard output" if error.errno in _NOT_WRITTEN else ""


def _unexpected(error: BaseException, program: str, chosen: dict[str, str]) -> int:
    from memex_core.config import memory_root_of
    from memex_core.files.operation_log import log_operation, where

    try:
        root = memory_root_of(chosen.get("data_dir"))
    except MemexError:
        root = paths.data_dir()
    log_operation(root, program, "unexpected", "failed", detail=where(error))
    message = f"unexpected {type(error).__name__}: {error}"
    return _say(program, message, f"see {paths.logs_dir(root)}", status=3)


def _say(program: str, message: str, hint: str = "", *, status: int = 1) -> int:
    text = f"{program}: {_one_line(message)}" + (f" ({_one_line(hint)})" if hint else "")
    with contextlib.suppress(OSError):
        click.echo(text, err=True)
    return status


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _close_output(program: str, status: int) -> int:
    """Write out what waits in standard output; the status is then `status`, or 1 where that is 0, the output
    cannot be written, and nobody left early.
    """
    if sys.stdout is None:
        return status
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard_output()
        if not status and not isinstance(error, BrokenPipeError):
            return _say(program, f"standard output: {error.strerror or error}")
    return status


def _discard_output() -> None:
    """What still waits would fail once more at the interpreter's end, and be reported there."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
