"""hook.sh: an envelope or nothing, silence, exit 0, and a worker that the harness never waits for."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HOOKS = Path(__file__).parent.parent.parent / "hooks"
SCRIPT = HOOKS / "claude-code" / "hook.sh"
SHELLS = [["sh"], ["dash"], ["bash", "--posix"], ["busybox", "sh"]]
FOUND_SHELLS = list(
    {os.path.realpath(found): shell for shell in SHELLS if (found := shutil.which(shell[0]))}.values()
)
QUIET_EVENTS = ["Stop", "PreCompact", "SubagentStop", "SessionEnd"]
PAYLOAD = b'{"session_id": "s1", "cwd": "/w", "hook_event_name": "Stop"}\n'
LIMIT = 10 * 1024 * 1024

FAKE_PACKAGE = {
    "__init__.py": "",
    "worker.py": """
import os, sys, time
time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(f"{os.getsid(0) == os.getpid()} {os.getcwd()} {os.environ['MEMEX_DATA_DIR']} {sys.argv[1:]}\\n")
print("the worker's own noise")
""",
    "recall_hook.py": """
import os, sys
sys.stdout.write(f"{sys.argv[1:]} {os.environ['MEMEX_DATA_DIR']} ")
sys.stdout.flush()
sys.stdout.buffer.write(sys.stdin.buffer.read())
sys.stdout.flush()
sys.exit("a complaint and a status of 1")
""",
}


@dataclass
class Machine:
    """A scratch user: an awkward HOME, an installed hook.sh, a Python that has a stand-in for memex_hooks."""

    home: Path
    shell: list[str] = field(default_factory=lambda: ["sh"])
    env: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "memex"

    @property
    def root(self) -> Path:
        return self.home / ".memex"

    @property
    def spool(self) -> Path:
        return self.root / "spool"

    @property
    def log(self) -> Path:
        return self.home / "worker.log"

    @property
    def script(self) -> Path:
        return self.data / "hook.sh"

    def conf(self, root: str = "", python: str = "") -> None:
        (self.data / "hook.conf").write_text(
            f"{root or self.root}\n{python or self.home / 'python'}\n", "utf-8"
        )

    def command(self, harness: str, event: str) -> list[str]:
        return [*self.shell, str(self.script), harness, event]

    def run(
        self, event: str, stdin: bytes = PAYLOAD, harness: str = "claude-code"
    ) -> subprocess.CompletedProcess[bytes]:
        command = self.command(harness, event)
        return subprocess.run(
            command, input=stdin, env=self.env, capture_output=True, check=False, timeout=20
        )

    def envelopes(self) -> list[Path]:
        return sorted(self.spool.glob("*.json"))

    def leftovers(self) -> list[str]:
        return [path.name for path in self.spool.iterdir() if path.suffix != ".json"]

    def worker_lines(self, count: int) -> list[str]:
        wait_for(lambda: self.log.exists() and len(self.log.read_text("utf-8").splitlines()) >= count)
        return self.log.read_text("utf-8").splitlines()


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.01)


def executable(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = tmp_path / "o'neil ünï 目"
    machine = Machine(home)
    machine.data.mkdir(parents=True)
    shutil.copyfile(SCRIPT, machine.script)
    package = home / "packages" / "memex_hooks"
    package.mkdir(parents=True)
    for name, text in FAKE_PACKAGE.items():
        (package / name).write_text(text, "utf-8")
    # -I keeps PYTHONPATH out, as it should: the stand-in takes it off and fails where it was missing.
    take_off = '[ "$1" = -I ] || exit 9\nshift\nPYTHONPATH="$HOME/packages" exec'
    executable(home / "python", f'#!/bin/sh\n{take_off} "{sys.executable}" -P "$@"\n')
    machine.conf()
    machine.env = {"HOME": str(home), "PATH": os.environ["PATH"], "FAKE_LOG": str(machine.log)}
    return machine


@pytest.fixture(params=FOUND_SHELLS, ids=" ".join)
def any_shell(machine: Machine, request: pytest.FixtureRequest) -> Machine:
    machine.shell = [str(shutil.which(request.param[0])), *request.param[1:]]
    return machine


def path_with(folder: Path, names: Iterable[str], **scripts: str) -> str:
    """A PATH of one folder that holds these programs of the machine, and these scripts."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, text in scripts.items():
        executable(folder / name, text)
    return str(folder)


