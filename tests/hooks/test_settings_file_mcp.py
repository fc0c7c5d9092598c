"""Our MCP server in the files of other programs: every foreign byte stays, and all can be taken back."""

from __future__ import annotations

import json
import time
import tomllib
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.errors import Refused
from memex_hooks.settings_file import json_server, toml_server
from memex_hooks.settings_file.receipts import Receipt
from memex_hooks.settings_file.server_command import brought_up_to_date, program_of
from memex_hooks.settings_file.toml_statements import statements

PATH = Path("the-file")
COMMAND = ["/home/ana maría's/.local/bin/memex", "serve-mcp"]
ENTRY: dict[str, object] = {"command": COMMAND[0], "args": COMMAND[1:]}
MOVED: dict[str, object] = {**ENTRY, "command": "/new/memex", "env": {"MEMEX_DATA_DIR": '/d "x" \\ 目'}}
TABLES = {json_server: "mcpServers", toml_server: "mcp_servers"}

JSON_FILES = {
    "none": None,
    "empty": b"",
    "blank": b" \r\n\n",
    "empty object": b"{}",
    "spaced object": b"{ }\n",
    "mark": b'\xef\xbb\xbf{"a": 1}\n',
    "mark only": b"\xef\xbb\xbf",
    "no final newline": b'{\n  "a": 1\n}',
    "windows newlines": b'{\r\n\t"a": 1\r\n}\r\n',
    "one line": b'{"a":1,"mcpServers":{"b":{"command":"x"}},"c":[]}',
    "empty table": b'{\n  "mcpServers": {},\n  "a": 1\n}\n',
    "spaced empty table": b'{"mcpServers": {\n\n  }}\n',
    "another server": b'{\n    "mcpServers": {\n        "b": {"command": "x"}\n    },\n    "a": 1\n}\n',
    "numbers": b'{"a": 1.0, "b": 1e400, "c": 123456789012345678901234567890, "d": -0.0}\n',
    "escapes": b'{"\\u0061": "\\ud800", "b": "\\u00e9", "c": "\xc3\xa9"}\n',
}
TOML_FILES = {
    "none": None,
    "empty": b"",
    "blank": b" \n\r\n",
    "comment": b"# mine",
    "mark": b'\xef\xbb\xbfmodel = "x"\n',
    "mark only": b"\xef\xbb\xbf",
    "no final newline": b'model = "x"',
    "windows newlines": b'model = "x"\r\n\r\n[a]\r\nb = 1\r\n',
    "tabs": b'\tmodel\t=\t"x"\t# note\t\n\t[a]\t\n\t\tb = 1\n',
    "blank lines at the end": b'model = "x"\n\n\n',
    "array of tables last": b"[[a]]\nb = 1\n\n[[a]]\nb = 2\n",
    "comment last": b"[a]\nb = 1\n# [mcp_servers.memex]\n",
    "another server": b'[mcp_servers.b]\ncommand = "x"\n\n[mcp_servers.b.env]\nA = "1"\n',
    "table of servers": b'[mcp_servers]\nb = { command = "x" }\n\n[z]\n',
    "empty table of servers": b"[mcp_servers]\n",
    "dotted servers": b'mcp_servers.b.command = "x"\nmodel = "y"\n',
    "nested text": b'a = """\n[mcp_servers.memex]\ncommand = "x"\n"""\nb = \'\'\'\n# no\n\'\'\'\n',
    "not a number": b"a = nan\nb = [1.0, -0.0, inf]\nc = 1979-05-27T07:32:00Z\n",
}
CASES = [(json_server, name) for name in JSON_FILES] + [(toml_server, name) for name in TOML_FILES]
BYTES: dict[ModuleType, dict[str, bytes | None]] = {json_server: JSON_FILES, toml_server: TOML_FILES}


def install(
    kind: ModuleType, data: bytes | None, entry: dict[str, object] = ENTRY, earlier: Receipt | None = None
) -> tuple[bytes, Receipt]:
    after, receipt = kind.with_server(data, PATH, TABLES[kind], entry, earlier)
    return after, Receipt(**json.loads(json.dumps(asdict(receipt))))


