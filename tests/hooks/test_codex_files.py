"""Which files are whose log (formats/codex.md §1.1, §2.7)."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from codex_rollouts import START, Rollout, prompts, read, said, tokens, usage, uuid7

from memex_core.model.session import Session
from memex_hooks.harness import LogFile
from memex_hooks.harnesses import codex

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def found(home: Path) -> list[LogFile]:
    return list(codex.find_logs({"CODEX_HOME": str(home), "HOME": "/nowhere"}))


def compress(path: Path) -> Path:
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    return packed


def one_log(words: str = "one", salt: int = 1) -> Rollout:
    return Rollout(salt=salt).exchange(words, "1")


def test_the_config_dir_is_codex_home_or_dot_codex(tmp_path: Path) -> None:
    assert codex.config_dir({"HOME": "/home/dev"}) == Path("/home/dev/.codex")
    assert codex.config_dir({"HOME": "/home/dev", "CODEX_HOME": "/srv/codex"}) == Path("/srv/codex")
    assert codex.config_dir({"HOME": "/home/dev", "CODEX_HOME": "~/c"}) == Path("/home/dev/c")


def test_another_config_dir_can_be_asked_for(tmp_path: Path) -> None:
    env = {"HOME": "/home/dev"}
    assert codex.config_dir(codex.with_config_dir(env, "/srv/codex")) == Path("/srv/codex")
    assert codex.with_config_dir(env, "") is env


def test_codex_is_present_by_its_folder_or_its_program(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
    assert not codex.is_present(env)
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert codex.is_present(env)
    (tmp_path / ".codex").mkdir()
    assert codex.is_present({**env, "PATH": ""})


def test_no_home_at_all_holds_no_logs(tmp_path: Path) -> None:
    assert found(tmp_path / "missing") == []


def test_logs_come_in_the_order_of_their_start(tmp_path: Path) -> None:
    later = Rollout(start=START + timedelta(days=400)).exchange("later", "x")
    later.write(tmp_path)
    first = one_log()
    first.write(tmp_path, archived=True)
    assert [log.session_id for log in found(tmp_path)] == [first.thread, later.thread]


def test_temporary_names_are_passed_over(tmp_path: Path) -> None:
    log = one_log()
    path = log.write(tmp_path)
    for name in (f"{path.name}.tmp", f".rollout-materialize-{path.name}", f".{path.name}.paginated.tmp"):
        (path.parent / name).write_bytes(log.data)
    (tmp_path / "sessions" / "rollout-maintenance.lock").write_bytes(b"")
    (tmp_path / "thread-writer-locks").mkdir()
    assert [found_log.path for found_log in found(tmp_path)] == [path]


def test_a_pipe_or_folder_with_a_rollouts_name_is_no_log(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    (folder / one_log().name).mkdir(parents=True)
    os.mkfifo(folder / one_log(salt=2).name)
    assert found(tmp_path) == []


def test_a_compressed_log_is_read(tmp_path: Path) -> None:
    """deja-vu#3640, agent-of-empires#3281, codex-trace#101: .jsonl.zst was invisible."""
    path = one_log().write(tmp_path)
    packed = compress(path)
    path.unlink()
    (log,) = found(tmp_path)
    assert log.path == packed
    assert prompts(read(packed)) == ["one"]


def test_of_copies_the_active_plain_one_wins(tmp_path: Path) -> None:
    log = one_log()
    archived = log.write(tmp_path, archived=True)
    archived_packed = compress(archived)
    active = log.write(tmp_path)
    packed = compress(active)
    for winner in (active, packed, archived, archived_packed):
        assert [found_log.path for found_log in found(tmp_path)] == [winner]
        assert [asked.path for asked in map(codex.log_file, (packed, archived)) if asked] == [winner, winner]
        winner.unlink()


def test_an_empty_copy_never_wins(tmp_path: Path) -> None:
    log = one_log()
    archived = log.write(tmp_path, archived=True)
    log.lines.clear()
    log.write(tmp_path)
    assert [found_log.path for found_log in found(tmp_path)] == [archived]


def test_a_log_that_was_archived_since_is_still_found_by_its_old_path(tmp_path: Path) -> None:
    log = one_log()
    old = log.write(tmp_path)
    old.unlink()
    assert codex.log_file(old) is None
    moved = log.write(tmp_path, archived=True)
    asked = codex.log_file(old)
    assert asked is not None and asked.path == moved


def test_a_log_outside_of_any_home_is_a_log_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes(one_log().data)
    assert prompts(read(path)) == ["one"]


