"""redact: which secrets go, wherever they stand, and what must survive (DESIGN §3 redaction).

Every secret is made at run time, so that nothing in this file looks like one.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import time
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text import private_keys
from memex_core.text.redact import redact

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM = UPPER + LOWER + DIGITS
BASE64URL = ALNUM + "-_"
HEX = "0123456789abcdef"


def draw(rng: random.Random, alphabet: str, count: int) -> str:
    """`count` characters; no sign at either end, where one would belong to the text around."""
    drawn = [rng.choice(alphabet) for _ in range(count)]
    for place in (0, -1):
        while not drawn[place].isalnum():
            drawn[place] = rng.choice(alphabet)
    return "".join(drawn)


def jwt(rng: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256'})}.{part({'sub': draw(rng, DIGITS, 8)})}.{draw(rng, BASE64URL, 43)}"


def discord(rng: random.Random) -> str:
    user = base64.b64encode(draw(rng, DIGITS[1:], 18).encode()).decode()
    return f"{user}.{draw(rng, ALNUM, 6)}.{draw(rng, BASE64URL, 38)}"


Maker = Callable[[random.Random], str]
TOKENS: dict[str, Maker] = {
    "openai": lambda r: "sk-" + draw(r, ALNUM, 48),
    "openai project": lambda r: "sk-" + "proj-" + draw(r, BASE64URL, 120),
    "anthropic": lambda r: "sk-" + "ant-api03-" + draw(r, BASE64URL, 95),
    "openrouter": lambda r: "sk-" + "or-v1-" + draw(r, HEX, 64),
    "github personal": lambda r: "gh" + "p_" + draw(r, ALNUM, 36),
    "github oauth": lambda r: "gh" + "o_" + draw(r, ALNUM, 36),
    "github app": lambda r: "gh" + "s_" + draw(r, ALNUM, 36),
    "github fine-grained": lambda r: "github" + "_pat_" + draw(r, ALNUM, 22) + "_" + draw(r, ALNUM, 59),
    "gitlab": lambda r: "gl" + "pat-" + draw(r, BASE64URL, 20),
    "slack bot": lambda r: "xo" + f"xb-{draw(r, DIGITS, 12)}-{draw(r, DIGITS, 12)}-{draw(r, ALNUM, 24)}",
    "slack user": lambda r: "xo" + f"xp-{draw(r, DIGITS, 12)}-{draw(r, DIGITS, 12)}-{draw(r, HEX, 32)}",
    "slack app": lambda r: (
        "xa" + f"pp-1-A{draw(r, UPPER + DIGITS, 10)}-{draw(r, DIGITS, 13)}-{draw(r, HEX, 64)}"
    ),
    "aws key id": lambda r: "AK" + "IA" + draw(r, UPPER + "234567", 16),
    "aws temporary key id": lambda r: "AS" + "IA" + draw(r, UPPER + "234567", 16),
    "google api": lambda r: "AI" + "za" + draw(r, BASE64URL, 35),
    "google oauth": lambda r: "ya" + "29." + draw(r, BASE64URL, 120),
    "google secret": lambda r: "GOC" + "SPX-" + draw(r, BASE64URL, 28),
    "stripe secret": lambda r: "sk" + "_live_" + draw(r, ALNUM, 24),
    "stripe restricted": lambda r: "rk" + "_live_" + draw(r, ALNUM, 24),
    "npm": lambda r: "np" + "m_" + draw(r, ALNUM, 36),
    "pypi": lambda r: "py" + "pi-AgEIcHlwaS5vcmc" + draw(r, BASE64URL, 120),
    "hugging face": lambda r: "h" + "f_" + draw(r, ALNUM, 34),
    "twilio": lambda r: "S" + "K" + draw(r, HEX, 32),
    "sendgrid": lambda r: "S" + f"G.{draw(r, BASE64URL, 22)}.{draw(r, BASE64URL, 43)}",
    "telegram": lambda r: f"{draw(r, DIGITS[1:], 10)}:A" + "A" + draw(r, BASE64URL, 33),
    "digitalocean": lambda r: "do" + "p_v1_" + draw(r, HEX, 64),
    "shopify": lambda r: "shp" + "at_" + draw(r, HEX, 32),
    "linear": lambda r: "lin" + "_api_" + draw(r, ALNUM, 40),
    "mailgun": lambda r: "ke" + "y-" + draw(r, HEX, 32),
    "databricks": lambda r: "da" + "pi" + draw(r, HEX, 32),
    "groq": lambda r: "gs" + "k_" + draw(r, ALNUM, 52),
    "discord": discord,
    "jwt": jwt,
}
PLACEMENTS: dict[str, str] = {
    "alone": "{}",
    "prose, full stop": "My key is {}. Please use it.",
    "prose, comma": "I set {}, then ran it",
    "in parentheses": "(see {})",
    "in brackets": "[{}]",
    "in a tag": "<key>{}</key>",
    "double quotes": 'x = "{}"',
    "single quotes": "x = '{}';",
    "backticks": "run `login {}` first",
    "behind =": "export X={}\necho ok",
    "JSON": '{{"content": "{}", "n": 1}}',
    "JSON in JSON": '{{"a": "{{\\"b\\": \\"{}\\"}}"}}',
    "query": "GET https://example.org/v1?x={}&y=2",
    "file name": "cat /tmp/{}.txt",
    "line end": "first\n{}\nlast",
    "escaped line ends": "first\\n{}\\nlast",
    "header": "curl -H 'Authorization: Bearer {}' https://example.org",
}


@pytest.mark.parametrize("make", TOKENS.values(), ids=TOKENS.keys())
def test_a_token_goes_wherever_it_stands(make: Maker) -> None:
    for place, placement in PLACEMENTS.items():
        rng = random.Random(placement)
        before, after = placement.format("\0").split("\0")
        for _ in range(5):
            token = make(rng)
            cleaned = redact(f"{before}{token}{after}")
            assert token not in cleaned, place
            assert re.fullmatch(re.escape(before) + r"\[REDACTED:[a-z-]+\]" + re.escape(after), cleaned), (
                place,
                cleaned,
            )


@pytest.mark.parametrize("escapes", range(5))
def test_a_token_goes_at_any_depth_of_json(escapes: int) -> None:
    token = TOKENS["jwt"](random.Random(escapes))
    text = token
    for _ in range(escapes):
        text = json.dumps({"value": text})
    assert redact(text) == text.replace(token, "[REDACTED:jwt]")


@pytest.mark.parametrize("make", TOKENS.values(), ids=TOKENS.keys())
def test_a_token_goes_out_of_a_larger_word_of_signs(make: Maker) -> None:
    token = make(random.Random(1))
    assert token not in redact(f"backup-{token}-old" if not token[0].isdigit() else f"backup {token} old")


# ------------------------------------------------------------------------------------------ private keys


def private_key(rng: random.Random, kind: str = "RSA PRIVATE KEY") -> str:
    lines = [draw(rng, ALNUM + "+/", 64) for _ in range(8)] + [draw(rng, ALNUM, 20) + "=="]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])


KEYS = ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]


@pytest.mark.parametrize("kind", [*KEYS, "PGP PRIVATE KEY BLOCK"])
def test_a_private_key_goes_as_a_whole(kind: str) -> None:
    key = private_key(random.Random(kind), kind)
    assert redact(f"before\n{key}\nafter") == "before\n[REDACTED:private-key]\nafter"


@pytest.mark.parametrize(
    "newline", ["\\n", "\\\\n", "\\r\\n", "\r\n", "\n    ", '\\n" +\n  "', "\n+", "\n 12\t"]
)
def test_a_private_key_goes_whatever_ends_its_lines(newline: str) -> None:
    key = private_key(random.Random(2)).replace("\n", newline)
    assert redact(f'"key": "{key}", "x": 1') == '"key": "[REDACTED:private-key]", "x": 1'


def test_headers_and_checksum_of_a_private_key_go_with_it() -> None:
    lines = private_key(random.Random(3), "PGP PRIVATE KEY BLOCK").split("\n")
    key = "\n".join([lines[0], "Version: GnuPG v2", "", *lines[1:-1], "=aB3d", lines[-1]])
    assert redact(key) == "[REDACTED:private-key]"


def test_a_private_key_without_its_end_goes_as_far_as_it_reaches() -> None:
    key = private_key(random.Random(4)).rsplit("\n", 2)[0]
    assert redact(f"{key}\n[truncated]\nThe words that follow stay.") == (
        "[REDACTED:private-key]\n[truncated]\nThe words that follow stay."
    )


def test_a_private_key_without_its_beginning_goes_too() -> None:
    key = private_key(random.Random(5)).split("\n", 3)[3]
    assert redact(f"$ tail key.pem\n{key}\n$ ls") == "$ tail key.pem\n[REDACTED:private-key]\n$ ls"


def test_words_after_a_mere_mention_of_a_key_stay() -> None:
    text = "Look for -----BEGIN PRIVATE KEY----- in the file.\nThen open it and read the documentation."
    assert redact(text) == text.replace("-----BEGIN PRIVATE KEY-----", "[REDACTED:private-key]")


@pytest.mark.parametrize("kind", ["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY"])
def test_what_is_public_stays(kind: str) -> None:
    text = private_key(random.Random(6), kind)
    assert redact(text) == text


# ------------------------------------------------------------------------------------------ URLs

URLS = [
    ("postgres://u:p%40ss/w@h/db", "postgres://u:[REDACTED:url-password]@h/db"),
    ("redis://:pw@h", "redis://:[REDACTED:url-password]@h"),
    ("mysql://root:s3cr3t@localhost:3306/app", "mysql://root:[REDACTED:url-password]@localhost:3306/app"),
    ("mongodb+srv://me:a@b@c.example.org/x", "mongodb+srv://me:[REDACTED:url-password]@c.example.org/x"),
    ("see https://bob:hunter2@example.org, ok", "see https://bob:[REDACTED:url-password]@example.org, ok"),
    ('{"u": "amqp:\\/\\/me:pw1@h\\/v"}', '{"u": "amqp:\\/\\/me:[REDACTED:url-password]@h\\/v"}'),
    ("a://x:1@h b://y:2@h", "a://x:[REDACTED:url-password]@h b://y:[REDACTED:url-password]@h"),
]


@pytest.mark.parametrize(("text", "expected"), URLS)
def test_a_password_goes_out_of_a_url_and_the_rest_stays(text: str, expected: str) -> None:
    assert redact(text) == expected


# ------------------------------------------------------------------------------------------ assignments

VALUE = "{value}"
ASSIGNMENTS = [
    "DB_PASSWORD={value}",
    "export API_KEY={value}",
    "export API_KEY='{value}' # prod",
    "AWS_SECRET_ACCESS_KEY={value}",
    "STRIPE_KEY={value}\n",
    "SECRET_KEY_BASE={value}",
    "TOKEN_PROD={value}",
    "password: {value}",
    "password = '{value}'",
    'password="{value}", host="h"',
    "client_secret: '{value}'",
    'clientSecret: "{value}",',
    '{{"apiKey": "{value}"}}',
    '{{"access_token":"{value}","expires_in":3600}}',
    '{{\\"password\\": \\"{value}\\"}}',
    '{{\\\\\\"password\\\\\\": \\\\\\"{value}\\\\\\"}}',
    "'api_key' => '{value}',",
    'token := "{value}"',
    'os.environ["AUTH_TOKEN"] = "{value}"',
    "mysql --password {value} -u root",
    "mysql --password={value}",
    "login --token {value}",
    "//registry.example.org/:_authToken={value}",
    "Server=h;User Id=sa;Password={value};Encrypt=true",
    "AccountName=x;AccountKey={value};EndpointSuffix=y",
    "https://h/cb?api_key={value}&x=1",
    "X-Api-Key: {value}",
    "x-auth-token: {value}",
    "Authorization: Bearer {value}",
    "Authorization: Basic {value}",
    '"authorization": "Bearer {value}"',
    "curl -H 'authorization: token {value}'",
    "<password>{value}</password>",
    "machine h login me password {value}",
    "the password is {value}.",
    "pwd={value}",
    "passphrase: {value}",
    "credentials = '{value}'",
    "private_key: {value}",
]


@pytest.mark.parametrize("template", ASSIGNMENTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_value_under_a_name_of_credentials_goes(template: str, seed: int) -> None:
    rng = random.Random(seed)
    value = draw(rng, LOWER, 3) + draw(rng, DIGITS, 3) + draw(rng, ALNUM, 18)
    before, after = template.replace("{{", "{").replace("}}", "}").split(VALUE)
    cleaned = redact(f"{before}{value}{after}")
    assert re.fullmatch(re.escape(before) + r"\[REDACTED:[a-z-]+\]" + re.escape(after), cleaned), cleaned


@pytest.mark.parametrize(
    "text",
    [
        "password: Hunt3r!x",
        "DB_PASS=tr0ub4dor",
        'token="a1b2c3d4e5"',
        "SECRET=9f8e7d6c5b",
        "pass='x9$kLm2'",
    ],
)
def test_short_passwords_and_tokens_go(text: str) -> None:
    assert "[REDACTED:" in redact(text)


CHOSEN = [
    ('"password": "correct horse battery staple",', "correct horse battery staple"),
    ("SECRET='Tr0ub4dor&3 with space'", "Tr0ub4dor&3 with space"),
    ("DB_PASSWORD=hunterhunter\n", "hunterhunter"),
    ("docker run -e DB_PASSWORD=swordfish image", "swordfish"),
    ("password=swordfish\nuser=x", "swordfish"),
    ("Server=h;Password=swordfish;Encrypt=true", "swordfish"),
    ("mysql --password=swordfish db", "swordfish"),
    ('PASSWORD="ab\\"cd12345"', 'ab\\"cd12345'),
    ('"client_secret": "opensesame"', "opensesame"),
    ("passphrase: 'correct-horse-battery-staple'", "correct-horse-battery-staple"),
    ('["mysql", "--password", "Tr0ub4dor3"]', "Tr0ub4dor3"),
    ('["mysql",\n  "--password",\n  "swordfish"]', "swordfish"),
    ('["--db-password", "correct horse battery"]', "correct horse battery"),
    ("**password**: `swordfish`", "swordfish"),
    ("**password:** `swordfish`", "swordfish"),
]


@pytest.mark.parametrize("escapes", range(3))
@pytest.mark.parametrize(("text", "secret"), CHOSEN)
def test_words_and_phrases_under_a_name_of_passwords_go_at_any_depth_of_json(
    text: str, secret: str, escapes: int
) -> None:
    for _ in range(escapes):
        text, secret = json.dumps({"t": f"x\n{text}"}), json.dumps(secret)[1:-1]
    cleaned = redact(text)
    assert secret not in cleaned
    assert re.sub(r"\[REDACTED:[a-z-]+\]", lambda _: secret, cleaned) == text


MACHINE_MADE = [
    "**api_key**: `{}`",
    "**api_key:** `{}`",
    '("X-Auth-Token", "{}")',
    '["--api-key", "{}"]',
    "https://{}@example.org/owner/repo.git",
    "https://{}:x-oauth@example.org/owner/repo.git",
]


@pytest.mark.parametrize("escapes", range(3))
@pytest.mark.parametrize("template", MACHINE_MADE)
def test_a_random_value_goes_out_of_markdown_lists_and_urls(template: str, escapes: int) -> None:
    value = "q7Zk2Lw9" + draw(random.Random(12), ALNUM, 23)
    text = template.format(value)
    for _ in range(escapes):
        text = json.dumps([text])
    assert value not in redact(text)


def test_base64_with_its_signs_goes_whole() -> None:
    rng = random.Random(7)
    value = draw(rng, ALNUM, 10) + "+/" + draw(rng, ALNUM, 30) + "/+" + draw(rng, ALNUM, 42) + "=="
    assert redact(f"AccountKey={value};X=1") == "AccountKey=[REDACTED:secret];X=1"
    assert redact(f"AWS_SECRET_ACCESS_KEY={value[:40]}\n") == "AWS_SECRET_ACCESS_KEY=[REDACTED:secret]\n"


def test_a_long_encoded_key_leaves_no_rest() -> None:
    value = base64.b64encode(random.Random(8).randbytes(6_000)).decode()
    assert redact(f'"private_key": "{value}"') == '"private_key": "[REDACTED:secret]"'


def test_a_webhook_address_loses_its_secret() -> None:
    rng = random.Random(9)
    secret = draw(rng, ALNUM, 24)
    url = f"https://hooks.slack.com/services/T{draw(rng, UPPER, 8)}/B{draw(rng, UPPER, 8)}/"
    assert redact(url + secret) == url + "[REDACTED:webhook]"


# ------------------------------------------------------------------------------------------ what stays

_rng = random.Random(10)
SURVIVES = [
    "commit " + draw(_rng, HEX, 40),
    "git show " + draw(_rng, HEX, 7) + ".." + draw(_rng, HEX, 12),
    str(uuid.UUID(int=_rng.getrandbits(128))),
    '{"sessionId": "' + str(uuid.UUID(int=_rng.getrandbits(128))) + '", "parentUuid": null}',
    "sha256:" + draw(_rng, HEX, 64),
    '"integrity": "sha512-' + draw(_rng, ALNUM, 86) + '=="',
    "mcp__server__tool",
    "mcp__plugin_memory_server__search_nodes_by_name2",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "secretary: Ann",
    "The secretary: Ann7 Miller",
    "max_tokens: 4096",
    "token_count=12",
    '"input_tokens": 123456, "output_tokens": 1234567890',
    "token = next(tokens)",
    "token = tokens[0]",
    "token = self.lexer.token2",
    "def f(token: str, password: Optional[str] = None) -> None:",
    "password_field.clear()",
    "private_key: Ed25519PrivateKey | None",
    "password: _PasswordType | None = None",
    "authorization = base64.decodebytes(header)",
    "PWD: '/Users/ann/src2'",
    "password = get_password()",
    "const password = req.body.password;",
    "api_key = os.environ['API_KEY']",
    "api_key=os.environ.get('API_KEY')",
    "apiKey: process.env.OPENAI_API_KEY,",
    "API_KEY=$API_KEY",
    "API_KEY=${API_KEY:-none}",
    "API_KEY=<your-api-key>",
    "API_KEY=your_api_key_here",
    "API_KEY=xxxxxxxxxxxxxxxx",
    "password: ********",
    'password: "changeme123-example"',
    "token: {{ secrets.GITHUB_TOKEN2 }}",
    "token: ${{ secrets.NPM_TOKEN }}",
    "password=None, token=True",
    "secret: true",
    '"password": "string", "token": null',
    "password: required|min:8",
    'autocomplete="current-password"',
    "connect(user=user, password=dbpass)",
    "    password=conn_pass\n",
    "PASSWORD=password",
    "password=getpass()",
    "password = input('Password: ')",
    "password = 'Password'",
    '"password": "Password", "secret": "Secret"',
    '"password": "Enter your password"',
    '"password": "must be at least 8 characters"',
    '"password": "Passwort", "secret": "required"',
    "CLIENT_SECRET = 'client_secret_post'",
    "password: '{} and {}'",
    '"password=" + value + " and " + other',
    "{'btype': 1, 'pass': 'bandpass'}",
    'PWD="/Users/ann/My Project"',
    '["password", "username", "remember"]',
    "https://service-account-prod-01@example.org/x",
    "https://ann.miller1985@example.org/x",
    "the password is wrong",
    "password is required.",
    "private_key_path: /etc/ssl/private/server1.key",
    "token_url = https://auth.example.org/oauth2/token",
    'secret_name: "prod/db/password2"',
    "KEY_ID=12345678",
    "primary_key=user_id2",
    "cache_key: users:2024:page1",
    "public_key: " + draw(_rng, ALNUM, 30),
    "next_page_token: " + draw(_rng, ALNUM, 30),
    "bypass: 12345678a",
    "https://example.org:8080/a/b@2x.png",
    "git@github.com:owner/repo.git",
    "https://packages.example.org:443/@scope/pkg/-/pkg-1.2.3.tgz",
    "ssh://git@host.example.org:22/x",
    "postgres://user:${DB_PASSWORD}@host/db",
    "postgres://user:<password>@host/db",
    "mailto:a@b.example, c:d@e",
    "src/components/authentication/token-refresh-handler2.test.tsx",
    "/home/u/.config/tokens/2024-01-02T03-04-05-rollout.jsonl",
    "task-force-for-the-2nd-quarter-planning-session1",
    "risk-" + "a1" * 12,
    "disk-usage-report-for-node-17-in-cluster-b2",
    "XSK" + draw(_rng, HEX, 32),
    "toolu_01" + draw(_rng, ALNUM, 22),
    "msg_01" + draw(_rng, ALNUM, 22),
    "req_011" + draw(_rng, ALNUM, 21),
    "Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Bearer token authentication is used by the API2.",
    "Basic authentication",
    "eyJ is how a base64 header begins",
    "-----BEGIN CERTIFICATE-----",
    "[REDACTED:github-token]: abc12345def",
    "",
]


@pytest.mark.parametrize("text", SURVIVES)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text
    assert redact(f"x {text} y\n") == f"x {text} y\n"


def test_text_without_a_secret_is_the_same_object() -> None:
    text = "nothing here, ünïcode and 🙂 included"
    assert redact(text) is text


def test_positions_hold_behind_characters_of_any_width() -> None:
    token = TOKENS["github personal"](random.Random(11))
    assert redact(f"🙂é\ud800 {token} 日本 {token}🙂") == (
        "🙂é\ud800 [REDACTED:github-token] 日本 [REDACTED:github-token]🙂"
    )


# ------------------------------------------------------------------------------------------ properties

FRAGMENTS = [
    *PLACEMENTS.values(),
    *ASSIGNMENTS,
    *SURVIVES,
    "\\",
    '"',
    "'",
    "\n",
    " ",
    "=",
    ":",
    "@",
    "://",
    "-----END PRIVATE KEY-----",
]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=6),
    st.integers(0, 1_000),
    st.sampled_from(["", " ", "\n", "="]),
)
def test_redacting_twice_changes_nothing(fragments: list[str], seed: int, joint: str) -> None:
    rng = random.Random(seed)
    makers = [*TOKENS.values(), private_key]
    text = joint.join(
        fragment.replace("{value}", rng.choice(makers)(rng)).replace("{}", rng.choice(makers)(rng))
        for fragment in fragments
    )
    once = redact(text)
    assert redact(once) == once


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet=st.sampled_from("ab19-_.:=@/\\\"' \n<>{}[]keytokensecretpassword"), max_size=200))
def test_any_text_is_redacted_without_error_and_for_good(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


def test_every_key_block_found_lies_inside_the_text() -> None:
    data = ("-----BEGIN PRIVATE KEY-----" * 3 + "-----END PRIVATE KEY-----" * 3).encode()
    assert all(0 <= start < end <= len(data) for start, end in private_keys.find(data))


# ------------------------------------------------------------------------------------------ time

PUMPS = [
    "a", "-", "_", "-a", "a1", "@", "://", "://a:b@", "a:b@", "password=", "password: ", "passw", "token=a",
    'token="', 'token=\\"', "\\", '"', "=", ":", "key=", "Authorization: ", "Bearer ", "sk-", "sk-ant-",
    "ghp_", "eyJ.", "eyJaaaaaa.", "AKIA", "SG.", "123:AA", "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "a" * 64 + "\n", "a" * 20 + "1 ",
    "key-" + "0" * 31, 'password="a ', 'password=\\"a ', '"--password", "', "**password**: `a b",
    "password=abcdef ",
    'password="' + "\\" * 60, "https://a1b2c3d4e5f6g7h8i9@", '"--password",' + " " * 40,
    "PRIVATE KEY" + "a" * 20 + "\n", "é",
]  # fmt: skip


@pytest.mark.parametrize("pump", PUMPS)
def test_redacting_takes_time_in_proportion_to_the_text(pump: str) -> None:
    times = []
    for size in (1_000, 10_000, 100_000):
        text = (pump * size)[:size]
        start = time.process_time()
        redact(text)
        times.append(time.process_time() - start)
    assert times[2] < max(times[1], 0.003) * 10 * 3, times
