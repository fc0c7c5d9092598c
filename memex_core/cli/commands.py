"""The group `memex`: which command is in which module. A command's module is loaded when it is called."""

from __future__ import annotations

import difflib
import importlib

import click

from memex_core import __version__
from memex_core.cli.entry import EXIT_STATUS
from memex_core.cli.output import data_dir_option

SECTIONS = {
    "Find": {
        "recall": "recall:recall",
        "show": "pages:show",
        "list": "pages:list_pages",
        "grep": "grep:grep",
        "links": "links:links",
        "graph": "graph:graph",
        "provenance": "pages:provenance",
    },
    "Write": {
        "write": "write:write",
        "edit": "edit:edit",
        "item": "items:item",
        "forget": "forget:forget",
        "consolidate": "consolidate:consolidate",
        "decay": "forget:decay",
    },
    "Sessions": {
        "sessions": "sessions:sessions",
        "ingest-transcript": "transcripts:ingest_transcript",
        "diary": "diary:diary",
        "journal": "journal:journal",
    },
    "Keep": {
        "backup": "backup:backup",
        "restore": "backup:restore",
        "export": "exchange:export_nodes",
        "import": "exchange:import_nodes",
        "embed": "embed:embed",
        "info": "index:info",
        "rebuild-index": "index:rebuild_index",
    },
    "Serve": {
        "serve-mcp": "serve:serve_mcp",
        "watch": "serve:watch",
        "completion": "completion:completion",
    },
}
"""Heading -> command -> its module in this folder and its name there."""
PLACES = {name: place for commands in SECTIONS.values() for name, place in commands.items()}


class Commands(click.Group):
    """Commands by what they are for; only the one that is called is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLACES:
            return None
        module, _, attribute = PLACES[cmd_name].partition(":")
        command = getattr(importlib.import_module(f"memex_core.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = difflib.get_close_matches(args[0], PLACES, n=1)
            meant = f"; did you mean {near[0]}?" if near else "; memex --help lists them"
            raise click.UsageError(f"no command {args[0]!r}{meant}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, PLACES))
        for heading, commands in SECTIONS.items():
            formatter.write(f"\n{heading}:\n" if heading == "Find" else f"{heading}:\n")
            for name in commands:
                command = self.get_command(ctx, name)
                line = command.get_short_help_str(60) if command else ""
                formatter.write(f"  {name.ljust(width)}  {line}\n")


@click.group(cls=Commands, epilog=EXIT_STATUS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="memex")
@data_dir_option
def memex() -> None:
    """Memory of your coding sessions: Markdown you can read, edit and search."""
