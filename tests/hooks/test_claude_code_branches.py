"""Rewinds: which turns were taken back (formats/claude-code.md §3.9)."""

from __future__ import annotations

from pathlib import Path

from claude_code_logs import Log, session

from memex_core.model.session import Session


def gone(found: Session) -> list[str]:
    return [turn.content for turn in found.turns if turn.turn in found.retracted]


def rewound() -> Log:
    log = Log()
    log.user("first")
    log.says("answer one")
    fork = log.parent
    log.user("left prompt")
    log.calls("a")
    log.answers("a")
    log.says("left answer")
    log.parent = fork
    log.user("kept prompt")
    log.says("kept answer")
    return log


def test_a_second_child_prompt_takes_the_first_ones_branch_back(tmp_path: Path) -> None:
    assert gone(session(rewound(), tmp_path)) == ["left prompt", "Bash", "left answer"]


def test_the_turns_of_an_abandoned_branch_keep_their_place_and_their_tokens(tmp_path: Path) -> None:
    found = session(rewound(), tmp_path)

    assert [turn.turn for turn in found.turns] == list(range(1, 8))
    assert len(found.responses) == 4


def test_a_branch_left_from_another_record_than_the_prompts_parent_is_taken_back(tmp_path: Path) -> None:
    log = Log()
    log.user("first")
    log.says("answer")
    fork = log.parent
    log.add("system", subtype="turn_duration")
    log.user("left")
    log.parent = fork
    log.user("kept")

    assert gone(session(log, tmp_path)) == ["left"]


def test_a_branch_of_an_abandoned_branch_is_taken_back(tmp_path: Path) -> None:
    log = Log()
    log.user("first")
    log.says("answer")
    fork = log.parent
    log.user("left one")
    inner = log.parent
    log.says("left two")
    log.user("left three")
    log.parent = inner
    log.says("left four")
    log.parent = fork
    log.user("kept")

    assert gone(session(log, tmp_path)) == ["left one", "left two", "left three", "left four"]


def test_parallel_tool_calls_are_no_rewind(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    a = log.calls("a", id="msg_1")
    b = log.calls("b", id="msg_1")
    log.answers("b", parentUuid=b["uuid"])
    log.attach("queued_command", prompt="also this", commandMode="prompt")
    log.answers("a", parentUuid=a["uuid"])
    log.says("both done")

    assert session(log, tmp_path).retracted == set()


def test_a_missing_parent_keeps_file_order(tmp_path: Path) -> None:
    log = rewound()
    log.records.pop(1)

    assert session(log, tmp_path).retracted == set()


def test_a_second_root_keeps_file_order(tmp_path: Path) -> None:
    log = rewound()
    root = log.user("another root", parentUuid=None)
    log.records.insert(0, log.records.pop())

    assert log.records[0] is root
    assert session(log, tmp_path).retracted == set()


def test_a_parent_cycle_ends_and_keeps_what_is_in_it(tmp_path: Path) -> None:
    log = rewound()
    first, *_, last = log.records
    first["parentUuid"] = last["uuid"]

    assert session(log, tmp_path).turn_count == 7


def test_a_record_that_is_its_own_parent_ends_the_way_up(tmp_path: Path) -> None:
    log = Log()
    record = log.user("one")
    record["parentUuid"] = record["uuid"]
    log.says("two")

    assert session(log, tmp_path).retracted == set()


def test_a_rewind_before_a_compaction_is_still_seen_after_it(tmp_path: Path) -> None:
    log = rewound()
    log.add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=log.parent)
    log.user("This session is being continued", isCompactSummary=True)
    log.user("after")

    assert gone(session(log, tmp_path)) == ["left prompt", "Bash", "left answer"]


def test_a_rewind_after_a_compaction_is_seen(tmp_path: Path) -> None:
    log = Log()
    log.user("first")
    log.add("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=log.parent)
    summary = log.user("This session is being continued", isCompactSummary=True)
    log.user("left")
    log.user("kept", parentUuid=summary["uuid"])

    assert gone(session(log, tmp_path)) == ["left"]


def test_records_written_before_their_parents_are_not_taken_back(tmp_path: Path) -> None:
    log = Log()
    log.user("<bash-input>ls</bash-input>")
    log.user("<bash-stdout>x</bash-stdout>")
    log.user("a prompt")
    log.says("an answer")
    log.records = log.records[2:] + log.records[:2]

    assert session(log, tmp_path).retracted == set()


def test_sidechains_neither_lead_nor_count_as_roots(tmp_path: Path) -> None:
    log = rewound()
    log.user("sub", isSidechain=True, parentUuid=None)
    log.says("sub answer", isSidechain=True)

    assert gone(session(log, tmp_path)) == ["left prompt", "Bash", "left answer"]


def test_a_chain_of_twenty_thousand_records_is_walked(tmp_path: Path) -> None:
    log = Log()
    log.user("first")
    fork = log.parent
    log.user("left")
    for _ in range(20_000):
        log.add("progress", data={})
    log.user("left too")
    log.parent = fork
    log.user("kept")

    assert gone(session(log, tmp_path)) == ["left", "left too"]
