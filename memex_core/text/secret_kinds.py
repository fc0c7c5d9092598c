"""What a secret looks like: tokens of known issuers, names of credentials, values that are none.

Every expression reads ASCII bytes, is linear (bounded or single-class quantifiers, none nested), and looks
around instead of consuming what stands next to a secret.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from typing import Literal

TOKENS: dict[str, bytes] = {
    "anthropic-key": rb"sk-ant-[\w-]{20,}",
    "openai-key": rb"sk-(?:(?:proj|svcacct|admin|or-v1|lf)-[\w-]{20,}|(?=[a-z]{0,40}[A-Z0-9])[^\W_]{20,})",
    "github-token": rb"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
    "gitlab-token": rb"gl(?:pat|ptt|dt|rt|cbt|ft|imt|agent|soat|oas)-[\w-]{20,}",
    "slack-token": rb"xox[abeoprs]-(?:\d-)?[A-Za-z0-9-]{10,}|xapp-\d-[\w-]{20,}",
    "aws-access-key-id": rb"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    "google-api-key": rb"AIza[\w-]{35}",
    "google-oauth-secret": rb"GOCSPX-[\w-]{20,}",
    "stripe-key": rb"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{20,}",
    "npm-token": rb"npm_[A-Za-z0-9]{30,}",
    "pypi-token": rb"pypi-[\w-]{40,}",
    "huggingface-token": rb"hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}",
    "twilio-key": rb"SK[0-9a-f]{32}",
    "digitalocean-token": rb"do[oprt]_v1_[0-9a-f]{40,}",
    "shopify-token": rb"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}",
    "linear-key": rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
    "notion-token": rb"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}",
    "square-token": rb"sq0(?:atp|csp|idp)-[\w-]{22,}",
    "mailgun-key": rb"key-[0-9a-f]{32}",
    "mailchimp-key": rb"[0-9a-f]{32}-us\d{1,2}",
    "databricks-token": rb"dapi[0-9a-f]{32}",
    "planetscale-token": rb"pscale_(?:tkn|pw|oauth)_[\w-]{32,}",
    "grafana-token": rb"gl(?:sa|c)_[A-Za-z0-9_]{32,}",
    "postman-key": rb"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    "newrelic-key": rb"NR(?:AK|JS|II)-[\w-]{20,}",
    "sentry-token": rb"sntry[su]_[\w-]{40,}",
    "docker-token": rb"dckr_(?:pat|oat)_[\w-]{20,}",
    "figma-token": rb"fig[dou]_[\w-]{20,}",
    "age-key": rb"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    "atlassian-token": rb"AT(?:ATT|CTT)3[\w-]{24,}|ATBB[A-Za-z0-9]{24,}",
    "groq-key": rb"gsk_[A-Za-z0-9]{40,}",
    "xai-key": rb"xai-[A-Za-z0-9]{60,}",
    "perplexity-key": rb"pplx-[A-Za-z0-9]{40,}",
    "replicate-token": rb"r8_[A-Za-z0-9]{30,}",
    "supabase-key": rb"sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,}",
    "rubygems-key": rb"rubygems_[0-9a-f]{48}",
    "netlify-token": rb"nfp_[A-Za-z0-9]{36,}",
    "langsmith-key": rb"lsv2_(?:pt|sk)_[0-9a-f_]{40,}",
    "facebook-token": rb"EAA[MC][A-Za-z0-9]{100,}",
    "fly-token": rb"fm[12][ar]?_[\w-]{40,}",
    "buildkite-token": rb"bk(?:ua|pat)_[0-9a-f]{40}",
}
"""kind -> the token, inside a run of [A-Za-z0-9_-] of at least RUN bytes, nothing alphanumeric beside it."""

KIND_OF_GROUP = {f"k{number}": kind for number, kind in enumerate(TOKENS)}
KNOWN_TOKEN = re.compile(
    rb"(?<![A-Za-z0-9])(?:"
    + b"|".join(b"(?P<k%d>%s)" % (number, pattern) for number, pattern in enumerate(TOKENS.values()))
    + rb")(?![A-Za-z0-9])"
)

TOKEN_HEADS = frozenset(
    b"sk- ABI ACC ghp gho ghu ghs ghr git glp gld glr glc glf gli xox xap AKI ASI AIz GOC sk_ rk_ whs"
    b" npm pyp hf_ dop doo dor shp lin ntn sec sq0 dap psc gls PMA NRA NRJ snt dck fig fio fid AGE ATA"
    b" ATC ATB gsk xai ppl r8_ sbp sb_ rub nfp lsv EAA SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb"
    b" SKc SKd SKe SKf fm1 fm2 bku bkp eyJ".split()
)
"""The first three bytes of a token: what begins with none of them and holds no digit is none."""

TOKEN_HEADS |= {b"AA" + bytes([byte]) for byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"}
TOKEN_HEADS |= {bytes(head) for head in itertools.product(b"MNO", b"DTjz", b"AEIMQUYcgk")}
"""And what follows the colon of a Telegram token; and the base64 of digits that begins a Discord token."""

PIECE_HEADS = frozenset(head.rstrip(b"-_") for head in TOKEN_HEADS) | {b"key", b"api"}
"""The same for the pieces between the - and _ of a run."""

DOTTED_KINDS = {
    b"y": "google-token",
    b"S": "sendgrid-key",
    b"h": "vault-token",
    b"d": "doppler-token",
    b"e": "jwt",
}
"""First byte of a token whose parts are joined by dots -> kind."""
DOTTED_START = re.compile(
    rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:ya29|SG(?:\.[\w-]{16,32})?|hv[bsr]|dp\.[a-z]{2,5}|eyJ[\w-]{5,40})\.$"
)
DOTTED_REST = re.compile(rb"[\w-]+(?:\.[\w-]+)?")
JWT = re.compile(rb"eyJ[\w-]{5,}\.eyJ[\w-]{5,}(?:\.[\w-]*)?")
DISCORD = re.compile(rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?!\w)")
TELEGRAM_START = re.compile(rb"(?<!\d)\d{8,10}:$")
TELEGRAM = re.compile(rb"AA[\w-]{30,}")
WEBHOOK_START = re.compile(
    rb"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{8,60}/$"
    rb"|discord(?:app)?\.com/api/webhooks/\d{10,25}/$"
)

# ------------------------------------------------------------------------------------------------ names

NameKind = Literal["password", "secret", "token", "auth", ""]
CHOSEN: frozenset[NameKind] = frozenset({"password", "secret"})
"""What a person may have chosen: a word, a phrase. A token is made by a machine."""

_NAME_WORDS = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PASSWORDS = (b"password", b"passwd", b"passphrase", b"passcode", b"pwd")
_SECRETS = (
    b"token",
    b"apikey",
    b"secretkey",
    b"accesskey",
    b"accountkey",
    b"privatekey",
    b"authkey",
)
_SECRET_WORDS = frozenset({b"secrets", b"credential", b"credentials"})
_SUFFIXES = frozenset(
    b"prod production dev development test staging stage live local value val str string raw plain"
    b" plaintext base64 base old new current primary secondary default main root admin db".split()
)
_OF_KEYS = frozenset(
    b"api access private secret account signing encryption master service shared client consumer"
    b" storage webhook license licence deploy session hmac jwt signature admin app application"
    b" subscription bearer auth project function functions openai anthropic stripe google aws azure"
    b" github gitlab sendgrid twilio mailgun datadog slack gemini hf maps cipher decryption".split()
)
_OF_HARMLESS_TOKENS = frozenset(
    b"next page pagination continuation cancellation cancel eos bos pad unk mask sep cls start end"
    b" stop max min num total input output prompt completion cached reasoning sync resume cursor lexer"
    b" parser syntax semantic design color colour first last prev previous current lookahead per".split()
)


@functools.lru_cache(maxsize=4096)
def name_kind(name: bytes) -> NameKind:
    """What stands under this name: `DB_PASSWORD`, `apiKey`, `auth`; "" for `max_tokens`, `public_key`."""
    words = [word.lower() for word in _NAME_WORDS.findall(name)]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words:
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else b""
    if last.endswith(_PASSWORDS) or last == b"pass":
        return "password"
    if last.endswith(b"secret"):
        return "secret"
    if last.endswith(_SECRETS) or last in _SECRET_WORDS or (last == b"key" and before in _OF_KEYS):
        return "" if before in _OF_HARMLESS_TOKENS else "token"
    return "auth" if last == b"auth" else ""


_COARSE = r"[oswrekatiupOSWREKATIUP][rwesaltREWSALT][dtnyelshDTNYELSH]"
_ENDING = r"(?i:word|sswd|rase|pass|cret|rets|oken|tial|ials|auth|[\w.-]key)"
_OPEN = r"(?=[^\s\"'`<>,;(){}\[\]|&])"
_BARE_WORD = r"[A-Za-z_]{0,15}(?:[\s.,;:()\[\]{}<>\"'`\\]|$)"
_TO_VALUE = rf"(?:>?\*{{0,2}}[ \t]{{0,4}}(?:\\{{0,7}}[\"'`]{_OPEN}|\\{{0,7}}{_OPEN}(?!{_BARE_WORD})))"
"""From a sign to a value that is in quotes or no bare word."""


def _ends(gap: str, sign: str) -> str:
    """Looks back over `gap` for the end of a credential's name."""
    coarse, exact = f"(?<={_COARSE}{gap}{sign})", f"(?<={_ENDING}{gap}{sign})"
    return f"{coarse}(?:{exact}|(?<=(?i:pwd){gap}{sign}))"


