"""`memex completion` (issue 3 item 2): the scripts do their work in the shells they are for."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from memex_program import memex_cli

from memex_core.cli.completion import SHELLS
from memex_core.memex import Memex
from memex_core.model.node import WriteInput

LINES = [
    ("memex rec", {"recall"}),
    ("memex sessions pr", {"prune"}),
    ("memex recall --inc", {"--include-expired"}),
    ("memex list --type pro", {"procedure"}),
    ("memex show zeph", {"zephyr"}),
    ("memex edit our-", {"our-rule", "our-漢字"}),
    ("memex forget --mode so", {"soft"}),
    ("memex journal --page zeph", {"zephyr"}),
    ("memex completion ", set(SHELLS)),
]
BASH = """
source /dev/stdin <<< "$(memex completion bash)"
COMP_LINE="$LINE" COMP_POINT=${#LINE}
read -ra COMP_WORDS <<< "$LINE"; [[ $LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
complete -p memex > /dev/null || exit 9
_memex_completion memex "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" 2> /dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
autoload -U compinit && compinit -u -d "$ZDOTDIR/dump"
eval "$(memex completion zsh)"
[[ ${_comps[memex]} == _memex_completion ]] || exit 9
compadd() { print -l -- "${(@P)@[-1]}" }
_describe() { local each; for each in "${(@P)3}"; do print -- "${each%%:*}"; done }
words=(${(z)LINE}); [[ $LINE == *" " ]] && words+=("")
CURRENT=$#words
_memex_completion
"""
FISH = """
memex completion fish | source
complete -C "$LINE" | cut -f1
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@pytest.fixture
def shells(root: Path, tmp_path: Path) -> dict[str, str]:
    """An environment in which `memex` is on the PATH, and a memory with three pages."""
    memex = Memex(root)
    memex.write(WriteInput("entity", "Zephyr", "The quokka server."))
    memex.write(WriteInput("procedure", "Our rule", "x"))
    memex.write(WriteInput("summary", "Our 漢字", "x"))
    program = tmp_path / "bin" / "memex"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m memex_core.cli "$@"\n', "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "ZDOTDIR": str(tmp_path), "TERM": "dumb"}


def completed(shell: str, line: str, environment: dict[str, str]) -> set[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not on this machine")
    done = subprocess.run(
        [program, "-c", SCRIPTS[shell]],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "LINE": line},
    )
    assert done.returncode == 0, done.stderr
    return {word.strip() for word in done.stdout.splitlines() if word.strip()}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_completes_commands_options_types_and_pages(shell: str, shells: dict[str, str]) -> None:
    for line, expected in LINES:
        assert completed(shell, line, shells) == expected, line


def test_completion_looks_into_the_memory_that_the_line_names(shells: dict[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    Memex(other).write(WriteInput("entity", "Zebra", "x"))
    for line in (f"memex --data-dir {other} show ze", f"memex show --data-dir {other} ze"):
        assert completed("bash", line, shells) == {"zebra"}, line


def test_completion_of_a_memory_that_is_not_there_is_empty_and_makes_none(
    shells: dict[str, str], tmp_path: Path
) -> None:
    line = f"memex --data-dir {tmp_path / 'none'} show "
    assert completed("bash", line, shells) == set()
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "options"), [("bash", ["--norc", "-i"]), ("zsh", ["-f", "-i"]), ("fish", ["-N", "-i"])]
)
def test_the_tab_key_completes_at_a_prompt(shell: str, options: list[str], shells: dict[str, str]) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not on this machine")
    loads = {
        "bash": 'eval "$(memex completion bash)"',
        "zsh": 'autoload -U compinit && compinit -u -d "$ZDOTDIR/dump" && eval "$(memex completion zsh)"',
        "fish": "memex completion fish | source",
    }[shell]
    shown = typed_into([program, *options], [f"{loads}\n", "memex show zeph\t", "--text\n", "exit\n"], shells)
    assert "The quokka server." in shown


def typed_into(command: list[str], typed: list[str], environment: dict[str, str]) -> str:
    """What a terminal shows when each of `typed` is typed as soon as the program is silent."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # job control wants a terminal of its own
    )
    os.close(theirs)
    shown, left, until = b"", list(typed), time.monotonic() + 20
    try:
        while time.monotonic() < until:
            if not select.select([ours], [], [], 0.6)[0]:
                if not left:
                    break
                os.write(ours, left.pop(0).encode())
                continue
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return shown.decode("utf-8", "replace")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_itself_finds_no_fault_in_the_script(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not on this machine")
    (tmp_path / "script").write_text(memex_cli("completion", shell).stdout, "utf-8")
    done = subprocess.run(
        [program, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
