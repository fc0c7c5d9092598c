"""The window of days that a text speaks of, in English or Chinese: what opens the diary to a recall.

Narrow beats wrong: words that name no definite days open nothing, for a wrong window hides the right event.
Where a text names several times, a range ("from X to Y", "since X") is meant before all; then a date of the
calendar; then what is over before what is not ("today, go on with what we did last week"); then the fewest
days; then the first. "Before X" and "until X" have no beginning and open nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from memex_core.text.time_mentions import Mention, find_mentions
from memex_core.text.time_readings import Reading, joined, readings
from memex_core.text.time_words_chinese import CHINESE
from memex_core.text.time_words_english import ENGLISH

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,300}`", re.DOTALL)
# One character for one, so that places stay: traditional and full-width forms as the rules know them.
_FOLDED = str.maketrans(
    "週個後號禮兩這過從間開來內時氣現際實歷線網馬參證說當為點０１２３４５６７８９／－～",
    "周个后号礼两这过从间开来内时气现际实历线网马参证说当为点0123456789/-~",
)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From `start` to `end`, both inclusive; `words` is the part of the text that says so.

    It is `text[slice(*place)]`: the same characters may stand elsewhere, inside of another word.
    """

    start: date
    end: date
    words: str
    place: tuple[int, int]


MAX_CHARS = 10_000


def time_window(text: str, today: date) -> TimeWindow | None:
    """The days `text` speaks of, seen from `today`; None where it speaks of none. Never raises.

    Code (between backticks) is not read, and nothing behind `MAX_CHARS`: a question is shorter than that.
    Times to come open windows as well.
    """
    text = text[:MAX_CHARS]
    plain = _CODE.sub(lambda code: "`" * len(code.group()), text)
    if not plain.isascii():
        plain = plain.translate(_FOLDED)
    mentions = joined(plain, _mentions(plain, today))
    best = min(readings(plain, mentions, today), key=lambda found: _rank(found, today), default=None)
    if best is None:
        return None
    words = text[best.start : best.end]
    begin = best.start + len(words) - len(words.lstrip())
    words = words.strip()
    return TimeWindow(best.days.start, best.days.end, words, (begin, begin + len(words)))


def _mentions(text: str, today: date) -> list[Mention]:
    found = find_mentions(text, today, ENGLISH)
    if not text.isascii():
        found = sorted(
            [*found, *find_mentions(text, today, CHINESE)], key=lambda mention: (mention.start, -mention.end)
        )
    apart: list[Mention] = []
    for mention in found:
        if not apart or mention.start >= apart[-1].end:
            apart.append(mention)
    return apart


def _rank(reading: Reading, today: date) -> tuple[bool, bool, bool, int, int]:
    days = reading.days
    return (
        not reading.explicit,
        not reading.dated,
        days.end >= today,
        (days.end - days.start).days,
        reading.start,
    )
