"""Damaged, cut and hostile logs: every readable record is kept, what is not is counted, nothing raises
(formats/claude-code.md §5 B, §6). The damage of single lines stands in test_log_lines.py."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from claude_code_logs import SAMPLE, SESSION, Log, read, said, session, turns_of_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from new_file import new_file

from memex_core.model.session import Session, Turn
from memex_hooks.harnesses import claude_code


def talk() -> Log:
    log = Log()
    log.user("first prompt")
    log.says("answer")
    log.calls("a")
    log.answers("a", "out")
    log.user("last prompt")
    return log


WHOLE = [
    ("user", "first prompt"),
    ("agent", "answer"),
    ("tool", 'Bash({"command":"run a"}) -> out'),
    ("user", "last prompt"),
]


def damaged(tmp_path: Path, data: bytes) -> Session:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(data)
    found = read(path)
    assert found is not None
    return found


def lines() -> list[bytes]:
    return talk().data().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("name", "data", "skipped"),
    [
        ("bom", b"\xef\xbb\xbf" + b"".join(lines()), {}),
        ("blank lines", b"\n \n".join(lines()), {}),
        ("crlf", b"".join(lines()).replace(b"\n", b"\r\n"), {}),
        ("nul padding", b"".join(line[:-1] + b"\0" * 4096 + b"\n" for line in lines()), {}),
        ("nul line", (b"\0" * 999 + b"\n").join(lines()), {}),
        ("nul last line", b"".join(lines()) + b"\0" * 143_000, {}),
        ("conflict marker", b"<<<<<<< HEAD\n" + b"".join(lines()), {"bad": 1}),
        ("other json", b'[1]\n"x"\nnull\n5\n' + b"".join(lines()), {"not_object": 4}),
        ("deep nesting", b'{"a":' * 20_000 + b"\n" + b"".join(lines()), {"too_deep": 1}),
        ("glued", b"".join(lines()).replace(b"\n", b"") + b"\n", {}),
        ("spliced", b"".join(line[:-9] + line for line in lines()), {"bad": 5}),
        ("torn tail", b"".join(lines()) + lines()[0][:-20], {"partial_tail": 1}),
    ],
)
def test_damage_costs_no_readable_record(
    tmp_path: Path, name: str, data: bytes, skipped: dict[str, int]
) -> None:
    found = damaged(tmp_path, data)

    assert said(found) == WHOLE
    assert found.skipped == skipped


def test_a_line_cut_in_the_middle_of_the_log_costs_only_itself(tmp_path: Path) -> None:
    cut = lines()
    cut[1] = cut[1][:50] + b"\n"
    found = damaged(tmp_path, b"".join(cut))

    assert said(found) == [WHOLE[0], *WHOLE[2:]]
    assert found.skipped == {"bad": 1}


def test_a_100_megabyte_line_is_skipped_within_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    with open(path, "wb") as file:
        file.write(b"".join(lines()[:3]))
        file.write(b'{"type":"user","message":{"content":"')
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b'"}}\n' + b"".join(lines()[3:]))
    log = claude_code.log_file(path)
    assert log is not None

    tracemalloc.start()
    found = claude_code.read_session(log)
    assert found is not None
    texts = said(found)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    path.unlink()  # before all of it is on the disk

    assert texts == WHOLE
    assert found.skipped == {"too_long": 1}
    assert peak < 80 << 20


def test_invalid_utf_8_surrogates_and_line_separators_in_the_words_are_kept_readable(tmp_path: Path) -> None:
    log = Log()
    log.user("WORDS")
    data = log.data().replace(b"WORDS", b"a\xffb \\udcb2 \\ud83d\\ude00 \xe2\x80\xa8 \xc2\x85 \\u0000 end")
    (turn,) = damaged(tmp_path, data).turns

    assert turn.content == "a\ufffdb \ufffd \U0001f600 \u2028 \u0085  end"
    turn.content.encode("utf-8")


def test_huge_and_undefined_numbers_in_a_query_are_kept_readable(tmp_path: Path) -> None:
    log = Log()
    log.calls("a", query={"n": 1})
    log.answers("a")
    data = log.data().replace(b'"n": 1', b'"n": NaN, "i": -Infinity, "big": ' + b"9" * 5000)
    (turn,) = damaged(tmp_path, data).turns

    assert json.loads(turn.query or "") == {"n": None, "i": None, "big": None}


def test_a_query_nested_deeper_than_a_writer_goes_is_kept(tmp_path: Path) -> None:
    log = Log()
    log.calls("a", query="DEEP")
    log.answers("a")
    data = log.data().replace(b'"DEEP"', b'{"a":' * 400 + b"1" + b"}" * 400)
    (turn,) = damaged(tmp_path, data).turns

    assert (turn.query or "").startswith('{"a":{"a":')


_ODD = [None, True, -1, 1.5, "", "x", [], ["x"], {}, {"type": "text", "text": 5}, [[None]], {"a": {"b": []}}]


@pytest.mark.parametrize("odd", _ODD, ids=repr)
def test_fields_of_wrong_types_never_raise(tmp_path: Path, odd: Any) -> None:
    records = few_of_each_type()
    names = sorted({name for record in records for name in record})
    for name in names:
        changed = [{**record, name: odd} if name in record else record for record in records]
        exercise(tmp_path, b"".join(json.dumps(record).encode() + b"\n" for record in changed))
    for name in ("content", "usage", "id", "model", "stop_reason"):
        changed = [{**r, "message": {**r["message"], name: odd}} if r.get("message") else r for r in records]
        exercise(tmp_path, b"".join(json.dumps(record).encode() + b"\n" for record in changed))


def test_blocks_of_wrong_types_never_raise(tmp_path: Path) -> None:
    records = [record for record in few_of_each_type(99) if blocks_of(record)]
    names = sorted({name for r in records for b in blocks_of(r) for name in b})
    for name in names:
        for odd in _ODD:
            changed = json.loads(json.dumps(records))
            for record in changed:
                for block in blocks_of(record):
                    if name in block:
                        block[name] = odd
            exercise(
                tmp_path,
                b"".join(json.dumps(record).encode() + b"\n" for record in changed if blocks_of(record)),
            )


def few_of_each_type(most: int = 4) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]
    seen: Counter[str] = Counter()
    few = []
    for record in records:
        seen[record["type"]] += 1
        if seen[record["type"]] <= most:
            few.append(record)
    return few


def blocks_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = (record.get("message") or {}).get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def exercise(tmp_path: Path, data: bytes) -> list[Turn]:
    """Read everything that a capture would read."""
    found = read(new_file(tmp_path / f"{SESSION}.jsonl", data))
    if found is None:
        return []
    turns = list(found.turns)
    assert [turn.turn for turn in turns] == list(range(1, found.turn_count + 1))
    json.dumps([turn.to_line() for turn in turns] + [found.header.to_line()], ensure_ascii=False).encode(
        "utf-8"
    )
    assert all(0 <= response.turn <= found.turn_count for response in found.responses)
    assert found.retracted <= set(range(1, found.turn_count + 1))
    return turns


def test_the_memory_of_a_reading_does_not_grow_with_its_texts(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    log = Log()
    with open(path, "wb") as file:
        for n in range(100):
            log.records.clear()
            log.user(f"prompt {n} " + "x" * 50_000)
            log.calls(f"t{n}")
            log.answers(f"t{n}", "y" * 50_000)
            file.write(log.data())
    size = path.stat().st_size

    tracemalloc.start()
    found = read(path)
    assert found is not None
    count = sum(1 for _ in found.turns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 200 and size > 9 << 20
    assert peak < 4 << 20


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "user",
                "says",
                "calls",
                "answers",
                "queued",
                "command",
                "shell",
                "output",
                "end",
                "side",
                "stop",
                "copy",
            ]
        ),
        st.integers(0, 5),
    ),
    max_size=25,
)


def played(steps: list[tuple[str, int]]) -> Log:
    log = Log()
    for step, n in steps:
        if step == "user":
            log.user(f"prompt {n}")
        elif step == "says":
            log.says(f"text {n}", id=f"msg_{n}", stop=[None, "tool_use", "end_turn"][n % 3])
        elif step == "calls":
            log.calls(f"t{n}", id=f"msg_{n % 2}")
        elif step == "answers":
            log.answers(f"t{n}", f"result {n}")
        elif step == "queued":
            log.attach("queued_command", prompt=f"queued {n}", commandMode="prompt")
        elif step == "command":
            log.user(f"<command-name>/c{n}</command-name>")
        elif step == "shell":
            log.user(f"<bash-input>ls {n}</bash-input>")
        elif step == "output":
            log.user(
                ["<local-command-stdout>o</local-command-stdout>", "<bash-stdout>o</bash-stdout>"][n % 2]
            )
        elif step == "end":
            log.add("system", subtype=["turn_duration", "compact_boundary", "informational"][n % 3])
        elif step == "side":
            log.says(f"side {n}", isSidechain=True)
        elif step == "stop":
            log.user("[Request interrupted by user]")
        elif log.records:
            log.records.append(log.records[n % len(log.records)])
    return log


@settings(deadline=None, max_examples=80)
@given(_STEPS, st.integers())
def test_the_turns_of_a_beginning_are_the_beginning_of_the_turns(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], seed: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    data = played(steps).data()
    rnd = random.Random(seed)
    whole = turns_of_bytes(data, folder)
    cuts = [at + 1 for at, byte in enumerate(data) if byte == 10]

    for cut in [*cuts, *(rnd.randrange(len(data) + 1) for _ in range(3))]:
        beginning = turns_of_bytes(data[:cut], folder)
        assert beginning == whole[: len(beginning)]
    assert turns_of_bytes(data, folder) == whole


_DATA = SAMPLE.read_bytes()


@settings(deadline=None, max_examples=250)
@given(st.integers())
def test_a_mutated_log_never_raises_and_reads_the_same_twice(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    rnd = random.Random(seed)
    data = mutated(rnd)
    whole = exercise(folder, data)
    beginning = exercise(folder, data[: rnd.randrange(len(data) + 1)])

    assert exercise(folder, data) == whole
    assert beginning == whole[: len(beginning)]


def mutated(rnd: random.Random) -> bytes:
    rows = rnd.sample(_DATA.splitlines(keepends=True), 12)
    for _ in range(rnd.randint(1, 6)):
        at = rnd.randrange(len(rows))
        row = rows[at]
        cut = rnd.randrange(len(row) + 1)
        rows[at] = rnd.choice(
            [
                row[:cut],
                row[cut:],
                row[:cut] + bytes([rnd.randrange(256)]) + row[cut + 1 :],
                row[:cut] + b"\0" * rnd.randint(1, 99) + row[cut:],
                row[:cut] + rnd.choice(rows),
                row.rstrip(b"\n") + rnd.choice(rows),
                row + row,
                row.replace(b'"text"', b'"\\udc88"'),
                row.replace(b":", b":[", rnd.randint(1, 3)),
                row.replace(rnd.choice([b"null", b"true", b"false", b"{}", b"[]"]), b"NaN"),
                b"",
            ]
        )
    return b"".join(rows)


def test_a_log_that_grows_keeps_the_turns_and_answers_the_open_call(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.calls("a")
    before = session(log, tmp_path)
    log.answers("a", "out")
    after = session(log, tmp_path)

    assert list(after.turns)[:1] == list(before.turns)
    assert (before.open_calls != [], after.open_calls) == (True, [])
    assert before.sources[0].sha256 != after.sources[0].sha256
