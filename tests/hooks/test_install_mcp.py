"""Registering the MCP server with both harnesses and taking it out again, on real files."""

from __future__ import annotations

import json
import os
import stat
import sysconfig
import tomllib
from pathlib import Path

import pytest

from memex_core.errors import Refused
from memex_hooks import install_uninstall
from memex_hooks.harness import Finding
from memex_hooks.harnesses import HARNESSES
from memex_hooks.install_uninstall import install, status, uninstall
from memex_hooks.settings_file import mcp_registration

BOTH = ["claude-code", "codex"]
MEMEX = Path(sysconfig.get_path("scripts")) / "memex"
STATE = b"""{
  "numStartups": 7,
  "projects": {"/p": {"allowedTools": [], "history": [{"display": "memex serve-mcp?"}]}},
  "userID": "x"
}
"""
CONFIG = b"""model = "gpt"   # mine

[mcp_servers.other]
command = 'o'

[projects."/p"]
trust_level = "trusted"
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A user with both programs; the home has an awkward name."""
    home = tmp_path / "ana's ünï 目"
    (home / ".claude").mkdir(parents=True)
    (home / ".codex").mkdir()
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def claude_file(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".claude.json"


def codex_file(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".codex" / "config.toml"


def fill(env: dict[str, str], claude: bytes | None = STATE, codex: bytes | None = CONFIG) -> None:
    for path, data in ((claude_file(env), claude), (codex_file(env), codex)):
        if data is not None:
            path.write_bytes(data)


def servers(env: dict[str, str]) -> tuple[object, object]:
    """Our entry with each program, None without one."""
    claude = json.loads(claude_file(env).read_bytes()).get("mcpServers", {}).get("memex")
    codex = tomllib.loads(codex_file(env).read_text("utf-8")).get("mcp_servers", {}).get("memex")
    return claude, codex


def check(env: dict[str, str]) -> list[Finding]:
    return [finding for name in BOTH for finding in HARNESSES[name].check_mcp(env)]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- install


def test_install_registers_the_server_with_both_programs_on_request_only(env: dict[str, str]) -> None:
    fill(env)
    assert [result.part for result in install(BOTH, env)] == ["hooks", "hooks"]
    assert servers(env) == (None, None)
    results = install(BOTH, env, mcp=True)
    assert [(r.harness, r.part, r.changed, r.problem) for r in results] == [
        ("claude-code", "hooks", [], ""),
        ("claude-code", "mcp", [claude_file(env)], ""),
        ("codex", "hooks", [], ""),
        ("codex", "mcp", [codex_file(env)], ""),
    ]
    entry = {"command": str(MEMEX), "args": ["serve-mcp"]}
    assert servers(env) == ({"type": "stdio", **entry}, entry)


def test_a_moved_memory_is_named_in_the_entry(env: dict[str, str], tmp_path: Path) -> None:
    fill(env)
    install(BOTH, {**env, "MEMEX_DATA_DIR": str(tmp_path / "m")}, mcp=True)
    assert [entry["env"] for entry in servers(env)] == [{"MEMEX_DATA_DIR": str(tmp_path / "m")}] * 2  # type: ignore[index]


def test_the_link_that_the_installer_makes_is_registered_where_it_leads_to_us(env: dict[str, str]) -> None:
    fill(env)
    link = Path(env["HOME"]) / ".local" / "bin" / "memex"
    link.parent.mkdir(parents=True)
    link.symlink_to("/nowhere/memex")
    install(["codex"], env, mcp=True)
    assert servers(env)[1]["command"] == str(MEMEX)  # type: ignore[index]
    link.unlink()
    link.symlink_to(MEMEX)
    install(["codex"], env, mcp=True)
    assert servers(env)[1]["command"] == str(link)  # type: ignore[index]


def test_install_twice_writes_nothing_the_second_time(env: dict[str, str]) -> None:
    fill(env)
    install(BOTH, env, mcp=True)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in map(claude_file, [env])}
    receipts = tree(Path(env["HOME"]) / ".local")
    assert [result.changed for result in install(BOTH, env, mcp=True)] == [[]] * 4
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in before} == before
    assert tree(Path(env["HOME"]) / ".local") == receipts


def test_a_dry_run_shows_both_differences_and_writes_nothing(env: dict[str, str]) -> None:
    fill(env)
    before = tree(Path(env["HOME"]))
    _, claude, _, codex = install(BOTH, env, mcp=True, dry_run=True)
    assert tree(Path(env["HOME"])) == before
    assert '+    "memex": {' in claude.diff.splitlines()
    added = [line for line in codex.diff.splitlines() if line.startswith(("+", "-"))][2:]
    assert added == ["+", "+[mcp_servers.memex]", f'+command = "{MEMEX}"', '+args = ["serve-mcp"]']


