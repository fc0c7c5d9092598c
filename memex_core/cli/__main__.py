"""`python -m memex_core.cli`."""

from memex_core.cli import main

main()
