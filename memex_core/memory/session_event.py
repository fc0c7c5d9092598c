"""What a captured session leaves in the diary: what was asked, and what came of it (issue 4 item 6).

A run of a session is told of in one event, each exchange in the event of its run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from memex_core.memory.episode import Exchange
from memex_core.model.session import RUN_ENDS_AFTER_S
from memex_core.model.sidecar import Sidecar, ToldEvent
from memex_core.text.clean import clean_text
from memex_core.text.instant import to_seconds

LINE_CHARS = 200
_BOLD = re.compile(r"\*\*[^*]+\*\*:?")
_MARKS = re.compile(r"\*\*|`")
_PAIR = re.compile(r"\[(?=\[)")
_ASKED, _ANSWER = "Asked: ", "Answer: "


def event_content(exchanges: Sequence[Exchange], sidecar: Sidecar) -> str:
    """The event about these exchanges of a session; "" where nothing was asked in them.

    The first prompt and the beginning of the last answer, each on one line, then the link to the episode. No
    line of it can be taken for a heading or a metadata comment, and nobody's words make a link.
    """
    asked = next(filter(None, (_one_line(exchange.prompt) for exchange in exchanges)), "")
    if not asked:
        return ""
    answered = next(filter(None, (_gist(exchange.answer) for exchange in reversed(exchanges))), "")
    return "\n".join([_ASKED + asked, *([_ANSWER + answered] if answered else []), _link(sidecar)])


def could_be_ours(content: str, exchanges: Sequence[Exchange], sidecar: Sidecar) -> bool:
    """True for an event that `event_content` may have given for some of the exchanges: nobody changed a word
    of it. The project may be any where the sidecar names none: it may be lost.
    """
    lines = content.split("\n")
    link = _link(sidecar)
    return (
        lines[0] in {_ASKED + _one_line(exchange.prompt) for exchange in exchanges}
        and {*lines[1:-1]} <= {_ANSWER + _gist(exchange.answer) for exchange in exchanges}
        and (lines[-1] == link or (not sidecar.project_label and lines[-1].startswith(f"{link} in ")))
    )


def parts_told(
    exchanges: Sequence[Exchange], told: Sequence[ToldEvent], turn_ids: Sequence[str]
) -> list[list[Exchange]]:
    """The exchanges that each of the events `told` tells of, in their order, and those that none tells of."""
    found: list[list[Exchange]] = []
    after = 0
    for event in told:
        until = max(after, turn_now(event, turn_ids))
        found.append([exchange for exchange in exchanges if after < exchange.turn <= until])
        after = until
    return [*found, [exchange for exchange in exchanges if exchange.turn > after]]


def runs_of(exchanges: Sequence[Exchange], last_turns: Sequence[int]) -> list[list[Exchange]]:
    """The exchanges, cut behind each of `last_turns`. The last run is [] where it has said nothing yet."""
    cuts = {sum(exchange.turn <= turn for exchange in exchanges) for turn in last_turns}
    places = [0, *sorted(cuts - {0}), len(exchanges)]
    return [list(exchanges[start:end]) for start, end in pairwise(places)]


def is_come_back_to(told_at: str, later: Exchange) -> bool:
    """True where so much time lies between an event and a later exchange that a run must have ended."""
    before, after = to_seconds(told_at), to_seconds(later.ended_at)
    return before is not None and after is not None and after - before > RUN_ENDS_AFTER_S


def turn_now(event: ToldEvent, turn_ids: Sequence[str]) -> int:
    """The number that an event's last turn has now: a newer reader of the log may have counted anew."""
    if event.turn_id not in ("", *turn_ids[event.turn - 1 : event.turn]) and event.turn_id in turn_ids:
        return turn_ids.index(event.turn_id) + 1
    return event.turn


def _link(sidecar: Sidecar) -> str:
    project = _one_line(sidecar.project_label)
    return f"Session: [[{sidecar.session_id}]]" + (f" in {project}" if project else "")


def _gist(text: str) -> str:
    """What an answer begins with, on one line: its prose; without any, its headings, else its code."""
    prose, headings, code = [], [], []
    fence = ""
    for line in map(str.strip, text.splitlines()):
        mark = line[:3] if line.startswith(("```", "~~~")) else ""
        if mark and fence in ("", mark):
            fence = "" if fence else mark
        elif fence:
            code.append(_MARKS.sub("", line.lstrip("#>*-+ ")))
        elif line.startswith("#") or _BOLD.fullmatch(line):
            headings.append(line.strip("#*: "))
        else:
            prose.append(_MARKS.sub("", line.lstrip(">*-+ ")))
    return next(filter(None, (_one_line(" ".join(lines)) for lines in (prose, headings, code))), "")


def _one_line(text: str) -> str:
    """`text` on one line, cut; "" where it holds no word. No link is made of it: `[[ -f x ]]` is shell."""
    words = " ".join(clean_text(text).split())
    if not any(map(str.isalnum, words)):
        return ""
    cut = words if len(words) <= LINE_CHARS else words[: LINE_CHARS - 1].rstrip() + "…"
    return _PAIR.sub("[\u200b", cut)
