"""`memex ingest-transcript`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast, get_args

import click

from memex_core.cli.arguments import FILE, refusing_arguments
from memex_core.cli.input import parse_json, read_json, read_text
from memex_core.cli.output import counted, examples, open_memex, print_json, shown, with_json
from memex_core.errors import Refused
from memex_core.model.session import IngestTranscriptInput, Role, TurnStreamEntry
from memex_core.text.redact import redact

NAMED_LINES = 10
_TEXTS = ("content", "ts", "tool_name", "result", "query")


@click.command(
    "ingest-transcript",
    epilog=examples(
        "memex ingest-transcript --session-id sess-abc123 --turns-file turns.jsonl",
        "memex ingest-transcript --session-id s2 --turns-file - --metadata @about.json < turns.jsonl",
    ),
)
@click.option("--session-id", required=True, metavar="ID", help="What the session is called from now on.")
@click.option(
    "--turns-file",
    type=FILE,
    required=True,
    help="Turns as JSON, one a line or as one array; - for standard input.",
)
@click.option(
    "--metadata", default="", metavar="JSON|@FILE", help="What else to keep of it, a JSON object or its file."
)
@click.option("--overwrite", is_flag=True, help="Replace a transcript of that id.")
@with_json
def ingest_transcript(
    session_id: str, turns_file: Path, metadata: str, overwrite: bool, as_json: bool
) -> None:
    """Keep a conversation that you have as a file.

    Secrets in it are not kept ([capture] redact).

    A turn: {"role": "user|agent|tool", "content": "...", "ts": "2026-09-15T10:00:00Z", "turn": 1}
    """
    about = _metadata(metadata)
    turns = _turns(read_text(turns_file), "standard input" if str(turns_file) == "-" else str(turns_file))
    memex = open_memex()
    if memex.config.capture.redact:
        turns = [_redacted(turn) for turn in turns]
    with refusing_arguments():
        report = memex.ingest_transcript(IngestTranscriptInput(session_id, turns, about), overwrite=overwrite)
    if as_json:
        print_json(report)
        return
    counts = f"{report.user_turns} user, {report.agent_turns} agent, {report.tool_turns} tool"
    click.echo(f"{report.outcome}: {report.session_id}, {counted(report.turn_count, 'turn')} ({counts})")
    if report.episode_file_path:
        click.echo(f"  {shown(report.episode_file_path)}")
    for node in report.nodes:
        click.echo(f"  {shown(node)}")


def _redacted(turn: TurnStreamEntry) -> TurnStreamEntry:
    """A turn without secrets: what comes from a session is stored without them ([capture] redact)."""
    told = {key: redact(value) if isinstance(value, str) else value for key, value in turn.items()}
    return cast(TurnStreamEntry, told)


def _metadata(given: str) -> dict[str, Any]:
    """The object of --metadata. Raises click.UsageError where it is none, Refused for a file that is none."""
    if not given:
        return {}
    if given.startswith("@"):
        value = read_json(Path(given[1:]))
    else:
        try:
            value = parse_json(given, "--metadata")
        except Refused as error:
            raise click.UsageError(str(error)) from None
    if not isinstance(value, dict):
        raise click.UsageError("--metadata is no JSON object")
    return value


def _turns(text: str, name: str) -> list[TurnStreamEntry]:
    """The turns of a file; header lines are passed over. Raises Refused, naming each line that is no turn."""
    if text.lstrip().startswith("["):
        entries = parse_json(text, name)
        found = [(f"turn {number}", entry) for number, entry in enumerate(entries, 1)]
    else:
        lines = enumerate(text.split("\n"), 1)
        found = [(f"line {number}", _entry(line)) for number, line in lines if line.strip()]
    turns = [(where, entry) for where, entry in found if not _is_header(entry)]
    bad = [f"{where} {problem}" for where, entry in turns if (problem := _problem(entry))]
    if bad:
        more = f"; and {len(bad) - NAMED_LINES} more" if len(bad) > NAMED_LINES else ""
        raise Refused(
            f"{name} holds what is no turn: {'; '.join(bad[:NAMED_LINES])}{more}", hint="nothing was kept"
        )
    if not turns:
        raise Refused(f"{name} holds no turn")
    return [cast(TurnStreamEntry, entry) for _, entry in turns]


def _entry(line: str) -> Any:
    """The JSON value of a line, or None, which no turn is."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_header(entry: Any) -> bool:
    return isinstance(entry, dict) and "role" not in entry and entry.get("type") == "memex_session_header"


def _problem(entry: Any) -> str:
    """Why an entry is no turn of seed 000 §4.1; "" where it looks like one."""
    if entry is None:
        return "is not JSON"
    if not isinstance(entry, dict):
        return "is not an object"
    if entry.get("role") not in get_args(Role):
        return f"has the role {shown(repr(entry.get('role')))[:40]}, not user, agent or tool"
    wrong = [name for name in _TEXTS if not isinstance(entry.get(name, ""), str | None)]
    if wrong:
        return f"has a {wrong[0]} that is no text"
    if entry.get("content") is None and entry["role"] != "tool":
        return "has no content"
    return ""
