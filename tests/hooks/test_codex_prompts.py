"""Which words are the user's own (formats/codex.md §1.6), and from which layer they are taken (§1.9)."""

from __future__ import annotations

from pathlib import Path

import pytest
from codex_rollouts import START, Rollout, answers, prompts, read, said, tokens, tools, try_read, uuid7
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_hooks.harnesses.codex.prompts import own_words, shell_command

INJECTED = [
    "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
    "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>",
    "<user_instructions>\nUse tabs.\n</user_instructions>",
    "<skill>\n<name>notes</name>\n</skill>",
    "<user_shell_command>\n<command>\nls\n</command>\n</user_shell_command>",
    "<turn_aborted>\nThe user interrupted.\n</turn_aborted>",
    "<subagent_notification>x</subagent_notification>",
    '<codex_internal_context source="goal">x</codex_internal_context>',
    "<goal_context>x</goal_context>",
    "<recommended_plugins>x</recommended_plugins>",
    '<hook_prompt hook_run_id="1">go on</hook_prompt>',
    "<external_tracker>x</external_tracker>",
    "Warning: The maximum number of unified exec processes you can keep open is 60",
    "Warning: apply_patch was requested via exec_command",
    "Warning: Your account was flagged",
    "Another language model started to solve this problem and produced a summary of its thinking process.",
    '<memex-memory nonce="a1">I prefer tabs.</memex-memory nonce="a1">',
    '=== memex MEMORY ===\n[Search: "tabs"]\n---\n1. Tabs (preference)\n---\n=== END memex MEMORY ===',
]

CLOSING = ['</memex-memory nonce="1">', '</memex-memory nonce="2">', "=== END memex MEMORY ==="]
PIECES = [*CLOSING, '<memex-memory nonce="1">', '<memex-memory nonce="2">', "=== memex MEMORY ===", "word"]


@pytest.mark.parametrize("words", INJECTED)
def test_what_the_harness_injects_is_not_the_users(words: str) -> None:
    assert own_words(words) == ""


@pytest.mark.parametrize("words", INJECTED[:12] + INJECTED[16:])
def test_what_follows_an_injected_block_is_the_users(words: str) -> None:
    assert own_words(f"{words}\n\nFix the bug") == "Fix the bug"


@pytest.mark.parametrize(
    "words",
    [
        "Why does <environment_context> come first?",
        "<skill> is a tag, isn't it?",
        "# AGENTS.md instructions are wrong, fix them",
        "  indented, with a trailing blank ",
        "I said: ## My request for Codex: is a heading",
        "Warning: it fails",
    ],
)
def test_words_that_only_look_injected_are_kept_as_typed(words: str) -> None:
    assert own_words(words) == words


def test_of_an_ide_prompt_only_the_request_is_kept() -> None:
    words = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix a.py\n"
    assert own_words(words) == "Fix a.py"


def test_a_recall_of_ours_inside_a_prompt_is_left_out() -> None:
    words = 'before <memex-memory nonce="1">I prefer tabs.</memex-memory nonce="1"> after'
    assert own_words(words) == "before  after"
    pasted = "before\n  === memex MEMORY ===\r\n1. Tabs\n=== END memex MEMORY ===\r\nafter"
    assert own_words(pasted).split() == ["before", "after"]


@pytest.mark.parametrize(
    "words",
    [
        "Fix the parser of <memex-memory \u2026> tags. Always use lxml",
        "before <memex-memory>cut off",
        'a <memex-memory nonce="1"> b </memex-memory nonce="2"> c',
        'a <memex-memory nonce="1"> b </memex-memory> c',
        'a </memex-memory nonce="1"> b <memex-memory nonce="1"> c',
        "What does <memex-memory> ... </memex-memory> mean?",
        "=== memex MEMORY ===\nis the first line. Always use tabs",
        "=== END memex MEMORY ===\nand\n=== memex MEMORY ===",
        "The lines are === memex MEMORY === and\n=== END memex MEMORY ===",
    ],
)
def test_what_is_no_complete_recall_of_ours_is_kept_as_typed(words: str) -> None:
    assert own_words(words) == words


