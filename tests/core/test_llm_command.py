"""Programs that are asked: fed on standard input, bounded, and never left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from memex_core.config import LLMConfig
from memex_core.errors import ConfigError, LLMError
from memex_core.llm import client_for
from memex_core.llm.ledger import ledger_path
from memex_core.llm.ready_commands import ready_command, records_of
from memex_core.model.llm import ModelCall

PROMPT = "The cellar door code is nine-seven-one; write it down as JSON."
SYSTEM = "You keep notes for a lighthouse crew."


class Bench:
    """Programs of a few lines, and a client that asks one of them."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self.root = root
        self.calls: list[ModelCall] = []

    def program(self, code: str, name: str = "ask") -> str:
        path = self.folder / name
        header = f"#!{sys.executable}\nimport json, os, signal, subprocess, sys, time\n"
        path.write_text(header + textwrap.dedent(code), "utf-8")
        path.chmod(0o755)
        return str(path)

    def ask(self, code: str, *arguments: str, prompt: str = PROMPT, **values: Any) -> str:
        return self.run([self.program(code), *arguments], prompt=prompt, **values)

    def run(self, command: list[str], *, prompt: str = PROMPT, system: str = SYSTEM, **values: Any) -> str:
        settings = {"provider": "command", "command": command, "timeout": 10.0, **values}
        client = client_for(LLMConfig(**settings), self.root, system=system)
        try:
            return client.complete(prompt, 50)
        finally:
            self.calls = client.calls  # type: ignore[attr-defined]

    def failure(self, code: str, *arguments: str, **values: Any) -> LLMError:
        with pytest.raises(LLMError) as caught:
            self.ask(code, *arguments, **values)
        told = str(caught.value) + caught.value.hint
        assert PROMPT not in told and "\n" not in told
        assert str(caught.value).startswith("command (")
        return caught.value


@pytest.fixture
def bench(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    folder, temporary = tmp_path / "bin", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    return Bench(folder, root)


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while (
        Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]
    ):
        assert time.monotonic() < deadline, f"{pid} still runs"
        time.sleep(0.02)


# --- asking


def test_a_program_is_given_the_system_text_and_the_prompt_and_its_output_is_the_answer(bench: Bench) -> None:
    assert bench.ask("print('heard:', sys.stdin.read())") == f"heard: {SYSTEM}\n\n{PROMPT}"
    (call,) = bench.calls
    assert (call.provider, call.model, call.estimated, call.outcome) == ("command", "ask", True, "ok")
    assert call.prompt_tokens > 10 and call.completion_tokens > 10


def test_without_a_system_text_only_the_prompt_is_given(bench: Bench) -> None:
    command = [bench.program("print(sys.stdin.read())")]
    assert bench.run(command, system="") == PROMPT


def test_arguments_are_passed_as_they_are_and_no_shell_reads_them(bench: Bench) -> None:
    arguments = ["$HOME", "; touch x", "a b", "{}", '{"json": [1]}', "*", ""]
    assert json.loads(bench.ask("print(json.dumps(sys.argv[1:]))", *arguments)) == arguments


def test_the_model_takes_its_place_in_the_command(bench: Bench) -> None:
    assert (
        bench.ask("print(sys.argv[1:])", "-m", "{model}", "x={model}", model="m1") == "['-m', 'm1', 'x=m1']"
    )
    assert bench.calls[0].model == "m1"


def test_an_answer_can_come_in_a_file(bench: Bench) -> None:
    code = "print('noise'); open(sys.argv[1], 'w').write('from the file')"
    assert bench.ask(code, "{answer}") == "from the file"


def test_a_file_that_was_never_written_is_an_empty_answer(bench: Bench) -> None:
    assert "gave an empty answer" in str(bench.failure("print('noise')", "{answer}"))


@pytest.mark.parametrize("made", ["os.mkfifo(p)", "os.symlink('/etc/passwd', p)", "os.mkdir(p)"])
def test_an_answer_file_that_is_no_plain_file_is_not_read(made: str, bench: Bench) -> None:
    assert "gave an empty answer" in str(bench.failure(f"p = sys.argv[1]; {made}", "{answer}"))