ALL_TOOLS = ("sh", "head", "mv", "rm", "mkdir")

# --- the envelope


def test_both_plugin_folders_hold_the_same_executable_script() -> None:
    scripts = [HOOKS / harness / "hook.sh" for harness in ("claude-code", "codex")]
    assert scripts[0].read_bytes() == scripts[1].read_bytes()
    assert all(os.access(script, os.X_OK) for script in scripts)


@pytest.mark.parametrize("event", QUIET_EVENTS)
def test_an_event_becomes_one_private_envelope_without_a_word(any_shell: Machine, event: str) -> None:
    done = any_shell.run(event)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (envelope,) = any_shell.envelopes()
    assert envelope.name.startswith(f"claude-code.{event}.")
    assert envelope.read_bytes() == f"memex-envelope 1 claude-code {event}\n\n".encode() + PAYLOAD
    assert any_shell.leftovers() == []
    assert envelope.stat().st_mode & 0o777 == 0o600
    assert any_shell.root.stat().st_mode & 0o777 == any_shell.spool.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("harness", "name"), [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")])
def test_the_second_line_is_the_configuration_folder_of_that_harness(
    machine: Machine, harness: str, name: str
) -> None:
    machine.env |= {"CLAUDE_CONFIG_DIR": "/not this", "CODEX_HOME": "/nor this", name: "/my config ü"}
    machine.run("Stop", harness=harness)
    lines = machine.envelopes()[0].read_bytes().split(b"\n")
    assert lines[:2] == [f"memex-envelope 1 {harness} Stop".encode(), "/my config ü".encode()]


def test_a_line_break_in_the_configuration_folder_does_not_shift_the_payload(machine: Machine) -> None:
    machine.env["CODEX_HOME"] = "/a\n/b"
    machine.run("Stop", harness="codex")
    assert machine.envelopes()[0].read_bytes() == b"memex-envelope 1 codex Stop\n\n" + PAYLOAD


@pytest.mark.parametrize(
    "payload", [b"", b"\n", b"junk", b"\x00\x01\xff\xfe", b'{"a": "%s \\n $HOME `id`"}', b"x\r\ny", b"-n"]
)
def test_any_bytes_arrive_as_they_are(any_shell: Machine, payload: bytes) -> None:
    assert any_shell.run("Stop", payload).returncode == 0
    assert any_shell.envelopes()[0].read_bytes() == b"memex-envelope 1 claude-code Stop\n\n" + payload


def test_a_payload_of_ten_megabytes_arrives_whole_and_a_longer_one_is_cut(machine: Machine) -> None:
    machine.run("Stop", b"x" * LIMIT)
    machine.run("SessionEnd", b"y" * (LIMIT + 5))
    longer, whole = (path.read_bytes().split(b"\n", 2)[2] for path in machine.envelopes())
    assert whole == b"x" * LIMIT
    assert longer == b"y" * LIMIT


def test_sixteen_events_at_once_are_sixteen_envelopes(any_shell: Machine) -> None:
    command = any_shell.command("claude-code", "Stop")
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, env=any_shell.env) for _ in range(16)]
    for number, process in enumerate(running):
        process.communicate(b"%d" % number)
    payloads = {path.read_bytes().split(b"\n", 2)[2] for path in any_shell.envelopes()}
    assert payloads == {b"%d" % number for number in range(16)}
    assert any_shell.leftovers() == []


def test_an_envelope_of_an_earlier_process_with_the_same_number_is_not_overwritten(
    any_shell: Machine,
) -> None:
    any_shell.spool.mkdir(parents=True)
    first = f'umask 077; printf old > "{any_shell.spool}/claude-code.Stop.$$.0.json"; exec "$@"'
    command = ["sh", "-c", first, "sh", *any_shell.command("claude-code", "Stop")]
    subprocess.run(command, input=PAYLOAD, env=any_shell.env, check=True)
    old, new = any_shell.envelopes()
    assert (old.read_bytes(), new.name) == (b"old", old.name.replace(".0.json", ".1.json"))
    assert new.read_bytes().endswith(PAYLOAD)