def test_words_between_an_unclosed_recall_and_a_complete_one_are_kept() -> None:
    block = '<memex-memory nonce="1">x</memex-memory nonce="1">'
    assert own_words(f'<memex-memory nonce="1"> mine {block} too') == '<memex-memory nonce="1"> mine  too'
    crossed = '<memex-memory nonce="1"><memex-memory nonce="2"></memex-memory nonce="1"> mine'
    assert own_words(f'{crossed} </memex-memory nonce="2">') == 'mine </memex-memory nonce="2">'
    around = f'<memex-memory nonce="2">{block} y</memex-memory nonce="2"> mine'
    assert own_words(around) == "mine"


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@settings(deadline=None, max_examples=200)
def test_no_word_outside_of_complete_recalls_is_lost(pieces: list[str]) -> None:
    """A closing mark takes words only back to an opening one of its own name."""
    words = "\n".join(f"{piece}\nw{at}" for at, piece in enumerate(pieces))
    kept = own_words(f"head\n{words}").split()
    for at in range(len(pieces)):
        opened = {p.replace("</", "<").replace(" END", "") for p in pieces[at + 1 :] if p in CLOSING}
        if opened.isdisjoint(pieces[: at + 1]):
            assert f"w{at}" in kept
    assert "head" in kept


def test_own_words_takes_linear_time_on_hostile_text() -> None:
    for piece in (
        "<memex-memory",
        '<memex-memory nonce="1">',
        '</memex-memory nonce="1">',
        "=== memex MEMORY ===\n",
        " \t" * 20,
        "<external_a></external_a>",
        "<skill> </skill>",
        "## My request for Codex:\n",
    ):
        own_words(piece * 100_000)
    assert shell_command("<user_shell_command><command>" + "</command><result>" * 100_000) is None


def test_a_paginated_log_is_read_from_its_items(tmp_path: Path) -> None:
    """agentic-kit#170, abtop PR#170, harness-remote PR#386, ORG2#837, zoetrope#10: empty since 0.148."""
    session = read(Rollout().exchange("hello", "hi").write(tmp_path))
    assert said(session) == [("user", "hello"), ("agent", "hi")]


def test_a_legacy_log_is_read_from_its_events(tmp_path: Path) -> None:
    session = read(Rollout(history_mode="legacy").exchange("hello", "hi").write(tmp_path))
    assert said(session) == [("user", "hello"), ("agent", "hi")]


def test_an_absent_history_mode_means_legacy(tmp_path: Path) -> None:
    assert prompts(read(Rollout(history_mode=None).exchange("hello", "hi").write(tmp_path))) == ["hello"]


@pytest.mark.parametrize("mode", ["legacy", "paginated"])
def test_a_turn_told_in_both_styles_is_heard_once(tmp_path: Path, mode: str) -> None:
    log = Rollout(history_mode=mode).begin()
    for paginated in (True, False):
        log.paginated = paginated
        log.prompt("hello")
    for paginated in (True, False):
        log.paginated = paginated
        log.answer("hi")
    assert said(read(log.end().write(tmp_path))) == [("user", "hello"), ("agent", "hi")]


@pytest.mark.parametrize("mode", ["legacy", "paginated"])
def test_a_log_resumed_in_the_other_style_keeps_both_parts(tmp_path: Path, mode: str) -> None:
    log = Rollout(history_mode=mode).exchange("one", "1")
    log.paginated = not log.paginated
    assert prompts(read(log.exchange("two", "2").write(tmp_path))) == ["one", "two"]


def test_a_log_without_any_told_words_falls_back_to_the_models_messages(tmp_path: Path) -> None:
    log = Rollout().begin()
    for role, kind, words in (
        ("developer", "generic.developer_instructions", "Remember: tabs."),
        ("user", "agents_md.instructions", "Use tabs."),
        ("user", "user.text", "hello"),
        ("user", "unknown", "<environment_context>x</environment_context>"),
    ):
        passthrough = {"content_item_kinds": [kind]}
        log.response(
            "message",
            role=role,
            content=[{"type": "input_text", "text": words}],
            internal_chat_message_metadata_passthrough=passthrough,
        )
    log.call("c1", "ls").output("c1", "a.py")
    log.response("message", role="assistant", content=[{"type": "output_text", "text": "hi"}]).end()
    assert said(read(log.write(tmp_path))) == [("user", "hello"), ("tool", "exec_command"), ("agent", "hi")]


def test_a_compaction_alone_is_no_conversation_to_fall_back_to(tmp_path: Path) -> None:
    """The model's summary is a message of its own layer that no event or item tells of."""
    log = Rollout(forked_from_id=uuid7(START, 7), history_base={"thread_id": uuid7(START, 7)}).begin()
    log.response("message", role="assistant", content=[{"type": "output_text", "text": "A summary"}])
    session = read(log.record("resp_1", tokens(5, 0, 1)).end().write(tmp_path))
    assert list(session.turns) == []


