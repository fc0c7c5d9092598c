"""Secrets out of text, before anything of it is stored (DESIGN §3 redaction).

    redact(text) -> text in which each secret is [REDACTED:<kind>]

The text is read as ASCII bytes of the same length, so that positions are the same in both. Cheap scans over
the whole (a literal, a mapped run, an expression that begins with one literal byte) give the few places where
a secret could be; only there the slower tests of secret_kinds.py run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memex_core.text import private_keys
from memex_core.text import secret_kinds as kinds

RUN = 20
"""Bytes. Every issuer's token holds a run of [A-Za-z0-9_-] at least this long."""
VALUE_LIMIT = 250
"""Bytes of a value that are judged; what goes on behind them belongs to it."""

_MARK = b"[REDACTED:"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_NAME = _LETTERS + b"_-."
_VALUE = _LETTERS + b"_-./+~%"
_QUOTES = b"\"'`\\"
_TO_RUNS = bytes(97 if byte in _LETTERS + b"_-" else 32 for byte in range(256))
_NEEDLE = b"a" * RUN
_DIGIT = re.compile(rb"\d")
_ESCAPE = re.compile(rb"[nrtbf]|u[0-9a-fA-F]{4}")


class Span(NamedTuple):
    """`rank` decides between kinds that begin at one place: the more certain first."""

    start: int
    rank: int
    end: int
    kind: str


class _Label(NamedTuple):
    """What stands in front of a value: `kind` of its name, and whether the value is written as a literal.

    `is_constant`: even a plain word is a value here, never a variable, a type or prose.
    """

    kind: kinds.NameKind
    is_literal: bool = False
    quote: bytes = b""
    is_constant: bool = False
    is_line: bool = False
    is_scheme: bool = False
    in_tag: bool = False


def redact(text: str) -> str:
    """`text` with keys, tokens, private keys, passwords in URLs and credential-named values replaced.

    Pure, idempotent, linear in the length of `text`; text without a secret comes back as the same object.
    """
    spans = _disjoint(sorted(_spans(text.encode("ascii", "replace"))))
    if not spans:
        return text
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += [text[position : span.start], f"[REDACTED:{span.kind}]"]
        position = span.end
    return "".join([*parts, text[position:]])


def _disjoint(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in spans:
        if kept and span.start < kept[-1].end:
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, span.end))
        else:
            kept.append(span)
    return kept


def _spans(data: bytes) -> Iterator[Span]:
    for start, end in private_keys.find(data):
        yield Span(start, 0, end, "private-key")
    yield from _url_passwords(data)
    yield from _in_long_runs(data)
    yield from _assigned(data)
    yield from _said_passwords(data)
    yield from _authorized(data)


def _places(data: bytes, literal: bytes) -> Iterator[int]:
    at = data.find(literal)
    while at >= 0:
        yield at
        at = data.find(literal, at + len(literal))


# ---------------------------------------------------------------------------------------------------- URLs

_USER = rb"(?P<user>[^\s:@/\"'<>`]{0,250})"
_USER_AND_PASSWORD = re.compile(_USER + rb"(?::(?P<password>[^\s\"'<>`]{0,250}))?")
_NO_URL_PASSWORD = re.compile(rb"\d{1,5}/|\[REDACTED:|[<${*]|%\w+%$|[x.]+$", re.I)
_HOST = re.compile(rb"[A-Za-z0-9_\[][\w.:%\]-]*(?!@)")
_SCHEME_END = re.compile(rb".*:\\{0,7}/\\{0,7}/", re.S)


def _url_passwords(data: bytes) -> Iterator[Span]:
    """`scheme://user:password@host`, `scheme://token@host`; the password may hold `/` and `@`."""
    for at in _places(data, b"@"):
        window = data[max(0, at - 400) : at]
        if b"/" not in window or b":" not in window:
            continue
        scheme = _SCHEME_END.match(window)
        if (
            scheme is None
            or not (host := _HOST.match(data, at + 1))
            or data[host.end() : host.end() + 1] == b"@"
        ):
            continue
        found = _USER_AND_PASSWORD.fullmatch(window, scheme.end())
        if found:
            yield from _user_info(found["user"], found["password"] or b"", at)


