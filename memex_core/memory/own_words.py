"""From a prompt to the sentences that are the user's own words.

A prompt mixes what the user says with what the user shows: code, logs, quotes, somebody's message. Only the
first is mined. Whole lines that show something are dropped here; quotations and inline code inside a sentence
are masked, so that no cue is found in them while their text can still be part of what a cue says.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

QUOTED = "\ue001"
"""Stands for one character of a quotation in `Statement.masked`."""
CODE = "\ue000"
"""Stands for one character of inline code in `Statement.masked`."""

LINE_LIMIT = 8_000
"""Characters. A longer line without a break is pasted, not typed."""
WRAPPED_AT = 70
"""Characters. A longer line without a full stop was wrapped by hand."""
STATEMENT_LIMIT = 800
"""Characters. A longer sentence is pasted, not typed."""
EDGE = 6_000
"""Characters kept at each end of a prompt whose own words are more than twice that: the middle is pasted."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence on one line. `masked` has the same length.

    `lead` is the line ending in a colon under which it is a list item.
    """

    text: str
    masked: str
    lead: str = ""


@dataclass(slots=True)
class _Line:
    text: str
    is_item: bool = False


_INVISIBLE = ("\u200b", "\ufeff", QUOTED, CODE)
_APOSTROPHE = re.compile(r"(?<=\w)[’ʼ＇´`](?=\w)")
_TAG_OPEN = re.compile(
    r"(?m)^[ \t]*<([a-z][\w:-]{0,40})(?:[ \t][^<>\n]{0,300})?>|<(memex-memory)\b[^<>\n]{0,300}>"
)
_TAG_CLOSE = re.compile(r"</([a-z][\w:-]{0,40})\b[^<>\n]{0,100}>")
_FENCE = re.compile(r"(?:[-*+>] |\d{1,3}[.)] )?(`{3,}|~{3,})(.{0,200})")
_BULLET = re.compile(r"(?:[-*•+–]|\d{1,3}[.)])[ \t]{1,8}(?:\[[ xX]\] )?")
_EMPHASIS = re.compile(r"(?<![\w*`])(\*{1,3})(?=[\w\"'`])([^*\n]{1,200})\1(?![\w*])")
_INLINE_CODE = re.compile(r"(`{1,3})(?!`)[^`\n]{1,400}\1")
_PAIRED_QUOTES = re.compile(
    r'"[^"\n]{1,500}"|“[^“”\n]{1,500}”|„[^„“”\n]{1,500}[“”]|«[^«»\n]{1,500}»|‹[^‹›\n]{1,500}›|‘[^‘’\n]{1,500}’'
    r"|「[^「」\n]{1,500}」|『[^『』\n]{1,500}』"
)
_SINGLE_OPEN = re.compile(r"(?<![\w'])'(?=[\w(<{\[/$@.])")
_SINGLE_CLOSE = re.compile(r"(?<=[\w.!?)\]}>%,])'(?!\w)")
_SINGLE_LIMIT = 300
_SENTENCE_END = re.compile(r"[.!?…]{1,3}[\"')\]]{0,2}(?= )|;(?= )")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|esp|mr|mrs|ms|dr|prof|no|fig|st)|\b[A-Z])\.$|\bimportant!{1,3}$",
    re.I,
)
_PASTED = re.compile(
    "|".join(
        (
            # brackets, JSON, diffs, git
            r"[{}\[\]()]\W{0,5}$|[{}]|\[(?![ \w-]{0,40}\]\()|\"[^\"]{1,80}\" {0,4}:",
            r"[+@] ?\S|---|\+\+\+ |diff --git|index [0-9a-f]{7}|commit [0-9a-f]{7,40}\b",
            r"(?:Author|Date|Merge):\s",
            # shell prompts
            r"\$ |% |>>> |❯|➜|PS [A-Z]:\\|[A-Z]:\\",
            # comments and decorators
            r"//|/\*|\*/|#!|#\w|-- \w|;;|@\w{1,40}(?:\(|$)",
            # logs
            r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d(?::\d\d)?\b|\w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d",
            r"\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b\]?[:\s\[]",
            r"\[(?:info|warn|warning|error|debug|trace)\]|npm (?:ERR!|WARN|error|warn)",
            r"(?:error|warning)(?:\[\w{1,10}\])?:\s|[=\-_*~]{3,}",
            r"(?:PASS|FAIL|FAILED|PASSED|ok|not ok) \S{1,100}$",
            # stack traces and compilers
            r"at \S{1,200}[(:]\S{0,200}\d|at \S{1,100} \(|File \"[^\"]{1,200}\", line|Traceback \(",
            r"(?:\w{1,60}\.){0,6}\w{0,60}(?:Error|Exception|Warning):\s|\S{1,200}:\d{1,6}:(?:\d{1,5}:)?\s",
            r"\d{1,6} ?\||E {2,4}\S",
            # HTML and tables
            r"<[!/a-zA-Z?]|\|",
            # code
            r"from [\w.]{1,100} import |import [\w.{}*, ]{1,100} from ['\"]",
            r"import [\w.]{1,80}(?: as \w{1,30})?;?$|(?:async )?def \w{1,60}\(",
            r"class \w{1,60}[(:{ ].{0,80}[:{]$|(?:export )?(?:const|let|var) [\w{\[]",
            r"(?:export |async |pub ){0,2}(?:function|fn|func) \w{1,60}",
            r"(?:public|private|protected|static) \w|(?:if|for|while|switch) ?\(.{0,200}\{$|#include\b",
            r"SELECT |(?:INSERT|CREATE|ALTER|DROP|UPDATE) [A-Z]",
        )
    )
)
_DIFF = re.compile(r"diff --git |@@ |\+\+\+ |--- \S")
_CODE_TAIL = re.compile(r"(?:[{};]|\)\s?=>|=>|\);|,\)|\\)\s{0,4}$")
_TABLE = re.compile(r"[^|\n]{1,200} \| [^|\n]{1,200} \| |[^\t\n]{1,200}\t[^\t\n]{1,200}\t")
_FIELD = re.compile(r"\s*[\w.-]{1,40}(?: \([^()\n]{1,30}\))?:(?: |$)")


def statements(text: str, *, shows: re.Pattern[str], speaks: re.Pattern[str]) -> Iterator[Statement]:
    """The user's own sentences in a prompt, in order.

    Both expressions come from cues.toml: `shows` matches a line, ending in a colon, that announces somebody
    else's text; `speaks` the words before the colon of a `name: text` line that is the user's own.
    """
    for paragraph in _ends(list(_paragraphs(_without_blocks(_normalised(text)), shows, speaks))):
        lead = ""
        for line in _logical_lines(paragraph):
            if not line.is_item:
                lead = ""
            yield from _sentences(line.text, lead)
            if line.text.endswith(":"):
                lead = plain_apostrophes(line.text)


def _ends(paragraphs: list[list[str]]) -> list[list[str]]:
    """Without the middle of a prompt that is longer than anybody types."""
    sizes = [sum(map(len, paragraph)) for paragraph in paragraphs]
    if sum(sizes) <= 2 * EDGE:
        return paragraphs
    before = list(itertools.accumulate(sizes))
    total = before[-1]
    return [
        p
        for p, size, end in zip(paragraphs, sizes, before, strict=True)
        if end <= EDGE or total - end + size <= EDGE
    ]


def _normalised(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ")
    for mark in _INVISIBLE:
        text = text.replace(mark, "")
    return text


def plain_apostrophes(text: str) -> str:
    """`text` with every apostrophe inside a word typed as ', length unchanged."""
    return _APOSTROPHE.sub("'", text)


