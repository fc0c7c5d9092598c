"""`memex embed`, and what info, doctor and forget know of vectors (issue 4 item 9)."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_embeddings import Embeddings
from meaningful_memory import Meaningful, configure, keys_of
from memex_program import memex_cli

from memex_core.index.connection import IndexUnusable
from memex_core.memex import Memex
from memex_core.model.session import IngestTranscriptInput, TurnStreamEntry
from memex_hooks.doctor import examine


@pytest.fixture
def memory(root: Path) -> Iterator[Meaningful]:
    with Embeddings() as endpoint:
        memory = Meaningful(root, endpoint)
        memory.wiki("pets", tom="A kitten sleeps.", rex="He barks.")
        memory.write("Secret plan", "Sell the automobile.")
        configure(memory)
        yield memory


def test_embed_makes_what_is_missing_and_says_how_much(memory: Meaningful) -> None:
    assert memex_cli("embed").json == {"model": "toy", "embedded": 3, "known": 0, "missing": 0, "trouble": ""}
    memory.wiki("tea", one="A brew.")
    assert memex_cli("embed", "--text").stdout == "1 text embedded with toy, 3 known\n"
    assert len([text for text in memory.endpoint.texts if text != "a first word"]) == 4


def test_embed_without_a_configuration_says_what_to_set(memory: Meaningful) -> None:
    (memory.root / "memex.toml").unlink()
    done = memex_cli("embed")
    assert done.returncode == 1 and "[embed] is off" in done.stderr and "memex.toml" in done.stderr


def test_embed_that_is_cut_off_says_what_is_left_and_exits_with_1(memory: Meaningful) -> None:
    memory.wiki("many", **{f"n{number}": f"tea {number}" for number in range(100)})
    memory.endpoint.fails_after = 3
    done = memex_cli("embed")
    assert done.returncode == 1
    assert "38 texts without a vector: toy at http://127.0.0.1" in done.stderr and "HTTP 500" in done.stderr
    memory.endpoint.fails_after = None
    assert memex_cli("embed").json["embedded"] == 38


def test_embed_anew_pays_for_everything_again_and_only_when_the_endpoint_answers(memory: Meaningful) -> None:
    memex_cli("embed")
    toml = memory.root / "memex.toml"
    toml.write_text(toml.read_text().replace('"toy"', '"other"'))
    done = memex_cli("embed")
    assert done.returncode == 1 and "made by 'toy'" in done.stderr
    memory.endpoint.fails_with = "500"
    kept = keys_of(memory.root)
    assert memex_cli("embed", "--anew", "--yes").returncode == 1
    assert keys_of(memory.root) == kept
    memory.endpoint.fails_with = ""
    assert memex_cli("embed", "--anew").returncode == 1  # nobody is there to confirm it
    assert memex_cli("embed", "--anew", "--yes").json["embedded"] == 3
    assert keys_of(memory.root)[0]["model"] == "other"


def test_info_says_who_is_asked_and_how_many_vectors_there_are(memory: Meaningful) -> None:
    memex_cli("embed")
    said = memex_cli("info").json["vectors"]
    assert said == f"toy at {memory.endpoint.url}/v1; vectors: pages 1, items 2, events 0"
    (memory.root / "memex.toml").unlink()
    assert memex_cli("info").json["vectors"] == "off"


def test_recall_tells_in_its_answer_whether_vectors_took_part(memory: Meaningful) -> None:
    answer = memex_cli("recall", "cat").json
    assert answer["search_engine"] == "bm25+vectors"
    assert answer["hits"][0]["slug"] == "pets:tom" and answer["hits"][0]["cos_score"] > 0.9


def said_by_doctor(memory: Meaningful) -> str:
    found = examine(memory.root, {"HOME": str(memory.root.parent / "home")}, [], time.time())
    return "\n".join(f"{named.finding.level} {named.finding.what}" for named in found)


def fix_by_doctor(memory: Meaningful) -> str:
    found = examine(memory.root, {"HOME": str(memory.root.parent / "home")}, [], time.time())
    (fix,) = {named.finding.fix for named in found if "by meaning" in named.finding.what}
    return fix


def test_doctor_says_what_keeps_vectors_from_being_used(memory: Meaningful) -> None:
    assert "by meaning" not in said_by_doctor(memory)
    memory.endpoint.fails_with = "401"
    assert "warn recall by meaning: toy at" in said_by_doctor(memory)


def test_what_doctor_says_to_do_about_vectors_fits_what_is_wrong(
    memory: Meaningful, monkeypatch: pytest.MonkeyPatch
) -> None:
    memex_cli("embed")
    settings = memory.root / "memex.toml"
    settings.write_text(settings.read_text("utf-8").replace('"toy"', '"other"'), "utf-8")
    assert fix_by_doctor(memory) == "memex embed --anew"
    memory.endpoint.fails_with = "500"
    assert fix_by_doctor(memory) == f"${{EDITOR:-vi}} {settings}"
    assert "start it, or correct [embed]" in said_by_doctor(memory)
    monkeypatch.setitem(sys.modules, "memex_core.embedding", None)  # as it is without numpy
    assert fix_by_doctor(memory) == f"{sys.executable} -m pip install 'memex-hooks[embed]'"


def test_doctor_and_info_count_pages_items_and_events_apart(memory: Meaningful) -> None:
    (memory.root / "memex.toml").unlink()
    facts = memex_cli("info").json
    assert (facts["pages"], facts["pages_indexed"]) == ({"entity": 1}, 1)
    assert (facts["items"], facts["events"]) == (2, 0)
    assert "the index is sound (1 page, 2 items, 0 events)" in said_by_doctor(memory)
    assert memex_cli("rebuild-index", "--text").stdout.splitlines()[1] == "2 items and 0 events"


def test_info_counts_items_and_events_while_the_index_cannot_be_used(
    memory: Meaningful, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unusable() -> dict[str, int]:
        raise IndexUnusable("unwritable", "no room")

    memex = Memex(memory.root)
    monkeypatch.setattr(memex.index, "count_by_type", unusable)
    facts = memex.info()
    assert [facts[key] for key in ("pages", "items", "events")] == [{"entity": 1}, 2, 0]


def test_the_name_of_a_forgotten_page_leaves_the_keys(memory: Meaningful) -> None:
    memex_cli("embed")
    keys = memory.root / "page-vectors" / "vectors.keys.jsonl"
    assert "Secret plan" in keys.read_text()
    shutil.copy(memory.root / "memex.toml", memory.root / "kept.toml")
    (memory.root / "memex.toml").unlink()
    Memex(memory.root).forget("secret-plan")
    assert "ecret" not in keys.read_text()
    shutil.move(memory.root / "kept.toml", memory.root / "memex.toml")
    assert memex_cli("embed").json["embedded"] == 0
    assert not keys.exists()


def test_the_names_of_a_deleted_session_leave_the_keys(memory: Meaningful) -> None:
    turn = TurnStreamEntry(role="user", content="Buy the hidden vehicle", ts="2026-03-10T10:00:00Z", turn=1)
    Memex(memory.root).ingest_transcript(IngestTranscriptInput(session_id="s1", turns=[turn]))
    memex_cli("embed")
    keys = memory.root / "page-vectors" / "vectors.keys.jsonl"
    assert "hidden" in keys.read_text()
    memex_cli("sessions", "delete", "s1", "--yes")
    assert "hidden" not in keys.read_text() and "Secret plan" in keys.read_text()


def test_a_backup_leaves_vectors_and_the_key_out(memory: Meaningful, tmp_path: Path) -> None:
    memex_cli("embed")
    with (memory.root / "memex.toml").open("a") as file:
        file.write('api_key = "sk-embed-0123456789"\n')
    assert memex_cli("backup", "--output", str(tmp_path / "b.tar.gz")).returncode == 0
    shutil.unpack_archive(tmp_path / "b.tar.gz", tmp_path / "out", filter="data")
    names = [path.name for path in (tmp_path / "out").rglob("*")]
    assert not [name for name in names if "vectors" in name]
    assert b"sk-embed" not in b"".join(p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file())
