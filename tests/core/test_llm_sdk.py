"""OpenAI and Anthropic through their real SDKs, against a loopback server that is kind, broken or hostile."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import loopback_providers as lp
import pytest
from loopback_providers import Provider

from memex_core.config import LLMConfig
from memex_core.errors import ConfigError, LLMError
from memex_core.llm import client_for
from memex_core.model.llm import ModelCall

KEY = "sk-do-not-show-0123456789"
PROMPT = "The cellar door code is nine-seven-one; write it down as JSON."
SYSTEM = "You keep notes for a lighthouse crew."
SERVICES = ("openai", "anthropic")
VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


FORMS: list[Callable[[str], str]] = [
    lambda key: key,
    lambda key: "key_" + re.sub(r"\W", "", key),
    lambda key: key[:-4],
    str.upper,
    lambda key: quote(key, safe=""),
    lambda key: quote(key, safe="").lower(),
    lambda key: b64encode(key.encode()).decode(),
    lambda key: b64encode(f"Bearer {key}".encode()).decode(),
    lambda key: b64encode(f"me:{key}".encode()).decode().rstrip("="),
    lambda key: urlsafe_b64encode(f"x{key}y".encode()).decode(),
    lambda key: key.encode().hex(),
    lambda key: json.dumps(key)[1:-1],
]
"""How a key comes back from those who should not repeat it."""


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two in turn, nothing of the tests' environment set."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    return str(request.param)


def config(service: str, server: Provider, **values: Any) -> LLMConfig:
    base = f"{server.url}/v1" if service == "openai" else server.url
    return LLMConfig(**{"provider": service, "api_base": base, "api_key": KEY, "timeout": 10.0, **values})


def answer(service: str, text: Any = "a note", *, cut: bool = False, **counts: Any) -> lp.Answer:
    if service == "openai":
        return lp.chat(text, finish="length" if cut else "stop", **counts)
    return lp.message(text, stop="max_tokens" if cut else "end_turn", **counts)


def ask(service: str, server: Provider, root: Path, **values: Any) -> tuple[str, list[ModelCall]]:
    client = client_for(config(service, server, **values), root, system=SYSTEM)
    return client.complete(PROMPT, 50), client.calls  # type: ignore[attr-defined]


def failure(
    service: str, root: Path, *answers: lp.Answer, **values: Any
) -> tuple[LLMError, list[ModelCall], Provider]:
    with Provider(*answers) as server:
        client = client_for(config(service, server, **values), root, system=SYSTEM)
        with pytest.raises(LLMError) as caught:
            client.complete(PROMPT, 50)
    told = str(caught.value) + caught.value.hint
    assert PROMPT not in told and KEY not in told and "\n" not in told
    assert str(caught.value).startswith(f"{service} (")
    assert server.url in told
    return caught.value, client.calls, server  # type: ignore[attr-defined]


# --- asking


def test_the_answer_comes_back_with_the_tokens_that_the_service_counted(service: str, root: Path) -> None:
    with Provider(answer(service, prompt=100, completion=7)) as server:
        text, (call,) = ask(service, server, root)
    assert text == "a note"
    assert (call.provider, call.prompt_tokens, call.completion_tokens) == (service, 100, 7)
    assert (call.estimated, call.outcome) == (False, "ok")


def test_openai_is_sent_a_chat_completion(root: Path) -> None:
    with Provider(answer("openai")) as server:
        ask("openai", server, root)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "gpt-4o",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}],
        "max_tokens": 50,
    }


@pytest.mark.parametrize("end", ["", "/v1", "/v1/"])
def test_anthropic_is_sent_a_message_with_the_system_text_apart(end: str, root: Path) -> None:
    with Provider(answer("anthropic")) as server:
        ask("anthropic", server, root, api_base=server.url + end, model="m1")
    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert [value for value in request.headers.values() if KEY in value] in ([KEY], [f"Bearer {KEY}"])
    assert request.body == {
        "model": "m1",
        "system": SYSTEM,
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": 50,
    }


def test_without_a_system_text_only_the_prompt_is_sent(service: str, root: Path) -> None:
    with Provider(answer(service)) as server:
        client_for(config(service, server), root).complete(PROMPT, 50)
    body = server.requests[0].body
    assert body["messages"] == [{"role": "user", "content": PROMPT}]
    assert "system" not in body


def test_an_answer_that_was_cut_off_is_an_answer(service: str, root: Path) -> None:
    with Provider(answer(service, '{"nodes": [', cut=True)) as server:
        text, (call,) = ask(service, server, root)
    assert (text, call.outcome) == ('{"nodes": [', "cut")


def test_a_long_answer_is_asked_for_without_a_stream(service: str, root: Path) -> None:
    with Provider(answer(service)) as server:
        client = client_for(config(service, server), root)
        assert client.complete(PROMPT, 200_000) == "a note"
    assert not server.requests[0].body.get("stream")


def test_the_variable_of_the_service_holds_the_key_where_ours_does_not(
    service: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[service], "the-other-key")
    with Provider(answer(service)) as server:
        ask(service, server, root, api_key="")
        ask(service, server, root)
    assert b"the-other-key" in server.requests[0].all_bytes
    assert KEY.encode() in server.requests[1].all_bytes
    assert b"the-other-key" not in server.requests[1].all_bytes


def test_an_address_of_the_environment_does_not_move_the_key(
    service: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Provider(answer(service)) as other, Provider(answer(service)) as server:
        for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, other.url)
        ask(service, server, root)
    assert other.requests == []


# --- failing


def test_without_a_key_both_variables_are_named(service: str, root: Path) -> None:
    with pytest.raises(ConfigError, match=f"{service} needs a key") as caught:
        client_for(LLMConfig(provider=service), root)
    assert "MEMEX_API_KEY" in caught.value.hint
    assert VARIABLES[service] in caught.value.hint


@pytest.mark.parametrize("key", ["sk-\u00e9tude", "sk-a b", "sk-a\r\nx-evil: 1"])
def test_a_key_that_no_header_takes_is_refused_and_not_shown(key: str, service: str, root: Path) -> None:
    with pytest.raises(ConfigError, match="the key of \\[llm\\] holds characters") as caught:
        client_for(LLMConfig(provider=service, api_key=key), root)
    assert key not in str(caught.value) + caught.value.hint


def test_a_missing_sdk_names_the_extra(service: str, root: Path) -> None:
    code = (
        "import sys\n"
        f"sys.modules[{service!r}] = None\n"
        "from pathlib import Path\n"
        "from memex_core.config import LLMConfig\n"
        "from memex_core.errors import LLMError\n"
        "from memex_core.llm import client_for\n"
        "try:\n"
        f"    client_for(LLMConfig(provider={service!r}, api_key='k'), Path({str(root)!r}))\n"
        "except LLMError as error:\n"
        "    print(error, error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(f"pip install 'memex-hooks[{service}]'")


def test_an_sdk_that_does_not_load_is_told_apart_from_the_service(
    service: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{service}.py").write_text("import no_such_part_of_it", "utf-8")
    code = (
        "from pathlib import Path\n"
        "from memex_core.config import LLMConfig\n"
        "from memex_core.errors import LLMError\n"
        "from memex_core.llm import client_for\n"
        f"client = client_for(LLMConfig(provider={service!r}, api_key='k'), Path({str(root)!r}))\n"
        "try:\n"
        "    client.complete('x', 5)\n"
        "except LLMError as error:\n"
        "    print(error)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("which cannot be loaded (ModuleNotFoundError)")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "refused the request (HTTP 400"),
        (401, "refused the key (HTTP 401"),
        (403, "refused the key (HTTP 403"),
        (404, "nothing there under that name (HTTP 404"),
        (409, "refused the request (HTTP 409"),
        (422, "refused the request (HTTP 422"),
    ],
)
def test_a_refusal_says_what_happened_and_is_not_repeated(
    status: int, said: str, service: str, root: Path
) -> None:
    error, calls, server = failure(service, root, lp.error(status, "no such thing", "some_code"))
    assert f"{said}, some_code): no such thing" in str(error)
    assert error.hint
    assert len(server.requests) == 1
    assert [(call.outcome, call.prompt_tokens) for call in calls] == [("failed", 0)]


def test_an_error_repeats_neither_the_prompt_nor_the_key(service: str, root: Path) -> None:
    error, _, _ = failure(service, root, lp.error(400, f"cannot parse: {PROMPT[5:45]}"))
    assert PROMPT[10:40] not in str(error)
    error, _, _ = failure(service, root, lp.error(401, f"{KEY} is not a key"))
    assert "[REDACTED] is not a key" in str(error)


@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_comes_back_is_never_told(form: Callable[[str], str], service: str, root: Path) -> None:
    key = "skDoNotShow0123456789/+?=x"
    echo = form(key)
    for value in (
        {"error": {"message": f"no {echo} here", "code": echo, "type": echo, "param": echo}},
        {"error": {"message": "no", "type": echo}},
        {"error": echo},
        {"code": echo, "message": echo},
    ):
        error, _, _ = failure(service, root, lp.json_reply(value, 401), api_key=key)
        told = str(error) + error.hint
        assert echo not in told and key not in told
        assert "0123456789" not in told.replace("[REDACTED]", "")


def test_no_trace_of_key_or_prompt_hangs_on_the_error(service: str, root: Path) -> None:
    """What a traceback would print: the error and what it was raised from."""
    error, _, _ = failure(service, root, lp.error(401, f"{KEY} is not a key: {PROMPT}"))
    assert error.__cause__ is None and error.__suppress_context__


def test_nobody_listening_is_a_refused_connection(service: str, root: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        client = client_for(LLMConfig(provider=service, api_base=address, api_key=KEY), root)
        with pytest.raises(LLMError, match=f"at {address}\\): connection refused$"):
            client.complete(PROMPT, 50)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (lp.reply(b"<html>It works!</html>"), "answered something that is not JSON"),
        (lp.reply(b"[" * 1_000_000), "answered something that is not JSON"),
        (lp.reply(b""), "answered something that is not JSON"),
        (lp.stream, "answered something that is not JSON"),
        (lp.json_reply([1]), "answered JSON of another shape"),
        (lp.json_reply({"choices": "no", "content": "no"}), "answered JSON of another shape"),
        (lp.json_reply({"choices": [5], "content": [5]}), "answered JSON of another shape"),
        (lp.claim_a_gigabyte, "the answer is longer than 32 MB"),
        (lp.flood_body, "the answer is longer than 32 MB"),
        (lp.no_http, "closed the connection early"),
        (lp.flood_headers, "closed the connection early"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(reply: lp.Answer, said: str, service: str, root: Path) -> None:
    error, calls, server = failure(service, root, reply)
    assert str(error).endswith(f": {said}")
    assert len(server.requests) == len(calls)


MEASURED = """
import json, resource, sys
from pathlib import Path
from memex_core.config import LLMConfig
from memex_core.errors import LLMError
from memex_core.llm import client_for

