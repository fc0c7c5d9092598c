from __future__ import annotations

import copy
import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_memory import SmallMemory, age

from memex_core.archive import import_export
from memex_core.archive.import_export import ImportExport
from memex_core.errors import WikiStoreError
from memex_core.model.node import WikiNode
from memex_core.model.results import ImportReport
from memex_core.store.journal import ForgottenSession, Journal
from memex_core.store.wiki_store import WikiStore

NOW = "2026-09-15T10:00:00Z"
FULL = """---
# a comment
title:   "Ruff linter"   # the name
rating: 5
aliases: [ruff, 'the linter']
nested:
  deep: {a: [1, "2"], b: ~}
id: "a1b2c3d4-e5f6-7890-abcd-ef1234567890"
type: entity
tags: ["tool", "linter"]
importance: 0.80
created: "2026-09-15T10:00:00Z"
updated: "2026-09-15T12:00:00Z"
access_count: 7
last_access: "2026-09-15T14:30:00Z"
transcript_ref: null
links: ["python-3-11"]
content_hash: "sha256:stale"
slug: other
warning: mine
---
# Ruff

See [[uv]].
---
"""
AWKWARD = {
    "crlf": "---\r\ntitle: Windows\r\n---\r\nline\r\n\r\n",
    "bom": "\ufeff---\ntitle: Marked\n---\nbody",
    "plain": "# No front matter\n\nat all",
    "empty": "",
    "only front matter": "---\ntitle: x\n---",
    "ends": "---\ntitle: x\n---\n\n\n\nbody\n\n\n",
    "controls": "---\ntitle: x\n---\na\x01b\x0bc\x1bd\x7f\x85\u2028",
    "emoji": "---\ntitle: 🦘\n---\n🦘 部署 e\u0301",
    "large": "---\ntitle: x\n---\n" + "words " * 350_000,
    "fences": "---\ntitle: x\n---\n---\ntitle: y\n---\n---\n",
    "not closed": "---\ntitle: x\nwords",
    "bad yaml": "---\ntitle: [\n---\nwords",
    "duplicate": "---\ntitle: a\ntitle: b\n---\nwords",
    "anchors": "---\na: &x 1\nb: *x\n---\nwords",
    "wrong types": "---\ntitle: [a]\ntags: {a: b}\nimportance: high\ncreated: now\nlinks: 3\n---\nwords",
    "other type": "---\ntype: procedure\nimportance: 7\naccess_count: -3\n---\nwords",
    "obsidian": "---\ntags: a, b\ncssclasses:\n  - wide\npublish: no\n---\nwords #c",
    "empty front matter": "---\n---\nwords",
    "null title": "---\ntitle:\nexpires_at: ''\n---\nwords",
}