def test_the_id_comes_from_the_first_line_whatever_the_name_says(tmp_path: Path) -> None:
    log = one_log()
    log.write(tmp_path, name=one_log(salt=2).name)
    (found_log,) = found(tmp_path)
    assert found_log.session_id == log.thread
    braces = Rollout(salt=3, git={"branch": "{"}, cwd="/a{b}")
    path = braces.exchange("two", "2").write(tmp_path)
    asked = codex.log_file(path)
    assert asked is not None and asked.session_id == braces.thread


def test_a_log_file_knows_the_file_as_it_is(tmp_path: Path) -> None:
    path = one_log().write(tmp_path)
    asked, status = codex.log_file(path), path.stat()
    assert asked is not None
    assert (asked.size, asked.mtime_ns, asked.ino, asked.parts) == (
        status.st_size,
        status.st_mtime_ns,
        status.st_ino,
        [],
    )


def test_a_resumed_log_is_found_in_its_old_folder(tmp_path: Path) -> None:
    """TokenTracker#592: files of old date folders were skipped."""
    log = one_log()
    log.write(tmp_path)
    log.now += timedelta(days=16)
    path = log.exchange("two", "2").write(tmp_path)
    assert [found_log.path for found_log in found(tmp_path)] == [path]
    assert prompts(read(path)) == ["one", "two"]


def reverted(tmp_path: Path) -> tuple[Rollout, Path, Path]:
    """A thread taken back to behind its first exchange, as 0.171 writes it: (old log, old file, new file)."""
    old = Rollout().begin().prompt("one").answer("1").record("resp_1", tokens(10, 0, 1)).end()
    cut = len(old.data)
    old.begin().prompt("two").call("c1", "make").record("resp_2", tokens(20, 0, 2))
    base = {"thread_id": old.thread, "end_ordinal_exclusive": 6, "end_byte_offset": cut}
    new = Rollout(start=START + timedelta(minutes=1), thread=old.thread, history_base=base)
    new.begin().count(tokens(10, 0, 1), tokens(10, 0, 1)).prompt("three").answer("3")
    new.record("resp_3", tokens(30, 0, 3)).end()
    rollout = uuid7(new.start, 3)
    name = f"rollout-{new.start:%Y-%m-%dT%H-%M-%S}-{old.thread}_{rollout}.jsonl"
    return old, old.write(tmp_path), new.write(tmp_path, name=name)


def test_a_reverted_thread_is_read_from_both_files_and_what_was_reverted_is_retracted(tmp_path: Path) -> None:
    log, old, new = reverted(tmp_path)
    before = list(read_alone(old).turns)
    (found_log,) = found(tmp_path)
    assert (found_log.path, found_log.parts, found_log.session_id) == (new, [old], log.thread)
    session = read(old)
    assert said(session) == [
        ("user", "one"),
        ("agent", "1"),
        ("user", "two"),
        ("tool", "exec_command"),
        ("user", "three"),
        ("agent", "3"),
    ]
    assert session.retracted == {3, 4}
    assert list(session.turns)[: len(before)] == before
    assert usage(session)["total_tokens"] == 66
    assert [source.path for source in session.sources] == [str(new), str(old)]
    assert session.born_at == "2026-11-21T10:00:00.000Z"


def test_an_empty_file_of_a_reverted_thread_is_no_part_of_it(tmp_path: Path) -> None:
    _, old, new = reverted(tmp_path)
    new.with_name(f"{old.stem}_{uuid7(START + timedelta(seconds=30), 5)}.jsonl").write_bytes(b"")
    asked = codex.log_file(new)
    assert asked is not None and (asked.path, asked.parts) == (new, [old])


def read_alone(path: Path) -> Session:
    log = codex.log_file(path)
    assert log is not None
    session = codex.read_session(LogFile(path, log.session_id, 0, 0, 0))
    assert session is not None
    return session


def test_a_reverted_thread_whose_old_file_is_gone_keeps_what_the_new_one_holds(tmp_path: Path) -> None:
    _, old, new = reverted(tmp_path)
    old.unlink()
    session = read(new)
    assert (prompts(session), session.retracted) == (["three"], set())
    assert usage(session)["total_tokens"] == 33


def test_a_thread_reverted_twice_keeps_every_file(tmp_path: Path) -> None:
    log, old, new = reverted(tmp_path)
    base = {
        "thread_id": log.thread,
        "end_ordinal_exclusive": 6,
        "end_byte_offset": old.read_bytes().find(b"two") - 900,
    }
    start = START + timedelta(minutes=2)
    last = Rollout(start=start, thread=log.thread, history_base=base).exchange("four", "4")
    name = f"rollout-{start:%Y-%m-%dT%H-%M-%S}-{log.thread}_{uuid7(start, 4)}.jsonl"
    path = last.write(tmp_path, name=name)
    (found_log,) = found(tmp_path)
    assert (found_log.path, found_log.parts) == (path, [old, new])
    session = read(path)
    assert prompts(session) == ["one", "two", "three", "four"]
    assert {7, 8}.isdisjoint(session.retracted) and {3, 4, 5, 6} <= session.retracted