def _behind_name(sign: str, suffixed: str = "", or_value: str = "") -> re.Pattern[bytes]:
    """`sign` with the end of a credential's name before it, then the start of a value."""
    quote, escaped = r"[\"'`\]]", r"\\[\"']"
    after_quote = (
        rf"(?:{_ends(quote, sign)}|(?<=\\.{sign})(?:{_ends(escaped, sign)}|{_ends('..' + escaped, sign)}))"
    )
    after_blank = f"(?:{_ends(' ', sign)}|{_ends(quote + ' ', sign)}|{_ends('..' + ' ', sign)})"
    places = f"(?<=[A-Za-z]{sign}){_ends('', sign)}|(?<={quote}{sign}){after_quote}|(?<= {sign}){after_blank}"
    in_brackets = rf"|(?<=\]{sign}){_ends('..', sign)}"
    in_stars = rf"|(?<=\*{sign})(?:{_ends('..', sign)}|{_ends('.', sign)})"
    before = f"{sign}(?:{places}{in_brackets}{in_stars}{suffixed})"
    return re.compile(f"{before}(?:=?{_TO_VALUE}{or_value})".encode(), re.S)


ASSIGNED = [
    _behind_name("=", "|(?<=_PROD=)|(?<=_BASE=)|(?<=_TEST=)|(?<=_DEV=)", "|(?=[A-Za-z]{6})"),
    _behind_name(":"),
]
"""What finds the start of a value behind `NAME=` and `name:`."""

