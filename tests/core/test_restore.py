from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_archives import FILES, archive, listing, packed, plain, plain_listing, sound, stored
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_memory import SmallMemory

from memex_core.archive.backup import BackupRestore
from memex_core.archive.restore import finish_restore
from memex_core.archive.swap import NOTE
from memex_core.errors import LockTimeout, MemexError, NotFound, Refused
from memex_core.files.atomic import append_line
from memex_core.files.lock import memory_lock
from memex_core.index.copy import copy_database

PARTS = ("docs", "wiki", "diary", "transcripts")
RECORDS = ("journal.jsonl", "recalls.jsonl", "forgotten.jsonl", "memex.toml")


def truth(root: Path) -> dict[str, tuple[bytes, int]]:
    """The bytes and the mode of every truth file."""
    found = {}
    for part in (*PARTS, *RECORDS):
        for path in [root / part, *(root / part).rglob("*")]:
            if path.is_file():
                found[str(path.relative_to(root))] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


def put(root: Path, files: dict[str, bytes | str]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def backups_of(root: Path) -> BackupRestore:
    memory = SmallMemory(root)
    return BackupRestore(
        root,
        memory.db,
        copy_index=lambda dest: copy_database(memory.db, dest),
        rebuild_index=memory.index.rebuild_from_wiki,
    )


@pytest.fixture
def memory(root: Path) -> SmallMemory:
    """Two pages, a session and a record of each kind."""
    memory = SmallMemory(root)
    memory.write("Ruff", "A fast linter for Python.", tags=["tool"])
    memory.write("Poetry", "Packs Python projects, and links to [[ruff]].")
    memory.sidecar("s1", title="first")
    put(root, {"transcripts/s1.jsonl": '{"session_id": "s1"}\n', "wiki/tools.md": "## ruff\n"})
    put(root, {"diary/2026-01-02.md": "- met\n", "journal.jsonl": "{}\n", "forgotten.jsonl": ""})
    memory.recalls(json.dumps({"ts": "2026-01-02T03:04:05Z", "paths": ["docs/entities/ruff.md"]}))
    return memory


def test_a_restore_brings_back_bytes_modes_and_answers(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    os.chmod(root / "docs/entities/ruff.md", 0o640)
    os.chmod(root / "wiki/tools.md", 0o400)
    before, answers = truth(root), memory.hits("python linter")
    backups_of(root).backup(tmp_path / "b.tar.gz")
    shutil.rmtree(root)
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert report.restored and report.index_rebuilt and report.warnings == []
    assert report.file_counts == {"wiki": 2, "transcripts": 1, "files": 9}
    assert report.previous_backup_dir is None
    assert truth(root) == before
    assert memory.hits("python linter") == answers and len(answers) == 2


def test_what_was_there_is_kept_and_named(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    old = truth(root)
    backups_of(root).backup(tmp_path / "b.tar.gz")
    memory.write("Later", "Written after the backup.")
    put(root, {"docs/entities/ruff.md": "changed", "spool/e.json": "raw", "logs/memex.log": "line"})
    (root / "wiki/tools.md").unlink()
    changed = truth(root)
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert truth(root) == old
    assert report.previous_backup_dir is not None
    previous = Path(report.previous_backup_dir)
    assert previous.parent == root / "backups"
    assert truth(previous) == changed
    assert (root / "spool/e.json").read_bytes() == b"raw" and (
        root / "logs/memex.log"
    ).read_bytes() == b"line"
    assert memory.found("linter") == ["ruff"] and memory.found("backup") == []
    assert not [name for name in os.listdir(root) if name.startswith(".memex-")]


def test_each_restore_keeps_its_own_old_memory(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    backups_of(root).backup(tmp_path / "b.tar.gz")
    kept = {backups_of(root).restore(tmp_path / "b.tar.gz").previous_backup_dir for _ in range(3)}
    assert len(kept) == 3 and all(truth(Path(str(folder))) == truth(root) for folder in kept)


def test_a_restored_file_has_its_old_date(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    os.utime(root / "wiki/tools.md", (1_600_000_000, 1_600_000_000))
    backups_of(root).backup(tmp_path / "b.tar.gz")
    backups_of(root).restore(tmp_path / "b.tar.gz")
    assert (root / "wiki/tools.md").stat().st_mtime == 1_600_000_000


def test_a_restored_memory_is_private(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    backups_of(root).backup(tmp_path / "b.tar.gz")
    shutil.rmtree(root)
    before = os.umask(0)
    try:
        backups_of(root).restore(tmp_path / "b.tar.gz")
    finally:
        os.umask(before)
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_a_backup_without_the_index_is_restored_and_indexed(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    memory.sync()
    backups_of(root).backup(tmp_path / "b.tar.gz", include_mem_db=False)
    shutil.rmtree(root)
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert report.index_rebuilt and memory.index.count() == 2


def test_the_index_of_an_archive_is_never_used(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    memory.sync()
    memory.index.set_meta("planted", "yes")
    backups = backups_of(root)
    assert backups.backup(tmp_path / "b.tar.gz").file_counts["mem_db"] == 1
    shutil.rmtree(root)
    BackupRestore(root, memory.db).restore(tmp_path / "b.tar.gz")
    assert not memory.db.exists()
    backups.restore(tmp_path / "b.tar.gz")
    assert memory.index.get_meta("planted") is None


def test_without_a_rebuild_the_next_command_finds_what_was_restored(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    backups = BackupRestore(root, memory.db)
    assert memory.found("linter") == ["ruff"]
    backups.backup(tmp_path / "b.tar.gz")
    put(root, {"docs/entities/ruff.md": "gone"})
    assert memory.found("linter") == []
    assert not backups.restore(tmp_path / "b.tar.gz").index_rebuilt
    assert memory.found("linter") == ["ruff"]


def test_an_index_that_cannot_be_rebuilt_is_a_warning(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    backups_of(root).backup(tmp_path / "b.tar.gz")
    report = BackupRestore(root, memory.db, rebuild_index=fail).restore(tmp_path / "b.tar.gz")
    assert report.restored and not report.index_rebuilt
    assert len(report.warnings) == 1 and "No space left" in report.warnings[0]


def test_an_empty_memory_comes_back_empty_and_says_so(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    backups_of(root).backup(tmp_path / "b.tar.gz")
    put(root, {"docs/entities/a.md": "a", "memex.toml": "[app]\n"})
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert truth(root).keys() == {"memex.toml"}
    assert truth(Path(str(report.previous_backup_dir))).keys() == {"docs/entities/a.md"}
    assert "empty memory" in report.warnings[0]


def test_what_the_backup_left_out_is_told(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    put(root, {"docs/a\nb.md": "odd"})
    (root / "docs/pipe.md").symlink_to("/etc/passwd")
    backups_of(root).backup(tmp_path / "b.tar.gz")
    warning = backups_of(root).restore(tmp_path / "b.tar.gz").warnings[0]
    assert warning.startswith("2 files are not in the backup: docs/a b.md (")


def test_a_folder_that_was_a_link_becomes_a_folder(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    backups_of(root).backup(tmp_path / "b.tar.gz")
    (root / "wiki").rename(tmp_path / "vault")
    (root / "wiki").symlink_to(tmp_path / "vault")
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert not (root / "wiki").is_symlink() and (root / "wiki/tools.md").read_bytes() == b"## ruff\n"
    assert (tmp_path / "vault/tools.md").exists()
    assert report.warnings == [
        f"wiki was a link to {tmp_path / 'vault'}, which is as it was; it is a folder now"
    ]


def test_the_same_configuration_keeps_its_key(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    put(root, {"memex.toml": '[llm]\napi_key = "sk-1"\n'})
    backups_of(root).backup(tmp_path / "b.tar.gz")
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert (root / "memex.toml").read_text() == '[llm]\napi_key = "sk-1"\n'
    assert report.warnings == []


def test_another_configuration_is_restored_and_the_key_must_be_set_again(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    put(root, {"memex.toml": '[llm]\nmodel = "old"\napi_key = "sk-1"\n'})
    backups_of(root).backup(tmp_path / "b.tar.gz")
    put(root, {"memex.toml": '[llm]\nmodel = "new"\napi_key = "sk-2"\n'})
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert (root / "memex.toml").read_text() == '[llm]\nmodel = "old"\napi_key = ""\n'
    assert report.warnings == ["memex.toml is the one of the backup; set [llm] api_key again"]
    assert "sk-2" in (Path(str(report.previous_backup_dir)) / "memex.toml").read_text()


def test_a_configuration_that_would_run_or_send_something_is_pointed_out(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    put(root, {"memex.toml": '[llm]\nprovider = "command"\ncommand = ["evil"]\n[logging]\nfile = "/x"\n'})
    backups_of(root).backup(tmp_path / "b.tar.gz")
    put(root, {"memex.toml": '[llm]\nprovider = "command"\n'})
    (warning,) = backups_of(root).restore(tmp_path / "b.tar.gz").warnings
    assert "changes llm.command, logging.file: check" in warning


def test_a_configuration_stays_where_the_backup_has_none(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    backups_of(root).backup(tmp_path / "b.tar.gz")
    put(root, {"memex.toml": "[app]\n"})
    backups_of(root).restore(tmp_path / "b.tar.gz")
    assert (root / "memex.toml").read_text() == "[app]\n"


def forgotten(session: str, **node: object) -> bytes:
    return json.dumps({"ts": "2026-01-03T00:00:00Z", "session": session, **node}).encode()


def test_what_was_forgotten_since_is_back_and_told(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    append_line(root / "forgotten.jsonl", forgotten("before"))
    backups_of(root).backup(tmp_path / "b.tar.gz")
    saved = (root / "forgotten.jsonl").read_bytes()
    append_line(root / "forgotten.jsonl", forgotten("s1"))
    append_line(root / "forgotten.jsonl", forgotten("s1", turn=1, cue="always"))
    (root / "transcripts/s1.jsonl").unlink()
    report = backups_of(root).restore(tmp_path / "b.tar.gz")
    assert report.warnings == ["2 things that were forgotten after this backup are back"]
    assert (root / "forgotten.jsonl").read_bytes() == saved
    assert (root / "transcripts/s1.jsonl").exists()


def test_what_the_backup_does_not_bring_back_stays_forgotten(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    for tar in (None, packed(plain())):
        if tar is None:
            (root / "forgotten.jsonl").unlink()
            backups_of(root).backup(tmp_path / "b.tar.gz")
        else:
            (tmp_path / "b.tar.gz").write_bytes(tar)
        (root / "forgotten.jsonl").write_bytes(forgotten("s2") + b"\n" + forgotten("s1") + b"\n{torn")
        report = backups_of(root).restore(tmp_path / "b.tar.gz")
        assert (root / "forgotten.jsonl").read_bytes() == forgotten("s2") + b"\n{torn\n"
        assert report.warnings[-1] == "1 things that were forgotten after this backup are back"


def test_a_restore_elsewhere_touches_nothing_here(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    backups_of(root).backup(tmp_path / "b.tar.gz")
    before = truth(root)
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "new" / "place", tmp_path / "empty"):
        report = backups_of(root).restore(tmp_path / "b.tar.gz", target)
        assert truth(target) == before == truth(root)
        assert not report.index_rebuilt and report.previous_backup_dir is None
        assert set(os.listdir(target)) - {".lock"} == {part.split("/")[0] for part in before}


def test_a_restore_elsewhere_needs_an_empty_place(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    backups_of(root).backup(tmp_path / "b.tar.gz")
    put(tmp_path, {"full/mine.txt": "mine", "file": "mine"})
    for target, why in (("full", "empty"), ("file", "empty"), ("memex/docs/copy", "inside the memory")):
        with pytest.raises(Refused, match=why):
            backups_of(root).restore(tmp_path / "b.tar.gz", tmp_path / target)
    assert os.listdir(tmp_path / "full") == ["mine.txt"]


def test_the_memory_itself_may_be_named_as_the_place(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    backups_of(root).backup(tmp_path / "b.tar.gz")
    (tmp_path / "door").symlink_to(root)
    assert backups_of(root).restore(tmp_path / "b.tar.gz", tmp_path / "door").previous_backup_dir


def test_a_backup_that_lies_in_the_memory_can_be_restored(memory: SmallMemory, root: Path) -> None:
    backups_of(root).backup(root / "backups" / "b.tar.gz")
    before = truth(root)
    backups_of(root).restore(root / "backups" / "b.tar.gz")
    assert truth(root) == before and backups_of(root).verify(root / "backups" / "b.tar.gz")


def test_a_backup_that_is_not_there_is_named(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no backup named"):
        backups_of(root).restore(tmp_path / "gone.tar.gz")
    with pytest.raises(FileNotFoundError):
        backups_of(root).restore(tmp_path / "gone.tar.gz")
    assert not backups_of(root).verify(tmp_path / "gone.tar.gz")


def test_a_memory_is_restored_where_there_was_none(tmp_path: Path, root: Path) -> None:
    report = BackupRestore(root, root / "mem.db").restore(archive(sound())(tmp_path))
    assert report.previous_backup_dir is None
    assert {path: data for path, (data, _) in truth(root).items()} == dict(FILES)
    assert {mode for _, mode in truth(root).values()} == {0o600}


def test_an_archive_of_the_seeds_layout_is_restored_with_a_warning(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    path = archive(plain())(tmp_path)
    put(root, {"memex.toml": "[app]\n"})
    assert backups_of(root).verify(path)
    report = backups_of(root).restore(path)
    assert report.warnings == ["the backup has no checksums; what it held could not be verified"]
    assert report.file_counts == {"wiki": 1, "transcripts": 1, "files": 3}
    now = truth(root)
    assert all(now[name][0] == data for name, data in FILES)
    assert {"wiki/tools.md", "diary/2026-01-02.md", "memex.toml"} <= now.keys()  # it knows nothing of these
    assert "docs/entities/poetry.md" not in now and "transcripts/s1.meta.json" not in now


def test_an_archive_that_tarfile_made_is_restored(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "memex-backup-2026-01-02T03:04:05+00:00"
    put(source, {"docs/entities/ruff.md": "x", f"docs/{'long' * 40}.md": "y", "docs/ümlaut.md": "z"})
    put(source, {"transcripts/s1.jsonl": "{}\n", "mem.db": "index", "manifest.json": plain_listing()})
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / "b.tar.gz", "w:gz", format=form) as tar:
            tar.add(source, source.name)
        report = BackupRestore(root, root / "mem.db").restore(tmp_path / "b.tar.gz")
        assert report.file_counts == {"wiki": 3, "transcripts": 1, "files": 4}
        assert not (root / "mem.db").exists()


def test_a_file_whose_bytes_changed_is_named_by_the_check(
    memory: SmallMemory, root: Path, tmp_path: Path
) -> None:
    changed = [(path, data[:-2] + b"!\n") for path, data in FILES]
    tar = sound(changed, listing(FILES))
    problems = backups_of(root).problems(archive(tar)(tmp_path))
    assert [problem.split(":")[0] for problem in problems] == [path for path, _ in FILES]
    with pytest.raises(Refused, match="and 2 more"):
        backups_of(root).restore(tmp_path / "archive.tar.gz")


def test_every_cut_and_every_flipped_byte_is_found(memory: SmallMemory, root: Path, tmp_path: Path) -> None:
    backups = backups_of(root)
    backups.backup(tmp_path / "b.tar.gz", include_mem_db=False)
    whole = (tmp_path / "b.tar.gz").read_bytes()
    in_header = set(range(3, 10))  # flags, time and system of the gzip header: nothing of ours
    for at in range(0, len(whole), 5):
        assert backups.problems(stored(whole[:at])(tmp_path))
        damaged = whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
        found = backups.problems(stored(damaged)(tmp_path))
        assert found or at in in_header or zlib.decompress(damaged, 31) == zlib.decompress(whole, 31), at


def test_a_restore_waits_for_who_writes(
    memory: SmallMemory, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import memex_core.archive.restore as restore

    backups_of(root).backup(tmp_path / "b.tar.gz")
    before = truth(root)
    monkeypatch.setattr(restore, "memory_lock", lambda folder: memory_lock(folder, timeout=0.1))
    failed: list[BaseException] = []

    def attempt() -> None:
        try:
            backups_of(root).restore(tmp_path / "b.tar.gz")
        except LockTimeout as error:
            failed.append(error)

    with memory_lock(root):
        other = threading.Thread(target=attempt)
        other.start()
        other.join()
    assert len(failed) == 1 and truth(root) == before
    assert not [name for name in os.listdir(root) if name.startswith(".memex-")]


def test_nothing_is_done_where_nothing_was_cut_off(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    assert finish_restore(root) == "" and finish_restore(tmp_path / "nowhere") == ""
    assert not (tmp_path / "nowhere").exists() and not os.listdir(root)


def test_only_abandoned_staging_folders_are_swept(memory: SmallMemory, root: Path) -> None:
    for name in ("held", "young", "old"):
        put(root, {f".memex-restore-{name}.tmp/docs/x.md": "x", f".memex-restore-{name}.tmp/.lock": ""})
    for name in ("held", "old"):
        os.utime(root / f".memex-restore-{name}.tmp", (time.time() - 100,) * 2)
    script = (
        "import sys\nfrom pathlib import Path\nfrom memex_core.files.lock import memory_lock\n"
        "with memory_lock(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(root / ".memex-restore-held.tmp")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        os.utime(root / ".memex-restore-held.tmp", (time.time() - 100,) * 2)
        finish_restore(root)
        holder.kill()
    left = {name for name in os.listdir(root) if name.startswith(".memex-restore-")}
    assert left == {".memex-restore-held.tmp", ".memex-restore-young.tmp"}


@pytest.mark.parametrize(
    "note",
    [
        "no note",
        "{}",
        '{"staging": "../x", "previous": "backups/restore-1", "arriving": [], "leaving": []}',
        '{"staging": ".memex-x.tmp", "previous": "../x", "arriving": [], "leaving": []}',
        '{"staging": ".memex-x.tmp", "previous": "backups/restore-1", "arriving": [".."], "leaving": []}',
    ],
)
def test_a_note_that_none_of_ours_wrote_moves_nothing(memory: SmallMemory, root: Path, note: str) -> None:
    (root / NOTE).write_text(note)
    before = truth(root)
    with pytest.raises(Refused, match="not a note of a restore"):
        finish_restore(root)
    assert truth(root) == before


names = st.text(
    st.characters(
        exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="/\\\u202a\u202b\u202c\u202d\u202e"
    ),
    min_size=1,
    max_size=12,
).filter(lambda name: name not in (".", "..") and not set(name) & set("\u2066\u2067\u2068\u2069"))
places = st.one_of(
    st.tuples(st.sampled_from(PARTS), st.lists(names, min_size=1, max_size=3)).map(
        lambda p: "/".join([p[0], *p[1]])
    ),
    st.sampled_from(RECORDS[:3]),
)
stores = st.dictionaries(
    places, st.tuples(st.binary(max_size=2000), st.sampled_from([0o600, 0o644, 0o755, 0o400])), max_size=8
)


@pytest.fixture
def rooms(tmp_path: Path) -> Callable[[], Path]:
    """A fresh folder for every example."""
    count = iter(range(10**6))

    def room() -> Path:
        folder = tmp_path / f"room-{next(count)}"
        folder.mkdir()
        return folder

    return room


def fill(root: Path, store: dict[str, tuple[bytes, int]]) -> None:
    root.mkdir(parents=True)
    for name, (data, mode) in store.items():
        try:
            put(root, {name: data})
            (root / name).chmod(mode)
        except (NotADirectoryError, IsADirectoryError, FileExistsError):
            continue  # another example's file is a folder of this one


any_two_stores = given(store=stores, other=stores)
examples = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def round_trip(room: Path, store: dict[str, tuple[bytes, int]], other: dict[str, tuple[bytes, int]]) -> None:
    """Back `store` up, restore it where it was, and over `other`."""
    fill(room / "a", store)
    fill(room / "b", other)
    before, overwritten = truth(room / "a"), truth(room / "b")
    backups = BackupRestore(room / "a", room / "a/mem.db")
    counts = backups.backup(room / "b.tar.gz").file_counts
    assert counts["left_out"] + counts["files"] == len(before)
    if counts["left_out"]:  # names that some file systems take for one another
        return
    shutil.rmtree(room / "a")
    backups.restore(room / "b.tar.gz")
    assert truth(room / "a") == before
    report = BackupRestore(room / "b", room / "b/mem.db").restore(room / "b.tar.gz")
    if not overwritten.get("forgotten.jsonl", (b"", 0))[0].strip(b"\n"):
        assert truth(room / "b") == before
    if report.previous_backup_dir:
        assert truth(Path(report.previous_backup_dir)) == overwritten


@settings(examples, max_examples=10)
@any_two_stores
def test_any_memory_survives_backup_and_restore(
    rooms: Callable[[], Path], store: dict[str, tuple[bytes, int]], other: dict[str, tuple[bytes, int]]
) -> None:
    round_trip(rooms(), store, other)


@pytest.mark.slow
@settings(examples, max_examples=200)
@any_two_stores
def test_two_hundred_memories_survive_backup_and_restore(
    rooms: Callable[[], Path], store: dict[str, tuple[bytes, int]], other: dict[str, tuple[bytes, int]]
) -> None:
    round_trip(rooms(), store, other)


def test_an_archive_that_fails_to_be_read_changes_nothing(
    memory: SmallMemory, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import memex_core.archive.staging as staging

    backups_of(root).backup(tmp_path / "b.tar.gz")
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*") if path.is_file()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(staging.os, "utime", full)
    with pytest.raises(OSError, match="No space") as failed:
        backups_of(root).restore(tmp_path / "b.tar.gz")
    assert not isinstance(failed.value, MemexError)
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*") if path.is_file()} == before
