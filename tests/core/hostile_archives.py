"""Archives that a restore must refuse, each with one flaw, and how the refusal names it.

`HOSTILE` maps what is wrong to (what makes the archive in a folder, a part of the message). All begin from
`sound()`, which a restore takes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Make = Callable[[Path], Path]
Files = list[tuple[str, bytes]]

TOP = "memex-backup-20260102T030405Z"
BLOCK = 512
END = bytes(2 * BLOCK)
FILES: Files = [
    ("docs/entities/ruff.md", b"---\ntitle: Ruff\n---\nA linter.\n"),
    ("journal.jsonl", b'{"ts": "2026-01-02T03:04:05Z", "action": "add"}\n'),
    ("transcripts/s1.jsonl", b'{"session_id": "s1"}\n'),
]
EVIL = b"planted\n"


def header(
    name: str | bytes,
    size: int = 0,
    kind: bytes = b"0",
    *,
    mode: int = 0o600,
    link: bytes = b"",
    magic: bytes = b"ustar\x0000",
    prefix: bytes = b"",
    size_field: bytes | None = None,
    checksum: int | None = None,
) -> bytes:
    """One tar header, with whatever in it."""
    raw = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
    block = bytearray(BLOCK)
    for at, value in (
        (0, raw[:100]),
        (100, b"%07o\0" % mode),
        (108, b"0000000\0" * 2),
        (124, b"%011o\0" % size if size_field is None else size_field),
        (136, b"%011o\0" % 1_700_000_000),
        (156, kind),
        (157, link),
        (257, magic),
        (345, prefix),
    ):
        block[at : at + len(value)] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % (sum(block) if checksum is None else checksum)
    return bytes(block)


def member(name: str | bytes, data: bytes = b"", kind: bytes = b"0", **fields: Any) -> bytes:
    return header(name, len(data), kind, **fields) + data + bytes(-len(data) % BLOCK)


def pax(**records: str) -> bytes:
    """An extended header; `GNU__x` stands for GNU.x."""
    data = b""
    for key, value in records.items():
        body = f" {key.replace('__', '.')}={value}\n".encode()
        length = len(body) + 1
        while length != len(body) + len(str(length)):
            length = len(body) + len(str(length))
        data += str(length).encode() + body
    return member("PaxHeader", data, b"x")


def long_name(name: str) -> bytes:
    return member("././@LongLink", name.encode() + b"\0", b"L", magic=b"ustar  \0")


def listing(files: Files, /, **changes: Any) -> bytes:
    """A manifest of `files`; a key in `changes` replaces its own."""
    entries = [
        {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "mode": "0600"}
        for path, data in files
    ]
    document = {
        "version": 1,
        "backed_up_at": "2026-01-02T03:04:05Z",
        "memex_version": "0.1.0",
        "file_counts": {"wiki": 1, "transcripts": 1, "mem_db": 0, "files": len(files)},
        "left_out": [],
        "files": entries,
    }
    document.update(changes)
    return json.dumps(document).encode()


def plain_listing(**changes: Any) -> bytes:
    """A manifest of the seed's own layout."""
    document = {"version": "1.0", "backed_up_at": "2026-01-02", "memex_version": "0.0.1", "file_counts": {}}
    return json.dumps(document | changes).encode()


def bodies(files: Files) -> bytes:
    return b"".join(member(f"{TOP}/{path}", data) for path, data in files)


def sound(
    files: Files = FILES, manifest: bytes | None = None, *, more: bytes = b"", end: bytes = END
) -> bytes:
    """A tar as `backup` makes it, with `more` members behind the files."""
    head = member(f"{TOP}/manifest.json", listing(files) if manifest is None else manifest)
    return head + bodies(files) + more + end


def plain(files: Files = FILES, *, more: bytes = b"", manifest: bytes | None = None) -> bytes:
    """A tar of the seed's layout: nothing in it is listed, so that only the gates stand before the disk."""
    folders = b"".join(member(f"{TOP}/{path}", kind=b"5") for path in ("", "docs/", "transcripts/"))
    last = member(f"{TOP}/manifest.json", plain_listing() if manifest is None else manifest)
    return folders + bodies(files) + more + last + END


def packed(tar: bytes, level: int = 6) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, 31)
    return deflate.compress(tar) + deflate.flush()


