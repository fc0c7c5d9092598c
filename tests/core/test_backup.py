from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from small_memory import SmallMemory

from memex_core.archive import backup as backup_module
from memex_core.archive.backup import BackupRestore
from memex_core.archive.snapshot import Snapshot
from memex_core.config.settings import sections
from memex_core.errors import AlreadyExists, LockTimeout, NotFound, Refused
from memex_core.files.atomic import append_line, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.index.connection import IndexUnusable, patience
from memex_core.index.copy import copy_database
from memex_core.index.index_manager import IndexManager

TRUTH = {
    "docs/entities/ruff.md": b"---\ntitle: Ruff\n---\nA linter.\n",
    "docs/notes.md": b"loose\n",
    "docs/projects/own.md": b"---\nodd: [\n---\r\n\xff\xfe",
    "docs/.obsidian/app.json": b"{}",
    "docs/picture.png": bytes(range(256)),
    "wiki/tools.md": b"## ruff\n",
    "wiki/deep/er/page.md": b"deep\n",
    "diary/2026-01-02.md": b"- met\n",
    "journal.jsonl": b'{"ts": "2026-01-02T03:04:05Z"}\n',
    "recalls.jsonl": b'{"ts": "2026-01-02T03:04:05Z", "paths": []}\n',
    "forgotten.jsonl": b'{"session": "gone"}\n',
    "transcripts/s1.jsonl": b'{"session_id": "s1"}\n',
    "transcripts/s1.meta.json": b'{"session_id": "s1"}',
    "memex.toml": b"[recall]\nsession_start = true\n",
}


