"""memex.toml without the keys to other people's doors (DESIGN §3 row backup).

Whatever is called as a credential is (api_key, but also what was meant to be it: api-key, apikey, api_kye,
OPENAI_API_KEY, token), in any table and however it is written, becomes `""`; so does one in a comment. Every
other byte stays.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import Any

from memex_core.text.secret_kinds import name_kind

_KEY = "apikey"
_LIKE = 0.8
"""Share of letters in common that makes a name a misspelt api_key: api_kye is one, api_base is not."""
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")' + r"|'''.*?'{3,5}(?!')" + r'|"(?:[^"\\\r\n]|\\.)*"' + r"|'[^'\r\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN_VALUE = re.compile(r"[^,\]}#\r\n]*[^,\]}#\r\n\s]")
_BETWEEN = re.compile(r"[ \t\r\n]*(?:#([^\r\n]*))?")
_IN_COMMENT = re.compile(
    r"""([A-Za-z0-9_.-]{1,60}|"[^"=]{1,60}"|'[^'=]{1,60}')[ \t]*=[ \t]*("[^"]*"?|'[^']*'?|[^\s#]+)"""
)
_SIGNS = re.compile(r"[\W_]+")
_EMPTY = ('""', "''", '""""""', "''''''")


def without_api_key(data: bytes) -> bytes | None:
    """`data` with every credential emptied; None where it is not TOML, so that nobody can tell."""
    try:
        text = data.decode()
        before = tomllib.loads(text)
        spans = _Scan(text).spans()
        for start, end in reversed(spans):
            text = f'{text[:start]}""{text[end:]}'
        return text.encode() if repr(tomllib.loads(text)) == repr(_emptied(before)) else None
    except (ValueError, RecursionError):
        return None


class _Scan:
    """Goes over TOML that tomllib has accepted, and notes where a secret stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._spans: list[tuple[int, int]] = []

    def spans(self) -> list[tuple[int, int]]:
        """(start, end) of every value to be emptied, in order."""
        while self._next():
            if self._text[self._at] == "[":
                self._at = self._text.index("]", self._header_end())
                self._at += 1 + self._text.startswith("]]", self._at)
            else:
                self._pair()
        return self._spans

    def _next(self, over: str = "") -> str:
        """The next character that is no space, comment or one of `over`; "" at the end."""
        while True:
            between = _BETWEEN.match(self._text, self._at)
            assert between is not None
            if between[1]:
                self._comment(between[1], between.start(1))
            self._at = between.end()
            char = self._text[self._at : self._at + 1]
            if not char or not (char in over or char in "#\r\n \t"):
                return char
            self._at += char in over

    def _comment(self, comment: str, start: int) -> None:
        for secret in _IN_COMMENT.finditer(comment):
            if _is_secret(secret[1]):
                self._note(start + secret.start(2), start + secret.end(2))

    def _header_end(self) -> int:
        """Behind the last name of a table's header, which may hold brackets in quotes."""
        self._at += 1 + self._text.startswith("[[", self._at)
        self._name()
        return self._at

    def _name(self) -> str:
        """Go over a dotted key; its last part."""
        while True:
            self._next()
            part = _STRING.match(self._text, self._at) or _BARE.match(self._text, self._at)
            if part is None:
                raise ValueError("not a key")
            self._at = part.end()
            last = str(next(iter(tomllib.loads(f"{part[0]} = 0"))))
            if self._next() != ".":
                return last
            self._at += 1

    def _pair(self) -> None:
        secret = _is_secret(self._name())
        self._at += 1
        self._next()
        start, known = self._at, len(self._spans)
        self._value()
        if secret:
            del self._spans[known:]
            self._note(start, self._at)

    def _value(self) -> None:
        opening = self._text[self._at]
        if opening in "[{":
            self._at += 1
            while self._next(",") != ("]" if opening == "[" else "}"):
                if opening == "[":
                    self._value()
                else:
                    self._pair()
            self._at += 1
            return
        value = _STRING.match(self._text, self._at) or _PLAIN_VALUE.match(self._text, self._at)
        if value is None:
            raise ValueError("not a value")
        self._at = value.end()

    def _note(self, start: int, end: int) -> None:
        if self._text[start:end] not in _EMPTY:
            self._spans.append((start, end))


def _is_secret(name: str) -> bool:
    """Whether a key of that name holds a credential, or was meant to."""
    plain = _SIGNS.sub("", name.casefold())[:60]
    if (
        plain in ("key", "keys")
        or plain.startswith(_KEY)
        or name_kind(name.strip("\"' ").encode("ascii", "replace")[:120])
    ):
        return True
    return difflib.SequenceMatcher(None, _KEY, plain, autojunk=False).ratio() >= _LIKE


def _emptied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "" if _is_secret(k) else _emptied(v) for k, v in value.items()}
    return [_emptied(item) for item in value] if isinstance(value, list) else value