def stored(data: bytes) -> Make:
    """The archive whose bytes are `data`."""

    def make(folder: Path) -> Path:
        path = folder / "archive.tar.gz"
        path.write_bytes(data)
        return path

    return make


def archive(tar: bytes) -> Make:
    return stored(packed(tar))


def with_file(path: str, data: bytes = EVIL) -> Make:
    """A sound archive with one more file, listed like the others."""
    return archive(sound([*FILES, (path, data)]))


def with_member(raw: bytes) -> Make:
    """An archive that cannot be verified, with one more member."""
    return archive(plain(more=raw))


def with_entry(**changes: Any) -> Make:
    """A manifest that says something else of the first file."""
    document = json.loads(listing(FILES))
    document["files"][0].update(changes)
    return archive(sound(manifest=json.dumps(document).encode()))


def with_manifest(**changes: Any) -> Make:
    return archive(sound(manifest=listing(FILES, **changes)))


NAMES = {
    "a way up": "docs/../../evil.md",
    "a way up at the end": "docs/entities/..",
    "an absolute path": "/etc/evil",
    "a drive letter": "C:/evil.md",
    "backslashes": "docs\\..\\..\\evil.md",
    "backslashes inside": "docs/..\\..\\evil.md",
    "an empty part": "docs//evil.md",
    "a dot": "docs/./evil.md",
    "a newline": "docs/evil\n.md",
    "an escape sequence": "docs/evil\x1b[2J.md",
    "a delete character": "docs/evil\x7f.md",
    "text that runs backwards": "docs/evil\u202edm.md",
    "a line separator": "docs/evil\u2028.md",
    "a name too long": f"docs/{'x' * 256}.md",
    "a path too long": "docs/" + "/".join(["x" * 200] * 6) + ".md",
    "a path too deep": "docs/" + "d/" * 40 + "evil.md",
    "a folder that is not ours": "hooks/evil.sh",
    "the spool": "spool/evil.json",
    "the log": "logs/memex.log",
    "the lock": ".lock",
    "a file that is not ours": "evil.md",
    "a journal of SQLite": "mem.db-journal",
    "a note of a restore": ".memex-restore.json",
    "a temp file": "docs/.memex-0011223344556677.tmp",
    "a file where a folder belongs": "docs",
    "a folder where a file belongs": "journal.jsonl/evil.md",
    "a file above a file": "docs/entities/ruff.md/evil.md",
    "the same file again": "docs/entities/ruff.md",
    "the same file in other letters": "docs/Entities/RUFF.md",
}
"""Paths that no backup has: refused in the manifest, and refused in a member that no manifest lists."""


def _names() -> Iterable[tuple[str, tuple[Make, str]]]:
    for what, path in NAMES.items():
        yield f"{what}, listed", (with_file(path), repr(path)[1:-1][:40])
        raw = (
            member(f"{TOP}/{path}"[:100], EVIL)
            if len(path) < 60
            else pax(path=f"{TOP}/{path}") + member("x", EVIL)
        )
        yield f"{what}, not listed", (with_member(raw), repr(path)[1:-1][:40])


def _composed(tar: Callable[[Files], bytes]) -> Make:
    files = [("docs/caf\u00e9.md", b"one"), ("docs/cafe\u0301.md", b"two")]
    return archive(tar([*FILES, *files]))


def _kinds() -> Iterable[tuple[str, tuple[Make, str]]]:
    name = f"{TOP}/docs/evil.md"
    for what, kind, link in (
        ("a symbolic link", b"2", b"../../../etc/passwd"),
        ("a hard link", b"1", b"docs/entities/ruff.md"),
        ("a character device", b"3", b""),
        ("a block device", b"4", b""),
        ("a FIFO", b"6", b""),
        ("a contiguous file", b"7", b""),
        ("a sparse file", b"S", b""),
    ):
        yield f"{what} as a member", (with_member(header(name, kind=kind, link=link)), f"is {what}")
    yield (
        "a link where a folder belongs",
        (
            archive(member(f"{TOP}/docs", kind=b"2", link=b"/etc") + plain()),
            "is a symbolic link",
        ),
    )
    yield "an unknown kind of member", (with_member(header(name, kind=b"Z")), "is no file")
    yield "a folder with contents", (with_member(member(f"{TOP}/docs/d/", EVIL, b"5")), "contents of its own")
    yield "a folder called like a file", (with_member(member(f"{TOP}/recalls.jsonl/", kind=b"5")), "recalls")
    yield "a program that runs as its owner", (with_member(member(name, EVIL, mode=0o4755)), "somebody else")


