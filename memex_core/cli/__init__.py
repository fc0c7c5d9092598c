"""The command line `memex`: each command parses, calls one method of Memex, prints."""

from __future__ import annotations

from memex_core.cli.entry import run


def main() -> None:
    from memex_core.cli.commands import memex

    run(memex, "memex")
