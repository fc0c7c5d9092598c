from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memex_core.config import LoggingConfig
from memex_core.files import operation_log
from memex_core.files.operation_log import configure_log, log_file, log_operation, where

WRITER = """
import sys, pathlib
from memex_core.files import operation_log
operation_log.MAX_BYTES, operation_log.KEEP = 20_000, 200
root, name = pathlib.Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.read()
for number in range(500):
    operation_log.log_operation(root, "write", f"{name}-{number}", "done", detail="x" * (number % 240))
"""


@pytest.fixture(autouse=True)
def _settings_of_this_test_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(operation_log, "_settings", {})
    yield


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def the_line(root: Path) -> dict[str, object]:
    (line,) = lines(root / "logs" / "memex.log")
    return line


def test_a_line_says_what_was_done_to_what_how_many_and_how_long(root: Path) -> None:
    log_operation(root, "consolidate", "recent", "full", 0.0123, "why", created=2, calls=1)
    line = the_line(root)
    assert str(line.pop("ts")).endswith("Z")
    assert line == {
        "level": "INFO",
        "op": "consolidate",
        "subject": "recent",
        "outcome": "full",
        "ms": 12.3,
        "created": 2,
        "calls": 1,
        "detail": "why",
    }


def test_a_line_can_be_text(root: Path) -> None:
    configure_log(root, LoggingConfig(format="text"))
    log_operation(root, "write", "procedures/how to", "updated", 0.5, pages=1)
    stamp, rest = (root / "logs" / "memex.log").read_text("utf-8").split(" ", 1)
    assert stamp.endswith("Z")
    assert rest == 'INFO write subject="procedures/how to" outcome="updated" ms=500.0 pages=1\n'


@pytest.mark.parametrize(
    ("outcome", "level"),
    [
        ("failed", "ERROR"),
        ("left alone", "WARNING"),
        ("not noted", "WARNING"),
        ("defaults taken", "WARNING"),
        ("skipped", "WARNING"),
        ("refused", "WARNING"),
        ("done", "INFO"),
        ("new", "INFO"),
        ("updated", "INFO"),
        ("unchanged", "INFO"),
    ],
)
def test_the_level_follows_from_the_outcome(root: Path, outcome: str, level: str) -> None:
    log_operation(root, "capture", "s1", outcome)
    assert the_line(root)["level"] == level


def test_a_level_that_is_given_holds(root: Path) -> None:
    log_operation(root, "capture", "s1", "failed", level="WARNING")
    assert the_line(root)["level"] == "WARNING"


@pytest.mark.parametrize(
    ("level", "logged"),
    [
        ("DEBUG", ["DEBUG", "INFO", "WARNING", "ERROR"]),
        ("INFO", ["INFO", "WARNING", "ERROR"]),
        ("WARNING", ["WARNING", "ERROR"]),
        ("ERROR", ["ERROR"]),
    ],
)
def test_what_is_below_the_configured_level_is_not_logged(root: Path, level: str, logged: list[str]) -> None:
    configure_log(root, LoggingConfig(level=level))
    for each in operation_log.LEVELS:
        log_operation(root, "write", "x", "done", level=each)
    assert [line["level"] for line in lines(root / "logs" / "memex.log")] == logged


def test_debug_lines_are_left_out_by_default(root: Path) -> None:
    log_operation(root, "write", "x", "done", level="DEBUG")
    assert not (root / "logs").exists()


@pytest.mark.parametrize("file", ["~/own.log", "own.log", "deep/er/own.log", "{tmp}/else/own.log"])
def test_the_file_can_be_elsewhere(root: Path, tmp_path: Path, file: str) -> None:
    configure_log(root, LoggingConfig(file=file.format(tmp=tmp_path)))
    log_operation(root, "write", "x", "done")
    expected = {
        "~/own.log": tmp_path / "home" / "own.log",
        "own.log": root / "own.log",
        "deep/er/own.log": root / "deep" / "er" / "own.log",
    }.get(file, tmp_path / "else" / "own.log")
    assert log_file(root) == expected and len(lines(expected)) == 1
    assert not (root / "logs").exists()


def test_every_memory_root_has_its_own_settings(root: Path, tmp_path: Path) -> None:
    configure_log(root, LoggingConfig(level="ERROR"))
    log_operation(root, "write", "x", "done")
    log_operation(tmp_path / "other", "write", "x", "done")
    assert not root.exists() and the_line(tmp_path / "other")["op"] == "write"