def _extensions() -> Iterable[tuple[str, tuple[Make, str]]]:
    name = f"{TOP}/docs/evil.md"
    way_up = f"{TOP}/docs/../../../evil.md"
    yield "a name replaced by pax", (with_member(pax(path=way_up) + member(name, EVIL)), "../evil.md")
    yield "a size replaced by pax", (with_member(pax(size="999999999999") + member(name, EVIL)), "")
    yield (
        "a size in pax that is no number",
        (with_member(pax(size="-1") + member(name, EVIL)), "no usable size"),
    )
    yield (
        "a sparse map in pax",
        (
            with_member(pax(GNU__sparse__major="1", GNU__sparse__realsize="99") + member(name, EVIL)),
            "GNU.sparse",
        ),
    )
    yield "a link in pax", (with_member(pax(linkpath="/etc/passwd") + member(name, EVIL)), "linkpath")
    yield (
        "a damaged pax record",
        (with_member(member("x", b"99 path=evil\n", b"x") + member(name)), "damaged"),
    )
    yield (
        "a pax record without a length",
        (with_member(member("x", b"path=evil\n", b"x") + member(name)), "damaged"),
    )
    yield "two pax headers", (with_member(pax(path=name) + pax(path=way_up) + member(name)), "is no file")
    yield "a pax header for all", (with_member(member("x", b"12 path=evi\n", b"g")), "all members")
    yield "a huge pax header", (with_member(header("x", 1 << 30, b"x")), "longer than a name")
    yield "a long name that leads up", (with_member(long_name(way_up) + member("x", EVIL)), "../evil.md")
    yield "a huge long name", (with_member(header("x", 1 << 30, b"L")), "longer than a name")
    yield "two long names", (with_member(long_name(name) + long_name(way_up) + member("x")), "is no file")
    yield (
        "a long name and one in pax",
        (with_member(long_name(name) + pax(path=name) + member("x")), "two long"),
    )
    yield "a long name before the end", (archive(plain()[: -len(END)] + long_name(name) + END), "damaged")
    yield "a long link name", (with_member(member("x", b"/etc/passwd\0", b"K")), "is no file")
    yield (
        "a prefix that leads up",
        (with_member(member("evil.md", EVIL, prefix=f"{TOP}/docs/..".encode())), ".."),
    )
    yield "a NUL in a name", (with_member(member(f"{TOP}/docs/a.md\0/../evil".encode(), EVIL)), "NUL")
    yield "a NUL in a pax name", (with_member(pax(path=f"{name}\0/../evil") + member("x", EVIL)), "NUL")
    yield (
        "a name that is not UTF-8",
        (with_member(member(f"{TOP}/docs/".encode() + b"\xff.md", EVIL)), "UTF-8"),
    )


