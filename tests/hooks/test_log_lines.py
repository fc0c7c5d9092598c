"""A log's lines -> records, whatever has happened to the file (formats/claude-code.md §5 B, §6)."""

from __future__ import annotations

import hashlib
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st
from new_file import new_file

from memex_hooks import log_lines
from memex_hooks.log_lines import LogLines

ONE = b'{"type":"user","n":1,"in":{"x":[1]}}'
TWO = b'{"type":"user","n":2,"in":{"x":[2]}}'


def read(path: Path, data: bytes, **options: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    lines = LogLines(new_file(path / "log.jsonl", data), **options)
    return [record for _, record in lines], lines.skipped


def numbers(path: Path, data: bytes) -> list[int]:
    return [record["n"] for record in read(path, data)[0]]


def test_whole_lines_are_given_in_order(tmp_path: Path) -> None:
    assert read(tmp_path, ONE + b"\n" + TWO + b"\n") == ([json.loads(ONE), json.loads(TWO)], {})


def test_an_empty_log_has_no_records(tmp_path: Path) -> None:
    assert read(tmp_path, b"") == ([], {})


def test_blank_lines_and_crlf_are_no_damage(tmp_path: Path) -> None:
    assert read(tmp_path, b"\n  \n" + ONE + b"\r\n\r\n" + TWO + b"\r\n")[1] == {}
    assert numbers(tmp_path, b"\n  \n" + ONE + b"\r\n\r\n" + TWO + b"\r\n") == [1, 2]


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf" + ONE + b"\n") == ([json.loads(ONE)], {})


def test_a_record_padded_with_nuls_is_kept(tmp_path: Path) -> None:
    assert read(tmp_path, ONE + b"\0" * 4096 + b"\n" + b"\0" * 99 + b"\n" + TWO + b"\n") == (
        [json.loads(ONE), json.loads(TWO)],
        {},
    )


def test_nuls_before_a_record_do_not_make_it_utf_16(tmp_path: Path) -> None:
    assert numbers(tmp_path, b"\0\0\0" + ONE + b"\n") == [1]


def test_invalid_utf_8_becomes_replacement_characters(tmp_path: Path) -> None:
    assert read(tmp_path, b'{"a":"x\xff\xc3y"}\n') == ([{"a": "x\ufffd\ufffdy"}], {})


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (r"\udc88", "\ufffd"),
        (r"\ud83d", "\ufffd"),
        (r"\ud83d\ude00 \udcb2", "\U0001f600 \ufffd"),
        (r"\\ud83d \ud83d", "\\ud83d \ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
    ],
)
def test_lone_surrogates_become_replacement_characters(tmp_path: Path, written: str, read_as: str) -> None:
    records, skipped = read(tmp_path, f'{{"{written}":["{written}"]}}\n'.encode())

    assert (records, skipped) == ([{read_as: [read_as]}], {})