def test_the_bytes_from_before_are_backed_up_once_and_privately(env: dict[str, str]) -> None:
    fill(env)
    _, claude, _, _ = install(BOTH, env, mcp=True)
    install(BOTH, {**env, "MEMEX_DATA_DIR": str(Path(env["HOME"]) / ".memex")}, mcp=True)
    backups = {p.name: p for p in (Path(env["HOME"]) / ".memex" / "backups" / "install").iterdir()}
    assert sorted(name.split(".", 2)[2] for name in backups) == ["claude.json", "config.toml"]
    assert claude.changes[0].backup in backups.values()
    assert {path.read_bytes() for path in backups.values()} == {STATE, CONFIG}
    assert {stat.S_IMODE(path.stat().st_mode) for path in backups.values()} == {0o600}


@pytest.mark.parametrize(
    ("claude", "codex"),
    [
        (
            b'{"mcpServers": {"memex": {"command": "memex", "args": ["serve-mcp"]}}}',
            b"[mcp_servers]\nmemex = {}\n",
        ),
        (
            b'{"mcpServers": {"memex": {"type": "http", "url": "http://localhost:1/serve-mcp"}}}',
            b'[mcp_servers.memex]\nurl = "http://localhost:1/serve-mcp"\n',
        ),
        (b'{"mcpServers": {"memex": null}}', b"mcp_servers.memex = 7\n"),
    ],
)
def test_a_server_of_that_name_that_is_not_ours_is_left_alone_and_named(
    env: dict[str, str], claude: bytes, codex: bytes
) -> None:
    fill(env, claude, codex)
    for result in [result for result in install(BOTH, env, mcp=True) if result.part == "mcp"]:
        assert result.problem.endswith("has a server named memex that is not ours")
        assert "left alone" in result.hint
    assert check(env) == []
    assert [result.part for result in uninstall(BOTH, env)] == ["hooks", "hooks"]
    assert (claude_file(env).read_bytes(), codex_file(env).read_bytes()) == (claude, codex)


def test_an_entry_with_an_older_path_is_brought_up_to_date_even_without_asking(env: dict[str, str]) -> None:
    old = {"command": "/old/venv/bin/memex", "args": ["serve-mcp"], "env": {"A": "1"}}
    fill(
        env,
        json.dumps({"mcpServers": {"memex": old, "b": {}}, "c": 1}).encode(),
        b'[mcp_servers.memex]\ncommand = "/old/memex"\nargs = ["serve-mcp"]\n\n[other]\n',
    )
    results = install(BOTH, env)
    assert [result.part for result in results] == ["hooks", "mcp", "hooks", "mcp"]
    assert servers(env)[0] == {**old, "command": str(MEMEX)}
    assert codex_file(env).read_text("utf-8") == (
        f'[mcp_servers.memex]\ncommand = "{MEMEX}"\nargs = ["serve-mcp"]\n\n[other]\n'
    )


def test_a_file_that_cannot_be_edited_costs_only_its_own_registration(env: dict[str, str]) -> None:
    fill(env, b"{ // mine\n}", b"mcp_servers = {}\n")
    results = install(BOTH, env, mcp=True)
    assert [bool(result.problem) for result in results] == [False, True, False, True]
    assert results[1].hint == "nothing was changed; correct the file and run the same command again"
    assert results[3].hint.endswith(f"; or: codex mcp add memex -- {MEMEX} serve-mcp")
    assert (claude_file(env).read_bytes(), codex_file(env).read_bytes()) == (
        b"{ // mine\n}",
        b"mcp_servers = {}\n",
    )


def test_the_way_by_hand_names_a_moved_memory(env: dict[str, str]) -> None:
    fill(env, None, b"mcp_servers = {}\n")
    *_, codex = install(["codex"], {**env, "MEMEX_DATA_DIR": "/d d"}, mcp=True, dry_run=True)
    assert codex.hint.endswith(f"codex mcp add memex --env 'MEMEX_DATA_DIR=/d d' -- {MEMEX} serve-mcp")


