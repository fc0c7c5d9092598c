"""The MCP server as a program: a session through the SDK's own client, resources, what reaches which stream,
its end (issue 3 item 5).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_pipe import COMMAND, GREETING, Pipe, protocol_lines
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY, PaginatedRequestParams

from memex_core import __version__
from memex_core.mcp_server import tools
from memex_core.memex import Memex
from memex_core.model.node import WikiNode, WriteInput

PATCHED = """\
import os, sys, time
import memex_core.memex as m
from memex_core.model.results import ConsolidationReport
{patch}
sys.argv[1:] = ["serve-mcp"]
from memex_core.cli import main
main()
"""
SLOW = """
def consolidate(self, input):
    time.sleep(30)
m.Memex.consolidate = consolidate
"""
NOISY = """
recall = m.Memex.recall
def noisy(self, *arguments, **options):
    print("a stray print")
    sys.stdout.flush()
    os.write(1, b"a stray write\\n")
    os.system("echo a stray child; cat")
    print("a print that is never flushed", end="")
    return recall(self, *arguments, **options)
m.Memex.recall = noisy
"""
BROKEN = """
def broken(self, *arguments, **options):
    raise KeyError("secret of the memory in " + str(self.root))
m.Memex.recall = m.Memex.get_provenance = broken
"""


def patched(patch: str) -> list[str]:
    """The command that serves, with a method of Memex that does something else."""
    return [sys.executable, "-c", PATCHED.format(patch=patch)]


@pytest.fixture
def pipe(root: Path) -> Iterator[Pipe]:
    with Pipe(root) as running:
        yield running.greet()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    """A server for tests that change nothing."""
    with Pipe(tmp_path_factory.mktemp("shared") / "memex") as running:
        yield running.greet()


def session(root: Path, act: Callable[[ClientSession], Awaitable[None]]) -> None:
    """What the SDK's own client does in a session with the server."""

    async def run() -> None:
        env = {**os.environ, "MEMEX_DATA_DIR": str(root)}
        server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=env)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as client:
            greeting = await client.initialize()
            assert greeting.server_info.name == "memex"
            assert greeting.server_info.version == __version__
            assert greeting.instructions == tools.INSTRUCTIONS
            await act(client)

    anyio.run(run)


# --- through the SDK's client


def test_the_client_of_the_sdk_lists_and_calls_every_tool(root: Path) -> None:
    async def act(client: ClientSession) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(tools.TOOLS)
        for tool in listed:
            assert tool.description and tool.title and tool.output_schema and tool.annotations
            assert tool.annotations.open_world_hint is (tool.name == "memex_consolidate")

        async def call(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)  # it checks the result against the output schema
            assert not result.is_error, result
            return result.structured_content

        turn = {"role": "user", "content": "I prefer tabs.", "ts": "2026-09-15T10:00:00Z", "turn": 1}
        assert (await call("memex_write", type="entity", title="Server", body="Zephyr."))["slug"] == "server"
        assert (await call("memex_recall", query="zephyr"))["hits"][0]["slug"] == "server"
        assert (await call("memex_read", slug="server"))["body"].strip() == "Zephyr."
        assert (await call("memex_ingest_transcript", session_id="s1", turns=[turn]))["turn_count"] == 1
        assert (await call("memex_provenance", slug="s1"))["confidence"] == "direct"
        nodes = (await call("memex_export"))["nodes"]
        assert (await call("memex_import", nodes=nodes))["imported"] == 0
        assert (await call("memex_diary_append", content="Met Kim."))["date"]
        assert (await call("memex_items"))["files"] == []
        assert (await call("memex_forget", slug="server"))["forgotten"] is True

        failed = await client.call_tool("memex_read", {"slug": "nothing"})
        assert failed.is_error and "memex_recall" in failed.content[0].text  # type: ignore[union-attr]

    session(root, act)


def test_a_client_of_the_newest_protocol_needs_no_initialize(root: Path) -> None:
    stamp = {PROTOCOL_VERSION_META_KEY: "2026-07-28", CLIENT_CAPABILITIES_META_KEY: {}}
    with Pipe(root) as pipe:
        found = pipe.ask("server/discover", {"_meta": stamp})["result"]
        assert found["instructions"] == tools.INSTRUCTIONS
        call = {"name": "memex_recall", "arguments": {"query": "x"}, "_meta": stamp}
        assert pipe.ask("tools/call", call)["result"]["structuredContent"]["hits"] == []


