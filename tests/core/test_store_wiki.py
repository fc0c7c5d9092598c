from __future__ import annotations

import os
import stat
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.errors import BadPage, NotFound, Refused, WikiStoreError
from memex_core.model.node import WikiNode
from memex_core.model.page import body_hash
from memex_core.paths import NODE_TYPES
from memex_core.store import wiki_store
from memex_core.store.wiki_store import WikiStore
from memex_core.text.clean import clean_text

NOW, LATER = "2026-09-15T10:00:00Z", "2026-09-16T10:00:00Z"
PEER_TITLE = "Fix: [[a]] #1 'q' \"x\" — 部署"


@pytest.fixture
def store(root: Path) -> WikiStore:
    return WikiStore(root)


def node(title: str = "Ruff linter", body: str = "Fast.\n", **fields: object) -> WikiNode:
    return WikiNode(**{"type": "entity", "title": title, "body": body, **fields})  # type: ignore[arg-type]


def hand_made(root: Path, name: str, text: str | bytes) -> Path:
    path = root / "docs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def files(root: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name != ".lock"
    }


def test_a_page_reads_back_with_every_field(store: WikiStore) -> None:
    written = store.put(
        node(
            PEER_TITLE,
            "See [[Other Page]].\n\n```\n[[no]]\n```",
            tags=["a b", "c,d", "yes"],
            importance=0.85,
            expires_at="2027-01-01",
            valid_from=NOW,
            valid_to=LATER,
            links=["explicit"],
            sources=["s1#3"],
            project="/src/app/.git",
            project_label="app",
            extra={"aliases": ["Other"], "mood": "1.10"},
        ),
        now=NOW,
    )
    assert written.change == "add"
    page = store.read(written.node.slug, "entity")
    assert page == written.node
    assert page is not None and page.title == PEER_TITLE and page.links == ["explicit", "other-page"]
    assert page.id and page.created == page.updated == NOW and page.content_hash == body_hash(page.body)


def test_the_file_is_as_the_specification_shows_it(store: WikiStore) -> None:
    path = store.put(node(tags=["tool"], id="a1b2c3d4"), now=NOW).node.file_path
    digest = body_hash("Fast.\n")
    assert path is not None and path.read_text("utf-8") == (
        '---\nid: "a1b2c3d4"\ntype: "entity"\ntitle: "Ruff linter"\ntags: ["tool"]\nimportance: 0.5\n'
        f'created: "{NOW}"\nupdated: "{NOW}"\naccess_count: 0\nlast_access: null\nexpires_at: null\n'
        "valid_from: null\nvalid_to: null\ntranscript_ref: null\nlinks: []\n"
        f'content_hash: "{digest}"\n---\nFast.\n'
    )


def test_pages_are_private_whatever_the_umask(store: WikiStore) -> None:
    before = os.umask(0)
    try:
        path = store.write(node()).file_path
    finally:
        os.umask(before)
    assert path is not None
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path, path.parent, store.root)] == [0o600, 0o700, 0o700]


def test_the_same_title_updates_in_place(store: WikiStore) -> None:
    first = store.put(node("Use  Ruff", "one"), now=NOW).node
    again = store.put(node(unicodedata.normalize("NFD", "use ruff"), "two", tags=["x"]), now=LATER)
    assert again.change == "update"
    assert (again.node.slug, again.node.id, again.node.created) == (first.slug, first.id, NOW)
    assert (again.node.updated, again.node.body, again.node.tags) == (LATER, "two", ["x"])
    assert len(store.scan_all()) == 1


def test_a_page_that_says_the_same_is_not_touched(store: WikiStore) -> None:
    path = store.put(node(), now=NOW).node.file_path
    assert path is not None
    before = path.stat()
    written = store.put(node(body="Fast."), now=LATER)
    assert written.change == "" and written.node.updated == NOW
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_an_update_keeps_the_access_counts(store: WikiStore) -> None:
    slug = store.put(node(), now=NOW).node.slug
    store.amend(slug, access_count=7, last_access=LATER)
    page = store.put(node(body="new", access_count=0), now=LATER).node
    assert (page.access_count, page.last_access) == (7, LATER)