def _user_info(user: bytes, password: bytes, at: int) -> Iterator[Span]:
    if password and not _NO_URL_PASSWORD.match(password):
        yield Span(at - len(password), 1, at, "url-password")
    elif password and password[:1].isdigit():
        return
    if kinds.is_random(user):
        start = at - len(user) - (len(password) + 1 if password else 0)
        yield Span(start, 1, start + len(user), "url-token")


# ---------------------------------------------------------------------------------------------------- tokens


def _in_long_runs(data: bytes) -> Iterator[Span]:
    """Tokens of known issuers, and random values behind a credential's name, a flag or `Bearer`."""
    mapped = data.translate(_TO_RUNS)
    find, has_digit, heads = mapped.find, _DIGIT.search, kinds.TOKEN_HEADS
    start = find(_NEEDLE)
    while start >= 0:
        end = find(b" ", start + RUN)
        end = len(data) if end < 0 else end
        if data[start - 1 : start] == b"\\":
            start += _escape_length(data, start)
        if data[start : start + 3] in heads or has_digit(data, start, end):
            yield from _in_run(data, data[start:end], start, end)
        start = find(_NEEDLE, end)


def _escape_length(data: bytes, start: int) -> int:
    """The letters at the start of a run that belong to a backslash before it: `\\n`, `\\u001b`."""
    escape = _ESCAPE.match(data, start)
    return len(escape[0]) if escape else 0


def _in_run(data: bytes, run: bytes, start: int, end: int) -> Iterator[Span]:
    known = False
    for token in kinds.KNOWN_TOKEN.finditer(run) if _may_hold_token(run) else ():
        known = True
        yield Span(start + token.start(), 0, start + token.end(), kinds.KIND_OF_GROUP[token.lastgroup or ""])
    if known:
        return
    before = data[max(0, start - 96) : start]
    yield from _joined(data, run, start, end, before)
    yield from _labelled(data, start - len(before) + len(before.rstrip(_VALUE)))


def _may_hold_token(run: bytes) -> bool:
    """False for words, numbers, hashes and UUIDs, which most runs are."""
    pieces = run.replace(b"_", b"-").split(b"-")
    return any(piece[:3] in kinds.PIECE_HEADS for piece in pieces) or pieces[-1][:2] == b"us"


def _joined(data: bytes, run: bytes, start: int, end: int, before: bytes) -> Iterator[Span]:
    """Tokens that a dot, a colon or a slash joins to what stands before the run."""
    if run.startswith(b"eyJ") and (jwt := kinds.JWT.match(data, start)):
        yield Span(start, 0, jwt.end(), "jwt")
    if data[end : end + 1] == b"." and (discord := kinds.DISCORD.search(data, start, end + 60)):
        yield Span(discord.start(), 0, discord.end(), "discord-token")
    if before.endswith(b".") and (head := kinds.DOTTED_START.search(before)):
        kind = kinds.DOTTED_KINDS[head[0][:1]]
        rest = kinds.DOTTED_REST.match(data, start)
        if rest and (kind != "jwt" or run.startswith(b"eyJ")):
            goes_on = kind == "jwt" or head[0] == b"SG."
            yield Span(start - len(head[0]), 0, rest.end() if goes_on else end, kind)
    elif (
        before.endswith(b":")
        and (head := kinds.TELEGRAM_START.search(before))
        and kinds.TELEGRAM.fullmatch(run)
    ):
        yield Span(start - len(head[0]), 0, end, "telegram-token")
    elif before.endswith(b"/") and kinds.WEBHOOK_START.search(before):
        yield Span(start, 0, end, "webhook")


# ---------------------------------------------------------------------------------------------------- names

_UNQUOTED = re.compile(rb"[^\s\"'`<>,;)\]}|&\\]{1,%d}" % VALUE_LIMIT)
_TO_BLANK = re.compile(rb"(?:[^\s\"'`<>\\;&]|[;&](?!\w{0,30}=|\s|$)){1,%d}" % VALUE_LIMIT)
_ESCAPED = re.compile(rb"[^\s\"'`\\]{1,%d}" % VALUE_LIMIT)
_QUOTED = {
    quote: re.compile(rb"(?:[^%s\\\r\n]|\\[^\r\n]){1,%d}" % (quote, VALUE_LIMIT))
    for quote in (b'"', b"'", b"`")
}
_CLOSING = {quote: re.compile(rb"(?<!\\)\\*" + quote) for quote in _QUOTED}
_BEHIND_QUOTE = re.compile(rb"[\s,;:.)}\]<\\\"'`#|]|$")
_NO_PHRASE = re.compile(rb"[\s+,;:)%.|=&?/~]|.*[\r\n]|.*\s$", re.S)
_MORE = re.compile(rb"[A-Za-z0-9+/=_-]*")


