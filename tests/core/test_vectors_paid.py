"""What was paid for is kept, and nothing is paid for twice or in vain (issue 4 item 9)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from loopback_embeddings import Embeddings
from meaningful_memory import Meaningful, configure, keys_of
from memex_program import memex_cli

from memex_core.store.recallfiles import RecallFileStore
from memex_core.vectors.keys import read_keys


@pytest.fixture
def memory(root: Path) -> Iterator[Meaningful]:
    """With 200 items."""
    with Embeddings() as endpoint:
        memory = Meaningful(root, endpoint)
        memory.wiki("many", **{f"n{number}": f"tea number {number}" for number in range(200)})
        configure(memory)
        yield memory


@contextlib.contextmanager
def held(folder: Path, seconds: float) -> Iterator[None]:
    """Another process holds the lock of a folder for so long."""
    code = (
        "import sys, time; from pathlib import Path; from memex_core.files.lock import memory_lock\n"
        "with memory_lock(Path(sys.argv[1])): print(flush=True); time.sleep(float(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, str(folder), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        yield


def kept(memory: Meaningful) -> int:
    return len(read_keys(memory.root)[1])


def sent(memory: Meaningful) -> Counter[str]:
    return Counter(text for text in memory.endpoint.texts if text.startswith("n"))


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_what_came_before_a_kill_is_not_asked_for_again(memory: Meaningful, end: signal.Signals) -> None:
    process: list[subprocess.Popen[bytes]] = []
    memory.endpoint.on_batch = lambda count: os.kill(process[0].pid, end) if count == 4 else None
    command = [sys.executable, "-m", "memex_core.cli", "embed"]
    process.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    process[0].wait()
    memory.endpoint.on_batch = lambda count: None
    assert kept(memory) == 2 * 64
    assert memex_cli("embed").json["embedded"] == 200 - 2 * 64
    assert sum(sent(memory).values()) == 200 + 64
    assert len(list(memory.root.glob("vectors-*.npy"))) == 1


def test_a_refused_text_costs_itself_only(memory: Meaningful) -> None:
    memory.endpoint.refuses = "number 77"
    done = memex_cli("embed")
    assert done.returncode == 1 and "1 text without a vector" in done.stderr and "1 refused" in done.stderr
    assert kept(memory) == 199
    before = len(memory.endpoint.batches)
    assert memex_cli("embed").returncode == 1
    assert memory.endpoint.batches[before + 1 :] == [["n77\ntea number 77"]]


def test_what_an_endpoint_says_of_a_text_is_not_repeated(memory: Meaningful) -> None:
    memory.wiki("many", pin="4711")
    memory.endpoint.refuses = "4711"
    done = memex_cli("embed")
    assert "4711" not in done.stderr + done.stdout + (memory.root / "logs" / "memex.log").read_text()


def test_an_endpoint_that_refuses_everything_is_not_asked_for_each_text(memory: Meaningful) -> None:
    memory.endpoint.refuses = "n"
    assert memex_cli("embed").returncode == 1
    assert len(memory.endpoint.batches) < 15


def test_a_slow_endpoint_gets_fewer_texts_at_a_time_and_gets_there(
    memory: Meaningful, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memex_core.embedding.FILL_S", 0.6)
    memory.endpoint.text_takes = 0.01
    memory.recall("tea")
    first = kept(memory)
    memory.recall("tea")
    assert 0 < first < kept(memory) < 200
    assert max(sent(memory).values()) == 1


def test_another_length_of_vectors_ends_it_before_it_is_paid_for(memory: Meaningful) -> None:
    memex_cli("embed")
    RecallFileStore(memory.root).add("more", "one", "A brew.")
    memory.endpoint.dims = iter([5, *[3] * 99])
    result = memory.recall("number 5")
    assert result.hits[0].slug == "many:n5" and kept(memory) == 200
    memory.endpoint.dims = iter([4] * 99)
    done = memex_cli("embed")
    assert done.returncode == 1 and "have 5 numbers each" in done.stderr and "--anew" in done.stderr


def test_a_row_that_is_no_direction_costs_itself_only(
    memory: Meaningful, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = {"n77\ntea number 77": [0.0] * 5}
    monkeypatch.setattr(
        "loopback_embeddings.vector_of", lambda text: odd.get(text, [1.0, 1e30, 2.0, 0.5, 0.1])
    )
    assert memex_cli("embed").returncode == 1
    assert kept(memory) == 199


def test_recalls_of_two_projects_in_turn_pay_once(memory: Meaningful) -> None:
    memory.day("2026-03-10", ("08:30", "a car"), ("09:00", "a cat"))
    memory.recall("tea yesterday")
    memory.memory.recall("tea yesterday", project="elsewhere")
    assert memory.asked("tea yesterday") == ["tea yesterday"]


def test_what_wikimem_keeps_of_one_minute_stays_beside_ours(memory: Meaningful) -> None:
    memory.day("2026-03-10", ("08:30", "a car"), ("08:30", "a cat"))
    memory.recall("tea yesterday")
    folder = memory.root / "diary-vectors"
    header, keys = keys_of(folder)
    both = [keys[0], keys[1], {**keys[1], "name": "08:30"}]
    matrix = np.load(folder / str(header["vectors_file"]))
    np.save(folder / "vectors-000009.npy", matrix[[0, 1, 1]])
    lines = [{**header, "vectors_file": "vectors-000009.npy"}, *both]
    (folder / "vectors.keys.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    memory.recall("tea yesterday")
    assert keys_of(folder)[1] == both


def test_a_file_that_cannot_be_read_for_a_while_keeps_its_vectors(memory: Meaningful) -> None:
    memory.recall("tea")
    memex_cli("embed")
    path = memory.root / "wiki" / "many.md"
    good = path.read_bytes()
    path.write_bytes(good + b"\xff")
    memory.recall("tea")
    path.write_bytes(good)
    assert memory.asked("tea") == ["tea"]


def test_what_another_process_added_meanwhile_stays(memory: Meaningful) -> None:
    def add_meanwhile(count: int) -> None:
        if count == 3:
            keys, matrix = read_keys(memory.root), np.load(next(memory.root.glob("vectors-*.npy")))
            header = {**keys[0], "vectors_file": "vectors-000050.npy"}
            rows = [header, *(key._asdict() for key in keys[1]), {"file": "other", "name": "x", "hash": "h"}]
            np.save(memory.root / "vectors-000050.npy", np.vstack([matrix, matrix[:1]]))
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (memory.root / "vectors.keys.jsonl").write_text(text)

    memory.endpoint.on_batch = add_meanwhile
    memory.memory.embed()
    assert kept(memory) == 201


def test_two_that_fill_at_once_take_turns(memory: Meaningful) -> None:
    memory.endpoint.text_takes = 0.002
    command = [sys.executable, "-m", "memex_core.cli", "embed"]
    at_once = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    assert [process.wait() for process in at_once] == [0, 0]
    for process in at_once:
        process.communicate()
    assert max(sent(memory).values()) == 1 and kept(memory) == 200


def test_a_memory_that_somebody_writes_for_long_gets_its_vectors_in_the_end(memory: Meaningful) -> None:
    memory.memory.heal(force=True)
    with held(memory.root, seconds=0.7):
        assert memory.memory.embed().embedded == 200
    assert kept(memory) == 200


def test_a_page_that_is_forgotten_while_it_is_embedded_leaves_no_name(memory: Meaningful) -> None:
    page = memory.write("Secret plan", "Sell the automobile.")
    memory.memory.heal(force=True)

    def forget(count: int) -> None:
        if count == 2:
            memex_cli("forget", "secret-plan", "--yes")

    memory.endpoint.on_batch = forget
    memory.memory.embed()
    assert page is not None
    keys = memory.root / "page-vectors" / "vectors.keys.jsonl"
    assert not keys.exists() or "Secret" not in keys.read_text()


def test_half_a_configuration_says_what_is_missing(memory: Meaningful) -> None:
    (memory.root / "memex.toml").write_text('[embed]\nmodel = "toy"\n')
    assert "[embed] has no api_base" in memex_cli("recall", "tea", "--text").stderr
    assert "[embed] has no api_base" in memex_cli("info").json["vectors"]
    assert "[embed] has no api_base" in memex_cli("embed").stderr


def test_vectors_of_events_by_another_model_leave_the_others_in_use(memory: Meaningful) -> None:
    memory.day("2026-03-10", ("08:30", "a car"))
    memory.recall("tea yesterday")
    keys = memory.root / "diary-vectors" / "vectors.keys.jsonl"
    keys.write_text(keys.read_text().replace('"toy"', '"old"'))
    result = memory.recall("brew yesterday")
    assert result.search_engine == "bm25+vectors"
    assert "of events, the vectors were made by 'old'" in result.note
    assert keys.read_text().count("old") == 1


def test_a_spoken_time_takes_the_events_that_are_near_in_meaning(memory: Meaningful) -> None:
    lunches = [(f"{hour:02}:00", "lunch") for hour in range(9, 20)]
    memory.day("2026-03-10", ("08:30", "bought a vehicle"), *lunches)
    memory.wiki("cars", **{f"c{number}": "car car" for number in range(12)})
    found = memory.recall("the car yesterday", top_k=4).hits
    assert "2026-03-10#0" in [hit.slug for hit in found]


def test_a_recall_does_not_wait_for_another_process_that_embeds(
    memory: Meaningful, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memex_core.embedding.SHORT_TURN_S", 0.0)
    memory.memory.heal(force=True)
    with held(memory.root / "page-vectors", seconds=1.0):
        assert memory.memory.recall("number 5").hits[0].slug == "many:n5"
        assert memory.endpoint.texts == ["number 5"] and kept(memory) == 0
