"""logs/model_calls.jsonl: every call counted, the daily limit kept before it is exceeded."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import loopback_providers as lp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback_providers import Provider

from memex_core import paths
from memex_core.config import LLMConfig
from memex_core.errors import LLMError
from memex_core.files.lock import memory_lock
from memex_core.llm import client_for, tokens_today
from memex_core.llm.ledger import Ledger, ledger_path
from memex_core.llm.tokens import estimated_tokens, most_tokens
from memex_core.model.llm import ModelCall

PROMPT = "The cellar door code is nine-seven-one; write it down as JSON."
KEY = "sk-do-not-show-0123456789"


def client(server: Provider, root: Path, **values: Any) -> Any:
    config = {
        "provider": "ollama",
        "model": "m1",
        "api_base": f"{server.url}/v1",
        "timeout": 10.0,
        "api_key": KEY,
    }
    return client_for(LLMConfig(**{**config, **values}), root, system="Keep notes.")


def entries(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger_path(root).read_bytes().splitlines()]


def call(prompt: int = 100, completion: int = 7, outcome: str = "ok") -> ModelCall:
    return ModelCall("ollama", "m1", prompt, completion, False, 12.5, outcome)


# --- what is written


def test_a_call_leaves_one_line_with_what_it_cost(root: Path) -> None:
    with Provider(lp.chat("a note", prompt=100, completion=7)) as server:
        client(server, root).complete(PROMPT, 50)
    (entry,) = entries(root)
    age = datetime.now(UTC) - datetime.fromisoformat(entry.pop("ts"))
    assert timedelta(0) <= age < timedelta(seconds=10)
    assert entry.pop("ms") >= 0
    assert len(entry.pop("call")) == 16
    assert entry == {
        "outcome": "ok",
        "provider": "ollama",
        "model": "m1",
        "tokens": 107,
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "estimated": False,
    }
    assert tokens_today(root) == 107


def test_neither_content_nor_key_reaches_the_logs(root: Path) -> None:
    with Provider(lp.chat("a note of the cellar"), lp.error(401, KEY), lp.hang) as server:
        client(server, root).complete(PROMPT, 50)
        for _ in range(2):
            with pytest.raises(LLMError):
                client(server, root, timeout=0.5).complete(PROMPT, 50)
    written = b"".join(path.read_bytes() for path in paths.logs_dir(root).iterdir())
    assert written.count(b"\n") == 6
    for secret in (PROMPT, "cellar", KEY, "Keep notes"):
        assert secret.encode() not in written


def test_a_call_is_in_the_operation_log(root: Path) -> None:
    with Provider(lp.chat("a note", prompt=100, completion=7)) as server:
        client(server, root).complete(PROMPT, 50)
    line = json.loads((paths.logs_dir(root) / "memex.log").read_text("utf-8"))
    assert (line["op"], line["subject"], line["outcome"]) == ("ask-model", "ollama m1", "ok")
    assert (line["prompt_tokens"], line["completion_tokens"]) == (100, 7)


def test_a_failure_before_the_model_worked_costs_nothing(root: Path) -> None:
    with Provider(lp.error(401)) as server, pytest.raises(LLMError):
        client(server, root, daily_token_limit=10_000).complete(PROMPT, 50)
    assert [(entry["outcome"], entry["tokens"]) for entry in entries(root)][-1] == ("failed", 0)
    assert tokens_today(root) == 0


def test_a_call_whose_cost_nobody_knows_stays_reserved(root: Path) -> None:
    with Provider(lp.hang) as server, pytest.raises(LLMError):
        client(server, root, timeout=0.5, daily_token_limit=10_000).complete(PROMPT, 50)
    reserved, failed = entries(root)
    assert (reserved["outcome"], failed["outcome"]) == ("reserved", "failed")
    assert failed["tokens"] == reserved["tokens"] > 50
    assert tokens_today(root) == reserved["tokens"]


def test_a_ledger_that_cannot_be_written_costs_no_answer(root: Path) -> None:
    ledger_path(root).mkdir(parents=True)
    with Provider(lp.chat("a note")) as server:
        assert client(server, root).complete(PROMPT, 50) == "a note"
    assert "not noted" in (paths.logs_dir(root) / "memex.log").read_text("utf-8")


# --- the limit


def test_under_a_limit_a_call_is_reserved_before_and_settled_after(root: Path) -> None:
    with Provider(lp.chat("a note", prompt=100, completion=7)) as server:
        client(server, root, daily_token_limit=10_000).complete(PROMPT, 50)
    before, after = entries(root)
    assert before["call"] == after["call"]
    assert (before["outcome"], after["outcome"]) == ("reserved", "ok")
    assert before["tokens"] >= 50 + len(PROMPT) // 3
    assert tokens_today(root) == 107


def test_a_call_that_could_exceed_the_limit_is_not_made(root: Path) -> None:
    with Provider(lp.chat("a note", prompt=900, completion=7)) as server:
        asking = client(server, root, daily_token_limit=1_000)
        asking.complete(PROMPT, 50)
        with pytest.raises(
            LLMError, match="907 of today's 1,000 tokens are used, and this call may take"
        ) as caught:
            asking.complete(PROMPT, 50)
    assert "[llm] daily_token_limit" in caught.value.hint
    assert len(server.requests) == len(asking.calls) == 1
    assert entries(root)[-1]["outcome"] == "refused"
    assert tokens_today(root) == 907


@pytest.mark.parametrize("count", [0, 1])
def test_a_provider_that_counts_nothing_does_not_escape_the_limit(count: int, root: Path) -> None:
    prompt = "The cellar door code. " * 100
    with Provider(lp.chat("a note " * 100, prompt=count, completion=count)) as server:
        asking = client(server, root, daily_token_limit=3_000, provider="lmstudio", max_tokens=64)
        with pytest.raises(LLMError, match="tokens are used"):
            for _ in range(10):
                with contextlib.suppress(LLMError) if count else contextlib.nullcontext():
                    asking.complete(prompt, 64)
                if tokens_today(root) > 1_500:
                    asking.complete(prompt, 1_000)
    assert 1 < len(server.requests) < 6


def test_the_whole_of_max_tokens_is_reserved(root: Path) -> None:
    with Provider(lp.chat("a note")) as server:
        asking = client(server, root, daily_token_limit=1_000)
        with pytest.raises(LLMError):
            asking.complete(PROMPT, 1_000)
        asking.complete(PROMPT, 500)
    assert len(server.requests) == 1


def test_asking_once_more_is_counted_and_limited_like_any_call(root: Path) -> None:
    answers = (lp.error(504, retry_after="0"), lp.chat("a note"))
    with Provider(*answers) as server, pytest.raises(LLMError, match="tokens are used"):
        client(server, root, daily_token_limit=200).complete(PROMPT, 50)
    assert len(server.requests) == 1


def test_two_clients_cannot_both_take_the_last_tokens(root: Path) -> None:
    refused: list[LLMError] = []

    def ask(server: Provider) -> None:
        try:
            client(server, root, daily_token_limit=1_500).complete(PROMPT, 1_000)
        except LLMError as error:
            refused.append(error)

    with Provider(lp.chat("a note")) as server:
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(5)]
        with memory_lock(root):
            for thread in threads:
                thread.start()
            time.sleep(0.2)
            assert not ledger_path(root).exists()
        for thread in threads:
            thread.join()
    assert tokens_today(root) == 107 * len(server.requests)
    assert len(server.requests) + len(refused) == 5


RACER = """
import sys
from pathlib import Path
from memex_core.errors import LLMError
from memex_core.llm.ledger import Ledger
sys.stdin.read(1)
try:
    Ledger(Path(sys.argv[1]), "ollama", "m1", 10_000).reserve(3_000)
    print("passed")