LIST_ITEM = re.compile(
    rb"passw(?:or)?d[\w-]{0,30}\\{0,7}[\"'],(?:\s|\\{1,7}[nrt]){0,40}\\{0,7}[\"'](?=[^\s,])", re.I
)
NAME_OF_ITEM = re.compile(rb"[\"'](?P<name>[\w-]{3,60})\\{0,7}[\"'],(?:\s|\\{1,7}[nrt]){0,40}$")
LINE_START = re.compile(rb"(?:^|[\n\r]|\\n)[ \t]*(?:export[ \t]+|set[ \t]+)?$")

LOGIN = re.compile(rb"\blogin[ \t]+\S{1,80}[ \t\r\n]+$")
CREDENTIALS_OF = re.compile(
    rb"uthorization\\{0,7}[\"'`\]]{0,2}[ \t]{0,3}[:=,][ \t]{0,3}\\{0,7}[\"'`]?"
    rb"(?P<scheme>(?:basic|bearer|token|negotiate|apikey|key)[ \t]+)?(?P<value>[\w+/=.~%-]{8,})",
    re.I,
)

# ------------------------------------------------------------------------------------------------ values

_PLACEHOLDER = re.compile(
    rb"\$\{?[A-Za-z_]\w*\}?|\$[({].*|%\w+%|[{<\[(].*|[x*.#\-_?0]+|(?:your|my|the|some)[_.-][a-z_.-]+"
    rb"|none|null|nil|true|false|undefined|optional|required"
    rb"|(?:new|old|current|confirm|test|the|my|your|db|user|admin)?[_-]?(?:string|text|password|passwd|secret|token|key)"
    rb"|abc(?:def)?(?:123)?|(?:foo|bar|baz|test|dummy|fake)[\w-]{0,12}",
    re.I | re.S,
)
_PLACEHOLDER_PART = re.compile(
    rb"\.\.\.|xxxx|\*\*\*|your[_-]|example|change[_-]?me|placeholder|redacted|replace[_-]|insert[_-]|\$\{|\{\{|here$",
    re.I,
)
_ELSEWHERE = re.compile(
    rb"(?i:sha(?:1|256|384|512)|md5)[:-]|https?://|file://|data:|arn:|\.{1,2}/|~/|[A-Za-z]:\\"
    rb"|/(?:[A-Za-z][a-z0-9_.-]{0,40}/){1,9}[\w.-]{0,60}$|\d{1,6}(?:\.\d{1,9}){1,4}$|\d{4}-\d\d-\d\d(?:T|$)"
    rb"|(?:[\w.-]{1,40}/){1,9}[\w.-]{1,60}\.[a-z]{1,5}$"
    rb"|[\w-]{1,60}\.(?:py|js|ts|json|ya?ml|toml|pem|key|crt|txt|env|md|sh|cfg|ini)$"
)
"""A hash, a URL, a path, a version, a date: where a secret is, not what it is."""
_CODE = re.compile(
    rb"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){0,6}!?[(\[]|[A-Za-z_]\w{0,30}(?:\.[A-Za-z_]\w{0,30}){1,6}$|[&*]\w|\w{1,30}::"
)
_WORDS_ONLY = re.compile(rb"[A-Za-z]+(?:[_.-][A-Za-z]+)*[_-]?\d{0,2}")
_LETTERS_ONLY = re.compile(rb"_*[a-z]+(?:[_.:|-]+[a-z]+)*_*", re.I)
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
_WORD_AND_NUMBER = re.compile(rb"[a-z]\d")
_CASE_CHANGE = re.compile(rb"[a-z][A-Z]|[A-Z]{2}[a-z]")
_DIGIT = re.compile(rb"\d")
_WORDLIKE = 3.2
_FORMATTED = re.compile(rb"[{}<>]|\$\w|%[sdr(]|\\[nrt]|://|[A-Za-z]\(|^[/~]")
_ODD = re.compile(
    rb"[A-Za-z][!@#$^&*+=]*\d+[!@#$^&*+=]*[A-Za-z]|[A-Za-z]\d+[!@#$^&*]|[!@#$^&*]\d|\w[@#$^&]\w"
)
_CHAINED = re.compile(rb"[A-Za-z]+(?:[_-][A-Za-z]+){3,}")
_OF_SENTENCES = frozenset(
    b"a an and any are as at be been but by can cannot could de del der des die do does for from has have"
    b" how if in into is it its may must no not of on one only or per should so than that the their then"
    b" there these this to was we what when where which who will with without would you your my our le la"
    b" too short long weak strong wrong invalid incorrect correctly missing empty blank valid required"
    b" optional enter type choose change reset forgot confirm repeat set use used using see please show"
    b" hide characters character chars length minimum maximum least match matches mismatch expired".split()
)
_OF_LABELS = frozenset(
    b"account access api argument attribute auth authentication authorization authorized base basic bearer"
    b" binary body boolean button bytes callback char class client code column config confirmation constant"
    b" control cookie credential credentials data default description digest disabled dummy enabled encoded"
    b" encrypted env environment error example false field file form format function generated hash hashed"
    b" header hidden icon id input integer invalid item key keys keyring label letters library local login"
    b" mandatory manager manual masked message method mode model module mot name none null number object"
    b" opaque option options output page param parameter passe pass passphrase password passwords passwort"
    b" passwd plain plaintext policy private prompt property protected provided public pwd query random read"
    b" redacted request response result route sample schema scram secret secrets security sensitive service"
    b" setting settings shared some string strings super system tag template test tests testing text textbox"
    b" token tokens true tuple undefined unknown unset unused url user username validate validation value"
    b" values variable vault verify view widget write wachtwoord senha contrase contrasena clave".split()
)
_OF_PROSE = _OF_LABELS | _OF_SENTENCES
_JUDGED = 100
"""Bytes of a value that tell what it is."""