def test_unicode_line_separators_do_not_cut_a_record(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh"
    line = f'{{"a":"{text}"}}\n'.encode()

    assert read(tmp_path, line + ONE + b"\n")[0] == [{"a": text}, json.loads(ONE)]


def test_nan_and_infinity_do_not_cost_the_record(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, b'{"a":NaN,"b":-Infinity,"n":1}\n')

    assert (records[0]["n"], skipped) == (1, {})


def test_a_5000_digit_integer_does_not_cost_the_record(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, b'{"n":1,"big":' + b"9" * 5000 + b',"neg":-' + b"9" * 5000 + b"}\n")

    assert (records[0]["n"], skipped) == (1, {})


def test_integers_are_the_same_on_the_slow_road(tmp_path: Path) -> None:
    line = b'{"a":9223372036854775807,"b":-9223372036854775808,"c":18446744073709551616,"d":12}'

    fast = read(tmp_path, line + b"\n")[0]
    slow = read(tmp_path, line + b"\0\n")[0]

    assert fast == slow and [type(v) for v in fast[0].values()] == [type(v) for v in slow[0].values()]


def test_20000_deep_nesting_costs_only_its_line(tmp_path: Path) -> None:
    deep = b'{"a":' * 20_000 + b"1" + b"}" * 20_000

    assert read(tmp_path, ONE + b"\n" + deep + b"\n" + TWO + b"\n") == (
        [json.loads(ONE), json.loads(TWO)],
        {"too_deep": 1},
    )


@pytest.mark.parametrize("line", [b"[1,2]", b'"text"', b"null", b"12", b"true"])
def test_a_line_that_is_no_object_is_counted(tmp_path: Path, line: bytes) -> None:
    assert read(tmp_path, line + b"\n" + ONE + b"\n") == ([json.loads(ONE)], {"not_object": 1})


def test_a_merge_conflict_marker_is_counted_as_bad(tmp_path: Path) -> None:
    data = b"<<<<<<< HEAD\n" + ONE + b"\n=======\n" + TWO + b"\n>>>>>>> other\n"

    assert read(tmp_path, data) == ([json.loads(ONE), json.loads(TWO)], {"bad": 3})


def test_a_record_cut_in_the_middle_of_the_file_costs_only_itself(tmp_path: Path) -> None:
    assert read(tmp_path, ONE + b"\n" + TWO[:20] + b"\n" + ONE + b"\n") == ([json.loads(ONE)] * 2, {"bad": 1})


def test_glued_records_are_all_kept(tmp_path: Path) -> None:
    assert read(tmp_path, ONE + TWO + b" " + ONE + b"\n")[1] == {}
    assert numbers(tmp_path, ONE + TWO + b" " + ONE + b"\n") == [1, 2, 1]


@pytest.mark.parametrize("cut", range(1, len(ONE)))
def test_a_record_behind_a_cut_one_is_kept(tmp_path: Path, cut: int) -> None:
    records, skipped = read(tmp_path, ONE[:cut] + TWO + b"\n" + ONE + b"\n")

    assert records[-2:] == [json.loads(TWO), json.loads(ONE)]
    assert skipped == {"bad": 1}


def test_several_records_behind_a_cut_one_are_kept(tmp_path: Path) -> None:
    assert numbers(tmp_path, ONE[:-4] + TWO + ONE + TWO + b"\n") == [2, 1, 2]


def test_a_cut_record_between_whole_ones_on_one_line_costs_only_itself(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, ONE + TWO[:-9] + TWO + b"\n")

    assert ([r["n"] for r in records], skipped) == ([1, 2], {"bad": 1})


def test_a_cut_record_with_nested_objects_gives_none_of_them(tmp_path: Path) -> None:
    cut = b'{"type":"progress","data":{"message":{"type":"user","n":3},"more":{"n":4},"tex'

    assert read(tmp_path, cut + b"\n") == ([], {"bad": 1})


def test_searching_a_huge_damaged_line_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []
    decode = log_lines._decode
    monkeypatch.setattr(log_lines, "_decode", lambda text, at: (tries.append(at), decode(text, at))[1])

    assert read(tmp_path, b'{"a":[' * 1_000_000 + b"\n" + ONE + b"\n")[0] == [json.loads(ONE)]
    assert 200 < len(tries) < 500


def test_a_torn_tail_keeps_every_earlier_record(tmp_path: Path) -> None:
    assert read(tmp_path, ONE + b"\n" + TWO[:-5]) == ([json.loads(ONE)], {"partial_tail": 1})


def test_a_torn_tail_never_gives_a_part_of_a_record(tmp_path: Path) -> None:
    for cut in range(len(ONE)):
        assert read(tmp_path, TWO + b"\n" + ONE[:cut])[0] == [json.loads(TWO)]


def test_a_whole_record_without_its_newline_is_kept(tmp_path: Path) -> None:
    assert read(tmp_path, ONE + b"\n" + TWO) == ([json.loads(ONE), json.loads(TWO)], {})


def test_a_line_over_the_limit_is_skipped_counted_and_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "MAX_LINE", 1 << 20)
    log = tmp_path / "log.jsonl"
    with open(log, "wb") as file:
        file.write(ONE + b"\n" + b'{"a":"')
        for _ in range(20):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n' + TWO + b"\n")

    lines = LogLines(log)
    tracemalloc.start()
    records = [record for _, record in lines]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [record["n"] for record in records] == [1, 2]
    assert lines.skipped == {"too_long": 1}
    assert peak < 8 << 20