def test_a_file_migrated_in_place_reads_the_same_conversation(tmp_path: Path) -> None:
    """`codex migrate-rollouts` makes item ids up; turns keep theirs."""
    before = list(read(Rollout(history_mode="legacy").exchange("one", "1").write(tmp_path)).turns)
    after = list(read(Rollout().exchange("one", "1").write(tmp_path)).turns)
    assert [turn.content for turn in after] == ["one", "1"]
    assert after == before


def test_the_session_index_may_be_missing_damaged_or_newer(tmp_path: Path) -> None:
    log = one_log()
    path = log.write(tmp_path)
    assert read(path).title == ""
    lines = [
        '{"id":"other","thread_name":"not this"}',
        f'{{"id":"{log.thread}","thread_name":"first"}}',
        "damaged",
        f'{{"id":"{log.thread}","thread_name":"A  name\\nin two lines"}}',
        f'{{"id":"{log.thread}","thread_name":null}}',
    ]
    (tmp_path / "session_index.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert read(path).title == "A name in two lines"


def test_an_unreadable_log_is_an_os_error_for_the_reader_and_nothing_for_the_finder(tmp_path: Path) -> None:
    path = one_log().write(tmp_path)
    log = codex.log_file(path)
    assert log is not None
    path.unlink()
    with pytest.raises(FileNotFoundError):
        codex.read_session(log)
    assert found(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 300 + ".jsonl", "a\0b.jsonl", "\ud800.jsonl", "missing.jsonl"])
@pytest.mark.parametrize(
    "folder", ["", "sessions", "sessions/a\0b", "a\0b/sessions", "y" * 300 + "/sessions"]
)
def test_a_path_that_cannot_be_is_no_log(tmp_path: Path, folder: str, name: str) -> None:
    for asked in (name, f"rollout-2026-11-21T10-00-00-{uuid7(START)}{name}"):
        assert codex.log_file(tmp_path / folder / asked) is None


def test_what_is_no_regular_file_is_no_log_and_is_never_opened(tmp_path: Path) -> None:
    """Opening a pipe waits for a writer."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    paths = [folder / one_log(salt=salt).name for salt in range(1, 5)]
    os.mkfifo(paths[0])
    paths[1].mkdir()
    paths[2].symlink_to("/dev/zero")
    paths[3].symlink_to(paths[0])
    assert [codex.log_file(path) for path in paths] == [None] * 4
    assert codex.log_file(Path("/dev/zero")) is None
    assert found(tmp_path) == []


def test_a_pipe_in_place_of_the_session_index_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session_index.jsonl")
    assert read(one_log().write(tmp_path)).title == ""


def test_a_home_that_cannot_be_holds_no_logs() -> None:
    for home in ("/a\0b", "/" + "x" * 5000, "/\ud800", "~/\0"):
        assert list(codex.find_logs({"CODEX_HOME": home, "HOME": "/nowhere"})) == []


def test_a_working_directory_that_is_gone_stops_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert codex.log_file(Path("x.jsonl")) is None
    assert list(codex.find_logs({"CODEX_HOME": "relative", "HOME": "/nowhere"})) == []


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n",
        b"\xef\xbb\xbf",
        b'{"timestamp":"2026-11-21T10:00:00.000Z","type":"event_msg","payload":{}}\n',
        b'{"type":"session_meta","payload":{"id":"torn-thread-id","cwd":"/ho\n',
        b'{"type":"session_meta","payload":{"id":"torn-thread-id","cwd":"/ho',
        b'{"type":"session_meta","payload":{"id":"con.thread","cwd":"/"}}\n',
        b'{"type":"session_meta","payload":{"id":"other-thread-id","cwd":"/"}}\n',
    ],
)
@pytest.mark.parametrize("name", [one_log().name, one_log(salt=2).name, "copy.jsonl"])
def test_the_id_that_is_looked_up_is_the_id_that_is_read(tmp_path: Path, head: bytes, name: str) -> None:
    path = one_log().write(tmp_path, name=name)
    path.write_bytes(head + path.read_bytes())
    asked = codex.log_file(path)
    assert asked is not None
    session = codex.read_session(asked)
    assert session is not None and asked.session_id == session.header.session_id
    assert [log.session_id for log in found(tmp_path)] in ([asked.session_id], [])