def looks_secret(
    value: bytes, kind: NameKind, *, is_quoted: bool, is_literal: bool, is_constant: bool = False
) -> bool:
    """Could `value`, under a credential's name, be it? Not a placeholder, code, a path or a number.

    `is_literal`: a bare word is a value here, no expression (in quotes, right behind `=`, behind a flag).
    `is_constant`: not even a variable, so that a plain word may be a password.
    """
    value = value[:_JUDGED]
    if len(value) < (6 if kind in CHOSEN else 8) or _is_placeholder(value) or _ELSEWHERE.match(value):
        return False
    if not is_quoted and _CODE.match(value):
        return False
    if is_constant and kind in CHOSEN and _is_chosen(value):
        return True
    if b" " in value or b"\t" in value:
        return False
    if kind == "password":
        return _is_password(value, is_literal)
    if len(value) < 8:
        return False
    if value.isdigit():
        return False
    if not _DIGIT.search(value) or _WORDS_ONLY.fullmatch(value):
        return _is_jumbled(value)
    if not is_literal and _IDENTIFIER.fullmatch(value) and _word_length(value) > _WORDLIKE:
        return False
    return entropy(value) >= (3.3 if kind == "auth" else 2.75)


def _is_placeholder(value: bytes) -> bool:
    return bool(_PLACEHOLDER.fullmatch(value) or _PLACEHOLDER_PART.search(value))


