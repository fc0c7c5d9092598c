"""The command line `memex-hooks`: wiring, capture, health."""

from __future__ import annotations

from memex_core.cli.entry import run


def main() -> None:
    from memex_hooks.cli.commands import memex_hooks

    run(memex_hooks, "memex-hooks")