def test_where_the_chosen_file_cannot_be_written_the_line_goes_to_the_usual_one(root: Path) -> None:
    (root / "folder.log").mkdir(parents=True)
    configure_log(root, LoggingConfig(file="folder.log"))
    log_operation(root, "write", "x", "done")
    assert the_line(root)["subject"] == "x"


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x1b", "\x85", "\u2028", "\u2029", "\u202e", "\x00"])
def test_no_subject_can_forge_a_second_line(root: Path, form: str, end: str) -> None:
    configure_log(root, LoggingConfig(format=form))
    log_operation(root, f"wri{end}te", f"a{end}forged", f"do{end}ne", detail=f"b{end}c")
    text = (root / "logs" / "memex.log").read_bytes().decode("utf-8")
    assert len(text.splitlines()) == 1 and text.endswith("\n") and end not in text[:-1]


def test_a_lone_surrogate_and_a_huge_subject_are_written_as_far_as_they_go(root: Path) -> None:
    log_operation(root, "write", "\ud800" + "é" * 1_000, "done")
    assert the_line(root)["subject"] == " " + "é" * 159


def test_a_count_never_takes_the_place_of_a_field(root: Path) -> None:
    log_operation(root, "write", "x", "done", ts=1, op=2, ms=3)
    line = the_line(root)
    assert (line["op"], line["ms"]) == ("write", 0.0) and line["ts"] != 1


def test_what_cannot_be_logged_is_not_raised(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    (root / "logs").write_text("in the way", "utf-8")
    log_operation(root, "write", "x", "done")
    os.mkfifo(tmp_path / "pipe")
    configure_log(root, LoggingConfig(file=str(tmp_path / "pipe")))
    log_operation(root, "write", "x", "done")
    configure_log(root, LoggingConfig(file="\0"))
    log_operation(root, "write", "x", "done", pages="many")  # type: ignore[arg-type]
    assert (root / "logs").read_text("utf-8") == "in the way"


def test_a_log_is_private(root: Path) -> None:
    log_operation(root, "write", "x", "done")
    assert stat.S_IMODE((root / "logs" / "memex.log").stat().st_mode) == 0o600
    assert stat.S_IMODE((root / "logs").stat().st_mode) == 0o700


def test_at_one_mebibyte_the_file_is_put_aside_and_three_old_ones_are_kept(root: Path) -> None:
    log = root / "logs" / "memex.log"
    log.parent.mkdir(parents=True)
    for number in range(6):
        log.write_text(f"{number}".ljust((1 << 20) - 1) + "\n", "utf-8")
        log_operation(root, "write", str(number), "done")
        assert [line["subject"] for line in lines(log)] == [str(number)]
    first = {path.name: path.read_text("utf-8")[:1] for path in log.parent.iterdir() if path != log}
    assert first == {"memex.log.1": "5", "memex.log.2": "4", "memex.log.3": "3"}


def test_a_file_below_one_mebibyte_stays(root: Path) -> None:
    log = root / "logs" / "memex.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"x" * ((1 << 20) - 2) + b"\n")
    log_operation(root, "write", "x", "done")
    assert os.listdir(log.parent) == ["memex.log"]


def test_where_an_old_file_cannot_be_renamed_the_log_grows(root: Path) -> None:
    log = root / "logs" / "memex.log"
    (root / "logs" / "memex.log.3").mkdir(parents=True)
    log.write_bytes(b"x" * (1 << 20) + b"\n")
    (root / "logs" / "memex.log.2").write_text("old", "utf-8")
    log_operation(root, "write", "x", "done")
    assert log.read_bytes().endswith(b"}\n") and (root / "logs" / "memex.log.2").read_text("utf-8") == "old"


def test_eight_processes_that_rotate_at_once_lose_no_line(root: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in range(8)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    for writer in writers:
        assert writer.wait(60) == 0
        assert writer.stdout is not None
        writer.stdout.close()
    files = sorted((root / "logs").iterdir())
    found = [str(line["subject"]) for path in files for line in lines(path)]
    assert sorted(found) == sorted(f"{name}-{number}" for name in range(8) for number in range(500))
    assert len(files) > 5


def test_an_error_is_named_by_its_kind_and_place_and_not_by_its_words() -> None:
    try:
        raise KeyError("what was said")
    except KeyError as error:
        place = where(error)
    assert place.startswith("KeyError at test_operation_log.py:") and "said" not in place


def test_a_stopped_process_that_holds_the_log_stops_nobody(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_log, "MAX_WAIT_S", 0.05)
    log = root / "logs" / "memex.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"x" * (1 << 20) + b"\n")
    with operation_log._turn(log.parent) as ours:
        assert ours
        log_operation(root, "write", "x", "done")
    assert os.listdir(log.parent) == ["memex.log"] and log.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("name", ["docs/entities/alpha.md", "mem.db", "forgotten.jsonl", "memex.toml"])
def test_a_log_is_never_written_into_the_memory_itself(root: Path, name: str) -> None:
    configure_log(root, LoggingConfig(file=name))
    log_operation(root, "write", "x", "done")
    assert not (root / name).exists() and log_file(root) == root / "logs" / "memex.log"
