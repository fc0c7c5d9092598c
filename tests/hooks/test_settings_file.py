"""Our hooks in the settings files of other programs: every foreign byte stays, and all can be taken back."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.errors import Refused
from memex_hooks.settings_file import foreign_file
from memex_hooks.settings_file.foreign_file import ChangedMeanwhile, read_foreign, replace_foreign
from memex_hooks.settings_file.hook_entries import entries_of, with_hooks, without_hooks
from memex_hooks.settings_file.launcher import event_command, launcher_command, parse_command
from memex_hooks.settings_file.receipts import Receipt, receipt_of
from memex_hooks.settings_file.strict_json import parse, plain
from memex_hooks.settings_file.wiring import Wiring

FIXTURES = Path(__file__).parent.parent / "fixtures" / "settings"
GOOD = sorted((FIXTURES / "good").iterdir())
PATH = Path("settings.json")
WIRING = Wiring("claude-code", {"SessionStart": 10, "UserPromptSubmit": 10, "Stop": 10, "SessionEnd": 10})
LAUNCHER = launcher_command({"HOME": "/home/ana maría's"})
WANTED = WIRING.wanted(LAUNCHER)

REFUSALS = {
    "an_array.json": ("1:1", "not a JSON object"),
    "block_comment.json": ("2:19", "a comment"),
    "byte_order_mark.json": ("1:1", "byte order mark"),
    "cut_off.json": ("3:1", "the file ends"),
    "event_is_an_object.json": ("", "not an array"),
    "hooks_is_an_array.json": ("", "not an object"),
    "hooks_is_null.json": ("", "not an object"),
    "line_comment.json": ("2:3", "a comment"),
    "name_twice.json": ("4:3", "occurs twice"),
    "nested_too_deep.json": ("1:107", "nested deeper"),
    "not_a_number.json": ("1:7", "expected a value"),
    "not_utf8.json": ("2:15", "not UTF-8"),
    "one_brace_too_many.json": ("1:18", "something follows"),
    "raw_control_character.json": ("1:11", "invalid control character"),
    "single_quotes.json": ("1:2", "a name in double quotes"),
    "trailing_comma_array.json": ("2:21", "a comma before the closing bracket"),
    "trailing_comma_object.json": ("4:15", "a comma before the closing bracket"),
}


def install(data: bytes | None, wanted: Mapping[str, dict[str, object]] = WANTED) -> bytes:
    return with_hooks(data, PATH, wanted, WIRING.owns)


def uninstall(data: bytes, receipt: Receipt) -> bytes | None:
    return without_hooks(data, PATH, WIRING.owns, receipt)


def receipt(before: bytes | None, after: bytes, earlier: Receipt | None = None) -> Receipt:
    return receipt_of(before, after, PATH, earlier)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def our_events(data: bytes) -> list[str]:
    return [entry.event for entry in entries_of(data, PATH, WIRING.owns)]


# --- documents as people and programs write them

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
HANDLERS = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=12)})
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.text(max_size=4)}
)
EVENTS = st.sampled_from([*WANTED, "PreToolUse", "Zukunft"])
DOCUMENTS = st.builds(
    lambda before, hooks, after: {**before, **({} if hooks is None else {"hooks": hooks}), **after},
    st.dictionaries(st.text(max_size=6).filter(lambda name: name != "hooks"), VALUES, max_size=3),
    st.none() | st.dictionaries(EVENTS, st.lists(GROUPS, max_size=2), max_size=4),
    st.dictionaries(st.sampled_from(["model", "env", "tail"]), VALUES, max_size=2),
)
LAYOUTS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 2, 4, "\t"]),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (",", ": ")]),
        "ensure_ascii": st.booleans(),
    }
)


@st.composite
def tidy_files(draw: st.DrawFn) -> bytes:
    """A document as a program writes it: one indentation, one kind of newline."""
    text = json.dumps(draw(DOCUMENTS), **draw(LAYOUTS)) + draw(st.sampled_from(["", "\n", "\n\n"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return text.replace("\n", newline).encode()


@st.composite
def untidy_files(draw: st.DrawFn) -> bytes:
    """A document with any white space where JSON allows some."""
    spaces = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\n      ", "  \n"])

    def written(value: object) -> str:
        if isinstance(value, dict):
            parts = [
                f"{json.dumps(name)}{draw(spaces)}:{draw(spaces)}{written(v)}" for name, v in value.items()
            ]
        elif isinstance(value, list):
            parts = [written(item) for item in value]
        else:
            return json.dumps(value)
        inner = draw(spaces) + f"{draw(spaces)},{draw(spaces)}".join(parts) + draw(spaces)
        return "{" + inner + "}" if isinstance(value, dict) else "[" + inner + "]"

    return (draw(spaces) + written(draw(DOCUMENTS)) + draw(spaces)).encode()


FILES = tidy_files() | untidy_files() | st.sampled_from([None, b"", b" \r\n\n", b"{}", b"{ }\n", b"{\n}\n"])


@settings(deadline=None, max_examples=50)
@given(FILES)
def test_uninstalling_gives_back_every_byte(before: bytes | None) -> None:
    after = install(before)
    kept = Receipt(**json.loads(json.dumps(asdict(receipt(before, after)))))
    assert uninstall(after, kept) == before


@settings(deadline=None, max_examples=50)
@given(FILES)
def test_installing_twice_is_installing_once(before: bytes | None) -> None:
    once = install(before)
    assert install(once) == once
    assert sorted(our_events(once)) == sorted(WANTED)


@settings(deadline=None, max_examples=50)
@given(FILES)
def test_an_upgrade_in_between_does_not_spoil_the_way_back(before: bytes | None) -> None:
    old = {event: {**handler, "timeout": 60} for event, handler in WANTED.items() if event != "Stop"}
    first = install(before, {**old, "Dropped": old["SessionEnd"]})
    first_receipt = receipt(before, first)
    second = install(first)
    assert sorted(our_events(second)) == sorted(WANTED)
    assert uninstall(second, receipt(first, second, first_receipt)) == before


@settings(deadline=None, max_examples=50)
@given(tidy_files())
def test_our_group_is_the_last_of_its_event_and_the_rest_keeps_its_order(before: bytes) -> None:
    old, new = json.loads(before), json.loads(install(before))
    for event in WANTED:
        groups = new["hooks"][event]
        assert groups[-1] == {"hooks": [WANTED[event]]}
        assert groups[:-1] == old.get("hooks", {}).get(event, [])
    assert [name for name in new if name in old] == list(old)


@settings(deadline=None, max_examples=50)
@given(FILES)
def test_a_program_may_rewrite_the_whole_file_in_between(before: bytes | None) -> None:
    after = install(before)
    rewritten = json.dumps(json.loads(after), indent=4).encode()
    restored = uninstall(rewritten, receipt(before, after))
    if before is None or not before.strip():
        assert restored == before
    else:
        assert restored is not None
        assert json.dumps(json.loads(restored)) == json.dumps(json.loads(before))


@settings(deadline=None, max_examples=50)
@given(tidy_files())
def test_without_a_receipt_only_empty_containers_are_left_behind(before: bytes) -> None:
    restored = uninstall(install(before), Receipt())
    assert restored is not None
    old, new = json.loads(before), json.loads(restored)
    hooks = {event: groups for event, groups in new.pop("hooks").items() if groups or event not in WANTED}
    expected = {
        event: groups for event, groups in old.pop("hooks", {}).items() if groups or event not in WANTED
    }
    assert (hooks, new) == (expected, old)


def _strictly_loads(text: str) -> Any:
    def no_constant(name: str) -> None:
        raise ValueError(name)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("name twice")
        return dict(pairs)

    return json.loads(text, parse_constant=no_constant, object_pairs_hook=once)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_the_parser_takes_what_json_allows_and_nothing_else(data: st.DataObject) -> None:
    text = data.draw(tidy_files() | untidy_files()).decode()
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from([*',:{}[]"/\\ \n01-.etfn', ""])) + text[at + 1 :]
    try:
        expected = _strictly_loads(text)
    except ValueError:
        with pytest.raises(Refused, match=r"settings\.json:\d+:\d+: "):
            parse(text, PATH)
    else:
        assert plain(parse(text, PATH)) == expected


# --- known files


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_known_file_comes_back_byte_for_byte(path: Path, newline: str) -> None:
    before = path.read_bytes().replace(b"\n", newline.encode())
    after = install(before)
    assert sorted(our_events(after)) == sorted(WANTED)
    assert uninstall(after, receipt(before, after)) == before


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_a_file_that_is_not_strict_json_is_refused_with_its_place(name: str) -> None:
    place, reason = REFUSALS[name]
    with pytest.raises(Refused) as refused:
        install((FIXTURES / "bad" / name).read_bytes())
    assert str(refused.value).startswith(f"settings.json:{place}" if place else "settings.json: ")
    assert reason in str(refused.value)
    assert "nothing was changed" in refused.value.hint


def test_every_bad_fixture_has_an_expected_refusal() -> None:
    assert {path.name for path in (FIXTURES / "bad").iterdir()} == set(REFUSALS)


def test_the_addition_follows_tabs_and_windows_newlines() -> None:
    after = install(b'{\r\n\t"model": "opus"\r\n}\r\n').decode()
    assert after.count("\n") == after.count("\r\n")
    assert '\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n\t\t\t{\r\n\t\t\t\t"hooks": [' in after


def test_a_file_on_one_line_stays_on_one_line() -> None:
    assert install(b'{"a":1}\n').count(b"\n") == 1


def test_a_handler_of_ours_in_a_foreign_group_goes_alone() -> None:
    ours = WANTED["Stop"]
    before = json.dumps(
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}, ours, ours]}]}}
    ).encode()
    restored = uninstall(before, Receipt())
    assert restored == b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}'


def test_doubled_entries_become_one_and_the_first_place_is_kept() -> None:
    group = {"hooks": [WANTED["Stop"]]}
    foreign = {"hooks": [{"type": "command", "command": "x"}]}
    before = json.dumps(
        {"hooks": {"Stop": [group, foreign, group, {"hooks": [WANTED["Stop"]] * 2}]}}
    ).encode()
    assert json.loads(install(before))["hooks"]["Stop"] == [group, foreign]


def test_an_entry_that_is_doubled_within_its_group_keeps_its_place() -> None:
    foreign = {"hooks": [{"type": "command", "command": "x"}]}
    before = json.dumps({"hooks": {"Stop": [{"hooks": [WANTED["Stop"]] * 2}, foreign]}}).encode()
    assert json.loads(install(before))["hooks"]["Stop"] == [{"hooks": [WANTED["Stop"]]}, foreign]


def test_hooks_of_another_harness_are_foreign() -> None:
    codex = Wiring("codex", {"Stop": 10}).wanted(LAUNCHER)["Stop"]
    before = json.dumps({"hooks": {"Stop": [{"hooks": [codex]}]}}).encode()
    after = install(before)
    assert codex in json.loads(after)["hooks"]["Stop"][0]["hooks"]
    assert uninstall(after, receipt(before, after)) == before


# --- the command

HOMES = ["/home/ana", "/home/a b", "/home/o'neil", "/Users/目 ünï", '/h"x', "/h$x`y", "/h\\x"]


@pytest.mark.parametrize("home", HOMES)
def test_a_command_is_recognised_whatever_the_home_is_called(home: str) -> None:
    command = event_command(launcher_command({"HOME": home}), "codex", "SessionEnd")
    assert parse_command(command) == (Path(home, ".local/share/memex/hook.sh"), "codex", "SessionEnd")


@pytest.mark.parametrize("home", HOMES)
def test_a_shell_splits_the_command_into_its_words(home: str, tmp_path: Path) -> None:
    script = Path(f"{tmp_path}{home}/.local/share/memex/hook.sh")
    script.parent.mkdir(parents=True)
    script.write_text(f'printf "%s:%s" "$1" "$2" > "{tmp_path}/words"', "utf-8")
    os.system(event_command(launcher_command({"HOME": f"{tmp_path}{home}"}), "codex", "Stop"))
    assert (tmp_path / "words").read_text("utf-8") == "codex:Stop"


@pytest.mark.parametrize(
    "command",
    [
        "sh '/opt/other/hook.sh' codex Stop",
        "sh memex/hook.sh codex Stop",
        "sh '/home/x/.local/share/memex/hook.sh' codex",
        "sh '/home/x/.local/share/memex/hook.sh' codex Stop extra",
        "sh '/home/x/memex/hook.sh codex Stop",
        "memex/hook.sh",
        "",
        7,
        None,
    ],
)
def test_another_command_is_not_ours(command: object) -> None:
    assert parse_command(command) is None


def test_the_data_home_may_be_moved_but_not_to_a_relative_path() -> None:
    assert launcher_command({"HOME": "/h", "XDG_DATA_HOME": "/d"}) == "sh '/d/memex/hook.sh'"
    assert launcher_command({"HOME": "/h", "XDG_DATA_HOME": "d"}) == "sh '/h/.local/share/memex/hook.sh'"


# --- the file


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target, middle, link = tmp_path / "dotfiles" / "s.json", tmp_path / "middle", tmp_path / "settings.json"
    target.write_bytes(b"{}")
    middle.symlink_to(target)
    link.symlink_to("middle")
    replace_foreign(link, b"{}", b'{"a": 1}')
    assert link.is_symlink() and middle.is_symlink() and not target.is_symlink()
    assert target.read_bytes() == b'{"a": 1}'


def test_a_link_to_nothing_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "settings.json"
    link.symlink_to(tmp_path / "later.json")
    replace_foreign(link, None, b"{}")
    assert link.is_symlink()
    assert (tmp_path / "later.json").read_bytes() == b"{}"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_of_the_file_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"{}")
    path.chmod(mode)
    replace_foreign(path, b"{}", b'{"a": 1}')
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_is_private(tmp_path: Path) -> None:
    replace_foreign(tmp_path / "settings.json", None, b"{}")
    assert stat.S_IMODE((tmp_path / "settings.json").stat().st_mode) == 0o600


def test_the_owner_of_the_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"{}")
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(
        foreign_file.os, "fstat", lambda fd: os.stat_result((0o100600, 0, 0, 1, 4242, 4242, 0, 0, 0, 0))
    )
    monkeypatch.setattr(foreign_file.os, "fchown", lambda fd, uid, gid: given.append((uid, gid)))
    replace_foreign(path, b"{}", b'{"a": 1}')
    assert given == [(path.stat().st_uid, path.stat().st_gid)]


def test_a_file_whose_owner_cannot_be_kept_is_refused_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"{}")

    def refuse(fd: int, uid: int, gid: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(
        foreign_file.os, "fstat", lambda fd: os.stat_result((0o100600, 0, 0, 1, 4242, 4242, 0, 0, 0, 0))
    )
    monkeypatch.setattr(foreign_file.os, "fchown", refuse)
    with pytest.raises(Refused, match="not permitted"):
        replace_foreign(path, b"{}", b'{"a": 1}')
    assert path.read_bytes() == b"{}"
    assert names_in(tmp_path) == ["home", "settings.json"]


@pytest.mark.parametrize("after", [b'{"a": 1}', None])
def test_a_change_by_someone_else_is_not_overwritten(tmp_path: Path, after: bytes | None) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"theirs": true}')
    with pytest.raises(ChangedMeanwhile):
        replace_foreign(path, b"{}", after)
    assert path.read_bytes() == b'{"theirs": true}'
    assert names_in(tmp_path) == ["home", "settings.json"]


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(Refused, match="not a regular file"):
        read_foreign(tmp_path / "settings.json")


def test_a_fifo_in_place_of_the_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.json")
    with pytest.raises(Refused, match="not a regular file"):
        read_foreign(tmp_path / "settings.json")
