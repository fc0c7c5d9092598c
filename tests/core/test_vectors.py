"""Recall by meaning beside words ([embed]; issue 4 item 9; formats page 1.9, 2.2): what is ranked, what the
endpoint is asked, and what is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loopback_embeddings import Embeddings, cosine, vector_of
from meaningful_memory import Meaningful, configure, keys_of
from wiki_and_diary import NOW, WikiAndDiary

from memex_core.memex import Memex
from memex_core.open_memory import OpenMemory
from memex_core.vectors.filling import FIRST_BATCH
from memex_hooks.recall_hook import session_notes


@pytest.fixture
def memory(root: Path) -> object:
    with Embeddings() as endpoint:
        memory = Meaningful(root, endpoint)
        memory.wiki("garage", wheels="The automobile is red.")
        memory.wiki("pets", tom="A kitten sleeps.", rex="He barks.")
        yield memory


def matrix_of(folder: Path) -> np.ndarray:
    return np.load(folder / str(keys_of(folder)[0]["vectors_file"]))


def said_by(code: str) -> str:
    """What a process of its own prints; `M` is OpenMemory."""
    code = f"import sys; from memex_core.open_memory import OpenMemory as M; {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


# --- what is ranked


def test_what_says_the_same_in_other_words_is_found(memory: Meaningful) -> None:
    result = memory.recall("car")
    assert result.hits[0].slug == "garage:wheels"
    assert result.search_engine == "bm25+vectors"


def test_a_score_is_half_words_and_half_meaning_each_stretched_over_its_candidates(root: Path) -> None:
    contents = {
        "a": "red car",
        "b": "red red car kitten",
        "c": "an automobile",
        "d": "red kitten",
        "e": "tea",
    }
    with Embeddings() as endpoint:
        memory = Meaningful(root, endpoint)
        memory.wiki("x", **contents)
        result = memory.recall("red cat")
        words = {hit.title: hit.score for hit in OpenMemory(root).recall("red cat").hits}
    near = {
        name: cosine(vector_of(f"{name}\n{text}"), vector_of("red cat")) for name, text in contents.items()
    }

    def stretched(scores: dict[str, float]) -> dict[str, float]:
        low, high = min(scores.values()), max(scores.values())
        return {name: (score - low) / (high - low) for name, score in scores.items()}

    by_words, by_meaning = stretched(words), stretched(near)
    expected = {name: 0.5 * by_words.get(name, 0) + 0.5 * by_meaning[name] for name in contents}
    kept = {name: score for name, score in expected.items() if score > 0 or name in words}
    assert {hit.title: hit.score for hit in result.hits} == pytest.approx(kept, abs=2e-6)
    first = result.hits[0]
    assert first.bm25_score == pytest.approx(words[first.title], abs=2e-6)
    assert first.cos_score == pytest.approx(near[first.title], abs=2e-6)


@pytest.mark.parametrize(("weight", "first"), [(1.0, "x:said"), (0.0, "x:meant")])
def test_the_weight_says_what_counts(root: Path, weight: float, first: str) -> None:
    with Embeddings() as endpoint:
        memory = Meaningful(root, endpoint)
        memory.wiki(
            "x", said="the word is car, of tea and brew and infusion", meant="an automobile, a vehicle"
        )
        memory.memory = memory.opened(weight=weight)
        assert memory.recall("car").hits[0].slug == first


def test_a_page_is_found_by_meaning_as_an_item_is(memory: Meaningful) -> None:
    memory.write("Notes", "The feline hides.")
    assert {hit.slug for hit in memory.recall("cat").hits} >= {"notes", "pets:tom"}


def test_what_meaning_alone_found_is_shown_by_how_it_begins(memory: Meaningful) -> None:
    memory.write("Notes", "The feline hides under the sofa.")
    found = {hit.slug: hit for hit in memory.recall("cat").hits}
    assert found["notes"].snippet == "The feline hides under the sofa."
    assert found["notes"].snippet_source == "body"


def test_what_may_not_be_shown_is_not_found_by_meaning_either(memory: Meaningful) -> None:
    memory.write("Old", "The automobile was blue.", expires_at="2020-01-01")
    memory.write("New", "The automobile is green.", tags=["drive"])
    assert "old" not in [hit.slug for hit in memory.recall("car").hits]
    assert [hit.slug for hit in memory.recall("car", tags=["drive"]).hits] == ["new"]
    assert memory.recall("car", node_type="item").hits[0].slug == "garage:wheels"


def test_a_query_without_a_word_to_search_for_finds_by_meaning(memory: Meaningful) -> None:
    assert memory.recall("???").search_engine == "bm25+vectors"
    assert memory.asked("   ") == []


def test_many_hidden_neighbours_do_not_crowd_out_a_visible_one(memory: Meaningful) -> None:
    memory.wiki("crowd", **{f"n{number}": "car car car" for number in range(60)})
    memory.write("Shown", "an automobile and a brew")
    assert [hit.slug for hit in memory.recall("vehicle", top_k=3, node_type="entity").hits] == ["shown"]


# --- what is asked


def test_a_text_is_embedded_once(memory: Meaningful) -> None:
    assert len(memory.asked("car")) == 3 + 1
    assert memory.asked("car") == ["car"]
    memory.wiki("pets", tom="A kitten wakes.", rex="He barks.")
    assert sorted(memory.asked("car")) == ["car", "tom\nA kitten wakes."]


def test_another_process_finds_what_was_embedded(memory: Meaningful) -> None:
    memory.recall("car")
    memory.memory = memory.opened()
    assert memory.asked("cat") == ["cat"]


def test_the_same_text_in_two_places_is_embedded_once(memory: Meaningful) -> None:
    memory.wiki("copy", tom="A kitten sleeps.")
    assert memory.asked("car").count("tom\nA kitten sleeps.") == 1
    assert {hit.slug for hit in memory.recall("cat").hits} >= {"pets:tom", "copy:tom"}


def test_of_a_long_text_the_beginning_is_sent_and_the_whole_is_hashed(memory: Meaningful) -> None:
    memory.memory = memory.opened(max_chars=100)
    body = "feline " + "words " * 1000
    memory.wiki("long", text=body)
    assert ("text\n" + body)[:100] in memory.asked("car")
    hashes = [key["hash"] for key in keys_of(memory.root)[1]]
    assert hashlib.sha256(f"text\n{body.strip()}".encode()).hexdigest() in hashes
    assert max(len(text) for text in memory.endpoint.texts) == 100


def test_the_key_goes_into_the_header_and_nowhere_else(memory: Meaningful) -> None:
    secret = "sk-embed-0123456789"
    memory.memory = memory.opened(api_key=secret)
    result = memory.recall("car")
    assert memory.endpoint.requests[-1].headers["authorization"] == f"Bearer {secret}"
    kept = b"".join(path.read_bytes() for path in memory.root.rglob("*") if path.is_file())
    assert secret.encode() not in kept and secret not in repr(result)


def test_nothing_is_asked_by_a_hook(memory: Meaningful) -> None:
    with Memex(memory.root, memory.endpoint.config()).hurried(0.2):
        session_notes(Memex(memory.root, memory.endpoint.config()), str(memory.root), "s1")
    assert memory.endpoint.requests == []


def test_without_embed_no_numpy_is_loaded_and_no_vector_kept(root: Path) -> None:
    WikiAndDiary(root).wiki("pets", tom="A kitten sleeps.")
    assert said_by("M().recall('kitten'); print('numpy' in sys.modules)") == "False"
    assert not list(root.rglob("*vectors*"))


def test_where_numpy_is_missing_words_rank_and_the_note_says_what_to_install(memory: Meaningful) -> None:
    configure(memory)
    missing = "sys.modules['numpy'] = None; result = M().recall('automobile')"
    said = said_by(f"{missing}; print(result.hits[0].slug, result.note)")
    assert said.startswith("garage:wheels ") and "pip install 'memex-hooks[embed]'" in said
    assert memory.endpoint.requests == []


# --- what is kept


def test_the_cache_is_as_wikimem_keeps_it(memory: Meaningful) -> None:
    memory.recall("car")
    header, keys = keys_of(memory.root)
    assert header == {"vectors_file": "vectors-000001.npy", "model": "toy", "dim": 5}
    assert [(key["file"], key["name"]) for key in keys] == [
        ("garage", "wheels"),
        ("pets", "tom"),
        ("pets", "rex"),
    ]
    assert keys[0]["hash"] == hashlib.sha256(b"wheels\nThe automobile is red.").hexdigest()
    matrix = matrix_of(memory.root)
    assert (matrix.dtype, matrix.shape) == (np.dtype("float32"), (3, 5))
    assert matrix[1].tolist() == pytest.approx(vector_of("tom\nA kitten sleeps."))
    assert (memory.root / "vectors.keys.jsonl").stat().st_mode & 0o777 == 0o600


def test_pages_have_vectors_of_their_own_which_wikimem_does_not_see(memory: Meaningful) -> None:
    memory.write("Notes", "The feline hides.")
    memory.recall("cat")
    assert [key["file"] for key in keys_of(memory.root / "page-vectors")[1]] == ["entities/notes"]
    assert len(keys_of(memory.root)[1]) == 3


def test_what_was_removed_leaves_the_cache(memory: Meaningful) -> None:
    memory.recall("car")
    memory.wiki("pets", rex="He barks.")
    assert memory.asked("car") == ["car"]
    assert [key["name"] for key in keys_of(memory.root)[1]] == ["wheels", "rex"]
    assert len(matrix_of(memory.root)) == 2
    for path in (memory.root / "wiki").iterdir():
        path.unlink()
    memory.recall("car")
    assert not list(memory.root.glob("vectors*"))


def test_a_recall_that_has_nothing_to_embed_writes_nothing(memory: Meaningful) -> None:
    memory.recall("car")
    before = {path.name: path.stat() for path in memory.root.glob("vectors*")}
    memory.recall("cat")
    assert {path.name: path.stat() for path in memory.root.glob("vectors*")} == before


def test_only_the_matrix_that_was_superseded_is_deleted(memory: Meaningful) -> None:
    mine = ["vectors-mine.npy", "vectors-000777.npy", "vectors-2024.npy", "vectors-1.npy.bak"]
    memory.recall("car")
    for name in mine:
        (memory.root / name).write_bytes(b"mine")
    (memory.root / "vectors-000778.npy").mkdir()
    memory.wiki("more", one="A brew.")
    memory.recall("car")
    assert all((memory.root / name).read_bytes() == b"mine" for name in mine)
    assert not (memory.root / "vectors-000001.npy").exists()
    assert keys_of(memory.root)[0]["vectors_file"] not in [*mine, "vectors-000778.npy"]
    assert memory.recall("tea").hits[0].slug == "more:one"


def truncate(root: Path) -> None:
    path = root / "vectors-000001.npy"
    path.write_bytes(path.read_bytes()[:-7])


def cut_header(root: Path) -> None:
    (root / "vectors-000001.npy").write_bytes(b"\x93NUMPY\x01\x00")


def lose_matrix(root: Path) -> None:
    (root / "vectors-000001.npy").unlink()


def lose_a_key(root: Path) -> None:
    lines = (root / "vectors.keys.jsonl").read_text().splitlines()
    (root / "vectors.keys.jsonl").write_text("\n".join(lines[:-1]) + "\n")


def no_json(root: Path) -> None:
    (root / "vectors.keys.jsonl").write_text("{torn")


def no_object(root: Path) -> None:
    lines = (root / "vectors.keys.jsonl").read_text().splitlines()
    (root / "vectors.keys.jsonl").write_text("\n".join([*lines[:-1], "[1, 2]"]) + "\n")


def no_text(root: Path) -> None:
    (root / "vectors.keys.jsonl").write_bytes(b"\xff\xfe\x00")


def no_header(root: Path) -> None:
    lines = (root / "vectors.keys.jsonl").read_text().splitlines()
    (root / "vectors.keys.jsonl").write_text("\n".join(lines[1:]) + "\n")


def doubles(root: Path) -> None:
    np.save(root / "vectors-000001.npy", np.ones((3, 5)))


def pickled(root: Path) -> None:
    np.save(root / "vectors-000001.npy", np.array([[object()] * 5] * 3), allow_pickle=True)


def flat(root: Path) -> None:
    np.save(root / "vectors-000001.npy", np.ones(3, "f4"))


def no_columns(root: Path) -> None:
    np.save(root / "vectors-000001.npy", np.ones((3, 0), "f4"))


def says_another_dim(root: Path) -> None:
    text = (root / "vectors.keys.jsonl").read_text()
    (root / "vectors.keys.jsonl").write_text(text.replace('"dim": 5', '"dim": 6'))


def fifo(root: Path) -> None:
    (root / "vectors-000001.npy").unlink()
    os.mkfifo(root / "vectors-000001.npy")


def keys_fifo(root: Path) -> None:
    (root / "vectors.keys.jsonl").unlink()
    os.mkfifo(root / "vectors.keys.jsonl")


BROKEN = [
    truncate, cut_header, lose_matrix, lose_a_key, no_json, no_object, no_text, no_header, doubles, pickled,
    flat, no_columns, says_another_dim, fifo, keys_fifo,
]  # fmt: skip


@pytest.mark.parametrize("break_cache", BROKEN, ids=lambda each: each.__name__)
def test_a_cache_that_is_broken_or_of_another_shape_is_no_cache(memory: Meaningful, break_cache) -> None:  # type: ignore[no-untyped-def]
    memory.recall("car")
    break_cache(memory.root)
    assert len(memory.asked("car")) == 3 + 1
    assert memory.recall("cat").hits[0].slug == "pets:tom"
    assert len(memory.asked("car")) == 1


def test_a_header_that_points_elsewhere_is_not_followed(memory: Meaningful, tmp_path: Path) -> None:
    memory.recall("car")
    elsewhere = tmp_path / "vectors-000009.npy"
    np.save(elsewhere, np.ones((3, 5), "f4"))
    text = (memory.root / "vectors.keys.jsonl").read_text()
    for name in (f"../{elsewhere.name}", str(elsewhere)):
        (memory.root / "vectors.keys.jsonl").write_text(text.replace("vectors-000001.npy", name))
        assert len(memory.asked("car")) == 3 + 1
    assert elsewhere.exists()


def test_vectors_that_are_no_direction_are_near_to_nothing(memory: Meaningful) -> None:
    memory.recall("car")
    np.save(memory.root / "vectors-000001.npy", np.array([[0] * 5, [np.nan] * 5, [np.inf] * 5], "f4"))
    assert [hit.slug for hit in memory.recall("kitten").hits] == ["pets:tom"]


# --- another model


@pytest.mark.parametrize("change", ["model", "dim"])
def test_vectors_of_another_model_are_not_compared_and_not_paid_for_again(
    memory: Meaningful, change: str
) -> None:
    memory.recall("car")
    if change == "model":
        memory.memory = memory.opened()
        memory.memory._by_meaning.config = replace(memory.memory.config.embed, model="other")
    else:
        header, keys = keys_of(memory.root)
        np.save(memory.root / "vectors-000001.npy", np.ones((3, 7), "f4"))
        lines = [header | {"dim": 7}, *keys]
        (memory.root / "vectors.keys.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        memory.memory = memory.opened()
    kept = {path: path.read_bytes() for path in memory.root.glob("vectors*")}
    before = len(memory.endpoint.texts)
    result = memory.recall("automobile")
    assert [hit.slug for hit in result.hits] == ["garage:wheels"] and result.search_engine == "bm25"
    assert "words alone rank" in result.note and "memex embed --anew" in result.note
    assert memory.recall("automobile").note == ""
    assert memory.endpoint.texts[before:] == ([] if change == "model" else ["automobile"] * 2)
    assert {path: path.read_bytes() for path in memory.root.glob("vectors*")} == kept


def test_a_cache_that_does_not_name_its_model_is_used_and_named_when_it_is_next_written(
    memory: Meaningful,
) -> None:
    memory.recall("car")
    header, keys = keys_of(memory.root)
    lines = [{"vectors_file": header["vectors_file"]}, *keys]
    (memory.root / "vectors.keys.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert memory.asked("car") == ["car"]
    memory.wiki("more", one="A brew.")
    memory.recall("car")
    assert keys_of(memory.root)[0] == {"vectors_file": "vectors-000002.npy", "model": "toy", "dim": 5}


# --- the diary


def diary_keys(memory: Meaningful) -> list[tuple[str, str]]:
    return [(key["file"], key["name"]) for key in keys_of(memory.root / "diary-vectors")[1]]


def test_only_the_days_that_a_query_reaches_are_embedded(memory: Meaningful) -> None:
    memory.day("2026-03-10", ("08:30", "bought a vehicle"))
    memory.day("2026-03-01", ("09:00", "made a brew"))
    memory.recall("car")
    assert not (memory.root / "diary-vectors").exists()
    assert "2026-03-10#0" in [hit.slug for hit in memory.recall("the car yesterday").hits]
    assert diary_keys(memory) == [("2026-03-10", "08:30")]
    memory.recall("tea on 2026-03-01")
    assert diary_keys(memory) == [("2026-03-10", "08:30"), ("2026-03-01", "09:00")]
    assert memory.asked("the cat yesterday") == ["the cat yesterday"]


def test_two_events_of_one_minute_have_a_vector_each(memory: Meaningful) -> None:
    memory.day(
        "2026-03-10", ("08:30", "bought a vehicle"), ("08:30", "fed the feline"), ("21:00", "a brew, a bug")
    )
    cos = {hit.slug: hit.cos_score for hit in memory.recall("cat yesterday").hits}
    query = vector_of("cat yesterday")
    assert cos["2026-03-10#1"] == pytest.approx(cosine(query, vector_of("08:30\nfed the feline")), abs=2e-6)
    assert cos["2026-03-10#0"] == pytest.approx(cosine(query, vector_of("08:30\nbought a vehicle")), abs=2e-6)
    assert len(set(diary_keys(memory))) == 3


def test_a_question_about_nothing_but_a_time_is_answered_newest_first_and_asks_nobody(
    memory: Meaningful,
) -> None:
    memory.day("2026-03-10", ("08:30", "bought a vehicle"), ("09:00", "a kitten"), ("21:00", "a brew"))
    result = memory.recall("What did I do yesterday")
    assert [hit.slug for hit in result.hits] == ["2026-03-10#2", "2026-03-10#1", "2026-03-10#0"]
    assert memory.endpoint.requests == [] and result.search_engine == "bm25"


def test_two_windows_in_turn_write_nothing(memory: Meaningful) -> None:
    memory.day("2026-03-10", ("08:30", "bought a vehicle"))
    memory.day("2026-03-01", ("09:00", "made a brew"))
    memory.recall("car yesterday")
    memory.recall("car on 2026-03-01")
    before = {path.name: path.stat() for path in (memory.root / "diary-vectors").iterdir()}
    for query in ("car yesterday", "car on 2026-03-01") * 2:
        memory.recall(query)
    assert {path.name: path.stat() for path in (memory.root / "diary-vectors").iterdir()} == before


def test_what_left_the_diary_leaves_its_vectors(memory: Meaningful) -> None:
    gone = memory.day("2026-03-01", ("09:00", "made a brew"))
    memory.day("2026-03-10", ("08:30", "bought a vehicle"), ("09:00", "a kitten"))
    memory.recall("car yesterday")
    memory.recall("car on 2026-03-01")
    gone.unlink()
    memory.day("2026-03-10", ("09:00", "a kitten"))
    memory.recall("car yesterday")
    assert diary_keys(memory) == [("2026-03-10", "09:00")]


# --- an endpoint that fails


def test_with_the_endpoint_down_words_rank_and_nobody_is_bothered(memory: Meaningful) -> None:
    memory.recall("car")
    plain = OpenMemory(memory.root, now=lambda: NOW).recall("automobile")
    memory.endpoint.fails_with = "down"
    memory.wiki("more", one="A brew.")
    result = memory.recall("automobile")
    assert [hit.slug for hit in result.hits] == [hit.slug for hit in plain.hits]
    assert (result.note, result.search_engine) == ("", "bm25")
    assert '"outcome": "not by meaning"' in (memory.root / "logs" / "memex.log").read_text()
    memory.endpoint.fails_with = ""
    assert memory.recall("tea").hits[0].slug == "more:one"


@pytest.mark.parametrize(
    "answer",
    [
        {}, [], {"data": None}, {"data": []}, {"data": [1]}, {"data": [{"embedding": None}]},
        {"data": [{"embedding": []}]}, {"data": [{"embedding": ["a"]}]}, {"data": [{"embedding": [None]}]},
        {"data": [{"embedding": [[1.0]]}]}, {"data": [{"embedding": "AAAA"}]}, {"data": [{"embedding": {}}]},
        {"data": [{"index": 7, "embedding": [1.0]}]}, {"data": [{"index": "x", "embedding": [1e999]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [10**400]}]},
    ],
    ids=lambda answer: json.dumps(answer)[:40],
)  # fmt: skip
def test_an_answer_of_another_shape_is_none(memory: Meaningful, answer: object) -> None:
    memory.endpoint.answers = answer
    result = memory.recall("automobile")
    assert [hit.slug for hit in result.hits] == ["garage:wheels"] and result.search_engine == "bm25"
    assert not list(memory.root.glob("vectors*"))


@pytest.mark.parametrize("failure", ["500", "401", "hang", "reset", "garbage", "redirect"])
def test_whatever_fails_words_rank_in_time(memory: Meaningful, failure: str) -> None:
    memory.memory = memory.opened(timeout=0.3)
    memory.endpoint.fails_with = failure
    started = time.perf_counter()
    result = memory.recall("automobile")
    assert [hit.slug for hit in result.hits] == ["garage:wheels"]
    assert time.perf_counter() - started < 2


def test_what_was_embedded_before_a_failure_is_kept(memory: Meaningful) -> None:
    memory.wiki("many", **{f"n{number}": f"tea {number}" for number in range(100)})
    memory.endpoint.fails_after = 2
    result = memory.recall("kitten")
    assert result.search_engine == "bm25+vectors"
    assert len(keys_of(memory.root)[1]) == FIRST_BATCH
    memory.endpoint.fails_after = None
    assert len(memory.asked("kitten")) == 103 - FIRST_BATCH + 1
    assert len(keys_of(memory.root)[1]) == 103


def test_vectors_of_two_lengths_from_one_endpoint_are_not_mixed(memory: Meaningful) -> None:
    memory.endpoint.dims = iter([5, 4])
    assert memory.recall("kitten").hits[0].slug == "pets:tom"
    assert not list(memory.root.glob("vectors*")) or matrix_of(memory.root).shape[1] == 4


def test_a_memory_that_cannot_be_written_asks_for_nothing_that_it_could_not_keep(
    memory: Meaningful, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.recall("car")
    memory.wiki("more", one="A brew.")
    memory.memory.heal(force=True)
    before = len(memory.endpoint.texts)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memex_core.vectors.cache.staged_file", full)
    assert memory.recall("cat").hits[0].slug == "pets:tom"
    assert memory.endpoint.texts[before:] == ["cat"]
    assert "cannot be kept" in (memory.root / "logs" / "memex.log").read_text()


def test_keys_that_are_a_folder_cost_nothing_but_meaning(memory: Meaningful) -> None:
    (memory.root / "vectors.keys.jsonl").mkdir()
    assert memory.asked("automobile") == memory.asked("automobile") == ["automobile"]
    assert not list(memory.root.glob("vectors-*.npy"))


def test_a_number_beyond_all_is_not_counted_on_from(memory: Meaningful) -> None:
    (memory.root / "vectors-999999999999.npy").write_bytes(b"mine")
    memory.recall("car")
    assert memory.asked("car") == ["car"]
    assert keys_of(memory.root)[0]["vectors_file"] == "vectors-000001.npy"


def test_four_processes_at_once_leave_one_whole_cache(memory: Meaningful) -> None:
    memory.wiki("many", **{f"n{number}": f"tea {number}" for number in range(40)})
    configure(memory)
    with ThreadPoolExecutor() as pool:
        asked = pool.map(said_by, ["print(M().recall('cat').hits[0].slug)"] * 4)
    assert list(asked) == ["pets:tom"] * 4
    assert len(keys_of(memory.root)[1]) == len(matrix_of(memory.root)) == 43
    assert len(list(memory.root.glob("vectors-*.npy"))) == 1