def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "MAX_LINE", len(ONE) + 1)

    assert read(tmp_path, ONE + b"\n" + ONE + b" \n") == ([json.loads(ONE)], {"too_long": 1})


def test_offsets_tell_records_apart(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(ONE + TWO + b"\n" + ONE[:9] + TWO + b"\n" + ONE + b"\n")

    offsets = [offset for offset, _ in LogLines(log)]

    assert offsets == sorted(set(offsets)) and len(offsets) == 4


def test_a_second_pass_with_the_limit_of_the_first_sees_nothing_newer(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(ONE + b"\n" + TWO[:-3])
    first = LogLines(log)
    before = list(first)
    with open(log, "ab") as file:
        file.write(TWO[-3:] + b"\n" + ONE + b"\n")

    assert list(LogLines(log, limit=first.end)) == before
    assert len(list(LogLines(log))) == 3


def test_the_digest_covers_the_bytes_that_were_read(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes((ONE + b"\n") * 50_000 + TWO[:7])
    lines = LogLines(log, digest=True)
    for _ in lines:
        pass
    source = lines.source()

    assert source.sha256 == hashlib.sha256(log.read_bytes()).hexdigest()
    assert (source.path, source.size, source.ino) == (str(log), log.stat().st_size, log.stat().st_ino)
    assert source.mtime_ns == log.stat().st_mtime_ns


def test_a_missing_log_raises_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(LogLines(tmp_path / "none.jsonl"))


def test_a_compressed_log_reads_as_its_text(tmp_path: Path) -> None:
    plain = b"".join(
        b'{"n":%d,"t":"%s"}\n' % (n, random.Random(n).randbytes(300).hex().encode()) for n in range(2000)
    )
    log = tmp_path / "log.jsonl.zst"
    log.write_bytes(zstd.compress(plain))
    lines = LogLines(log, digest=True)

    assert [record["n"] for _, record in lines] == list(range(2000))
    assert lines.end == len(plain)
    assert lines.source().sha256 == hashlib.sha256(log.read_bytes()).hexdigest()
    assert [offset for offset, _ in LogLines(log, limit=lines.end)][-1] < lines.end


def test_compressed_frames_may_follow_each_other(tmp_path: Path) -> None:
    assert numbers(tmp_path, zstd.compress(ONE + b"\n") + zstd.compress(TWO + b"\n")) == [1, 2]


def test_a_torn_compressed_log_keeps_what_was_flushed(tmp_path: Path) -> None:
    packer = zstd.ZstdCompressor()
    data = packer.compress(ONE + b"\n") + packer.flush(zstd.ZstdCompressor.FLUSH_BLOCK) + b"\x99"

    assert read(tmp_path, data) == ([json.loads(ONE)], {"bad_zstd": 1})


def test_damage_in_a_compressed_log_keeps_what_is_before_it(tmp_path: Path) -> None:
    data = zstd.compress(ONE + b"\n") + b"garbage"

    assert read(tmp_path, data) == ([json.loads(ONE)], {"bad_zstd": 1})


_PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [ONE, TWO, b"\n", b"\0", b"\r\n", b"[", b'{"', b"}", b"\xef\xbb\xbf", b'"\\udc88"', b"NaN"]
    ),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(_PIECES, max_size=20).map(b"".join))
def test_no_bytes_ever_raise_and_reading_twice_is_equal(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.getbasetemp()

    assert read(folder, data) == read(folder, data)


@settings(deadline=None, max_examples=200)
@given(st.lists(_PIECES, max_size=16).map(b"".join), st.integers(0, 400))
def test_the_records_of_a_beginning_are_the_beginning_of_the_records(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = read(folder, data)[0]
    beginning = read(folder, data[:cut])[0]

    assert repr(whole[: len(beginning)]) == repr(beginning)
