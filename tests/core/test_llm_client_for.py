"""Which client [llm] gives, and what it lacks where it gives none."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.config import LLMConfig
from memex_core.errors import ConfigError, LLMError
from memex_core.llm import client_for
from memex_core.llm.target import Target, provider_facts, service

LOCAL = {"ollama": "http://localhost:11434/v1", "lmstudio": "http://localhost:1234/v1"}


def test_the_default_is_ollama_with_a_model_and_an_address(root: Path) -> None:
    client = client_for(LLMConfig(), root)
    assert str(client.target) == "ollama (llama3.1 at http://localhost:11434/v1)"  # type: ignore[attr-defined]
    assert client.calls == []  # type: ignore[attr-defined]
    assert not root.exists()


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "OpenAIClient"),
        ("anthropic", "AnthropicClient"),
        ("ollama", "OllamaClient"),
        ("lmstudio", "LMStudioClient"),
        ("command", "CommandClient"),
    ],
)
def test_every_provider_has_its_client(provider: str, name: str, root: Path) -> None:
    config = LLMConfig(provider=provider, model="m1", api_key="k", command=["x"])
    assert type(client_for(config, root)).__name__ == name


@pytest.mark.parametrize(("provider", "address"), LOCAL.items())
def test_a_local_server_has_a_usual_address(provider: str, address: str) -> None:
    assert service(LLMConfig(provider=provider, model="m1")).address == address


def test_a_provider_without_a_default_model_names_the_key(root: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"\[llm\] model is not set, and lmstudio has no default one"
    ) as caught:
        client_for(LLMConfig(provider="lmstudio"), root)
    assert "MEMEX_LLM_MODEL" in caught.value.hint


@pytest.mark.parametrize(
    "address",
    [
        "localhost:11434",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://user:secret@host/v1",
        "http://host/v1?key=secret",
        "http://host/v1#x",
        "http://host:99999/v1",
        "http://host:port/v1",
        "http://[::1/v1",
        "http://ho st/v1",
        "http://host/v1\r\nx: y",
        "http://höst/v1",
        "http://a..b/v1",
        "http://.a/v1",
        "http://" + "a" * 64 + ".example/v1",
        "http://" + "a." * 130 + "b/v1",
        "http://user:secret@host:1/v1",
        "http://secret@host/v1",
        "http://host:0/v1",
        "http://host:-1/v1",
        "http://host:+80/v1",
        "http://host:8 0/v1",
        "http://host name/v1",
        "http://ho%73t/v1",
        "http://-a/v1",
        "http://[::1]x/v1",
        "http://[a.b]/v1",
        "http://::1/v1",
        "http://\u0663.example/v1",
        "http://host/v 1",
        "http://host/\x00v1",
    ],
)
def test_an_address_that_cannot_be_asked_or_holds_a_secret_is_refused_unseen(
    address: str, root: Path
) -> None:
    with pytest.raises(ConfigError, match=r"\[llm\] api_base") as caught:
        client_for(LLMConfig(api_base=address), root)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1]:11434/v1",
        "http://[fe80::1%25eth0]:1/v1",
        "https://gpu-1.example:8443/llm/v1/",
        " http://h/v1 ",
        "http://my_host.example./v1",
        "http://" + "a" * 63 + "/v1",
        "http://127.0.0.1:65535",
    ],
)
def test_an_address_is_taken_without_its_last_slash(address: str) -> None:
    assert service(LLMConfig(api_base=address)).address == address.strip().rstrip("/")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30) | st.text("ab.:[]@%/-_ 1\u00fc", max_size=90))
def test_an_address_of_any_form_is_taken_or_refused_in_one_line(host: str) -> None:
    try:
        target = service(LLMConfig(api_base=f"http://{host}"))
    except ConfigError as error:
        assert "\n" not in str(error)
    else:
        name = urlsplit(target.address).hostname
        assert name and name.encode("idna")


def test_a_model_that_we_ask_may_not_ask_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEX_CHILD", "1")
    for provider in ("openai", "anthropic", "ollama", "lmstudio", "command"):
        config = LLMConfig(provider=provider, model="m1", api_key="k", command=["x"])
        with pytest.raises(LLMError, match="started by a model that memex asks"):
            client_for(config, root)


def test_a_key_is_not_shown_with_its_target() -> None:
    target = Target("openai", "m1", "https://h", "sk-secret")
    assert "sk-secret" not in repr(target) + str(target)


def test_every_kind_of_failure_has_a_hint_and_no_place_is_left_open() -> None:
    from typing import get_args

    from memex_core.llm.failures import Kind

    providers = tomllib.loads(resources.files("memex_core.llm").joinpath("providers.toml").read_text("utf-8"))
    assert set(providers["hints"]) == set(get_args(Kind))
    for provider in LOCAL:
        hints = service(LLMConfig(provider=provider, model="m{address}1")).hints
        assert not [hint for hint in hints.values() if "{model}" in hint or "{timeout}" in hint]
    assert set(provider_facts("command")) <= {"hints"}


def test_importing_the_package_loads_no_network_library() -> None:
    heavy = {
        "openai",
        "anthropic",
        "pydantic",
        "httpx",
        "http.client",
        "ssl",
        "socket",
        "subprocess",
        "tomllib",
    }
    code = f"import sys, memex_core.llm; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_client_of_a_local_server_loads_no_sdk() -> None:
    code = (
        "import sys; from pathlib import Path; from memex_core.config import LLMConfig;"
        "from memex_core.llm import client_for; client_for(LLMConfig(), Path('x'));"
        "print(sorted({'openai', 'anthropic', 'pydantic', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
