from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.errors import InvalidName, WikiStoreError
from memex_core.model.item import RecallItem
from memex_core.store import block_file
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore
from memex_core.text.blocks import BOM, escape, item_name, normalized, parse
from memex_core.text.clean import clean_text

NOW = "2026-09-15T10:00:00+00:00"
CAT = "## cat\n\nTabby.\n\n<!-- wikimem: owner=user:kim | source=c7 | ts=T1 -->\n"
WRITER = """
import sys
from pathlib import Path
from memex_core.store.recallfiles import RecallFileStore
root, me, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = RecallFileStore(root)
for number in range(count):
    store.add("facts", f"{me}-{number}", f"fact {number} of {me}", owner=me)
"""
HEADINGS = ("## ", "##  ", "##\t", "##\u3000", "##\x1f", "###", "##", "## a:b | #c [[x]]", "## 100% {0}\n")
ENDS = (
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n",
    "\r",
    "\v",
    "\f",
    "\x1c",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
)
COMMENTS = (
    *("<!-- wikimem: owner=k | mood=sad -->", "<!--wikimem:-->", "<!-- wikimem: ts=T --> x", "<!-- wikimem:"),
    *("-->", "<!-- \\wikimem: x -->"),
)
WORDS = (
    "cat",
    "cat",
    "dog",
    "猫",
    "note",
    "```",
    "# pets",
    "# mine\n\n",
    " ",
    "\ufeff",
    "\\## x",
    "😀",
    " " * 300,
)
CONTROLS = ("\x00", "\x07", "\x1f")
ATOMS = (*HEADINGS, *ENDS, *COMMENTS, *WORDS)
hand_made = st.lists(st.sampled_from((*ATOMS, *CONTROLS)), max_size=16).map("".join)
contents = st.lists(st.sampled_from(ATOMS), max_size=6).map("".join).map(normalized)
contents = contents.map(clean_text).map(escape)
names = st.sampled_from(["cat", "dog", "猫", "a b", "new", "100% {0}", "a[b", "x"])
owners = st.sampled_from([None, "user:kim", "a=b", "--"])
stores = st.tuples(hand_made, st.lists(st.tuples(names, contents, owners), min_size=1, max_size=3), names)


@pytest.fixture
def store(root: Path) -> RecallFileStore:
    return RecallFileStore(root, now=lambda: datetime.fromisoformat(NOW))


def put(root: Path, name: str, text: str | bytes) -> Path:
    path = root / "wiki" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def journal(root: Path) -> list[dict[str, str]]:
    path = root / "journal.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def names_of(store: RecallFileStore, file: str = "pets") -> list[str]:
    return [item.name for item in store.items(file)]


def test_an_item_is_returned_as_it_is_read_back(store: RecallFileStore, root: Path) -> None:
    added = store.add("pets", " tall \n cat ", "\n x\r\ny\u2028z \n", owner=" a|b ", source_conv=" ", ts=None)
    assert added == RecallItem("pets", "tall cat", "x\ny\nz", "a/b", None, NOW)
    assert store.get("pets", "tall cat") == added and store.items() == [added]
    assert read(root / "wiki" / "pets.md") == (
        f"# pets\n\n## tall cat\n\nx\ny\nz\n\n<!-- wikimem: owner=a/b | ts={NOW} -->\n"
    )


def test_an_update_moves_the_item_to_the_end_and_replaces_its_provenance(
    store: RecallFileStore, root: Path
) -> None:
    store.add("pets", "cat", "Tabby.", owner="user:kim", source_conv="c7", ts="T1")
    store.add("pets", "dog", "Barks.", ts="T2")
    store.add("pets", "cat", "Grey.", ts="T3")
    assert read(root / "wiki" / "pets.md") == (
        "# pets\n\n## dog\n\nBarks.\n\n<!-- wikimem: ts=T2 -->\n\n"
        "## cat\n\nGrey.\n\n<!-- wikimem: ts=T3 -->\n"
    )


