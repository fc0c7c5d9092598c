"""What the two official SDKs share: loaded when used, one attempt, one deadline, the key to one address."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import time
from abc import abstractmethod
from functools import partial
from pathlib import Path
from typing import Any

from memex_core.config import LLMConfig
from memex_core.errors import LLMError
from memex_core.llm.answer import Answer
from memex_core.llm.asking import Asking
from memex_core.llm.body import PIECE, read_bounded, read_explanation
from memex_core.llm.connection import connection_failure
from memex_core.llm.deadline import within
from memex_core.llm.failures import CallFailed, Sent, failure_of_status
from memex_core.llm.target import provider_facts, service


class SdkClient(Asking):
    """A client of a service that is asked through its own SDK, an extra of this package."""

    def __init__(self, config: LLMConfig, root: Path, system: str = "") -> None:
        super().__init__(config, root, system, service(config))
        self._extra: str = provider_facts(config.provider)["extra"]
        if importlib.util.find_spec(self._extra) is None:
            raise self._lacking("is not installed")

    def complete(self, prompt: str, max_tokens: int) -> str:
        """As every client; the SDK is loaded before the clock of [llm] timeout starts."""
        try:
            importlib.import_module(self._extra)
        except Exception as error:
            raise self._lacking(f"cannot be loaded ({type(error).__name__})") from error
        return super().complete(prompt, max_tokens)

    def _lacking(self, what: str) -> LLMError:
        return LLMError(
            f"the provider {self.target.provider} needs its SDK, which {what}",
            hint=f"{sys.executable} -m pip install 'memex-hooks[{self._extra}]'",
        )

    @abstractmethod
    def _client(self, sdk: Any, **options: Any) -> Any:
        """The SDK's client object for `options`, which both SDKs understand alike."""

    @abstractmethod
    def _request(self, client: Any, prompt: str, max_tokens: int) -> Any:
        """The SDK's streamed-response context manager for one request."""

    @abstractmethod
    def _read(self, body: bytes) -> Answer:
        """The answer that a response body holds. Raises CallFailed."""

    def _ask(self, prompt: str, max_tokens: int, deadline: float) -> Answer:
        sdk: Any = importlib.import_module(self._extra)
        is_encrypted = self.target.address.startswith("https:")
        http = sdk.DefaultHttpxClient(
            follow_redirects=False,  # a redirect would carry the key to another host
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [partial(_check, sent=self._sent(prompt))]},
            trust_env=is_encrypted,  # a proxy reads what is not encrypted
            verify=is_encrypted,  # without it, no certificate is looked at, and none need be loaded
        )
        client = self._client(
            sdk,
            api_key=self.target.key,
            base_url=self.target.address,
            timeout=max(deadline - time.monotonic(), 0.001),
            max_retries=0,
            http_client=http,
        )

        def exchange() -> bytes:
            with self._request(client, prompt, max_tokens) as response:
                pieces = response.iter_bytes(PIECE)
                return read_bounded(response.headers.get("Content-Length"), lambda: next(pieces, b""))

        try:
            return self._read(within(deadline, exchange))
        except (CallFailed, TimeoutError):
            raise
        except Exception as error:  # the SDK passes on what its HTTP library raises while a body is read
            raise connection_failure(error) from None
        finally:
            with contextlib.suppress(Exception):
                client.close()


def _check(response: Any, sent: Sent) -> None:
    """Before the SDK sees a response: raise CallFailed for an error, whose whole body the SDK would read, and
    let nothing unpack an answer, since a bound on what was sent is none on what comes out.
    """
    response.headers.pop("Content-Encoding", None)
    if response.is_success:
        return
    pieces = response.iter_raw(PIECE)
    body = read_explanation(lambda: next(pieces, b""))
    raise failure_of_status(response.status_code, body, response.headers.get("Retry-After"), sent)
