"""Pages that a person or another program made odd: found, listed with what is odd, never changed by us."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.session import IngestTranscriptInput

ODD: dict[str, tuple[str, bytes]] = {
    "no front matter": ("entities/plain.md", b"# A heading\n\nxylophone words\n"),
    "wrong types": (
        "entities/types.md",
        b"---\ntitle: [a, b]\ntags: 7\nimportance: high\ncreated: yesterday\n---\nxylophone\n",
    ),
    "tabs": ("entities/tabs.md", b"---\ntitle:\tTabs\n\tnested: x\n---\nxylophone\n"),
    "crlf": ("preferences/crlf.md", b"---\r\ntitle: Lines\r\n---\r\nxylophone\r\n"),
    "byte order mark": ("entities/bom.md", b"\xef\xbb\xbf---\ntitle: Mark\n---\nxylophone\n"),
    "duplicate keys": ("procedures/twice.md", b"---\ntitle: One\ntitle: Two\n---\nxylophone\n"),
    "a list where a text belongs": ("summaries/list.md", b"---\ntitle:\n  - a\n  - b\n---\nxylophone\n"),
    "a list as front matter": ("summaries/all-list.md", b"---\n- a\n- b\n---\nxylophone\n"),
    "an unknown type folder": ("ideas/kite.md", b"---\ntitle: Kite\ntype: idea\n---\nxylophone\n"),
    "no folder": ("loose.md", b"xylophone\n"),
    "two megabytes": ("entities/big.md", b"# Big\n" + b"filler words of a page\n" * 95_000 + b"xylophone\n"),
    "obsidian properties": (
        "entities/obsidian.md",
        b"---\naliases: [Other name]\ncssclasses: [wide]\ntags: ['#tool']\n---\nxylophone ![[image.png]]\n",
    ),
    "not utf-8": ("entities/latin.md", "---\ntitle: Café\n---\nxylophone\n".encode("latin-1")),
    "an anchor": ("entities/anchor.md", b"---\ntitle: &a x\nother: *a\n---\nxylophone\n"),
    "never closed": ("entities/open.md", b"---\ntitle: Open\nxylophone\n"),
    "empty values": ("entities/empty.md", b"---\ntitle:\ntags:\nimportance:\n---\nxylophone\n"),
    "front matter only": ("entities/only.md", b"---\ntitle: xylophone\n---\n"),
}


@pytest.fixture
def memex(root: Path) -> Memex:
    for name, data in ODD.values():
        path = root / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Memex(root)


def test_each_is_found_by_its_text(memex: Memex) -> None:
    found = [hit.file_path for hit in memex.recall("xylophone", top_k=50).hits]
    assert sorted(found) == sorted(str(memex.root / "docs" / name) for name, _ in ODD.values())


def test_each_is_listed_with_what_is_odd_about_it(memex: Memex) -> None:
    pages = {page.file_path: page for page in memex.list_pages()}
    assert len(pages) == len(ODD)
    for kind, (name, _) in ODD.items():
        page = pages[memex.root / "docs" / name]
        assert page.title, kind
        assert page.warning or page.note or kind in ("front matter only", "empty values"), kind


def test_only_what_could_not_be_understood_counts_as_a_problem(memex: Memex) -> None:
    told = {warning.split(":")[0].removeprefix("docs/") for warning in memex.page_warnings()}
    kinds = {kind for kind, (name, _) in ODD.items() if name in told}
    assert kinds == {
        "wrong types",
        "tabs",
        "duplicate keys",
        "a list where a text belongs",
        "a list as front matter",
        "an unknown type folder",
        "no folder",
        "not utf-8",
        "an anchor",
        "never closed",
    }


def test_no_operation_on_anything_else_changes_its_bytes(memex: Memex, tmp_path: Path) -> None:
    memex.write(WriteInput("entity", "Neighbour", "Links to [[kite]] and [[plain]]."))
    turns = [{"role": "user", "content": "I prefer ruff.", "ts": "2026-09-15T10:00:00Z", "turn": 1}]
    memex.ingest_transcript(IngestTranscriptInput("s1", turns))  # type: ignore[arg-type]
    memex.recall("xylophone", top_k=50)
    memex.rebuild_index(force=True)
    memex.import_nodes(memex.export_nodes(), on_conflict="update")
    memex.backup(tmp_path / "a.tar.gz")
    memex.get_provenance("kite")
    memex.forget("neighbour")
    memex.delete_sessions(["s1"])
    for kind, (name, data) in ODD.items():
        assert (memex.root / "docs" / name).read_bytes() == data, kind


def test_decay_changes_nothing_but_its_own_keys(memex: Memex) -> None:
    """Fading is asked for: it sets importance and the like, in pages that can be changed safely."""
    early = Memex(memex.root, now=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 9e6)))
    changed = {slug for slug, _, _ in early.apply_decay()}
    for kind, (name, data) in ODD.items():
        now = (memex.root / "docs" / name).read_bytes()
        if Path(name).stem not in changed:
            assert now == data, kind
            continue
        body = data.split(b"---")[-1]
        assert now.endswith(body.lstrip(b"\xef\xbb\xbf")), kind
        kept = [line for line in data.splitlines() if b"importance" not in line]
        assert all(line in now.splitlines() for line in kept[:40]), kind