def uninstall(kind: ModuleType, data: bytes, receipt: Receipt | None = None) -> bytes | None:
    restored: bytes | None = kind.without_server(data, PATH, TABLES[kind], receipt or Receipt())
    return restored


def found(kind: ModuleType, data: bytes) -> dict[str, object] | None:
    entry: dict[str, object] | None = kind.server_in(data, PATH, TABLES[kind])
    return entry


# --- documents as people and programs write them

NEWLINES = st.sampled_from(["\n", "\r\n"])
NAMES = st.sampled_from(["b", "c d", "mcp_servers", "memex", 'q"', "é", "a.b", ""])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def json_files(draw: st.DrawFn) -> bytes:
    document = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    servers = draw(st.none() | st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=2))
    if servers is not None:
        document = {**document, "mcpServers": servers, **draw(st.dictionaries(NAMES, VALUES, max_size=1))}
    layout = draw(st.sampled_from([{"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}]))
    text = json.dumps(document, **layout).replace("Infinity", "1e999") + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", draw(NEWLINES)).encode()


TOML_VALUES = st.sampled_from(
    [
        "1",
        "1.50",
        "nan",
        "true",
        "2026-01-01",
        '"a # b"',
        "'c \\'",
        '"\\" ] = \\\\"',
        "[]",
        "[1, 2, # ]\n  [3], ]",
        "[\n  'a', # \"\n]",
        "{ x = 1, 'y z' = [1] }",
        '"""\n[mcp_servers.memex]\na = 1 \\\n"""',
        '"""a ""b"" \\""""',
        "'''\n\"\"\"\n'''",
        '""',
        "''",
    ]
)
TOML_KEYS = st.sampled_from(["k", "'a b'", '"c.d"', "e.f", "g . 'h'.i", "memex", "command", '"\\u00e9"'])


@st.composite
def toml_lines(draw: st.DrawFn, keys: st.SearchStrategy[str] = TOML_KEYS) -> list[str]:
    """Keys with values, comments and blank lines, as they may stand below a header."""
    lines = []
    for key in draw(st.lists(keys, max_size=3, unique_by=lambda key: key.split(".")[0].strip(" '\""))):
        note = draw(st.sampled_from(["", " # note", "\t# [x]"]))
        indent = draw(st.sampled_from(["", "  ", "\t"]))
        equals = draw(st.sampled_from([" = ", "=", " =\t"]))
        lines.append(f"{indent}{key}{equals}{draw(TOML_VALUES)}{note}\n")
        lines += draw(st.lists(st.sampled_from(["\n", "# [mcp_servers.memex]\n", "  \n"]), max_size=2))
    return lines


@st.composite
def toml_parts(draw: st.DrawFn) -> list[str]:
    """A file in parts: what stands above the first header, then one part for every header."""
    headers = draw(
        st.lists(
            st.sampled_from(
                [
                    "[t]",
                    "[ t . 'u v' ]",
                    '["a.b".c] # note',
                    "[[arr]]",
                    "[[arr]] ",
                    "[mcp_servers.b]",
                    '[mcp_servers."c d".env]',
                    "  [z]",
                ]
            ),
            max_size=4,
            unique_by=lambda header: header if "arr" not in header else object(),
        )
    )
    parts = ["".join(draw(toml_lines()))]
    for header in headers:
        parts.append(header + "\n" + "".join(draw(toml_lines())))
    return parts


@st.composite
def toml_files(draw: st.DrawFn) -> bytes:
    text = "".join(draw(toml_parts()))
    text = text if draw(st.booleans()) else text.removesuffix("\n")
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.replace("\n", draw(NEWLINES)).encode()


FILES = st.tuples(st.just(json_server), json_files()) | st.tuples(st.just(toml_server), toml_files())


def document(kind: ModuleType, data: bytes) -> dict[str, Any]:
    text = data.decode("utf-8-sig")
    loaded = json.loads(text or "{}") if kind is json_server else tomllib.loads(text, parse_float=str)
    return dict(loaded)


@settings(deadline=None, max_examples=120)
@given(FILES)
def test_the_server_is_added_and_nothing_else_means_anything_else(file: tuple[ModuleType, bytes]) -> None:
    kind, before = file
    after, _ = install(kind, before)
    old, new = document(kind, before), document(kind, after)
    servers = new[TABLES[kind]]
    assert servers.pop("memex") == ENTRY
    assert servers == old.get(TABLES[kind], {})
    del new[TABLES[kind]]
    old.pop(TABLES[kind], None)
    assert repr(new) == repr(old)


@settings(deadline=None, max_examples=120)
@given(FILES, st.booleans())
def test_uninstalling_gives_back_every_byte(file: tuple[ModuleType, bytes], moved: bool) -> None:
    kind, before = file
    after, receipt = install(kind, before)
    if moved:
        after, receipt = install(kind, after, MOVED, receipt)
        assert found(kind, after) == MOVED
    assert uninstall(kind, after, receipt) == before


@settings(deadline=None, max_examples=60)
@given(FILES)
def test_installing_twice_is_installing_once(file: tuple[ModuleType, bytes]) -> None:
    kind, before = file
    once, receipt = install(kind, before)
    assert install(kind, once, ENTRY, receipt) == (once, receipt)


@settings(deadline=None, max_examples=60)
@given(toml_files(), st.sampled_from(["\n[later]\nx = 1\n", "[later]\n", "# later\n", "\n\n# later"]))
def test_what_is_appended_to_a_toml_file_later_stays(before: bytes, later: str) -> None:
    after, receipt = install(toml_server, before)
    restored = uninstall(toml_server, after + later.encode(), receipt)
    assert restored is not None
    assert restored.startswith(before)
    wanted = before.splitlines() + later.encode().splitlines()
    assert _told(restored.splitlines()) == _told(wanted)
    assert found(toml_server, restored) is None


def _told(lines: list[bytes]) -> list[bytes]:
    """Lines that hold something, a byte order mark aside."""
    return [told for line in lines if (told := line.removeprefix(b"\xef\xbb\xbf")).strip()]


OURS = [
    '[mcp_servers.memex]\ncommand = "/x/memex"\nargs = ["serve-mcp"]\n',
    """\
[mcp_servers.memex]
args = [ # note
  "serve-mcp" ]

command="/x/memex"

[mcp_servers.memex.env]
A = "1"
""",
    """\
  [ "mcp_servers" . memex ] # [x]
env.A = '''
[y]
'''
command = '/x/memex'
args = ["serve-mcp"]
""",
    """\
[mcp_servers.memex.tools.memex_write]
approval_mode = "approve"

[mcp_servers.memex]
command = "/x/memex" # mine
args = ["serve-mcp"]
enabled = true
""",
]


@settings(deadline=None, max_examples=120)
@given(toml_parts(), st.sampled_from(OURS), st.integers(1, 5), NEWLINES)
def test_a_table_of_ours_is_found_wherever_it_stands(
    parts: list[str], ours: str, at: int, newline: str
) -> None:
    head, tail = "".join(parts[:at]), "".join(parts[at:])
    text = (head + ours + tail).replace("\n", newline)
    restored = uninstall(toml_server, text.encode())
    assert restored is not None
    kept = head[:-1] if head == "\n" or head.endswith("\n\n") else head
    assert restored.decode() == (kept + tail).replace("\n", newline)


@settings(deadline=None, max_examples=60)
@given(toml_parts(), st.sampled_from(OURS), st.integers(1, 5), NEWLINES)
def test_an_older_table_of_ours_is_brought_up_to_date_where_it_stands(
    parts: list[str], ours: str, at: int, newline: str
) -> None:
    before = "".join([*parts[:at], ours, *parts[at:]]).replace("\n", newline).encode()
    old = found(toml_server, before)
    assert old is not None
    fresh = brought_up_to_date(old, ["/new/memex", "serve-mcp"], {"MEMEX_DATA_DIR": "/d"})
    after, receipt = install(toml_server, before, fresh)
    assert found(toml_server, after) == fresh
    for part in (*parts[:at], *parts[at:]):
        assert part.replace("\n", newline).encode() in after
    assert install(toml_server, after, fresh, receipt)[0] == after


@settings(deadline=None, max_examples=100)
@given(toml_parts())
def test_the_statements_of_a_file_are_those_that_tomllib_reads(parts: list[str]) -> None:
    text = "".join(parts)
    for statement in statements(text):
        if statement.header or "arr" in statement.path:
            continue
        alone = tomllib.loads(text[statement.key_start : statement.value_end], parse_float=str)
        whole: Any = tomllib.loads(text, parse_float=str)
        for name in statement.path:
            whole = whole[name]
        while isinstance(alone, dict) and alone != whole:
            ((_, alone),) = alone.items()
        assert alone == whole


# --- known files


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_known_file_comes_back_byte_for_byte(kind: ModuleType, name: str) -> None:
    before = BYTES[kind][name]
    after, receipt = install(kind, before)
    assert found(kind, after) == ENTRY
    assert uninstall(kind, after, receipt) == before


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (json_server, b'{"mcpServers": null}', '"mcpServers" is not an object'),
        (json_server, b'{"mcpServers": []}', '"mcpServers" is not an object'),
        (json_server, b"[]", "not a JSON object"),
        (json_server, b'{\n  "a": 1,\n}', "the-file:2:9: a comma before the closing bracket"),
        (json_server, b'{"mcpServers": {"memex": {}, "memex": {}}}', "occurs twice"),
        (json_server, b"\xff", "the-file:1:1: not UTF-8"),
        (json_server, b"\xff\xfe{\x00}\x00", "byte order mark"),
        (toml_server, b"mcp_servers = {}", "no table can be added to mcp_servers"),
        (toml_server, b'mcp_servers = { a = { command = "x" } }', "no table can be added to mcp_servers"),
        (toml_server, b"mcp_servers = 1", "mcp_servers is not a table"),
        (toml_server, b"[[mcp_servers]]", "mcp_servers is not a table"),
        (toml_server, b"a = 1\nb = \n", "not TOML 1.0: Invalid value (at line 2, column 5)"),
        (toml_server, b"a = 1\rb = 2", "not TOML 1.0"),
        (toml_server, b"a = " + b"[" * 5000, "not TOML 1.0"),
        (toml_server, b"\xff", "not UTF-8 at byte 0"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused(kind: ModuleType, data: bytes, words: str) -> None:
    with pytest.raises(Refused) as refused:
        install(kind, data)
    assert words in str(refused.value)
    assert "nothing was changed" in refused.value.hint


@pytest.mark.parametrize(
    "data",
    [
        b'mcp_servers = { memex = { command = "/x/memex", args = ["serve-mcp"] }, b = {} }',
        b'mcp_servers = { memex = { command = "/x/memex", args = ["serve-mcp"] } }',
    ],
)
def test_a_server_in_an_inline_table_of_servers_is_left_to_a_person(data: bytes) -> None:
    with pytest.raises(Refused, match="cannot be taken out of mcp_servers"):
        uninstall(toml_server, data)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'[mcp_servers]\nmemex = { command = "/x/memex" } # m\nb = {}\n', b"[mcp_servers]\nb = {}\n"),
        (b'mcp_servers.memex.command = "/x/memex"\nmcp_servers.b.c = 1\n', b"mcp_servers.b.c = 1\n"),
        (b'[mcp_servers.memex]\ncommand = "x"', b""),
    ],
)
def test_other_ways_to_write_our_server_are_understood(before: bytes, after: bytes) -> None:
    assert uninstall(toml_server, before) == after


def test_the_json_entry_follows_tabs_and_windows_newlines() -> None:
    after, _ = install(json_server, b'{\r\n\t"a": 1\r\n}\r\n')
    assert after.count(b"\n") == after.count(b"\r\n")
    assert b'\r\n\t"mcpServers": {\r\n\t\t"memex": {\r\n\t\t\t"command": ' in after


def test_an_updated_json_entry_keeps_the_layout_of_its_file() -> None:
    before, receipt = install(json_server, b'{\n    "a": 1\n}\n')
    after, _ = install(json_server, before, MOVED, receipt)
    assert b'\n        "memex": {\n            "command": "/new/memex",\n' in after


def test_the_toml_table_says_command_arguments_and_variables() -> None:
    after, _ = install(toml_server, b'model = "x"', {**ENTRY, "env": {"MEMEX_DATA_DIR": "/d", "A B": "c"}})
    assert after.decode() == (
        'model = "x"\n\n[mcp_servers.memex]\ncommand = "/home/ana maría\'s/.local/bin/memex"\n'
        'args = ["serve-mcp"]\nenv = { MEMEX_DATA_DIR = "/d", "A B" = "c" }\n'
    )


def test_what_the_owner_rewrote_in_between_keeps_its_new_form() -> None:
    after, receipt = install(json_server, b'{"a":1}')
    rewritten = json.dumps({**json.loads(after), "startups": 2}, indent=2).encode()
    assert uninstall(json_server, rewritten, receipt) == b'{\n  "a": 1,\n  "startups": 2\n}'


def test_an_empty_table_that_only_we_needed_goes_even_if_our_entry_is_gone_already() -> None:
    after, receipt = install(json_server, b'{"a": 1}\n')
    document = {**json.loads(after), "mcpServers": {}}
    assert uninstall(json_server, json.dumps(document).encode(), receipt) == b'{"a": 1}'


def test_a_comment_between_our_lines_stays() -> None:
    after, receipt = install(toml_server, b"a = 1\n")
    noted = after.replace(b"args", b"# mine\nargs")
    assert uninstall(toml_server, noted, receipt) == b"a = 1\n# mine\n"


def test_keys_that_a_person_added_to_our_table_go_with_it() -> None:
    after, receipt = install(toml_server, b"a = 1\n")
    extended = after + b'enabled = false\n\n[mcp_servers.memex.tools.x]\napproval_mode = "approve"\n'
    assert uninstall(toml_server, extended, receipt) == b"a = 1\n"


def test_a_file_of_a_megabyte_is_edited_in_seconds() -> None:
    projects = {f"/home/ana/{n}": {"history": [{"display": "x" * 60}] * 20} for n in range(500)}
    before = json.dumps({"projects": projects, "mcpServers": {}}, indent=2).encode()
    assert len(before) > 1_000_000
    started = time.process_time()
    after, receipt = install(json_server, before)
    assert uninstall(json_server, after, receipt) == before
    assert time.process_time() - started < 3


# --- whose entry it is


@pytest.mark.parametrize(
    ("command", "arguments", "ours"),
    [
        ("/x/memex", ["serve-mcp"], True),
        ("/old venv/bin/memex", ["serve-mcp"], True),
        ("memex", ["serve-mcp"], False),
        ("/x/memex", ["serve-mcp", "--other"], False),
        ("/x/memex", "serve-mcp", False),
        ("/x/other", ["serve-mcp"], False),
        ("/x/memex/uvx", ["memex", "serve-mcp"], False),
        (7, ["serve-mcp"], False),
        (None, None, False),
    ],
)
def test_ours_is_an_absolute_memex_that_serves(command: object, arguments: object, ours: bool) -> None:
    assert bool(program_of({"command": command, "args": arguments})) is ours


@pytest.mark.parametrize("entry", [None, {}, [], "memex serve-mcp", 7])
def test_what_is_no_entry_is_not_ours(entry: object) -> None:
    assert program_of(entry) is None


@pytest.mark.parametrize(
    ("entry", "variables", "expected"),
    [
        ({}, {}, {}),
        ({"env": {}}, {}, {"env": {}}),
        ({"env": {"MEMEX_DATA_DIR": "/old"}}, {}, {}),
        (
            {"env": {"MEMEX_DATA_DIR": "/old", "A": "1"}},
            {"MEMEX_DATA_DIR": "/d"},
            {"env": {"A": "1", "MEMEX_DATA_DIR": "/d"}},
        ),
        ({"env": {"A": "1"}, "enabled": False}, {}, {"env": {"A": "1"}, "enabled": False}),
        ({"env": "x"}, {"MEMEX_DATA_DIR": "/d"}, {"env": {"MEMEX_DATA_DIR": "/d"}}),
    ],
)
def test_an_entry_of_ours_keeps_what_a_person_set(
    entry: dict[str, object], variables: dict[str, str], expected: dict[str, object]
) -> None:
    old = {**entry, "command": "/old/memex", "args": ["serve-mcp"]}
    fresh = brought_up_to_date(old, COMMAND, variables)
    assert fresh == {**ENTRY, **expected}
