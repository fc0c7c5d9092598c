"""A session into memory (DESIGN §3, §4; issue 2 items 4 to 7 and 12)."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memex_core.config import ExtractConfig, MemexConfig
from memex_core.errors import NotFound
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import Header, Response, Session, Source, Turn

NAMES = {"input_tokens": ["input"], "output_tokens": ["output"], "total_tokens": ["input", "output"]}


class Turns:
    """Turns as a reader gives them: fresh ones at every iteration."""

    def __init__(self, *said: tuple[str, str, str]) -> None:
        self.said = said

    def __iter__(self) -> Iterator[Turn]:
        for number, (name, role, text) in enumerate(self.said, 1):
            yield Turn(role, text, f"2026-09-15T10:00:{number:02d}Z", number, id=name.rjust(12, "0"))  # type: ignore[arg-type]


def session(
    name: str,
    *said: tuple[str, str, str],
    born: str = "2026-09-15T10:00:00Z",
    title: str = "",
    kind: str = "user",
) -> Session:
    """One response for every agent turn, 10 tokens in and 5 out, named after the turn."""
    header = Header(
        "test", name, "", "2026-09-15T10:00:00Z", "2026-09-15T11:00:00Z", 3600.0, {"cwd": "/home/dev/shop"}
    )
    responses = [
        Response(f"r-{turn_id}", "model-a", f"2026-09-15T10:00:{number:02d}Z", number, input=10, output=5)
        for number, (turn_id, role, _) in enumerate(said, 1)
        if role == "agent"
    ]
    return Session(
        header,
        Turns(*said),
        responses,
        NAMES,
        kind=kind,  # type: ignore[arg-type]
        title=title,
        born_at=born,
        turn_count=len(said),
    )


HELLO = ("a", "user", "I prefer ruff over flake8.")
NOTED = ("b", "agent", "Noted.")
MORE = ("c", "user", "Now fix the build.")
FIXED = ("d", "agent", "Fixed.")


@pytest.fixture
def memex(root: Path) -> Memex:
    return Memex(root)


def page_text(memex: Memex, name: str) -> str:
    page = memex.read(name)
    assert page is not None and page.file_path is not None
    return page.file_path.read_text("utf-8")


def preference(memex: Memex) -> str:
    (page,) = memex.list_pages("preference")
    return page.slug


def tree(root: Path) -> dict[str, bytes]:
    """Every file of truth and its bytes; the index and logs are none."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name not in (".lock", "mem.db", "memex.log") and "mem.db" not in path.name
    }


def test_a_session_becomes_transcript_sidecar_page_and_node(memex: Memex) -> None:
    report = memex.remember(session("s1", HELLO, NOTED))
    assert report.outcome == "new" and (report.user_turns, report.agent_turns) == (1, 1)
    assert Path(report.transcript_file).exists() and Path(report.meta_file).exists()
    assert "I prefer ruff over flake8." in page_text(memex, "s1")
    page = memex.read(preference(memex))
    assert page is not None and page.sources == ["s1#1"] and "s1" in page.links


