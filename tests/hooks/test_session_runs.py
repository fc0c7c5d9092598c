"""From hooks to the diary: a session leaves one event for each run, from its start or resume to its end."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import claude_code_logs
import pytest
from claude_code_logs import SESSION, Log, stamp
from codex_rollouts import Rollout

from memex_core.memex import Memex
from memex_core.store.diary import Diary
from memex_hooks.capture import behind, drain, sweep
from memex_hooks.harnesses import HARNESSES

CLAUDE = HARNESSES["claude-code"]
OTHER = "11111111-2222-4333-8444-555555555555"


class House:
    """A program at work beside a memory: the log of its session, and the envelopes that its hooks drop."""

    def __init__(self, home: Path, root: Path, harness: str = "claude-code") -> None:
        self.env = {"HOME": str(home), "PATH": ""}
        self.root = root
        self.harness = harness
        self.log = Log()
        self.path = home / ".claude" / "projects" / "-home-dev-demo" / f"{SESSION}.jsonl"
        self.dropped = 0

    def says(self, prompt: str, answer: str = "") -> None:
        """A turn, or what there is of it so far."""
        self.log.user(prompt)
        if answer:
            self.log.says(answer)
        self.log.write(self.path.parent)

    def drop(self, event: str, source: str = "", *, path: Path | None = None, at: float = 0.0) -> None:
        """An envelope of a time in seconds since 1970, or of right after the last record of the log."""
        self.dropped += 1
        log = path or self.path
        payload = {"session_id": log.stem, "transcript_path": str(log), "source": source}
        file = self.root / "spool" / f"{self.harness}.{event}.{self.dropped}.0.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"memex-envelope 1 {self.harness} {event}\n\n{json.dumps(payload)}", "utf-8")
        at = at or self.seconds(self.log.count) + 0.5 + self.dropped / 1000
        os.utime(file, (at, at))

    def seconds(self, record: int) -> float:
        """The time of a record of the log."""
        return datetime.fromisoformat(stamp(record)).timestamp()

    def drain(self) -> list[str]:
        return [captured.outcome for captured in drain(self.root, self.env, settle_s=0.0)]

    def hook(self, event: str, source: str = "") -> list[str]:
        """An event of the session and the worker that it starts."""
        self.drop(event, source)
        return self.drain()

    def told(self) -> list[tuple[str, ...]]:
        """(what was asked, what was answered) in each event."""
        contents = [event.content for event in Diary(self.root).events()]
        return [tuple(line.partition(": ")[2] for line in text.splitlines()[:-1]) for text in contents]


@pytest.fixture
def house(tmp_path: Path, root: Path) -> House:
    return House(tmp_path / "home", root)


def test_a_session_of_five_turns_is_one_event_from_its_first_hook_to_its_last(house: House) -> None:
    house.hook("SessionStart", "startup")
    for number in range(5):
        house.says(f"Prompt {number}.", f"Answer {number}.")
        house.hook("Stop")
    assert house.told() == [("Prompt 0.", "Answer 4.")]
    house.hook("SessionEnd")
    assert house.told() == [("Prompt 0.", "Answer 4.")]


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact"])
def test_a_hook_in_the_midst_of_a_turn_tells_what_there_is_so_far(house: House, event: str) -> None:
    house.says("Fix it.")
    house.hook(event)
    assert house.told() == [("Fix it.",)]
    house.log.says("Fixed.")
    house.says("Test it.")
    house.hook(event)
    assert house.told() == [("Fix it.", "Fixed.")]


def test_what_comes_after_the_end_is_one_event_more(house: House) -> None:
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    assert house.hook("SessionEnd") == ["updated"]
    assert house.hook("SessionEnd") == ["current"]
    house.says("Test it.", "Tested.")
    house.hook("Stop")
    assert house.told() == [("Fix it.", "Fixed."), ("Test it.", "Tested.")]


def test_a_resume_ends_the_run_before_it_also_when_the_log_says_nothing_new(house: House) -> None:
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    assert house.hook("SessionStart", "resume")[0] == "updated"
    assert house.hook("SessionStart", "resume")[0] == "current"
    for words in ("Test", "Push"):
        house.says(f"{words} it.", f"{words}ed.")
        house.hook("Stop")
    assert house.told() == [("Fix it.", "Fixed."), ("Test it.", "Pushed.")]


@pytest.mark.parametrize("source", ["compact", "startup", "clear"])
def test_no_other_start_ends_a_run(house: House, source: str) -> None:
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    house.hook("SessionStart", source)
    house.says("Test it.", "Tested.")
    house.hook("Stop")
    assert house.told() == [("Fix it.", "Tested.")]


def test_runs_whose_envelopes_come_together_are_told_apart(house: House) -> None:
    house.drop("SessionStart", "startup")
    for number in range(3):
        house.says(f"Prompt {number}.", f"Answer {number}.")
        house.drop("Stop")
        house.drop("SessionEnd")
        house.drop("SessionStart", "resume")
    house.drain()
    assert house.told() == [(f"Prompt {number}.", f"Answer {number}.") for number in range(3)]


def test_a_resume_by_another_clock_than_that_of_the_log_is_a_run_of_its_own(house: House) -> None:
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    house.says("Test it.", "Tested.")
    house.drop("SessionStart", "resume", at=house.seconds(house.log.count) + 1e6)
    house.drop("Stop", at=house.seconds(house.log.count) + 1e6 + 1)
    house.drain()
    house.says("Push it.", "Pushed.")
    house.hook("Stop")
    assert house.told() == [("Fix it.", "Fixed."), ("Test it.", "Pushed.")]


def test_an_end_that_is_noticed_when_the_next_run_has_begun_ends_its_own_run(house: House) -> None:
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    house.drop("SessionEnd")
    resumed_at = house.seconds(house.log.count) + 0.9
    house.says("Test it.")
    house.drain()
    house.drop("SessionStart", "resume", at=resumed_at)
    house.drain()
    house.log.says("Tested.")
    house.says("Push it.", "Pushed.")
    house.hook("Stop")
    assert house.told() == [("Fix it.", "Fixed."), ("Test it.", "Pushed.")]


def test_a_start_elsewhere_leaves_a_run_as_it_is(house: House) -> None:
    """Its sweep captures what it finds, also in the midst of another session's turn."""
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    house.says("Test it.")
    house.drop("SessionStart", "startup", path=house.path.with_name(f"{OTHER}.jsonl"))
    assert "extended" in house.drain()
    house.log.says("Tested.")
    house.says("Push it.", "Pushed.")
    house.hook("Stop")
    assert house.told() == [("Fix it.", "Pushed.")]


