"""What a captured session leaves in the diary: what was asked, and what came of it (issue 4 item 6).

A session that goes on is told of in one event more; each exchange belongs to one event.
"""

from __future__ import annotations

from collections.abc import Sequence

from memex_core.memory.episode import Exchange
from memex_core.model.sidecar import Sidecar, ToldEvent
from memex_core.text.clean import clean_text

LINE_CHARS = 200


def event_content(exchanges: Sequence[Exchange], sidecar: Sidecar) -> str:
    """The event about these exchanges of a session; "" where nothing was asked in them.

    The first prompt and the first line of the last answer, each on one line, then the link to the episode. No
    line of it can be taken for a heading or a metadata comment, and nobody's words make a link.
    """
    asked = next(filter(None, (_one_line(exchange.prompt) for exchange in exchanges)), "")
    if not asked:
        return ""
    answered = next(filter(None, (_first_line(exchange.answer) for exchange in reversed(exchanges))), "")
    project = _one_line(sidecar.project_label)
    lines = [f"Asked: {asked}"]
    lines += [f"Answer: {answered}"] if answered else []
    lines += [f"Session: [[{sidecar.session_id}]]" + (f" in {project}" if project else "")]
    return "\n".join(lines)


def parts_told(
    exchanges: Sequence[Exchange], told: Sequence[ToldEvent], turn_ids: Sequence[str]
) -> list[list[Exchange]]:
    """The exchanges that each of the events `told` tells of, in their order, and those that none tells of."""
    found: list[list[Exchange]] = []
    after = 0
    for event in told:
        until = max(after, _turn_now(event, turn_ids))
        found.append([exchange for exchange in exchanges if after < exchange.turn <= until])
        after = until
    return [*found, [exchange for exchange in exchanges if exchange.turn > after]]


def _turn_now(event: ToldEvent, turn_ids: Sequence[str]) -> int:
    """The number that an event's last turn has now: a newer reader of the log may have counted anew."""
    if event.turn_id not in ("", *turn_ids[event.turn - 1 : event.turn]) and event.turn_id in turn_ids:
        return turn_ids.index(event.turn_id) + 1
    return event.turn


def _first_line(text: str) -> str:
    """The first line that says something, without the marks that make it a heading, a quote or a list."""
    return next(filter(None, (_one_line(line.strip().lstrip("#>*- `")) for line in text.splitlines())), "")


def _one_line(text: str) -> str:
    """`text` on one line, cut; "" where it holds no word. No link is made of it: `[[ -f x ]]` is shell."""
    words = " ".join(clean_text(text).split())
    if not any(map(str.isalnum, words)):
        return ""
    cut = words if len(words) <= LINE_CHARS else words[: LINE_CHARS - 1].rstrip() + "…"
    return cut.replace("[[", "[\u200b[")