def test_pages_are_resources(root: Path) -> None:
    memex = Memex(root)
    for number in range(230):
        memex.store.write(WikiNode("entity", f"Page {number}", f"Body {number}."))
    memex.write(WriteInput("preference", "Größe & Maß", "Metrisch."))

    async def act(client: ClientSession) -> None:
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memex://page/{type}/{slug}"
        found, cursor, lists = [], None, 0
        while lists == 0 or cursor:
            listed = await client.list_resources(params=PaginatedRequestParams(cursor=cursor))
            found, cursor, lists = [*found, *listed.resources], listed.next_cursor, lists + 1
        assert (len(found), len({resource.uri for resource in found}), lists) == (231, 231, 3)
        resource = next(each for each in found if each.title == "Größe & Maß")
        assert resource.mime_type == "text/markdown"
        (content,) = (await client.read_resource(resource.uri)).contents
        assert content.mime_type == "text/markdown"
        assert "Metrisch." in content.text and "memex-memory" in content.text  # type: ignore[union-attr]

    session(root, act)


NO_RESOURCES = [
    "",
    "file:///etc/passwd",
    "memex://page/entity/none",
    "memex://page/memory/a",
    "memex://page/entity/a/b",
    "memex://page/entity/%00",
    "memex://page/entity/../../mem",
    "memex://page/entity/..%2F..%2Fmem",
    pytest.param("x" * 100_000, id="a long one"),
]


@pytest.mark.parametrize("uri", NO_RESOURCES)
def test_a_resource_that_is_none_is_an_error_without_a_path(shared: Pipe, uri: str) -> None:
    error = shared.ask("resources/read", {"uri": uri})["error"]
    assert error["code"] == -32602
    assert "/memex" not in error["message"] and "passwd" not in error["message"]


# --- the streams


def test_nothing_but_protocol_reaches_standard_output(root: Path) -> None:
    with Pipe(root, patched(NOISY)) as pipe:
        pipe.greet()
        assert not pipe.call("memex_recall", query="x")["isError"]
        assert pipe.end() == 0
        assert len(list(protocol_lines(pipe.lines))) == 2
        said = pipe.stderr()
    for stray in ("a stray print", "a stray write", "a stray child", "a print that is never flushed"):
        assert stray in said


def test_what_nobody_expected_is_told_to_the_log_alone(root: Path) -> None:
    with Pipe(root, patched(BROKEN)) as pipe:
        pipe.greet()
        failed = pipe.call("memex_recall", query="x")
        assert failed["isError"] is True
        assert [block["text"] for block in failed["content"]] == ["internal error, see logs/memex.log"]
        assert pipe.is_alive()
    line = json.loads((root / "logs/memex.log").read_text("utf-8").splitlines()[-1])
    assert (line["op"], line["subject"], line["outcome"]) == ("mcp", "memex_recall", "failed")
    assert line["detail"].startswith("KeyError at ") and "secret" not in line["detail"]


def test_a_broken_link_makes_no_noise(pipe: Pipe) -> None:
    written = pipe.call("memex_write", type="entity", title="A", body="[[Nowhere]]")
    assert "do not exist yet: nowhere" in written["structuredContent"]["note"]
    assert pipe.end() == 0
    assert pipe.stderr() == ""