def _without_blocks(text: str) -> str:
    """Text without `<tag>` ... `</tag>` that begin a line, and without recall blocks wherever they begin."""
    if "</" not in text:
        return text
    closings: dict[str, list[tuple[int, int]]] = {}
    for close in _TAG_CLOSE.finditer(text):
        closings.setdefault(close[1], []).append(close.span())
    kept: list[str] = []
    position = 0
    for opening in _TAG_OPEN.finditer(text):
        ends = closings.get(opening[1] or opening[2], [])
        at = bisect.bisect_left(ends, (opening.end(), 0))
        if opening.start() < position or at == len(ends):
            continue
        kept.append(text[position : opening.start()])
        position = ends[at][1]
    kept.append(text[position:])
    return "\n".join(kept)


def _paragraphs(text: str, shows: re.Pattern[str], speaks: re.Pattern[str]) -> Iterator[list[str]]:
    """Runs of lines without fences, quotes, pasted lines, and what a line announces as shown."""
    shown = False
    for block in _blocks(text):
        kept, shown = _unshown(_own_lines(block, speaks), shows, shown)
        if kept:
            yield kept


def _unshown(lines: list[str], shows: re.Pattern[str], shown: bool) -> tuple[list[str], bool]:
    """Without what follows a line that announces somebody else's text; True if that text is still to come.

    An empty line stands for lines that were dropped: where there are some, they are what was announced.
    """
    kept: list[str] = []
    announced = False
    for line in lines:
        announced = False
        if not line:
            shown = False
        elif not shown and line.rstrip().endswith(":") and shows.search(plain_apostrophes(line[-300:])):
            shown = announced = True
        elif not shown:
            kept.append(line)
    return kept, announced


