"""`memex serve-mcp` and `memex watch`."""

from __future__ import annotations

import signal
import threading

import click

from memex_core.cli.output import data_dir, data_dir_option, examples, open_memex


@click.command(
    "serve-mcp",
    epilog=examples("memex serve-mcp", "memex-hooks install --mcp     (has it started for you)"),
)
@data_dir_option
def serve_mcp() -> None:
    """Serve memory to a program that speaks MCP.

    On standard input and output, until that program closes them.
    """
    from memex_core.config import root_and_config
    from memex_core.mcp_server import serve

    serve(*root_and_config(data_dir()))


def _checked_interval(
    _context: click.Context, _parameter: click.Parameter, value: float | None
) -> float | None:
    if not value:
        return value
    from memex_core.watcher import LEAST_POLL_S, MOST_POLL_S

    if LEAST_POLL_S <= value <= MOST_POLL_S:
        return value
    wanted = f"from {LEAST_POLL_S:g} to {MOST_POLL_S:g} seconds, or 0 for never"
    raise click.BadParameter(f"{value:g} is not in the range: {wanted}")


@click.command(epilog=examples("memex watch", "memex watch --poll-interval 10"))
@click.option(
    "--poll-interval",
    type=float,
    default=None,
    callback=_checked_interval,
    metavar="SECONDS",
    help="Look at every file this often too; 0 never (default: [index] watch_poll_interval).",
)
@data_dir_option
def watch(poll_interval: float | None) -> None:
    """Keep the index in step with your editor.

    Until Ctrl-C. Nobody has to: every command looks at the files first.
    """
    from memex_core.watcher import watch as watch_memory

    memex, stop = open_memex(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    watch_memory(memex, poll_interval=poll_interval, report=click.echo, stop=stop)
