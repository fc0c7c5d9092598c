"""Which page a proposed node is about: that of its title, else one that says the same (issue 3 item 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from memex_core.memory.consolidated_page import statement_of, words_in
from memex_core.memory.model_answer import ModelNode
from memex_core.model.node import WikiNode
from memex_core.text.slug import slugify, title_key

SAME_OVERLAP = 0.85
SAME_ORDER = 0.8
FEWEST_WORDS = 8
"""Two statements of at least so many words say the same if they have so many in common, title included, and
so many pairs of neighbours: "a calls b" is not "b calls a".
"""
_NEGATIONS = frozenset(
    ("avoid", "cannot", "doesnt", "dont", "instead", "isnt", "never", "no", "none", "not", "without", "wont")
)


class KnownPages:
    """Pages to look proposed nodes up in; of several that fit, the first counts."""

    def __init__(self, pages: Iterable[WikiNode]) -> None:
        self._pages = [(page, _Said.of(page)) for page in pages]

    def __iter__(self) -> Iterator[WikiNode]:
        return (page for page, _ in self._pages)

    def about(self, node: ModelNode) -> WikiNode | None:
        """The page of that type and title, else of a title that is the same in kebab case, else one that
        says the same.
        """
        own = [(page, said) for page, said in self._pages if page.type == node.type]
        said = _Said.of(node)
        named = [page for page, other in own if other.title == said.title]
        named = named or [page for page, other in own if _is_same_in_kebab_case(other, said)]
        return next(iter(named), None) or next((page for page, other in own if _is_same(other, said)), None)

    def titled(self, node: ModelNode) -> list[WikiNode]:
        """The pages of whatever type under that title."""
        said = _Said.of(node)
        return [
            page
            for page, other in self._pages
            if other.title == said.title or _is_same_in_kebab_case(other, said)
        ]

    def replace(self, before: WikiNode | None, after: WikiNode) -> None:
        """`after` in place of `before`, or new."""
        left = [(page, said) for page, said in self._pages if page is not before]
        self._pages = [(after, _Said.of(after)), *left]


def same_statement(one: WikiNode | ModelNode, other: WikiNode | ModelNode) -> bool:
    """True where two nodes of one type say the same under whatever title: the same words, or nearly.

    Nearly the same words about different things (`deploy-staging`, `deploy-prod`), with different numbers
    or with a "not" in one of them, do not say the same.
    """
    return one.type == other.type and _is_same(_Said.of(one), _Said.of(other))


@dataclass(frozen=True, slots=True)
class _Said:
    """What a node says, for comparison: its title's key and slug ("" where that tells little), whether the
    title is its own slug, its text as words, all its words, neighbours, the words of its title.
    """

    title: str
    slug: str
    is_slug: bool
    text: str
    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    title_words: frozenset[str]

    @classmethod
    def of(cls, node: WikiNode | ModelNode) -> _Said:
        text, head = words_in(statement_of(node.body)), frozenset(words_in(node.title).split())
        words = text.split()
        slug = "" if set("+#") & set(node.title) else slugify(node.title)  # C, C++ and C# have one slug
        all_words, pairs = head | frozenset(words), frozenset(pairwise(words))
        return cls(title_key(node.title), slug, slug == node.title, text, all_words, pairs, head)


def _is_same_in_kebab_case(one: _Said, other: _Said) -> bool:
    return bool(one.slug) and one.slug == other.slug and (one.is_slug or other.is_slug)


def _is_same(one: _Said, other: _Said) -> bool:
    if one.text == other.text:
        return bool(one.text)
    fewer, more = sorted((len(one.words), len(other.words)))
    if fewer < FEWEST_WORDS or fewer < SAME_OVERLAP * more:
        return False
    if _overlap(one.words, other.words) < SAME_OVERLAP or _overlap(one.pairs, other.pairs) < SAME_ORDER:
        return False
    differing = one.words ^ other.words
    if differing & _NEGATIONS or any(any(char.isdigit() for char in word) for word in differing):
        return False
    return not (one.title_words - other.words and other.title_words - one.words)


def _overlap(one: frozenset[Any], other: frozenset[Any]) -> float:
    return len(one & other) / max(len(one | other), 1)
