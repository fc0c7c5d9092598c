"""Where a cue stands in a sentence, and how far what it says reaches: the grammar that every cue shares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memex_core.memory.cues import Cue, Cues
from memex_core.memory.own_words import CODE, QUOTED

BOUNDARY = re.compile(
    r"[,;:()]|[–—]|(?<= )--?(?= )"
    r"|(?<= )(?:and|but|so|because|since|cause|cuz|as|plus|then|though|although|yet|hence|therefore)(?= )",
    re.I,
)
"""What may stand between two clauses."""

STRONG_JOINTS = frozenset(
    "; : ( ) - -- – — but so because since cause cuz as therefore hence plus then".split()  # noqa: SIM905
)
"""Joints behind which a sentence says something else than before."""

_DASHES = frozenset({"–", "—", "-", "--"})
_NEW_THOUGHT = frozenset({";", "but", "so", "because", "since", "then"}) | _DASHES
_NEW_SUBJECT = re.compile(
    r" (?:it|it's|its|we|i|they|he|she|that|that's|this|there|there's|the|our|which|you|these|those)\b", re.I
)
_ABOUT = re.compile(
    r"(?:in|for|on|with|across|inside|within|throughout|under|during|regarding|about|outside|between|at) \S"
    r"|when(?:ever)? \w+ing\b",
    re.I,
)
_NOT_ABOUT = re.compile(
    r"\b(?:i|you|it|he|she|they|who|which|that|this|these|those|is|are|was|were|does|do|did|says?|said|what|why|how"
    r"|me|him|them|if|there|not|never|people|folks|devs|developers|programmers|users|customers|everyone|everybody"
    r"|nobody|most|many)\b",
    re.I,
)
_OBJECT_END = re.compile(
    r"[,;:()–—]| -|(?: |^)(?:for|to|in|as|on|with|instead|rather|not|over|when|whenever|everywhere|across|and"
    r"|but|because|since|from|by|if|unless|at|or|here|via|before|after|until|while|during|so|never|only|always|now"
    r"|please|again|throughout|henceforth)(?= |$)",
    re.I,
)
_LONGEST_OPENER = 6
_LONGEST_ABOUT = 7


@dataclass(frozen=True, slots=True)
class Finding:
    """A cue in a statement: `text[what:end]` is what it says, `text[show:end]` what a title is made of.

    `joint` is the word or sign in front of its clause, "" at the start of the sentence.
    """

    cue: Cue
    at: int
    what: int
    end: int
    show: int
    joint: str = ""
    topic: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """`head` is the sentence before the clause, `joint` what joins them, `local` the clause up to the cue."""

    head: str
    joint: str
    local: str

    @property
    def is_labelled(self) -> bool:
        """Something like "Tests: " or "Style - " stands in front."""
        return self.joint in _DASHES or self.joint in {":", ","}


def place_of(masked: str, at: int) -> Place:
    """The place of a cue that begins at `at`."""
    boundaries = list(BOUNDARY.finditer(masked, 0, at))
    if not boundaries:
        return Place("", "", masked[:at].strip())
    last = boundaries[-1]
    return Place(masked[: last.start()].strip(), last[0].lower(), masked[last.end() : at].strip())


def opens(place: Place, cue: Cue, cues: Cues) -> bool:
    """Nothing stands between the start of the clause and the cue but openers, and at most one "in tests"."""
    words = list(_words(place.local))
    at = 0
    while at < len(words):
        step = _opener_length(words, at, cue)
        if not step:
            rest = cues.words["our_scope"].sub("in ours", " ".join(words[at:]))
            return (
                len(words) - at <= _LONGEST_ABOUT and bool(_ABOUT.match(rest)) and not _NOT_ABOUT.search(rest)
            )
        at += step
    return True


def _words(text: str) -> Iterator[str]:
    for word in text.replace("!", " ").split():
        if any(c.isalnum() or c in (CODE, QUOTED) for c in word):
            yield word.strip(".'*").lower()


def _opener_length(words: list[str], at: int, cue: Cue) -> int:
    for length in range(min(_LONGEST_OPENER, len(words) - at), 0, -1):
        if " ".join(words[at : at + length]) in cue.openers:
            return length
    return 0


def content_start(masked: str, at: int) -> int:
    """Behind the blanks and signs that follow a cue."""
    return len(masked) - len(masked[at:].lstrip(" :,"))


def first_thought(rest: str) -> str:
    """`rest` up to a joint that begins another thought."""
    for boundary in BOUNDARY.finditer(rest):
        if boundary[0].lower() in _NEW_THOUGHT:
            return rest[: boundary.start()]
        if boundary[0] == "," and _NEW_SUBJECT.match(rest, boundary.end()):
            return rest[: boundary.start()]
    return rest


def object_of(rest: str) -> str:
    """The first noun phrase of `rest`: "use [black] with line length 100"."""
    end = _OBJECT_END.search(rest)
    return (rest[: end.start()] if end else rest).strip(" .!")


def unasked_end(masked: str, finding: Finding, cues: Cues) -> int | None:
    """Where the statement ends, before a question that follows it; None where the statement is the question.

    "I prefer tabs, can you reformat?" states something, "I prefer tabs, right?" does not.
    """
    if not masked.endswith(("?", "?!")):
        return finding.end
    body = masked.rstrip("?! ")
    tail = re.split(r"[,–—] ?| - ", body)[-1].strip()
    if tail != body and cues.words["tags"].fullmatch(tail):
        return max(finding.what, len(body) - len(tail))
    if cues.words["tag_asks"].fullmatch(tail):
        return None
    for boundary in BOUNDARY.finditer(masked, finding.what):
        after = re.sub(
            r"^ ?(?:(?:so|and|but|also|then|please|ok|okay) )?", "", masked[boundary.end() :], flags=re.I
        )
        if cues.starts("asks", after):
            return boundary.start()
    return None