class Memory:
    """A memory root with what Memex gives to ImportExport."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = WikiStore(root)
        self.records = Journal(root)
        self.written: list[tuple[str, str, str]] = []
        self.exchange = ImportExport(
            self.store,
            lambda node: self.store.put(node, now=NOW),
            self.records.forgotten,
            lambda action, page, title: self.written.append((action, page, title)),
        )

    def page(self, name: str, text: str | bytes) -> Path:
        return SmallMemory(self.root).page(name, text)

    def write(self, title: str, body: str = "Words.\n", **fields: Any) -> WikiNode:
        return self.store.put(WikiNode("entity", title, body, **fields), now=NOW).node

    def export(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(json.dumps(self.exchange.export_nodes()))
        return document

    def take(self, *nodes: Any, on_conflict: str = "skip") -> ImportReport:
        return self.exchange.import_nodes(list(nodes), on_conflict)

    def files(self) -> dict[str, bytes]:
        docs = self.root / "docs"
        return {p.relative_to(docs).as_posix(): p.read_bytes() for p in docs.rglob("*") if p.is_file()}

    def times(self) -> dict[str, int]:
        return {str(p): p.stat().st_mtime_ns for p in self.root.rglob("*") if p.name != ".lock"}


@pytest.fixture
def memory(root: Path) -> Memory:
    return Memory(root)


@pytest.fixture
def other(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "other")


def outcomes(report: ImportReport) -> int:
    lists = ("created", "updated", "unchanged", "renamed", "skipped", "refused")
    return sum(len(getattr(report, name)) for name in lists)


def node(title: str = "Ruff", body: str = "Fast.\n", **fields: Any) -> dict[str, Any]:
    return {"type": "entity", "title": title, "body": body, **fields}


def without_time(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "exported_at"}


def test_a_document_has_the_keys_of_the_specification_first(memory: Memory) -> None:
    memory.page("entities/ruff-linter.md", FULL)
    document = memory.export()
    (exported,) = document["nodes"]
    assert list(document) == ["version", "exported_at", "nodes"]
    assert document["version"] == "1.0"
    assert list(exported)[:9] == [
        "slug",
        "type",
        "title",
        "tags",
        "importance",
        "created",
        "updated",
        "body",
        "links",
    ]
    assert {key: exported[key] for key in ("slug", "type", "title", "tags", "importance", "links")} == {
        "slug": "ruff-linter",
        "type": "entity",
        "title": "Ruff linter",
        "tags": ["tool", "linter"],
        "importance": 0.8,
        "links": ["python-3-11", "uv"],
    }
    assert (exported["transcript_ref"], exported["access_count"]) == (None, 7)
    assert exported["nested"] == {"deep": {"a": ["1", "2"], "b": None}}
    assert (exported["rating"], exported["aliases"]) == ("5", ["ruff", "the linter"])
    assert exported["front_matter"] + exported["body"] == FULL


def test_nodes_come_sorted_by_path_and_by_type_if_asked(memory: Memory) -> None:
    for name in ("preferences/a", "entities/b", "entities/a", "a"):
        memory.page(f"{name}.md", "words")
    assert [n["slug"] for n in memory.export()["nodes"]] == ["a", "a", "b", "a"]
    assert [n["slug"] for n in memory.exchange.export_nodes("entity")["nodes"]] == ["a", "b"]
    with pytest.raises(ValueError, match="not a page type"):
        memory.exchange.export_nodes("thing")


@pytest.mark.parametrize("name", AWKWARD)
def test_any_page_comes_back_byte_for_byte(memory: Memory, other: Memory, name: str) -> None:
    memory.page("entities/page.md", AWKWARD[name])
    report = other.exchange.import_nodes(memory.export())
    assert (report.created, report.imported, outcomes(report)) == (["page"], 1, 1)
    assert other.files() == memory.files()


def test_places_outside_the_type_folders_odd_names_and_other_encodings_come_back(
    memory: Memory, other: Memory
) -> None:
    memory.page("loose.md", "words")
    memory.page("notes/My note (draft).md", FULL)
    memory.page("entities/Ärger & Co. 部署-नमस्ते.md", "words")
    memory.page("entities/latin.md", "---\ntitle: x\n---\nM\xfcnchen".encode("latin-1"))
    other.exchange.import_nodes(memory.export())
    assert other.files() == memory.files()


def test_a_page_without_dates_keeps_those_of_its_file(memory: Memory, other: Memory) -> None:
    for name, text in {"none": "words", "half": f"---\nupdated: {NOW}\n---\nwords"}.items():
        os.utime(memory.page(f"entities/{name}.md", text), (1_600_000_000, 1_600_000_000))
    before = memory.export()
    other.exchange.import_nodes(before)
    assert without_time(other.export()) == without_time(before)
    assert other.export()["nodes"][1]["created"] == "2020-09-13T12:26:40Z"


def test_importing_twice_changes_nothing(memory: Memory, other: Memory) -> None:
    memory.page("entities/ruff.md", FULL)
    memory.page("notes/odd.md", AWKWARD["bad yaml"])
    written = node("By hand", "text", tags=["#x"], rating=5, deep={"a": [1, None]}, links=["Uv"])
    document = memory.export()
    document["nodes"].append(written)
    for on_conflict in ("skip", "update", "rename"):
        other.exchange.import_nodes(document, on_conflict)
        age(other.root)
        before, times = other.files(), other.times()
        report = other.exchange.import_nodes(document, on_conflict)
        assert (report.imported, report.conflicts, len(report.unchanged)) == (0, [], 3)
        assert (other.files(), other.times()) == (before, times)


def test_an_own_export_imported_where_it_came_from_is_all_unchanged(memory: Memory) -> None:
    memory.write("Ruff", tags=["a"], importance=0.9)
    for number, text in enumerate(AWKWARD.values()):
        memory.page(f"summaries/{number}.md", text)
    report = memory.exchange.import_nodes(memory.export())
    assert len(report.unchanged) == outcomes(report) == len(AWKWARD) + 1


def test_recalls_since_the_export_are_no_conflict(memory: Memory) -> None:
    memory.write("Ruff")
    document = memory.export()
    memory.store.amend("ruff", access_count=9, last_access=NOW)
    before = memory.files()
    assert memory.exchange.import_nodes(document, "update").unchanged == ["ruff"]
    assert memory.files() == before


def test_a_value_changed_in_the_document_is_changed_in_the_front_matter_only(
    memory: Memory, other: Memory
) -> None:
    memory.page("entities/ruff.md", FULL)
    document = memory.export()
    document["nodes"][0] |= {"importance": 0.4, "rating": 6, "body": "new\n", "valid_to": NOW}
    assert other.exchange.import_nodes(document).created == ["ruff"]
    text = other.files()["entities/ruff.md"].decode()
    expected = FULL.replace("0.80", "0.4").replace("rating: 5", "rating: 6").split("# Ruff")[0]
    expected = expected.replace('"python-3-11"', '"python-3-11", "uv"')
    ours = ("content_hash", "hand_edited", "valid_to", "body_links", "---", "new")
    assert [line for line in text.splitlines() if not line.startswith(ours)] == [
        line for line in expected.splitlines() if not line.startswith(ours)
    ]
    assert f'\nvalid_to: "{NOW}"\n' in text
    assert text.endswith("\n---\nnew\n")


def test_a_hand_written_node_becomes_a_page_like_any_other(memory: Memory) -> None:
    report = memory.take(node("Ruff linter", "Fast.\n\nSee [[uv]].", rating=5))
    assert report.created == ["ruff-linter"]
    page = memory.store.read("ruff-linter")
    assert page is not None
    assert (page.title, page.body, page.links) == ("Ruff linter", "Fast.\n\nSee [[uv]].", ["uv"])
    assert (page.created, page.updated, page.importance) == (NOW, NOW, 0.5)
    assert page.id
    assert b"\nrating: 5\n" in memory.files()["entities/ruff-linter.md"]


def test_a_node_of_the_specification_keeps_its_slug_id_dates_and_counts(memory: Memory) -> None:
    created = "2020-01-01T00:00:00Z"
    memory.take(node(slug="own-slug", id="my-id", created=created, updated=created, access_count=3))
    page = memory.store.read("own-slug")
    assert page is not None
    assert (page.id, page.created, page.updated, page.access_count) == ("my-id", created, created, 3)


def test_null_says_nothing_in_a_hand_written_node(memory: Memory) -> None:
    memory.write("Ruff", "Fast.\n", valid_to=NOW, importance=0.9, tags=["a"])
    nulls = dict.fromkeys(("slug", "tags", "importance", "valid_to", "transcript_ref", "id", "created"))
    assert memory.take(node() | nulls, on_conflict="update").unchanged == ["ruff"]


def test_a_hand_written_node_updates_what_it_says_and_nothing_else(memory: Memory) -> None:
    before = memory.write("Ruff", "Fast.\n", valid_to=NOW, importance=0.9, tags=["a"])
    memory.store.amend("ruff", extra={"rating": 5})
    report = memory.take(node(body="Faster.\n", tags=["b"], stars=3), on_conflict="update")
    assert (report.updated, report.conflicts) == (["ruff"], ["ruff"])
    page = memory.store.read("ruff")
    assert page is not None
    assert (page.id, page.body, page.tags) == (before.id, "Faster.\n", ["b"])
    assert (page.valid_to, page.importance, page.extra) == (NOW, 0.9, {"rating": "5", "stars": "3"})
    assert memory.take(node(body="Faster.\n", tags=["b"], stars=3)).unchanged == ["ruff"]


def test_a_title_finds_its_page_under_another_slug(memory: Memory) -> None:
    memory.write("Ruff!")
    memory.write("Ruff", "Fast.\n")
    assert memory.take(node("RUFF ", "Fast.\n")).conflicts == ["ruff-2"]
    assert memory.take(node("Ruff", "Fast.\n")).unchanged == ["ruff-2"]


def test_skip_leaves_a_page_that_differs_and_reports_it(memory: Memory) -> None:
    memory.write("Ruff", "Mine.\n")
    before, times = memory.files(), memory.times()
    report = memory.take(node())
    assert (report.conflicts, report.skipped, report.imported) == (["ruff"], ["ruff"], 0)
    assert (memory.files(), memory.times()) == (before, times)


def test_update_makes_the_page_what_the_export_holds(memory: Memory, other: Memory) -> None:
    memory.page("entities/ruff.md", FULL)
    other.page("entities/ruff.md", "other words")
    report = other.exchange.import_nodes(memory.export(), "update")
    assert (report.updated, report.conflicts, report.imported) == (["ruff"], ["ruff"], 1)
    assert other.files() == memory.files()
    assert other.written == [("update", "entities/ruff", "Ruff linter")]


@pytest.mark.parametrize("name", ["bad yaml", "not closed", "anchors"])
@pytest.mark.parametrize("exported", [True, False])
def test_a_page_that_cannot_be_read_is_never_replaced(
    memory: Memory, other: Memory, name: str, exported: bool
) -> None:
    memory.write("Ruff")
    other.page("entities/ruff.md", AWKWARD[name])
    nodes = memory.export()["nodes"] if exported else [node(slug="ruff")]
    report = other.take(*nodes, on_conflict="update")
    assert (report.imported, report.conflicts, len(report.refused)) == (0, ["ruff"], 1)
    assert "cannot be read" in report.refused[0][1]
    assert other.files() == {"entities/ruff.md": AWKWARD[name].encode()}


@pytest.mark.parametrize("exported", [True, False])
def test_rename_puts_the_other_page_beside_it_once(memory: Memory, other: Memory, exported: bool) -> None:
    memory.page("entities/ruff.md", FULL)
    other.page("entities/ruff.md", "mine")
    nodes = memory.export()["nodes"] if exported else [node("Ruff linter", slug="ruff")]
    report = other.take(*nodes, on_conflict="rename")
    assert (report.renamed, report.conflicts, report.imported) == (["ruff-2"], ["ruff"], 1)
    assert other.files()["entities/ruff.md"] == b"mine"
    again = other.take(*nodes, on_conflict="rename")
    assert (again.renamed, again.unchanged) == ([], ["ruff-2"])
    other.page("entities/ruff-2.md", "mine, too")
    assert other.take(*nodes, on_conflict="rename").renamed == ["ruff-3"]
    assert len(other.files()) == 3


def test_a_page_whose_name_differs_in_letter_case_is_at_the_same_place(memory: Memory) -> None:
    memory.page("entities/Ruff.md", "mine")
    exported = {**node(), "slug": "ruff", "front_matter": ""}
    assert memory.take(exported).conflicts == ["Ruff"]
    assert memory.take(exported, on_conflict="rename").renamed == ["Ruff-2"]


def test_two_nodes_for_one_place_are_one_page_and_a_conflict(memory: Memory) -> None:
    first, second = ({**node(body=body), "slug": "ruff", "front_matter": ""} for body in "ab")
    report = memory.take(first, second, first)
    assert (report.created, report.conflicts, report.unchanged) == (["ruff"], ["ruff"], ["ruff"])


REFUSED: list[tuple[Any, str]] = [
    (None, "object"),
    ([node()], "object"),
    ({}, "not a page type"),
    (node() | {"type": "thing"}, "not a page type"),
    (node() | {"type": ["entity"]}, "not a page type"),
    (node() | {"title": 3}, "title is missing"),
    (node(" \n"), "needs a title"),
    (node("\x01"), "needs a title"),
    (node() | {"body": None}, "body is missing"),
    (node() | {"body": ["a"]}, "body is missing"),
    (node(body="x" * 10_000_001), "10,000,001 characters"),
    (node(slug="../../etc/passwd"), "no file name"),
    (node(slug="/etc/passwd"), "no file name"),
    (node(slug="a\\b"), "no file name"),
    (node(slug="."), "no file name"),
    (node(slug=".hidden"), "no file name"),
    (node(slug=""), "no file name"),
    (node(slug="a\nb"), "no file name"),
    (node(slug="\ud800"), "no file name"),
    (node(slug="x" * 300), "no file name"),
    (node(slug=7), "no file name"),
    (node(slug="not a slug"), "slug"),
    (node(slug="con"), "con"),
    (node(importance=1.5), "importance"),
    (node(importance=float("nan")), "importance"),
    (node(importance="0.5"), "importance"),
    (node(importance=True), "importance"),
    (node(access_count=-1), "access_count"),
    (node(access_count=1.5), "access_count"),
    (node(tags="a, b"), "tags is not a list"),
    (node(tags=["a", 1]), "tags is not a list"),
    (node(links={"a": 1}), "links is not a list"),
    (node(created="yesterday"), "created"),
    (node(valid_to="soon"), "valid_to"),
    (node(expires_at=20260915), "expires_at"),
    (node(project=["a"]), "project"),
    (node(tags=["x" * 70_000]), "longer than 64 KiB"),
    (node(**{"ti\x00tle": "y"}), "twice"),
    (node(**{"x\x00": "y"}), "front matter"),
    (node(rating={1: 2}), "key"),
    (node(rating={"a"}), "JSON"),
    (node(rating=10**5000), "digits"),
    ({**node(), "front_matter": "", "slug": None}, "no file name"),
    ({**node(), "front_matter": 5, "slug": "a"}, "front_matter"),
    ({**node(), "front_matter": "", "slug": "../a"}, "no file name"),
    ({**node(), "front_matter": "", "slug": "a", "folder": "../x"}, "no file name"),
    ({**node(), "front_matter": "", "slug": "a", "folder": ".."}, "no file name"),
    ({**node(), "front_matter": "", "slug": "a", "folder": "a.md"}, "folder"),
    ({**node(), "front_matter": "", "slug": "a", "folder": None}, "no file name"),
    ({**node(body="---\na: b\n---\nc"), "front_matter": "", "slug": "a"}, "fit together"),
    ({**node(body="\ud800"), "front_matter": "", "slug": "a"}, "surrogates"),
    ({**node(), "raw": "?", "slug": "a"}, "base64"),
    ({**node(), "raw": "eA==", "slug": "a"}, "fit together"),
    ({**node(), "front_matter": "", "slug": "a", "importance": 2}, "importance"),
    ({**node(body="x"), "front_matter": "---\na: [\n---\n", "slug": "a"}, "fit together"),
]


@pytest.mark.parametrize(("value", "why"), REFUSED)
def test_what_is_no_page_is_refused_by_itself_with_the_reason(
    memory: Memory, tmp_path: Path, value: Any, why: str
) -> None:
    report = memory.take(value, node("Good"))
    assert (report.created, len(report.refused), outcomes(report)) == (["good"], 1, 2)
    assert why in report.refused[0][1]
    assert len(report.refused[0][1]) < 300
    assert list(memory.files()) == ["entities/good.md"]
    assert {p.name for p in tmp_path.iterdir()} == {"home", "memex"}


def test_nesting_that_front_matter_cannot_hold_is_refused(memory: Memory) -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    report = memory.take(node(rating=deep), {"title": deep, "type": deep}, node("Good"))
    assert (report.created, len(report.refused)) == (["good"], 2)


@pytest.mark.parametrize(
    "name",
    [
        *("aa$(touch PWNED)x", "a`id`", "a;b", " a", "a\u00a0b", "a\u2028b", 'a"b', "a|b"),
        *("a>b", "a*", "a?", "a:b", "a\\b"),
        *("-rf", "--help", ".hidden", "", "a\x1b]0;t\x07", "a\x7f", "a\x9b", "\u202ea", "a\u200bb"),
        *("docs/x y", "z/", "/z", "..", "a\tb", "a\rb", "\ue000", "a\u3164b", "a\ufeffb", "a<b"),
    ],
)  # fmt: skip
def test_a_name_that_a_shell_or_terminal_could_take_for_more_is_refused_by_itself(
    memory: Memory, name: str
) -> None:
    with_file = {**node(), "front_matter": "", "slug": "x"}
    report = memory.take(
        node(slug=name), with_file | {"slug": name}, with_file | {"folder": name}, node("ok")
    )
    fits = [name] if name == "" else []  # docs/ itself is a folder
    assert len(report.refused) == 3 - len(fits)
    assert all("no file name to import" in why for _, why in report.refused)
    assert sorted(Path(path).stem for path in memory.files()) == ["ok", *["x" for _ in fits]]


def test_a_refused_node_is_named_by_slug_title_or_place(memory: Memory) -> None:
    report = memory.take({"slug": "a"}, {"title": "B"}, 3)
    assert [name for name, _ in report.refused] == ["a", "B", "node 3"]


@pytest.mark.parametrize(
    "document",
    [
        None,
        "[]",
        7,
        {},
        {"nodes": {}},
        {"version": "2.0", "nodes": []},
        {"version": 1, "nodes": []},
        {"version": ["1.0"], "nodes": []},
        {"version": None, "nodes": []},
    ],
)
def test_what_is_no_document_of_this_version_is_a_value_error(memory: Memory, document: Any) -> None:
    with pytest.raises(ValueError, match="export"):
        memory.exchange.import_nodes(document)
    assert not memory.root.exists()


def test_a_document_without_a_version_and_a_list_of_nodes_are_read(memory: Memory) -> None:
    assert memory.exchange.import_nodes({"nodes": [node("A")]}).created == ["a"]
    assert memory.exchange.import_nodes({"version": "1.0", "nodes": [node("B")]}).created == ["b"]
    assert memory.exchange.import_nodes([node("C")]).created == ["c"]


def test_another_way_with_conflicts_is_a_value_error(memory: Memory) -> None:
    with pytest.raises(ValueError, match="on_conflict"):
        memory.exchange.import_nodes([], "overwrite")


def test_a_folder_or_page_that_is_a_link_out_of_docs_is_never_followed(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "page.md").write_text("theirs", "utf-8")
    (memory.root / "transcripts").mkdir(parents=True)
    docs = memory.root / "docs"
    (docs / "entities").mkdir(parents=True)
    (docs / "notes").symlink_to(tmp_path / "away")
    (docs / "inner").symlink_to(memory.root / "transcripts")
    (docs / "entities" / "page.md").symlink_to(tmp_path / "away" / "page.md")
    nodes = [{**node(), "front_matter": "", "slug": "x", "folder": folder} for folder in ("notes", "inner")]
    report = memory.take(*nodes, node("page", slug="page"), on_conflict="update")
    assert [why for _, why in report.refused] == [
        "the folder 'notes' leads outside the memory root",
        "the folder 'inner' leads outside the memory root",
        "what is there leads outside the memory root",
    ]
    assert (tmp_path / "away" / "page.md").read_text("utf-8") == "theirs"
    assert [p.name for p in (tmp_path / "away").iterdir()] == ["page.md"]
    assert not list((memory.root / "transcripts").iterdir())


def test_a_folder_where_a_page_belongs_costs_that_page_only(memory: Memory) -> None:
    (memory.root / "docs" / "entities" / "ruff.md").mkdir(parents=True)
    (memory.root / "docs" / "notes").write_text("a file", "utf-8")
    in_a_file = {**node(), "front_matter": "", "slug": "x", "folder": "notes"}
    report = memory.take(node(slug="ruff"), in_a_file, node("Uv"), on_conflict="update")
    assert (report.created, [name for name, _ in report.refused]) == (["uv"], ["ruff", "x"])


def test_a_full_disk_ends_the_import_and_leaves_no_half_page(
    memory: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.write("Ruff")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(import_export, "commit_staged", full)
    with pytest.raises(WikiStoreError, match="No space left"):
        other.exchange.import_nodes(memory.export())
    assert other.files() == {}


def test_what_is_written_as_a_file_is_told_and_the_rest_goes_through_put(
    memory: Memory, other: Memory
) -> None:
    memory.page("notes/odd.md", "words")
    memory.page("loose.md", "words")
    memory.write("Ruff")
    other.exchange.import_nodes([*memory.export()["nodes"], node("By hand")])
    assert other.written == [
        ("add", "entities/ruff", "Ruff"),
        ("add", "loose", "loose"),
        ("add", "notes/odd", "odd"),
    ]


def test_files_are_private(memory: Memory, other: Memory) -> None:
    memory.page("entities/ruff.md", FULL).chmod(0o644)
    other.exchange.import_nodes(memory.export())
    assert (other.root / "docs" / "entities" / "ruff.md").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_named_in_the_document(memory: Memory) -> None:
    memory.page("entities/a.md", "words")
    memory.page("entities/b.md", "words").chmod(0)
    document = memory.export()
    assert [exported["slug"] for exported in document["nodes"]] == ["a"]
    assert document["problems"] == ["docs/entities/b.md: Permission denied"]


def test_pages_of_a_session_that_was_forgotten_do_not_come_back(memory: Memory, other: Memory) -> None:
    memory.write("Said", sources=["gone#3"])
    memory.write("Shared", sources=["kept#1", "gone#4"])
    memory.write("Referred", transcript_ref="transcripts/gone.jsonl")
    memory.write("Kept", sources=["kept#2"])
    memory.page("episodes/gone.md", "---\nsession_id: gone\n---\nwords")
    memory.page("episodes/kept.md", "---\nsession_id: kept\n---\nwords")
    document = memory.export()
    other.records.forget_session(ForgottenSession("gone"), NOW)
    report = other.exchange.import_nodes(document, "update")
    assert report.created == ["kept", "kept"]
    assert report.skipped == ["referred", "said", "shared", "gone"]
    assert outcomes(report) == 6


@pytest.mark.parametrize(
    ("session", "cue", "title"),
    [("s1", "user-fact", "Ruff"), ("s1", "consolidated", "Ruff"), ("", "typed", "By hand")],
)
def test_a_node_that_was_forgotten_does_not_come_back(
    memory: Memory, session: str, cue: str, title: str
) -> None:
    memory.records.forget_node(session, 3, cue, title, NOW)
    nodes = [node(sources=["s1#3"]), node("Other", sources=["s1#3"]), node("By hand")]
    report = memory.take(*nodes)
    forgotten = {"Ruff": "ruff", "By hand": "by-hand"}
    assert report.skipped == [title]
    assert sorted(report.created) == sorted({"ruff", "other", "by-hand"} - {forgotten[title]})


def test_an_episode_that_was_forgotten_does_not_come_back(memory: Memory) -> None:
    memory.records.forget_node("s1", 0, "episode", "", NOW)
    report = memory.take(
        node("Session", session_id="s1") | {"type": "episode"}, node("Fact", sources=["s1#1"])
    )
    assert (report.skipped, report.created) == (["Session"], ["fact"])


def test_a_page_that_is_here_again_on_purpose_is_unchanged(memory: Memory) -> None:
    memory.write("Ruff", "Fast.\n")
    memory.records.forget_node("", 0, "typed", "Ruff", NOW)
    assert memory.take(node()).unchanged == ["ruff"]
    report = memory.take(node(body="Old words.\n"), on_conflict="update")
    assert (report.skipped, report.conflicts) == (["Ruff"], [])


def test_an_import_does_not_slow_down_with_its_size(memory: Memory, other: Memory) -> None:
    for number in range(300):
        memory.page(f"entities/page-{number}.md", FULL.replace("Ruff linter", f"Page {number}"))
    exported = memory.export()["nodes"]
    started = time.perf_counter()
    report = other.take(*exported, *(node(f"Typed {number}") for number in range(300)))
    assert report.imported == 600
    assert time.perf_counter() - started < 10


names = st.from_regex(r"[a-zé0-9_][a-z0-9_.é部 ()&,-]{0,12}", fullmatch=True).map(str.strip)
folders = st.sampled_from(["entities", "preferences", "episodes", "notes", ""])
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
lines = st.sampled_from(
    [
        "title: A title",
        'tags: ["a", "b"]',
        "importance: 0.3",
        "importance: x",
        "created: 2026-01-01",
        "updated: never",
        "links: [a, b]",
        "# comment",
        "rating: 5",
        "deep: {a: {b: [1, 2]}}",
        "list:\n  - a\n  - b: c",
        "slug: x",
        "body: y",
        "front_matter: z",
        "access_count: 3",
        "type: summary",
        "sources: [s#1]",
        "session_id: s",
        "broken: [",
        "quoted: 'it''s'",
        "expires_at:",
        "folder: f",
    ]
)
fronts = st.lists(lines, max_size=6).map(lambda found: "".join(f"{line}\n" for line in found))
texts = st.one_of(
    words,
    st.tuples(st.sampled_from(["", "\ufeff"]), fronts, words).map(lambda p: f"{p[0]}---\n{p[1]}---\n{p[2]}"),
    st.tuples(fronts, words).map(lambda p: f"---\n{p[0]}---\n{p[1]}".replace("\n", "\r\n")),
)
pages = st.dictionaries(
    st.tuples(folders, names), st.one_of(texts.map(str.encode), st.binary(max_size=20)), max_size=4
)


@given(pages)
@settings(max_examples=60, deadline=None)
def test_export_and_import_are_inverse(tmp_path_factory: pytest.TempPathFactory, found: Any) -> None:
    home = tmp_path_factory.mktemp("exchange")
    one, two = Memory(home / "one"), Memory(home / "two")
    for (folder, name), data in found.items():
        os.utime(one.page(f"{folder}/{name}.md".lstrip("/"), data), (1_600_000_000, 1_600_000_000))
    document = one.export()
    report = two.exchange.import_nodes(copy.deepcopy(document))
    assert (len(report.created), report.refused) == (len(found), [])
    assert two.files() == one.files()
    assert without_time(two.export()) == without_time(document)
    assert len(two.exchange.import_nodes(document, "rename").unchanged) == len(found)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    ["slug", "tags", "importance", "created", "links", "front_matter", "raw", "folder", "x"]
) | (
    st.sampled_from(
        ["sources", "id", "session_id", "transcript_ref", "access_count", "content_hash", "warning"]
    )
)
near_nodes = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["entity", "episode", "x"]),
        "title": st.one_of(st.just("T"), json_values),
        "body": st.one_of(words, json_values),
    }
).flatmap(lambda base: st.dictionaries(keys, json_values | words, max_size=4).map(lambda more: base | more))
documents = st.one_of(
    json_values,
    st.lists(near_nodes, max_size=4),
    st.fixed_dictionaries(
        {"version": st.just("1.0") | json_values, "nodes": st.lists(near_nodes, max_size=4)}
    ),
)


@given(documents, st.sampled_from(["skip", "update", "rename"]))
@settings(max_examples=150, deadline=None)
def test_any_json_value_is_read_or_refused_and_touches_nothing_but_docs(
    tmp_path_factory: pytest.TempPathFactory, document: Any, on_conflict: str
) -> None:
    home = tmp_path_factory.mktemp("exchange")
    memory = Memory(home / "memory")
    try:
        report = memory.exchange.import_nodes(document, on_conflict)
    except ValueError:
        assert not memory.root.exists()
        return
    assert outcomes(report) == len(document if isinstance(document, list) else document["nodes"])
    assert {p.name for p in home.iterdir()} <= {"memory"}
    if memory.root.exists():
        assert {p.name for p in memory.root.iterdir()} <= {"docs", ".lock"}
        assert len(memory.files()) == report.imported - len(report.updated)
        again = memory.exchange.import_nodes(document, on_conflict)
        assert again.renamed == []