def test_a_memory_whose_path_is_no_unicode_is_served(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xff"))
    with Pipe(root) as pipe:
        pipe.greet()
        written = pipe.call("memex_write", type="entity", title="A", body="apple")
        assert written["structuredContent"]["slug"] == "a"
        assert pipe.call("memex_recall", query="apple")["structuredContent"]["hits"]
        assert list(protocol_lines(pipe.lines))


def test_what_another_program_writes_is_found_by_the_next_calls(pipe: Pipe, root: Path) -> None:
    pipe.call("memex_recall", query="warm up")
    Memex(root).write(WriteInput("entity", "Elsewhere", "written by the command line"))
    until = time.monotonic() + 5
    while not (hits := pipe.call("memex_recall", query="command line")["structuredContent"]["hits"]):
        assert time.monotonic() < until
        time.sleep(0.1)
    assert hits[0]["slug"] == "elsewhere"


def test_two_servers_of_one_memory_lose_no_write(root: Path) -> None:
    with Pipe(root) as one, Pipe(root) as other:
        one.greet()
        other.greet()
        for number in range(20):
            for name, pipe in (("one", one), ("other", other)):
                page = {"type": "entity", "title": f"{name} {number}", "body": "B"}
                call = {"name": "memex_write", "arguments": page}
                pipe.say({"id": number, "method": "tools/call", "params": call})
        for number in range(20):
            for pipe in (one, other):
                assert pipe.answer(number)["result"]["isError"] is False
    assert len(Memex(root).list_pages()) == 40


# --- slow work and the end


def test_a_slow_call_holds_up_no_other_and_no_second_one_is_begun(root: Path) -> None:
    consolidation = {"name": "memex_consolidate", "arguments": {}}
    with Pipe(root, patched(SLOW)) as pipe:
        pipe.greet()
        pipe.call("memex_recall", query="warm up")
        pipe.say({"id": "slow", "method": "tools/call", "params": consolidation})
        started = time.monotonic()
        assert pipe.is_alive()
        assert pipe.call("memex_recall", query="x")["isError"] is False
        second = pipe.call("memex_consolidate")
        assert second["isError"] and "running" in second["content"][0]["text"]
        assert time.monotonic() - started < 5
        pipe.say({"method": "notifications/cancelled", "params": {"requestId": "slow"}})
        assert pipe.is_alive()
        started = time.monotonic()
        assert pipe.end() == 0
        assert time.monotonic() - started < 4
        assert not any(b'"slow"' in line for line in pipe.lines)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("patch", ["", SLOW], ids=["idle", "busy"])
def test_a_signal_ends_it_cleanly_even_in_the_middle_of_a_call(
    root: Path, end: signal.Signals, patch: str
) -> None:
    with Pipe(root, patched(patch)) as pipe:
        pipe.greet()
        pipe.say({"id": 1, "method": "tools/call", "params": {"name": "memex_consolidate", "arguments": {}}})
        assert pipe.is_alive()
        pipe.process.send_signal(end)
        assert pipe.process.wait(5) == 0
        assert "Traceback" not in pipe.stderr()


@pytest.mark.parametrize("how", ["cancelled", "closed", "SIGTERM"])
def test_a_program_that_consolidates_does_not_outlive_the_call_or_the_server(root: Path, how: str) -> None:
    mark = f"sleep 61; : {root}"
    root.mkdir()
    command = json.dumps(["sh", "-c", mark])
    (root / "memex.toml").write_text(f'[llm]\nprovider = "command"\ncommand = {command}\n', "utf-8")
    with Pipe(root) as pipe:
        pipe.greet()
        turns = [{"role": "user", "content": "I prefer tabs.", "ts": "2026-09-15T10:00:00Z", "turn": 1}]
        assert not pipe.call("memex_ingest_transcript", session_id="s1", turns=turns)["isError"]
        pipe.say({"id": 1, "method": "tools/call", "params": {"name": "memex_consolidate", "arguments": {}}})
        wait_for(lambda: running(mark), "the program")
        if how == "cancelled":
            pipe.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
        elif how == "closed":
            assert pipe.end() == 0
        else:
            pipe.process.terminate()
            assert pipe.process.wait(5) == 0
        wait_for(lambda: not running(mark), "the end of the program")


def running(mark: str) -> bool:
    """Whether a process has `mark` in its command line."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (process / "cmdline").read_bytes():
                return True
    return False


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def test_what_was_asked_is_answered_before_the_end_that_the_client_closed(root: Path) -> None:
    pages = [{"type": "entity", "title": f"T{n}", "body": "B"} for n in range(2, 12)]
    calls = [{"name": "memex_write", "arguments": page} for page in pages]
    lines = [
        {"id": 1, "method": "initialize", "params": GREETING},
        {"method": "notifications/initialized"},
        *({"id": n, "method": "tools/call", "params": call} for n, call in enumerate(calls, 2)),
    ]
    asked = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines).encode()
    env = {**os.environ, "MEMEX_DATA_DIR": str(root)}
    done = subprocess.run(COMMAND, input=asked, capture_output=True, env=env, timeout=30, check=True)
    answers = {message["id"]: message for message in protocol_lines(done.stdout.splitlines())}
    assert sorted(answers) == list(range(1, 12))
    assert all(answers[n]["result"]["isError"] is False for n in range(2, 12))
    assert len(Memex(root).list_pages()) == 10


@pytest.mark.parametrize("asked", [b"", b"\n", b'{"jsonrpc":"2.0","id":1,"meth'])
def test_an_end_before_the_beginning_is_an_end(root: Path, asked: bytes, tmp_path: Path) -> None:
    """Standard input is a file here, as `memex serve-mcp < file` makes it."""
    given = tmp_path / "given"
    given.write_bytes(asked)
    with given.open("rb") as file:
        env = {**os.environ, "MEMEX_DATA_DIR": str(root)}
        done = subprocess.run(COMMAND, stdin=file, capture_output=True, env=env, timeout=30, check=True)
    assert done.stderr == b""
    assert not root.exists()


def test_a_client_that_no_longer_reads_ends_it(root: Path) -> None:
    env = {**os.environ, "MEMEX_DATA_DIR": str(root)}
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert process.wait(20) == 0