def _layout() -> Iterable[tuple[str, tuple[Make, str]]]:
    first, rest = member(f"{TOP}/manifest.json", listing(FILES)), bodies(FILES)
    yield "no manifest", (archive(rest + END), "no manifest.json")
    yield "nothing at all", (archive(END), "no manifest.json")
    yield "the manifest behind the files", (archive(rest + first + END), "not its first member")
    yield (
        "the manifest behind a folder",
        (
            archive(member(f"{TOP}/docs/", kind=b"5") + first + rest + END),
            "not its first member",
        ),
    )
    yield "two manifests", (archive(first + first + rest + END), "two of manifest.json")
    yield (
        "two manifests without hashes",
        (
            archive(plain(more=member(f"{TOP}/manifest.json", plain_listing()))),
            "two of manifest.json",
        ),
    )
    yield "a member above the top folder", (with_member(member("evil.md", EVIL)), "folder of a backup")
    yield "a top folder of another name", (archive(sound().replace(TOP.encode(), b"x" * len(TOP))), "damaged")
    yield "two top folders", (with_member(member("memex-backup-2/docs/evil.md", EVIL)), "two folders")
    yield (
        "a top folder that leads up",
        (with_member(member("memex-backup-../docs/evil.md", EVIL)), "folder of a backup"),
    )
    yield "a file in place of the top folder", (with_member(member(TOP, EVIL)), "folder of a backup")
    yield (
        "a member that is not listed",
        (archive(sound(more=member(f"{TOP}/docs/evil.md", EVIL))), "not in manifest"),
    )
    yield "a listed member that is missing", (archive(first + bodies(FILES[1:]) + END), "missing")
    yield "every listed member missing", (archive(first + END), "missing")
    changed = [(FILES[0][0], FILES[0][1].replace(b"linter", b"cactus")), *FILES[1:]]
    yield "other bytes than listed", (archive(first + bodies(changed) + END), "not those that were backed up")
    longer = [(FILES[0][0], FILES[0][1] + b"!"), *FILES[1:]]
    yield "more bytes than listed", (archive(first + bodies(longer) + END), "bytes, and manifest.json says")
    yield "two forms of one name, listed", (_composed(sound), "caf")
    yield "two forms of one name, not listed", (_composed(plain), "caf")


def _manifests() -> Iterable[tuple[str, tuple[Make, str]]]:
    for what, data in (
        ("is not JSON", b"{"),
        ("is empty", b""),
        ("is not UTF-8", b'{"version": 1, "x": "\xff"}'),
        ("is nested deeply", b"[" * 200_000),
        ("has a key twice", b'{"version": 2, "version": 1}'),
        ("has no number", b'{"version": 1, "x": NaN}'),
        ("has an endless number", b'{"version": ' + b"9" * 5000 + b"}"),
    ):
        yield f"a manifest that {what}", (archive(sound(manifest=data)), "is not JSON")
    yield "a manifest that is a list", (archive(sound(manifest=b"[]")), "not an object")
    yield (
        "a manifest that is huge",
        (
            archive(header(f"{TOP}/manifest.json", 1 << 30) + END),
            "manifest.json is too large",
        ),
    )
    yield "a newer format", (with_manifest(version=2), "has format 2")
    yield "a newer format as text", (with_manifest(version="3.1"), "has format 3.1")
    for version in (0, -1, None, True, "", "new", [1], 1.0):
        yield f"the version {version!r}", (with_manifest(version=version), "no usable version")
    for key, value in (("backed_up_at", 5), ("memex_version", []), ("file_counts", []), ("left_out", {})):
        yield f"a {key} of the wrong type", (with_manifest(**{key: value}), f"{key} has the wrong type")
    yield "a count that is none", (with_manifest(file_counts={"wiki": "many"}), "not a count")
    yield "a left_out that is no pair", (with_manifest(left_out=["docs/x.md"]), "left_out has the wrong type")
    yield "files that are no list", (with_manifest(files={"docs/x.md": 1}), "files is no list")
    yield "a file that is no object", (with_manifest(files=["docs/x.md"]), "a file has the wrong type")
    yield "a file without a hash", (with_entry(sha256=None), "no path, sha256 or mode")
    yield "a hash that is none", (with_entry(sha256="0" * 63), "no usable sha256 or mode")
    yield "a wrong hash", (with_entry(sha256="0" * 64), "not those that were backed up")
    yield "a wrong size", (with_entry(size=7), "bytes, and manifest.json says 7")
    yield "a negative size", (with_entry(size=-1), "not a count")
    yield "a size that is text", (with_entry(size="31"), "not a count")
    yield "a size that no disk holds", (with_entry(size=1 << 62), "larger than an archive may be")
    yield "a mode that runs as its owner", (with_entry(mode="4755"), "no usable sha256 or mode")
    yield "a mode that is none", (with_entry(mode="rw"), "no usable sha256 or mode")


