"""Wiring the hooks and the MCP server into the harnesses, and taking them out again (DESIGN §4 Settings of
others).

Functions return what they did and print nothing. One harness whose settings cannot be edited does not keep
the others from being wired: the refusal is in its result.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from memex_core.errors import MemexError, Refused
from memex_core.files.atomic import write_atomic
from memex_core.files.lock import memory_lock
from memex_core.paths import data_dir
from memex_hooks.harness import Finding, Harness, HookEdit
from memex_hooks.harnesses import HARNESSES
from memex_hooks.settings_file.foreign_file import ChangedMeanwhile, real_path, replace_foreign
from memex_hooks.settings_file.launcher import conf_path, data_home, launcher_command, script_path
from memex_hooks.settings_file.receipts import Part, Receipt, load_receipts, receipt_of, save_receipts
from memex_hooks.settings_file.server_command import server_command, server_variables

ATTEMPTS = 3
SCRIPT_MODE = 0o700
CONF_MODE = 0o600
REINSTALL = "memex-hooks install"

Action = Literal["create", "change", "remove", "none"]


@dataclass(slots=True)
class FileChange:
    """What was done to one file, or would be; `diff` is unified, `backup` holds the bytes from before."""

    path: Path
    action: Action
    diff: str = ""
    backup: Path | None = None


@dataclass(slots=True)
class Installed:
    """What happened to one harness, or would: its files, what a person should know, why it was left alone.
    `part`: whether this is about its hooks or about the MCP server."""

    harness: str
    changes: list[FileChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""
    hint: str = ""
    part: Part = "hooks"

    @property
    def changed(self) -> list[Path]:
        """The settings files that are no longer what they were."""
        return [change.path for change in self.changes if change.action != "none"]

    @property
    def diff(self) -> str:
        """The unified diffs of all files, "" where nothing changes."""
        return "".join(change.diff for change in self.changes)


@dataclass(slots=True)
class Wired:
    """How one harness is wired: a few words for a status line on its hooks and on the MCP server, and what
    `check_hooks` sees."""

    harness: str
    state: str
    findings: list[Finding]
    mcp: str


def install(
    names: Iterable[str],
    env: Mapping[str, str],
    *,
    hooks: bool = True,
    mcp: bool = False,
    dry_run: bool = False,
) -> list[Installed]:
    """Put hook.sh in place and our hooks into the settings of the named harnesses. Twice is like once.

    `mcp`: register the MCP server too, one more result per harness; where it is registered already, it is
    kept up to date in any case. `hooks` False leaves the hooks to the plugin. Raises Refused for an unknown
    name or where our own files cannot be written or there is no server to start, LockTimeout while another
    process holds the memory.
    """
    chosen, startable = _chosen(names), os.access(server_command(env)[0], os.X_OK)
    if mcp and not startable:
        raise Refused(f"{server_command(env)[0]} is not there", hint="install memex with ./install.sh or pip")
    results = []
    with _locked(env, dry_run):
        own = _place_own_files(env, dry_run) if hooks else []
        for name, harness in chosen.items():
            apply = _change_of if dry_run else partial(_apply_addition, name, env)
            if hooks:
                results.append(_edit(name, partial(harness.plan_install, env, launcher_command(env)), apply))
            if mcp or (startable and harness.check_mcp(env)):
                plan = partial(harness.plan_mcp_install, env, server_command(env), server_variables(env))
                results.append(_edit(name, plan, apply, "mcp"))
    _note_own(results, own)
    return results


def uninstall(names: Iterable[str], env: Mapping[str, str], *, dry_run: bool = False) -> list[Installed]:
    """Take our hooks and the MCP server out of the named harnesses, then hook.sh and hook.conf once nothing
    runs them.

    The memory stays. The MCP server has a result of its own where there was one. Raises Refused for an
    unknown name, LockTimeout while another process holds the memory.
    """
    chosen = _chosen(names)
    results, servers = [], []
    with _locked(env, dry_run or not data_dir(env).is_dir()):
        apply = _change_of if dry_run else partial(_apply_removal, env)
        for name, harness in chosen.items():
            results.append(_edit(name, partial(harness.plan_uninstall, env), apply))
            servers.append(_edit(name, partial(harness.plan_mcp_uninstall, env), apply, "mcp"))
        if not dry_run:
            _forget_receipts([result for result in results + servers if not result.problem], env)
        left = [result.harness for result in results if result.problem]
        left += [
            name for name, harness in HARNESSES.items() if name not in chosen and _runs_hooks(harness, env)
        ]
        own = [] if left else _remove_own_files(env, dry_run)
    _note_own(results, own)
    if left and results and script_path(env).exists():
        users = ", ".join(HARNESSES[name].TITLE for name in left)
        results[-1].notes.append(f"{script_path(env)} stays: {users} may still run it")
    return results + [result for result in servers if result.changes or result.problem]


def status(names: Iterable[str], env: Mapping[str, str]) -> list[Wired]:
    """How the named harnesses are wired; changes nothing."""
    results = []
    for name, harness in _chosen(names).items():
        findings = harness.check_hooks(env)
        state = "in place"
        if any(finding.level == "fail" for finding in findings):
            state = "need attention (memex-hooks doctor)"
            if findings[0].level == "fail" and not _runs_hooks(harness, env):
                state = "not installed"
        results.append(Wired(name, state, findings, _server_state(harness.check_mcp(env))))
    return results


def check_launcher(env: Mapping[str, str]) -> list[Finding]:
    """Are hook.sh and hook.conf there and of this release, and do the hooks write to the memory we read?

    [] where no settings file names our script.
    """
    script, conf = script_path(env), conf_path(env)
    if not any(_runs_hooks(harness, env) for harness in HARNESSES.values()):
        return []  # a plugin brings its own script, and what is missing `check_hooks` says
    if _read(script) != _script_bytes():
        state = "is of another release" if script.exists() else "is not there"
        return [Finding("fail", f"{script} {state}", REINSTALL)]
    root = installed_root(env)
    if root is None:
        return [Finding("fail", f"{conf} does not say where the memory is", REINSTALL)]
    if root != data_dir(env):
        here = f"the memory root is {data_dir(env)} here, but the hooks write to {root}"
        return [Finding("warn", here, REINSTALL)]
    return [Finding("ok", f"the hooks run {script}")]


def installed_root(env: Mapping[str, str]) -> Path | None:
    """The memory root that the hooks use where MEMEX_DATA_DIR is not set; None without hook.conf."""
    return _conf_line(env, 0)


def installed_python(env: Mapping[str, str]) -> Path | None:
    """The Python that the hooks start; None without hook.conf."""
    return _conf_line(env, 1)


def assets_dir() -> Path:
    """The plugin folders: inside the package where it was installed, beside it in a checkout."""
    package = Path(__file__).parent
    packaged = package / "assets"
    return packaged if packaged.is_dir() else package.parent / "hooks"


def _chosen(names: Iterable[str]) -> dict[str, Harness]:
    named = list(dict.fromkeys(names))
    for name in named:
        if name not in HARNESSES:
            raise Refused(f"unknown harness {name!r}", hint=f"one of {', '.join(HARNESSES)}")
    return {name: HARNESSES[name] for name in named}


def _locked(env: Mapping[str, str], free: bool) -> contextlib.AbstractContextManager[None]:
    """The lock of the memory, or none: it must not come into being only to be locked."""
    return contextlib.nullcontext() if free else memory_lock(data_dir(env))


def _runs_hooks(harness: Harness, env: Mapping[str, str]) -> bool:
    """True where its settings name our script; a file that cannot be read may."""
    try:
        return bool(harness.plan_uninstall(env))
    except Refused:
        return True


def _server_state(findings: list[Finding]) -> str:
    if any(finding.level == "fail" for finding in findings):
        return "needs attention (memex-hooks doctor)"
    return "registered" if findings else "not registered"


def _edit(
    name: str,
    plan: Callable[[], list[HookEdit]],
    apply: Callable[[HookEdit], FileChange],
    part: Part = "hooks",
) -> Installed:
    """Plan and apply; plan again when a file changed in between, up to ATTEMPTS times."""
    result = Installed(name, part=part)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            for edit in plan():
                result.changes.append(apply(edit))
                result.notes += edit.notes
            break
        except ChangedMeanwhile as changed:
            if attempt == ATTEMPTS:
                result.problem, result.hint = str(changed), changed.hint
        except MemexError as refused:
            result.problem, result.hint = str(refused), refused.hint
            break
        except OSError as error:
            result.problem, result.hint = (
                f"{error.filename}: {error.strerror}",
                "make it writable, then try again",
            )
            break
    return result


def _apply_addition(name: str, env: Mapping[str, str], edit: HookEdit) -> FileChange:
    """Backup, receipt, file: a crash in between leaves nothing that a second run would not put right."""
    change = _change_of(edit)
    if edit.after is None or change.action == "none":
        return change
    target = real_path(edit.path)
    receipts = load_receipts(env)
    earlier = receipts.get(target)
    if edit.before is not None and earlier is None:
        change.backup = _back_up(name, target, edit.before, env)
    receipt = edit.receipt or receipt_of(edit.before, edit.after, edit.path, earlier)
    receipt.harness = name
    receipt.made_folder = receipt.made_folder or not target.parent.is_dir()
    save_receipts(env, {**receipts, target: receipt})
    replace_foreign(edit.path, edit.before, edit.after)
    return change


def _apply_removal(env: Mapping[str, str], edit: HookEdit) -> FileChange:
    target = real_path(edit.path)
    receipts = load_receipts(env)
    replace_foreign(edit.path, edit.before, edit.after)
    receipt = receipts.pop(target, Receipt())
    if edit.after is None and receipt.made_folder:
        with contextlib.suppress(OSError):
            target.parent.rmdir()
    save_receipts(env, receipts)
    return _change_of(edit)


def _forget_receipts(done: list[Installed], env: Mapping[str, str]) -> None:
    """What somebody else has taken out before leaves no edit, yet has a receipt."""
    receipts, parts = load_receipts(env), {(result.harness, result.part) for result in done}
    left = {path: one for path, one in receipts.items() if (one.harness, one.part) not in parts}
    if left != receipts:
        save_receipts(env, left)


def _back_up(name: str, target: Path, data: bytes, env: Mapping[str, str]) -> Path:
    """Keep the bytes from before our first edit; their name follows from them, so nothing is overwritten."""
    digest = hashlib.sha256(data).hexdigest()[:8]
    backup = data_dir(env) / "backups" / "install" / f"{name}.{digest}.{target.name.lstrip('.')}"
    if not backup.exists():
        write_atomic(backup, data)
    return backup


def _place_own_files(env: Mapping[str, str], dry_run: bool) -> list[FileChange]:
    lines = [os.fsencode(data_dir(env)), os.fsencode(sys.executable)]
    if any(b"\n" in line for line in lines):
        raise Refused("a line break in the path of the memory or of Python", hint="move it, then try again")
    conf = b"\n".join([*lines, b""])
    wanted = [(script_path(env), _script_bytes(), SCRIPT_MODE), (conf_path(env), conf, CONF_MODE)]
    changes = []
    try:
        for path, data, mode in wanted:
            changes.append(_change_of(HookEdit(path, _read(path), data)))
            if changes[-1].action != "none" and not dry_run:
                write_atomic(path, data, mode)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}", hint=f"make {data_home(env)} writable") from None
    return changes


def _remove_own_files(env: Mapping[str, str], dry_run: bool) -> list[FileChange]:
    changes = []
    for path in (script_path(env), conf_path(env)):
        if path.exists():
            changes.append(FileChange(path, "remove"))
            if not dry_run:
                path.unlink()
    if not dry_run:
        with contextlib.suppress(OSError):
            data_home(env).rmdir()  # stays where it holds more, such as the environment that install.sh made
    return changes


def _note_own(results: list[Installed], own: list[FileChange]) -> None:
    words = {"create": "new", "change": "brought up to date", "remove": "removed"}
    notes = [f"{change.path}: {words[change.action]}" for change in own if change.action in words]
    if results:
        results[0].notes[:0] = notes


def _change_of(edit: HookEdit) -> FileChange:
    if edit.before == edit.after:
        return FileChange(edit.path, "none")
    action: Action = "create" if edit.before is None else "remove" if edit.after is None else "change"
    old_name, new_name = (
        "/dev/null" if data is None else str(edit.path) for data in (edit.before, edit.after)
    )
    lines = difflib.unified_diff(_lines(edit.before), _lines(edit.after), old_name, new_name, lineterm="")
    return FileChange(edit.path, action, "".join(f"{line}\n" for line in lines))


def _lines(data: bytes | None) -> list[str]:
    return data.decode("utf-8", "replace").removesuffix("\n").split("\n") if data else []


def _script_bytes() -> bytes:
    """hook.sh; every plugin folder holds the same bytes."""
    return min(assets_dir().glob("*/hook.sh")).read_bytes()


def _conf_line(env: Mapping[str, str], number: int) -> Path | None:
    lines = (_read(conf_path(env)) or b"").split(b"\n")
    return Path(os.fsdecode(lines[number])) if len(lines) > number and lines[number] else None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
