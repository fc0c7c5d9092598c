"""Ollama and LM Studio over plain HTTP, against a loopback server that is kind, broken or hostile."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import loopback_providers as lp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback_providers import Provider

from memex_core.config import LLMConfig
from memex_core.errors import LLMError
from memex_core.llm import client_for
from memex_core.llm.chat_completions import read_answer
from memex_core.llm.failures import LONGEST_WAIT_S, SHORT_WAIT_S, CallFailed, Sent, failure_of_status
from memex_core.model.llm import ModelCall

LOCAL = ("ollama", "lmstudio")
KEY = "sk-do-not-show-0123456789"
PROMPT = "The cellar door code is nine-seven-one; write it down as JSON."
SYSTEM = "You keep notes for a lighthouse crew."


def config(address: str, provider: str = "ollama", **values: Any) -> LLMConfig:
    return LLMConfig(**{"provider": provider, "model": "m1", "api_base": address, "timeout": 10.0, **values})


def ask(server: Provider, root: Path, **values: Any) -> tuple[str, list[ModelCall]]:
    client = client_for(config(f"{server.url}/v1", **values), root, system=SYSTEM)
    return client.complete(PROMPT, 50), client.calls  # type: ignore[attr-defined]


def failure(root: Path, *answers: lp.Answer, **values: Any) -> tuple[LLMError, list[ModelCall], Provider]:
    with Provider(*answers) as provider:
        client = client_for(config(f"{provider.url}/v1", **values), root, system=SYSTEM)
        with pytest.raises(LLMError) as caught:
            client.complete(PROMPT, 50)
    assert PROMPT not in str(caught.value) + caught.value.hint
    assert KEY not in str(caught.value) + caught.value.hint
    return caught.value, client.calls, provider  # type: ignore[attr-defined]


# --- asking


@pytest.mark.parametrize("name", LOCAL)
def test_the_answer_comes_back_with_the_tokens_that_the_server_counted(name: str, root: Path) -> None:
    with Provider(lp.chat("a note", prompt=100, completion=7)) as provider:
        text, (call,) = ask(provider, root, provider=name)
    assert text == "a note"
    assert (call.provider, call.model, call.prompt_tokens, call.completion_tokens) == (name, "m1", 100, 7)
    assert (call.estimated, call.outcome) == (False, "ok")
    assert call.ms > 0


@pytest.mark.parametrize("name", LOCAL)
def test_the_request_is_a_chat_completion_with_the_system_text_first(name: str, root: Path) -> None:
    with Provider(lp.chat("a note")) as provider:
        ask(provider, root, provider=name)
    (request,) = provider.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "m1",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}],
        "max_tokens": 50,
        "temperature": 0,
        "stream": False,
    }


def test_without_a_system_text_only_the_prompt_is_sent(root: Path) -> None:
    with Provider(lp.chat("a note")) as provider:
        client_for(config(f"{provider.url}/v1"), root).complete(PROMPT, 50)
    assert provider.requests[0].body["messages"] == [{"role": "user", "content": PROMPT}]


def test_a_key_is_sent_as_a_bearer_token_and_none_where_there_is_none(root: Path) -> None:
    with Provider(lp.chat("a note")) as provider:
        ask(provider, root, api_key=f" {KEY}\n")
        ask(provider, root)
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in provider.requests[1].headers


def test_a_proxy_of_the_environment_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider(lp.chat("from the proxy")) as proxy, Provider(lp.chat("from the server")) as provider:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert ask(provider, root)[0] == "from the server"
    assert proxy.requests == []


def test_an_answer_that_was_cut_off_is_an_answer(root: Path) -> None:
    with Provider(lp.chat('{"nodes": [', finish="length")) as provider:
        text, (call,) = ask(provider, root)
    assert (text, call.outcome) == ('{"nodes": [', "cut")


def test_tokens_that_nobody_counted_are_estimated(root: Path) -> None:
    with Provider(lp.json_reply({"choices": [{"message": {"content": "four" * 10}}]})) as provider:
        _, (call,) = ask(provider, root)
    assert call.estimated
    assert call.prompt_tokens == pytest.approx((len(PROMPT) + len(SYSTEM)) / 4, abs=3)
    assert call.completion_tokens == 10


@pytest.mark.parametrize("count", [0, 1, 150])
def test_a_count_below_a_tenth_of_the_estimate_is_not_believed(count: int, root: Path) -> None:
    prompt, text = "lighthouse " * 800, "a note of the lamp " * 400
    with Provider(lp.chat(text, prompt=count, completion=count)) as provider:
        client = client_for(config(f"{provider.url}/v1", provider="ollama"), root)
        with contextlib.suppress(LLMError):
            client.complete(prompt, 50)
    (call,) = client.calls  # type: ignore[attr-defined]
    assert call.estimated
    assert call.prompt_tokens == pytest.approx(len(prompt) / 4, rel=0.01)
    assert call.completion_tokens == pytest.approx(len(text) / 4, rel=0.01)


def test_a_low_count_that_can_be_true_is_believed(root: Path) -> None:
    with Provider(lp.chat("a note", prompt=13, completion=1)) as provider:
        _, (call,) = ask(provider, root)
    assert (call.prompt_tokens, call.completion_tokens, call.estimated) == (13, 1, False)


@pytest.mark.parametrize("count", [-1, 1.5, "100", True, None, 10**12, [1]])
def test_a_count_that_is_none_is_not_believed(count: Any, root: Path) -> None:
    with Provider(lp.chat("a note", prompt=count)) as provider:
        _, (call,) = ask(provider, root)
    assert call.estimated
    assert 0 < call.prompt_tokens < 100


def test_text_that_no_encoder_takes_is_sent_and_received_clean(root: Path) -> None:
    with Provider(lp.chat("a\x00b\ud800c")) as provider:
        client = client_for(config(f"{provider.url}/v1"), root)
        assert client.complete("x\ud800y\x00z", 50) == "ab\ufffdc"
    assert provider.requests[0].body["messages"][0]["content"] == "x\ufffdyz"


# --- failing


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (401, "refused the key (HTTP 401", "MEMEX_API_KEY"),
        (403, "refused the key (HTTP 403", "MEMEX_API_KEY"),
        (404, "nothing there under that name (HTTP 404", "ollama pull m1"),
        (400, "refused the request (HTTP 400", "max_prompt_tokens"),
        (413, "refused the request (HTTP 413", "max_prompt_tokens"),
        (418, "refused the request (HTTP 418", "max_prompt_tokens"),
    ],
)
def test_a_refusal_says_who_what_and_what_to_do_and_is_not_repeated(
    status: int, said: str, hint: str, root: Path
) -> None:
    error, calls, provider = failure(root, lp.error(status, "no such thing"))
    assert str(error).startswith(f"ollama (m1 at {provider.url}/v1): {said}")
    assert "no such thing" in str(error)
    assert "\n" not in str(error)
    assert hint in error.hint
    assert len(provider.requests) == 1
    assert [(call.outcome, call.prompt_tokens, call.completion_tokens) for call in calls] == [
        ("failed", 0, 0)
    ]


def test_the_code_of_an_error_is_told(root: Path) -> None:
    error, _, _ = failure(root, lp.error(400, code="context_length_exceeded"))
    assert "(HTTP 400, context_length_exceeded)" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"404 page not found",
        b"[]",
        b"[" * 100_000,
        b'{"error": 5}',
        b'{"error": {"message": [1]}}',
        b"\xff",
    ],
)
def test_an_error_body_of_any_shape_still_makes_one_line(body: bytes, root: Path) -> None:
    error, _, provider = failure(root, lp.reply(body, 404))
    assert str(error) == f"ollama (m1 at {provider.url}/v1): nothing there under that name (HTTP 404)"


def test_an_error_repeats_neither_the_prompt_nor_the_key(root: Path) -> None:
    error, _, _ = failure(root, lp.error(400, f"cannot parse: {PROMPT[5:45]}"), api_key=KEY)
    assert PROMPT[10:40] not in str(error)
    error, _, _ = failure(root, lp.error(401, f"{KEY} is not a key"), api_key=KEY)
    assert "[REDACTED] is not a key" in str(error)


def test_an_error_shows_no_control_characters(root: Path) -> None:
    error, _, _ = failure(root, lp.error(400, "red \x1b[31malert\x07\u202eback\r\nsecond line"))
    assert "red [31malert back" in str(error)
    assert str(error).isprintable()
    assert "second line" not in str(error)


def test_nobody_listening_asks_whether_the_server_runs(root: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        client = client_for(config(address), root)
        with pytest.raises(LLMError, match=f"^ollama \\(m1 at {address}\\): connection refused$") as caught:
            client.complete(PROMPT, 50)
    assert "ollama serve" in caught.value.hint
    assert client.calls[0].prompt_tokens == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lp.reply(b"<html>It works!</html>"), "answered something that is not JSON"),
        (lp.reply(b"\xff\xfe\x00"), "answered something that is not JSON"),
        (lp.reply(b"[" * 1_000_000), "answered something that is not JSON"),
        (lp.reply(b"1" * 100_000), "answered something that is not JSON"),
        (lp.reply(b""), "answered something that is not JSON"),
        (lp.stream, "answered something that is not JSON"),
        (lp.json_reply([1]), "answered JSON of another shape"),
        (lp.json_reply({"error": "no"}), "answered JSON of another shape"),
        (lp.json_reply({"choices": "no"}), "answered JSON of another shape"),
        (lp.json_reply({"choices": [5]}), "answered JSON of another shape"),
        (lp.json_reply({"choices": [{"message": "no"}]}), "answered JSON of another shape"),
        (lp.chat({"text": "no"}), "answered JSON of another shape"),
        (lp.json_reply({"choices": []}), "answered without a choice"),
        (lp.chat(""), "gave an empty answer"),
        (lp.chat(" \n"), "gave an empty answer"),
        (lp.chat(None), "gave an empty answer"),
        (lp.chat("", finish="length"), "used up max_tokens before it answered"),
        (lp.chat("", finish="content_filter"), "the model declined to answer"),
        (lp.no_http, "answered something that is not HTTP"),
        (lp.flood_headers, "answered something that is not HTTP"),
        (lp.claim_a_gigabyte, "the answer is longer than 32 MB"),
        (lp.flood_body, "the answer is longer than 32 MB"),
    ],
)
def test_an_answer_that_is_none_is_a_failure_and_is_not_asked_for_again(
    answer: lp.Answer, said: str, root: Path
) -> None:
    error, calls, provider = failure(root, answer)
    assert str(error) == f"ollama (m1 at {provider.url}/v1): {said}"
    assert error.hint
    assert len(provider.requests) == len(calls) == 1
    assert calls[0].prompt_tokens > 0


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["choices", "message", "content", "usage", "finish_reason", "refusal"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_json_of_any_shape_is_an_answer_or_a_failure(value: Any) -> None:
    try:
        assert isinstance(read_answer(json.dumps(value).encode()).text, str)
    except CallFailed as failed:
        assert failed.what


# --- once more


@pytest.mark.parametrize(
    "trouble", [lp.error(429), lp.error(503), lp.error(500), lp.reset, lp.close, lp.cut_short]
)
def test_a_passing_trouble_is_asked_over_once_and_each_call_counts(trouble: lp.Answer, root: Path) -> None:
    started = time.monotonic()
    with Provider(trouble, lp.chat("a note")) as provider:
        text, calls = ask(provider, root)
    assert text == "a note"
    assert [call.outcome for call in calls] == ["failed", "ok"]
    assert 0.4 < time.monotonic() - started < 5


@pytest.mark.parametrize("trouble", [lp.error(429, retry_after="0"), lp.error(502, retry_after="0")])
def test_a_trouble_that_stays_is_asked_over_only_once(trouble: lp.Answer, root: Path) -> None:
    error, calls, provider = failure(root, trouble)
    assert len(provider.requests) == len(calls) == 2
    assert "again later" in error.hint


def test_a_long_wait_is_not_waited_for_but_told(root: Path) -> None:
    error, calls, _ = failure(root, lp.error(429, "slow down", retry_after="90"), timeout=300)
    assert "it asks to wait 90 s" in str(error)
    assert len(calls) == 1


def test_a_wait_is_as_long_as_the_server_asks(root: Path) -> None:
    started = time.monotonic()
    with Provider(lp.error(429, retry_after="1.1"), lp.chat("a note")) as provider:
        ask(provider, root)
    assert time.monotonic() - started >= 1.1


@pytest.mark.parametrize(
    "wait",
    [
        "nan",
        "inf",
        "-inf",
        "-5",
        "1e400",
        "9" * 400,
        "1_0",
        "0x5",
        "soon",
        "\u0663",
        "+1",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Mon, 99 Foo 2026 99:99:99 GMT",
        "=?utf-8?q?x?=",
    ],
)
def test_a_wait_that_is_none_is_not_believed(wait: str) -> None:
    assert failure_of_status(429, b"", wait, Sent(())).retry_in == SHORT_WAIT_S


def test_a_wait_that_is_none_ends_as_soon_as_any_other(root: Path) -> None:
    started = time.monotonic()
    with Provider(lp.error(429, retry_after="1e400"), lp.chat("a note")) as provider:
        text, _ = ask(provider, root)
    assert text == "a note"
    assert 0.4 < time.monotonic() - started < 5


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.from_regex(r"[-+]?[0-9]{1,5}(\.[0-9]*)?(e[0-9]{1,3})?"))
def test_a_wait_of_any_form_is_a_number_that_can_be_slept(wait: str) -> None:
    failed = failure_of_status(429, b"", wait, Sent(()))
    assert failed.retry_in is None or 0 <= failed.retry_in <= LONGEST_WAIT_S


def test_an_empty_account_is_not_asked_over(root: Path) -> None:
    _, calls, _ = failure(root, lp.error(429, "no money", "insufficient_quota"))
    assert len(calls) == 1


# --- the hard end


@pytest.mark.parametrize("answer", [lp.hang, lp.drip_headers, lp.drip_body])
def test_the_timeout_holds_for_the_whole_call(answer: lp.Answer, root: Path) -> None:
    started = time.monotonic()
    error, calls, provider = failure(root, answer, timeout=0.5)
    assert 0.4 < time.monotonic() - started < 6
    assert str(error) == f"ollama (m1 at {provider.url}/v1): no answer within 0.5 s"
    assert "[llm] timeout" in error.hint
    assert len(calls) == 1


def test_asking_once_more_is_within_the_same_timeout(root: Path) -> None:
    started = time.monotonic()
    _, calls, _ = failure(root, lp.error(503, retry_after="1"), lp.hang, timeout=2.5)
    assert 2.0 < time.monotonic() - started < 8
    assert len(calls) == 2


@pytest.mark.parametrize("answer", [lp.hang, lp.drip_headers, lp.drip_body])
def test_nothing_waits_on_after_the_timeout(answer: lp.Answer, root: Path) -> None:
    with Provider(answer) as server:
        with pytest.raises(LLMError):
            ask(server, root, timeout=0.5)
        deadline = time.monotonic() + 3
        while any(thread.name == "memex-model-call" for thread in threading.enumerate()):
            assert time.monotonic() < deadline
            time.sleep(0.02)


# --- where the key goes


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, root: Path) -> None:
    with Provider(lp.chat("stolen")) as other:
        target = f"{other.url}/v1/chat/completions"
        error, _, provider = failure(root, lp.redirect(target, status), api_key=KEY)
    assert other.requests == []
    assert len(provider.requests) == 1
    assert f"redirected elsewhere, which is not followed (HTTP {status})" in str(error)


def test_plain_http_behind_an_https_address_is_no_secure_connection(root: Path) -> None:
    with Provider(lp.chat("a note")) as provider:
        client = client_for(config(provider.url.replace("http:", "https:")), root)
        with pytest.raises(LLMError, match="no secure connection"):
            client.complete(PROMPT, 50)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="a certificate needs the openssl command")
def test_https_is_spoken_to_a_certificate_that_is_trusted_and_to_no_other(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Provider(lp.chat("a note"), tls=context) as provider:
        client = client_for(config(f"{provider.url}/v1"), root)
        with pytest.raises(LLMError, match="no secure connection \\(certificate verify failed\\)"):
            client.complete(PROMPT, 50)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert client.complete(PROMPT, 50) == "a note"


# --- a context that is too small


def test_a_prompt_that_was_read_only_in_part_is_a_failure(root: Path) -> None:
    with Provider(lp.chat("a note", prompt=2_050)) as provider:
        client = client_for(config(f"{provider.url}/v1"), root)
        with pytest.raises(LLMError, match="read only 2,050 of about 10,000 tokens") as caught:
            client.complete("word " * 8_000, 50)
    assert "OLLAMA_CONTEXT_LENGTH" in caught.value.hint


def test_a_prompt_that_was_read_whole_is_none(root: Path) -> None:
    with Provider(lp.chat("a note", prompt=8_001)) as provider:
        client = client_for(config(f"{provider.url}/v1"), root)
        assert client.complete("word " * 8_000, 50) == "a note"