def test_different_titles_of_one_slug_are_numbered(store: WikiStore) -> None:
    slugs = [store.write(node(title)).slug for title in ("a b", "a-b", "a/b", "A B")]
    assert slugs == ["a-b", "a-b-2", "a-b-3", "a-b"]


def test_the_page_of_a_title_is_found_behind_a_gap(store: WikiStore) -> None:
    for title in ("a b", "a-b", "a/b"):
        store.write(node(title))
    store.delete("a-b-2")
    assert store.write(node("a/b", "again")).slug == "a-b-3"
    assert store.write(node("a+b")).slug == "a-b-2"


def test_finding_a_title_reads_only_pages_of_its_slug(
    store: WikiStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(20):
        store.write(node(f"page {i}"))
    read: list[Path] = []
    real = wiki_store.read_page
    monkeypatch.setattr(
        wiki_store, "read_page", lambda data, path, **kw: (read.append(path), real(data, path, **kw))[1]
    )
    assert store.find("entity", "Page 7") is not None
    assert store.find("entity", "page 99") is None
    assert {path.name for path in read} == {"page-7.md"}


def test_the_same_title_in_two_types_is_two_pages(store: WikiStore) -> None:
    store.write(node("Deploy", "fact"))
    store.write(node("Deploy", "how", type="procedure"))
    first, second = store.read("deploy"), store.read("procedure/deploy")
    assert first is not None and second is not None
    assert (first.type, second.type) == ("entity", "procedure")
    other = store.read("deploy", "procedure")
    assert other == second


def test_a_given_slug_is_the_file_name(store: WikiStore) -> None:
    session = "0199AbC-12.x"
    assert store.write(node("First title", type="episode", slug=session)).slug == session
    assert store.write(node("Second title", type="episode", slug=session)).slug == session
    assert [page.title for page in store.list("episode")] == ["Second title"]


def test_a_slug_is_found_in_any_letter_case(store: WikiStore) -> None:
    store.write(node("t", type="episode", slug="ABC"))
    page = store.read("abc")
    assert page is not None and page.slug == "ABC"
    assert store.write(node("t2", type="episode", slug="abc")).slug == "ABC"


@pytest.mark.parametrize(
    "slug",
    [
        "../../x",
        "a/b",
        "..",
        ".hidden",
        "a\0b",
        "con",
        "NUL.txt",
        "a ",
        "x" * 300,
        "/etc/passwd",
        "a\\b",
        "end.",
    ],
)
def test_a_slug_never_leads_outside_its_folder(store: WikiStore, root: Path, slug: str) -> None:
    store.write(node("anchor"))
    before = {str(p) for p in root.parent.rglob("*")}
    with pytest.raises((ValueError, Refused)):
        store.write(node("t", slug=slug))
    assert store.read(slug) is None
    assert not store.exists(slug)
    assert {str(p) for p in root.parent.rglob("*")} == before


@pytest.mark.parametrize("title", ["../../x", "CON", "a:b", "/etc/passwd", "..", "a\0b\nc", "x" * 500, "ÅÅ"])
def test_any_title_gives_a_page_inside_its_folder(store: WikiStore, root: Path, title: str) -> None:
    page = store.write(node(title))
    assert page.file_path is not None and page.file_path.parent == root / "docs" / "entities"
    assert page.title == clean_text(title).replace("\n", " ")
    found = store.find("entity", title)
    assert found is None or found == page


def test_titles_without_letters_take_the_id(store: WikiStore) -> None:
    page = store.write(node("🎉"))
    assert page.slug == page.id[:8]
    assert store.put(node("🎉", "again")).change == "update"
    assert store.write(node("🎈")).slug != page.slug


@pytest.mark.parametrize(("kind", "title"), [("fact", "t"), ("entity", ""), ("entity", " \n")])
def test_a_wrong_type_or_title_is_a_value_error(store: WikiStore, kind: str, title: str) -> None:
    with pytest.raises(ValueError):
        store.write(node(title, type=kind))


def test_sha1_slugs(root: Path) -> None:
    store = WikiStore(root, slug_algo="sha1")
    slug = store.write(node("部署")).slug
    assert len(slug) == 40 and slug == store._to_slug("部署")
    assert store.write(node("部署", "new")).slug == slug


def test_a_foreign_page_keeps_every_byte_but_what_was_changed(store: WikiStore, root: Path) -> None:
    text = (
        "\ufeff---\r\n# mine\r\naliases: [x, 'y: z'] # names\r\ntags:\r\n  - one\r\ntitle: Old # t\r\n\r\n"
        "status: draft\r\n---\r\n# Heading\r\nline\r\n"
    )
    path = hand_made(root, "entities/My Note.md", text)
    page = store.read("my note")
    assert page is not None and page.title == "Old" and page.tags == ["one"] and not page.warning
    page.title = "New"
    store.put(page, now=LATER)
    written = path.read_bytes().decode("utf-8")
    assert written.replace('title: "New" # t', "title: Old # t").startswith(
        text[: text.index("---\r\n# Heading")]
    )
    assert written.endswith("---\r\n# Heading\r\nline\r\n") and "\n" not in written.replace("\r\n", "")


def test_a_body_written_to_a_crlf_page_takes_its_line_ends(store: WikiStore, root: Path) -> None:
    path = hand_made(root, "entities/a.md", "---\r\ntitle: A\r\n---\r\none\r\n")
    page = store.read("a")
    assert page is not None
    page.body += "two\nthree\n"
    store.write(page)
    assert path.read_bytes().endswith(b"---\r\none\r\ntwo\r\nthree\r\n")


def test_a_page_without_front_matter_takes_title_and_times_from_what_there_is(
    store: WikiStore, root: Path
) -> None:
    path = hand_made(root, "entities/todo.md", "# My heading #\n\n[[Link]]\n")
    os.utime(path, (10, 10))
    page = store.read("todo")
    assert page is not None and not page.warning
    assert (page.title, page.created, page.links) == ("My heading", "1970-01-01T00:00:10Z", ["link"])
    hand_made(root, "entities/bare.md", "text")
    bare = store.read("bare")
    assert bare is not None and bare.title == "bare"


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Retry: use backoff\n---\n# Real title\nbody words\n",
        "---\ntitle: &a x\nb: *a\n---\n# Real title\nbody words\n",
        "---\ntitle: x\n# Real title\nbody words\n",
        "---\n" + "[" * 50_000 + "\n---\n# Real title\nbody words\n",
        b"---\ntitle: Real title\n---\nbody words \xff\n",
    ],
)
def test_a_page_that_cannot_be_read_is_listed_with_a_warning_and_never_rewritten(
    store: WikiStore, root: Path, text: str | bytes
) -> None:
    path = hand_made(root, "entities/bad.md", text)
    before = path.read_bytes()
    (page,) = store.scan_all()
    assert page.warning and page.title == "Real title" and "body words" in page.body
    page.body = "new"
    page.content_hash = ""
    with pytest.raises(BadPage) as caught:
        store.write(page)
    assert str(path) in str(caught.value)
    with pytest.raises(BadPage):
        store.amend("bad", importance=0.1)
    assert path.read_bytes() == before


