"""What two stores know of each other (formats page 3.3, 3.4): which page is which item, as both were last
seen.

The same records lie in two places. `<DIR>/.memex/export.json` of a directory that we exported also holds what
an item cannot: a page's front matter, its exact body, where it lies. `docs/.wikimem/` of a memory that
imported holds the raw files beside it, each under its hash. Both are read with suspicion.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memex_core.errors import Refused
from memex_core.files.regular import open_regular

VERSION = 1
SIDE_FILE = ".memex/export.json"
"""In a directory that we exported: outside wiki/ and diary/, and no *.md."""
_MAX_BYTES = 1 << 30
_OPTIONAL = ("content_sha256", "taken", "escaped", "said", "node", "type", "items", "names", "own", "plain")
_KINDS: dict[str, type] = {
    "taken": bool,
    "escaped": bool,
    "said": list,
    "node": dict,
    "items": dict,
    "names": dict,
    "plain": bool,
}

Json = dict[str, Any]


@dataclass(slots=True)
class Record:
    """One item and its page. `sha256` is that of name + "\\n" + content, as in wikimem's own vector cache.

    `page` is the page's id, else "<folder>/<slug>"; `said` owner, source and ts as they were written.
    `taken`: the body was made of the item, so the item may stay as it stands while the body does; `escaped`:
    the item was made of the body, with backslashes. `node` (only in the side file) is what `page_node` reads.
    `plain` (only in a memory): so it was in a directory that no memory had exported.
    """

    file: str
    name: str
    sha256: str
    page: str
    title: str
    body_sha256: str
    content_sha256: str = ""
    taken: bool = False
    escaped: bool = False
    said: list[str | None] = field(default_factory=lambda: [None] * 3)
    node: Json = field(default_factory=dict)
    plain: bool = False


@dataclass(slots=True)
class FileRecord:
    """One file as it was last seen. `kind`: "pages" (of the page type `type`, where its name does not say
    so; no hash in a side file), "recallfile" or "day" (a memory's own), "raw".

    `items`: name -> hash, of the items of a memory's own RecallFile. In a file of "pages" they stand beside
    those of pages: `names` says what the memory calls those that have another name there, and `own` (only in
    the side file) is its own RecallFile as a whole.
    """

    sha256: str
    kind: str = "raw"
    type: str = ""
    items: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    own: str = ""


@dataclass(slots=True)
class Records:
    """`directory`: a name of the directory that was exported, which memories that know all of it remember."""

    files: dict[str, FileRecord] = field(default_factory=dict)
    items: list[Record] = field(default_factory=list)
    directory: str = ""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def load_records(path: Path, hint: str) -> Records | None:
    """The records in a file; None where there is none. Raises Refused, with `hint`, for what is damaged."""
    try:
        with open_regular(path) as file:
            document = json.loads(file.read(_MAX_BYTES))
        return _records(document)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise Refused(f"{path} cannot be read: {error}", hint=hint) from None


def records_json(records: Records) -> bytes:
    """The records as JSON, one item a line, without what says nothing."""
    lines = [_line(asdict(record)) for record in records.items]
    listed = [f"{json.dumps(name)}: {_line(asdict(kept))}" for name, kept in sorted(records.files.items())]
    files, items = ",\n  ".join(listed), ",\n  ".join(lines)
    named = f' "directory": {json.dumps(records.directory)},\n' if records.directory else ""
    head = f'{{"version": {VERSION},\n{named} "files"'
    return f'{head}: {{\n  {files}\n }},\n "items": [\n  {items}\n ]}}\n'.encode()


def _line(values: Json) -> str:
    kept = {key: value for key, value in values.items() if key not in _OPTIONAL or value}
    return json.dumps(kept, ensure_ascii=False)


def _records(document: Any) -> Records:
    """Raises ValueError or TypeError for what is no such document."""
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError(f"it is not of version {VERSION}")
    listed, items, directory = document.get("files"), document.get("items"), document.get("directory", "")
    if not isinstance(listed, dict) or not isinstance(items, list) or not isinstance(directory, str):
        raise ValueError("it holds no files or no items")
    files = {name: FileRecord(**_checked(value)) for name, value in listed.items()}
    return Records(files, [Record(**_checked(value)) for value in items], directory)


def _checked(value: Any) -> Json:
    """The fields of a record, each of its kind."""
    if not isinstance(value, dict):
        raise ValueError("a record is no object")
    for name, given in value.items():
        if not isinstance(given, _KINDS.get(name, str)):
            raise ValueError(f"{name} of a record is not of its kind")
    for texts in (value.get("items", {}), value.get("names", {})):
        if not all(isinstance(each, str) for each in texts.values()):
            raise ValueError("items of a record are no texts")
    said = value.get("said", [None] * 3)
    if len(said) != 3 or not all(each is None or isinstance(each, str) for each in said):
        raise ValueError("said of a record is not three texts")
    return value
