"""recalls.jsonl folded into front matter, then trimmed (DESIGN §1): counts move, none is lost or doubled.

The plan holds absolute counts and is on disk before anything changes: a fold that was cut off is finished by
the next one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memex_core import paths
from memex_core.errors import BadPage, NotFound
from memex_core.files.atomic import remove_file, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.files.regular import read_regular
from memex_core.model.page import is_ours
from memex_core.store.wiki_store import WikiStore

_PLAN = ".recalls-folding.json"


def recalls_of(root: Path) -> dict[str, tuple[int, str]]:
    """(times, when last) of the recalls that recalls.jsonl holds, by the page's path from the root."""
    return _tally(_whole_lines(root))


def last_recalls(root: Path) -> dict[str, str]:
    """The time of the last recall of each page that recalls.jsonl names, by its path from the root."""
    return {path: last for path, (_, last) in recalls_of(root).items()}


def fold_recalls(root: Path, store: WikiStore) -> int:
    """Move the counts of recalls.jsonl into the pages; returns how many pages they went to.

    Raises LockTimeout, OSError, WikiStoreError; then the next fold goes on where this one ended.
    """
    with memory_lock(root):
        finish_fold(root, store)
        data = _whole_lines(root)
        counts: dict[str, tuple[int, str]] = {}
        foreign: set[str] = set()
        for path, (times, last) in _tally(data).items():
            page = _page(store, path)
            if page is not None and is_ours(page):
                counts[path] = (page.access_count + times, max(page.last_access or "", last))
            elif page is not None:
                foreign.add(path)
        if not counts:
            return 0
        plan = {
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "pages": counts,
            "kept": _lines_about(data, foreign),
        }
        write_atomic(root / _PLAN, json.dumps(plan).encode())
        finish_fold(root, store)
        return len(counts)


def finish_fold(root: Path, store: WikiStore) -> None:
    """Carry out the plan on disk, if there is one; doing so twice is like once. The caller holds the memory
    lock: to be called before anything else rewrites recalls.jsonl.
    """
    try:
        plan = json.loads(read_regular(root / _PLAN, root))
        size, digest, pages = int(plan["bytes"]), str(plan["sha256"]), dict(plan["pages"])
        kept = str(plan["kept"]).encode()
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError, RecursionError):
        remove_file(root / _PLAN)
        return
    recalls = paths.recalls_path(root)
    data = read_regular(recalls, root) if recalls.exists() else b""
    if len(data) >= size and hashlib.sha256(data[:size]).hexdigest() == digest:
        write_atomic(recalls, kept + data[size:])
    for path, (count, last) in pages.items():
        page = _page(store, path)
        if page is not None and (page.access_count < count or (page.last_access or "") < last):
            with contextlib.suppress(BadPage, NotFound):
                store.amend(page.slug, page.type, access_count=count, last_access=last)
    remove_file(root / _PLAN)


def _page(store: WikiStore, path: str) -> Any:
    _, _, name = path.partition("docs/")
    folder, _, file = name.partition("/")
    node_type = paths.TYPE_OF_FOLDER.get(folder)
    return store.read(file.removesuffix(".md"), node_type) if node_type and file else None


def _tally(data: bytes) -> dict[str, tuple[int, str]]:
    """path -> (how often, when last)."""
    found: dict[str, tuple[int, str]] = {}
    for path, moment in _recalls(data):
        times, last = found.get(path, (0, ""))
        found[path] = (times + 1, max(last, moment))
    return found


def _lines_about(data: bytes, pages: set[str]) -> str:
    """The recalls of `pages` alone: of pages that are not ours to count in."""
    told = ({"ts": moment, "paths": [name]} for name, moment in _recalls(data) if name in pages)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in told)


def _recalls(data: bytes) -> Iterator[tuple[str, str]]:
    for raw in data.splitlines():
        try:
            line = json.loads(raw)
            moment, names = str(line["ts"]), {name for name in line["paths"] if isinstance(name, str)}
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        for name in names:
            yield name, moment


def _whole_lines(root: Path) -> bytes:
    try:
        data = read_regular(paths.recalls_path(root), root)
    except FileNotFoundError:
        return b""
    return data[: data.rfind(b"\n") + 1]
