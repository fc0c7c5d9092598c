"""`memex import --from wikimem DIR`, `memex export --to wikimem DIR`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from memex_program import memex_cli, memex_program
from wikimem_peer import Peer, files, put, wikimem_files

from memex_core.memex import Memex
from memex_core.model.node import WriteInput

NOT_UTF8 = "is not UTF-8, so its items are no pages; it is kept as it is (make it UTF-8 and import again)"
KEY = "AKIAIOSFODNN7EXAMPLF"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    folder = tmp_path / "there"
    put(
        folder,
        "wiki/pets.md",
        "# mine\r\n\r\n## cat\r\n\r\nTabby likes [[pets:dog]].\r\n\r\n## dog\r\n\r\nBarks.\r\n",
    )
    put(folder, "diary/2026-03-05.md", "# 2026-03-05\n\n## 08:30\n\nfed [[pets:cat]]\n")
    return folder


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(WriteInput("procedure", "Deploy", "Run make.\n", tags=["ops"]))
    return memex


def test_import_takes_a_directory_and_recall_finds_it(there: Path) -> None:
    done = memex_cli("import", "--from", "wikimem", str(there))
    assert done.json["pages"]["created"] == ["cat", "dog"] and done.json["days"] == ["2026-03-05"]
    found = memex_cli("recall", "tabby").json["hits"]
    assert [hit["slug"] for hit in found] == ["cat"]
    assert memex_cli("links", "cat").json["outgoing"] == ["dog"]
    broken = memex_cli("links", "--broken").json
    assert [link for link in broken if link["page"].startswith("docs/")] == []
    assert memex_cli("import", "--from", "wikimem", str(there), "--text").stdout == "2 unchanged\n"


def test_export_gives_back_the_same_files(there: Path, tmp_path: Path) -> None:
    memex_cli("import", "--from", "wikimem", str(there))
    done = memex_cli("export", "--to", "wikimem", str(tmp_path / "back"), "--text")
    assert done.stdout == f"2 items (0 added, 0 updated, 0 removed): {tmp_path / 'back'}\n"
    assert wikimem_files(tmp_path / "back") == wikimem_files(there)
    assert memex_cli("export", "--to", "wikimem", str(tmp_path / "back")).json["written"] == []


def test_pages_go_to_another_memory_and_back_through_a_directory(
    memex: Memex, root: Path, tmp_path: Path
) -> None:
    there, other = tmp_path / "there", tmp_path / "other"
    assert memex_program("export", "--to", "wikimem", str(there)).json["added"] == 1
    assert memex_program("import", "--data-dir", str(other), "--from", "wikimem", str(there)).returncode == 0
    docs = {name: data for name, data in files(root / "docs").items() if ".wikimem" not in name}
    assert docs.items() <= files(other / "docs").items()
    Peer(there).add("procedure", "Deploy", "Run make deploy.")
    done = memex_cli("import", "--from", "wikimem", str(there), "--text")
    assert done.stdout == "1 updated\n"
    page = memex.read("deploy")
    assert page is not None and (page.body, page.tags) == ("Run make deploy.", ["ops"])


def test_a_relative_directory_is_one_of_the_working_directory(
    memex: Memex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert memex_cli("export", "--to", "wikimem", "out").returncode == 0
    assert (tmp_path / "out/wiki/procedure.md").exists()
    assert memex_cli("import", "--from", "wikimem", "out", "--text").stdout == "1 unchanged\n"


def test_what_happened_on_both_sides_is_told(memex: Memex, tmp_path: Path) -> None:
    there = str(tmp_path / "there")
    memex.write(WriteInput("entity", "Gone", "x"))
    memex_cli("export", "--to", "wikimem", there)
    Peer(tmp_path / "there").add("procedure", "Deploy", "theirs")
    Peer(tmp_path / "there").remove("entity", "Gone")
    memex.write(WriteInput("procedure", "Deploy", "ours\n"))
    done = memex_cli("export", "--to", "wikimem", there)
    assert done.returncode == 1 and json.loads(done.stdout)["conflicts"] == ["procedure:Deploy"]
    assert "warning: procedure:Deploy changed there and here" in done.stderr
    assert "warning: entity:Gone was deleted there, but is still here; it was written there" in done.stderr
    Peer(tmp_path / "there").remove("entity", "Gone")
    done = memex_cli("import", "--from", "wikimem", there)
    assert done.returncode == 0
    assert "warning: conflict: deploy differs from what is here; it was left" in done.stderr
    assert "--on-conflict" in done.stderr
    assert "warning: entity:Gone is no longer there; it stays here" in done.stderr
    assert memex_cli("import", "--from", "wikimem", there, "--on-conflict", "update").json["pages"]["updated"]


def test_an_item_of_ones_own_joins_the_file_that_was_imported(there: Path, tmp_path: Path) -> None:
    back = str(tmp_path / "back")
    memex_cli("import", "--from", "wikimem", str(there))
    memex_cli("export", "--to", "wikimem", back)
    memex_cli("item", "add", "pets", "eel", "Slippery.")
    for _ in range(2):
        done = memex_cli("export", "--to", "wikimem", back)
        assert (done.returncode, done.stderr) == (0, "")
    assert done.json["written"] == [] and [path.name for path in (tmp_path / "back/wiki").iterdir()] == [
        "pets.md"
    ]
    assert [item.name for item in Peer(tmp_path / "back").items("pets")] == ["cat", "dog", "eel"]
    assert memex_cli("import", "--from", "wikimem", back, "--text").stdout == "2 unchanged\n"


def test_what_cannot_be_taken_is_told_and_the_rest_comes_in(there: Path) -> None:
    put(there, "wiki/latin.md", b"\xe9")
    os.mkfifo(there / "wiki/fifo.md")
    put(there, "wiki/keys.md", f"## aws\n\n{KEY}\n")
    done = memex_cli("import", "--from", "wikimem", str(there), "--text")
    assert (done.returncode, done.stdout) == (1, "3 created, 1 day (items became pages: memex list)\n")
    assert done.stderr.splitlines() == [
        "warning: wiki/fifo.md is no regular file",
        f"warning: wiki/latin.md {NOT_UTF8}",
        "warning: wiki/keys.md held secrets, which were left out; an export cannot give them back",
    ]


def test_secrets_stay_where_the_configuration_says_so(there: Path, root: Path, tmp_path: Path) -> None:
    put(there, "wiki/keys.md", f"## aws\n\n{KEY}\n")
    put(root, "memex.toml", "[capture]\nredact = false\n")
    assert memex_cli("import", "--from", "wikimem", str(there)).stderr == ""
    memex_cli("export", "--to", "wikimem", str(tmp_path / "back"))
    assert wikimem_files(tmp_path / "back") == wikimem_files(there)


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "--from", "wikimem"),
        ("import", "."),
        ("import", "--from", "obsidian", "."),
        ("import", "--from", "wikimem", ".", "--input", "nodes.json"),
        ("export", "--to", "wikimem"),
        ("export", "."),
        ("export", "--to", "wikimem", ".", "--type", "entity"),
        ("export", "--to", "wikimem", ".", "--output", "nodes.json"),
    ],
    ids=" ".join,
)
def test_half_a_command_is_a_wrong_one(memex: Memex, arguments: tuple[str, ...]) -> None:
    done = memex_cli(*arguments)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_what_may_not_be_written_or_read_is_refused_in_one_line(memex: Memex, tmp_path: Path) -> None:
    put(tmp_path, "full/notes.txt", "mine")
    for arguments in (
        ("export", "--to", "wikimem", str(tmp_path / "full")),
        ("export", "--to", "wikimem", str(memex.root)),
        ("import", "--from", "wikimem", str(tmp_path / "full")),
        ("import", "--from", "wikimem", str(tmp_path / "nowhere")),
        ("import", "--from", "wikimem", str(memex.root)),
    ):
        done = memex_cli(*arguments)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), arguments
    assert files(tmp_path / "full") == {"notes.txt": b"mine"}


def test_both_are_in_the_operation_log_without_a_word_of_the_content(
    there: Path, root: Path, tmp_path: Path
) -> None:
    memex_cli("import", "--from", "wikimem", str(there))
    memex_cli("export", "--to", "wikimem", str(tmp_path / "back"))
    log = (root / "logs/memex.log").read_text("utf-8")
    assert "import-wikimem" in log and "export-wikimem" in log
    assert "tabby" not in log.lower()