def test_developer_messages_are_never_turns(tmp_path: Path) -> None:
    """What a hook of ours injects arrives as one."""
    log = Rollout().begin()
    log.response("message", role="developer", content=[{"type": "input_text", "text": "I prefer tabs."}])
    session = read(log.prompt("hello").answer("hi").end().write(tmp_path))
    assert said(session) == [("user", "hello"), ("agent", "hi")]


def test_a_hook_prompt_is_not_the_users(tmp_path: Path) -> None:
    """openai/codex#20783."""
    log = (
        Rollout().begin().prompt("hello").item("HookPrompt", fragments=[{"text": "go on", "hookRunId": "1"}])
    )
    assert prompts(read(log.answer("hi").end().write(tmp_path))) == ["hello"]


def test_harness_texts_told_as_user_messages_in_2025_are_left_out(tmp_path: Path) -> None:
    """codeg#789: the AGENTS.md text became the title."""
    log = Rollout(history_mode=None)
    log.event("user_message", message="Use tabs.", kind="user_instructions")
    log.event(
        "user_message", message="<environment_context>x</environment_context>", kind="environment_context"
    )
    log.event("user_message", message="hello", kind="plain").event("agent_message", message="hi")
    assert said(read(log.write(tmp_path))) == [("user", "hello"), ("agent", "hi")]


def test_inter_agent_messages_are_not_the_users_words(tmp_path: Path) -> None:
    log = Rollout().begin().prompt("hello")
    words = "Message Type: FINAL_ANSWER\nTask name: /root/t\nSender: /root/t\nPayload:\n14"
    log.response("agent_message", author="/root/t", content=[{"type": "input_text", "text": words}])
    log.add("inter_agent_communication", {"author": "/root", "content": "x", "trigger_turn": True})
    assert said(read(log.answer("hi").end().write(tmp_path))) == [("user", "hello"), ("agent", "hi")]


def test_commentary_and_final_answer_are_a_turn_each_and_reasoning_is_none(tmp_path: Path) -> None:
    log = Rollout(history_mode="legacy").begin().prompt("hello")
    log.event("agent_reasoning", text="thinking").response("reasoning", summary=[])
    log.event("agent_message", message="Looking.", phase="commentary").answer("Found it.")
    assert answers(read(log.end().write(tmp_path))) == ["Looking.", "Found it."]


def test_a_proposed_plan_is_the_agents_words(tmp_path: Path) -> None:
    log = (
        Rollout(history_mode="legacy")
        .begin()
        .prompt("plan it")
        .item("Plan", text="1. Do it")
        .answer("Ready.")
    )
    assert answers(read(log.end().write(tmp_path))) == ["1. Do it", "Ready."]


def test_images_stand_as_notes_with_their_type_and_size(tmp_path: Path) -> None:
    url = "data:image/png;base64,iVBORw0KGgo="
    log = (
        Rollout()
        .begin()
        .item(
            "UserMessage",
            content=[
                {"type": "text", "text": "Look:"},
                {"type": "image", "image_url": url},
                {"type": "local_image", "path": "/home/dev/shot.png"},
                {"type": "skill", "name": "notes", "path": "/x"},
            ],
        )
    )
    assert prompts(read(log.write(tmp_path))) == [
        "Look:\n[image image/png 8 bytes]\n[image /home/dev/shot.png]"
    ]
    old = Rollout(history_mode="legacy", salt=2).begin()
    old.event("user_message", message="Look:", images=[url], local_images=["/home/dev/shot.png"])
    assert prompts(read(old.write(tmp_path))) == [
        "Look:\n[image image/png 8 bytes]\n[image /home/dev/shot.png]"
    ]


def test_a_command_the_user_ran_is_a_tool_turn(tmp_path: Path) -> None:
    words = (
        "<user_shell_command>\n<command>\nmake check\n</command>\n<result>\nExit code: 2\n"
        "Duration: 0.5 seconds\nOutput:\nFAILED\n\n</result>\n</user_shell_command>"
    )
    log = Rollout(history_mode="legacy").begin()
    log.response("message", role="user", content=[{"type": "input_text", "text": words}]).end()
    log.exchange("hello", "hi")
    session = read(log.write(tmp_path))
    assert tools(session) == [("user_shell", "make check", "FAILED\n[exit code 2]")]
    assert prompts(session) == ["hello"]


