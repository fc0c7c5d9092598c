"""Where the logs lie (formats/claude-code.md §2; §5 B 26, 31, 32)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from claude_code_logs import SESSION, Log, read

from memex_hooks.harnesses import claude_code
from memex_hooks.log_lines import LogLines

OTHER = "5e551017-0000-4000-8000-000000000002"


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    return {"HOME": str(tmp_path / "h"), "PATH": ""}


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    folder = tmp_path / "h" / ".claude" / "projects"
    folder.mkdir(parents=True)
    return folder


def spoken(session_id: str = SESSION) -> Log:
    log = Log(session_id)
    log.user("hi")
    return log


def found(env: Mapping[str, str]) -> list[Path]:
    return [log.path for log in claude_code.find_logs(env)]


def test_logs_are_found_in_every_project_oldest_first(env: Mapping[str, str], projects: Path) -> None:
    new = spoken(OTHER).write(projects / "-a")
    old = spoken().write(projects / "-b")
    os.utime(old, (1_000, 1_000))

    logs = list(claude_code.find_logs(env))
    assert [(log.path, log.session_id) for log in logs] == [(old, SESSION), (new, OTHER)]
    assert (logs[0].size, logs[0].mtime_ns, logs[0].ino) == (
        old.stat().st_size,
        1_000 * 10**9,
        old.stat().st_ino,
    )


def test_no_configuration_folder_means_no_logs(env: Mapping[str, str]) -> None:
    assert found(env) == []
    assert not claude_code.is_present(env)


def test_claude_config_dir_moves_the_logs(tmp_path: Path, projects: Path) -> None:
    spoken().write(projects / "-a")
    moved = spoken(OTHER).write(tmp_path / "moved" / "projects" / "-a")
    env = {"HOME": str(tmp_path / "h"), "CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}

    assert found(env) == [moved]
    assert claude_code.config_dir(env) == tmp_path / "moved"


def test_an_envelopes_configuration_folder_goes_before_the_environments(tmp_path: Path) -> None:
    env = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/old"}

    assert claude_code.config_dir(claude_code.with_config_dir(env, str(tmp_path))) == tmp_path
    assert claude_code.with_config_dir(env, "") is env


def test_what_is_no_main_log_is_not_found(env: Mapping[str, str], projects: Path) -> None:
    spoken().write(projects / "-a", "notes.jsonl")
    spoken().write(projects / "-a", "agent-x.jsonl")
    spoken().write(projects / "-a", f"{SESSION}.json")
    spoken().write(projects / "-a" / SESSION / "subagents")
    spoken().write(projects, f"{SESSION}.jsonl")
    (projects / "-a" / f"{OTHER}.jsonl").mkdir()

    assert found(env) == []


def test_parts_are_the_subagents_logs(env: Mapping[str, str], projects: Path) -> None:
    main = spoken().write(projects / "-a")
    parts = {
        spoken().write(main.with_suffix("") / "subagents", "agent-1.jsonl"),
        spoken().write(main.with_suffix("") / "subagents" / "workflows" / "r", "agent-2.jsonl"),
        spoken().write(projects / "-a", "agent-3.jsonl"),
    }
    spoken().write(main.with_suffix("") / "subagents" / "workflows" / "r", "journal.jsonl")
    spoken(OTHER).write(projects / "-a", "agent-4.jsonl")

    (log,) = claude_code.find_logs(env)
    assert set(log.parts) == parts and len(log.parts) == 3
    assert claude_code.log_file(main) == log


def test_linked_folders_are_followed_and_counted_once(
    env: Mapping[str, str], projects: Path, tmp_path: Path
) -> None:
    real = tmp_path / "elsewhere"
    spoken().write(real)
    (projects / "-a").symlink_to(real)
    (projects / "-b").symlink_to(real)
    (projects / "-c").mkdir()
    (projects / "-c" / f"{SESSION}.jsonl").symlink_to(real / f"{SESSION}.jsonl")

    assert found(env) == [projects / "-a" / f"{SESSION}.jsonl"]


def test_a_linked_configuration_folder_is_followed(tmp_path: Path) -> None:
    spoken().write(tmp_path / "dotfiles" / "projects" / "-a")
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / ".claude").symlink_to(tmp_path / "dotfiles")

    assert len(found({"HOME": str(tmp_path / "h")})) == 1


def test_links_that_lead_in_a_circle_end(env: Mapping[str, str], projects: Path) -> None:
    main = spoken().write(projects / "-a")
    part = spoken().write(main.with_suffix("") / "subagents", "agent-1.jsonl")
    (part.parent / "loop").symlink_to(part.parent)
    (projects / "-a" / "loop").symlink_to(projects)
    (projects / "-self").symlink_to(projects / "-self")

    (log,) = claude_code.find_logs(env)
    assert log.parts == [part]


def test_a_dangling_link_hides_no_other_log(env: Mapping[str, str], projects: Path) -> None:
    main = spoken().write(projects / "-a")
    (projects / "-a" / f"{OTHER}.jsonl").symlink_to(projects / "gone")

    assert found(env) == [main]


def test_a_phantom_log_hides_no_other_log(env: Mapping[str, str], projects: Path) -> None:
    spoken().write(projects / "-a")
    (projects / "-a" / f"{OTHER}.jsonl").write_bytes(b'{"type":"ai-title","aiTitle":"x"}\n')

    sessions = [claude_code.read_session(log) for log in claude_code.find_logs(env)]
    assert [session is None for session in sessions].count(False) == 1


def test_the_harness_is_present_by_its_folder_or_its_program(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)

    assert claude_code.is_present({"HOME": str(tmp_path), "PATH": str(program.parent)})
    assert not claude_code.is_present({"HOME": str(tmp_path), "PATH": str(tmp_path)})
    (tmp_path / ".claude").mkdir()
    assert claude_code.is_present({"HOME": str(tmp_path), "PATH": ""})


def test_a_log_of_any_name_is_taken(tmp_path: Path) -> None:
    log = claude_code.log_file(spoken().write(tmp_path, "copy of a log.jsonl"))

    assert log is not None and log.session_id == SESSION


def test_a_log_whose_records_say_no_session_id_leaves_it_open(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"type":"user","message":{"content":"hi"}}\n')
    log = claude_code.log_file(tmp_path / "x.jsonl")

    assert log is not None and log.session_id == ""
    session = claude_code.read_session(log)
    assert session is not None and session.header.session_id == "x"


def test_the_session_id_is_searched_beyond_front_loaded_lines(tmp_path: Path) -> None:
    lines = b'{"type":"file-history-snapshot"}\n' * 40 + b"<<<<\n" * 40

    path = tmp_path / "x.jsonl"
    path.write_bytes(lines + spoken().data())
    log = claude_code.log_file(path)
    assert log is not None and log.session_id == SESSION


def test_records_of_another_program_are_no_log(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(
        b'{"timestamp":"2026-08-20T09:00:00Z","type":"turn_context","payload":{}}\n'
    )

    assert claude_code.log_file(tmp_path / "x.jsonl") is None


def test_a_missing_log_is_none(tmp_path: Path) -> None:
    assert claude_code.log_file(tmp_path / f"{SESSION}.jsonl") is None
    assert claude_code.log_file(tmp_path) is None


def test_a_folder_called_subagents_above_the_logs_misleads_nobody(tmp_path: Path) -> None:
    main = spoken().write(tmp_path / "subagents" / "projects" / "-a")
    log = claude_code.log_file(main)

    assert log is not None and log.path == main


def test_records_that_agree_on_an_id_decide_it(tmp_path: Path) -> None:
    session = read(spoken().write(tmp_path, f"{OTHER}.jsonl"))

    assert session is not None and session.header.session_id == SESSION


def test_the_name_decides_where_an_old_resume_copied_records_of_another_session(tmp_path: Path) -> None:
    log = spoken(SESSION)
    log.session_id = OTHER
    log.says("new")
    session = read(log.write(tmp_path))

    assert session is not None and session.header.session_id == OTHER
    assert session.born_at == log.records[1]["timestamp"]


def test_reading_a_log_that_has_gone_raises_oserror(tmp_path: Path) -> None:
    log = claude_code.log_file(spoken().write(tmp_path))
    assert log is not None
    log.path.unlink()

    with pytest.raises(FileNotFoundError):
        claude_code.read_session(log)


def test_pipes_in_the_place_of_logs_are_never_opened(env: Mapping[str, str], projects: Path) -> None:
    main = spoken().write(projects / "-a")
    folder = main.with_suffix("") / "subagents"
    part = spoken().write(folder, "agent-1.jsonl")
    pipes = [projects / "-a" / name for name in ("agent-x.jsonl", "x.jsonl", f"{OTHER}.jsonl")]
    pipes += [folder / "agent-2.jsonl", folder / "agent-1.meta.json"]
    for pipe in pipes:
        os.mkfifo(pipe)

    (log,) = claude_code.find_logs(env)
    assert (log.path, log.parts) == (main, [part])
    assert claude_code.read_session(log) is not None
    assert [claude_code.log_file(pipe) for pipe in pipes[:3]] == [None, None, None]
    with pytest.raises(OSError, match="not a regular file"):
        list(LogLines(pipes[0]))


@pytest.mark.parametrize(
    "name", ["a" * 300 + ".jsonl", "a/" * 3000 + "x.jsonl", "a\x00.jsonl", "\ud800.jsonl", "agent-\x00.jsonl"]
)
def test_a_path_that_no_file_can_have_is_no_log(tmp_path: Path, name: str) -> None:
    assert claude_code.log_file(tmp_path / name) is None
    assert claude_code.log_file(tmp_path / "subagents" / name) is None
    assert list(claude_code.find_logs({"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": name})) == []
    with pytest.raises(OSError):
        list(LogLines(tmp_path / name))


@pytest.mark.parametrize("session_id", ["", "../x", "a b/c", 7, None, ["x"], "x" * 200])
def test_an_unusable_session_id_leaves_the_choice_to_the_name(
    env: Mapping[str, str], projects: Path, session_id: Any
) -> None:
    path = Log(session_id)
    path.user("hi")
    path.write(projects / "-a", f"{OTHER}.jsonl")

    (log,) = claude_code.find_logs(env)
    found = claude_code.read_session(log)
    assert found is not None and (log.session_id, found.header.session_id) == (OTHER, OTHER)


def test_a_log_is_found_under_the_id_that_reading_it_gives(env: Mapping[str, str], projects: Path) -> None:
    spoken().write(projects / "-a", f"{OTHER}.jsonl")
    resumed = Log("5e551017-0000-4000-8000-000000000003")
    for _ in range(60):
        resumed.user("copied")
    resumed.session_id = "5e551017-0000-4000-8000-000000000004"
    resumed.user("own words")
    resumed.write(projects / "-a")

    logs = list(claude_code.find_logs(env))
    sessions = [claude_code.read_session(log) for log in logs]
    assert {log.session_id for log in logs} == {SESSION, resumed.session_id}
    assert [found.header.session_id for found in sessions if found] == [log.session_id for log in logs]