@pytest.mark.parametrize("grown", [True, False])
def test_a_capture_by_hand_ends_no_run_that_goes_on(house: House, grown: bool) -> None:
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    if grown:
        house.says("Test it.", "Tested.")
    memex = Memex(house.root)
    assert [each.outcome for each in sweep(memex, CLAUDE, house.env, dry_run=True)] == (
        ["would capture"] if grown else ["current"]
    )
    assert [each.outcome for each in sweep(memex, CLAUDE, house.env)] == ["extended" if grown else "current"]
    assert house.told() == [("Fix it.", "Tested." if grown else "Fixed.")]
    house.says("Push it.", "Pushed.")
    house.hook("Stop")
    house.hook("SessionEnd")
    assert house.told() == [("Fix it.", "Pushed.")]


def test_a_run_that_only_a_capture_by_hand_saw_is_over(house: House) -> None:
    house.says("Fix it.", "Fixed.")
    sweep(Memex(house.root), CLAUDE, house.env)
    house.says("Push it.", "Pushed.")
    house.hook("Stop")
    assert house.told() == [("Fix it.", "Fixed."), ("Push it.", "Pushed.")]


@pytest.mark.parametrize("door", ["SessionEnd", "SessionStart", "by hand", "a start elsewhere"])
@pytest.mark.parametrize("bad", ["a folder", "latin-1", "read-only"])
def test_an_event_whose_day_could_not_be_written_is_told_by_whatever_comes_next(
    house: House, bad: str, door: str
) -> None:
    house.says("Fix it.", "Fixed.")
    date = datetime.fromtimestamp(house.seconds(house.log.count)).date()
    day = house.root / "diary" / f"{date}.md"
    day.parent.mkdir(parents=True)
    if bad == "a folder":
        day.mkdir()
    else:
        day.write_bytes(b"caf\xe9\n" if bad == "latin-1" else b"")
        day.chmod(0o444 if bad == "read-only" else 0o600)
    house.hook("Stop")
    house.hook("SessionEnd")
    assert house.told() == [] and len(behind(Memex(house.root), CLAUDE, house.env)[0]) == 1
    day.rmdir() if bad == "a folder" else day.unlink()
    if door == "by hand":
        sweep(Memex(house.root), CLAUDE, house.env)
    else:
        elsewhere = house.path.with_name(f"{OTHER}.jsonl") if door == "a start elsewhere" else None
        house.drop(door if elsewhere is None else "SessionStart", "resume", path=elsewhere)
        house.drain()
    assert house.told() == [("Fix it.", "Fixed.")]
    assert behind(Memex(house.root), CLAUDE, house.env)[0] == []