def test_front_matter_with_wrong_types_is_a_warning(store: WikiStore, root: Path) -> None:
    hand_made(
        root,
        "entities/a.md",
        '---\nimportance: high\naccess_count: -3\nexpires_at: soon\ntags: "a, #b"\nid: [x]\n---\n',
    )
    (page,) = store.scan_all()
    assert (page.importance, page.access_count, page.tags, page.id) == (0.5, 0, ["a", "b"], "")
    assert all(word in page.warning for word in ("importance", "expires_at", "id"))


def test_the_folder_decides_the_type(store: WikiStore, root: Path) -> None:
    hand_made(root, "procedures/a.md", "---\ntype: entity\n---\n")
    (page,) = store.scan_all()
    assert page.type == "procedure" and "entity" in page.warning


def test_a_page_in_an_unknown_folder_is_listed_found_and_stays_there(store: WikiStore, root: Path) -> None:
    path = hand_made(root, "notes/idea.md", "---\ntype: summary\n---\ntext\n")
    hand_made(root, "loose.md", "loose text")
    assert [(p.slug, p.type, bool(p.warning)) for p in store.scan_all()] == [
        ("loose", "entity", True),
        ("idea", "summary", True),
    ]
    page = store.read("idea")
    assert page is not None
    page.body = "changed\n"
    assert store.write(page).file_path == path
    assert path.read_bytes().endswith(b"---\nchanged\n")


