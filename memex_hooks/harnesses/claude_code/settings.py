"""Claude Code's settings.json: our hooks in it, the switches that silence them, and how long logs live
(formats/claude-code.md §1.2, §1.7, §2 Retention, §7)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memex_core.errors import Refused
from memex_hooks.harness import Finding, HookEdit
from memex_hooks.harnesses.claude_code.log import config_dir
from memex_hooks.settings_file.foreign_file import read_foreign
from memex_hooks.settings_file.strict_json import decode, parse, plain
from memex_hooks.settings_file.wiring import Wiring, editor_command

WIRING = Wiring(
    "claude-code",
    # Seconds. SessionEnd: the hooks share 1.5 s unless a settings file says more (§1.7).
    {
        "SessionStart": 10,
        "UserPromptSubmit": 10,
        "Stop": 10,
        "PreCompact": 10,
        "SubagentStop": 10,
        "SessionEnd": 10,
    },
)
INSTALL = "memex-hooks install --harness claude-code"
PLUGIN_PREFIX = "memex@"
DEFAULT_CLEANUP_DAYS = 30
RISKY_CLEANUP_DAYS = 7
"""With fewer, a week without the harness is enough to lose a session whose hook never ran."""


def settings_path(env: Mapping[str, str]) -> Path:
    """${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json."""
    return config_dir(env) / "settings.json"


def plan_install(env: Mapping[str, str], command: str) -> list[HookEdit]:
    """The edit of settings.json. Raises Refused where the file is not strict JSON or has another shape."""
    change = WIRING.addition(settings_path(env), command)
    notes = []
    if change.before and (plugin := _plugin(_settings(change.before, change.path))):
        notes.append(
            f"the plugin {plugin} is enabled too: every event is noted twice; `{_disable(plugin)}` ends that"
        )
    return [HookEdit(change.path, change.before, change.after, notes)]


def plan_uninstall(env: Mapping[str, str]) -> list[HookEdit]:
    """The edits that take our hooks out of every settings.json that we put them in."""
    changes = WIRING.removals(settings_path(env), env)
    return [HookEdit(change.path, change.before, change.after) for change in changes]


def after_install() -> list[str]:
    """Claude Code picks its settings up by itself."""
    return []


def check_hooks(env: Mapping[str, str]) -> list[Finding]:
    """Are our hooks in settings.json once, complete and allowed to run; when does Claude Code delete logs?"""
    path = settings_path(env)
    try:
        data = read_foreign(path) or b""
        settings = _settings(data, path)
        problems = WIRING.problems(data, path, env)
    except Refused as refused:
        return [Finding("fail", str(refused), editor_command(path))]
    findings = _wiring_findings(problems, path, _plugin(settings))
    if settings.get("disableAllHooks") is True:
        findings.append(
            Finding("fail", f"disableAllHooks in {path} keeps every hook from running", editor_command(path))
        )
    return [*findings, _retention(settings, path)]


def _wiring_findings(problems: list[str], path: Path, plugin: str) -> list[Finding]:
    if plugin and problems[:1] == [f"no memex hook in {path}"]:
        return [Finding("ok", f"the hooks come from the plugin {plugin}")]
    findings = [Finding("fail", problem, INSTALL) for problem in problems]
    if not problems:
        findings.append(Finding("ok", f"{len(WIRING.timeouts)} hooks in {path}"))
    if plugin:
        both = f"hooks in {path} and the plugin {plugin}: every event is noted twice"
        findings.append(Finding("warn", both, _disable(plugin)))
    return findings


def _retention(settings: Mapping[str, object], path: Path) -> Finding:
    days = settings.get("cleanupPeriodDays")
    days = days if isinstance(days, int) else DEFAULT_CLEANUP_DAYS
    kept = f"Claude Code keeps session logs for {days} days; what is in memory by then stays"
    if days >= RISKY_CLEANUP_DAYS:
        return Finding("ok", kept)
    risk = f"{kept}, a session missed for that long is lost"
    return Finding("warn", f'{risk}: set "cleanupPeriodDays": 30 or more in {path}', editor_command(path))


def _settings(data: bytes, path: Path) -> dict[str, object]:
    document = plain(parse(decode(data, path), path)) if data.strip() else {}
    return document if isinstance(document, dict) else {}


def _plugin(settings: Mapping[str, object]) -> str:
    """The id of our plugin when it is enabled, else ""."""
    enabled = settings.get("enabledPlugins")
    names = enabled.items() if isinstance(enabled, dict) else ()
    return next((name for name, on in names if name.startswith(PLUGIN_PREFIX) and on is True), "")


def _disable(plugin: str) -> str:
    return f"claude plugin disable {plugin}"
