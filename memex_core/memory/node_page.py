"""The body of an extracted node: what was said, then where it was said, a line a place (issue 2 item 7)."""

from __future__ import annotations

import re

_HEADING = "Said in:"


def source_line(session_id: str, turn: int, day: str) -> str:
    """One place: a link to the episode, the turn, the date."""
    return f"- [[{session_id}]] turn {turn}" + (f", {day}" if day else "")


def with_source(body: str, line: str) -> str:
    """`body` with `line` among its places; unchanged if it is there already."""
    if line in body.splitlines():
        return body
    text = body.replace("\r\n", "\n").rstrip()
    last = text.rsplit("\n", 1)[-1]
    if _HEADING in text and last.startswith("- [["):
        return f"{text}\n{line}\n"
    return f"{text}\n\n{_HEADING}\n{line}\n" if text else f"{_HEADING}\n{line}\n"


def with_statements(body: str, said: str) -> str:
    """`body` with what the first paragraph of `said` states and `body` does not yet, put before its
    places.
    """
    missing = [f"- {line}" for line in missing_statements(body, said)]
    if not missing:
        return body
    before, heading, places = body.replace("\r\n", "\n").rpartition(f"\n{_HEADING}\n")
    text = f"{(before if heading else places).rstrip()}\n\n" + "\n".join(missing)
    return f"{text}\n\n{_HEADING}\n{places}" if heading else f"{text}\n"


def missing_statements(body: str, said: str) -> list[str]:
    """What the first paragraph of `said` states and `body` does not."""
    lines = [line.removeprefix("- ").strip() for line in said.split("\n\n", 1)[0].splitlines()]
    return [line for line in lines if line and line not in body]


def without_statements(body: str, added: set[str]) -> str:
    """`body` without the statements that `with_statements` added."""
    text, heading, places = body.replace("\r\n", "\n").partition(f"\n{_HEADING}\n")
    lines = text.split("\n")
    kept = [line for line in lines if not (line.startswith("- ") and line[2:] in added)]
    if len(kept) == len(lines):
        return body
    words = "\n".join(kept).rstrip()
    return f"{words}\n{heading}{places}" if heading else f"{words}\n"


def without_session(body: str, session_id: str, turns: set[int] | None = None) -> str:
    """`body` without the places in that session (only in `turns`, if given); the heading goes with the last
    place.
    """
    place = re.compile(rf"- \[\[{re.escape(session_id)}\]\] turn (\d+)\b")
    kept = []
    for line in body.replace("\r\n", "\n").split("\n"):
        found = place.match(line)
        if found is None or (turns is not None and int(found[1]) not in turns):
            kept.append(line)
    text = "\n".join(kept).rstrip()
    return (text.removesuffix(_HEADING).rstrip() if text.endswith(_HEADING) else text) + "\n"


def without_words(body: str, mine: str, others: list[str]) -> str:
    """`body` without the paragraphs and statements of `mine`, except what one of `others` says too; where
    nothing is left before the places, the words of the first of `others` take their place.
    """
    said_too = {line.removeprefix("- ").strip() for other in others for line in other.splitlines()}
    dropped = {line.removeprefix("- ").strip() for line in mine.splitlines()} - said_too
    text, heading, places = body.replace("\r\n", "\n").partition(f"{_HEADING}\n")
    kept = [line for line in text.split("\n") if line.removeprefix("- ").strip() not in dropped]
    words = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    words = words or (others[0].strip() if others else "")
    return f"{words}\n\n{heading}{places}" if heading else f"{words}\n"