def test_a_program_runs_in_an_empty_folder_that_is_gone_afterwards(bench: Bench) -> None:
    code = "print(os.getcwd(), os.environ['PWD'], os.listdir('.'), oct(os.stat('..').st_mode)[-3:])"
    folder, variable, listing, mode = bench.ask(code).split()
    assert (listing, mode) == ("[]", "700")
    assert folder == variable
    assert not Path(folder).exists()
    assert list((bench.folder.parent / "temporary").iterdir()) == []


def test_a_program_sees_that_it_is_a_child_of_ours_and_never_our_key(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEX_API_KEY", "secret")
    monkeypatch.setenv("OTHER_KEY", "its own")
    code = "print([os.environ.get(n) for n in ('MEMEX_CHILD', 'MEMEX_API_KEY', 'OTHER_KEY')])"
    assert bench.ask(code, api_key="secret") == "['1', None, 'its own']"


def test_a_long_prompt_and_a_long_answer_pass_each_other(bench: Bench) -> None:
    prompt = "lighthouse " * 100_000
    assert bench.ask("sys.stdout.write(sys.stdin.read())", prompt=prompt).endswith(prompt.strip())


def test_a_program_need_not_read_its_prompt(bench: Bench) -> None:
    assert bench.ask("print('deaf')", prompt="x" * 1_000_000) == "deaf"


def test_an_answer_that_is_not_utf8_is_read_with_replacements(bench: Bench) -> None:
    assert bench.ask(r"sys.stdout.buffer.write(b'caf\xe9 \x00\xff')") == "caf\ufffd \ufffd"


def test_a_program_is_found_by_home_and_by_a_relative_path(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(bench.program("print('found')"))
    monkeypatch.chdir(program.parent)
    assert bench.run(["./ask"]) == "found"
    monkeypatch.setenv("HOME", str(program.parent))
    assert bench.run(["~/ask"]) == "found"
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    assert bench.run(["ask"]) == "found"


# --- failing


def test_a_missing_program_is_named(bench: Bench) -> None:
    with pytest.raises(
        LLMError, match=r"^command \(no-such-program\): cannot be started \(no such file"
    ) as caught:
        bench.run(["no-such-program", "-x"])
    assert "[llm] command" in caught.value.hint
    assert bench.calls[0].prompt_tokens == 0


def test_a_program_that_may_not_run_is_named(bench: Bench) -> None:
    Path(bench.program("")).chmod(0o600)
    with pytest.raises(LLMError, match="cannot be started \\(permission denied\\)"):
        bench.run([str(bench.folder / "ask")])


def test_an_argument_that_no_program_can_be_given_is_a_failure(bench: Bench) -> None:
    assert "not a usable command" in str(bench.failure("", "a\0b"))


def test_an_exit_status_is_told_with_the_last_line_of_standard_error(bench: Bench) -> None:
    error = bench.failure("print('half'); print('one\\nno credit left\\n', file=sys.stderr); sys.exit(3)")
    assert str(error) == "command (ask): exited with 3: no credit left"
    assert bench.calls[0].outcome == "failed"


def test_standard_error_is_quoted_without_secrets_echoes_and_controls(bench: Bench) -> None:
    token = "ghp_" + "a1B2" * 9
    error = bench.failure(f"print('token {token} \\x1b[31mrefused', file=sys.stderr); sys.exit(1)")
    assert token not in str(error)
    assert str(error).isprintable()
    error = bench.failure("print('bad input: ' + sys.stdin.read()[-40:], file=sys.stderr); sys.exit(1)")
    assert str(error) == "command (ask): exited with 1"


def test_a_program_that_a_signal_ended_is_a_failure(bench: Bench) -> None:
    assert str(bench.failure("print('x', flush=True); os.kill(os.getpid(), 9)")).endswith(
        "was ended by signal 9"
    )


def test_silence_is_an_empty_answer(bench: Bench) -> None:
    assert "gave an empty answer" in str(bench.failure("pass"))


def test_a_flood_ends_the_program(bench: Bench) -> None:
    started = time.monotonic()
    error = bench.failure("while True: sys.stdout.write('x' * 65536)", timeout=60.0)
    assert str(error).endswith("wrote more than 32 MB")
    assert time.monotonic() - started < 10


def test_a_flood_of_standard_error_is_only_noise(bench: Bench) -> None:
    assert bench.ask("sys.stderr.write('y' * 3_000_000); print('calm')") == "calm"


@pytest.mark.parametrize("command", [[], [""], [" "]])
def test_without_a_program_the_key_is_named(command: list[str], root: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[llm\] command is not set"):
        client_for(LLMConfig(provider="command", command=command), root)


def test_a_command_that_asks_for_a_model_needs_one(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[llm\] model is not set"):
        client_for(LLMConfig(provider="command", command=["x", "{model}"]), root)


# --- nothing is left running


def test_a_program_that_hangs_is_ended_at_the_timeout(bench: Bench) -> None:
    started = time.monotonic()
    code = "open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    error = bench.failure(code, str(bench.folder / "pid"), timeout=1.0)
    assert str(error) == "command (ask): no answer within 1 s"
    assert "[llm] timeout" in error.hint
    assert time.monotonic() - started < 8
    wait_until_gone(int((bench.folder / "pid").read_text()))


def test_a_program_that_drips_is_ended_at_the_timeout(bench: Bench) -> None:
    started = time.monotonic()
    bench.failure("while True: print('.', flush=True); time.sleep(0.05)", timeout=1.0)
    assert time.monotonic() - started < 8


STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
open(sys.argv[1], 'w').write(str(child.pid))
"""


def test_what_a_hanging_program_started_ends_with_it(bench: Bench) -> None:
    bench.failure(STUBBORN + "time.sleep(60)", str(bench.folder / "pid"), timeout=1.0)
    wait_until_gone(int((bench.folder / "pid").read_text()))


def test_what_a_program_leaves_behind_is_ended_and_holds_nothing_up(bench: Bench) -> None:
    """The grandchild holds standard output open, and would for a minute."""
    started = time.monotonic()
    assert bench.ask(STUBBORN + "print('done')", str(bench.folder / "pid")) == "done"
    assert time.monotonic() - started < 5
    wait_until_gone(int((bench.folder / "pid").read_text()))


def test_a_flooding_program_is_gone_too(bench: Bench) -> None:
    bench.failure(STUBBORN + "while True: sys.stdout.write('x' * 65536)", str(bench.folder / "pid"))
    wait_until_gone(int((bench.folder / "pid").read_text()))


def test_an_interrupt_ends_the_program_and_is_counted(bench: Bench) -> None:
    code = """
        open(sys.argv[1], 'w').write(str(os.getpid()))
        os.kill(int(sys.argv[2]), signal.SIGINT)
        time.sleep(60)
    """
    with pytest.raises(KeyboardInterrupt):
        bench.ask(code, str(bench.folder / "pid"), str(os.getpid()))
    wait_until_gone(int((bench.folder / "pid").read_text()))
    assert [call.outcome for call in bench.calls] == ["failed"]


ASKER = """
import sys
from pathlib import Path
from memex_core.config import LLMConfig
from memex_core.errors import LLMError
from memex_core.llm import client_for
client = client_for(LLMConfig(provider="command", command=sys.argv[2:]), Path(sys.argv[1]))
try:
    client.complete("x", 5)
except LLMError as error:
    print(error)
"""

MARKED = """
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
apart = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)
open(sys.argv[1] + '.new', 'w').write(f'{os.getpid()} {child.pid} {apart.pid}')
os.rename(sys.argv[1] + '.new', sys.argv[1])
time.sleep(60)
"""


def asker(bench: Bench, *more: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A process of ours whose program is at work, and what that program started."""
    pids = bench.folder / "pids"
    command = [*more, sys.executable, "-c", ASKER, str(bench.root), bench.program(MARKED), str(pids)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while not pids.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, [int(pid) for pid in pids.read_text().split()]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_program_and_all_that_it_started(end: signal.Signals, bench: Bench) -> None:
    process, pids = asker(bench)
    process.send_signal(end)
    assert process.wait(10) in (128 + end, -end)
    for pid in pids:
        wait_until_gone(pid)
    assert list((bench.folder.parent / "temporary").iterdir()) == []
    last = json.loads(ledger_path(bench.root).read_bytes().splitlines()[-1])
    assert last["outcome"] == "failed"


def test_a_signal_that_is_ignored_stays_ignored(bench: Bench) -> None:
    process, pids = asker(bench, "nohup")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    assert process.wait(10) in (128 + signal.SIGTERM, -signal.SIGTERM)
    for pid in pids:
        wait_until_gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_the_program_ends_even_with_a_process_of_ours_that_was_killed(bench: Bench) -> None:
    process, pids = asker(bench)
    process.kill()
    process.wait(10)
    try:
        wait_until_gone(pids[0])
    finally:
        for pid in pids[1:]:
            os.kill(pid, signal.SIGKILL)


def test_signals_are_handled_as_before_once_the_program_has_ended(bench: Bench) -> None:
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    bench.ask("print('x')")
    bench.failure("time.sleep(60)", timeout=1.0)
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_program_runs_in_a_thread_where_no_signal_can_be_handled(bench: Bench) -> None:
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(bench.ask("print('x')")))
    thread.start()
    thread.join()
    assert said == ["x"]


@pytest.mark.skipif(sys.platform != "linux", reason="found in /proc")
def test_what_left_the_group_of_a_program_is_ended_too(bench: Bench) -> None:
    """A grandchild in a session of its own, whose parent has gone."""
    code = """
        sleep = [sys.executable, '-c', 'import time; time.sleep(60)']
        apart = subprocess.Popen(sleep, start_new_session=True)
        open(sys.argv[1], 'w').write(str(apart.pid))
        print('done')
    """
    started = time.monotonic()
    assert bench.ask(code, str(bench.folder / "pid")) == "done"
    assert time.monotonic() - started < 5
    wait_until_gone(int((bench.folder / "pid").read_text()))


def test_no_child_is_left_unreaped(bench: Bench) -> None:
    bench.ask("print('x')")
    bench.failure("time.sleep(60)", timeout=1.0)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


# --- ready settings


READY = tomllib.loads(resources.files("memex_core.llm").joinpath("commands.toml").read_text("utf-8"))


@pytest.fixture(params=READY)
def ready(request: pytest.FixtureRequest, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of each program that has a ready setting; `bench.program(code, name)` stands in for it."""
    monkeypatch.setenv("PATH", str(bench.folder), prepend=os.pathsep)
    return str(request.param)


ECHO_CALL = """
words = sys.stdin.read()
told = json.dumps([sys.argv[1:], dict(os.environ), words])
print('not JSON')
print(json.dumps({'type': 'result', 'is_error': False, 'result': told, 'usage': {'input_tokens': 10,
    'cache_creation_input_tokens': 3, 'cache_read_input_tokens': 4, 'output_tokens': 500}}))
print(json.dumps({'type': 'item.completed', 'item': {'type': 'agent_message', 'text': 'a thought'}}))
print(json.dumps({'type': 'item.completed', 'item': {'type': 'agent_message', 'text': told}}))
print(json.dumps({'type': 'turn.completed', 'usage': {'input_tokens': 17, 'output_tokens': 500}}))
"""


def test_a_name_alone_stands_for_its_ready_setting(ready: str, bench: Bench) -> None:
    bench.program(ECHO_CALL, ready)
    arguments, environment, words = json.loads(bench.run([ready]))
    assert arguments == READY[ready]["arguments"]
    assert words == f"{SYSTEM}\n\n{PROMPT}"
    assert environment["MEMEX_CHILD"] == "1"
    assert environment.items() >= READY[ready]["environment"].items()
    (call,) = bench.calls
    assert (call.prompt_tokens, call.completion_tokens, call.estimated) == (17, 500, False)
    assert call.model == ready


def test_a_ready_setting_names_the_model_only_where_one_is_set(ready: str, bench: Bench) -> None:
    bench.program(ECHO_CALL, ready)
    arguments, *_ = json.loads(bench.run([ready], model="m1"))
    assert arguments == [*READY[ready]["arguments"], "--model", "m1"]


def test_a_ready_setting_does_not_pass_on_what_a_surrounding_session_set(
    ready: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in READY[ready]["without"]:
        monkeypatch.setenv(name, "outer")
    bench.program(ECHO_CALL, ready)
    _, environment, _ = json.loads(bench.run([ready]))
    assert not environment.keys() & set(READY[ready]["without"])


def test_a_path_stands_for_the_ready_setting_too(
    ready: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(bench.folder.parent))
    path = bench.program(ECHO_CALL, ready)
    for command in ([path], [f"{bench.folder}/../bin/{ready}"], [f"~/bin/{ready}"]):
        arguments, environment, _ = json.loads(bench.run(command))
        assert arguments == READY[ready]["arguments"]
        assert environment.items() >= READY[ready]["environment"].items()


def test_a_link_to_a_known_program_stands_for_its_ready_setting(ready: str, bench: Bench) -> None:
    bench.program(ECHO_CALL, ready)
    (bench.folder / "assistant").symlink_to(ready)
    assert json.loads(bench.run(["assistant"]))[0] == READY[ready]["arguments"]


@pytest.mark.parametrize(
    "command",
    [
        ["NAME", "-p"],
        ["NAME", "--model", "m1"],
        ["/usr/bin/NAME", "-x"],
        ["NAME", ""],
        ["NAME -p"],
        ["/usr/bin/NAME -p"],
        ["NAME.cmd", "-p"],
        ["NAME.EXE", "-p"],
        ["env", "A=1", "NAME", "-p"],
        ["/usr/bin/env", "NAME"],
        ["sh", "-c", "NAME -p"],
        ["bash", "-lc", "cat | /opt/NAME -p 2>/dev/null"],
        ["sh", "-c", "X=1;NAME"],
        ["sh", "-c", "unclosed ' NAME"],
        ["npx", "@maker/NAME", "-p"],
        ["npx", "-y", "@maker/NAME@latest", "-p"],
        ["nice", "-n", "5", "timeout", "60", "NAME"],
    ],
)
def test_a_known_program_is_never_run_without_its_ready_setting(
    command: list[str], ready: str, bench: Bench
) -> None:
    ran = bench.folder / "ran"
    bench.program(f"open({str(ran)!r}, 'w'); print('[]')", ready)
    with pytest.raises(
        ConfigError, match=rf"^\[llm\] command runs {ready} with arguments of its own"
    ) as caught:
        bench.run([word.replace("NAME", ready) for word in command])
    assert f'command = ["{ready}"]' in caught.value.hint and "[llm] model" in caught.value.hint
    assert not ran.exists()


def test_the_packages_of_known_programs_are_known_too(bench: Bench) -> None:
    for name, table in READY.items():
        for package in table["packages"]:
            with pytest.raises(ConfigError, match=f"runs {name} "):
                bench.run(["npx", "-y", package])


def test_a_name_that_is_only_an_argument_is_no_program(ready: str, bench: Bench) -> None:
    path = bench.program("print(sys.argv[1:])", "other")
    assert bench.run([path, "-m", ready]) == f"['-m', '{ready}']"
    assert bench.run(["sh", "-c", f"echo {ready}-like"]) == f"{ready}-like"


def test_a_ready_program_without_an_answer_is_a_failure(ready: str, bench: Bench) -> None:
    bench.program("print('{\"type\": \"result\"}'); print('hello')", ready)
    with pytest.raises(LLMError, match=f"^command \\({ready}\\): gave no answer that can be read$"):
        bench.run([ready])


def test_a_ready_program_tells_what_went_wrong_in_its_output(ready: str, bench: Bench) -> None:
    code = """
        print(json.dumps({'type': 'error', 'message': 'Reconnecting...'}))
        print(json.dumps({'type': 'turn.failed', 'error': {'message': 'not logged in'}}))
        print(json.dumps({'type': 'result', 'is_error': True, 'result': 'not logged in', 'usage': {}}))
        sys.exit(1)
    """
    bench.program(code, ready)
    with pytest.raises(LLMError, match=r"exited with 1: not logged in$"):
        bench.run([ready])


def test_a_ready_program_that_is_too_slow_tells_what_it_waited_for(ready: str, bench: Bench) -> None:
    code = """
        print(json.dumps({'type': 'error', 'message': 'Reconnecting...'}), flush=True)
        print(json.dumps({'type': 'result', 'is_error': True, 'result': 'Reconnecting...'}), flush=True)
        time.sleep(60)
    """
    bench.program(code, ready)
    with pytest.raises(LLMError, match=r"no answer within 1 s: Reconnecting\.\.\.$"):
        bench.run([ready], timeout=1.0)


def test_what_a_failed_run_cost_is_taken_from_its_own_count(bench: Bench, ready: str) -> None:
    usage = {"input_tokens": 0, "output_tokens": 0}
    code = f"""
        print(json.dumps({{'type': 'result', 'is_error': True, 'result': 'no', 'usage': {usage}}}))
        print(json.dumps({{'type': 'turn.completed', 'usage': {usage}}}))
        sys.exit(1)
    """
    bench.program(code, ready)
    with pytest.raises(LLMError):
        bench.run([ready])
    (call,) = bench.calls
    assert (call.prompt_tokens, call.completion_tokens, call.estimated) == (0, 0, False)


def test_an_answer_that_the_program_says_was_cut_is_marked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    cutting = [name for name, table in READY.items() if "cut" in table["answer"]]
    monkeypatch.setenv("PATH", str(bench.folder), prepend=os.pathsep)
    for name in cutting:
        record = {**READY[name]["answer"]["cut"]["where"], "is_error": False, "result": "half"}
        bench.program(f"print(json.dumps({record}))", name)
        assert bench.run([name]) == "half"
        assert bench.calls[0].outcome == "cut"
    assert cutting


def test_what_only_the_users_settings_name_is_switched_off_by_name(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = [name for name, table in READY.items() if "switch_off" in table]
    rule = READY[name]["switch_off"]
    monkeypatch.setenv("PATH", str(bench.folder), prepend=os.pathsep)
    bench.program(ECHO_CALL, name)

    def added() -> list[str]:
        arguments: list[str] = json.loads(bench.run([name]))[0]
        return arguments[len(READY[name]["arguments"]) :]

    usual = Path(rule["folder"]).expanduser()
    usual.mkdir(parents=True)
    assert added() == []
    (usual / rule["file"]).write_text(
        f'[{rule["table"]}.web]\nurl = "x"\n[{rule["table"]}."a b"]\n[other.y]\n'
    )
    assert added() == [word.replace("{name}", "web") for word in rule["arguments"]]
    moved = tmp_path / "moved"
    moved.mkdir()
    monkeypatch.setenv(rule["variable"], str(moved))
    assert added() == []
    (moved / rule["file"]).write_text("not = [toml")
    assert added() == []
    (moved / rule["file"]).write_text(f"{rule['table']} = 5")
    assert added() == []


@pytest.mark.parametrize("output", [b"", b"\xff\n[]\n5\n", b"[" * 100_000, b'{"a": 1}\n{"a"'])
def test_output_of_any_shape_is_read_for_its_objects(output: bytes) -> None:
    assert records_of(output) in ([], [{"a": 1}])


@pytest.mark.parametrize("name", READY)
def test_records_of_another_shape_are_no_answer(name: str) -> None:
    found = ready_command([name])
    assert found is not None
    setting = found[1]
    for record in (
        {"type": "result", "is_error": False, "result": 5},
        {"type": "item.completed", "item": []},
        {},
    ):
        assert setting.answer([record]) is None
        assert setting.error([record]) == ""
