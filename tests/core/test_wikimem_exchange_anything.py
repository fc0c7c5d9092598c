"""Any directory that wikimem could open comes back byte for byte, and so does any page."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wikimem_peer import Memory, Peer, files, put, wikimem_files

ATOMS = (
    *("## ", "##  ", "##\t", "## cat\n\n", "## dog\n", "###", " ", "\n", "\n", "\n\n", "\r\n", "\r"),
    *("\f", "\u2028", "\x85", "\ufeff", "\x00", "\x1b", "cat", "dog", "猫", "# pets\n\n", "```\n", "a:b"),
    *("]]", "[[", "[[pets:cat]]", "[[entity:dog]]", "[[cat]]", "\\## x\n", "<!-- \\wikimem: x -->\n"),
    *("<!-- wikimem: owner=k | source=c7 | mood=sad -->\n", "<!-- wikimem: ts=2026-03-01T09:00:00Z -->\n"),
    "<!-- wikimem: x -->\n",
)
texts = st.lists(st.sampled_from(ATOMS), max_size=14).map("".join)
raw = texts.map(lambda text: text.encode()) | st.sampled_from([b"## a\n\n\xe9\n", b"\xff\xfe", b""])
RECALLFILES = ("pets", "entity", "preferences", "日记", "Has Space", ".hidden", "0-_", "con")
OTHERS = ("wiki/sub/deep.md", "wiki/notes.txt", "diary/notes.md", "diary/2026-13-40.md", "wiki/x.markdown")
DAYS = ("diary/2026-03-05.md", "diary/2026-03-06.md")
PATHS = (*(f"wiki/{file}.md" for file in RECALLFILES), *OTHERS, *DAYS)
lines = st.sampled_from(
    [b'{"ts": "T", "action": "add", "file": "pets", "item": "cat"}', b"torn", b"", b'{"action": "diary"}']
)
journals = st.none() | st.lists(lines, max_size=4).map(b"\n".join)
stores = st.tuples(st.dictionaries(st.sampled_from(PATHS), raw, min_size=1, max_size=5), journals)

titles = st.text(st.sampled_from("ab: |#[]猫\u2028.-/"), min_size=1, max_size=6)
fronts = st.sampled_from(
    [
        "",
        "---\n---\n",
        "---\nid: \"{0}\"\ntitle: 'T{0}' # mine\nrating: 5\n---\n",
        "---\r\ntitle: win\r\n---\r\n",
        "\ufeff---\ntags: [a, b]\nid: same\n---\n",
        "---\ntitle: [\n---\n",
        '---\ntype: procedure\nwikimem: {{file: "../../x", name: "a:b", order: x}}\n---\n',
        '---\nwikimem: {{file: "pets", name: "cat", order: "1"}}\nowner: "a\\n-->b"\n---\n',
    ]
)
FOLDERS = ("entities", "procedures", "episodes", "notes")
page_names = st.tuples(st.sampled_from(FOLDERS), st.sampled_from(["cat", "Dog", "x-y", "猫", "a.b", "same"]))
page_files = st.dictionaries(page_names, st.tuples(fronts, raw), min_size=1, max_size=5)
edits = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["edit", "remove", "rename", "add"])), max_size=3
)


def make_store(folder: Path, store: tuple[dict[str, bytes], bytes | None]) -> None:
    given_files, journal = store
    (folder / "wiki").mkdir(parents=True)
    for name, data in given_files.items():
        put(folder, name, data)
    if journal is not None:
        put(folder, "journal.jsonl", journal)


def check_there_and_back(folder: Path, store: tuple[dict[str, bytes], bytes | None]) -> None:
    make_store(folder / "there", store)
    memory = Memory(folder / "memory")
    memory.take(folder / "there")
    before = files(memory.root)
    memory.take(folder / "there")
    assert files(memory.root) == before
    memory.give(folder / "back")
    assert wikimem_files(folder / "back") == wikimem_files(folder / "there")
    again = memory.give(folder / "back")
    assert again.written == [] and again.conflicts == []


def check_pages_and_back(folder: Path, pages: dict[tuple[str, str], tuple[str, bytes]]) -> None:
    memory, other = Memory(folder / "memory"), Memory(folder / "other")
    for number, ((place, name), (front, body)) in enumerate(pages.items()):
        memory.page(f"{place}/{name}.md", front.format(number).encode() + body)
    memory.give(folder / "there")
    assert memory.give(folder / "there").written == []
    report = other.take(folder / "there")
    assert other.pages() == memory.pages(), report
    other.give(folder / "second")
    assert wikimem_files(folder / "second").keys() == wikimem_files(folder / "there").keys()


def check_edited_and_back(
    folder: Path, pages: dict[tuple[str, str], tuple[str, bytes]], changes: list[tuple[int, str]]
) -> None:
    memory = Memory(folder / "memory")
    for number, ((place, name), (front, body)) in enumerate(pages.items()):
        memory.page(f"{place}/{name}.md", front.format(number).encode() + body)
    memory.give(folder / "there")
    peer, before = Peer(folder / "there"), memory.pages()
    side = json.loads((folder / "there/.memex/export.json").read_bytes())["items"]
    touched = set()
    for number, (which, change) in enumerate(changes):
        file, name = side[which % len(side)]["file"], side[which % len(side)]["name"]
        item = peer.item(file, name)
        if change == "add":
            peer.add(file, f"new {number}", f"something new {number}")
        elif item is not None:
            touched.add((file, name))
            if change == "edit":
                peer.add(file, name, f"edited {number}")
                continue
            peer.remove(file, name)
            if change == "rename":
                peer.add(file, f"renamed {number}", item.content)
    report = memory.take(folder / "there")
    untouched = {_path(each["node"]) for each in side if (each["file"], each["name"]) not in touched}
    after = memory.pages()
    assert before.keys() <= after.keys(), report
    assert all(after[path] == before[path] for path in untouched), report
    again = memory.take(folder / "there")
    assert memory.pages() == after, again
    memory.give(folder / "there")
    assert memory.give(folder / "there").written == []
    assert memory.pages() == after


def _path(node: dict[str, str]) -> str:
    folders = {"entity": "entities", "procedure": "procedures", "episode": "episodes"}
    return f"{node.get('folder', folders.get(node['type'], ''))}/{node['slug']}.md"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # thousands of stores would wait for the disk


def anything(check, *strategies, examples: int):  # type: ignore[no-untyped-def]
    @settings(deadline=None, max_examples=examples)
    @given(st.tuples(*strategies))
    def run(values: tuple[object, ...]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder), *values)

    run()


QUICK, SLOW = 100, 3_400


@pytest.mark.parametrize("examples", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_any_directory_comes_back_byte_for_byte(fast: None, examples: int) -> None:
    anything(check_there_and_back, stores, examples=examples)


@pytest.mark.parametrize("examples", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_any_pages_come_back_byte_for_byte(fast: None, examples: int) -> None:
    anything(check_pages_and_back, page_files, examples=examples)


@pytest.mark.parametrize("examples", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_pages_outlive_any_edits_of_their_items(fast: None, examples: int) -> None:
    anything(check_edited_and_back, page_files, edits, examples=examples)