@pytest.mark.parametrize("skew", [-3600.0, 3600.0], ids=["behind", "ahead"])
def test_a_run_that_was_seen_to_end_stays_as_it_was_told_whatever_clock_the_hooks_have(
    house: House, skew: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_hours(record: int) -> str:
        return f"{datetime(2026, 8, 20) + timedelta(minutes=30 * record):%Y-%m-%dT%H:%M:%S}.000Z"

    monkeypatch.setattr(claude_code_logs, "stamp", half_hours)

    def hook(event: str, source: str = "") -> None:
        at = datetime.fromisoformat(half_hours(house.log.count)).timestamp()
        house.drop(event, source, at=at + 1 + house.dropped / 1000 + skew)
        house.drain()

    for run in range(2):
        for number in range(3):
            house.says(f"Prompt {run}.{number}", f"Answer {run}.{number}")
            hook("Stop")
        hook("SessionEnd")
        hook("SessionStart", "resume")
    assert house.told() == [("Prompt 0.0", "Answer 0.2"), ("Prompt 1.0", "Answer 1.2")]


def test_the_event_that_a_person_changed_is_left_and_the_rest_of_the_run_is_another(house: House) -> None:
    house.says("Fix it.", "Fixed.")
    house.hook("Stop")
    (day,) = (house.root / "diary").glob("*.md")
    day.write_text(day.read_text("utf-8").replace("Fixed.", "Fixed the pin."), "utf-8")
    for words in ("Test", "Push"):
        house.says(f"{words} it.", f"{words}ed.")
        house.hook("Stop")
    assert house.told() == [("Fix it.", "Fixed the pin."), ("Test it.", "Pushed.")]


def test_a_run_of_codex_that_nobody_saw_end_is_over_when_it_is_resumed(root: Path, tmp_path: Path) -> None:
    """Its SessionStart comes with the first turn, right before the prompt is in the log."""
    house, rollout = House(tmp_path / "home", root, "codex"), Rollout()
    for number, source in enumerate(["startup", "", "resume", ""]):
        path = rollout.write(tmp_path / "home" / ".codex")
        if source:
            house.drop("SessionStart", source, path=path, at=rollout.now.timestamp())
            rollout.now += timedelta(milliseconds=25)
        rollout.exchange(f"Prompt {number}.", f"Answer {number}.").write(tmp_path / "home" / ".codex")
        house.drop("Stop", path=path, at=rollout.now.timestamp())
        if number != 1:
            house.drain()
    assert house.told() == [("Prompt 0.", "Answer 1."), ("Prompt 2.", "Answer 3.")]
