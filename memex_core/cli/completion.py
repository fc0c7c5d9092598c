"""`memex completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from memex_core.cli.output import examples

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_MEMEX_COMPLETE"


@click.command(
    epilog=examples(
        'eval "$(memex completion bash)"                                  (in ~/.bashrc)',
        'eval "$(memex completion zsh)"                                   (in ~/.zshrc, after compinit)',
        "memex completion fish > ~/.config/fish/completions/memex.fish",
    )
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what teaches your shell to complete memex."""
    written_for = get_completion_class(shell)
    assert written_for is not None
    group = click.get_current_context().find_root().command
    click.echo(written_for(group, {}, "memex", VARIABLE).source())