def test_the_temporary_of_another_process_with_the_same_number_is_left_alone(any_shell: Machine) -> None:
    any_shell.spool.mkdir(parents=True)
    first = f'printf theirs > "{any_shell.spool}/.claude-code.Stop.$$.0.tmp"; exec "$@"'
    command = ["sh", "-c", first, "sh", *any_shell.command("claude-code", "Stop")]
    subprocess.run(command, input=PAYLOAD, env=any_shell.env, check=True)
    (temporary,) = any_shell.leftovers()
    assert (any_shell.spool / temporary).read_bytes() == b"theirs"
    assert any_shell.envelopes()[0].name.endswith(".1.json")


def test_a_killed_hook_leaves_a_whole_envelope_or_a_hidden_temporary(machine: Machine) -> None:
    chance = random.Random(7)
    payload = b"z" * 200_000 + b"END"
    for _ in range(40):
        command = machine.command("claude-code", "Stop")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=machine.env, start_new_session=True)
        killer = chance.random() * 0.008
        assert process.stdin is not None
        try:
            process.stdin.write(payload[:1000])
            process.stdin.flush()
            time.sleep(killer / 2)
            process.stdin.write(payload[1000:])
            process.stdin.close()
            time.sleep(killer / 2)
            os.killpg(process.pid, signal.SIGKILL)
        except (BrokenPipeError, ProcessLookupError):
            pass
        process.wait()
    assert all(
        path.read_bytes() == b"memex-envelope 1 claude-code Stop\n\n" + payload
        for path in machine.envelopes()
    )
    assert all(name.startswith(".") for name in machine.leftovers())


# --- silence