def _bytes() -> Iterable[tuple[str, tuple[Make, str]]]:
    whole = packed(sound())
    first = member(f"{TOP}/manifest.json", listing(FILES))
    yield "an empty file", (stored(b""), "cut off")
    yield "text", (stored(b"not an archive\n" * 99), "no gzip file")
    yield "a plain tar", (stored(sound()), "no gzip file")
    yield "a packed text", (stored(packed(b"not a tar\n" * 999)), "no tar archive")
    yield "a cut gzip file", (stored(whole[: len(whole) // 2]), "cut off")
    yield "a gzip file without its checksum", (stored(whole[:-8]), "cut off")
    yield "a wrong checksum of gzip", (stored(whole[:-8] + bytes(4) + whole[-4:]), "damaged")
    yield "a flipped bit", (stored(_flipped(packed(sound(), 0), 700)), "")
    yield "a cut tar", (archive(sound(end=b"")), "cut off")
    yield "a tar cut in a file", (archive((first + bodies(FILES))[:-700]), "cut off")
    yield "half an end", (archive(sound(end=bytes(BLOCK))), "cut off")
    yield "an end that is none", (archive(sound(end=bytes(BLOCK) + member("x"))), "its end is no end")
    yield "bytes behind the end", (archive(sound(end=END + b"evil" * 128)), "follows its end")
    yield (
        "members behind the end",
        (archive(sound() + member(f"{TOP}/docs/evil.md", EVIL) + END), "follows its end"),
    )
    yield "zeros without end", (archive(sound(end=END + bytes(2 << 20))), "follows its end")
    yield "bytes behind the gzip file", (stored(whole + b"evil"), "follows its end")
    yield "zeros behind the gzip file", (stored(whole + bytes(512)), "follows its end")
    yield "a second gzip member", (stored(whole + whole), "follows its end")
    yield "a tar in two gzip members", (stored(packed(first) + packed(bodies(FILES) + END)), "")
    yield "an archive in an archive", (stored(packed(whole)), "no tar archive")
    yield "a wrong checksum of a header", (archive(header("x", checksum=1) + sound()), "header is damaged")
    yield (
        "a negative size in a header",
        (with_member(header(f"{TOP}/docs/x.md", size_field=b"-0000000001\0")), "size"),
    )
    yield (
        "a binary size in a header",
        (
            with_member(header(f"{TOP}/docs/x.md", size_field=b"\xff" * 12)),
            "no usable size",
        ),
    )
    yield (
        "no size in a header",
        (with_member(header(f"{TOP}/docs/x.md", size_field=bytes(12))), "no usable size"),
    )
    yield "a header of before 1988", (archive(plain().replace(b"ustar\x0000", bytes(8))), "header is damaged")


def _bombs() -> Iterable[tuple[str, tuple[Make, str]]]:
    def bomb(tar: Callable[[Files], bytes]) -> Make:
        return lambda folder: archive(tar([*FILES, ("docs/bomb.md", bytes(20 << 20))]))(folder)

    yield "a bomb", (bomb(sound), "times its size")
    yield "a bomb that is not listed", (bomb(plain), "times its size")
    yield "a file that claims to be huge", (with_member(header(f"{TOP}/docs/x.md", 8 << 30)), "")
    claim = listing([*FILES, ("docs/x.md", b"")]).replace(b'"size": 0', b'"size": %d' % (60 << 40))
    yield "a list that claims more than an archive may hold", (archive(sound(manifest=claim)), "larger than")


def _no_files() -> Iterable[tuple[str, tuple[Make, str]]]:
    def zipped(folder: Path) -> Path:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as inner:
            for path, text in FILES:
                inner.writestr(f"{TOP}/{path}", text)
        return stored(data.getvalue())(folder)

    def made(name: str, make: Callable[[Path], object]) -> Make:
        def at(folder: Path) -> Path:
            make(folder / name)
            return folder / name

        return at

    yield "a renamed zip", (zipped, "no gzip file")
    yield "a folder", (made("archive.tar.gz", lambda path: path.mkdir()), "not a regular file")
    yield "a pipe", (made("archive.tar.gz", os.mkfifo), "not a regular file")
    yield "an endless device", (lambda folder: Path("/dev/zero"), "not a regular file")
    yield (
        "a link to nowhere",
        (made("archive.tar.gz", lambda path: path.symlink_to("nowhere")), "no backup named"),
    )
    yield "a file that is not there", (lambda folder: folder / "archive.tar.gz", "no backup named")


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


HOSTILE: dict[str, tuple[Make, str]] = {
    what: case
    for cases in (_names, _kinds, _extensions, _layout, _manifests, _bytes, _bombs, _no_files)
    for what, case in cases()
}
