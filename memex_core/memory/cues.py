"""cues.toml, compiled: words become expressions and sets. What each field means is said in the file."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from memex_core.memory.own_words import CODE

Subject = Literal["first", "imperative", "wrapper", "name"]

NAME = (
    rf"(?P<name>@\w[\w-]{{0,38}}|{CODE}{{1,60}}"
    r"|(?-i:[A-Z])[\w.+#/&-]{0,40}(?: (?:(?-i:[A-Z])|\d)[\w.+#/&-]{0,40}){0,3}"
    r"|(?<![\w.'-])[a-z][\w.+-]{1,40})(?<![.,-])"
)
"""A capitalised name of up to four words, a handle, inline code, or one word in lower case (judged later)."""

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Cue:
    """One `[[cue]]` of cues.toml."""

    id: str
    type: str
    title: str
    importance: float
    needs: tuple[str, ...]
    pattern: re.Pattern[str]
    openers: frozenset[str]
    subject: Subject
    not_next: re.Pattern[str] | None = None
    not_rest: re.Pattern[str] | None = None
    object: str = ""
    says: bool = False
    modal: bool = False


@dataclass(frozen=True, slots=True)
class Cues:
    """Every cue, and the expressions (`words`) and sets that the rules ask for by name."""

    cues: tuple[Cue, ...]
    shows: re.Pattern[str]
    speaks: re.Pattern[str]
    sets: dict[str, frozenset[str]]
    words: dict[str, re.Pattern[str]]
    endings: dict[str, re.Pattern[str]]

    def starts(self, name: str, text: str) -> bool:
        """`text` begins with one of the words of the list."""
        return bool(self.words[name].match(text))

    def has(self, name: str, text: str) -> bool:
        """One of the words of the list occurs in `text`."""
        return bool(self.words[name].search(text))

    def ends(self, name: str, text: str) -> bool:
        """`text` ends with one of the words of the list."""
        return bool(self.endings[name].search(text))


@functools.cache
def default_cues() -> Cues:
    """The cues of this package."""
    return parse_cues(resources.files(__package__).joinpath("cues.toml").read_text(encoding="utf-8"))


def parse_cues(text: str) -> Cues:
    """The text of a cues.toml -> Cues.

    Raises tomllib.TOMLDecodeError, KeyError or re.error for a file that cannot act.
    """
    data = tomllib.loads(text)
    fragments = _expanded(data["words"])
    return Cues(
        cues=tuple(_cue(entry, fragments, data["openers"]) for entry in data["cue"]),
        shows=re.compile(_any_of(data["lines"]["shows"]), re.I),
        speaks=re.compile(rf"(?:{_any_of(data['lines']['speaks'])}) ?:", re.I),
        sets={name: frozenset(words) for name, words in data["sets"].items()},
        words={name: re.compile(_whole(fragment), re.I) for name, fragment in fragments.items()},
        endings={name: re.compile(f"{_whole(fragment)}$", re.I) for name, fragment in fragments.items()},
    )


def _any_of(fragments: list[str]) -> str:
    return "|".join(fragments)


def _whole(fragment: str) -> str:
    """Whole words only, also for a fragment that begins or ends with a sign."""
    return rf"(?<!\w)(?:{fragment})(?!\w)"


def _expanded(lists: dict[str, list[str]]) -> dict[str, str]:
    """Each list as one alternation, with the lists it names (they stand above it) put in."""
    fragments: dict[str, str] = {}
    for name, words in lists.items():
        fragments[name] = _filled(_any_of(words), fragments)
    return fragments


def _filled(pattern: str, fragments: dict[str, str]) -> str:
    return _PLACE.sub(lambda place: f"(?:{fragments[place[1]]})", pattern)


def _cue(entry: dict[str, Any], fragments: dict[str, str], openers: dict[str, list[str]]) -> Cue:
    pattern = _filled(entry["pattern"], fragments | {"name": NAME})
    return Cue(
        id=entry["id"],
        type=entry["type"],
        title=entry["title"],
        importance=float(entry["importance"]),
        needs=tuple(entry["needs"]),
        pattern=re.compile(pattern, re.I),
        openers=frozenset(phrase for name in entry["openers"] for phrase in openers[name]),
        subject=entry["subject"],
        not_next=_refusal(entry["not_next"], fragments),
        not_rest=_refusal(entry["not_rest"], fragments),
        object=entry.get("object", ""),
        says=entry.get("says", False),
        modal=entry.get("modal", False),
    )


def _refusal(names: list[str], fragments: dict[str, str]) -> re.Pattern[str] | None:
    if not names:
        return None
    return re.compile(_whole(_any_of([fragments[name] for name in names])), re.I)