def test_every_change_is_a_line_of_the_journal_in_the_shape_of_wikimem(
    store: RecallFileStore, root: Path
) -> None:
    store.add("pets", "猫", "1", owner="a|b", source_conv=" ", ts="T")
    store.add("pets", "猫", "2")
    assert store.remove("pets", "猫", owner="k")
    assert not store.remove("pets", "猫")
    at = f'{{"ts": "{NOW}", '
    assert (root / "journal.jsonl").read_text("utf-8").splitlines() == [
        f'{at}"action": "add", "file": "pets", "item": "猫", "owner": "a|b", "source_conv": " "}}',
        f'{at}"action": "update", "file": "pets", "item": "猫"}}',
        f'{at}"action": "remove", "file": "pets", "item": "猫", "owner": "k"}}',
    ]


def test_a_line_of_the_journal_is_one_line_for_wikimem(store: RecallFileStore, root: Path) -> None:
    store.add("pets", "cat", "x", owner="k\u2028", source_conv="\x85s")
    store.remove("pets", "cat", owner="k\u2029")
    lines = [json.loads(line) for line in (root / "journal.jsonl").read_text("utf-8").splitlines()]
    assert [line["owner"] for line in lines] == ["k\u2028", "k\u2029"]


def test_a_file_goes_with_its_last_item(store: RecallFileStore, root: Path) -> None:
    store.add("pets", "cat", "x")
    assert store.remove("pets", "cat")
    assert not (root / "wiki" / "pets.md").exists() and store.files() == []


def test_a_file_with_words_of_a_person_stays_without_its_last_item(
    store: RecallFileStore, root: Path
) -> None:
    path = put(root, "pets.md", f"# pets\n\nkept by hand\n\n{CAT}")
    assert store.remove("pets", "cat")
    assert read(path) == "# pets\n\nkept by hand\n\n"


def test_a_canonical_file_without_its_last_block_is_canonical(store: RecallFileStore, root: Path) -> None:
    path = put(root, "pets.md", f"# pets\n\n## a\n\n\n\n{CAT}")
    assert store.remove("pets", "cat")
    assert read(path) == "# pets\n\n## a\n"
    store.add("pets", "b", "x", ts="T")
    assert read(path) == "# pets\n\n## a\n\n\n\n## b\n\nx\n\n<!-- wikimem: ts=T -->\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# My pets\n\n## a\nx", "# My pets\n\n## a\nx\n\n## new\n\nn\n\n<!-- wikimem: ts=T -->\n"),
        (
            "intro\r\n## a\r\nx\r\n",
            "intro\r\n## a\r\nx\r\n\r\n## new\r\n\r\nn\r\n\r\n<!-- wikimem: ts=T -->\r\n",
        ),
        ("intro\r## a\rx\r", "intro\r## a\rx\r\r## new\r\rn\r\r<!-- wikimem: ts=T -->\r"),
        ("\ufeff## a\nx\n\n", "\ufeff# pets\n\n## a\nx\n\n## new\n\nn\n\n<!-- wikimem: ts=T -->\n"),
        ("# t\n## a\n1\n## a\n2\n\n\n", "# t\n## a\n1\n## a\n2\n\n\n## new\n\nn\n\n<!-- wikimem: ts=T -->\n"),
        (
            "# t\n## a\n<!-- wikimem: mood=sad -->\nx\n",
            "# t\n## a\n<!-- wikimem: mood=sad -->\nx\n\n## new\n\nn\n\n<!-- wikimem: ts=T -->\n",
        ),
        ("only prose", "only prose\n\n## new\n\nn\n\n<!-- wikimem: ts=T -->\n"),
        (" \n", "# pets\n\n## new\n\nn\n\n<!-- wikimem: ts=T -->\n"),
        (
            "# t\n## new\n1\n## b\nx\n## new\n2\n",
            "# t\n## b\nx\n\n## new\n\nn\n\n<!-- wikimem: ts=T -->\n",
        ),
    ],
)
def test_what_a_person_wrote_keeps_its_bytes(
    before: str, after: str, store: RecallFileStore, root: Path
) -> None:
    path = put(root, "pets.md", before)
    store.add("pets", "new", "n", ts="T")
    assert read(path) == after


def test_a_removal_takes_every_block_of_the_name_and_no_other_byte(
    store: RecallFileStore, root: Path
) -> None:
    path = put(root, "pets.md", "mine\r\n## cat\r\n1\r\n##\tdog\r\n\r\n\r\nd\r\n## cat\r\n2\r\n")
    assert store.remove("pets", "cat")
    assert read(path) == "mine\r\n##\tdog\r\n\r\n\r\nd\r\n"