def test_without_a_program_to_start_nothing_is_touched(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(env)
    monkeypatch.setattr(install_uninstall, "server_command", lambda env: ["/no/memex", "serve-mcp"])
    before = tree(Path(env["HOME"]))
    with pytest.raises(Refused, match="/no/memex is not there"):
        install(BOTH, env, mcp=True)
    assert tree(Path(env["HOME"])) == before


def test_a_program_that_rewrites_its_file_meanwhile_loses_nothing(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(env)
    real, calls = mcp_registration.read_foreign, iter(range(100))

    def changing(path: Path) -> bytes | None:
        data = real(path)
        number = next(calls)
        if number < 2:
            claude_file(env).write_bytes(STATE.replace(b"7", b"%d" % (8 + number)))
        return data

    monkeypatch.setattr(mcp_registration, "read_foreign", changing)
    _, claude = install(["claude-code"], env, mcp=True)
    assert claude.problem == ""
    assert json.loads(claude_file(env).read_bytes())["numStartups"] == 9
    assert servers(env)[0] is not None
    uninstall(["claude-code"], env)
    assert claude_file(env).read_bytes() == STATE.replace(b"7", b"9")


# --- uninstall


@pytest.mark.parametrize(
    ("claude", "codex"),
    [
        (None, None),
        (b"", b""),
        (STATE, CONFIG),
        (STATE.replace(b"\n", b"\r\n"), CONFIG.replace(b"\n", b"\r\n")),
        (b"\xef\xbb\xbf" + STATE.rstrip(), b"\xef\xbb\xbf" + CONFIG.rstrip()),
        (b'{"mcpServers":{}}', b"[mcp_servers]\n"),
    ],
)
def test_uninstall_leaves_every_file_as_it_was(
    env: dict[str, str], claude: bytes | None, codex: bytes | None
) -> None:
    fill(env, claude, codex)
    for _ in range(2):
        assert not [result.problem for result in install(BOTH, env, mcp=True) if result.problem]
    results = uninstall(BOTH, env)
    assert [(result.part, result.problem) for result in results] == [
        ("hooks", ""),
        ("hooks", ""),
        ("mcp", ""),
        ("mcp", ""),
    ]
    left = [path.read_bytes() if path.exists() else None for path in (claude_file(env), codex_file(env))]
    assert left == [claude, codex]
    assert not (Path(env["HOME"]) / ".local" / "share" / "memex").exists()


def test_uninstall_keeps_what_others_wrote_since(env: dict[str, str]) -> None:
    fill(env)
    install(BOTH, env, mcp=True)
    state = json.loads(claude_file(env).read_bytes())
    state["mcpServers"]["later"] = {"command": "l"}
    claude_file(env).write_text(json.dumps({**state, "numStartups": 8}, indent=2), "utf-8")
    with codex_file(env).open("a") as file:
        file.write('\n[mcp_servers.later]\ncommand = "l"\n')
    uninstall(BOTH, env)
    assert json.loads(claude_file(env).read_bytes()) == {
        **json.loads(STATE),
        "numStartups": 8,
        "mcpServers": {"later": {"command": "l"}},
    }
    assert codex_file(env).read_bytes() == CONFIG + b'\n[mcp_servers.later]\ncommand = "l"\n'


def test_uninstall_follows_links_and_keeps_mode_and_link(env: dict[str, str], tmp_path: Path) -> None:
    targets = {
        claude_file(env): (tmp_path / "dot.json", STATE),
        codex_file(env): (tmp_path / "d.toml", CONFIG),
    }
    for link, (target, data) in targets.items():
        target.write_bytes(data)
        target.chmod(0o400)
        link.symlink_to(target)
    install(BOTH, env, mcp=True)
    assert None not in servers(env)
    uninstall(BOTH, env)
    for link, (target, data) in targets.items():
        assert link.is_symlink() and not target.is_symlink()
        assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (data, 0o400)


def test_uninstall_finds_the_files_of_other_configuration_folders(
    env: dict[str, str], tmp_path: Path
) -> None:
    moved = {**env, "CLAUDE_CONFIG_DIR": str(tmp_path / "cc"), "CODEX_HOME": str(tmp_path / "cx")}
    for name in ("cc", "cx"):
        (tmp_path / name).mkdir()
    install(BOTH, moved, mcp=True)
    assert (tmp_path / "cc" / ".claude.json").is_file() and (tmp_path / "cx" / "config.toml").is_file()
    assert not claude_file(env).exists() and not codex_file(env).exists()
    uninstall(BOTH, env)
    assert list(tmp_path.glob("c*/.*")) + list(tmp_path.glob("c*/*")) == []


def test_an_old_state_file_in_the_configuration_folder_goes_first(env: dict[str, str]) -> None:
    old = Path(env["HOME"]) / ".claude" / ".config.json"
    old.write_bytes(b"{}")
    install(["claude-code"], env, mcp=True)
    assert "memex" in json.loads(old.read_bytes())["mcpServers"]
    assert not claude_file(env).exists()


def test_what_somebody_else_took_out_leaves_no_receipt(env: dict[str, str]) -> None:
    fill(env)
    install(BOTH, env, mcp=True)
    fill(env)
    uninstall(BOTH, env)
    assert (claude_file(env).read_bytes(), codex_file(env).read_bytes()) == (STATE, CONFIG)
    assert not (Path(env["HOME"]) / ".local" / "share" / "memex").exists()


def test_uninstall_before_any_install_reads_no_sense_into_foreign_files(env: dict[str, str]) -> None:
    fill(env, b"{ // not ours to judge\n", b"[not ours\n")
    before = tree(Path(env["HOME"]))
    assert [(r.part, r.changed, r.problem) for r in uninstall(BOTH, env)] == [("hooks", [], "")] * 2
    assert tree(Path(env["HOME"])) == before


def test_a_file_that_cannot_be_read_keeps_the_server_and_says_so(env: dict[str, str]) -> None:
    fill(env)
    install(BOTH, env, mcp=True)
    broken = claude_file(env).read_bytes() + b"}"
    claude_file(env).write_bytes(broken)
    *_, claude, codex = uninstall(BOTH, env)
    assert "something follows the end" in claude.problem
    assert claude_file(env).read_bytes() == broken
    assert (codex.problem, codex_file(env).read_bytes()) == ("", CONFIG)


# --- what check_mcp sees


def test_a_server_that_is_not_registered_is_no_finding(env: dict[str, str]) -> None:
    fill(env)
    assert check(env) == []
    assert [wired.mcp for wired in status(BOTH, env)] == ["not registered"] * 2


def test_a_registered_server_is_fine(env: dict[str, str]) -> None:
    fill(env)
    install(BOTH, env, mcp=True)
    assert check(env) == [
        Finding("ok", f"the MCP server is registered in {path}")
        for path in (claude_file(env), codex_file(env))
    ]
    assert [wired.mcp for wired in status(BOTH, env)] == ["registered"] * 2


@pytest.mark.parametrize("present", [True, False])
def test_a_lost_or_foreign_program_is_named_with_the_command_that_mends_it(
    env: dict[str, str], tmp_path: Path, present: bool
) -> None:
    fill(env)
    install(BOTH, env, mcp=True)
    other = tmp_path / "memex"
    if present:
        other.write_text("#!/bin/sh\n")
        other.chmod(0o755)
    for path in (claude_file(env), codex_file(env)):
        path.write_bytes(path.read_bytes().replace(str(MEMEX).encode(), str(other).encode()))
    words = "of another installation than this one" if present else "which is not there"
    assert [(f.level, f.fix) for f in check(env)] == [
        ("fail", f"memex-hooks install --mcp --harness {name}") for name in BOTH
    ]
    assert all(str(other) in finding.what and words in finding.what for finding in check(env))
    assert {wired.mcp for wired in status(BOTH, env)} == {"needs attention (memex-hooks doctor)"}
    install(BOTH, env, mcp=True)
    assert {finding.level for finding in check(env)} == {"ok"}
    uninstall(BOTH, env)
    assert (claude_file(env).read_bytes(), codex_file(env).read_bytes()) == (STATE, CONFIG)


def test_a_server_that_serves_another_memory_is_named(env: dict[str, str], tmp_path: Path) -> None:
    fill(env)
    install(BOTH, {**env, "MEMEX_DATA_DIR": str(tmp_path / "m")}, mcp=True)
    assert [finding.level for finding in check(env)] == ["fail", "fail"]
    assert all(f"serves the memory {tmp_path / 'm'}" in finding.what for finding in check(env))
    install(BOTH, env)
    assert [finding.level for finding in check(env)] == ["ok", "ok"]
    uninstall(BOTH, env)
    assert (claude_file(env).read_bytes(), codex_file(env).read_bytes()) == (STATE, CONFIG)


def test_a_server_that_is_switched_off_is_still_registered(env: dict[str, str]) -> None:
    install(["codex"], env, mcp=True)
    with codex_file(env).open("a") as file:
        file.write("enabled = false\n")
    (finding,) = check(env)
    assert (finding.level, finding.what.endswith("config.toml, but switched off there")) == ("ok", True)


def test_a_file_that_may_hold_our_server_and_cannot_be_read_is_a_finding(env: dict[str, str]) -> None:
    fill(env, STATE + b"}", CONFIG + b"# serve-mcp\n[\n")
    assert [finding.level for finding in check(env)] == ["fail", "fail"]
    fill(env, b"{", b"[")
    assert check(env) == []
