"""What a cue is about: a tool or the code at hand ("use X"), a name or any word ("X is our ...")."""

from __future__ import annotations

import re

from memex_core.memory.clause import Finding, Place, object_of, opens
from memex_core.memory.cues import Cue, Cues
from memex_core.memory.own_words import CODE, Statement

_IDENTIFIER = re.compile(r"[a-z]\w*[A-Z(]|\w_\w|\(|^\W|^\w+\.\w+\(|^[A-Z][a-z]+[A-Z]")
_ABSTRACT = re.compile(r"\w{3,}(?:ing|tion|sion|ment|ness|ity|ance|ence|ism|ship|ility)$", re.I)
_DETERMINERS = frozenset({"the", "our", "my", "this", "new", "old", "internal", "legacy", "own"})
_ARTICLE = re.compile(r"(?:a|an|the|any|its|some) ", re.I)
_NUMBER_CONTRAST = re.compile(
    r"(?:not|instead of|rather than|over) \d+(?! ?(?:spaces?|tabs?|columns?|characters?)\b)\b", re.I
)
_WITH_SOMETHING = re.compile(r"to \w+ (?:it|this|that|them|both|these|those|the)\b", re.I)
_NEXT_STEP = re.compile(r"(?:instead|again|here|now)\b", re.I)
_ABOUT_SOMETHING = re.compile(r"(?:for|as|in|with|on|when|across)\b", re.I)
_ABOUT_ONE_THING = re.compile(r"\w+ (?:the|a|an|my|your) ", re.I)


def is_lasting_rule(statement: Statement, finding: Finding, cues: Cues) -> bool:
    """ "don't use X": true unless X is a piece of the code at hand."""
    rest = statement.masked[finding.what : finding.end]
    thing = object_of(rest)
    here = re.search(r"\bhere\W*$", rest)
    if here and (CODE in thing or _ARTICLE.match(thing) or cues.words["constructs"].fullmatch(thing)):
        return False
    if not _ARTICLE.match(thing) or cues.has("always_scopes", rest):
        return True
    return not (cues.ends("code_things", thing) or cues.ends("construct_ends", thing))


def is_choice_of_tool(statement: Statement, finding: Finding, place: Place, cues: Cues) -> bool:
    """ "use X": true where it is a standing rule, not the next step."""
    rest = statement.masked[finding.what : finding.end].rstrip(" .!")
    thing = object_of(rest)
    after = rest[len(thing) :].lstrip()
    if not thing:
        return False
    if cues.has("always_scopes", after) or cues.has("from_now", f"{place.head[-60:]} {place.local}"):
        return True
    said = f"{place.local} {statement.masked[finding.at : finding.what]}"
    if cues.starts("articles", thing) or cues.has("asks_for_step", said):
        return False
    raw = statement.text[finding.what : finding.what + len(thing)].strip("`")
    known = is_tool(raw, cues)
    construct = bool(cues.words["constructs"].fullmatch(thing))
    if cues.starts("contrasts", after.lstrip(", -–—")):
        return (known or not construct) and not _NUMBER_CONTRAST.search(after)
    if construct or (CODE in thing and not known):
        return False
    return cues.starts("kinds_of_code", after) or _is_used_for_good(raw, after, known, finding, cues)


def _is_used_for_good(raw: str, after: str, known: bool, finding: Finding, cues: Cues) -> bool:
    if cues.starts("before_each", after):
        return known and raw.split()[0].lower() not in cues.sets["languages"]
    if after.startswith("to "):
        return known and not cues.starts("task_verbs", after[3:]) and not _WITH_SOMETHING.match(after)
    if not _ABOUT_SOMETHING.match(after):
        lasting = known and raw.lower() not in cues.sets["languages"]
        return lasting and (not after or after[0] == "," or (finding.at == 0 and not _NEXT_STEP.match(after)))
    short = len(raw.split()) <= 2 and not _IDENTIFIER.search(raw)
    if cues.starts("areas", after):
        return known or short
    if _ABOUT_ONE_THING.match(after):
        return known and after.startswith(("with ", "as "))
    return known or (short and after.startswith("for "))


def is_tool(raw: str, cues: Cues) -> bool:
    """A name from the list of tools, or a capitalised name that is no identifier."""
    words = raw.split()
    if not words or len(words) > 4:
        return False
    first = words[0].lower()
    if first in cues.sets["tools"] or words[-1].lower() in cues.sets["tools"]:
        return True
    return raw[0].isupper() and not _IDENTIFIER.search(raw) and first not in cues.sets["not_names"]


def name_span(statement: Statement, match: re.Match[str], cue: Cue, cues: Cues) -> tuple[int, int]:
    """The name without the words in front of it that only look like part of it ("And Redis is ...")."""
    start, end = match.span("name")
    for word in statement.masked[start:end].split(" "):
        plain = word.lower().strip(".")
        if CODE in word or (plain not in cues.sets["not_names"] and plain not in cue.openers):
            break
        start += len(word) + 1
    return min(start, end), end


def is_name(name: str, masked: str, cue: Cue, place: Place, cues: Cues) -> bool:
    """ "{tool} is", "{person} mentioned", "{org} announced": a name, not any word that can stand there."""
    if not name or not opens(place, cue, cues):
        return False
    lowered = name.lower()
    if CODE in masked:
        return cue.id != "mentioned" and " " not in name and len(name) > 1
    if lowered in cues.sets["not_names"] or name.endswith("'s") or not any(c.isalpha() for c in name):
        return False
    if lowered in cues.sets["tools"] or lowered in cues.sets["first_names"]:
        return True
    if _ABSTRACT.fullmatch(name.split()[0]):
        return False
    if not name[0].islower() or any(c.isdigit() or c in "-_" or c.isupper() for c in name):
        return True
    bare = place.local.lower().rsplit(" ", 1)[-1] not in _DETERMINERS
    return bare and cue.id != "announced" and not (cue.id == "mentioned" and name.endswith("s"))