@pytest.mark.parametrize(("gone", "kept"), [("cat", "## dog\n2\n"), ("dog", "## cat\n1\n")])
def test_behind_a_byte_order_mark_a_removal_leaves_no_heading(
    gone: str, kept: str, store: RecallFileStore, root: Path
) -> None:
    path = put(root, "pets.md", "\ufeff## cat\n1\n## dog\n2\n")
    assert ("wiki/pets.md", "begins with a byte order mark, which hides its first item from wikimem") in (
        store.problems()
    )
    assert store.remove("pets", gone)
    assert read(path) == f"\ufeff# pets\n\n{kept}" and store.problems() == []


def test_names_made_by_hand_are_read_and_can_be_removed(store: RecallFileStore, root: Path) -> None:
    put(root, "pets.md", "# pets\n\n## a:b | c#d [[x]]\n1\n##  \n2\n")
    assert names_of(store) == ["a:b | c#d [[x]]", ""]
    assert store.remove("pets", "a:b |  c#d [[x]]") and names_of(store) == [""]


def test_files_of_any_name_are_read_in_the_order_of_their_names(store: RecallFileStore, root: Path) -> None:
    for name in ("b.md", "README.md", ".hidden.md", "Has Space.md", "日记.md", "a.MD", "c.txt", "d.markdown"):
        put(root, name, CAT)
    put(root, "deep/er.md", CAT)
    assert store.files() == [".hidden", "Has Space", "README", "b", "日记"]
    assert [item.file for item in store.items()] == store.files()
    assert store.get("日记", "cat") is not None and store.problems() == []


@pytest.mark.parametrize("file", ["../docs/x", "..", ".", "", "a/b", "a\0b", "\ud800", "x" * 300, "nope"])
def test_reading_never_leaves_the_folder(file: str, store: RecallFileStore, root: Path) -> None:
    put(root, "pets.md", CAT)
    put(root, "../docs/x.md", CAT)
    assert store.items(file) == [] and store.get(file, "cat") is None


@pytest.mark.parametrize(
    "file", ["Pets", "has space", "-a", "", "a.b", "日", "../x", "a/b", "abc\n", "x" * 201, "a\0", "０"]
)
def test_a_file_name_that_wikimem_could_not_write_is_refused(
    file: str, store: RecallFileStore, root: Path
) -> None:
    for act in (lambda: store.add(file, "cat", "x"), lambda: store.remove(file, "cat")):
        with pytest.raises(InvalidName, match="not a usable RecallFile"):
            act()
    assert not root.exists()


@pytest.mark.parametrize("name", ["", " \n ", "a:b", "a|b", "a#b", "a[[b", "a]]b", "\x00"])
def test_an_item_name_that_no_link_could_hold_is_refused(
    name: str, store: RecallFileStore, root: Path
) -> None:
    with pytest.raises(ValueError, match="name"):
        store.add("pets", name, "x")
    assert not root.exists()


@pytest.mark.parametrize(
    "content", ["x\n## dog\ny", "x\r##\tdog", "x\n <!--wikimem:-->\n", "x\u2028##  \ny", "#\0# x"]
)
def test_content_that_would_be_read_as_something_else_is_refused(
    content: str, store: RecallFileStore, root: Path
) -> None:
    store.add("pets", "cat", "kept")
    before = {path.name: path.read_bytes() for path in (root / "wiki" / "pets.md", root / "journal.jsonl")}
    with pytest.raises(ValueError, match=r"line \d would be read as a"):
        store.add("pets", "cat", content)
    assert before == {name: (root / name).read_bytes() for name in ["journal.jsonl"]} | {
        "pets.md": (root / "wiki" / "pets.md").read_bytes()
    }


@pytest.mark.parametrize("value", ["a\nb", "a\r\n\r\n## hack", "a\u2028b", "a\x85b", "a --> b"])
@pytest.mark.parametrize("field", ["owner", "source_conv", "ts"])
def test_a_field_that_would_end_its_comment_is_refused(
    field: str, value: str, store: RecallFileStore, root: Path
) -> None:
    with pytest.raises(ValueError, match="must"):
        store.add("pets", "cat", "x", **{field: value})
    with pytest.raises(ValueError, match="must"):
        store.remove("pets", "cat", owner=value)
    assert not root.exists()