def test_lists_are_by_type_and_sorted(store: WikiStore) -> None:
    for title, kind in (("b", "entity"), ("a", "entity"), ("c", "summary")):
        store.write(node(title, type=kind))
    assert [page.slug for page in store.list("entity")] == ["a", "b"]
    assert [page.slug for page in store.list()] == ["a", "b", "c"]
    assert store.list("procedure") == []


def test_deleting_what_is_not_there_is_not_found(store: WikiStore) -> None:
    store.write(node())
    store.delete("ruff-linter")
    assert store.read("ruff-linter") is None
    with pytest.raises(NotFound):
        store.delete("ruff-linter")
    with pytest.raises(FileNotFoundError):
        store.move("ruff-linter", "summary")


def test_a_moved_page_keeps_its_id_and_foreign_keys(store: WikiStore, root: Path) -> None:
    page = store.write(node("Deploy", extra={"aliases": ["x"]}))
    store.write(node("Deploy!", type="procedure"))
    moved = store.move("entity/deploy", "procedure")
    assert (moved.slug, moved.id, moved.type, moved.extra["aliases"]) == (
        "deploy-2",
        page.id,
        "procedure",
        ["x"],
    )
    assert store.list("entity") == []


def test_a_hand_made_page_moves_under_its_own_name(store: WikiStore, root: Path) -> None:
    hand_made(root, "entities/My Note.md", "text")
    assert store.move("my note", "summary").file_path == root / "docs" / "summaries" / "My Note.md"


def test_amend_changes_only_what_it_names(store: WikiStore) -> None:
    page = store.put(node(body="b\n"), now=NOW).node
    assert page.file_path is not None
    before = page.file_path.read_text("utf-8")
    amended = store.amend("ruff-linter", valid_to=LATER, importance=0.25, extra={"decayed_at": NOW})
    assert (amended.valid_to, amended.importance, amended.updated) == (LATER, 0.25, NOW)
    expected = before.replace("valid_to: null", f'valid_to: "{LATER}"').replace(
        "importance: 0.5", "importance: 0.25"
    )
    assert page.file_path.read_text("utf-8") == expected.replace("---\nb\n", f'decayed_at: "{NOW}"\n---\nb\n')
    with pytest.raises(NotFound):
        store.amend("nothing", importance=1.0)


def test_paths_and_slugs_lead_to_one_another(store: WikiStore, root: Path) -> None:
    page = store.write(node())
    assert store.get_path("ruff-linter") == page.file_path == root / "docs" / "entities" / "ruff-linter.md"
    assert store.get_slug_from_path(store.get_path("ruff-linter")) == "ruff-linter"
    assert store.get_path("new", "summary") == root / "docs" / "summaries" / "new.md"
    with pytest.raises(NotFound):
        store.get_path("new")