def _is_password(value: bytes, is_literal: bool) -> bool:
    if value.isdigit():
        return is_literal
    if not is_literal and _WORDS_ONLY.fullmatch(value):
        return bool(_WORD_AND_NUMBER.search(value))
    return not _LETTERS_ONLY.fullmatch(value) or _is_jumbled(value)


def _is_chosen(value: bytes) -> bool:
    """A word or a phrase that a person may have chosen: no label, no sentence, no name of something."""
    if _FORMATTED.search(value):
        return False
    has_blank = b" " in value
    if has_blank and _ODD.search(value):
        return True
    words = [word.lower() for word in _NAME_WORDS.findall(value)]
    known = _OF_PROSE if has_blank else _OF_LABELS
    if any(word in known or (word.endswith(_PASSWORDS) and word.startswith(_PASSWORDS)) for word in words):
        return False
    if has_blank:
        return len(words) > 1 and not value.endswith((b".", b":", b"?"))
    if _CHAINED.fullmatch(value):
        return not value.isupper() and not _OF_SENTENCES.intersection(words)
    return value.isalpha() and words[0] not in _OF_SENTENCES


def is_random(user: bytes) -> bool:
    """A name of a user that is none: long, with digits, not made of words."""
    if len(user) < 16 or _is_placeholder(user) or not _DIGIT.search(user):
        return False
    return entropy(user[:_JUDGED]) >= 2.75 and _word_length(user[:_JUDGED]) < _WORDLIKE


def _is_jumbled(value: bytes) -> bool:
    """Upper and lower case as in no word: `aXbQzRt`, not `accessToken` or `MY_TOKEN`."""
    if len(value) < 16 or len(_CASE_CHANGE.findall(value)) < 4 or entropy(value) < 3.5:
        return False
    return _word_length(value) < _WORDLIKE


def _word_length(value: bytes) -> float:
    """Mean length of the words and numbers in `value`: above 4 in an identifier, below 2 in random text."""
    return len(value) / max(1, len(_NAME_WORDS.findall(value)))


def is_bearer_value(value: bytes) -> bool:
    """What follows `Bearer` or `Basic`: anything but a placeholder or a word."""
    value = value[:_JUDGED]
    if len(value) < 8 or _is_placeholder(value):
        return False
    has_case = len(value) >= 12 and value != value.lower()
    return has_case or bool(_DIGIT.search(value)) or value.endswith(b"=")


def entropy(value: bytes) -> float:
    """Shannon entropy of the bytes of `value`, in bits a byte."""
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())
