"""The conformance cases of the wikimem format (read, day, write, dwrite, refuse, links), each run on real
files. Where wikimem's own answer loses or hides something, our stated deviation is pinned instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore
from memex_core.text.blocks import item_links

CASES = json.loads((Path(__file__).parent.parent / "fixtures" / "wikimem" / "cases.json").read_text("utf-8"))
DAY = "2026-03-05"
REFUSED = "refused"

DEVIATIONS: dict[str, Any] = {
    # A byte order mark does not hide the first item.
    "r07-bom-eats-first-item": [["cat", "x", None, None, None], ["dog", "y", None, None, None]],
    # What a person wrote around the new item keeps its bytes: mark, title, CRLF, unknown keys, both cats.
    "w09-rewrite-normalises": (
        "\ufeff# My Pets\r\n\r\nintro\r\n\r\n##  cat\r\nold\r\n<!-- wikimem: mood=sad | owner=k -->\r\n"
        "## dog\r\n\r\n\r\nd\r\n## cat\r\nnew\r\n\r\n## eel\r\n\r\ne\r\n\r\n<!-- wikimem: ts=T -->\r\n"
    ),
    # Content that would be read as a heading or as metadata is not taken.
    "w12-heading-in-content-splits": REFUSED,
    "w13-comment-in-content-vanishes": REFUSED,
    # A new event goes to its place among the times of the day; what a person wrote does not move.
    "d04-append-resorts-as-strings": (
        "# 2026-03-05\n\n## 9:00\n\na\n\n## Evening\n\nb\n\n## 12:00\n\nd\n\n"
        "<!-- wikimem: ts=2026-03-05T12:00:00+00:00 -->\n\n## 22:00\n\nc\n"
    ),
}


def of_kind(*kinds: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] in kinds]


def wanted(case: dict[str, Any]) -> Any:
    return DEVIATIONS.get(case["id"], case["want"])


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))


def everything(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize("case", of_kind("read"))
def test_a_recallfile_reads_as_wikimem_reads_it(case: dict[str, Any], root: Path) -> None:
    put(root / "wiki" / "pets.md", case["raw"])
    items = RecallFileStore(root).items("pets")
    assert [[i.name, i.content, i.owner, i.source_conv, i.ts] for i in items] == wanted(case)


@pytest.mark.parametrize("case", of_kind("day"))
def test_a_day_reads_as_wikimem_reads_it(case: dict[str, Any], root: Path) -> None:
    put(root / "diary" / f"{DAY}.md", case["raw"])
    events = Diary(root).day(DAY)
    assert [[e.time, e.content, e.owner, e.source_conv, e.ts] for e in events] == wanted(case)
    assert [e.ordinal for e in events] == list(range(len(events)))


@pytest.mark.parametrize("case", of_kind("write", "dwrite"))
def test_a_write_gives_the_bytes_of_wikimem(case: dict[str, Any], root: Path) -> None:
    path = root / ("diary" if case["kind"] == "dwrite" else "wiki") / f"{case.get('file', DAY)}.md"
    if "raw" in case:
        put(path, case["raw"])
    act = RecallFileStore(root).add if case["kind"] == "write" else Diary(root).append
    target = [case["file"]] if case["kind"] == "write" else []
    for _, arguments, options in case["ops"]:
        if wanted(case) == REFUSED:
            with pytest.raises(ValueError, match="line 2 would be read as a"):
                act(*target, *arguments, **options)
            assert everything(root) == {}
            return
        act(*target, *arguments, **options)
    assert path.read_bytes().decode("utf-8") == wanted(case)


@pytest.mark.parametrize("case", of_kind("refuse"))
def test_what_wikimem_refuses_is_refused_and_nothing_is_written(case: dict[str, Any], root: Path) -> None:
    operation, arguments, options = case["op"]
    act = RecallFileStore(root).add if operation == "store.add" else Diary(root).append
    with pytest.raises(ValueError):
        act(*arguments, **options)
    assert not root.exists()


@pytest.mark.parametrize("case", of_kind("links"))
def test_links_are_those_that_wikimem_sees(case: dict[str, Any]) -> None:
    assert [list(link) for link in item_links(case["text"])] == case["want"]


def test_every_deviation_is_from_a_quirk_and_every_quirk_of_writing_has_one() -> None:
    quirks = {case["id"]: case["kind"] for case in CASES if case["quirk"]}
    assert set(DEVIATIONS) <= set(quirks)
    assert {name for name, kind in quirks.items() if kind in ("write", "dwrite")} <= set(DEVIATIONS)
