"""Wiring both harnesses and taking the hooks out again, on real files."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.errors import Refused
from memex_hooks import install_uninstall
from memex_hooks.harness import Finding
from memex_hooks.harnesses.claude_code.settings import WIRING as CLAUDE
from memex_hooks.harnesses.claude_code.settings import check_hooks as check_claude
from memex_hooks.harnesses.codex.settings import PLUGIN_LAUNCHER, handler_hash
from memex_hooks.harnesses.codex.settings import WIRING as CODEX
from memex_hooks.harnesses.codex.settings import check_hooks as check_codex
from memex_hooks.install_uninstall import (
    check_launcher,
    install,
    installed_python,
    installed_root,
    status,
    uninstall,
)
from memex_hooks.settings_file import wiring

BOTH = ["claude-code", "codex"]
SETTINGS = b"""{
  "model": "opus",
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "true"}]}]
  }
}
"""
FIXTURES = Path(__file__).parent.parent / "fixtures" / "settings"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A user with both programs; the home has an awkward name."""
    home = tmp_path / "ana's ünï 目"
    (home / ".claude").mkdir(parents=True)
    (home / ".codex").mkdir()
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def claude_file(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".claude" / "settings.json"


def codex_file(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".codex" / "hooks.json"


def codex_config(env: dict[str, str], text: str) -> None:
    (Path(env["HOME"]) / ".codex" / "config.toml").write_text(text, "utf-8")


def data_home(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".local" / "share" / "memex"


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def whats(findings: list[Finding], level: str) -> list[str]:
    return [finding.what for finding in findings if finding.level == level]


# --- install


def test_install_wires_both_harnesses_and_places_the_script(env: dict[str, str]) -> None:
    results = install(BOTH, env)
    assert [(result.harness, result.changed, result.problem) for result in results] == [
        ("claude-code", [claude_file(env)], ""),
        ("codex", [codex_file(env)], ""),
    ]
    script = data_home(env) / "hook.sh"
    assert script.read_bytes() == (install_uninstall.assets_dir() / "codex" / "hook.sh").read_bytes()
    assert stat.S_IMODE(script.stat().st_mode) == 0o700
    lines = (data_home(env) / "hook.conf").read_text("utf-8").splitlines()
    assert lines == [str(Path(env["HOME"]) / ".memex"), sys.executable]
    assert (installed_root(env), installed_python(env)) == (Path(lines[0]), Path(lines[1]))


def test_the_command_says_sh_script_harness_event(env: dict[str, str]) -> None:
    install(["codex"], env)
    (group,) = json.loads(codex_file(env).read_bytes())["hooks"]["SessionEnd"]
    quoted = str(data_home(env) / "hook.sh").replace("'", "'\"'\"'")
    command = f"sh '{quoted}' codex SessionEnd"
    assert group == {"hooks": [{"type": "command", "command": command, "timeout": 3}]}


def test_an_installed_command_drops_an_envelope(env: dict[str, str]) -> None:
    install(BOTH, env)
    for path in (claude_file(env), codex_file(env)):
        command = json.loads(path.read_bytes())["hooks"]["Stop"][0]["hooks"][0]["command"]
        subprocess.run(command, shell=True, input=b"{}", env=env, check=True)
    names = sorted(
        path.name.split(".")[0] for path in (Path(env["HOME"]) / ".memex" / "spool").glob("*.json")
    )
    assert names == BOTH


def test_install_twice_writes_nothing_the_second_time(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(SETTINGS)
    install(BOTH, env)
    paths = [claude_file(env), codex_file(env), *data_home(env).iterdir()]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in paths}
    assert [result.changed for result in install(BOTH, env)] == [[], []]
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in paths} == before


def test_the_configuration_folders_of_the_environment_are_honoured(
    env: dict[str, str], tmp_path: Path
) -> None:
    env |= {"CLAUDE_CONFIG_DIR": str(tmp_path / "cc"), "CODEX_HOME": str(tmp_path / "cx")}
    install(BOTH, env)
    assert (tmp_path / "cc" / "settings.json").is_file()
    assert (tmp_path / "cx" / "hooks.json").is_file()
    assert not claude_file(env).exists()
    uninstall(BOTH, env)
    assert not (tmp_path / "cc").exists()
    assert not (tmp_path / "cx").exists()


def test_the_bytes_from_before_are_backed_up_once(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(SETTINGS)
    first, _ = install(BOTH, env)
    claude_file(env).write_bytes(claude_file(env).read_bytes().replace(b"opus", b"haiku"))
    data_home(env).joinpath("hook.conf").unlink()
    install(BOTH, {**env, "XDG_DATA_HOME": env["HOME"]})
    backups = list((Path(env["HOME"]) / ".memex" / "backups" / "install").iterdir())
    assert first.changes[0].backup in backups
    assert SETTINGS in [path.read_bytes() for path in backups]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in backups)


def test_a_dry_run_shows_the_difference_and_writes_nothing(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(SETTINGS)
    before = tree(Path(env["HOME"]))
    claude, codex = install(BOTH, env, dry_run=True)
    assert tree(Path(env["HOME"])) == before
    assert f"--- {claude_file(env)}\n+++ {claude_file(env)}\n" in claude.diff
    assert codex.diff.startswith(f"--- /dev/null\n+++ {codex_file(env)}\n")
    removed = [
        line for line in claude.diff.splitlines() if line.startswith("-") and not line.startswith("---")
    ]
    assert removed == ['-    "Stop": [{"hooks": [{"type": "command", "command": "true"}]}]']


def test_one_refused_harness_does_not_keep_the_other_from_being_wired(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(b"{\n  // mine\n}\n")
    claude, codex = install(BOTH, env)
    assert claude.problem == f"{claude_file(env)}:2:3: a comment, which JSON does not allow"
    assert "nothing was changed" in claude.hint
    assert claude_file(env).read_bytes() == b"{\n  // mine\n}\n"
    assert (codex.problem, codex.changed) == ("", [codex_file(env)])


def test_a_key_that_codex_rejects_is_refused(env: dict[str, str]) -> None:
    codex_file(env).write_bytes(b'{"version": 1, "hooks": {}}')
    (codex,) = install(["codex"], env)
    assert 'Codex rejects the whole file because of the key "version"' in codex.problem
    assert codex_file(env).read_bytes() == b'{"version": 1, "hooks": {}}'


def test_an_unknown_harness_is_refused_by_name(env: dict[str, str]) -> None:
    with pytest.raises(Refused, match="unknown harness 'emacs'"):
        install(["emacs"], env)


def test_a_data_home_that_cannot_be_made_is_refused_in_words(env: dict[str, str]) -> None:
    (Path(env["HOME"]) / ".local").write_bytes(b"")
    with pytest.raises(Refused, match=r"hook\.sh"):
        install(BOTH, env)
    assert not claude_file(env).exists()


def test_settings_that_change_between_plan_and_write_are_planned_again(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_file(env).write_bytes(SETTINGS)
    real, calls = wiring.read_foreign, []

    def changing(path: Path) -> bytes | None:
        data = real(path)
        calls.append(path)
        if len(calls) <= 2:
            path.write_bytes(SETTINGS.replace(b"opus", b"opus%d" % len(calls)))
        return data

    monkeypatch.setattr(wiring, "read_foreign", changing)
    (claude,) = install(["claude-code"], env)
    assert claude.problem == ""
    assert json.loads(claude_file(env).read_bytes())["model"] == "opus2"
    assert len(json.loads(claude_file(env).read_bytes())["hooks"]["Stop"]) == 2


def test_settings_that_never_hold_still_are_left_alone(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = wiring.read_foreign, iter(range(100))

    def changing(path: Path) -> bytes | None:
        data = real(path)
        path.write_bytes(b'{"n": %d}' % next(count))
        return data

    monkeypatch.setattr(wiring, "read_foreign", changing)
    (claude,) = install(["claude-code"], env)
    assert "another program is changing it" in claude.problem
    assert claude_file(env).read_bytes() == b'{"n": 2}'


def test_an_older_command_is_replaced_where_it_stands(env: dict[str, str]) -> None:
    old = "sh /old/home/memex/hook.sh codex Stop"
    groups = [{"hooks": [{"type": "command", "command": command}]} for command in (old, "true")]
    codex_file(env).write_text(json.dumps({"hooks": {"Stop": groups}}), "utf-8")
    install(["codex"], env)
    first, second = json.loads(codex_file(env).read_bytes())["hooks"]["Stop"]
    assert (
        first["hooks"][0]["command"]
        == f"{CODEX.wanted(install_uninstall.launcher_command(env))['Stop']['command']}"
    )
    assert second == groups[1]


# --- uninstall


@pytest.mark.parametrize(
    "before", [None, b"", b"\n", b"{}", b"{ }\n", SETTINGS, SETTINGS.replace(b"\n", b"\r\n")]
)
def test_uninstall_leaves_every_settings_file_as_it_was(env: dict[str, str], before: bytes | None) -> None:
    files = [claude_file(env), codex_file(env)]
    originals = [before, before.replace(b'  "model": "opus",', b"") if before else before]
    for path, data in zip(files, originals, strict=True):
        if data is not None:
            path.write_bytes(data)
    assert [result.problem for result in install(BOTH, env)] == ["", ""]
    assert [result.problem for result in uninstall(BOTH, env)] == ["", ""]
    assert [path.read_bytes() if path.exists() else None for path in files] == originals
    assert not data_home(env).exists()


@settings(deadline=None, max_examples=25)
@given(st.binary(max_size=40))
def test_whatever_the_file_holds_it_is_wired_and_restored_or_untouched(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = {"HOME": folder}
        claude_file(env).parent.mkdir()
        claude_file(env).write_bytes(data)
        (result,) = install(["claude-code"], env)
        assert bool(result.problem) == (claude_file(env).read_bytes() == data)
        uninstall(["claude-code"], env)
        assert claude_file(env).read_bytes() == data


def test_uninstall_finds_the_files_of_other_configuration_folders(
    env: dict[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "settings.json").write_bytes(SETTINGS)
    install(["claude-code"], {**env, "CLAUDE_CONFIG_DIR": str(work)})
    install(["claude-code"], env)
    (result,) = uninstall(["claude-code"], env)
    assert result.changed == [claude_file(env), work / "settings.json"]
    assert (work / "settings.json").read_bytes() == SETTINGS


def test_uninstall_follows_a_link_and_keeps_it(env: dict[str, str], tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_bytes(SETTINGS)
    target.chmod(0o640)
    claude_file(env).symlink_to(target)
    install(["claude-code"], env)
    assert claude_file(env).is_symlink()
    uninstall(["claude-code"], env)
    assert claude_file(env).is_symlink()
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (SETTINGS, 0o640)


def test_the_memory_survives_uninstall(env: dict[str, str]) -> None:
    install(BOTH, env)
    page = Path(env["HOME"]) / ".memex" / "docs" / "preferences" / "ruff.md"
    page.parent.mkdir(parents=True)
    page.write_bytes(b"mine")
    uninstall(BOTH, env)
    assert page.read_bytes() == b"mine"


def test_uninstall_before_any_install_does_nothing(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(b"{ // not ours to judge\n")
    before = tree(Path(env["HOME"]))
    assert [(result.changed, result.problem) for result in uninstall(BOTH, env)] == [([], ""), ([], "")]
    assert tree(Path(env["HOME"])) == before
    assert not (Path(env["HOME"]) / ".memex").exists()


def test_the_script_stays_while_another_harness_runs_it(env: dict[str, str]) -> None:
    install(BOTH, env)
    (claude,) = uninstall(["claude-code"], env)
    assert (data_home(env) / "hook.sh").exists()
    assert claude.notes == [f"{data_home(env) / 'hook.sh'} stays: Codex may still run it"]
    uninstall(["codex"], env)
    assert not data_home(env).exists()


def test_the_script_stays_where_a_harness_cannot_be_unwired(env: dict[str, str]) -> None:
    install(BOTH, env)
    broken = claude_file(env).read_bytes() + b"}"
    claude_file(env).write_bytes(broken)
    claude, _ = uninstall(BOTH, env)
    assert "something follows the end" in claude.problem
    assert claude_file(env).read_bytes() == broken
    assert not codex_file(env).exists()
    assert (data_home(env) / "hook.sh").exists()


def test_our_other_files_in_the_data_home_stay(env: dict[str, str]) -> None:
    install(BOTH, env)
    (data_home(env) / "venv").mkdir()
    uninstall(BOTH, env)
    assert [path.name for path in data_home(env).iterdir()] == ["venv"]


def test_a_dry_uninstall_shows_the_difference_and_writes_nothing(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(SETTINGS)
    install(BOTH, env)
    before = tree(Path(env["HOME"]))
    claude, codex = uninstall(BOTH, env, dry_run=True)
    assert tree(Path(env["HOME"])) == before
    assert '-    "SessionEnd": [' in claude.diff
    assert codex.diff.startswith(f"--- {codex_file(env)}\n+++ /dev/null\n")


def test_codex_users_learn_which_of_their_hooks_need_trust_again(env: dict[str, str]) -> None:
    install(["codex"], env)
    document = json.loads(codex_file(env).read_bytes())
    document["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "true"}]})
    codex_file(env).write_text(json.dumps(document), "utf-8")
    (codex,) = uninstall(["codex"], env)
    assert any("move up (Stop)" in note for note in codex.notes)


# --- what check_hooks sees


def test_a_wired_claude_code_with_long_retention_is_fine(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(b'{"cleanupPeriodDays": 3650}')
    install(["claude-code"], env)
    assert [finding.level for finding in check_claude(env)] == ["ok", "ok"]
    assert [wired.state for wired in status(["claude-code"], env)] == ["in place"]


@pytest.mark.parametrize(("settings_text", "days"), [("{}", 30), ('{"cleanupPeriodDays": "x"}', 30)])
def test_the_days_that_logs_are_kept_are_told(env: dict[str, str], settings_text: str, days: int) -> None:
    claude_file(env).write_text(settings_text, "utf-8")
    install(["claude-code"], env)
    assert any(f"for {days} days" in finding.what for finding in check_claude(env) if finding.level == "ok")


def test_very_short_retention_is_a_warning_that_names_the_setting(env: dict[str, str]) -> None:
    claude_file(env).write_text('{"cleanupPeriodDays": 2}', "utf-8")
    install(["claude-code"], env)
    (warning,) = [finding for finding in check_claude(env) if finding.level == "warn"]
    assert "for 2 days" in warning.what and '"cleanupPeriodDays": 30' in warning.what
    assert str(claude_file(env)).replace("'", "'\"'\"'") in warning.fix


def test_an_unwired_harness_is_told_to_install(env: dict[str, str]) -> None:
    for check, path, name in [
        (check_claude, claude_file(env), "claude-code"),
        (check_codex, codex_file(env), "codex"),
    ]:
        first = check(env)[0]
        assert first == Finding("fail", f"no memex hook in {path}", f"memex-hooks install --harness {name}")
    assert [wired.state for wired in status(BOTH, env)] == ["not installed", "not installed"]


def test_a_missing_a_doubled_and_an_altered_hook_are_each_named(env: dict[str, str]) -> None:
    install(["claude-code"], env)
    document = json.loads(claude_file(env).read_bytes())
    del document["hooks"]["Stop"]
    document["hooks"]["PreCompact"] *= 2
    document["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] = 1
    claude_file(env).write_text(json.dumps(document), "utf-8")
    assert whats(check_claude(env), "fail") == [
        f"{claude_file(env)} has no memex hook for Stop",
        f"{claude_file(env)} has more than one memex hook for PreCompact",
        f"{claude_file(env)} has a memex hook of another release or home for SessionEnd",
    ]
    install(["claude-code"], env)
    assert whats(check_claude(env), "fail") == []


def test_a_lost_script_is_named(env: dict[str, str]) -> None:
    install(BOTH, env)
    (data_home(env) / "hook.sh").unlink()
    lost = f"the hooks run {data_home(env) / 'hook.sh'}, which is not there"
    assert lost in whats(check_claude(env), "fail")
    assert lost in whats(check_codex(env), "fail")


def test_disabled_hooks_are_named(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(b'{"disableAllHooks": true}')
    install(["claude-code"], env)
    assert any("disableAllHooks" in what for what in whats(check_claude(env), "fail"))


def test_settings_and_plugin_together_are_named_with_the_command_that_ends_it(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(b'{"enabledPlugins": {"other@x": true, "memex@memex": true}}')
    codex_config(env, '[plugins."memex@memex"]\nenabled = true\n')
    claude, _ = install(BOTH, env)
    assert any("every event is noted twice" in note for note in claude.notes)
    fixes = [finding.fix for finding in check_claude(env) + check_codex(env) if "noted twice" in finding.what]
    assert fixes == ["claude plugin disable memex@memex", "codex plugin remove memex@memex"]


def test_the_plugin_alone_is_enough(env: dict[str, str]) -> None:
    claude_file(env).write_bytes(b'{"enabledPlugins": {"memex@memex": true}, "cleanupPeriodDays": 9999}')
    assert [finding.level for finding in check_claude(env)] == ["ok", "ok"]
    claude_file(env).write_bytes(b'{"enabledPlugins": {"memex@memex": false}, "cleanupPeriodDays": 9999}')
    assert [finding.level for finding in check_claude(env)] == ["fail", "ok"]


@pytest.mark.parametrize("check", [check_claude, check_codex])
def test_settings_that_cannot_be_read_are_one_finding_with_an_editor(
    check: object, env: dict[str, str]
) -> None:
    for path in (claude_file(env), codex_file(env)):
        path.write_bytes(b'{"hooks": {},}')
    (finding,) = check(env)  # type: ignore[operator]
    assert finding.level == "fail"
    assert ":1:13: a comma before the closing bracket" in finding.what
    assert finding.fix.startswith('"${EDITOR:-vi}" ')


# --- trust, as Codex keeps it


def trust(env: dict[str, str], place: str = "", *, change: str = "", extra: str = "", skip: str = "") -> None:
    """A config.toml that trusts what hooks.json holds, the way Codex writes it."""
    lines = []
    for event, groups in json.loads(codex_file(env).read_bytes())["hooks"].items():
        handler = groups[0]["hooks"][0]
        digest = handler_hash(event, {**handler, "timeout": 99} if event == change else handler)
        snake = "".join("_" * (c.isupper() and i > 0) + c.lower() for i, c in enumerate(event))
        if event != skip:
            key = json.dumps(f"{place or codex_file(env)}:{snake}:0:0", ensure_ascii=False)
            lines.append(f'[hooks.state.{key}]\ntrusted_hash = "{digest}"\n{extra}')
    codex_config(env, "\n".join(lines))


def test_the_hash_of_a_hook_is_the_one_that_codex_shows() -> None:
    for case in json.loads((FIXTURES / "codex_trust_hashes.json").read_text("utf-8")):
        assert handler_hash(case["event"], case["handler"], case["matcher"]) == case["hash"], case


def test_fresh_codex_hooks_are_reported_as_untrusted(env: dict[str, str]) -> None:
    install(["codex"], env)
    (failure,) = [finding for finding in check_codex(env) if finding.level == "fail"]
    assert "skips 6 memex hooks" in failure.what
    assert "not trusted yet" in failure.what
    assert failure.fix == "codex"
    assert [wired.state for wired in status(["codex"], env)] == ["need attention (memex-hooks doctor)"]


def test_trusted_codex_hooks_are_fine(env: dict[str, str]) -> None:
    install(["codex"], env)
    trust(env)
    assert whats(check_codex(env), "ok")[-1] == "Codex trusts the 6 memex hooks"
    assert whats(check_codex(env), "fail") == []


def test_a_codex_home_behind_a_link_is_trusted_under_its_real_path(
    env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(codex_file(env).parent)
    linked = {**env, "CODEX_HOME": str(tmp_path / "link")}
    install(["codex"], linked)
    trust(env, str(codex_file(env).resolve()))
    assert whats(check_codex(linked), "fail") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"skip": "Stop"}, "skips 1 memex hooks (Stop): they are not trusted yet"),
        (
            {"change": "PreCompact"},
            "skips 1 memex hooks (PreCompact): they have changed since they were trusted",
        ),
        ({"extra": "enabled = false\n"}, "they are switched off in /hooks"),
        ({"place": "/elsewhere/hooks.json"}, "skips 6 memex hooks"),
    ],
)
def test_what_codex_will_not_run_is_named(env: dict[str, str], arguments: dict[str, str], words: str) -> None:
    install(["codex"], env)
    trust(env, **arguments)
    (failure,) = whats(check_codex(env), "fail")
    assert words in failure


def test_the_trust_of_plugin_hooks_is_read_too(env: dict[str, str]) -> None:
    states = ['[plugins."memex@memex"]\nenabled = true\n']
    for event, handler in CODEX.wanted(PLUGIN_LAUNCHER).items():
        snake = "".join("_" * (c.isupper() and i > 0) + c.lower() for i, c in enumerate(event))
        key = f'[hooks.state."memex@memex:hooks/hooks.json:{snake}:0:0"]'
        states.append(f'{key}\ntrusted_hash = "{handler_hash(event, handler)}/sha256:of-the-files"\n')
    codex_config(env, "\n".join(states))
    assert [finding.level for finding in check_codex(env)] == ["ok", "ok"]
    codex_config(env, states[0])
    assert whats(check_codex(env), "fail")[0].startswith("Codex skips 6 memex hooks")


@pytest.mark.parametrize("name", ["hooks", "codex_hooks"])
def test_a_codex_that_runs_no_hooks_is_named_with_the_command_that_mends_it(
    env: dict[str, str], name: str
) -> None:
    install(["codex"], env)
    trust(env)
    config = Path(env["HOME"]) / ".codex" / "config.toml"
    codex_config(env, f"{config.read_text('utf-8')}\n[features]\n{name} = false\n")
    (failure,) = [finding for finding in check_codex(env) if finding.level == "fail"]
    assert failure.fix == "codex features enable hooks"


def test_a_config_that_is_no_toml_is_one_finding(env: dict[str, str]) -> None:
    install(["codex"], env)
    codex_config(env, "[hooks\n")
    (finding,) = check_codex(env)
    assert "config.toml cannot be read" in finding.what


def test_the_config_of_codex_is_never_written(env: dict[str, str]) -> None:
    codex_config(env, "# mine\n")
    install(BOTH, env)
    check_codex(env)
    uninstall(BOTH, env)
    assert (Path(env["HOME"]) / ".codex" / "config.toml").read_bytes() == b"# mine\n"


# --- our own files


def test_the_launcher_is_checked_against_this_release(env: dict[str, str]) -> None:
    assert check_launcher(env) == []
    install(BOTH, env)
    assert [finding.level for finding in check_launcher(env)] == ["ok"]
    (data_home(env) / "hook.sh").write_bytes(b"#!/bin/sh\n")
    assert whats(check_launcher(env), "fail") == [f"{data_home(env) / 'hook.sh'} is of another release"]
    install(BOTH, env)
    (data_home(env) / "hook.conf").unlink()
    assert whats(check_launcher(env), "fail") == [
        f"{data_home(env) / 'hook.conf'} does not say where the memory is"
    ]


def test_hooks_that_write_to_another_memory_are_named(env: dict[str, str], tmp_path: Path) -> None:
    install(BOTH, {**env, "MEMEX_DATA_DIR": str(tmp_path / "elsewhere")})
    (warning,) = check_launcher(env)
    assert warning.level == "warn"
    assert str(tmp_path / "elsewhere") in warning.what


def test_timeouts_are_seconds_and_within_what_each_program_allows() -> None:
    assert set(CLAUDE.timeouts.values()) == {10}
    assert {event: seconds for event, seconds in CODEX.timeouts.items() if seconds != 10} == {"SessionEnd": 3}