def test_recall_finds_the_preference_with_its_session(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    hits = memex.recall("ruff").hits
    assert any(hit.node_type == "preference" and hit.sources == ["s1#1"] for hit in hits)


def test_the_same_log_again_changes_no_byte(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    before = tree(memex.root)
    assert memex.remember(session("s1", HELLO, NOTED)).outcome == "unchanged"
    assert tree(memex.root) == before


def test_a_longer_log_extends_page_and_transcript(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    assert memex.remember(session("s1", HELLO, NOTED, MORE, FIXED)).outcome == "extended"
    assert "Now fix the build." in page_text(memex, "s1")
    assert len(memex.list_pages("preference")) == 1


def test_capturing_in_two_steps_ends_where_one_step_ends(tmp_path: Path) -> None:
    now = "2026-09-15T12:00:00Z"
    stepwise, at_once = (Memex(tmp_path / name, now=lambda: now) for name in ("stepwise", "at_once"))
    stepwise.remember(session("s1", HELLO, NOTED))
    stepwise.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    at_once.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    name = "transcripts/s1.jsonl"
    assert (stepwise.root / name).read_bytes() == (at_once.root / name).read_bytes()
    sidecars = [m.transcripts.sidecar("s1") for m in (stepwise, at_once)]
    for sidecar in sidecars:
        assert sidecar is not None
        sidecar.seniority, sidecar.diary = "", []  # the diary says in how many steps it was
    assert sidecars[0] == sidecars[1]
    pages = [m.read("s1") for m in (stepwise, at_once)]
    assert pages[0] is not None and pages[1] is not None and pages[0].body == pages[1].body


def test_tokens_are_in_the_sidecar_and_never_in_the_transcript(memex: Memex) -> None:
    report = memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    meta = json.loads(Path(report.meta_file).read_text("utf-8"))
    assert meta["token_usage"] == {"input_tokens": 20, "output_tokens": 10, "total_tokens": 30}
    assert meta["turn_token_usage"] == {
        "2": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        "4": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }
    assert "token" not in Path(report.transcript_file).read_text("utf-8")


@pytest.mark.parametrize("order", [("parent", "fork"), ("fork", "parent")])
def test_a_fork_keeps_and_counts_only_its_own_part(memex: Memex, order: tuple[str, str]) -> None:
    logs = {
        "parent": lambda: session("parent", HELLO, NOTED),
        "fork": lambda: session("fork", HELLO, NOTED, MORE, FIXED, born="2026-09-15T10:30:00Z"),
    }
    for name in order:
        memex.remember(logs[name]())
    totals = {s.session_id: s.total_tokens for s in memex.list_sessions()}
    assert totals == {"parent": 15, "fork": 15}
    assert "I prefer ruff" not in page_text(memex, "fork") and "Now fix the build." in page_text(
        memex, "fork"
    )
    page = memex.read(preference(memex))
    assert page is not None and page.sources == ["parent#1"]


def test_the_transcript_of_a_fork_begins_with_its_own_turns(memex: Memex) -> None:
    memex.remember(session("parent", HELLO, NOTED))
    memex.remember(session("fork", HELLO, NOTED, MORE, FIXED, born="2026-09-15T10:30:00Z"))
    assert [turn.content for turn in memex.transcripts.turns("fork")] == ["Now fix the build.", "Fixed."]
    sidecar = memex.transcripts.sidecar("fork")
    assert sidecar is not None and sidecar.metadata["forked_from"] == "parent"
    assert sidecar.turn_token_usage == {"2": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}


def test_a_fact_said_in_two_sessions_is_one_node_with_two_sources(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(
        session("s2", ("x", "user", "By the way, I prefer ruff over flake8!"), ("y", "agent", "Yes."))
    )
    page = memex.read(preference(memex))
    assert page is not None and page.sources == ["s1#1", "s2#1"]


def test_hand_edits_of_a_page_survive_the_next_capture(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    page = memex.read("s1")
    assert page is not None and page.file_path is not None
    text = page.file_path.read_text("utf-8")
    page.file_path.write_text(
        text.replace('title: "', 'mine: yes # keep\ntitle: "My own ') + "\nMy note.\n", "utf-8"
    )
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    after = page_text(memex, "s1")
    assert "My note." in after and "mine: yes # keep" in after and "My own I prefer ruff" in after
    assert "Now fix the build." in after


def test_hand_edits_of_a_node_survive_a_second_source(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    page = memex.read(preference(memex))
    assert page is not None and page.file_path is not None
    page.file_path.write_text(page.file_path.read_text("utf-8") + "\nBecause it is fast.\n", "utf-8")
    memex.remember(session("s2", ("x", "user", "I prefer ruff over flake8."), ("y", "agent", "Yes.")))
    after = page_text(memex, page.slug)
    assert "Because it is fast." in after and "[[s2]] turn 1" in after


def test_a_node_that_a_person_deleted_does_not_come_back(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    page = memex.read(preference(memex))
    assert page is not None and page.file_path is not None
    page.file_path.unlink()
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED, ("e", "user", "thanks")))
    assert memex.list_pages("preference") == []


def test_an_episode_that_a_person_deleted_does_not_come_back(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    page = memex.read("s1")
    assert page is not None and page.file_path is not None
    page.file_path.unlink()
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert memex.read("s1") is None


def test_a_retracted_turn_stays_in_the_transcript_and_feeds_nothing(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    rewound = session("s1", HELLO, NOTED, ("e", "user", "Start over"), ("f", "agent", "Sure."))
    rewound.retracted = {1, 2}
    memex.remember(rewound)
    assert next(iter(memex.transcripts.turns("s1"))).content == "I prefer ruff over flake8."
    assert "ruff" not in page_text(memex, "s1")
    assert memex.list_pages("preference") == []


def test_a_deleted_session_is_gone_everywhere_and_never_captured_again(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.delete_sessions(["s1"])
    assert memex.list_sessions() == [] and memex.list_pages() == [] and memex.recall("ruff").hits == []
    assert memex.remember(session("s1", HELLO, NOTED)).outcome == "forgotten"
    assert memex.list_pages() == []


def test_deleting_a_session_leaves_what_another_session_also_said(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s2", ("x", "user", "I prefer ruff over flake8."), ("y", "agent", "Yes.")))
    memex.delete_sessions(["s1"])
    page = memex.read(preference(memex))
    assert page is not None and page.sources == ["s2#1"] and "[[s1]]" not in page.body


def test_a_forgotten_session_does_not_come_back_through_its_fork(memex: Memex) -> None:
    memex.remember(session("parent", HELLO, NOTED))
    memex.delete_sessions(["parent"])
    memex.remember(session("fork", HELLO, NOTED, MORE, FIXED, born="2026-09-15T10:30:00Z"))
    assert [turn.content for turn in memex.transcripts.turns("fork")] == ["Now fix the build.", "Fixed."]
    assert memex.list_pages("preference") == []
    assert memex.list_sessions()[0].total_tokens == 15


def test_deleting_what_is_not_there_says_so(memex: Memex) -> None:
    with pytest.raises(NotFound, match="no session named 'nope'"):
        memex.delete_sessions(["nope"])


def test_an_internal_session_keeps_its_cost_and_makes_no_page(memex: Memex) -> None:
    internal = session("guard", kind="internal")
    internal.responses = [Response("r9", "model-a", "2026-09-15T10:00:00Z", 0, input=7, output=1)]
    memex.remember(internal)
    assert memex.list_pages() == []
    sidecar = memex.transcripts.sidecar("guard")
    assert sidecar is not None and (sidecar.token_usage or {})["total_tokens"] == 8


def test_a_subagent_session_is_kept_but_its_words_are_nobodys_preference(memex: Memex) -> None:
    memex.remember(session("sub", HELLO, NOTED, kind="subagent"))
    assert memex.read("sub") is not None and memex.list_pages("preference") == []
    assert memex.list_sessions(kind="user") == []


def test_deleting_the_index_loses_nothing(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    before = [(hit.slug, hit.sources) for hit in memex.recall("ruff").hits]
    (memex.root / "mem.db").unlink()
    assert [(hit.slug, hit.sources) for hit in Memex(memex.root).recall("ruff").hits] == before


def test_every_file_of_the_memory_is_private(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.recall("ruff")
    loose = [path for path in (memex.root, *memex.root.rglob("*")) if path.stat().st_mode & 0o077]
    assert loose == []


def test_provenance_of_an_extracted_node_is_direct(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    report = memex.get_provenance(preference(memex))
    assert report.confidence == "direct" and report.sources == ["s1#1"]
    assert report.transcript_files == [str(memex.root / "transcripts" / "s1.jsonl")]


def test_provenance_of_an_episode_is_its_transcript(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    report = memex.get_provenance("s1")
    assert report.confidence == "direct" and report.direct_transcript_ref == "transcripts/s1.jsonl"


def test_the_journal_tells_what_changed(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    lines = [json.loads(line) for line in (memex.root / "journal.jsonl").read_text("utf-8").splitlines()]
    assert {(line["action"], line.get("file", line.get("date")).split("/")[0]) for line in lines} == {
        ("add", "episodes"),
        ("add", "preferences"),
        ("diary", "2026-09-15"),
    }


def test_a_page_that_a_person_broke_is_left_alone_and_costs_the_session_nothing_else(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    page = memex.read("s1")
    assert page is not None and page.file_path is not None
    broken = page.file_path.read_text("utf-8").replace('title: "', 'title: [unclosed "', 1)
    page.file_path.write_text(broken, "utf-8")
    said = (*(HELLO, NOTED, MORE, FIXED), ("e", "user", "I always use pytest."))
    assert memex.remember(session("s1", *said)).outcome == "extended"
    assert page.file_path.read_text("utf-8") == broken
    assert len(memex.list_pages("preference")) == 2
    assert any("s1.md" in warning for warning in memex.page_warnings())


def test_a_mended_page_is_brought_up_to_date_by_the_next_capture(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    page = memex.read("s1")
    assert page is not None and page.file_path is not None
    good = page.file_path.read_text("utf-8")
    page.file_path.write_text(good.replace('title: "', 'title: [unclosed "', 1), "utf-8")
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    page.file_path.write_text(good, "utf-8")
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert "Now fix the build." in page_text(memex, "s1")


GRANDCHILD = (("e", "user", "Remember that CI needs Node 20."), ("f", "agent", "Yes."))
FAMILY = {
    "parent": lambda: session("parent", HELLO, NOTED),
    "fork": lambda: session("fork", HELLO, NOTED, MORE, FIXED, born="2026-09-15T10:30:00Z"),
    "forks-fork": lambda: session(
        "forks-fork", HELLO, NOTED, MORE, FIXED, *GRANDCHILD, born="2026-09-15T10:40:00Z"
    ),
}


@pytest.mark.parametrize("order", list(itertools.permutations(FAMILY)))
def test_three_generations_end_alike_whatever_the_order_of_capture(
    memex: Memex, order: tuple[str, ...]
) -> None:
    for name in (*order, *order):
        memex.remember(FAMILY[name]())
    assert {s.session_id: s.total_tokens for s in memex.list_sessions()} == dict.fromkeys(FAMILY, 15)
    started = {s.session_id: s.started_at[11:19] for s in memex.list_sessions()}
    assert started == {"parent": "10:00:00", "fork": "10:00:03", "forks-fork": "10:00:05"}
    own = {"parent": "I prefer ruff", "fork": "Now fix the build", "forks-fork": "CI needs Node 20"}
    for name in FAMILY:
        text = page_text(memex, name).partition("## Turn")[2]
        assert [words for words in own.values() if words in text] == [own[name]]
    sources = {page.title: page.sources for page in memex.list_pages() if page.type != "episode"}
    assert {found[0].split("#")[0] for found in sources.values()} == {"parent", "forks-fork"}
    assert all(len(found) == 1 for found in sources.values())


def test_a_shrunken_log_keeps_turns_tokens_and_times(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    shrunken = session("s1", HELLO, NOTED)
    shrunken.header.ended_at = "2026-09-15T10:30:00Z"
    assert memex.remember(shrunken).outcome == "merged"
    (summary,) = memex.list_sessions()
    assert (summary.turn_count, summary.total_tokens, summary.ended_at) == (4, 30, "2026-09-15T11:00:00Z")
    assert "Now fix the build." in page_text(memex, "s1")


def test_the_words_of_a_deleted_session_are_in_no_file_any_more(memex: Memex) -> None:
    memex.remember(
        session("s1", ("a", "user", "I prefer quokkas over flake8."), NOTED, title="About quokkas")
    )
    memex.remember(session("s2", HELLO, ("z", "agent", "Yes.")))
    memex.recall("quokkas")
    assert memex.delete_sessions(["s1"]) == []
    for path in memex.root.rglob("*"):
        if path.is_file():
            assert b"quokka" not in path.read_bytes(), path
    lines = (memex.root / "journal.jsonl").read_text("utf-8").splitlines()
    assert all(json.loads(line)["action"] in ("add", "update", "remove", "diary") for line in lines)


def test_a_node_that_stays_after_its_session_was_deleted_is_named(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s2", ("x", "user", "I prefer ruff over flake8."), ("y", "agent", "Yes.")))
    assert memex.delete_sessions(["s1"]) == [f"preferences/{preference(memex)}"]


LATER = (("p", "user", "One more thing."), ("q", "agent", "Done."))
LAST = (("s", "user", "And the changelog."), ("t", "agent", "Written."))


def own_words(memex: Memex, name: str) -> list[str]:
    return [turn.content for turn in memex.transcripts.turns(name)]


def test_a_fork_stays_a_fork_when_both_go_on(memex: Memex) -> None:
    """Both logs begin with the same record: that the parent was there first is decided when the two first
    meet.
    """
    memex.remember(session("z-parent", HELLO, NOTED))
    memex.remember(session("a-fork", HELLO, NOTED, MORE, FIXED))
    memex.remember(session("z-parent", HELLO, NOTED, *LATER))
    memex.remember(session("a-fork", HELLO, NOTED, MORE, FIXED, *LAST))
    assert {s.session_id: s.total_tokens for s in memex.list_sessions()} == {"z-parent": 30, "a-fork": 30}
    assert own_words(memex, "a-fork") == ["Now fix the build.", "Fixed.", "And the changelog.", "Written."]
    assert "I prefer ruff" in page_text(memex, "z-parent")
    page = memex.read(preference(memex))
    assert page is not None and page.sources == ["z-parent#1"]


def test_deleting_a_fork_takes_nothing_from_its_parent(memex: Memex) -> None:
    memex.remember(session("parent", HELLO, NOTED))
    memex.remember(session("fork", HELLO, NOTED, MORE, FIXED, born="2026-09-15T10:30:00Z"))
    memex.delete_sessions(["fork"])
    memex.remember(session("parent", HELLO, NOTED, *LATER))
    assert [s.total_tokens for s in memex.list_sessions()] == [30]
    assert own_words(memex, "parent")[0] == "I prefer ruff over flake8."


def test_a_parent_first_captured_after_its_fork_was_deleted_is_whole(memex: Memex) -> None:
    memex.remember(session("fork", HELLO, NOTED, MORE, FIXED, born="2026-09-15T10:30:00Z"))
    memex.delete_sessions(["fork"])
    memex.remember(session("parent", HELLO, NOTED))
    assert own_words(memex, "parent") == ["I prefer ruff over flake8.", "Noted."]
    assert memex.list_sessions()[0].total_tokens == 15


def test_a_session_deleted_while_a_worker_reads_it_stays_deleted(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    growing = session("s1", HELLO, NOTED, MORE, FIXED)
    turns = growing.turns

    class Deleting:
        def __iter__(self) -> Iterator[Turn]:
            if memex.transcripts.sidecar("s1") is not None:
                Memex(memex.root).delete_sessions(["s1"])
            yield from turns

    growing.turns = Deleting()
    assert memex.remember(growing).outcome == "forgotten"
    assert memex.list_sessions() == [] and memex.read("s1") is None


def test_a_fork_without_counts_is_known_by_its_turns(memex: Memex) -> None:
    for name, said, born in (
        ("parent", (HELLO, NOTED), "2026-09-15T10:00:00Z"),
        ("fork", (HELLO, NOTED, MORE, FIXED), "2026-09-15T10:30:00Z"),
        ("forks-fork", (HELLO, NOTED, MORE, FIXED, *LATER), "2026-09-15T10:40:00Z"),
    ):
        silent = session(name, *said, born=born)
        silent.responses = []
        memex.remember(silent)
    assert own_words(memex, "fork") == ["Now fix the build.", "Fixed."]
    assert own_words(memex, "forks-fork") == ["One more thing.", "Done."]
    page = memex.read(preference(memex))
    assert page is not None and page.sources == ["parent#1"]


def test_counts_of_a_part_that_the_harness_deleted_stay(memex: Memex) -> None:
    whole = session("s1", HELLO, NOTED, MORE, FIXED)
    whole.responses.append(Response("subagent", "model-b", "2026-09-15T10:00:05Z", 2, input=100, output=50))
    whole.sources = [Source("/main", 1, 1, 1, ""), Source("/agent", 1, 1, 2, "")]
    memex.remember(whole)
    rest = session("s1", HELLO, NOTED, MORE, FIXED, *LATER)
    rest.sources, rest.reader_version = [Source("/main", 2, 2, 1, "")], 2
    memex.remember(rest)
    assert memex.list_sessions()[0].total_tokens == 45 + 150


def test_a_statement_that_only_the_deleted_session_made_is_gone_from_the_shared_node(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    reason = "I prefer ruff over flake8. The client Acme in Zurich insists on it."
    memex.remember(session("s2", ("x", "user", reason), ("y", "agent", "Yes.")))
    for gone, stays in (("s2", "s1"), ("s1", "s2")):
        other = Memex(memex.root.parent / gone)
        other.remember(session("s1", HELLO, NOTED))
        other.remember(session("s2", ("x", "user", reason), ("y", "agent", "Yes.")))
        other.delete_sessions([gone])
        page = other.read(preference(other))
        assert page is not None and page.sources == [f"{stays}#1"]
        assert page.body.startswith("I prefer ruff over flake8.") and "Zurich" not in page.body


def test_a_time_outside_the_calendar_costs_nothing(memex: Memex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    odd = session("s1", HELLO, NOTED)
    odd.header.started_at = odd.responses[0].ts = "0001-01-01T00:00:00Z"
    assert memex.remember(odd).outcome == "new"
    monkeypatch.undo()
    time.tzset()


SAID = "I prefer ruff over flake8."


def test_deleting_one_of_three_tellers_leaves_the_other_two(memex: Memex) -> None:
    for name in ("s1", "s2", "s3"):
        memex.remember(session(name, (f"{name}a", "user", SAID), (f"{name}b", "agent", "Yes.")))
    for gone, left in (("s1", ["s2#1", "s3#1"]), ("s2", ["s3#1"])):
        memex.delete_sessions([gone])
        page = memex.read(preference(memex))
        assert page is not None and page.sources == left
        assert all(f"[[{source.partition('#')[0]}]]" in page.body for source in left)
    memex.delete_sessions(["s3"])
    assert memex.list_pages("preference") == []


def test_a_page_of_the_users_own_with_the_title_of_a_node_survives_the_deletion(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    page = memex.read(preference(memex))
    assert page is not None and page.file_path is not None
    page.file_path.unlink()
    memex.write(WriteInput("procedure", page.title, "My own words."))
    memex.delete_sessions(["s1"])
    assert [kept.title for kept in memex.list_pages()] == [page.title]


def test_an_owners_keys_of_a_shared_node_survive_the_deletion_of_one_teller(memex: Memex) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s2", ("x", "user", SAID), ("y", "agent", "Yes.")))
    page = memex.read(preference(memex))
    assert page is not None and page.file_path is not None
    text = page.file_path.read_text("utf-8")
    page.file_path.write_text(text.replace("importance: 0.7", "importance: 0.9\nmine: 1"), "utf-8")
    memex.delete_sessions(["s1"])
    after = memex.read(page.slug)
    assert after is not None and (after.id, after.importance) == (page.id, 0.9) and "mine" in after.extra


def test_a_deletion_that_was_cut_off_is_finished_by_the_next_sweep(
    memex: Memex, monkeypatch: pytest.MonkeyPatch
) -> None:
    memex.remember(session("s1", HELLO, NOTED))
    memex.remember(session("s2", ("x", "user", SAID), ("y", "agent", "Yes.")))
    with monkeypatch.context() as patch:
        transcripts = memex._remembering.transcripts
        patch.setattr(transcripts, "remove", lambda name: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memex.delete_sessions(["s1"])
    memex.finish_deletions()
    assert [s.session_id for s in memex.list_sessions()] == ["s2"]
    page = memex.read(preference(memex))
    assert page is not None and page.sources == ["s2#1"]


def test_switching_extraction_off_keeps_the_nodes_that_are_there(root: Path) -> None:
    Memex(root).remember(session("s1", HELLO, NOTED))
    off = Memex(root, MemexConfig(extract=ExtractConfig(enabled=False)))
    off.remember(session("s1", HELLO, NOTED, MORE, FIXED))
    assert len(off.list_pages("preference")) == 1
    off.remember(session("s2", ("x", "user", "I always use pytest."), ("y", "agent", "Yes.")))
    assert len(off.list_pages("preference")) == 1


@pytest.mark.parametrize("order", list(itertools.permutations(("p", "f", "g"))))
def test_copies_that_begin_alike_count_every_response_once(memex: Memex, order: tuple[str, ...]) -> None:
    logs = {"p": (HELLO, NOTED, *LATER), "f": (HELLO, NOTED, MORE, FIXED), "g": (HELLO, NOTED, *LAST)}
    memex.remember(session(order[0], *logs[order[0]][:2]))
    for name in (*order[1:], *order):
        memex.remember(session(name, *logs[name]))
    assert sum(s.total_tokens or 0 for s in memex.list_sessions()) == 4 * 15
    page = memex.read(preference(memex))
    assert page is not None and page.sources == [f"{order[0]}#1"]
