"""What an installation made in a foreign file besides its entries, so that removal leaves what was before.

An empty container says nothing about who made it; the receipt does. Receipts stand beside hook.sh, are
derived from the bytes before and after an edit, and hold no setting's value. A lost one costs only neatness:
empty containers stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from memex_core.files.atomic import write_atomic
from memex_hooks.settings_file.launcher import data_home
from memex_hooks.settings_file.strict_json import Node, decode, parse

RECEIPTS = "receipts.json"
HOOKS = "hooks"

Part = Literal["hooks", "mcp"]
"""What stands in a file: our hooks, or our MCP server."""


@dataclass(slots=True)
class Receipt:
    """Of one file. `hooks`: the table of hooks is ours; `events`: so are these arrays in it; `servers`: the
    table of MCP servers is ours. `blank`: the text of a file that held nothing, None for one that held
    something; `existed`: there was a file. `inner`: what stood between the brackets of a container that was
    empty (by event; HOOKS or the name of the servers' table; "" for the root). `added`: the text that was
    appended, with the line breaks before it, where the file is TOML."""

    harness: str = ""
    part: Part = "hooks"
    hooks: bool = False
    events: list[str] = field(default_factory=list)
    existed: bool = True
    blank: str | None = None
    inner: dict[str, str] = field(default_factory=dict)
    made_folder: bool = False
    servers: bool = False
    added: str = ""


def receipt_of(before: bytes | None, after: bytes, path: Path, earlier: Receipt | None) -> Receipt:
    """The receipt of an edit that made `after` of `before`. What an `earlier` one knows is kept."""
    old_text, new_text = decode(before or b"", path), decode(after, path)
    blank = old_text if not old_text.strip() else None
    old = parse("{}" if blank is not None else old_text, path)
    old_hooks, new_hooks = old.get(HOOKS), parse(new_text, path).get(HOOKS)
    new_events = new_hooks.names if new_hooks else []
    receipt = Receipt(
        hooks=old_hooks is None,
        events=[event for event in new_events if old_hooks is None or event not in old_hooks.names],
        existed=before is not None,
        blank=blank,
        inner={} if blank is not None else _inner(old_text, old),
    )
    if earlier is not None and before is not None:
        _keep_earlier(receipt, earlier, new_events)
    return receipt


def _keep_earlier(receipt: Receipt, earlier: Receipt, new_events: list[str]) -> None:
    receipt.hooks = receipt.hooks or earlier.hooks
    receipt.events += [
        event for event in earlier.events if event in new_events and event not in receipt.events
    ]
    if receipt.blank is None:
        receipt.blank, receipt.existed, receipt.inner = (
            earlier.blank,
            earlier.existed,
            {**earlier.inner, **receipt.inner},
        )
    receipt.made_folder = earlier.made_folder


def _inner(text: str, root: Node) -> dict[str, str]:
    hooks = root.get(HOOKS)
    containers: list[tuple[str, Node]] = [("", root)]
    if hooks is not None:
        containers += [(HOOKS, hooks), *zip(hooks.names, hooks.children, strict=True)]
    return {
        name: text[node.start + 1 : node.end - 1]
        for name, node in containers
        if node.kind in ("object", "array") and not node.children
    }


def load_receipts(env: Mapping[str, str]) -> dict[Path, Receipt]:
    """Receipts by the real path of the file; {} where there are none or they cannot be read."""
    try:
        stored = json.loads((data_home(env) / RECEIPTS).read_bytes())
        return {Path(path): Receipt(**fields) for path, fields in stored["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def noted_files(receipts: Mapping[Path, Receipt], harness: str, part: Part) -> list[Path]:
    """The files in which `part` was installed for `harness`."""
    return [path for path, receipt in receipts.items() if (receipt.harness, receipt.part) == (harness, part)]


def save_receipts(env: Mapping[str, str], receipts: Mapping[Path, Receipt]) -> None:
    """Replace all receipts; none at all removes the file."""
    path = data_home(env) / RECEIPTS
    if receipts:
        files = {str(target): asdict(receipt) for target, receipt in receipts.items()}
        write_atomic(path, json.dumps({"version": 1, "files": files}, indent=2).encode() + b"\n")
    else:
        path.unlink(missing_ok=True)
