"""Claim: the hook that drops an envelope takes at most 3 times `sh -c 'cat >> file'` (issue 2, Speed)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from figures import interleaved, report

HOOKS = Path(__file__).parent.parent / "hooks"
RUNS = 200


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = shutil.copyfile(HOOKS / "claude-code" / "hook.sh", folder / "hook.sh")
        # A worker that ends at once: what is measured is the time for which the harness waits.
        (folder / "hook.conf").write_text(f"{folder}/memory\n/bin/true\n", "utf-8")
        payload = json.dumps(
            {"session_id": "s1", "transcript_path": "/nowhere.jsonl", "cwd": "/", "hook_event_name": "Stop"}
        ).encode()
        env = {"HOME": name, "PATH": os.environ["PATH"]}
        (folder / "memory" / "spool").mkdir(parents=True)

        def run(*command: str) -> None:
            subprocess.run(command, input=payload, env=env, check=True, stdout=subprocess.DEVNULL)

        shells = [shell for shell in ("sh", "dash", "bash") if shutil.which(shell)]
        acts = {
            f"{shell} -c 'cat >> file'": (lambda s=shell: run(s, "-c", f"cat >> {folder}/file"))
            for shell in shells[:1]
        }
        for shell in shells:
            acts[f"{shell} hook.sh claude-code Stop"] = lambda s=shell: run(
                s, str(script), "claude-code", "Stop"
            )
        report("The hook that drops an envelope", interleaved(acts, runs=RUNS), goal="ratio at most 3")


if __name__ == "__main__":
    main()
