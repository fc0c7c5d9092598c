"""Codex's hooks.json and config.toml: our hooks, the features that silence them, and whether they are trusted
(formats/codex.md §4.1, §4.3). config.toml is only read here: trust is the user's to give."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from memex_core.errors import Refused
from memex_hooks.harness import Finding, HookEdit
from memex_hooks.harnesses.codex.log import config_dir
from memex_hooks.settings_file.foreign_file import read_foreign
from memex_hooks.settings_file.hook_entries import Entry, Handler, entries_of
from memex_hooks.settings_file.strict_json import HINT, decode, parse
from memex_hooks.settings_file.wiring import Wiring, editor_command

WIRING = Wiring(
    "codex",
    # Seconds. SessionEnd: Codex allows 3 at most and would rewrite more, which changes the hash that is
    # trusted.
    {
        "SessionStart": 10,
        "UserPromptSubmit": 10,
        "Stop": 10,
        "PreCompact": 10,
        "SubagentStop": 10,
        "SessionEnd": 3,
    },
)
INSTALL = "memex-hooks install --harness codex"
TRUST = 'start codex and choose "Trust all and continue", or go through them in /hooks'
PLUGIN_PREFIX = "memex@"
PLUGIN_LAUNCHER = 'sh "${PLUGIN_ROOT}/hook.sh"'
ALLOWED_KEYS = ("description", "hooks")
NO_MATCHER = ("UserPromptSubmit", "Stop")
DEFAULT_TIMEOUT = 600

Trust = Literal["trusted", "modified", "untrusted", "disabled"]


def hooks_path(env: Mapping[str, str]) -> Path:
    """${CODEX_HOME:-~/.codex}/hooks.json."""
    return config_dir(env) / "hooks.json"


def plan_install(env: Mapping[str, str], command: str) -> list[HookEdit]:
    """The edit of hooks.json. Raises Refused where the file is not strict JSON or Codex would reject it."""
    change = WIRING.addition(hooks_path(env), command)
    _refuse_what_codex_rejects(change.before or b"", change.path)
    return [HookEdit(change.path, change.before, change.after)]


def after_install() -> list[str]:
    """What Codex still wants from the user."""
    return [
        f"Codex skips new hooks without a word until you trust them once: {TRUST}.",
        "Until then, `memex-hooks capture --all` finds its sessions.",
    ]


def plan_uninstall(env: Mapping[str, str]) -> list[HookEdit]:
    """The edits that take our hooks out of every hooks.json that we put them in."""
    edits = []
    for change in WIRING.removals(hooks_path(env), env):
        moved = _events_with_later_groups(change.before or b"", change.path)
        note = (
            f"your own hooks after ours move up ({', '.join(moved)}): Codex will ask you to trust them again"
        )
        edits.append(HookEdit(change.path, change.before, change.after, [note] if moved else []))
    return edits


def check_hooks(env: Mapping[str, str]) -> list[Finding]:
    """Are our hooks in hooks.json once and complete, does Codex run hooks, does it trust ours as they are?"""
    path, config_path = hooks_path(env), config_dir(env) / "config.toml"
    try:
        data = read_foreign(path) or b""
        _refuse_what_codex_rejects(data, path)
        problems = WIRING.problems(data, path, env)
        entries = entries_of(data, path, WIRING.owns)
    except Refused as refused:
        return [Finding("fail", str(refused), editor_command(path))]
    try:
        config = tomllib.loads((read_foreign(config_path) or b"").decode("utf-8-sig"))
    except (Refused, ValueError) as error:
        return [Finding("fail", f"{config_path} cannot be read: {error}", editor_command(config_path))]
    plugin = _plugin(config)
    return [
        *_wiring_findings(problems, path, plugin),
        *_feature(config),
        *_trust_findings(entries, env, config, plugin),
    ]


def handler_hash(event: str, handler: Mapping[str, object], matcher: str | None = None) -> str:
    """What Codex compares with `trusted_hash`: SHA-256 over event, matcher and the handler in its normal
    form.

    Seen with `hooks/list` of codex-cli 0.171.0. A plugin's hash goes on with "/" and a hash of the plugin's
    files.
    """
    default, most = (1, 3) if event == "SessionEnd" else (DEFAULT_TIMEOUT, None)
    given = handler.get("timeout", default)
    seconds = max(given, 1) if isinstance(given, int) else default
    normal: Handler = {
        "type": "command",
        "command": handler.get("command"),
        "timeout": min(seconds, most) if most else seconds,
        "async": handler.get("async") is True,
    }
    if handler.get("statusMessage") is not None:
        normal["statusMessage"] = handler["statusMessage"]
    identity: dict[str, object] = {"event_name": _snake(event), "hooks": [normal]}
    if matcher is not None and event not in NO_MATCHER:
        identity["matcher"] = matcher
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _trust_findings(
    entries: list[Entry], env: Mapping[str, str], config: Mapping[str, object], plugin: str
) -> list[Finding]:
    states = _table(_table(config.get("hooks")).get("state"))
    found: dict[Trust, list[str]] = {}
    for event, keys, expected in [*_file_hooks(entries, env), *_plugin_hooks(plugin)]:
        found.setdefault(_trust(states, keys, expected), []).append(event)
    words: dict[Trust, str] = {
        "untrusted": "are not trusted yet",
        "modified": "have changed since they were trusted",
        "disabled": "are switched off in /hooks",
    }
    findings = [
        Finding(
            "fail",
            f"Codex skips {len(events)} memex hooks ({', '.join(events)}): they {words[trust]}; {TRUST}",
            "codex",
        )
        for trust, events in found.items()
        if trust != "trusted"
    ]
    if found and not findings:
        findings.append(Finding("ok", f"Codex trusts the {len(found['trusted'])} memex hooks"))
    return findings


def _file_hooks(entries: list[Entry], env: Mapping[str, str]) -> Iterable[tuple[str, list[str], str]]:
    """(event, possible keys, hash). Codex resolves CODEX_HOME before it writes a key, but not ~/.codex."""
    folders = dict.fromkeys([config_dir(env), config_dir(env).resolve()])
    for entry in entries:
        place = f"{_snake(entry.event)}:{entry.group}:{entry.handler}"
        keys = [f"{folder / 'hooks.json'}:{place}" for folder in folders]
        yield entry.event, keys, handler_hash(entry.event, entry.value, entry.matcher)


def _plugin_hooks(plugin: str) -> Iterable[tuple[str, list[str], str]]:
    for event, handler in WIRING.wanted(PLUGIN_LAUNCHER).items() if plugin else ():
        yield event, [f"{plugin}:hooks/hooks.json:{_snake(event)}:0:0"], handler_hash(event, handler)


def _trust(states: Mapping[str, object], keys: list[str], expected: str) -> Trust:
    state = next((_table(states[key]) for key in keys if key in states), {})
    given = state.get("trusted_hash")
    if state.get("enabled") is False:
        return "disabled"
    if not isinstance(given, str):
        return "untrusted"
    return "trusted" if given.split("/")[0] == expected else "modified"


def _wiring_findings(problems: list[str], path: Path, plugin: str) -> list[Finding]:
    if plugin and problems[:1] == [f"no memex hook in {path}"]:
        return [Finding("ok", f"the hooks come from the plugin {plugin}")]
    findings = [Finding("fail", problem, INSTALL) for problem in problems]
    if not problems:
        findings.append(Finding("ok", f"{len(WIRING.timeouts)} hooks in {path}"))
    if plugin:
        both = f"hooks in {path} and the plugin {plugin}: every event is noted twice"
        findings.append(Finding("warn", both, f"codex plugin remove {plugin}"))
    return findings


def _feature(config: Mapping[str, object]) -> list[Finding]:
    features = _table(config.get("features"))
    off = [name for name in ("hooks", "codex_hooks") if features.get(name) is False]
    return (
        [Finding("fail", "Codex runs no hooks: [features] hooks = false", "codex features enable hooks")]
        if off
        else []
    )


def _refuse_what_codex_rejects(data: bytes, path: Path) -> None:
    root = parse(decode(data, path), path) if data.strip() else None
    for name in root.names if root else ():
        if name not in ALLOWED_KEYS:
            raise Refused(f'{path}: Codex rejects the whole file because of the key "{name}"', hint=HINT)


def _events_with_later_groups(data: bytes, path: Path) -> list[str]:
    hooks = parse(decode(data, path), path).get("hooks")
    counts = (
        {name: len(groups.children) for name, groups in zip(hooks.names, hooks.children, strict=True)}
        if hooks
        else {}
    )
    entries = entries_of(data, path, WIRING.owns)
    return list(dict.fromkeys(entry.event for entry in entries if entry.group < counts[entry.event] - 1))


def _plugin(config: Mapping[str, object]) -> str:
    """The id of our plugin when it is enabled, else ""."""
    plugins = _table(config.get("plugins"))
    ours = (name for name, table in plugins.items() if _table(table).get("enabled") is not False)
    return next((name for name in ours if name.startswith(PLUGIN_PREFIX)), "")


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