def _assigned(data: bytes) -> Iterator[Span]:
    """`NAME=value`, `"name": "value"`, `name: value`, at any depth of JSON escapes."""
    for pattern in kinds.ASSIGNED:
        done = 0
        for match in pattern.finditer(data):
            if match.end() < done:
                continue
            for span in _labelled(data, match.end()):
                done = span.end
                yield span


def _labelled(data: bytes, start: int) -> Iterator[Span]:
    """The value at `start`, if what stands before it calls it a credential and it looks like one."""
    label = _label(data, start)
    if label.kind or label.is_scheme:
        yield from _judged(data, start, label)


def _judged(data: bytes, start: int, label: _Label) -> Iterator[Span]:
    value = _phrase(data, start, label.quote) if label.quote and label.kind in kinds.CHOSEN else b""
    value = value or _value(data, start, label.quote, label.is_line)
    if label.in_tag and data[start + len(value) : start + len(value) + 1] != b"<":
        return
    if label.is_scheme:
        if kinds.is_bearer_value(value):
            yield Span(start, 2, _value_end(data, start, value), "authorization")
    elif kinds.looks_secret(
        value,
        label.kind,
        is_quoted=bool(label.quote),
        is_literal=label.is_literal,
        is_constant=label.is_constant,
    ):
        kind = "password" if label.kind == "password" else "secret"
        yield Span(start, 2, _value_end(data, start, value), kind)


def _phrase(data: bytes, start: int, quote: bytes) -> bytes:
    """All of a quoted value, blanks and escaped quotes included; b"" if it is not closed or is none.

    Within JSON in JSON a quote has 1, 3, 7 backslashes; what an odd number of such steps adds is escaped.
    """
    depth = len(quote) - 1
    for closing in _CLOSING[quote[-1:]].finditer(data, start, start + VALUE_LIMIT):
        more = closing.end() - closing.start() - len(quote)
        if more < 0:
            return b""
        if more // (depth + 1) % 2 == 0:
            value = data[start : closing.end() - len(quote)]
            is_phrase = not _NO_PHRASE.match(value) and _BEHIND_QUOTE.match(data, closing.end())
            return value if is_phrase else b""
    return b""


def _value(data: bytes, start: int, quote: bytes, is_line: bool = False) -> bytes:
    """At most VALUE_LIMIT bytes of the value at `start`, up to the quote, blank or sign that ends it."""
    if quote:
        quoted = (_QUOTED[quote] if len(quote) == 1 else _ESCAPED).match(data, start)
        return quoted[0] if quoted and b" " not in quoted[0] and b"\t" not in quoted[0] else b""
    bare = (_TO_BLANK if is_line else _UNQUOTED).match(data, start)
    return bare[0].rstrip(b".:!?;,)&|") if bare else b""


def _value_end(data: bytes, start: int, value: bytes) -> int:
    end = start + len(value)
    more = _MORE.match(data, end) if len(value) >= VALUE_LIMIT else None
    return more.end() if more else end


