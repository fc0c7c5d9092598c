"""Which cues of a sentence are meant: the user speaks, for good, and about more than the code at hand.

Every test here refuses; a cue that no test refuses is kept. Precision first (DESIGN §3 greedy extraction).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memex_core.memory.clause import (
    BOUNDARY,
    STRONG_JOINTS,
    Finding,
    Place,
    content_start,
    first_thought,
    opens,
    place_of,
    unasked_end,
)
from memex_core.memory.cues import Cue, Cues
from memex_core.memory.own_words import CODE, QUOTED, Statement
from memex_core.memory.things import is_choice_of_tool, is_lasting_rule, is_name, name_span

_NARRATED = re.compile(
    r"(?:^|[,;:] ?)(?:and |so |but |ok |also |because |since ){0,2}"
    r"(?:i|they|he|she|it|this|that|these|those|there|the|a|an|my|our|their|his|her|its|some|most|all|both|we'll|we've"
    r"|i'll|i've|i'm|they're|they'll|it's|he's|she's|\w+ing)\b[^,;:]*,?$",
    re.I,
)
"""A clause with a subject of its own: "the tests share a port and always use 8080" orders nothing."""

_OTHERS = re.compile(r"(?:their|his|her|\w+'s)\b", re.I)
_POLITE = r"(?:\w+, )?(?:ok |so |and |also |please |now |then |can you |could you ){0,3}"
_GENERAL_WHEN = re.compile(r"\bwhen(?:ever)? \w+ing\b|\bwhenever\b|\bwhen(?:ever)? you\b", re.I)
_CASE_AT_HAND = re.compile(r"\b(?:this|that) (?:\w+ )?(?:fails|works|doesn't|isn't|is|breaks|does)\b", re.I)
_ADDRESSED = re.compile(r"\b(?:please|we|also|you)\b", re.I)


def find(statement: Statement, cues: Cues) -> list[Finding]:
    """The cues of one sentence that are meant, in order."""
    lowered = statement.masked.casefold()
    found = [
        finding
        for cue in cues.cues
        if any(word in lowered for word in cue.needs)
        for finding in _meant(statement, cue, cues)
    ]
    return _together(sorted(found, key=lambda f: (f.at, f.what)), statement)


def find_under(statement: Statement, cues: Cues) -> list[Finding]:
    """The cues of a list item, counting the one in the line above its list ("My preferences are:")."""
    own = find(statement, cues)
    header = _header(statement.lead, cues) if statement.lead else None
    if header is None or statement.masked.endswith("?") or (own and header.subject != "wrapper"):
        return own
    if header.not_next and header.not_next.match(statement.masked):
        return own
    whole = Finding(header, 0, 0, len(statement.text), 0)
    return [whole, *(finding for finding in own if finding.cue.says)]


def _header(lead: str, cues: Cues) -> Cue | None:
    for cue in cues.cues:
        if cue.subject == "name":
            continue
        for match in cue.pattern.finditer(lead):
            if match.end() >= len(lead.rstrip(" :")) and opens(place_of(lead, match.start()), cue, cues):
                return cue
    return None


def _meant(statement: Statement, cue: Cue, cues: Cues) -> Iterator[Finding]:
    masked = statement.masked
    for match in cue.pattern.finditer(masked):
        finding = _finding(statement, match, cue, cues)
        if finding is None:
            continue
        end = unasked_end(masked, finding, cues)
        if end is None or not _says_something(masked[finding.what : end]):
            continue
        finding = replace(finding, end=end)
        if _is_meant(statement, finding, cues):
            yield finding


def _says_something(said: str) -> bool:
    return sum(c.isalnum() or c in (CODE, QUOTED) for c in said) > 1


def _finding(statement: Statement, match: re.Match[str], cue: Cue, cues: Cues) -> Finding | None:
    groups = match.groupdict()
    what = content_start(statement.masked, match.end())
    if cue.object == "name":
        start, end = name_span(statement, match, cue, cues)
        place = place_of(statement.masked, start)
        name = statement.text[start:end].strip("`'\" ")
        if not is_name(name, statement.masked[start:end], cue, place, cues):
            return None
        return Finding(cue, start, what, len(statement.text), what, place.joint, name=name)
    place = place_of(statement.masked, match.start())
    if not opens(place, cue, cues):
        return None
    show = match.start("show") if groups.get("show") else what
    topic = statement.text[match.start("topic") : match.end("topic")] if groups.get("topic") else ""
    return Finding(cue, match.start(), what, len(statement.text), show, place.joint, topic)


def _is_meant(statement: Statement, finding: Finding, cues: Cues) -> bool:
    cue = finding.cue
    place = place_of(statement.masked, finding.at)
    rest = statement.masked[finding.what : finding.end]
    if cue.not_next and cue.not_next.match(rest):
        return False
    if cue.not_rest and cue.not_rest.search(first_thought(rest)) and not _is_standing(cue, rest, cues):
        return False
    if not _is_spoken_by_user(place, cue, cues) or not _is_unconditional(place, rest, cue, cues):
        return False
    if cue.object == "tool":
        return is_choice_of_tool(statement, finding, place, cues)
    return cue.object != "rule" or is_lasting_rule(statement, finding, cues)


def _is_standing(cue: Cue, rest: str, cues: Cues) -> bool:
    return cue.subject == "imperative" and cues.has("from_now", first_thought(rest))


def _is_spoken_by_user(place: Place, cue: Cue, cues: Cues) -> bool:
    head = place.head
    if not head:
        return True
    if cues.has("persona", head) or (place.is_labelled and cues.ends("reports_end", head)):
        return False
    if place.joint == ":" and not _is_own_label(head, cue, cues):
        return False
    if cue.subject in ("first", "name"):
        return True
    if place.joint == "and" and not place.local and _NARRATED.search(head):
        return False
    return place.joint in {"but", "so", ";"} or not cues.has("reports", head)


def _is_own_label(head: str, cue: Cue, cues: Cues) -> bool:
    """Not "Add this comment: ...", not "Bob: ...": what stands before a colon says who speaks."""
    if re.match(f"{_POLITE}{cues.words['writes'].pattern}", head, re.I):
        return cues.has("to_memory", head)
    if _OTHERS.match(head):
        return False
    words = head.split()
    if len(words) > 2 or cues.speaks.match(f"{head}:") or head.lower() in cue.openers:
        return True
    if any(word.lower() in cues.sets["first_names"] for word in words):
        return False
    return cue.subject != "first" or not head[0].isupper() or head.lower() in cues.sets["tools"]


def _is_unconditional(place: Place, rest: str, cue: Cue, cues: Cues) -> bool:
    """The cue is no part of a supposition, and a condition in front of it is one that will come again."""
    if cues.has("hypothesis", place.head) or (cue.modal and cues.has("counterfactual", rest)):
        return False
    condition = _open_condition(place.head, cues)
    if not condition or place.joint in {":", ";", ")", "–", "—", "-"}:
        return True
    if place.joint != ",":
        return False
    if cue.object == "tool" and not _GENERAL_WHEN.search(condition):
        return False
    return not cue.modal and not _CASE_AT_HAND.search(condition)


def _open_condition(head: str, cues: Cues) -> str:
    """The clause at the end of `head` if it begins with "if", "when" and the like."""
    begin = r"(?:^|[,;:(] ?|(?<= )(?:and|but|so|also|please|then) |^\w+ )"
    condition = re.search(f"{begin}{cues.words['conditions'].pattern}[^,;:]*$", head, re.I)
    return condition[0] if condition else ""


def _together(found: list[Finding], statement: Statement) -> list[Finding]:
    """Cues that say one thing are one: "Always use pnpm, never npm", "I prefer tabs and never use spaces"."""
    kept: list[Finding] = []
    for finding in found:
        before = kept[-1] if kept else None
        if before is None:
            kept.append(finding)
        elif finding.at >= before.what and _is_another(before, finding, statement):
            if finding.at > before.what:
                kept[-1] = replace(before, end=min(before.end, _clause_start(statement, finding)))
            kept.append(finding)
    return kept


def _clause_start(statement: Statement, finding: Finding) -> int:
    place = place_of(statement.masked, finding.at)
    return len(place.head) if place.head else finding.at


def _is_another(before: Finding, finding: Finding, statement: Statement) -> bool:
    between = statement.masked[before.what : finding.at]
    if before.cue.subject == "wrapper" and not between.strip(" ,:"):
        return finding.cue.says
    if _clause_start(statement, finding) < before.what:
        return False
    if any(boundary[0].lower() in STRONG_JOINTS for boundary in BOUNDARY.finditer(between)):
        return True
    if finding.cue.subject in ("first", "name"):
        return finding.joint != "" and before.cue.subject != "wrapper"
    if finding.cue.subject == "wrapper":
        return finding.joint in ("and", ",")
    if before.cue.subject == "wrapper":
        return finding.cue.says and re.search(r", and (?:please )?$", between, re.I) is not None
    addressed = _ADDRESSED.search(statement.masked, max(before.what, finding.at - 12), finding.what)
    return finding.joint == "and" and (before.cue.subject == "imperative" or addressed is not None)