def test_text_from_outside_is_cleaned(store: RecallFileStore) -> None:
    added = store.add("pets", "a\x00b", "x\x1b[0m\ud800", owner="k\x07")
    assert added == store.get("pets", "ab") and added.content == "x[0m\ufffd" and added.owner == "k"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o644])
def test_a_file_keeps_its_mode(mode: int, store: RecallFileStore, root: Path) -> None:
    path = put(root, "pets.md", CAT)
    path.chmod(mode)
    store.add("pets", "dog", "x")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_is_private_whatever_the_umask(store: RecallFileStore, root: Path) -> None:
    before = os.umask(0)
    try:
        store.add("pets", "cat", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "wiki" / "pets.md").stat().st_mode) == 0o600
    assert stat.S_IMODE((root / "wiki").stat().st_mode) == 0o700


def test_a_read_only_file_is_left_alone(store: RecallFileStore, root: Path) -> None:
    path = put(root, "pets.md", CAT)
    path.chmod(0o444)
    for act in (lambda: store.add("pets", "dog", "x"), lambda: store.remove("pets", "cat")):
        with pytest.raises(WikiStoreError, match="read-only"):
            act()
    assert read(path) == CAT and journal(root) == []


def test_behind_a_link_the_file_is_replaced_and_the_link_stays(store: RecallFileStore, root: Path) -> None:
    target = root / "notes" / "pets.txt"
    target.parent.mkdir(parents=True)
    target.write_text(CAT, "utf-8")
    target.chmod(0o640)
    link = put(root, "x", "").with_name("pets.md")
    link.symlink_to("../notes/pets.txt")
    store.add("pets", "dog", "Barks.")
    assert link.is_symlink() and names_of(store) == ["cat", "dog"] and "Barks." in read(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert store.remove("pets", "cat") and store.remove("pets", "dog")
    assert link.is_symlink() and read(target) == "# pets\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside.md"
    path.write_text(CAT, "utf-8")
    return path


def test_a_link_that_leads_outside_is_neither_read_nor_written(
    store: RecallFileStore, root: Path, outside: Path
) -> None:
    put(root, "good.md", CAT)
    (root / "wiki" / "pets.md").symlink_to(outside)
    assert store.files() == ["good"] and store.items("pets") == []
    assert store.problems() == [("wiki/pets.md", "is a link that leads outside the memory root")]
    with pytest.raises(WikiStoreError, match="outside the memory root"):
        store.add("pets", "dog", "x")
    assert read(outside) == CAT and journal(root) == []


def test_a_folder_that_leads_outside_is_neither_read_nor_written(
    store: RecallFileStore, root: Path, tmp_path: Path
) -> None:
    put(tmp_path / "elsewhere", "pets.md", CAT)
    root.mkdir()
    (root / "wiki").symlink_to(tmp_path / "elsewhere" / "wiki")
    assert store.files() == [] and store.get("pets", "cat") is None
    assert store.problems() == [("wiki", "leads outside the memory root and is not read")]
    with pytest.raises(WikiStoreError, match="outside the memory root"):
        store.add("dogs", "rex", "x")


def test_a_folder_that_leads_elsewhere_in_the_memory_is_served(store: RecallFileStore, root: Path) -> None:
    put(root, "../notes/pets.md", CAT)
    (root / "wiki").rmdir()
    (root / "wiki").symlink_to("notes")
    store.add("pets", "dog", "x")
    assert (root / "wiki").is_symlink() and names_of(store) == ["cat", "dog"]
    assert "## dog" in read(root / "notes" / "pets.md")


def test_one_file_that_cannot_be_read_costs_that_file(
    store: RecallFileStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_file, "MAX_BYTES", 1 << 20)
    put(root, "good.md", CAT)
    put(root, "latin.md", b"## caf\xe9\n")
    put(root, "huge.md", b"x" * ((1 << 20) + 1))
    put(root, ".md", CAT)
    put(root, os.fsdecode(b"\xff.md"), CAT)
    (root / "wiki" / "folder.md").mkdir()
    os.mkfifo(root / "wiki" / "fifo.md")
    (root / "wiki" / "zero.md").symlink_to("/dev/zero")
    (root / "wiki" / "gone.md").symlink_to("nowhere")
    (root / "wiki" / "loop.md").symlink_to("loop.md")
    started = time.process_time()
    assert [item.file for item in store.items()] == ["good"]
    assert set(store.files()) == {"good", "latin", "huge"}
    reasons = dict(store.problems())
    assert time.process_time() - started < 1.0
    assert reasons.pop("wiki/loop.md").startswith(("is a link", "cannot be read"))
    assert reasons == {
        "wiki/.md": "has a name that cannot be used",
        "wiki/�.md": "has a name that cannot be used",
        "wiki/fifo.md": "is no regular file",
        "wiki/folder.md": "is a folder",
        "wiki/gone.md": "is a link that leads nowhere",
        "wiki/huge.md": "is larger than 1 MiB",
        "wiki/latin.md": "is not UTF-8 (byte 6)",
        "wiki/zero.md": "is a link that leads outside the memory root",
    }


@pytest.mark.parametrize("name", ["latin", "folder", "fifo"])
def test_a_file_that_cannot_be_read_is_not_written(name: str, store: RecallFileStore, root: Path) -> None:
    put(root, "latin.md", b"## caf\xe9\n")
    (root / "wiki" / "folder.md").mkdir()
    os.mkfifo(root / "wiki" / "fifo.md")
    with pytest.raises(WikiStoreError, match=f"wiki/{name}.md"):
        store.add(name, "cat", "x")
    assert (root / "wiki" / "latin.md").read_bytes() == b"## caf\xe9\n" and journal(root) == []


def test_a_file_never_grows_beyond_what_is_read(
    store: RecallFileStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_file, "MAX_BYTES", 100)
    with pytest.raises(WikiStoreError, match="would be larger"):
        store.add("pets", "cat", "x" * 100)
    assert store.files() == [] and journal(root) == []


def test_a_disk_that_fails_is_reported_and_changes_nothing(store: RecallFileStore, root: Path) -> None:
    root.mkdir()
    (root / "wiki").write_text("a file where the folder should be")
    with pytest.raises(WikiStoreError, match="cannot write"):
        store.add("pets", "cat", "x")
    assert store.items() == [] and journal(root) == []


def test_an_item_of_two_million_words_costs_less_than_a_second(store: RecallFileStore) -> None:
    words = "word " * 2_000_000
    started = time.process_time()
    store.add("big", "item", words)
    found = store.get("big", "item")
    assert found is not None and len(found.content) == len(words) - 1
    assert time.process_time() - started < 2.0


def test_what_is_written_is_on_the_disk_before_its_name_and_before_the_journal_tells(
    store: RecallFileStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add("pets", "cat", "x")
    Diary(root).append("first", date="2026-03-05", time="08:30")
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def log_fsync(fd: int) -> None:
        fsync(fd)
        steps.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else f"{os.fstat(fd).st_size} bytes")

    def log_replace(source: Path, target: Path) -> None:
        steps.append(f"{Path(source).stat().st_size} bytes become {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", log_fsync)
    monkeypatch.setattr(os, "replace", log_replace)
    store.add("pets", "dog", "x")
    Diary(root).append("x", date="2026-03-05", time="08:30")
    lines = (root / "journal.jsonl").read_bytes().splitlines(keepends=True)
    for name, told in (("wiki/pets.md", lines[:3]), ("diary/2026-03-05.md", lines)):
        size = (root / name).stat().st_size
        becomes = f"{size} bytes become {Path(name).name}"
        assert steps[:4] == [f"{size} bytes", becomes, "folder", f"{len(b''.join(told))} bytes"]
        del steps[:4]


@pytest.mark.parametrize("folder", ["wiki", "diary"])
def test_what_a_killed_writer_left_goes_with_a_later_change(folder: str, root: Path) -> None:
    names = (".memex-1.tmp", ".memex-2.tmp", "tmp3.tmp", ".memex-4.md")
    paths = [put(root, f"../{folder}/{name}", "half") for name in names]
    for path in (paths[0], *paths[2:]):
        os.utime(path, (time.time() - 7200,) * 2)
    if folder == "wiki":
        RecallFileStore(root).add("pets", "cat", "x")
    else:
        Diary(root).append("x", date="2026-03-05", time="08:30")
    assert [path.exists() for path in paths] == [False, True, True, True]


def test_nothing_is_swept_where_the_folder_leads_outside(root: Path, tmp_path: Path) -> None:
    left = put(tmp_path / "elsewhere", ".memex-1.tmp", "half")
    os.utime(left, (1, 1))
    root.mkdir()
    (root / "wiki").symlink_to(left.parent)
    with pytest.raises(WikiStoreError, match="outside the memory root"):
        RecallFileStore(root).add("pets", "cat", "x")
    assert left.exists()


def check_store(text: str, added: list[tuple[str, str, str | None]], gone: str) -> None:
    """One generated store: hand-made text, items added to it, one item removed."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)  # thousands of stores would wait for the disk
        root = Path(folder)
        store, path = RecallFileStore(root), put(root, "pets.md", text)
        for name, content, owner in added:
            others = [item for item in store.items("pets") if item.name != name]
            kept = untouched(read(path), name)
            item = store.add("pets", name, content, owner=owner, ts="T")
            assert item == RecallItem("pets", name, normalized(content), owner, None, "T")
            assert store.items("pets") == [*others, item]
            after = read(path).removeprefix(BOM)
            assert kept in after
            front, back = after[: after.find(kept)], after[after.find(kept) + len(kept) :]
            assert front.split() in ([], ["#", "pets"]) and len(parse(back)) == 1
        others = [item for item in store.items("pets") if item.name != gone]
        kept, before = untouched(read(path), gone), store.items("pets")
        assert store.remove("pets", gone) == (len(others) < len(before))
        assert store.items("pets") == others
        after = read(path).removeprefix(BOM) if path.exists() else ""
        if not after:
            assert kept.split() in ([], ["#", "pets"])
        elif after.endswith(kept):
            assert after[: len(after) - len(kept)].split() in ([], ["#", "pets"])
        else:  # one line end is left at the end of a file as wikimem writes it
            assert after == kept.rstrip("\n") + "\n" and others


def untouched(text: str, name: str) -> str:
    """What a change of the item `name` must leave as it is; "" for blank."""
    sections = parse(text)
    preamble = text[: sections[0].start] if sections else text
    others = [text[s.start : s.end] for s in sections if item_name(s.heading) != name]
    kept = "".join([preamble, *others]).removeprefix(BOM)
    return kept if kept.strip() else ""


@settings(max_examples=300, deadline=None)
@given(stores)
def test_a_generated_store_reads_as_written_and_keeps_what_a_person_wrote(
    store: tuple[str, list[tuple[str, str, str | None]], str],
) -> None:
    check_store(*store)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(stores)
def test_ten_thousand_generated_stores_read_as_written(
    store: tuple[str, list[tuple[str, str, str | None]], str],
) -> None:
    check_store(*store)


def add_at_once(root: Path, processes: int, count: int) -> None:
    """Items of several processes into one file: all of them are there, as the journal says."""
    command = [sys.executable, "-c", WRITER, str(root)]
    running = [subprocess.Popen([*command, f"p{number}", str(count)]) for number in range(processes)]
    assert [process.wait() for process in running] == [0] * processes
    items = RecallFileStore(root).items("facts")
    assert len(items) == processes * count
    assert [item.name for item in items] == [line["item"] for line in journal(root)]
    for number in range(processes):
        own = [item.name for item in items if item.owner == f"p{number}"]
        assert own == [f"p{number}-{n}" for n in range(count)]


def test_eight_processes_that_add_at_once_lose_nothing(root: Path) -> None:
    add_at_once(root, 8, 40)


@pytest.mark.slow
def test_eight_processes_that_add_four_thousand_items_lose_nothing(root: Path) -> None:
    add_at_once(root, 8, 500)


def test_the_time_of_an_item_is_that_of_its_write(root: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    added = RecallFileStore(root).add("pets", "cat", "x")
    assert added.ts is not None and before <= datetime.fromisoformat(added.ts) <= datetime.now(UTC)
