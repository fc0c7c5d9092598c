"""`python -m memex_hooks.cli`."""

from memex_hooks.cli import main

main()