def test_in_a_paginated_log_the_users_command_is_told_by_its_item_alone(tmp_path: Path) -> None:
    words = "<user_shell_command>\n<command>\nls\n</command>\n<result>\nx\n</result>\n</user_shell_command>"
    log = Rollout().begin().command("u1", "ls", "x", source="user_shell")
    log.response("message", role="user", content=[{"type": "input_text", "text": words}]).end()
    assert tools(read(log.write(tmp_path))) == [("user_shell", "ls", "x")]


def test_a_rollback_takes_back_the_prompt_and_all_behind_it(tmp_path: Path) -> None:
    """AgentRecall#275: a rolled-back turn left a ghost."""
    log = Rollout(history_mode="legacy").exchange("one", "1").exchange("two", "2").exchange("three", "3")
    log.event("thread_rolled_back", num_turns=2).exchange("four", "4").event(
        "thread_rolled_back", num_turns=1
    )
    session = read(log.exchange("five", "5").write(tmp_path))
    assert session.retracted == {3, 4, 5, 6, 7, 8}
    assert prompts(session) == ["one", "two", "three", "four", "five"]


def test_a_rollback_beyond_the_first_prompt_takes_back_everything(tmp_path: Path) -> None:
    log = Rollout().begin().command("u1", "ls", "x", source="user_shell").end().exchange("one", "1")
    assert read(log.event("thread_rolled_back", num_turns=1).write(tmp_path)).retracted == {2, 3}
    assert read(log.event("thread_rolled_back", num_turns=9).write(tmp_path)).retracted == {2, 3}
    log.exchange("two", "2").event("thread_rolled_back", num_turns=9)
    assert read(log.write(tmp_path)).retracted == {1, 2, 3, 4, 5}


def test_a_rollback_counts_only_prompts_that_still_stand(tmp_path: Path) -> None:
    log = Rollout(history_mode="legacy").exchange("one", "1").exchange("two", "2")
    log.event("thread_rolled_back", num_turns=1).event("thread_rolled_back", num_turns=1)
    assert read(log.write(tmp_path)).retracted == {1, 2, 3, 4}


def test_a_log_without_a_conversation_is_nothing_to_capture(tmp_path: Path) -> None:
    assert try_read(Rollout().write(tmp_path)) is None
    assert try_read(Rollout(salt=2).begin().end().write(tmp_path)) is None


def pre_envelope(*lines: str) -> bytes:
    thread = "df1582b0-eab4-47d2-a415-479c65dc9f51"
    head = f'{{"id":"{thread}","timestamp":"2025-08-20T10:11:12.345Z","git":{{"branch":"main"}}}}'
    return "\n".join([head, *lines]).encode() + b"\n"


def test_legacy_pre_envelope_dated_is_read_from_bare_items(tmp_path: Path) -> None:
    context = "<environment_context>\\n<cwd>/home/dev/old</cwd>\\n</environment_context>"
    folder = tmp_path / "sessions" / "2025" / "08" / "20"
    folder.mkdir(parents=True)
    path = folder / "rollout-2025-08-20T10-11-12-df1582b0-eab4-47d2-a415-479c65dc9f51.jsonl"
    path.write_bytes(
        pre_envelope(
            '{"record_type":"state"}',
            '{"type":"message","role":"user","content":[{"type":"input_text","text":"' + context + '"}]}',
            '{"type":"message","role":"user","content":[{"type":"input_text","text":"List it"}]}',
            '{"type":"local_shell_call","call_id":"c1","action":{"type":"exec","command":["bash","-lc","ls"]}}',
            '{"type":"function_call_output","call_id":"c1","output":"{\\"output\\":\\"no\\",\\"metadata\\":{\\"exit_code\\":1}}"}',
            '{"type":"function_call","name":"shell","arguments":"{}","call_id":"never"}',
            '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Nothing."}]}',
            '{"type":"message","role":"user","content":[{"type":"input_text","text":"Thanks"}]}',
        )
    )
    session = read(path)
    assert session.header.session_id == "df1582b0-eab4-47d2-a415-479c65dc9f51"
    assert session.header.meta == {"cwd": "/home/dev/old", "git": {"branch": "main"}}
    assert session.header.started_at == "2025-08-20T10:11:12.345Z"
    assert (prompts(session), answers(session)) == (["List it", "Thanks"], ["Nothing."])
    assert tools(session) == [("local_shell", "ls", "no\n[exit code 1]"), ("shell", "{}", None)]
    assert {turn.ts for turn in session.turns} == {""}
    assert not session.usage_known
