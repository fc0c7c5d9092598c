"""What must be right after every session, whichever program ran it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driver import Driver
from house import House, Kept
from loopback_model import BEFORE_TOOL, TOOL_COMMAND, TOOL_OUTPUT

PREFERENCE = "I prefer ruff over flake8."
PREFERENCE_TITLE = "User preference: ruff over flake8"
TOLD = f'"{PREFERENCE}" (preference, '
"""How the next session is told of it."""
QUESTION = "What is left to do?"
FENCE = "memex-memory"
NODE_TYPES = ("entity", "preference", "procedure", "summary")


def assert_kept(
    driver: Driver, session_id: str, project: Path, said: list[tuple[str, str]], *, responses: int
) -> Kept:
    """Header, turns and token counts of the transcript; `said` is (role, content), "tool" a tool call."""
    kept = driver.house.kept(session_id)
    _assert_header(driver, kept, session_id, project)
    turns = without_farewell(driver, kept)
    wanted = [(role, driver.TOOL if role == "tool" else content) for role, content in said]
    assert [(turn["role"], turn["content"]) for turn in turns] == wanted
    assert [turn["turn"] for turn in turns] == list(range(1, len(said) + 1))
    assert all(turn["ts"].endswith("Z") for turn in turns)
    for turn in turns:
        if turn["role"] != "tool":
            continue
        assert turn["tool_name"] == driver.TOOL
        assert TOOL_COMMAND in turn["query"]
        assert TOOL_OUTPUT in turn["result"]
    assert_tokens(driver, kept, responses)
    return kept


def without_farewell(driver: Driver, kept: Kept) -> list[dict[str, Any]]:
    """The turns without the command that ended the session: the program logs it or not, as time allows."""
    return [turn for turn in kept.turns if turn.get("query") != driver.QUIT]


def _assert_header(driver: Driver, kept: Kept, session_id: str, project: Path) -> None:
    header = kept.header
    assert header["type"] == "memex_session_header"
    assert (header["harness"], header["session_id"]) == (driver.NAME, session_id)
    assert header["started_at"] <= header["ended_at"]
    assert header["started_at"] <= header["captured_at"]
    assert header["meta"]["cli_version"] == driver.version
    assert header["meta"]["cwd"] == str(project)
    assert header["meta"]["models"] == [driver.MODEL]
    assert "token" not in str(header)


def assert_tokens(driver: Driver, kept: Kept, responses: int) -> None:
    """The totals of `responses` answers of the loopback model, in the harness's own names, also by turn."""
    sidecar = kept.sidecar
    assert sidecar["token_usage"] == {name: count * responses for name, count in driver.PER_RESPONSE.items()}
    for name, total in sidecar["token_usage"].items():
        by_turn = [counts.get(name, 0) for counts in sidecar["turn_token_usage"].values()]
        assert sum(by_turn) == total, f"{name} by turn: {by_turn}"
    assert sidecar["usage_by_model"][driver.MODEL]["requests"] == responses
    assert sidecar["lower_bound_responses"] == 0


def assert_remembered(driver: Driver, session_id: str, kept: Kept, title: str) -> None:
    """The episode page, the preference page that names the session, and recall."""
    prompts = [(turn["turn"], turn["content"]) for turn in kept.turns if turn["role"] == "user"]
    page = driver.house.json("memex", "show", session_id)
    text = Path(page["file_path"]).read_text("utf-8")
    assert page["type"] == "episode"
    assert page["title"] == title
    assert page["transcript_ref"] == f"transcripts/{session_id}.jsonl"
    assert Path(page["file_path"]) == driver.house.root / "docs" / "episodes" / f"{session_id}.md"
    for number, prompt in prompts:
        assert f"## Turn {number}\n\n> {prompt}" in text
    for turn in kept.turns:
        if turn["role"] == "tool":
            assert TOOL_COMMAND in text
    source = next(f"{session_id}#{number}" for number, prompt in prompts if PREFERENCE in prompt)
    assert source in preference(driver.house)["sources"]
    hits = driver.house.json("memex", "recall", "ruff")["hits"]
    best = next(hit for hit in hits if hit["node_type"] == "preference")
    assert best["title"] == PREFERENCE_TITLE
    assert source in best["sources"]


def told(house: House, session_id: str) -> list[tuple[str, str]]:
    """What was asked and what was answered in each event that the diary has of a session."""
    events = house.json("memex", "diary", "2000-01-01..2999-12-31")
    lines = [event["content"].splitlines() for event in events if event["source_conv"] == session_id]
    assert all(link == f"Session: [[{session_id}]] in demo" for *_, link in lines), lines
    return [(asked.removeprefix("Asked: "), answer.removeprefix("Answer: ")) for asked, answer, _ in lines]


def preference(house: House) -> dict[str, Any]:
    """The page of the preference that the prompts state."""
    found = [page for page in house.pages("preference") if page["title"] == PREFERENCE_TITLE]
    assert len(found) == 1, [page["title"] for page in house.pages("preference")]
    return found[0]


def assert_next_session_is_told(driver: Driver, project: Path) -> str:
    """A new session's first request holds the memory block once, and its capture mines nothing from it."""
    before, mark = nodes(driver.house), driver.house.mark()
    session_id = driver.ask(QUESTION, project)
    driver.house.settle()
    first = driver.house.asked_since(mark, QUESTION).conversation
    assert first.count(f"<{FENCE} ") == 1, first[-3000:]
    block = first.partition(f"<{FENCE} ")[2].partition(f"</{FENCE} ")[0]
    assert TOLD in block
    assert len(block) <= 1_500
    assert driver.house.kept(session_id).said[0] == ("user", QUESTION)
    assert_block_was_not_mined(driver, session_id, before)
    return session_id


def assert_block_was_not_mined(driver: Driver, session_id: str, before: list[dict[str, Any]]) -> None:
    kept = driver.house.kept(session_id)
    texts = [str(value) for turn in kept.turns for value in turn.values()]
    assert not [text for text in texts if FENCE in text or TOLD in text]
    assert nodes(driver.house) == before


def nodes(house: House) -> list[dict[str, Any]]:
    """Every page that is no episode: its type, title and sources."""
    return [
        {"type": page["type"], "title": page["title"], "sources": page["sources"]}
        for node_type in NODE_TYPES
        for page in house.pages(node_type)
    ]


def disjoint(counts: dict[str, int]) -> dict[str, int]:
    """Counts of `memex-hooks usage` in the fields of an independent count."""
    return {
        "input": counts["input"],
        "cache_read": counts["cache_read"],
        "cache_write": counts["cache_write_5m"] + counts["cache_write_1h"],
        "output": counts["output"],
    }


def spoken_before_tool(driver: Driver) -> list[tuple[str, str]]:
    """Claude's answer says a word before its tool call; Codex's stand-in answer holds the call alone."""
    return [("agent", BEFORE_TOOL)] if driver.NAME == "claude-code" else []
