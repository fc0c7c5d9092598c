"""What people type, as search terms, and the same analysis for what is indexed (DESIGN §3 row FTS).

The full-text tokenizer splits at everything that is not a letter or digit, keeps a run of Chinese as one
word and knows neither `readFile` nor `c++`. So identifiers are also written as one joined word (`read_file`,
`read-file` and `readFile` all give `readfile`) and by their parts, and scripts without spaces as pairs of
neighbouring characters. `index_terms` puts these into a column of their own; `query_terms` asks for them.
Pure and total.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from memex_core.text.clean import clean_text
from memex_core.text.stop_words import STOP_WORDS

MAX_TERMS = 32
MAX_TERM_CHARS = 64
MAX_QUERY_CHARS = 100_000
_MAX_CHUNK = 300

# Han, kana, bopomofo, Hangul, Thai, Lao, Myanmar, Khmer: no spaces between words, or endings glued to them.
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u3130-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
# Combining marks are parts of words (\w holds letters and digits only); whole blocks where vowels are marks.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_SPACELESS_RUN = re.compile(f"[{_SPACELESS}]+")
_NOT_WORD = re.compile(f"(?:[^\\w{_MARKS}]|_)+")
_BRACKETS = re.compile(r"[()\[\]{}<>\"“”«»„`*!?,;|…—–]+|\w{1,10}://")
_SEGMENT = re.compile(r"[/\\@:=&]+")
_POSSESSIVE = re.compile(r"(?<=[^\W\d_])['’]s(?!\w)", re.IGNORECASE)
_CONTRACTION = re.compile(r"(?<=[^\W\d_])['’](t|d|m|ll|re|ve)(?!\w)", re.IGNORECASE)
_SYMBOL_NAME = re.compile(r"(?<![\w+#])([A-Za-z]\w{0,20})(\+\+|#)(?![\w+#])|(?<![\w.])\.([A-Za-z]\w{1,30})")
_SYMBOLS = {"++": "plusplus", "#": "sharp"}
_DIGIT_EDGE = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")

_WHOLE, _PART, _PAIR = 16, 4, 8  # how much a term says
_REPEATS = 4  # said more often, a term says no more


def query_terms(text: str, limit: int = MAX_TERMS) -> list[str]:
    """The search terms of `text`: lower case, letters and digits only, no duplicates, `limit` at most.

    Stop words are out unless nothing else remains; no text gives no terms, and no text raises. A text with
    more terms than `limit` keeps those that identify most: identifiers before names, long words before short
    ones.
    """
    weights: dict[str, int] = {}
    times: Counter[str] = Counter()
    chunks = _normal(text[:MAX_QUERY_CHARS]).split()
    for term, weight, _ in (found for chunk in chunks for found in _chunk_terms(chunk[:_MAX_CHUNK])):
        term = term[:MAX_TERM_CHARS]
        weights[term] = max(weight, weights.get(term, 0))
        times[term] += 1
    telling = {term: weight for term, weight in weights.items() if term not in STOP_WORDS}
    chosen = telling or weights
    ranked = sorted(chosen, key=lambda term: -chosen[term] - min(times[term], _REPEATS))
    kept = set(ranked[:limit])
    return [term for term in chosen if term in kept]


def index_terms(text: str) -> list[str]:
    """The words to index beside `text` itself, with repetitions: what the tokenizer would not find there."""
    chunks = (chunk[:_MAX_CHUNK] for chunk in _normal(text).split())
    return list(itertools.chain.from_iterable(map(_hidden_terms, chunks)))


def is_prefix(term: str) -> bool:
    """True where `term` stands for every word that begins with it: one character of a script
    without spaces, a cut.
    """
    return len(term) >= MAX_TERM_CHARS or (len(term) == 1 and _SPACELESS_RUN.match(term) is not None)


def quoted(terms: Iterable[str]) -> str:
    """An FTS5 expression that matches any of `terms`; no term can be read as syntax."""
    return " OR ".join('"' + term.replace('"', '""') + ('"*' if is_prefix(term) else '"') for term in terms)


def _normal(text: str) -> str:
    cleaned = clean_text(text)
    return cleaned if cleaned.isascii() else unicodedata.normalize("NFC", cleaned)


@functools.lru_cache(maxsize=65_536)  # most words of a text are the same few
def _hidden_terms(chunk: str) -> tuple[str, ...]:
    if chunk.isalpha() and chunk.isascii() and (chunk.islower() or chunk.istitle()):
        return ()
    return tuple(term for term, _, hidden in _chunk_terms(chunk, for_index=True) if hidden)


def _chunk_terms(chunk: str, *, for_index: bool = False) -> Iterator[tuple[str, int, bool]]:
    """`(term, weight, hidden)` of each term of one chunk, the text between white space.

    `hidden` where the tokenizer does not find the term in the text by itself.
    """
    chunk = chunk.rstrip(".,;:!?)\"'")
    spaceless = [] if chunk.isascii() else _SPACELESS_RUN.findall(chunk)
    for run in spaceless:
        yield from ((pair, _PAIR, True) for pair in _pairs(run, for_index=for_index))
    if spaceless:
        chunk = _SPACELESS_RUN.sub(" ", chunk)
    for part in chunk.split():
        for piece in _BRACKETS.split(part):
            yield from _identifier(piece, bool(spaceless))


def _identifier(piece: str, glued: bool) -> list[tuple[str, int, bool]]:
    """The terms of one piece: its words, the piece and its segments joined, the humps of its words."""
    symbols = [_symbol_term(match) for match in _SYMBOL_NAME.finditer(piece)]
    found = [(term, _WHOLE, True) for term in symbols]
    unshortened = _POSSESSIVE.sub("", piece)
    contracted = _CONTRACTION.sub(r"\1", unshortened)
    hidden = glued or contracted != unshortened
    segments = [_words(segment) for segment in _SEGMENT.split(contracted)]
    segments = [words for words in segments if words]
    words = [word for segment in segments for word in segment]
    lone = len(words) == 1 and not symbols
    for word in words:
        if lone or len(word) > 1 or not word.isascii():
            found.append((word.lower(), _word_weight(word), hidden))
        found.extend((part, _PART, True) for part in _humps(word))
    wholes = [words, *segments] if len(segments) > 1 else segments
    found.extend((term, _WHOLE, True) for term in map(_joined, wholes) if term)
    return found


def _words(text: str) -> list[str]:
    return [word for word in _NOT_WORD.split(text) if word]


def _word_weight(word: str) -> int:
    return min(len(word), 10) + (4 if word[0].isupper() and word.lower() not in STOP_WORDS else 0)


def _symbol_term(match: re.Match[str]) -> str:
    if match.group(3):
        return "dot" + match.group(3).lower()
    return match.group(1).lower() + _SYMBOLS[match.group(2)]


def _joined(words: list[str]) -> str:
    """The words as one; between two digits a letter, so that `1.10` is not `110`.

    Empty where that is too long.
    """
    if len(words) < 2 or sum(map(len, words)) > MAX_TERM_CHARS - len(words):
        return ""
    text = words[0]
    for word in words[1:]:
        text += ("d" if text[-1].isdigit() and word[0].isdigit() else "") + word
    return text.lower()


def _humps(word: str) -> list[str]:
    """The parts of `readFile`, `HTTPServer` and `sha256`; nothing where the word has one part."""
    mixed = not word.isdigit() and not word.isalpha()
    if not mixed and (word.islower() or word.isupper() or word[1:].islower()):
        return []
    parts = [part for run in _DIGIT_EDGE.split(word[:100]) for part in _case_parts(run)]
    return [part.lower() for part in parts if len(part) > 1] if len(parts) > 1 else []


def _case_parts(word: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for i in range(1, len(word)):
        here, before = word[i].isupper(), word[i - 1].isupper()
        if here and (not before or word[i + 1 : i + 2].islower()):
            parts.append(word[start:i])
            start = i
    return [*parts, word[start:]]


def _pairs(run: str, *, for_index: bool) -> list[str]:
    """Neighbouring characters of a run.

    The index holds its last character alone as well, so that one character, as a prefix, finds every run
    with it.
    """
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return [*pairs, run[-1]] if for_index else pairs or [run]
