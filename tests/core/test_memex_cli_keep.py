"""`memex backup`, `restore`, `export`, `import`, `info`, `rebuild-index` (seed 000 §5.5, §9.6 to §9.8, §10;
issue 3 items 2, 6, 7, 9).
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import fields
from pathlib import Path

import pytest
from memex_program import memex_cli, memex_program, on_a_terminal

from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.results import BackupReport, ImportReport, RebuildIndexReport, RestoreReport


@pytest.fixture
def memex(root: Path) -> Memex:
    memex = Memex(root)
    memex.write(WriteInput("preference", "User preference: ruff", "I prefer ruff."))
    memex.write(WriteInput("entity", "Zephyr", "Our build server."))
    return memex


@pytest.fixture
def archive(memex: Memex, tmp_path: Path) -> Path:
    path = tmp_path / "backup.tar.gz"
    assert memex_cli("backup", "--output", str(path)).returncode == 0
    return path


def slugs(root: Path) -> set[str]:
    return {page.slug for page in Memex(root).list_pages()}


def test_backup_gives_the_report_of_the_specification(memex: Memex, tmp_path: Path) -> None:
    report = memex_cli("backup", "--output", str(tmp_path / "b.tar.gz")).json
    assert list(report) == [field.name for field in fields(BackupReport)]
    assert report["archive_path"] == str(tmp_path / "b.tar.gz")
    assert report["size_bytes"] == (tmp_path / "b.tar.gz").stat().st_size
    assert (report["file_counts"]["wiki"], report["file_counts"]["mem_db"]) == (2, 1)


def test_backup_as_text_and_without_the_index(memex: Memex, tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    done = memex_cli("backup", "--output", str(path), "--no-mem-db", "--text")
    assert done.stdout.startswith("2 pages, 0 sessions, without the index\n") and str(path) in done.stdout


def test_backup_understands_a_path_from_here(
    memex: Memex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert memex_cli("backup", "--output", "b.tar.gz").json["archive_path"] == str(tmp_path / "b.tar.gz")
    assert memex_cli("backup", "--verify", "b.tar.gz").json["sound"]


def test_a_sound_archive_is_verified(archive: Path) -> None:
    assert memex_cli("backup", "--verify", str(archive)).json == {
        "archive_path": str(archive),
        "sound": True,
        "problems": [],
    }
    assert memex_cli("backup", "--verify", str(archive), "--text").stdout == f"{archive}: sound\n"


def test_a_damaged_archive_is_told_with_the_reasons_and_exit_1(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:300])
    done = memex_cli("backup", "--verify", str(archive))
    found = json.loads(done.stdout)
    assert done.returncode == 1 and not found["sound"] and found["problems"]
    as_text = memex_cli("backup", "--verify", str(archive), "--text")
    assert as_text.returncode == 1 and found["problems"][0] in as_text.stdout


def test_restore_into_an_empty_memory_asks_nothing(root: Path, archive: Path) -> None:
    shutil.rmtree(root)
    report = memex_program("restore", "--input", str(archive)).json
    assert list(report) == [field.name for field in fields(RestoreReport)]
    assert report["restored"] and slugs(root) == {"user-preference-ruff", "zephyr"}


def test_restore_over_a_memory_needs_yes_or_a_terminal(root: Path, memex: Memex, archive: Path) -> None:
    memex.write(WriteInput("entity", "Later", "x"))
    done = memex_program("restore", "--input", str(archive))
    assert (done.returncode, done.stdout) == (1, "") and "--yes" in done.stderr
    asked = on_a_terminal("restore", "--input", str(archive), typed=["n"])
    assert asked.returncode == 1 and f"Replace the memory in {root}?" in asked.stdout
    assert "later" in slugs(root)
    report = memex_cli("restore", "--input", str(archive), "--yes").json
    assert slugs(root) == {"user-preference-ruff", "zephyr"}
    assert (Path(report["previous_backup_dir"]) / "docs" / "entities" / "later.md").is_file()


def test_restore_as_text_says_where_the_old_memory_is(root: Path, archive: Path) -> None:
    done = memex_cli("restore", "--input", str(archive), "--yes", "--text")
    assert done.stdout.startswith("2 pages, 0 sessions restored\nwhat was here before: ")


def test_restore_of_what_is_no_backup_changes_nothing(root: Path, memex: Memex, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"nonsense")
    for name in ("x.tar.gz", "missing.tar.gz"):
        done = memex_cli("restore", "--input", str(tmp_path / name), "--yes")
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert slugs(root) == {"user-preference-ruff", "zephyr"}


def test_export_prints_the_document_of_the_specification(memex: Memex) -> None:
    for form in ("--json", "--text"):
        document = memex_cli("export", form).json
        assert list(document)[:3] == ["version", "exported_at", "nodes"] and document["version"] == "1.0"
        keys = ("slug", "type", "title", "tags", "importance", "created", "updated", "body", "links")
        assert all({*keys, "transcript_ref"} <= set(node) for node in document["nodes"])
    assert [node["slug"] for node in memex_cli("export", "--type", "entity").json["nodes"]] == ["zephyr"]


def test_export_into_a_file_is_private_and_the_same_document(memex: Memex, tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    assert memex_cli("export", "--output", str(path)).json == {"output": str(path), "nodes": 2}
    assert json.loads(path.read_text("utf-8"))["nodes"] == memex_cli("export").json["nodes"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert memex_cli("export", "--output", str(path), "--text").stdout == f"2 pages: {path}\n"


def test_what_was_exported_is_imported_and_twice_is_once(memex: Memex, tmp_path: Path) -> None:
    document = memex_cli("export").stdout
    other = str(tmp_path / "other")
    first = memex_program("import", "--data-dir", other, stdin=document).json
    assert list(first) == [field.name for field in fields(ImportReport)]
    assert sorted(first["created"]) == ["user-preference-ruff", "zephyr"] and first["imported"] == 2
    (tmp_path / "nodes.json").write_text(document, "utf-8")
    again = memex_cli("import", "--input", str(tmp_path / "nodes.json"), "--data-dir", other).json
    assert sorted(again["unchanged"]) == ["user-preference-ruff", "zephyr"] and again["imported"] == 0


@pytest.fixture
def conflicting(memex: Memex, tmp_path: Path) -> Path:
    document = memex_cli("export").json
    (node,) = [node for node in document["nodes"] if node["slug"] == "zephyr"]
    memex.write(WriteInput("entity", "Zephyr", "Our other build server."))
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({**document, "nodes": [node]}), "utf-8")
    return path


def body(root: Path, slug: str) -> str:
    page = Memex(root).read(slug)
    assert page is not None
    return page.body.strip()


def test_a_conflict_is_told_and_no_failure(root: Path, conflicting: Path) -> None:
    done = memex_cli("import", "--input", str(conflicting))
    assert done.json["conflicts"] == ["zephyr"] and done.json["skipped"] == ["zephyr"]
    assert done.stderr.startswith("warning: conflict: zephyr differs from what is here; it was left as it is")
    assert body(root, "zephyr") == "Our other build server."


@pytest.mark.parametrize(
    ("choice", "outcome", "there"),
    [("update", "updated", "Our build server."), ("rename", "renamed", "Our other build server.")],
)
def test_a_conflict_ends_as_it_is_told_to(
    root: Path, conflicting: Path, choice: str, outcome: str, there: str
) -> None:
    report = memex_cli("import", "--input", str(conflicting), "--on-conflict", choice).json
    assert len(report[outcome]) == 1 and body(root, "zephyr") == there
    if choice == "rename":
        assert body(root, report["renamed"][0]) == "Our build server."


def test_a_node_that_is_no_page_is_refused_and_the_others_come_in(root: Path, tmp_path: Path) -> None:
    node = {"slug": "ruff", "type": "entity", "title": "Ruff", "body": "A linter."}
    node |= dict.fromkeys(("created", "updated"), "2026-09-15T10:00:00Z")
    document = {"version": "1.0", "nodes": [node, {"type": "spell", "title": "x", "body": "y"}, 7]}
    (tmp_path / "nodes.json").write_text(json.dumps(document), "utf-8")
    done = memex_cli("import", "--input", str(tmp_path / "nodes.json"))
    report = json.loads(done.stdout)
    assert done.returncode == 1 and len(report["refused"]) == 2 and report["created"] == ["ruff"]
    assert len([line for line in done.stderr.splitlines() if line.startswith("warning: refused")]) == 2
    assert slugs(root) == {"ruff"}


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ('{"nodes": [', 1, "line 1 column 12"),
        ("", 1, "not JSON"),
        ("[" * 200_000, 1, "not JSON"),
        ("5", 2, ""),
        ('{"nodes": 5}', 2, ""),
        ('{"version": "99", "nodes": []}', 2, "version"),
    ],
)
def test_what_is_no_export_is_refused_in_one_line(
    root: Path, tmp_path: Path, text: str, status: int, said: str
) -> None:
    (tmp_path / "nodes.json").write_text(text, "utf-8")
    done = memex_cli("import", "--input", str(tmp_path / "nodes.json"))
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr
    assert not (root / "docs").exists()


def test_import_at_a_terminal_wants_a_file(root: Path) -> None:
    done = on_a_terminal("import")
    assert done.returncode == 2 and "--input" in done.stdout


def test_import_as_text_counts_what_became_of_the_nodes(conflicting: Path) -> None:
    assert memex_cli("import", "--input", str(conflicting), "--text").stdout == "1 skipped\n"


def test_an_existing_device_or_folder_is_never_replaced(memex: Memex, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for command in ("backup", "export"):
        for place in (tmp_path / "pipe", tmp_path):
            done = memex_cli(command, "--output", str(place))
            assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_info_says_where_memory_is_and_how_the_index_runs(memex: Memex) -> None:
    facts = memex_cli("info").json
    assert facts["memory_root"] == str(memex.root) and facts["pages_indexed"] == 2
    assert facts["journal_mode"] and facts["journal_mode_reason"]


def test_info_tells_every_setting_and_where_it_comes_from(
    memex: Memex, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memex.root / "memex.toml").write_text("[bm25]\nk1 = 1.5\n", "utf-8")
    monkeypatch.setenv("MEMEX_API_KEY", "sk-a-secret")
    done = memex_cli("info")
    settings = {(each["section"], each["key"]): each for each in done.json["config"]}
    assert settings["bm25", "k1"]["value"] == 1.5 and "memex.toml" in settings["bm25", "k1"]["origin"]
    assert settings["bm25", "default_top_k"]["origin"] == "default"
    assert settings["llm", "api_key"]["origin"] == "MEMEX_API_KEY" and "sk-a-secret" not in done.stdout


def test_info_as_text_groups_the_settings(memex: Memex) -> None:
    (memex.root / "memex.toml").write_text("[bm25]\nk1 = 1.5\n", "utf-8")
    lines = memex_cli("info", "--text").stdout.splitlines()
    assert any(line.startswith("memory root ") and line.endswith(str(memex.root)) for line in lines)
    section = lines[lines.index("[bm25]") + 1 :]
    assert section[0].split()[:3] == ["k1", "=", "1.5"] and "memex.toml" in section[0]
    assert section[2].split() == ["default_top_k", "=", "10"]


def test_rebuild_index_gives_the_report_of_the_specification(memex: Memex) -> None:
    report = memex_cli("rebuild-index", "--force").json
    assert list(report) == [field.name for field in fields(RebuildIndexReport)]
    assert report["nodes_indexed"] == 2
    assert memex_cli("rebuild-index").json["nodes_skipped"] == 2
    assert memex_cli("rebuild-index", "--force", "--text").stdout.startswith("2 pages indexed, 0 unchanged")
