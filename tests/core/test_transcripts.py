"""Transcripts on disk (DESIGN §3, row captured again)."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memex_core.errors import Refused
from memex_core.model.session import Header, Turn
from memex_core.model.sidecar import Sidecar
from memex_core.store.transcripts import Transcripts


def turn(number: int, text: str = "", role: str = "user") -> Turn:
    return Turn(
        role, text or f"words {number}", f"2026-09-15T10:00:{number:02d}Z", number, id=f"id{number:010d}"
    )  # type: ignore[arg-type]


def keep(
    hook: Transcripts, turns: list[Turn], *, reader: int = 1, captured_at: str = "2026-09-15T11:00:00Z"
) -> str:
    previous = hook.sidecar("s1")
    with hook.stage(turns) as staged:
        outcome = hook.commit(staged, Header("test", "s1", captured_at), previous, reader)
        known = Sidecar("s1", turn_ids=list(staged.ids), turn_count=len(staged.ids), reader_version=reader)
        known.body_sha256, known.body_bytes = staged.sha256, staged.bytes
        hook.write_sidecar(known)
    return outcome


def lines(hook: Transcripts) -> list[bytes]:
    return hook.get_transcript_path("s1").read_bytes().splitlines(keepends=True)


def test_a_transcript_is_a_header_line_then_a_line_a_turn(root: Path) -> None:
    hook = Transcripts(root)
    assert keep(hook, [turn(1), turn(2)]) == "new"
    assert lines(hook)[1] == b'{"role":"user","content":"words 1","ts":"2026-09-15T10:00:01Z","turn":1}\n'
    header = hook.header("s1")
    assert header is not None and header["type"] == "memex_session_header" and header["session_id"] == "s1"


def test_a_longer_log_extends_the_turn_lines_and_keeps_captured_at(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1)])
    before = lines(hook)[1:]
    assert keep(hook, [turn(1), turn(2)], captured_at="2027-01-01T00:00:00Z") == "extended"
    header = hook.header("s1")
    assert lines(hook)[1:2] == before
    assert header is not None and header["captured_at"] == "2026-09-15T11:00:00Z"


def test_the_same_log_leaves_the_file_untouched(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1), turn(2)])
    path = hook.get_transcript_path("s1")
    before = (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
    assert keep(hook, [turn(1), turn(2)], captured_at="2027-01-01T00:00:00Z") == "unchanged"
    assert (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) == before


def test_a_shrunken_log_loses_no_turn(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1), turn(2), turn(3)])
    assert keep(hook, [turn(1)]) == "merged"
    assert [t.content for t in hook.turns("s1")] == ["words 1", "words 2", "words 3"]


def test_a_replaced_log_adds_its_new_turns_behind_the_kept_ones(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1), turn(2)])
    assert keep(hook, [turn(2), turn(9)]) == "merged"
    assert [(t.turn, t.content) for t in hook.turns("s1")] == [(1, "words 1"), (2, "words 2"), (3, "words 9")]


def test_a_rewritten_log_with_new_ids_and_the_same_words_adds_nothing(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1), turn(2)])
    renamed = [turn(2), turn(1)]
    for number, item in enumerate(renamed):
        item.id = f"other{number:07d}"
    keep(hook, renamed)
    assert [t.content for t in hook.turns("s1")] == ["words 1", "words 2"]


def test_the_same_words_said_again_are_kept_again(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1, "continue"), turn(2, "continue")])
    keep(hook, [turn(3, "continue"), turn(4, "continue"), turn(5, "continue")])
    assert [t.content for t in hook.turns("s1")] == ["continue"] * 3


def test_a_newer_reader_may_word_every_kept_turn_anew(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1, "old words")])
    assert keep(hook, [turn(1, "better words")], reader=2) == "replaced"
    assert [t.content for t in hook.turns("s1")] == ["better words"]


def test_turns_of_another_session_are_left_out_and_the_rest_numbered_without_gaps(root: Path) -> None:
    hook = Transcripts(root)
    with hook.stage([turn(1), turn(2), turn(3)], {"id0000000002"}) as staged:
        hook.commit(staged, Header("test", "s1"), None)
        assert staged.number_of == [1, 0, 2]
    assert [(t.turn, t.content) for t in hook.turns("s1")] == [(1, "words 1"), (2, "words 3")]


def test_transcripts_are_private_and_leave_no_temp_file(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1)])
    folder = hook.get_transcript_path("s1").parent
    assert sorted(path.name for path in folder.iterdir()) == ["s1.jsonl", "s1.meta.json"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_reader_that_fails_half_way_leaves_the_old_transcript(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1)])
    before = lines(hook)

    def broken() -> object:
        yield turn(1)
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="went away"), hook.stage(broken()):  # type: ignore[arg-type]
        pass
    assert lines(hook) == before
    assert len(list(hook.get_transcript_path("s1").parent.iterdir())) == 2


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "con", "x\0y", "a" * 200, "x."])
def test_a_session_id_that_is_no_file_name_is_refused(root: Path, name: str) -> None:
    with pytest.raises(Refused):
        Transcripts(root).get_transcript_path(name)


def test_a_damaged_sidecar_counts_as_none(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1)])
    hook.get_meta_path("s1").write_text('{"session_id": "s1", "responses": 5')
    assert hook.sidecar("s1") is None


def test_a_turn_only_transcript_of_an_older_version_is_read(root: Path) -> None:
    hook = Transcripts(root)
    path = hook.get_transcript_path("old")
    path.parent.mkdir(parents=True)
    path.write_text(
        '{"role": "user", "content": "hi", "ts": "", "turn": 1}\nnot json\n'
        '{"role": "agent", "content": "yes", "turn": 2}\n'
    )
    assert [t.content for t in hook.turns("old")] == ["hi", "yes"]


@pytest.mark.parametrize("lost", ["missing", "unreadable", "older"])
def test_a_writer_killed_before_its_sidecar_costs_no_turn_when_the_log_was_replaced(
    root: Path, lost: str
) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1), turn(2)])
    older = hook.get_meta_path("s1").read_bytes()
    keep(hook, [turn(1), turn(2), turn(3)])
    path = hook.get_meta_path("s1")
    if lost == "missing":
        path.unlink()
    else:
        path.write_bytes(older if lost == "older" else b"{")
    keep(hook, [turn(3), turn(4)])
    assert [t.content for t in hook.turns("s1")] == ["words 1", "words 2", "words 3", "words 4"]


def test_a_transcript_that_is_gone_or_cut_is_not_taken_for_captured(root: Path) -> None:
    hook = Transcripts(root)
    keep(hook, [turn(1), turn(2)])
    assert hook.read_from("s1") is not None and hook.damaged() == []
    path = hook.get_transcript_path("s1")
    path.write_bytes(path.read_bytes()[:-10])
    assert hook.read_from("s1") is None and hook.damaged() == ["s1"]
    path.unlink()
    assert hook.read_from("s1") is None and hook.damaged() == ["s1"]
