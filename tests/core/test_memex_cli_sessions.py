"""`memex sessions`, `ingest-transcript`, `journal` (seed 000 §4.1, §4.4, §5.3, §12.5; issue 3 item 2)."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memex_program import memex_cli, memex_program, on_a_terminal

from memex_core.cli.journal_tail import Tail
from memex_core.files.atomic import append_line, write_atomic
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.results import SessionSummary, TranscriptLinkReport
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore

TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "I prefer using ruff.", "ts": "2026-09-15T10:00:00Z", "turn": 1},
    {"role": "agent", "content": "Noted.", "ts": "2026-09-15T10:00:01Z", "turn": 2},
    {
        "role": "tool",
        "tool_name": "shell",
        "result": "ruff installed",
        "ts": "2026-09-15T10:00:02Z",
        "turn": 3,
    },
]
HEADER = {"type": "memex_session_header", "harness": "", "session_id": "old-id"}


def lines(*entries: object) -> str:
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    path = tmp_path / "turns.jsonl"
    path.write_text(lines(*TURNS), "utf-8")
    return path


def ingest(*arguments: str) -> Any:
    return memex_cli("ingest-transcript", *arguments)


def test_ingest_gives_the_transcript_link_report_of_the_specification(root: Path, turns: Path) -> None:
    report = ingest("--session-id", "sess-1", "--turns-file", str(turns)).json
    assert list(report) == [field.name for field in fields(TranscriptLinkReport)]
    counts = [report[name] for name in ("turn_count", "user_turns", "agent_turns", "tool_turns")]
    assert counts == [3, 1, 1, 1] and report["session_id"] == "sess-1"
    for name in ("transcript_file", "meta_file", "episode_file_path"):
        assert (root / report[name]).is_file(), name
    assert memex_cli("show", report["episode_node"], "--type", "episode").json["type"] == "episode"


def test_ingest_as_text_says_what_came_of_it(turns: Path) -> None:
    done = ingest("--session-id", "sess-1", "--turns-file", str(turns), "--text")
    assert done.stdout.startswith("new: sess-1, 3 turns (1 user, 1 agent, 1 tool)\n")


def test_turns_may_be_one_array_or_be_piped_in(tmp_path: Path) -> None:
    (tmp_path / "turns.json").write_text(json.dumps(TURNS, indent=2), "utf-8")
    assert ingest("--session-id", "a", "--turns-file", str(tmp_path / "turns.json")).json["turn_count"] == 3
    piped = memex_program("ingest-transcript", "--session-id", "b", "--turns-file", "-", stdin=lines(*TURNS))
    assert piped.json["turn_count"] == 3


def test_header_lines_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(lines(HEADER, TURNS[0]) + "\n" + lines(HEADER, TURNS[1]) + "\r\n", "utf-8")
    assert ingest("--session-id", "again", "--turns-file", str(path)).json["turn_count"] == 2


def test_a_transcript_of_ours_can_be_ingested_under_another_name(root: Path, turns: Path) -> None:
    first = ingest("--session-id", "one", "--turns-file", str(turns)).json
    again = ingest("--session-id", "two", "--turns-file", str(root / "transcripts" / "one.jsonl")).json
    assert again["turn_count"] == first["turn_count"]


def test_each_line_that_is_no_turn_is_named_and_nothing_is_kept(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    bad = ['{"role": "user"', '{"role": "king", "content": ""}', "17", '{"role": "user", "content": 7}']
    path.write_text(lines(TURNS[0]) + "\n".join([*bad, json.dumps({"role": "agent"})]) + "\n", "utf-8")
    done = ingest("--session-id", "s", "--turns-file", str(path))
    assert (done.returncode, done.stdout) == (1, "") and len(done.stderr.splitlines()) == 1
    for said in (
        "line 2 is not JSON",
        "line 3 has the role 'king'",
        "line 4 is not an object",
        "line 5 has a content that is no text",
        "line 6 has no content",
    ):
        assert said in done.stderr
    assert not (root / "transcripts").exists()


def test_of_many_bad_lines_the_first_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text("nonsense\n" * 25, "utf-8")
    done = ingest("--session-id", "s", "--turns-file", str(path))
    assert "line 10 is" in done.stderr and "line 11" not in done.stderr and "and 15 more" in done.stderr


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*TURNS[2], "x"]), inner),
    max_leaves=6,
)


@given(entries=st.lists(JSON | st.sampled_from(TURNS), max_size=4), array=st.booleans())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_surprises_the_reader_of_turns(tmp_path: Path, entries: list[Any], array: bool) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(json.dumps(entries) if array else lines(*entries), "utf-8")
    done = ingest("--session-id", "s", "--overwrite", "--turns-file", str(path))
    assert done.returncode in (0, 1, 2) and len(done.stderr.splitlines()) <= 1
    assert done.returncode != 0 or done.json["turn_count"] == len(entries)


@pytest.mark.parametrize("text", ["", "\n\n", "[]", lines(HEADER)])
def test_a_file_without_a_turn_is_refused(root: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(text, "utf-8")
    done = ingest("--session-id", "s", "--turns-file", str(path))
    assert done.returncode == 1 and "holds no turn" in done.stderr and not (root / "transcripts").exists()


def test_the_same_id_again_needs_overwrite(turns: Path) -> None:
    arguments = ("--session-id", "s", "--turns-file", str(turns))
    assert ingest(*arguments).returncode == 0
    again = ingest(*arguments)
    assert again.returncode == 1 and "exists already" in again.stderr
    assert ingest(*arguments, "--overwrite").json["turn_count"] == 3


@pytest.mark.parametrize("session_id", ["", "../up", "a b", "con"])
def test_an_id_that_is_no_file_name_is_refused(root: Path, turns: Path, session_id: str) -> None:
    done = ingest("--session-id", session_id, "--turns-file", str(turns))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert not (root / "transcripts").exists()


def test_metadata_is_kept_in_the_sidecar(root: Path, tmp_path: Path, turns: Path) -> None:
    (tmp_path / "about.json").write_text('{"task": "cli"}', "utf-8")
    for name, about in (("a", '{"task": "cli"}'), ("b", f"@{tmp_path / 'about.json'}")):
        assert ingest("--session-id", name, "--turns-file", str(turns), "--metadata", about).returncode == 0
        assert '"cli"' in (root / "transcripts" / f"{name}.meta.json").read_text("utf-8")


@pytest.mark.parametrize(("about", "status"), [("{", 2), ("[1]", 2), ("@missing.json", 1)])
def test_metadata_that_is_no_object_is_refused(root: Path, turns: Path, about: str, status: int) -> None:
    done = ingest("--session-id", "s", "--turns-file", str(turns), "--metadata", about)
    assert done.returncode == status and len(done.stderr.splitlines()) == 1
    assert not (root / "transcripts").exists()


def test_sessions_as_json_are_the_summaries_of_the_specification(turns: Path) -> None:
    ingest("--session-id", "sess-1", "--turns-file", str(turns))
    for arguments in (["sessions"], ["sessions", "list"]):
        (summary,) = memex_cli(*arguments).json
        assert list(summary) == [field.name for field in fields(SessionSummary)]
        assert (summary["session_id"], summary["turn_count"]) == ("sess-1", 3)
    assert "sess-1" in memex_cli("sessions", "--text").stdout


def test_deleting_without_a_terminal_needs_yes(turns: Path) -> None:
    ingest("--session-id", "s1", "--turns-file", str(turns))
    done = memex_program("sessions", "delete", "s1")
    assert done.returncode == 1 and "--yes" in done.stderr
    assert memex_cli("sessions", "delete", "s1", "--yes").json["deleted"] == ["s1"]


def test_deleting_asks_at_a_terminal(root: Path, turns: Path) -> None:
    ingest("--session-id", "s1", "--turns-file", str(turns))
    assert on_a_terminal("sessions", "delete", "s1", typed=["n"]).returncode == 1
    assert (root / "transcripts" / "s1.jsonl").exists()
    assert on_a_terminal("sessions", "delete", "s1", typed=["y"]).returncode == 0
    assert not (root / "transcripts" / "s1.jsonl").exists()


def test_the_question_before_deleting_says_that_events_go_too(root: Path, turns: Path) -> None:
    ingest("--session-id", "s1", "--turns-file", str(turns))
    asked = on_a_terminal("sessions", "delete", "s1", typed=["n"]).stdout
    words = "Delete s1 (I prefer using ruff.), its page, what you wrote into that page"
    assert f"{words} and 1 event of the diary?" in asked
    (root / "diary" / "2026-09-15.md").unlink()
    asked = on_a_terminal("sessions", "delete", "s1", typed=["n"]).stdout
    assert f"{words.replace(', what', ' and what')}?" in asked


def test_a_deletion_says_how_many_events_went(root: Path, turns: Path) -> None:
    ingest("--session-id", "s1", "--turns-file", str(turns))
    Diary(root).append("By hand.", date="2026-09-15", time="10:00", source_conv="s1")
    deleted = memex_cli("sessions", "delete", "s1", "--yes").json
    assert (deleted["diary_events"], deleted["kept"]) == (1, ["diary/2026-09-15 10:00"])
    assert [event.content for event in Diary(root).events()] == ["By hand."]


def test_prune_says_which_sessions_have_events_in_the_diary(root: Path, turns: Path) -> None:
    for name in ("s1", "s2"):
        ingest("--session-id", name, "--turns-file", str(turns))
    Diary(root).append("Of another one.", date="2026-09-15", time="10:00", source_conv="other")
    dry = memex_cli("sessions", "prune", "--older-than", "0", "--dry-run")
    assert (sorted(dry.json["matched"]), dry.json["diary_events"]) == (["s1", "s2"], 2)
    lines = memex_cli("sessions", "prune", "--older-than", "0", "--dry-run", "--text").stdout.splitlines()
    assert "would delete s1  I prefer using ruff.  (1 event of the diary)" in lines
    asked = on_a_terminal("sessions", "prune", "--older-than", "0", typed=["n"]).stdout
    assert "Delete 2 sessions that ended before" in asked and "and 2 events of the diary?" in asked


def test_prune_deletes_what_ended_long_ago_and_nothing_else(root: Path) -> None:
    (root / "transcripts").mkdir(parents=True)
    for name, ended in (("old", "2020-01-01T00:00:00Z"), ("young", "2999-01-01T00:00:00Z")):
        meta = json.dumps({"session_id": name, "started_at": ended, "ended_at": ended})
        (root / "transcripts" / f"{name}.meta.json").write_text(meta, "utf-8")
    assert memex_cli("sessions", "prune", "--older-than", "30d", "--dry-run").json["matched"] == ["old"]
    assert memex_cli("sessions", "prune", "--older-than", "30", "--yes").json["deleted"] == ["old"]
    assert [s["session_id"] for s in memex_cli("sessions").json] == ["young"]


@pytest.fixture
def changed(root: Path) -> Path:
    for number in range(1, 4):
        now = f"2026-0{number}-01T10:00:00Z"
        Memex(root, now=lambda now=now: now).write(WriteInput("entity", f"Page {number}", "x"))
    Memex(root, now=lambda: "2026-04-01T10:00:00Z").write(WriteInput("entity", "Page 1", "y"))
    return root


def journal(*arguments: str) -> list[tuple[str, str]]:
    return [(line["action"], line["file"]) for line in memex_cli("journal", *arguments).json]


def test_the_journal_is_read_newest_first(changed: Path) -> None:
    assert journal() == [
        ("update", "entities/page-1"),
        ("add", "entities/page-3"),
        ("add", "entities/page-2"),
        ("add", "entities/page-1"),
    ]


def test_the_journal_can_be_narrowed(changed: Path) -> None:
    assert journal("--limit", "1") == [("update", "entities/page-1")]
    assert len(journal("--limit", "0")) == 4
    assert journal("--since", "2026-03-01") == [("update", "entities/page-1"), ("add", "entities/page-3")]
    for name in ("page-1", "entities/page-1"):
        assert journal("--page", name) == [("update", "entities/page-1"), ("add", "entities/page-1")]
    assert journal("--page", "nope") == []


def test_the_journal_as_text_is_a_table(changed: Path) -> None:
    header, first, *_ = memex_cli("journal", "--text").stdout.splitlines()
    assert header.split() == ["TIME", "CHANGE", "PAGE", "TITLE"]
    assert first.split() == ["2026-04-01", "10:00", "update", "entities/page-1", "Page", "1"]


def test_lines_of_the_journal_that_are_not_ours_are_shown_and_odd_ones_crash_nothing(root: Path) -> None:
    root.mkdir()
    foreign = {"ts": "2026-01-01T00:00:00Z", "action": "add", "file": "topic.md", "item": "A fact"}
    odd = [{}, {"ts": 7, "file": None, "item": ["x"]}, {"action": {"a": 1}}]
    (root / "journal.jsonl").write_text("not JSON\n" + lines(foreign, *odd), "utf-8")
    assert memex_cli("journal", "--page", "topic").json == [foreign]
    assert len(memex_cli("journal").json) == 4
    assert "A fact" in memex_cli("journal", "--text", "--since", "1970-01-01").stdout


def test_the_journal_can_be_narrowed_to_some_kinds_of_change(changed: Path) -> None:
    Diary(changed).append("Met Kim.", date="2026-09-15", time="10:00")
    assert journal("--action", "update") == [("update", "entities/page-1")]
    assert len(journal("--action", "add", "--action", "update")) == 4
    (event,) = memex_cli("journal", "--action", "diary").json
    assert (event["date"], event["time"]) == ("2026-09-15", "10:00")
    assert memex_cli("journal", "--page", "2026-09-15").json == [event]
    assert memex_cli("journal", "--action", "diary", "--text").stdout.splitlines()[1].split()[2:] == [
        "diary",
        "diary/2026-09-15",
        "10:00",
    ]


class Follower:
    """`memex journal --follow ARGUMENTS` and the lines that it prints."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "memex_core.cli", "journal", "--follow", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def next(self) -> str:
        return self.lines.get(timeout=15)

    def begins(self, journal: Path) -> None:
        """Wait until it follows: until then, a change may be one of before."""
        number = 0
        while self.lines.empty():
            number += 1
            append_line(journal, json.dumps({"item": f"probe {number}"}).encode(), durable=False)
            time.sleep(0.2)
        while self.next() != json.dumps({"item": f"probe {number}"}):
            pass

    def end(self) -> tuple[int, str]:
        """Its exit status after Ctrl-C, and what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(10), self._said()

    def _said(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


def test_a_followed_journal_prints_changes_as_they_come_until_ctrl_c(changed: Path) -> None:
    with Follower() as follower:
        follower.begins(changed / "journal.jsonl")
        Memex(changed).write(WriteInput("entity", "Page 9", "x"))
        line = json.loads(follower.next())
        assert (line["action"], line["item"]) == ("add", "Page 9")
        assert follower.end() == (0, "")
        assert follower.lines.empty()


def test_a_followed_journal_begins_with_what_was_since_a_day(changed: Path) -> None:
    with Follower("--since", "2026-03-01", "--action", "add", "--text") as follower:
        assert follower.next().split() == ["2026-03-01", "10:00", "add", "entities/page-3", "Page", "3"]
        Memex(changed).write(WriteInput("entity", "Page 1", "z"))
        Memex(changed).write(WriteInput("entity", "Page 9", "x"))
        assert follower.next().endswith("Page 9")


def test_a_journal_that_is_not_there_yet_can_be_followed(root: Path) -> None:
    with Follower() as follower:
        root.mkdir()
        follower.begins(root / "journal.jsonl")
        assert follower.end() == (0, "")


def test_a_follower_ends_when_nobody_reads_it_any_more(changed: Path) -> None:
    command = f"{sys.executable} -m memex_core.cli journal --follow --since 2020-01-01 | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=15, check=False)
    assert json.loads(done.stdout)["item"] == "Page 1" and done.stderr == ""


def seen(tail: Tail) -> list[Any]:
    return [line["n"] for line in tail.new()]


def test_a_tail_gives_each_line_once_when_its_end_is_there(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    tail = Tail(path)
    assert seen(tail) == []
    path.write_text('{"n": 1}\n{"n": 2', "utf-8")
    assert seen(tail) == [1] and seen(tail) == []
    path.write_text('{"n": 1}\n{"n": 2}\n', "utf-8")
    assert seen(tail) == [2] and seen(tail) == []


def test_a_tail_passes_over_a_torn_line_and_what_is_no_object(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"n": 1}\n{"to')
    tail = Tail(path)
    assert seen(tail) == [1]
    append_line(path, b'{"n": 2}')
    append_line(path, b"[3]")
    append_line(path, b"\xff\r")
    append_line(path, b"[" * 100_000)
    append_line(path, b'{"n": 4}')
    assert seen(tail) == [2, 4]


def test_a_tail_of_a_record_that_was_rewritten_gives_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"n": 1}\n{"n": 2}\n', "utf-8")
    tail = Tail(path)
    tail.skip()
    write_atomic(path, b'{"n": "(deleted)"}\n{"n": "(deleted)"}\n{"n": 3}\n')
    assert seen(tail) == [3] and seen(tail) == []
    write_atomic(path, b'{"n": "(deleted)"}\n{"n": "(deleted)"}\n{"n": "(deleted)"}\n')
    assert seen(tail) == []
    append_line(path, b'{"n": 4}')
    assert seen(tail) == [4]


def test_a_tail_of_a_file_that_was_emptied_or_deleted_gives_what_comes_then(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"n": 1}\n{"n": 2}\n{"n": 3}\n', "utf-8")
    tail = Tail(path)
    assert seen(tail) == [1, 2, 3]
    path.write_text("", "utf-8")
    assert seen(tail) == []
    append_line(path, b'{"n": 4}')
    assert seen(tail) == [4]
    path.unlink()
    assert seen(tail) == []
    path.mkdir()
    assert seen(tail) == []
    path.rmdir()
    path.write_text('{"n": 5}\n', "utf-8")
    assert seen(tail) == [5]


def test_a_memory_without_a_journal_says_so(root: Path) -> None:
    assert memex_cli("journal").json == []
    assert memex_cli("journal", "--text").stdout == "nothing changed\n"


def test_secrets_of_an_ingested_transcript_are_not_kept(root: Path, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    turns = tmp_path / "turns.jsonl"
    turns.write_text(
        json.dumps({"role": "user", "content": f"I prefer {token}.", "ts": "", "turn": 1}), "utf-8"
    )
    done = memex_cli("ingest-transcript", "--session-id", "s1", "--turns-file", str(turns))
    assert done.returncode == 0, done.stderr
    assert all(token.encode() not in path.read_bytes() for path in root.rglob("*") if path.is_file())


def test_the_journal_of_an_item_of_a_file_of_a_day_and_of_an_event(root: Path) -> None:
    items, diary = RecallFileStore(root), Diary(root)
    items.add("rules", "big dogs", "Barks.")
    items.add("rules", "cats", "Purrs.")
    items.add("rules", "big dogs", "Bark.")
    for clock in ("08:00", "09:00"):
        diary.append("Met.", date="2026-09-20", time=clock)
    Memex(root).write(WriteInput("entity", "rules: cats", "A page."))

    def actions(name: str) -> list[str]:
        return [line["action"] for line in memex_cli("journal", "--page", name).json]

    assert actions("rules:big dogs") == actions("rules: big  dogs") == ["update", "add"]
    assert actions("rules") == actions("rules.md") == ["update", "add", "add"]
    assert actions("rules:cats") == ["add"] and actions("entities/rules-cats.md") == ["add"]
    assert actions("2026-09-20") == actions("diary/2026-09-20.md") == ["diary", "diary"]
    assert actions("2026-09-20#1") == actions("2026-09-20 09:00") == ["diary"]
    assert items.remove("rules", "cats") and actions("rules:cats") == ["remove", "add"]
    assert actions("rules:eels") == actions("2026-09-20#7") == []