def _blocks(text: str) -> Iterator[list[str]]:
    """Lines between blank lines; an empty line where a fence or indented code was."""
    block: list[str] = []
    fence = ""
    after_blank = True
    in_list = False
    for line in text.split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
            continue
        opening = _FENCE.match(bare)
        if opening and opening[1] not in opening[2]:
            fence = opening[1]
            block.append("")
        elif bare.count("```") % 2:
            fence = "```"
            block += [line[: line.index("```")], ""]
        elif not bare:
            if block:
                yield block
            block, after_blank = [], True
        elif after_blank and not in_list and line.startswith(("    ", "\t")):
            block.append("")
        else:
            in_list = bool(_BULLET.match(bare)) or (in_list and line.startswith(("    ", "\t")))
            after_blank = False
            block.append(line)
    if block:
        yield block


def _own_lines(block: list[str], speaks: re.Pattern[str]) -> list[str]:
    """A block with "" for each pasted line.

    Where most lines are pasted, so is what stands between them. Several `name: text` lines are a form.
    """
    in_diff = any(_DIFF.match(line) for line in block)
    pasted = [bool(line) and (_is_pasted(line) or (in_diff and line[0] in "+- ")) for line in block]
    if len(block) > 2 and 2 * sum(pasted) >= len(block):
        first, last = pasted.index(True), len(pasted) - pasted[::-1].index(True)
        pasted = [first <= number < last for number in range(len(block))]
    fields = sum(bool(_FIELD.match(line)) and not speaks.match(line.strip()) for line in block)
    if fields > 2 and 2 * fields > len(block):
        return [""]
    return ["" if is_pasted else line for line, is_pasted in zip(block, pasted, strict=True)]


def _is_pasted(line: str) -> bool:
    bare = line.strip()
    if len(line) > LINE_LIMIT or bare.startswith((">", "#")):
        return True
    if _BULLET.match(bare) and not bare.startswith("+"):
        return bool(_CODE_TAIL.search(bare[-40:]) and "(" in bare)
    return bool(_PASTED.match(bare) or _CODE_TAIL.search(bare[-40:]) or _TABLE.match(bare))


def _logical_lines(lines: list[str]) -> Iterator[_Line]:
    """Joins what was wrapped by hand: no sentence ended, and the next line begins in lower case."""
    current: _Line | None = None
    for line in lines:
        bare = _EMPHASIS.sub(r"\2", line.strip())
        bullet = _BULLET.match(bare)
        bare = " ".join(bare[bullet.end() if bullet else 0 :].split())
        if current and not bullet and _goes_on(current.text, bare):
            current.text = f"{current.text} {bare}"
            continue
        if current:
            yield current
        current = _Line(bare, bool(bullet))
    if current:
        yield current


def _goes_on(before: str, line: str) -> bool:
    if not before or not line or len(before) > STATEMENT_LIMIT:
        return False
    if before[-1] in ".!?:;":
        return False
    return line[0].islower() or len(before) > WRAPPED_AT or before[-1] == ","


def _sentences(line: str, lead: str) -> Iterator[Statement]:
    masked = mask(line)
    start = 0
    for end in [*_sentence_ends(masked), len(line)]:
        left = start + (len(line[start:end]) - len(line[start:end].lstrip()))
        text = line[left:end].rstrip()
        if text and len(text) <= STATEMENT_LIMIT:
            yield Statement(text, masked[left : left + len(text)], lead)
        start = end


def _sentence_ends(masked: str) -> Iterator[int]:
    for end in _SENTENCE_END.finditer(masked):
        if not _NO_END.search(masked[max(0, end.end() - 14) : end.end()]):
            yield end.end()


def mask(line: str) -> str:
    """`line` with every character of inline code and of quotations replaced, length unchanged."""
    masked = _INLINE_CODE.sub(lambda m: CODE * len(m[0]), plain_apostrophes(line))
    masked = _PAIRED_QUOTES.sub(lambda m: QUOTED * len(m[0]), masked)
    if "'" not in masked:
        return masked
    kept: list[str] = []
    position = 0
    for opening in _SINGLE_OPEN.finditer(masked):
        if opening.start() < position:
            continue
        closing = _SINGLE_CLOSE.search(masked, opening.end(), opening.end() + _SINGLE_LIMIT)
        if closing:
            kept += [masked[position : opening.start()], QUOTED * (closing.end() - opening.start())]
            position = closing.end()
    return "".join([*kept, masked[position:]])