def test_a_page_changed_since_it_was_read_is_not_overwritten(store: WikiStore) -> None:
    store.write(node(body="one"))
    mine = store.read("ruff-linter")
    assert mine is not None and mine.file_path is not None
    mine.file_path.write_text(mine.file_path.read_text("utf-8") + "a person's line", "utf-8")
    mine.body = "mine"
    with pytest.raises(WikiStoreError, match="changed since"):
        store.write(mine)
    assert "a person's line" in mine.file_path.read_text("utf-8")


def test_a_page_edited_by_hand_is_known_as_such_for_good(store: WikiStore) -> None:
    page = store.write(node(body="ours\n"))
    assert page.file_path is not None and not store.is_edited(page)
    page.file_path.write_text(page.file_path.read_text("utf-8") + "theirs\n", "utf-8")
    assert store.is_edited(page)
    edited = store.read(page.slug)
    assert edited is not None
    edited.tags = ["t"]
    assert store.is_edited(store.write(edited))


def test_a_folder_that_leads_outside_is_not_followed(store: WikiStore, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "entities").symlink_to(outside)
    with pytest.raises(WikiStoreError, match="outside"):
        store.write(node())
    assert list(outside.iterdir()) == []
    assert store.scan_all() == []


def test_a_write_that_fails_names_the_file_and_changes_nothing(
    store: WikiStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(node())
    before = files(root)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(root))

    monkeypatch.setattr("memex_core.files.atomic.os.fsync", fail)
    with pytest.raises(WikiStoreError, match="No space left"):
        store.write(node(body="new"))
    with pytest.raises(WikiStoreError, match="No space left"):
        store.write(node("other"))
    monkeypatch.undo()
    assert files(root) == before


def test_many_processes_writing_one_page_lose_nothing(root: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from memex_core.files.lock import memory_lock\n"
        "from memex_core.store.wiki_store import WikiStore\n"
        "from memex_core.model.node import WikiNode\n"
        "root = pathlib.Path(sys.argv[1]); store = WikiStore(root)\n"
        "for i in range(15):\n"
        "    with memory_lock(root):\n"
        "        page = store.find('entity', 'Shared') or WikiNode(type='entity', title='Shared', body='')\n"
        "        page.body += f'{sys.argv[2]}{i}\\n'\n"
        "        store.write(page)\n"
        "    store.write(WikiNode(type='entity', title=f'Own {sys.argv[2]} {i}', body='x'))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, str(root), name]) for name in "abcd"]
    assert [writer.wait() for writer in writers] == [0] * 4
    store = WikiStore(root)
    shared = store.read("shared")
    assert shared is not None
    assert sorted(shared.body.split()) == sorted(f"{name}{i}" for name in "abcd" for i in range(15))
    assert len(store.scan_all()) == 61


def test_a_page_written_by_another_process_is_seen(store: WikiStore, root: Path) -> None:
    store.write(node("one"))
    other = WikiStore(root)
    other.write(node("two"))
    assert store.exists("two")
    other.delete("one")
    assert not store.exists("one")


ANY_TEXT = st.text(st.characters(categories=None), max_size=40)


@settings(deadline=None, max_examples=60)
@given(ANY_TEXT, ANY_TEXT, st.lists(ANY_TEXT, max_size=3), st.sampled_from(NODE_TYPES))
def test_any_page_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, title: str, body: str, tags: list[str], kind: str
) -> None:
    store = WikiStore(tmp_path_factory.mktemp("root"))
    fields = {"type": kind, "body": body, "sources": ["s#1"], "transcript_ref": title or None}
    page = store.write(node(f"x{title}", tags=[tag for tag in tags if tag.strip(" \t#")], **fields))
    again = store.read(page.slug, kind)
    assert again is not None and again.file_path is not None
    assert (again.title, again.body) == (page.title, clean_text(body))
    data = again.file_path.read_bytes()
    assert store.put(again).change == "" and again.file_path.read_bytes() == data
