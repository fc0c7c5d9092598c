"""Tool calls: name, query and result, each once, in the order of the calls (formats/codex.md §1.4, §1.5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from codex_rollouts import Rollout, answers, read, said, tools, uuid7

from memex_hooks.harnesses.codex.calls import command_text
from memex_hooks.harnesses.codex.outputs import command_output, content_text


def legacy() -> Rollout:
    return Rollout(history_mode="legacy").begin().prompt("go")


def paginated() -> Rollout:
    return Rollout().begin().prompt("go")


def test_tool_heavy_legacy_mode_is_read_whole(tmp_path: Path) -> None:
    """Parallel calls answered out of order, patch, MCP, search, bad arguments, an output that never came."""
    patch = "*** Begin Patch\n*** Update File: VERSION\n@@\n-1\n+2\n*** End Patch"
    log = legacy().call("c1", "git status").call("c2", "git log").output("c2", "log").output("c1", "status")
    log.response("custom_tool_call", name="apply_patch", input=patch, call_id="c3", status="completed")
    changes = {"VERSION": {"type": "update", "unified_diff": "@@\n-1\n+2\n"}}
    log.event("patch_apply_end", call_id="c3", stdout="Success", stderr="", success=True, changes=changes)
    log.response(
        "custom_tool_call_output", call_id="c3", output='{"output":"Success","metadata":{"exit_code":0}}'
    )
    log.response(
        "function_call", name="lookup", namespace="mcp__tracker", arguments='{"key": "W-7"}', call_id="c4"
    )
    log.event(
        "mcp_tool_call_end",
        call_id="c4",
        invocation={"server": "tracker", "tool": "lookup", "arguments": {"key": "W-7"}},
        result={"Ok": {"content": [{"type": "text", "text": "px suffix"}]}},
    )
    log.output("c4", "px suffix")
    log.response("web_search_call", status="completed", action={"type": "search", "query": "css px"})
    log.event("web_search_end", call_id="ws_1", query="css px", action={"type": "search", "query": "css px"})
    log.response("function_call", name="exec_command", arguments='{"cmd": "broken', call_id="c5")
    log.output("c5", "failed to parse function arguments")
    log.call("c6", "sleep 100").event("turn_aborted", turn_id=log.turn_id, reason="interrupted")
    session = read(log.exchange("next", "done").write(tmp_path))
    assert tools(session) == [
        ("exec_command", "git status", "status"),
        ("exec_command", "git log", "log"),
        ("apply_patch", patch, "Success"),
        ("mcp__tracker__lookup", '{"key":"W-7"}', "px suffix"),
        ("web_search", "css px", None),
        ("exec_command", '{"cmd": "broken', "failed to parse function arguments"),
        ("exec_command", "sleep 100", None),
    ]
    assert session.open_calls == []


def test_a_call_told_by_item_and_output_is_one_turn(tmp_path: Path) -> None:
    """Direct mode: the item has the id of the call and is kept."""
    log = (
        paginated()
        .call("c1", "make")
        .command("c1", "make", "ok\n")
        .output("c1", "Output:\nok\n")
        .answer("Done.")
    )
    assert tools(read(log.end().write(tmp_path))) == [("command", "make", "ok\n")]


def test_an_item_that_comes_behind_the_output_is_not_told_again(tmp_path: Path) -> None:
    log = (
        paginated().call("c1", "serve").output("c1", "started").answer("Runs.").command("c1", "serve", "bye")
    )
    assert tools(read(log.end().write(tmp_path))) == [("exec_command", "serve", "started")]


def test_a_code_mode_script_is_told_by_what_it_ran(tmp_path: Path) -> None:
    log = paginated().response("custom_tool_call", name="exec", input="await tools.x()", call_id="s1")
    log.command("exec-1", "ls", "a.py\n").command("exec-2", "false", "", exit_code=1, status="failed")
    log.response("custom_tool_call_output", call_id="s1", output=[{"type": "input_text", "text": "done"}])
    assert tools(read(log.answer("ok").end().write(tmp_path))) == [
        ("command", "ls", "a.py\n"),
        ("command", "false", "[exit code 1]"),
    ]


def test_a_code_mode_script_that_ran_nothing_told_of_is_kept_itself(tmp_path: Path) -> None:
    log = paginated().response("custom_tool_call", name="exec", input="text(1+1)", call_id="s1")
    script = "Script completed\nWall time 0.1 seconds\nOutput:\n2"
    log.response("custom_tool_call_output", call_id="s1", output=script).answer("two").end()
    assert tools(read(log.write(tmp_path))) == [("exec", "text(1+1)", "2")]


def test_turns_behind_an_open_call_wait_for_its_result(tmp_path: Path) -> None:
    log = (
        legacy().call("c1", "make").call("c2", "ls").output("c2", "a.py").event("agent_message", message="Hm")
    )
    session = read(log.write(tmp_path))
    assert said(session) == [("user", "go")]
    assert session.open_calls == [{"tool_name": "exec_command", "query": "make"}]
    session = read(log.output("c1", "ok").write(tmp_path))
    assert [turn.query for turn in session.turns if turn.role == "tool"] == ["make", "ls"]
    assert answers(session) == ["Hm"]
    assert session.open_calls == []


@pytest.mark.parametrize("ending", ["task_complete", "turn_aborted", "task_started", "thread_rolled_back"])
def test_a_call_is_given_up_when_its_turn_is_over(tmp_path: Path, ending: str) -> None:
    log = legacy().call("c1", "make").event(ending, turn_id=uuid7(Rollout().now, 77), num_turns=0)
    session = read(log.output("c1", "too late").write(tmp_path))
    assert tools(session) == [("exec_command", "make", None)]
    assert session.open_calls == []


def test_a_prompt_gives_calls_up_only_in_logs_that_do_not_mark_turns(tmp_path: Path) -> None:
    """A prompt may steer a turn while its calls run."""
    steered = legacy().call("c1", "make").event("user_message", message="faster!").output("c1", "ok")
    session = read(steered.write(tmp_path))
    assert said(session) == [("user", "go"), ("tool", "exec_command"), ("user", "faster!")]
    assert tools(session) == [("exec_command", "make", "ok")]
    unmarked = Rollout(history_mode="legacy", salt=2).prompt("go").call("c1", "make").prompt("next")
    assert tools(read(unmarked.write(tmp_path))) == [("exec_command", "make", None)]


def test_ids_that_a_provider_uses_again_are_other_calls(tmp_path: Path) -> None:
    log = legacy()
    for command in ("one", "two"):
        log.call("call_0", command).output("call_0", f"ran {command}")
    assert tools(read(log.write(tmp_path))) == [
        ("exec_command", "one", "ran one"),
        ("exec_command", "two", "ran two"),
    ]


def test_a_record_written_twice_is_one_turn(tmp_path: Path) -> None:
    log = paginated().call("c1", "make")
    log.raw(log.lines[-1]).command("c1", "make", "ok").raw(log.lines[-1])
    log.item("AgentMessage", id="m1", content=[{"type": "Text", "text": "Done."}]).raw(log.lines[-1])
    assert said(read(log.end().write(tmp_path))) == [("user", "go"), ("tool", "command"), ("agent", "Done.")]


def test_an_output_whose_call_is_lost_is_kept(tmp_path: Path) -> None:
    log = legacy().output("c9", "Process exited with code 1\nOutput:\nno such file\n")
    assert tools(read(log.write(tmp_path))) == [("tool", "", "no such file\n[exit code 1]")]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {
                "type": "FileChange",
                "changes": {"/w/new.py": {"type": "add", "content": "x = 1\n"}},
                "stdout": "ok",
            },
            ("apply_patch", "*** Add File: /w/new.py\nx = 1", "ok"),
        ),
        (
            {
                "type": "FileChange",
                "changes": {"/w/a.py": {"type": "delete", "content": "x"}},
                "status": "declined",
            },
            ("apply_patch", "*** Delete File: /w/a.py", "[declined]"),
        ),
        (
            {
                "type": "FileChange",
                "changes": {"a": {"type": "update", "unified_diff": "@@\n-x\n+y\n", "move_path": "b"}},
                "stderr": "cannot apply",
                "status": "failed",
            },
            ("apply_patch", "*** Update File: a\n*** Move to: b\n@@\n-x\n+y", "cannot apply\n[failed]"),
        ),
        (
            {
                "type": "McpToolCall",
                "server": "s",
                "tool": "t",
                "arguments": {},
                "error": {"message": "down"},
            },
            ("mcp__s__t", "{}", "down\n[failed]"),
        ),
        (
            {
                "type": "McpToolCall",
                "server": "s",
                "tool": "t",
                "result": {"content": [{"type": "image", "data": "QUJD", "mimeType": "image/png"}]},
            },
            ("mcp__s__t", "", "[image image/png 3 bytes]"),
        ),
        ({"type": "WebSearch", "query": "px", "action": {"type": "search"}}, ("web_search", "px", None)),
        (
            {"type": "WebSearch", "query": "", "action": {"type": "open_page", "url": "https://example.com"}},
            ("web_search", "https://example.com", None),
        ),
        (
            {
                "type": "DynamicToolCall",
                "tool": "lookup",
                "arguments": {"a": 1},
                "success": False,
                "content_items": [{"type": "inputText", "text": "no"}],
            },
            ("lookup", '{"a":1}', "no\n[failed]"),
        ),
        (
            {"type": "CollabAgentToolCall", "tool": "spawnAgent", "prompt": "Count", "status": "completed"},
            ("collaboration.spawn_agent", "Count", ""),
        ),
        (
            {"type": "SubAgentActivity", "kind": "started", "agent_path": "/root/t"},
            ("subagent", "started /root/t", None),
        ),
        ({"type": "Extension", "kind": "web.search", "query": "px"}, ("web.search", '{"query":"px"}', None)),
        ({"type": "ImageView", "path": "/w/a.png"}, ("view_image", "/w/a.png", None)),
        (
            {"type": "ImageGeneration", "revised_prompt": "a cat", "result": "QUJD"},
            ("image_generation", "a cat", "[image image/png 3 bytes]"),
        ),
        (
            {"type": "CommandExecution", "command": ["python3", "-c", "print('a b')"], "stdout": "a b\n"},
            ("command", "python3 -c 'print('\"'\"'a b'\"'\"')'", "a b\n"),
        ),
        (
            {"type": "CommandExecution", "command": ["sh", "-c", "rm x"], "status": "declined"},
            ("command", "rm x", "[declined]"),
        ),
        (
            {
                "type": "CommandExecution",
                "command": ["bash", "-lc", "py"],
                "source": "unified_exec_interaction",
                "interaction_input": "1+1\n",
                "aggregated_output": "2\n",
            },
            ("command", "py\n[stdin] 1+1\n", "2\n"),
        ),
    ],
)
def test_an_item_is_a_tool_turn_of_its_kind(
    tmp_path: Path, item: dict[str, Any], expected: tuple[str, ...]
) -> None:
    kind = item.pop("type")
    assert tools(read(paginated().item(kind, **item).end().write(tmp_path))) == [expected]


def test_items_that_are_no_action_are_no_turns(tmp_path: Path) -> None:
    log = paginated()
    for kind in (
        "Reasoning",
        "ContextCompaction",
        "Sleep",
        "EnteredReviewMode",
        "ExitedReviewMode",
        "Novelty",
    ):
        log.item(kind, text="x")
    assert said(read(log.end().write(tmp_path))) == [("user", "go")]


def test_a_spawned_agent_is_told_by_the_call_that_holds_its_task(tmp_path: Path) -> None:
    log = paginated().response(
        "function_call",
        name="spawn_agent",
        namespace="collaboration",
        arguments='{"message": "Count"}',
        call_id="c1",
    )
    log.item("SubAgentActivity", id="c1", kind="started", agent_path="/root/t").output("c1", "/root/t")
    log.item("SubAgentActivity", id="c1", kind="interacted", agent_path="/root/t")
    assert tools(read(log.end().write(tmp_path))) == [
        ("collaboration.spawn_agent", '{"message":"Count"}', "/root/t")
    ]


def test_two_searches_without_ids_that_one_layer_tells_of_are_two_turns(tmp_path: Path) -> None:
    log = legacy()
    for _ in (1, 2):
        log.response("web_search_call", status="completed", action={"type": "search", "query": "px"})
    assert tools(read(log.end().write(tmp_path))) == [("web_search", "px", None)] * 2


def test_two_searches_for_the_same_are_two_turns_though_each_is_told_twice(tmp_path: Path) -> None:
    log = paginated()
    for number in (1, 2):
        action = {"type": "search", "query": "px"}
        log.response("web_search_call", id=f"ws_{number}", status="completed", action=action)
        log.item("WebSearch", id=f"ws_{number}", query="px", action=action)
    assert tools(read(log.end().write(tmp_path))) == [("web_search", "px", None)] * 2


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok\n", "ok\n"),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno", "no\n[exit code 2]"),
        ("Chunk ID: 1\nProcess running with session ID 7\nOutput:\n", "[still running, session 7]"),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nbad\n", "bad\n[exit code 1]"),
        ('{"output":"x","metadata":{"exit_code":127,"duration_seconds":0.1}}', "x\n[exit code 127]"),
        ('{"output": 5, "metadata": 1}', '{"output": 5, "metadata": 1}'),
        ("Wall time is money\nno header here", "Wall time is money\nno header here"),
        ("plain", "plain"),
        ("Wall time " + "x" * 2000 + "\nOutput:\ny", "Wall time " + "x" * 2000 + "\nOutput:\ny"),
        (None, ""),
        ({"content": "inner", "success": True}, "inner"),
        (
            [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": "data:image/gif;base64,QUI="},
            ],
            "a\n[image image/gif 2 bytes]",
        ),
        ([1, None, {"type": "odd", "x": 1}], '1\n{"type":"odd","x":1}'),
    ],
)
def test_an_output_is_what_the_command_printed_and_its_exit_code(output: Any, expected: str) -> None:
    assert command_output(output) == expected


def test_a_command_is_shown_as_it_was_typed() -> None:
    assert command_text(["/usr/bin/zsh", "-lc", "a | b"]) == "a | b"
    assert command_text(["powershell.exe", "-Command", "dir"]) == "dir"
    assert command_text(["git", "commit", "-m", "a b"]) == "git commit -m 'a b'"
    assert command_text("ls") == "ls"
    assert command_text([1, 2]) == ""


def test_a_turn_keeps_its_id_when_the_log_is_copied(tmp_path: Path) -> None:
    log = legacy().call("c1", "ls").output("c1", "x").answer("Done.").end()
    first = [turn.id for turn in read(log.write(tmp_path / "a")).turns]
    log.lines = [line.replace(b"10:00:0", b"11:30:5") for line in log.lines]
    assert [turn.id for turn in read(log.write(tmp_path / "b")).turns] == first
    assert all(len(turn_id) == 12 and int(turn_id, 16) >= 0 for turn_id in first)


def test_text_is_cleaned_of_what_no_store_takes(tmp_path: Path) -> None:
    log = paginated().command("c1", "printf", "\x00a\x1b[1mb\ud800").answer("x\x07y").end()
    session = read(log.write(tmp_path))
    assert tools(session) == [("command", "printf", "a[1mb\ufffd")]
    assert answers(session) == ["xy"]


def test_content_of_unknown_shape_never_raises() -> None:
    for value in (
        None,
        1,
        1.5,
        True,
        [],
        {},
        [[["x"]]],
        {"content": {"content": "deep"}},
        json.loads("[" * 200 + "]" * 200),
    ):
        assert isinstance(content_text(value), str)
