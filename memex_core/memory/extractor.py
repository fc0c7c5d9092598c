"""Nodes from what the user typed, without a model (seed 000 §7 Utility 6, DESIGN §3 greedy extraction).

    prompt -> own_words: sentences -> cue_rules: findings -> WriteInput

A node's body begins with the statement; below it, quoted, the prompt it comes from and the last line that the
agent had said. `sources` are "#<turn>": whoever stores the node puts the id of the session in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memex_core.memory.clause import Finding
from memex_core.memory.cue_rules import find_under
from memex_core.memory.cues import Cues, default_cues
from memex_core.memory.own_words import Statement, plain_apostrophes, statements
from memex_core.model.node import WriteInput
from memex_core.model.session import Turn, TurnStreamEntry

TITLE_CHARS = 80
"""Of extracted text in a title."""
PROMPT_CHARS = 1_500
CONTEXT_CHARS = 200
RESULT_CHARS = 1_500
KEPT_STATEMENTS = 20
"""Of one entity in one session."""
TAG = "auto-extracted"

_TOOL_RESULT_IMPORTANCE = 0.5
_BROKEN_OFF = re.compile(
    r"(?:[\s,;:–—-]|(?: (?:and|or|but|so|because|since|that|the|a|an|to|of|for|with|in|then|like)$))+$",
    re.I,
)
_WRITTEN_ANYHOW = (
    (re.compile(r"^(?:dont|don t) ", re.I), "don't "),
    (re.compile(r"^always, ", re.I), "always "),
)


class NodeExtractor:
    """Reads turns in order and gives what is worth keeping.

    `wiki_store` is taken as the specification has it and not used: whoever stores the nodes knows the store.
    `tool_results` adds one node per tool, holding its latest result ([extract] tool_results in memex.toml).
    `cues` replaces the cues of this package.
    """

    def __init__(
        self, wiki_store: object = None, *, tool_results: bool = False, cues: Cues | None = None
    ) -> None:
        self._tool_results = tool_results
        self._cues = cues or default_cues()

    def extract(self, turns: Iterable[Turn | TurnStreamEntry]) -> list[WriteInput]:
        """Turns of one session -> nodes, one per type and title, in order of first mention.

        Turns may also be objects of seed 000 §4.1 (ValueError for what is none). They are seen one at a time;
        what is kept grows with the results only.
        """
        nodes: dict[tuple[str, str], WriteInput] = {}
        said_before = ""
        for given in turns:
            turn = given if isinstance(given, Turn) else Turn.from_entry(given)
            for node in self._from_turn(turn, said_before):
                _merge(nodes, node)
            if turn.role == "agent":
                said_before = _last_line(turn.content)
            elif turn.role == "user":
                said_before = ""
        return list(nodes.values())

    def extract_from_turn(self, turn: Turn | TurnStreamEntry) -> list[WriteInput]:
        """The nodes of one turn, without its neighbours."""
        return self.extract([turn])

    def _from_turn(self, turn: Turn, said_before: str) -> Iterator[WriteInput]:
        if turn.role == "tool" and self._tool_results:
            yield _tool_node(turn)
        if turn.role != "user":
            return
        for statement in statements(turn.content, shows=self._cues.shows, speaks=self._cues.speaks):
            for finding in find_under(statement, self._cues):
                node = self._node(turn, statement, finding, said_before)
                if node:
                    yield node

    def _node(
        self, turn: Turn, statement: Statement, finding: Finding, said_before: str
    ) -> WriteInput | None:
        cue = finding.cue
        subject = finding.name or self._title_text(statement, finding)
        if not subject:
            return None
        return WriteInput(
            type=cue.type,
            title=cue.title.format(subject),
            body="\n\n".join([statement.text, *_quotation(turn, statement, said_before)]),
            tags=[TAG],
            importance=cue.importance,
            sources=[f"#{turn.turn}"],
            cue=cue.id,
        )

    def _title_text(self, statement: Statement, finding: Finding) -> str:
        text = statement.text[finding.show : finding.end]
        masked = statement.masked[finding.show : finding.end]
        said = finding.what - finding.show
        ends = [
            m.start()
            for m in self._cues.words["title_end"].finditer(masked, max(said, 0))
            if m.start() > max(said, 0) + 2
        ]
        text = self._cues.endings["title_tail"].sub("", text[: ends[0]] if ends else text)
        if finding.topic:
            text = f"{finding.topic}: {text}"
        return _as_title(text)


def _as_title(text: str) -> str:
    """One line of at most TITLE_CHARS, cut at a word, without the marks that end a sentence."""
    text = plain_apostrophes(text).strip(" ,;:–—-").lstrip("([")
    for written, plain in _WRITTEN_ANYHOW:
        text = written.sub(plain, text)
    if len(text) > TITLE_CHARS:
        text = text[: TITLE_CHARS + 1].rsplit(" ", 1)[0][:TITLE_CHARS]
        text = _BROKEN_OFF.sub("", text)
    text = _BROKEN_OFF.sub("", text.rstrip(" .,;:!?…"))
    if text.count("`") % 2:
        text = _BROKEN_OFF.sub("", text[: text.rindex("`")].rstrip(" (")) or text
    if text.count("(") > text.count(")"):
        text = text[: text.rindex("(")].rstrip(" ,;:") or text
    return _lower_first(text.rstrip(" .,;:!?…"))


def _lower_first(text: str) -> str:
    """ "Always use" -> "always use", so that the same rule has the same title; names and shouting stay."""
    first = text.split(" ", 1)[0]
    plain = first.lower() in {
        "always",
        "never",
        "use",
        "don't",
        "do",
        "only",
        "the",
        "we",
        "a",
        "all",
        "no",
        "every",
        "our",
        "exclusively",
    }
    return first.lower() + text[len(first) :] if plain else text


def _quotation(turn: Turn, statement: Statement, said_before: str) -> list[str]:
    """The prompt around the statement as a blockquote, and what the agent had said last."""
    prompt = turn.content.strip()
    parts = []
    if said_before:
        parts.append(f"The agent had said: {said_before}")
    if prompt != statement.text:
        parts.append("\n".join(f"> {line}".rstrip() for line in _around(prompt, statement.text).splitlines()))
    return parts


def _around(prompt: str, statement: str) -> str:
    """At most PROMPT_CHARS of a prompt, with the statement in it."""
    if len(prompt) <= PROMPT_CHARS:
        return prompt
    at = max(0, prompt.find(statement[:40]))
    start = max(0, min(at - PROMPT_CHARS // 3, len(prompt) - PROMPT_CHARS))
    end = start + PROMPT_CHARS
    return f"{'… ' if start else ''}{prompt[start:end].strip()}{' …' if end < len(prompt) else ''}"


def _last_line(text: str) -> str:
    tail = text[-4_000:].rstrip().rsplit("\n", 1)[-1]
    line = " ".join(tail.split())
    return line if len(line) <= CONTEXT_CHARS else f"… {line[-CONTEXT_CHARS:].split(' ', 1)[-1]}"


def _tool_node(turn: Turn) -> WriteInput:
    name = turn.tool_name or turn.content
    query = " ".join((turn.query or "").split())[:CONTEXT_CHARS]
    result = (turn.result or "")[:RESULT_CHARS].strip()
    lines = [
        f"{name}: {query}" if query else name,
        "\n".join(f"> {line}".rstrip() for line in result.splitlines()),
    ]
    return WriteInput(
        type="entity",
        title=f"Tool result: {_as_title(' '.join(name.split())) or 'tool'}",
        body="\n\n".join(line for line in lines if line),
        tags=[TAG],
        importance=_TOOL_RESULT_IMPORTANCE,
        sources=[f"#{turn.turn}"],
        cue="tool-result",
    )


def _merge(nodes: dict[tuple[str, str], WriteInput], node: WriteInput) -> None:
    """Adds a node, or its turn to the node that says the same; an entity gathers what is said of it."""
    key = (node.type, node.title.casefold())
    known = nodes.setdefault(key, node)
    if known is node:
        return
    known.sources += [source for source in node.sources if source not in known.sources]
    if node.cue == "tool-result":
        known.body = node.body
    elif node.title.startswith("Entity: "):
        known.body = _with_statement(known.body, node.body)


def _with_statement(body: str, other: str) -> str:
    """Statements of an entity stand in one list at the top; the quotations follow."""
    statement, _, quoted = other.partition("\n\n")
    first, _, rest = body.partition("\n\n")
    items = first.split("\n") if first.startswith("- ") else [f"- {first}"]
    if f"- {statement}" in items or len(items) >= KEPT_STATEMENTS:
        return body
    parts = ["\n".join([*items, f"- {statement}"]), rest, "" if quoted and quoted in rest else quoted]
    return "\n\n".join(part for part in parts if part)