@pytest.mark.parametrize("event", ["Stop", "SessionStart", "UserPromptSubmit", "../x"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_neither_status_nor_silence(
    any_shell: Machine, event: str, closed: str
) -> None:
    any_shell.conf(python="/nowhere/python")
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *any_shell.command("claude-code", event)]
    done = subprocess.run(command, input=PAYLOAD, env=any_shell.env, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "arguments", [[], ["claude-code"], ["Stop"], ["unknown", "Stop"], ["a/b", "Stop"], ["codex", "Stop\n"]]
)
def test_wrong_arguments_do_nothing(any_shell: Machine, arguments: list[str]) -> None:
    command = [*any_shell.shell, str(any_shell.script), *arguments]
    done = subprocess.run(command, input=PAYLOAD, env=any_shell.env, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not any_shell.root.exists()


def test_a_prompt_is_let_through_without_a_trace(any_shell: Machine) -> None:
    done = any_shell.run("UserPromptSubmit")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not any_shell.root.exists()


@pytest.mark.parametrize("event", [*QUIET_EVENTS, "SessionStart"])
def test_a_child_of_ours_does_nothing(any_shell: Machine, event: str) -> None:
    any_shell.env["MEMEX_CHILD"] = "1"
    done = any_shell.run(event)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not any_shell.root.exists()


@pytest.mark.parametrize("event", ["Stop", "SessionStart"])
def test_without_home_and_settings_nothing_happens(any_shell: Machine, event: str) -> None:
    script = any_shell.home / "elsewhere.sh"
    shutil.copyfile(SCRIPT, script)
    command = [*any_shell.shell, str(script), "codex", event]
    done = subprocess.run(
        command, input=PAYLOAD, env={"PATH": os.environ["PATH"]}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_empty_environment_is_enough_for_an_installed_hook(any_shell: Machine) -> None:
    any_shell.env = {}
    assert any_shell.run("Stop").returncode == 0
    assert len(any_shell.envelopes()) == 1


@pytest.mark.parametrize("event", ["Stop", "SessionStart"])
def test_a_shell_that_runs_out_of_open_files_still_ends_well(any_shell: Machine, event: str) -> None:
    any_shell.conf(python="/nowhere/python")
    command = ["sh", "-c", 'ulimit -n 12; exec "$@"', "sh", *any_shell.command("claude-code", event)]
    done = subprocess.run(command, input=PAYLOAD, env=any_shell.env, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("event", QUIET_EVENTS)
def test_a_memory_that_cannot_be_written_costs_nothing_but_the_envelope(
    any_shell: Machine, event: str
) -> None:
    (any_shell.home / "file").write_bytes(b"")
    any_shell.env["MEMEX_DATA_DIR"] = str(any_shell.home / "file" / "memex")
    done = any_shell.run(event)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_full_disk_leaves_neither_envelope_nor_temporary(machine: Machine, tmp_path: Path) -> None:
    full = '#!/bin/sh\nprintf half\necho "head: write error: No space left on device" >&2\nexit 1\n'
    machine.env["PATH"] = path_with(tmp_path / "bin", {*ALL_TOOLS} - {"head"}, head=full)
    done = machine.run("Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(machine.spool.iterdir()) == []


def test_an_event_costs_two_programs_before_the_hook_returns(machine: Machine, tmp_path: Path) -> None:
    real = {
        name: shutil.which(name) for name in ("head", "mv", "rm", "mkdir", "setsid", "cat", "dirname", "date")
    }
    noted = {
        name: f'#!/bin/sh\necho {name} >> "{tmp_path}/programs"\nexec {where or "false"} "$@"\n'
        for name, where in real.items()
    }
    machine.spool.mkdir(parents=True)
    machine.env["PATH"] = path_with(tmp_path / "bin", ["sh"], **noted)
    machine.run("Stop")
    machine.worker_lines(1)
    assert (tmp_path / "programs").read_text("utf-8").split() == ["head", "mv", "setsid"]


# --- where things are


def test_the_environment_outranks_hook_conf_which_outranks_the_home(machine: Machine) -> None:
    machine.conf(root=str(machine.home / "from conf"))
    machine.run("Stop")
    assert len(list((machine.home / "from conf" / "spool").glob("*.json"))) == 1
    machine.env["MEMEX_DATA_DIR"] = str(machine.home / "from env")
    machine.run("Stop")
    assert len(list((machine.home / "from env" / "spool").glob("*.json"))) == 1
    assert not machine.root.exists()


def test_without_hook_conf_the_memory_is_in_the_home(machine: Machine) -> None:
    (machine.data / "hook.conf").unlink()
    machine.run("Stop")
    assert len(machine.envelopes()) == 1


def test_a_tilde_and_a_relative_folder_are_understood(machine: Machine, tmp_path: Path) -> None:
    machine.env["MEMEX_DATA_DIR"] = "~/mine"
    machine.run("Stop")
    assert len(list((machine.home / "mine" / "spool").glob("*.json"))) == 1
    machine.env["MEMEX_DATA_DIR"] = "near here"
    subprocess.run(machine.command("codex", "Stop"), input=PAYLOAD, env=machine.env, cwd=tmp_path, check=True)
    assert len(list((tmp_path / "near here" / "spool").glob("*.json"))) == 1


def test_a_plugin_copy_finds_hook_conf_in_the_data_home(machine: Machine, tmp_path: Path) -> None:
    moved = tmp_path / "xdg"
    shutil.move(machine.data, moved / "memex")
    machine.conf = lambda: None  # type: ignore[method-assign]
    (moved / "memex" / "hook.conf").write_text(
        f"{machine.home / 'xdg root'}\n{machine.home / 'python'}\n", "utf-8"
    )
    machine.env["XDG_DATA_HOME"] = str(moved)
    subprocess.run(["sh", str(SCRIPT), "codex", "Stop"], input=PAYLOAD, env=machine.env, check=True)
    assert len(list((machine.home / "xdg root" / "spool").glob("*.json"))) == 1
    assert "xdg root" in machine.worker_lines(1)[0]


# --- the worker


@pytest.mark.parametrize("setsid", [True, False])
def test_the_worker_has_a_session_of_its_own_and_holds_no_folder(
    any_shell: Machine, tmp_path: Path, setsid: bool
) -> None:
    tools = [*ALL_TOOLS, "setsid"] if setsid else ALL_TOOLS
    any_shell.env["PATH"] = path_with(tmp_path / "bin", tools)
    done = any_shell.run("Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert any_shell.worker_lines(1) == [f"True / {any_shell.root} []"]


def test_the_hook_returns_while_the_worker_still_works(any_shell: Machine) -> None:
    any_shell.env["FAKE_SLEEP"] = "0.5"
    any_shell.run("Stop")  # reads its output to the end: a worker that held the pipe would be waited for
    assert not any_shell.log.exists()
    any_shell.worker_lines(1)


def test_the_worker_outlives_the_death_of_the_whole_process_group(machine: Machine) -> None:
    machine.env["FAKE_SLEEP"] = "0.3"
    group = subprocess.Popen(
        ["sh", "-c", '"$@"; read _', "sh", *machine.command("claude-code", "SessionEnd")],
        stdin=subprocess.PIPE,
        env=machine.env,
        start_new_session=True,
    )
    assert group.stdin is not None
    wait_for(lambda: machine.spool.is_dir())
    group.stdin.close()
    wait_for(lambda: len(machine.envelopes()) == 1)
    time.sleep(0.1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group.pid, signal.SIGKILL)
    group.wait()
    machine.worker_lines(1)


@pytest.mark.parametrize("python", ["/nowhere/python", "/", ""])
def test_without_a_python_the_envelope_waits(any_shell: Machine, python: str) -> None:
    (any_shell.data / "hook.conf").write_text(f"{any_shell.root}\n{python}\n", "utf-8")
    for event in ("Stop", "SessionStart"):
        done = any_shell.run(event)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(any_shell.envelopes()) == 2


@pytest.mark.parametrize("on_path", [True, False])
def test_a_plugin_alone_runs_memex_hooks_from_the_path_or_the_usual_folder(
    machine: Machine, on_path: bool
) -> None:
    (machine.data / "hook.conf").unlink()
    folder = machine.home / ("bin" if on_path else ".local/bin")
    folder.mkdir(parents=True)
    executable(folder / "memex-hooks", f'#!/bin/sh\necho "$1 $MEMEX_DATA_DIR" >> "{machine.log}"\n')
    if on_path:
        machine.env["PATH"] = f"{folder}:{machine.env['PATH']}"
    assert machine.run("Stop").stdout == b""
    assert machine.worker_lines(1) == [f"drain {machine.root}"]


def test_a_plugin_alone_recalls_with_the_python_that_memex_hooks_names(
    machine: Machine, tmp_path: Path
) -> None:
    (machine.data / "hook.conf").unlink()
    python = executable(tmp_path / "python3", (machine.home / "python").read_text("utf-8"))
    folder = machine.home / ".local" / "bin"
    folder.mkdir(parents=True)
    executable(folder / "memex-hooks", f"#!{python}\n")
    assert machine.run("SessionStart").stdout.endswith(PAYLOAD)
    assert machine.worker_lines(1)


# --- a session starts


def test_recall_gets_the_payload_and_its_output_is_the_answer(any_shell: Machine) -> None:
    done = any_shell.run("SessionStart")
    expected = f"['claude-code', 'SessionStart'] {any_shell.root} ".encode() + PAYLOAD
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")
    assert len(any_shell.envelopes()) == 1
    any_shell.worker_lines(1)


def test_recall_answers_where_the_memory_cannot_be_written(any_shell: Machine) -> None:
    (any_shell.home / "file").write_bytes(b"")
    any_shell.env["MEMEX_DATA_DIR"] = str(any_shell.home / "file" / "memex")
    done = any_shell.run("SessionStart")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(PAYLOAD)


def test_a_worker_that_took_the_envelope_at_once_does_not_take_it_from_recall(
    machine: Machine, tmp_path: Path
) -> None:
    real = shutil.which("mv")
    greedy = f'#!/bin/sh\n{real} "$@"\n{shutil.which("rm")} -f "$3"\n'
    machine.env["PATH"] = path_with(tmp_path / "bin", {*ALL_TOOLS} - {"mv"}, mv=greedy)
    assert machine.run("SessionStart").stdout.endswith(PAYLOAD)
    assert machine.envelopes() == []