service, address, root = sys.argv[1:]
config = LLMConfig(provider=service, model="m1", api_base=address, api_key="k", timeout=20.0)
client = client_for(config, Path(root))
__import__({"ollama": "http.client"}.get(service, service))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
try:
    client.complete("x", 5)
except LLMError as error:
    print(json.dumps([str(error), (peak() - before) // 1024]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("service", [*SERVICES, "ollama"])
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (lp.endless(400), "refused the request (HTTP 400)"),
        (lp.endless(302), "redirected elsewhere, which is not followed (HTTP 302)"),
        (lp.bomb(400), "refused the request (HTTP 400)"),
        (lp.bomb(200), "answered something that is not JSON"),
        (lp.endless(200), "the answer is longer than 32 MB"),
    ],
    ids=["endless-400", "endless-302", "bomb-400", "bomb-200", "endless-200"],
)
def test_no_body_of_any_status_fills_the_memory(
    reply: lp.Answer, said: str, service: str, root: Path
) -> None:
    with Provider(reply) as server:
        address = server.url if service == "anthropic" else f"{server.url}/v1"
        command = [sys.executable, "-c", MEASURED, service, address, str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    error, megabytes = json.loads(done.stdout)
    assert error.endswith(said)
    assert megabytes < 120


def test_an_answer_is_asked_for_as_it_is_and_not_packed(service: str, root: Path) -> None:
    with Provider(answer(service)) as server:
        ask(service, server, root)
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_the_explanation_is_read_from_the_first_part_of_an_endless_body(service: str, root: Path) -> None:
    def explained(connection: lp.Connection) -> None:
        connection.send(b'HTTP/1.1 400 Bad\r\n\r\n{"error": {"message": "no such thing"}}')
        while connection.send(b" " * (1 << 20)):
            pass

    error, _, _ = failure(service, root, explained)
    assert str(error).endswith("(HTTP 400): no such thing")


@pytest.mark.parametrize(
    ("text", "said"), [("", "gave an empty answer"), (5, "answered JSON of another shape")]
)
def test_an_empty_or_wrong_text_is_a_failure(text: Any, said: str, service: str, root: Path) -> None:
    error, _, _ = failure(service, root, answer(service, text))
    assert str(error).endswith(said)


def test_an_answer_that_thinking_used_up_asks_for_more_tokens(service: str, root: Path) -> None:
    error, (call,), _ = failure(service, root, answer(service, "", cut=True, completion=50))
    assert str(error).endswith("used up max_tokens before it answered")
    assert "max_tokens" in error.hint
    assert (call.completion_tokens, call.estimated) == (50, False)


def test_a_model_that_declines_is_told_apart(service: str, root: Path) -> None:
    declined = lp.chat("", finish="content_filter") if service == "openai" else lp.message("", stop="refusal")
    error, (call,), _ = failure(service, root, declined)
    assert str(error).endswith("the model declined to answer")
    assert (call.outcome, call.prompt_tokens) == ("refused", 100)


# --- once more, and the hard end


@pytest.mark.parametrize("trouble", [lp.error(429), lp.error(529), lp.reset, lp.close])
def test_a_passing_trouble_is_asked_over_once_and_each_call_counts(
    trouble: lp.Answer, service: str, root: Path
) -> None:
    with Provider(trouble, answer(service)) as server:
        text, calls = ask(service, server, root)
    assert text == "a note"
    assert [call.outcome for call in calls] == ["failed", "ok"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_the_sdk_asks_nothing_over_by_itself(status: int, service: str, root: Path) -> None:
    _, calls, server = failure(service, root, lp.error(status, retry_after="0"))
    assert len(server.requests) == len(calls) <= 2


def test_a_long_wait_is_not_waited_for_but_told(service: str, root: Path) -> None:
    error, calls, _ = failure(service, root, lp.error(429, retry_after="90"), timeout=300)
    assert "it asks to wait 90 s" in str(error)
    assert len(calls) == 1


@pytest.mark.parametrize("reply", [lp.hang, lp.drip_headers, lp.drip_body])
def test_the_timeout_holds_for_the_whole_call(reply: lp.Answer, service: str, root: Path) -> None:
    started = time.monotonic()
    error, calls, _ = failure(service, root, reply, timeout=0.5)
    assert 0.4 < time.monotonic() - started < 6
    assert str(error).endswith("no answer within 0.5 s")
    assert len(calls) == 1


@pytest.mark.parametrize("reply", [lp.hang, lp.drip_headers, lp.drip_body])
def test_nothing_waits_on_after_the_timeout(reply: lp.Answer, service: str, root: Path) -> None:
    with Provider(reply) as server:
        with pytest.raises(LLMError):
            ask(service, server, root, timeout=0.5)
        deadline = time.monotonic() + 3
        while any(thread.name == "memex-model-call" for thread in threading.enumerate()):
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_the_key_stays(status: int, service: str, root: Path) -> None:
    with Provider(answer(service, "stolen")) as other:
        error, _, server = failure(service, root, lp.redirect(f"{other.url}/v1/x", status))
    assert other.requests == []
    assert len(server.requests) == 1
    assert f"redirected elsewhere, which is not followed (HTTP {status})" in str(error)