except LLMError:
    print("refused")
"""


def test_of_many_processes_only_as_many_pass_as_the_limit_allows(root: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("x")
        racer.stdin.flush()
    said = sorted(racer.communicate()[0].strip() for racer in racers)
    assert said == ["passed"] * 3 + ["refused"] * 3
    assert tokens_today(root) == 9_000


def test_a_crash_leaves_the_reservation_counted(root: Path) -> None:
    """The racer ends without settling what it reserved."""
    subprocess.run(
        [sys.executable, "-c", RACER, str(root)], input="x", text=True, check=True, capture_output=True
    )
    assert tokens_today(root) == 3_000


def test_the_lock_is_free_while_the_model_thinks(root: Path) -> None:
    with Provider(lp.hang) as server:
        asking = client(server, root, timeout=0.5, daily_token_limit=10_000)

        def ask() -> None:
            with pytest.raises(LLMError):
                asking.complete(PROMPT, 50)

        thread = threading.Thread(target=ask)
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        with memory_lock(root, timeout=0.5):
            assert thread.is_alive()
        thread.join()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where nobody may")
def test_where_nothing_can_be_written_down_a_limited_call_is_not_made(root: Path) -> None:
    root.mkdir()
    root.chmod(0o500)
    try:
        with Provider(lp.chat("a note")) as server, pytest.raises(LLMError, match="was not asked"):
            client(server, root, daily_token_limit=10_000).complete(PROMPT, 50)
        assert server.requests == []
    finally:
        root.chmod(0o700)


def test_a_ledger_that_is_no_file_stops_a_limited_call(root: Path) -> None:
    ledger_path(root).mkdir(parents=True)
    with (
        Provider(lp.chat("a note")) as server,
        pytest.raises(LLMError, match="cannot be written down") as caught,
    ):
        client(server, root, daily_token_limit=10_000).complete(PROMPT, 50)
    assert server.requests == []
    assert caught.value.hint


# --- the day


def test_yesterday_does_not_count(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now().astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    write(root, midnight - timedelta(seconds=1), "a", 5_000)
    write(root, midnight, "b", 30)
    write(root, now, "c", 4)
    assert tokens_today(root) == 34


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu"])
def test_the_day_begins_at_local_midnight(zone: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        now = datetime.now().astimezone()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        write(root, midnight - timedelta(minutes=1), "before", 1_000)
        write(root, midnight + timedelta(seconds=1), "after", 1)
        assert tokens_today(root) == 1
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def test_a_call_counts_for_the_day_on_which_it_began(root: Path) -> None:
    ledger = Ledger(root, "ollama", "m1", 10_000)
    ticket = ledger.reserve(3_000)
    ledger.settle(ticket, call(100, 7))
    assert {entry["ts"] for entry in entries(root)} == {ticket.ts}


def test_without_a_ledger_nothing_was_used(root: Path) -> None:
    assert tokens_today(root) == 0
    assert not root.exists()


def test_spoiled_lines_are_skipped(root: Path) -> None:
    day = f'{{"ts": "{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", '
    spoiled = [
        b"\x00\xff",
        b"[]",
        day.encode(),
        (day + '"call": "x"}').encode(),
        (day + '"call": "x", "tokens": "9"}').encode(),
        (day + '"call": "x", "tokens": -9}').encode(),
        (day + '"call": "x", "tokens": true}').encode(),
        f'{{"ts": "{datetime.now(UTC):%Y-%m-%d}", "call": "x", "tokens": 9}}'.encode(),
        f'{{"ts": "{datetime.now(UTC):%Y-%m-%d} soon", "call": "x", "tokens": 9}}'.encode(),
    ]
    paths.logs_dir(root).mkdir(parents=True)
    ledger_path(root).write_bytes(b"\n".join(spoiled) + b"\n")
    write(root, datetime.now(UTC), "a", 30)
    assert tokens_today(root) == 30


def write(root: Path, when: datetime, name: str, tokens: int) -> None:
    path = ledger_path(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {
        "ts": f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "call": name,
        "outcome": "ok",
        "tokens": tokens,
    }
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


# --- the estimates


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_what_is_reserved_is_at_least_what_is_estimated(text: str) -> None:
    assert 0 <= estimated_tokens(text) < most_tokens(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("The quick brown fox jumps over the lazy dog. " * 20, 200), ("今天讨论了部署方案和缓存。" * 20, 260)],
)
def test_an_estimate_is_of_the_right_size(text: str, tokens: int) -> None:
    """`tokens`: what usual tokenizers make of it, give or take a quarter."""
    assert tokens * 0.7 < estimated_tokens(text) < tokens * 1.4
