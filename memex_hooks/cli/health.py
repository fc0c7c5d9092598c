"""`memex-hooks doctor` and `status`."""

from __future__ import annotations

import time

import click

from memex_core.cli.output import memory_root, open_memex, print_json, with_json
from memex_hooks import spool
from memex_hooks.capture import behind
from memex_hooks.cli.options import environment, harness_option
from memex_hooks.doctor import examine
from memex_hooks.harnesses import HARNESSES
from memex_hooks.install_uninstall import status as wiring_status

_MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


@click.command()
@harness_option
@with_json
def doctor(harnesses: tuple[str, ...], as_json: bool) -> None:
    """Try the real path and report what is wrong, each with one command that mends it. Exits 1 when
    something is.
    """
    names = list(harnesses) or list(HARNESSES)
    findings = []
    for named in examine(memory_root(), environment(), names, time.time()):
        findings.append(
            {
                "about": named.about,
                "level": named.finding.level,
                "what": named.finding.what,
                "fix": named.finding.fix,
            }
        )
        if not as_json:
            mark, colour = _MARKS[named.finding.level]
            fix = f"\n        fix: {named.finding.fix}" if named.finding.fix else ""
            click.echo(f"{click.style(mark.ljust(4), fg=colour)}  {named.about}: {named.finding.what}{fix}")
    if as_json:
        print_json(findings)
    if any(finding["level"] != "ok" for finding in findings):
        raise click.exceptions.Exit(1)


@click.command()
@harness_option
@with_json
def status(harnesses: tuple[str, ...], as_json: bool) -> None:
    """Which harnesses are wired, what is captured, what waits."""
    env, root = environment(), memory_root()
    memex = open_memex()
    rows, present = [], dict.fromkeys(HARNESSES, False)
    for name in harnesses or tuple(HARNESSES):
        harness = HARNESSES[name]
        present[name] = harness.is_present(env)
        missing, total = behind(memex, harness, env) if present[name] else ([], 0)
        captured = [s for s in memex.list_sessions() if s.harness == name]
        last = max((s.ended_at for s in captured), default="")
        wired = wiring_status([name], env)[0] if present[name] else None
        rows.append(
            {
                "harness": name,
                "hooks": wired.state if wired else "not found",
                "mcp": wired.mcp if wired else "not found",
                "captured": len(captured),
                "on_disk": total,
                "behind": len(missing),
                "last": last,
            }
        )
    waiting = {"pending": len(spool.pending(root)), "failed": len(spool.failed(root))}
    if as_json:
        print_json({"memory": str(root), "harnesses": rows, "spool": waiting})
        return
    click.echo(f"memory   {root}")
    for row in rows:
        title, seen = HARNESSES[str(row["harness"])].TITLE, row["last"] or "never"
        if not present[str(row["harness"])]:
            click.echo(f"{title}: not on this machine")
            continue
        click.echo(f"{title}: hooks {row['hooks']}; MCP server {row['mcp']}")
        click.echo(f"  sessions captured: {row['captured']} (last {seen})")
        click.echo(
            f"  logs on disk: {row['on_disk']}, of which not in memory as they are there: {row['behind']}"
        )
    click.echo(f"spool    {waiting['pending']} waiting, {waiting['failed']} failed")