def put(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@pytest.fixture
def memory(root: Path) -> BackupRestore:
    put(root, TRUTH)
    return BackupRestore(root, root / "mem.db")


def members(archive: Path) -> list[tarfile.TarInfo]:
    with tarfile.open(archive) as tar:
        return tar.getmembers()


def contents(archive: Path) -> dict[str, bytes]:
    """What is in an archive, by path below its top folder."""
    with tarfile.open(archive) as tar:
        return {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar}  # type: ignore[union-attr]


def manifest(archive: Path) -> dict[str, Any]:
    return dict(json.loads(contents(archive)["manifest.json"]))


def left_out(archive: Path) -> dict[str, str]:
    return dict(manifest(archive)["left_out"])


def test_a_backup_holds_every_truth_path(memory: BackupRestore, tmp_path: Path) -> None:
    report = memory.backup(tmp_path / "b.tar.gz")
    found = contents(tmp_path / "b.tar.gz")
    del found["manifest.json"]
    assert found == TRUTH
    assert report.archive_path == str(tmp_path / "b.tar.gz")
    assert report.size_bytes == (tmp_path / "b.tar.gz").stat().st_size
    assert report.file_counts == {"wiki": 3, "transcripts": 1, "mem_db": 0, "files": 14, "left_out": 0}
    assert report.duration_ms > 0


def test_what_is_no_truth_is_in_no_backup(memory: BackupRestore, root: Path, tmp_path: Path) -> None:
    put(root, dict.fromkeys(["spool/e.json", "logs/memex.log", "backups/old", ".lock", ".mem.db.left"], b"x"))
    put(root, dict.fromkeys(["docs/entities/.memex-00ff.tmp", ".memex-1.tmp", "notes.txt", "mem.db"], b"x"))
    memory.backup(tmp_path / "b.tar.gz")
    assert contents(tmp_path / "b.tar.gz").keys() == {"manifest.json", *TRUTH}
    assert left_out(tmp_path / "b.tar.gz") == {}


def test_the_manifest_comes_first_and_describes_every_file(memory: BackupRestore, tmp_path: Path) -> None:
    os.chmod(memory.data_dir / "docs/notes.md", 0o640)
    memory.backup(tmp_path / "b.tar.gz")
    names = [member.name.partition("/")[2] for member in members(tmp_path / "b.tar.gz")]
    assert names == ["manifest.json", *sorted(TRUTH)]
    said = manifest(tmp_path / "b.tar.gz")
    assert said["version"] == 1 and said["memex_version"]
    assert said["file_counts"] == {"wiki": 3, "transcripts": 1, "mem_db": 0, "files": 14}
    datetime.fromisoformat(said["backed_up_at"])
    entries = {entry["path"]: entry for entry in said["files"]}
    assert {path: entry["sha256"] for path, entry in entries.items()} == {
        path: hashlib.sha256(data).hexdigest() for path, data in TRUTH.items()
    }
    assert all(entries[path]["size"] == len(data) for path, data in TRUTH.items())
    assert entries["docs/notes.md"]["mode"] == "0640"


def test_a_backup_holds_regular_files_of_nobody_under_one_folder(
    memory: BackupRestore, tmp_path: Path
) -> None:
    memory.backup(tmp_path / "b.tar.gz")
    found = members(tmp_path / "b.tar.gz")
    assert all(m.isreg() and m.uid == m.gid == 0 and m.uname == m.gname == "" for m in found)
    assert len({m.name.split("/")[0] for m in found}) == 1
    assert found[0].name.startswith("memex-backup-2")


def test_the_same_memory_gives_the_same_bytes_at_the_same_time(
    memory: BackupRestore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    monkeypatch.setattr(backup_module, "datetime", Clock)
    first, second = tmp_path / "1.tar.gz", tmp_path / "other name.tar.gz"
    memory.backup(first)
    shutil.copytree(memory.data_dir, tmp_path / "copy")
    BackupRestore(tmp_path / "copy", tmp_path / "copy/mem.db").backup(second)
    assert first.read_bytes() == second.read_bytes()


def test_an_empty_memory_can_be_backed_up(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    backups = BackupRestore(root, root / "mem.db")
    assert backups.backup(tmp_path / "b.tar.gz").file_counts["files"] == 0
    assert backups.verify(tmp_path / "b.tar.gz")


def test_a_memory_that_is_not_there_is_not_backed_up(root: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        BackupRestore(root, root / "mem.db").backup(tmp_path / "b.tar.gz")
    assert not root.exists() and not (tmp_path / "b.tar.gz").exists()


def test_a_backup_is_private_and_leaves_nothing_beside_it(memory: BackupRestore, tmp_path: Path) -> None:
    memory.backup(tmp_path / "new" / "folder" / "b.tar.gz")
    assert stat.S_IMODE((tmp_path / "new/folder/b.tar.gz").stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "new" / "folder") == ["b.tar.gz"]


def test_an_ordinary_tar_program_unpacks_a_backup(memory: BackupRestore, tmp_path: Path) -> None:
    if shutil.which("tar") is None:
        pytest.skip("this machine has no tar")
    put(memory.data_dir, {f"docs/{'ü' * 60}/{'x' * 120}.md": b"long\n"})
    memory.backup(tmp_path / "b.tar.gz")
    subprocess.run(["tar", "xzf", "b.tar.gz"], cwd=tmp_path, check=True)
    (top,) = tmp_path.glob("memex-backup-*")
    assert (top / f"docs/{'ü' * 60}/{'x' * 120}.md").read_bytes() == b"long\n"
    assert all((top / path).read_bytes() == data for path, data in TRUTH.items())


def test_a_link_is_followed_inside_the_memory_only(memory: BackupRestore, root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"outside")
    put(root, {"spool/raw.json": b"raw", "mem.db": b"index"})
    docs = root / "docs"
    (docs / "inside.md").symlink_to("entities/ruff.md")
    (docs / "outside.md").symlink_to(tmp_path / "secret")
    (docs / "raw.md").symlink_to(root / "spool/raw.json")
    (docs / "index.md").symlink_to("../mem.db")
    (docs / "config.md").symlink_to("../memex.toml")
    (docs / "nowhere.md").symlink_to("gone.md")
    (docs / "folder").symlink_to("entities")
    os.link(root / "mem.db", docs / "hard.md")
    os.mkfifo(docs / "pipe.md")
    (root / "recalls.jsonl").unlink()
    (root / "recalls.jsonl").symlink_to(tmp_path / "secret")
    report = memory.backup(tmp_path / "b.tar.gz")
    found = contents(tmp_path / "b.tar.gz")
    assert found["docs/inside.md"] == TRUTH["docs/entities/ruff.md"]
    missing = {f"docs/{n}.md" for n in ("outside", "raw", "index", "config", "nowhere", "hard", "pipe")}
    assert left_out(tmp_path / "b.tar.gz").keys() == missing | {"docs/folder", "recalls.jsonl"}
    assert found.keys() == {"manifest.json", "docs/inside.md", *TRUTH} - {"recalls.jsonl"}
    assert report.file_counts["left_out"] == 9


def test_a_folder_that_is_a_link_is_backed_up_whole(
    memory: BackupRestore, root: Path, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    (root / "docs").rename(vault)
    (root / "docs").symlink_to(vault)
    memory.backup(tmp_path / "b.tar.gz")
    assert contents(tmp_path / "b.tar.gz").keys() == {"manifest.json", *TRUTH}


def test_a_folder_that_holds_the_memory_itself_is_left_out(
    memory: BackupRestore, root: Path, tmp_path: Path
) -> None:
    shutil.rmtree(root / "diary")
    (root / "diary").symlink_to(tmp_path)
    memory.backup(tmp_path / "b.tar.gz")
    assert left_out(tmp_path / "b.tar.gz").keys() == {"diary"}


def test_a_name_that_no_archive_may_hold_is_left_out_and_listed(
    memory: BackupRestore, root: Path, tmp_path: Path
) -> None:
    put(
        root,
        {"docs/a\nb.md": b"", "docs/back\\slash.md": b"", "docs/NOTES.md": b"", "docs/sp ace: ü?.md": b"ok"},
    )
    with open(os.fsencode(root) + b"/docs/caf\xe9.md", "wb"):
        pass
    memory.backup(tmp_path / "b.tar.gz")
    assert left_out(tmp_path / "b.tar.gz").keys() == {
        "docs/a\nb.md",
        "docs/back\\slash.md",
        "docs/caf\\xe9.md",
        "docs/notes.md",
    }
    assert contents(tmp_path / "b.tar.gz")["docs/sp ace: ü?.md"] == b"ok"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_costs_only_itself(
    memory: BackupRestore, root: Path, tmp_path: Path
) -> None:
    (root / "docs/notes.md").chmod(0)
    memory.backup(tmp_path / "b.tar.gz")
    assert left_out(tmp_path / "b.tar.gz") == {"docs/notes.md": "Permission denied"}


def test_a_file_that_fails_under_the_reader_costs_only_itself(
    memory: BackupRestore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def broken(path: Any, *args: Any, **named: Any) -> int:
        if str(path).endswith("notes.md"):
            raise OSError(errno.EIO, "Input/output error")
        return real(path, *args, **named)

    monkeypatch.setattr(os, "open", broken)
    memory.backup(tmp_path / "b.tar.gz")
    assert left_out(tmp_path / "b.tar.gz") == {"docs/notes.md": "Input/output error"}


KEY = "sk-live-0123456789"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[llm]\nmodel = "m"\napi_key = "KEY"  # mine\n', '[llm]\nmodel = "m"\napi_key = ""  # mine\n'),
        ("[llm]\r\napi_key='KEY'\r\nmodel='m'\r\n", "[llm]\r\napi_key=\"\"\r\nmodel='m'\r\n"),
        ('[llm]\n"api_key"="KEY"', '[llm]\n"api_key"=""'),
        ("[llm]\n'api_key'\t=\t\"KEY\"", "[llm]\n'api_key'\t=\t\"\""),
        ('[llm]\n"api\\u005fkey" = "KEY"', '[llm]\n"api\\u005fkey" = ""'),
        ('llm.api_key = "KEY"\nllm.model = "m"', 'llm.api_key = ""\nllm.model = "m"'),
        ('llm . "api_key" = "KEY"', 'llm . "api_key" = ""'),
        ('llm = { model = "m", api_key = "KEY" }', 'llm = { model = "m", api_key = "" }'),
        ("llm = {api_key='KEY',command=[\"a\",'b}']}", 'llm = {api_key="",command=["a",\'b}\']}'),
        ('[llm]\napi_key = """\nKEY\n"quoted" \\"""\n"""\nmodel = "m"', '[llm]\napi_key = ""\nmodel = "m"'),
        ("[llm]\napi_key = '''KEY'''''\nmodel = 'm'", "[llm]\napi_key = \"\"\nmodel = 'm'"),
        ('[llm]\napi_key = "a \\"KEY\\" # b"\n', '[llm]\napi_key = ""\n'),
        ('[ "llm" ]\napi_key = "KEY"', '[ "llm" ]\napi_key = ""'),
        ('["llm"] # ]\napi_key = "KEY"', '["llm"] # ]\napi_key = ""'),
        (
            '[[llm]]\napi_key = "KEY"\n[[llm]]\napi_key = "KEY"',
            '[[llm]]\napi_key = ""\n[[llm]]\napi_key = ""',
        ),
        ('[llm]\n# api_key = "KEY"\nmodel = "m"', '[llm]\n# api_key = ""\nmodel = "m"'),
        ("[llm]\n#api_key=KEY\n", '[llm]\n#api_key=""\n'),
        ("[llm]\napi_key = [\"KEY\", { a = 'KEY' }]\n", '[llm]\napi_key = ""\n'),
        ('[other]\napi_key = "KEY"\n', '[other]\napi_key = ""\n'),
        ('[llm]\ncommand = [ # api_key = "KEY"\n "a",\n]\n', '[llm]\ncommand = [ # api_key = ""\n "a",\n]\n'),
    ],
)
def test_the_api_key_is_taken_out_however_it_is_written(
    root: Path, tmp_path: Path, before: str, after: str
) -> None:
    put(root, {"memex.toml": before.replace("KEY", KEY).encode()})
    BackupRestore(root, root / "mem.db").backup(tmp_path / "b.tar.gz")
    found = contents(tmp_path / "b.tar.gz")
    assert found["memex.toml"].decode() == after
    assert not any(KEY.encode() in data for data in found.values())


@pytest.mark.parametrize(
    "name",
    [
        "api-key", "apikey", "apiKey", "API_KEY", "Api-Key", "api_keys", "api_kye", "api_ky", "apy_key",
        "aip_key", "key", "openai_api_key", "MEMEX_API_KEY", "my_api_key", "token", "api_token", "auth_token",
        "secret",
        "password", '"api key"', '"api.key"', "'api_key '", "api.key",
    ],
)  # fmt: skip
def test_a_key_under_a_misspelt_name_is_taken_out_too(root: Path, tmp_path: Path, name: str) -> None:
    lines = [f'[llm]\n{name} = "{KEY}"\nmodel = "m"\n', f'[llm]\n# {name} = "{KEY}"\n']
    lines += [f'[llm]\n{name} = ["{KEY}"]\n', f'llm = {{ {name} = "{KEY}" }}\n']
    for number, text in enumerate(lines):
        put(root, {"memex.toml": text.encode()})
        BackupRestore(root, root / "mem.db").backup(tmp_path / f"{number}.tar.gz")
        found = contents(tmp_path / f"{number}.tar.gz")["memex.toml"]
        assert KEY.encode() not in found
        assert found.decode() == re.sub(r"= [\"\[].*?sk-[^ ]*?(\"\]?)(?= |\n)", '= ""', text)


def test_no_setting_of_ours_but_the_key_is_taken_out(root: Path, tmp_path: Path) -> None:
    names = [f"{key} = 5" for keys in sections().values() for key in keys if key != "api_key"]
    text = "\n".join(f"[s{number}]\n{line}" for number, line in enumerate(names)) + "\n"
    put(root, {"memex.toml": text.encode()})
    BackupRestore(root, root / "mem.db").backup(tmp_path / "b.tar.gz")
    assert contents(tmp_path / "b.tar.gz")["memex.toml"].decode() == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# api_key\n",
        '[llm]\napi_key = ""\n',
        "[llm]\napi_key = '' # empty\r\n",
        "[app]\nname = \"api_key = 'x'\"\n",
        '[app]\nname = """\napi_key = "x"\n"""\n',
        '[llm]\napi_base = "http://h/v1"\nmax_tokens = 9\ncommand = ["x"]\n# api_base = "http://h"\n',
        '[a]\nx = [1, 2.5, nan, 1979-05-27T07:32:00Z, { b = [ [ "]" ] ] }]\n"q.r" = 07:32:00\n',
        '[a."b]".c]\nx = 1\n[[a.d]]\ny = -inf\n\t[a.d.e]\n',
    ],
)
def test_a_configuration_without_a_key_stays_byte_for_byte(root: Path, tmp_path: Path, text: str) -> None:
    put(root, {"memex.toml": text.encode()})
    BackupRestore(root, root / "mem.db").backup(tmp_path / "b.tar.gz")
    assert contents(tmp_path / "b.tar.gz")["memex.toml"].decode() == text


@pytest.mark.parametrize(
    "data", [b"[llm\napi_key = 'x'", b'\xef\xbb\xbf[llm]\napi_key="x"', b"\xff", b"a = " + b"[" * 9999]
)
def test_a_configuration_that_cannot_be_read_is_left_out_for_it_may_hold_a_key(
    root: Path, tmp_path: Path, data: bytes
) -> None:
    put(root, {"memex.toml": data})
    report = BackupRestore(root, root / "mem.db").backup(tmp_path / "b.tar.gz")
    assert left_out(tmp_path / "b.tar.gz").keys() == {"memex.toml"}
    assert report.file_counts["left_out"] == 1


def indexed(root: Path) -> SmallMemory:
    memory = SmallMemory(root)
    memory.write("Ruff", "A fast linter.")
    memory.sync()
    return memory


def with_index(root: Path) -> BackupRestore:
    return BackupRestore(root, root / "mem.db", copy_index=lambda dest: copy_database(root / "mem.db", dest))


def test_the_index_is_copied_if_it_is_wanted(root: Path, tmp_path: Path) -> None:
    memory = indexed(root)
    report = with_index(root).backup(tmp_path / "b.tar.gz")
    assert report.file_counts["mem_db"] == 1
    assert with_index(root).backup(tmp_path / "c.tar.gz", False).file_counts["mem_db"] == 0
    assert "mem.db" not in contents(tmp_path / "c.tar.gz")
    (tmp_path / "mem.db").write_bytes(contents(tmp_path / "b.tar.gz")["mem.db"])
    memory.index.db_path = tmp_path / "mem.db"
    assert memory.index.check_health() == "" and memory.index.get_all_slugs() == ["ruff"]


def test_a_missing_or_damaged_index_is_left_out(root: Path, tmp_path: Path) -> None:
    put(root, TRUTH)
    assert with_index(root).backup(tmp_path / "b.tar.gz").file_counts["left_out"] == 0
    (root / "mem.db").write_bytes(b"no database" * 1000)
    assert with_index(root).backup(tmp_path / "b.tar.gz").file_counts["left_out"] == 1
    assert "index cannot be used" in left_out(tmp_path / "b.tar.gz")["mem.db"]


def test_the_index_is_never_opened_as_a_plain_file(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed(root)
    opened: list[str] = []
    real_open, real_io = os.open, io.open
    monkeypatch.setattr(
        os, "open", lambda path, *a, **k: opened.append(str(path)) or real_open(path, *a, **k)
    )
    monkeypatch.setattr(
        "builtins.open", lambda path, *a, **k: opened.append(str(path)) or real_io(path, *a, **k)
    )
    with_index(root).backup(tmp_path / "b.tar.gz")
    assert opened and not [path for path in opened if path.startswith(str(root / "mem.db"))]


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_copy_of_the_index_is_whole_while_others_write(root: Path, tmp_path: Path, mode: str) -> None:
    memory = indexed(root)
    memory.index.journal_mode = mode
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with memory.index.changing() as db:
                for key in ("one", "two"):
                    db.execute("INSERT OR REPLACE INTO index_meta VALUES (?, ?)", (key, str(number)))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(8):
            copy = tmp_path / f"{number}.db"
            copy_database(root / "mem.db", copy)
            copied = IndexManager(copy)
            assert copied.get_meta("one") == copied.get_meta("two")
    finally:
        stop.set()
        writer.join()
    assert stat.S_IMODE((tmp_path / "0.db").stat().st_mode) == 0o600
    assert not list(tmp_path.glob("*.db-*"))


def test_a_copy_waits_no_longer_than_it_may_for_a_writer(root: Path, tmp_path: Path) -> None:
    indexed(root)
    token = patience.set(0.2)
    writer = sqlite3.connect(root / "mem.db", isolation_level=None)
    try:
        writer.execute("PRAGMA journal_mode = DELETE")
        writer.execute("BEGIN EXCLUSIVE")
        started = time.monotonic()
        with pytest.raises(IndexUnusable, match="lock"):
            copy_database(root / "mem.db", tmp_path / "copy.db")
        assert time.monotonic() - started < 3
    finally:
        patience.reset(token)
        writer.close()
    assert not list(tmp_path.glob("copy.db*"))


def test_a_copy_never_replaces_a_file(root: Path, tmp_path: Path) -> None:
    indexed(root)
    (tmp_path / "copy.db").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        copy_database(root / "mem.db", tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_bytes() == b"mine"


def test_a_backup_replaces_an_older_one(memory: BackupRestore, tmp_path: Path) -> None:
    for data in (b"old", b"new"):
        put(memory.data_dir, {"docs/notes.md": data})
        memory.backup(tmp_path / "b.tar.gz")
    assert contents(tmp_path / "b.tar.gz")["docs/notes.md"] == b"new"


def test_a_damaged_older_backup_may_be_replaced(memory: BackupRestore, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.tar.gz")
    (tmp_path / "b.tar.gz").write_bytes((tmp_path / "b.tar.gz").read_bytes()[:-20])
    assert not memory.verify(tmp_path / "b.tar.gz")
    memory.backup(tmp_path / "b.tar.gz")
    assert memory.verify(tmp_path / "b.tar.gz")


def test_a_file_that_is_no_backup_is_not_replaced(memory: BackupRestore, tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_bytes(b"ten years")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "thesis.doc", "thesis.doc")
    (tmp_path / "link").symlink_to("thesis.doc")
    for name in ("thesis.doc", "folder", "pipe", "other.tar.gz", "link"):
        with pytest.raises(AlreadyExists, match=name):
            memory.backup(tmp_path / name)
    assert (tmp_path / "thesis.doc").read_bytes() == b"ten years"
    assert not list(tmp_path.glob(".memex-*"))


@pytest.mark.parametrize(
    "place", ["docs/b.tar.gz", "wiki/x/b.tar.gz", "transcripts/b.tar.gz", "journal.jsonl", "mem.db"]
)
def test_a_backup_is_not_written_into_what_it_backs_up(
    memory: BackupRestore, root: Path, tmp_path: Path, place: str
) -> None:
    (root / "journal.jsonl").unlink()
    (tmp_path / "door").symlink_to(root)
    for base in (root, tmp_path / "door"):
        with pytest.raises(Refused, match="inside the memory"):
            memory.backup(base / place)
    assert not (root / place).exists()


def test_a_backup_may_lie_in_the_memory_root(memory: BackupRestore, root: Path, tmp_path: Path) -> None:
    memory.backup(root / "backups" / "b.tar.gz")
    memory.backup(root / "b.tar.gz")
    assert contents(root / "b.tar.gz").keys() == {"manifest.json", *TRUTH}


def test_a_relative_place_is_taken_from_here(
    memory: BackupRestore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert memory.backup(Path("b.tar.gz")).archive_path == str(tmp_path / "b.tar.gz")
    assert memory.verify(Path("b.tar.gz"))


def test_a_full_disk_is_named_and_leaves_nothing_behind(memory: BackupRestore, tmp_path: Path) -> None:
    put(memory.data_dir, {"docs/big.md": os.urandom(100_000)})
    script = (
        "import resource, signal, sys\nfrom pathlib import Path\n"
        "from memex_core.archive.backup import BackupRestore\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)\n"
        "root = Path(sys.argv[1])\n"
        "try:\n    BackupRestore(root, root / 'mem.db').backup(Path(sys.argv[2]))\n"
        "except OSError as error:\n    print(error.errno, error.filename)\n"
    )
    for limit in (4096, 101_500):  # the snapshot does not fit; only the archive does not
        output = tmp_path / "new" / "b.tar.gz"
        arguments = [sys.executable, "-c", script, str(memory.data_dir), str(output), str(limit)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(errno.EFBIG), str(output)]
        assert not (tmp_path / "new").exists()


def test_a_read_only_memory_can_be_backed_up(
    memory: BackupRestore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def read_only(path: Any, flags: int, *args: Any, **named: Any) -> int:
        if str(path).startswith(str(root)) and flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return real(path, flags, *args, **named)

    monkeypatch.setattr(os, "open", read_only)
    memory.backup(tmp_path / "b.tar.gz")
    assert memory.verify(tmp_path / "b.tar.gz")


def test_what_packs_like_a_bomb_can_still_be_restored(root: Path, tmp_path: Path) -> None:
    put(root, {"docs/zeros.bin": bytes(17 << 20)})
    backups = BackupRestore(root, root / "mem.db")
    backups.backup(tmp_path / "b.tar.gz")
    assert backups.verify(tmp_path / "b.tar.gz")


def test_nobody_waits_for_the_long_part_of_a_backup(
    memory: BackupRestore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []

    def others() -> None:
        try:
            with memory_lock(root, timeout=0.0):
                waited.append(False)
        except LockTimeout:
            waited.append(True)

    real = Snapshot._copy

    def copy(self: Snapshot, path: str, source: str) -> Any:
        other = threading.Thread(target=others)
        other.start()
        other.join()
        return real(self, path, source)

    monkeypatch.setattr(Snapshot, "_copy", copy)
    memory.backup(tmp_path / "b.tar.gz")
    assert waited == [False] * len(TRUTH)


def test_what_changes_while_it_is_read_is_read_again(
    memory: BackupRestore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = Snapshot._copy, set()

    def copy(self: Snapshot, path: str, source: str) -> Any:
        copied = real(self, path, source)
        if path not in seen:
            seen.add(path)
            if path == "docs/picture.png":
                return copied
            write_atomic(root / path, b"[recall]\n" if path == "memex.toml" else b"after\n")
            if path == "docs/notes.md":
                put(root, {"docs/entities/late.md": b"late\n"})
                (root / "docs/picture.png").unlink()
        return copied

    monkeypatch.setattr(Snapshot, "_copy", copy)
    memory.backup(tmp_path / "b.tar.gz")
    found = contents(tmp_path / "b.tar.gz")
    assert "docs/picture.png" not in found and found["docs/entities/late.md"] in (b"late\n", b"after\n")
    assert {found[path] for path in TRUTH if path not in ("docs/picture.png", "memex.toml")} == {b"after\n"}


def test_a_record_that_grows_all_the_time_does_not_spoil_a_backup(
    memory: BackupRestore, root: Path, tmp_path: Path
) -> None:
    stop = threading.Event()

    def append() -> None:
        while not stop.is_set():
            append_line(root / "recalls.jsonl", b'{"paths": []}' + b" " * 500, durable=False)

    writer = threading.Thread(target=append)
    writer.start()
    try:
        for _ in range(3):
            memory.backup(tmp_path / "b.tar.gz")
            lines = contents(tmp_path / "b.tar.gz")["recalls.jsonl"].split(b"\n")
            assert all(json.loads(line) for line in lines if line)
    finally:
        stop.set()
        writer.join()


WRITER = """
import sys, time
from pathlib import Path
from memex_core.files.atomic import append_line, write_atomic
from memex_core.files.lock import memory_lock
root = Path(sys.argv[1])
for number in range(10**6):
    text = b"%d\\n" % number
    with memory_lock(root):
        write_atomic(root / "transcripts/pair.jsonl", text * 200, durable=False)
        write_atomic(root / "transcripts/pair.meta.json", text, durable=False)
        write_atomic(root / f"docs/entities/page-{number % 50}.md", text, durable=False)
        append_line(root / "journal.jsonl", b"%d" % number, durable=False)
    if number == 0:
        print("ready", flush=True)
    time.sleep(0.002)
"""


def test_a_backup_taken_while_another_process_writes_is_of_one_moment(
    memory: BackupRestore, root: Path, tmp_path: Path
) -> None:
    (root / "journal.jsonl").unlink()
    with subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
            seen = set()
            for _ in range(4):
                memory.backup(tmp_path / "b.tar.gz")
                found = contents(tmp_path / "b.tar.gz")
                last = found["transcripts/pair.meta.json"]
                assert found["transcripts/pair.jsonl"] == last * 200
                assert found[f"docs/entities/page-{int(last) % 50}.md"] == last
                assert found["journal.jsonl"].endswith(b"\n" + last) or last == found["journal.jsonl"]
                seen.add(last)
        finally:
            writer.kill()
    assert len(seen) > 1


def test_a_backup_waits_for_who_holds_the_memory_and_says_so(
    memory: BackupRestore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import memex_core.archive.snapshot as snapshot

    monkeypatch.setattr(snapshot, "memory_lock", lambda folder: memory_lock(folder, timeout=0.1))
    with memory_lock(root):
        failed: list[BaseException] = []

        def attempt() -> None:
            try:
                memory.backup(tmp_path / "b.tar.gz")
            except LockTimeout as error:
                failed.append(error)

        other = threading.Thread(target=attempt)
        other.start()
        other.join()
    assert len(failed) == 1
    assert not list(tmp_path.glob("b.tar.gz")) and not list(tmp_path.glob(".memex-*"))


@pytest.mark.slow
def test_ten_thousand_pages_are_backed_up_within_ten_seconds(root: Path, tmp_path: Path) -> None:
    put(root, {f"docs/entities/page-{n}.md": os.urandom(400).hex().encode() for n in range(10_000)})
    started = time.perf_counter()
    report = BackupRestore(root, root / "mem.db").backup(tmp_path / "b.tar.gz")
    assert report.file_counts["wiki"] == 10_000
    assert time.perf_counter() - started < 10


@pytest.mark.slow
def test_a_transcript_larger_than_memory_allows_is_streamed(root: Path, tmp_path: Path) -> None:
    (root / "transcripts").mkdir(parents=True)
    with (root / "transcripts/big.jsonl").open("wb") as file:
        for _ in range(400):
            file.write(os.urandom(1 << 20))
    script = (
        "import sys\nfrom pathlib import Path\nfrom memex_core.archive.backup import BackupRestore\n"
        "root, archive = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "backups = BackupRestore(root, root / 'mem.db')\n"
        "backups.backup(archive)\nbackups.restore(archive)\n"
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])\n"
    )
    arguments = [sys.executable, "-c", script, str(root), str(tmp_path / "b.tar.gz")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 80_000  # kB
