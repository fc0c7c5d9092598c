"""The detached worker that a hook starts: `python -I -m memex_hooks.worker`. Drains the spool and ends.

A door without click, so that it starts fast; `memex-hooks drain` is the same act for a person.
"""

from __future__ import annotations

import os
import sys

from memex_core import paths
from memex_core.files.operation_log import log_operation, where
from memex_hooks.capture import drain


def main() -> int:
    if os.environ.get("MEMEX_CHILD"):
        return 0
    os.umask(0o077)
    root = paths.data_dir()
    try:
        results = drain(root, os.environ)
    except Exception as error:
        log_operation(root, "drain", "spool", "failed", detail=where(error))
        return 1
    return 1 if any(result.outcome == "failed" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