def _label(data: bytes, start: int) -> _Label:
    """Reads backwards from a value: quote, blanks, sign, quote, name."""
    window = data[max(0, start - 120) : start]
    bare = window.rstrip(_QUOTES)
    opening = window[len(bare) :]
    quote = opening[len(opening[:-1].rstrip(b"\\")) :] if opening.startswith(b"\\") else opening[-1:]
    trimmed = bare.rstrip(b" \t")
    if trimmed.endswith((b":*", b":**")):
        trimmed = trimmed.rstrip(b"*")
    is_apart = len(trimmed) < len(bare)
    if quote.endswith(b"\\"):
        return _Label("")
    if is_apart and not quote and trimmed[-6:].lower().endswith((b"bearer", b"basic")):
        return _Label("", is_scheme=True)
    if quote and trimmed.endswith((b",", b"\n", b"n")) and (item := kinds.NAME_OF_ITEM.search(bare)):
        is_flag = item["name"].startswith(b"--")
        kind = kinds.name_kind(item["name"])
        if kind in kinds.CHOSEN and not is_flag:
            return _Label("")
        return _Label(kind, is_literal=is_flag, quote=quote, is_constant=is_flag)
    stem = trimmed.rstrip(b"=:>")
    name = _last_name(stem.rstrip(b" \t").rstrip(b"\"'`\\])*"))
    is_flag = is_apart and name.startswith(b"--")
    if len(stem) == len(trimmed) and not is_flag:
        return _Label("")
    is_tight = not is_apart and trimmed.endswith((b"=", b">"))
    before = stem[: len(stem) - len(name)]
    # `pass` alone is also a band, a stage, a verdict: only a value that looks like a password is one
    is_word_value = name.lower() != b"pass" and (bool(quote) or (is_tight and _is_constant(name, before)))
    return _Label(
        kinds.name_kind(name),
        is_literal=bool(quote) or is_tight or is_flag,
        quote=quote,
        is_constant=is_word_value,
        is_line=is_tight and trimmed.endswith(b"=") and bool(kinds.LINE_START.search(before)),
        in_tag=trimmed.endswith(b">") and not trimmed.endswith(b"=>"),
    )


def _is_constant(name: bytes, before: bytes) -> bool:
    """Right behind `NAME=`, `--name=`, `;name=` and `name=` in the first column no variable stands."""
    is_first = not before or before.endswith((b"\n", b"\r", b"\\n", b"?", b"&", b";"))
    return is_first or name.isupper() or name.startswith(b"--")


def _last_name(stem: bytes) -> bytes:
    before = stem.rstrip(_NAME)
    if before.endswith(_MARK):
        return b""
    start = len(before)
    return stem[start + (_escape_length(stem, start) if before.endswith(b"\\") else 0) :]


# ---------------------------------------------------------------------------------------------------- words

_SAID = re.compile(
    rb"passw(?:or)?d[\w-]{0,30}\\{0,7}[\"'`]?"
    rb"(?:(?P<sign>[ \t]{0,4}(?:=>|:=|[=:>])[ \t]{0,4}\\{0,7}[\"'`]?)"
    rb"|[ \t]{1,4}(?P<verb>(?:is|was)[ \t:]{1,4}[\"'`]?)?)(?=\S)",
    re.I,
)


def _said_passwords(data: bytes) -> Iterator[Span]:
    """`--password X`, `"--password", "X"`, `<password>X<`, `the password is X`, `login U password X`."""
    done = 0
    for at in _places(data, b"assw"):
        if at <= done:
            continue
        for span in _said(data, at - 1):
            done = span.end
            yield span


def _said(data: bytes, at: int) -> Iterator[Span]:
    said = _SAID.match(data, at)
    if said is None:
        if item := kinds.LIST_ITEM.match(data, at):
            yield from _labelled(data, item.end())
        return
    start = said.end()
    if not said["verb"] and (said["sign"] or not kinds.LOGIN.search(data[max(0, at - 120) : at])):
        yield from _labelled(data, start)
        return
    quote = _quote_at(data, start)
    value = _value(data, start, quote)
    if kinds.looks_secret(value, "password", is_quoted=bool(quote), is_literal=False):
        yield Span(start, 2, _value_end(data, start, value), "password")


def _quote_at(data: bytes, start: int) -> bytes:
    last = data[start - 1 : start]
    return last if last in (b'"', b"'", b"`") else b""


def _authorized(data: bytes) -> Iterator[Span]:
    for at in _places(data, b"uthorization"):
        found = kinds.CREDENTIALS_OF.match(data, at)
        value = found["value"].rstrip(b".") if found else b""
        if (
            found
            and kinds.is_bearer_value(value)
            and (found["scheme"] or _stands_alone(data, value, found.end()))
        ):
            yield Span(found.start("value"), 1, found.start("value") + len(value), "authorization")


def _stands_alone(data: bytes, value: bytes, end: int) -> bool:
    """Without a scheme, the value is a credential only if it looks like one and nothing is called."""
    return data[end : end + 1] != b"(" and kinds.looks_secret(
        value, "auth", is_quoted=False, is_literal=False
    )
