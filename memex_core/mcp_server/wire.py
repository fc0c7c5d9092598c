"""Lines between a client and the SDK (DESIGN §4; MCP 2025-11-25, transports, stdio).

The SDK's own stdio transport drops a line that it cannot parse without a word, has no limit on a line or on
what is unanswered, and waits in a thread that a signal cannot end. So this guard stands in its place, in
front of the same memory streams: what is a JSON-RPC message passes, anything else is answered here. What a
message means is the SDK's business.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import pydantic_core
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from memex_core.mcp_server.lanes import Lane
from memex_core.mcp_server.request_id import END_BYTES, id_at_head, id_at_tail, id_of

MAX_LINE_BYTES = 2 << 20
"""Parsed and checked several times over, a line takes a hundred times its length in memory."""
MAX_DIGITS = 4_300
"""Of a whole number: what Python reads and writes."""
MAX_OPEN = 64
"""How much may be unanswered: a request counts 1, and 1 more for each 64 KiB of its line. Then reading
waits.
"""
GRACE_S = 1.5
"""How long the answers to what was asked are waited for when the client has closed its end."""
_CHUNK = 1 << 16
_OPEN_UNIT = 1 << 16

_HALF_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.S,
)


@dataclass(frozen=True, slots=True)
class TooLong:
    """What is kept of a line over the limit: how it begins and ends."""

    head: bytes
    tail: bytes


class LineCutter:
    """Cuts bytes into lines; of one that is over `limit` only its ends are kept."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._head: bytes | None = None

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in `data`, without their line end."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._keep(part)
            yield self.take()
        self._keep(rest)

    def take(self) -> bytes | TooLong:
        """What has come of the line that has not ended yet."""
        kept = bytes(self._kept)
        line = kept if self._head is None else TooLong(self._head, kept)
        self._kept, self._head = bytearray(), None
        return line

    def _keep(self, part: bytes) -> None:
        self._kept += part
        if self._head is None and len(self._kept) > self._limit:
            self._head = bytes(self._kept[: min(END_BYTES, self._limit)])
        if self._head is not None:
            self._kept = self._kept[-END_BYTES:]


class Malformed(Exception):
    """What is no message; `answer` says so to the client."""

    def __init__(self, request_id: RequestId | None, code: int, message: str) -> None:
        super().__init__(message)
        self.answer = _error(request_id, code, message)


def message_in(line: bytes | TooLong) -> JSONRPCMessage | None:
    """The message of a line, None for an empty line. Raises Malformed, with the id that the line gives: a
    client that is not told which of its requests failed waits for ever.
    """
    if isinstance(line, TooLong):
        most = f"a message may have {MAX_LINE_BYTES:,} bytes at most: the command line takes more"
        found = id_at_head(line.head)
        raise Malformed(id_at_tail(line.tail) if found is None else found, INVALID_REQUEST, most)
    line = line.removeprefix(codecs.BOM_UTF8)
    if not line.strip():
        return None
    value = _value_in(line)
    if isinstance(value, list):
        raise Malformed(None, INVALID_REQUEST, "batches are not supported: send one request a line")
    if not isinstance(value, dict):
        raise Malformed(None, INVALID_REQUEST, "not a JSON-RPC 2.0 message")
    try:
        message = jsonrpc_message_adapter.validate_python(value)
    except (ValueError, RecursionError):
        raise Malformed(id_of(value), INVALID_REQUEST, "not a JSON-RPC 2.0 message") from None
    if isinstance(message, JSONRPCNotification) and "id" in value:
        raise Malformed(None, INVALID_REQUEST, "an id must be a text or a whole number")
    return message


def _value_in(line: bytes) -> Any:
    """The JSON of a line; an escaped half of a surrogate pair is U+FFFD, as everywhere. Raises Malformed."""
    for text in (line, _HALF_PAIR.sub(lambda found: rb"\ufffd" if found["half"] else found[0], line)):
        with contextlib.suppress(ValueError, RecursionError, MemoryError):
            return pydantic_core.from_json(text, allow_inf_nan=False)
    raise _fault_of(line)


def _fault_of(line: bytes) -> Malformed:
    """What is wrong with a line that is no JSON, told to whoever asked, so far as it can be read."""
    odd: list[str] = []

    def whole(digits: str) -> int | None:
        if len(digits) <= MAX_DIGITS:
            return int(digits)
        odd.append(digits)
        return None

    no_json = "not JSON: send one JSON object a line, in UTF-8"
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_int=whole, parse_constant=odd.append)
    except (ValueError, RecursionError, MemoryError):
        return Malformed(id_at_head(line), PARSE_ERROR, no_json)
    request_id = id_of(value)
    if odd:
        no_number = f"a number in it cannot be used: no NaN, no Infinity, {MAX_DIGITS:,} digits at most"
        return Malformed(request_id, INVALID_PARAMS, no_number)
    return Malformed(request_id, PARSE_ERROR, no_json)


def _error(request_id: RequestId | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


class _Unanswered:
    """What the client asked and has no answer to."""

    def __init__(self) -> None:
        self._sizes: dict[RequestId, list[int]] = {}
        self._sum = 0
        self._shrunk = asyncio.Event()

    async def add(self, request_id: RequestId, size: int) -> None:
        """Note a request as soon as there is room for it; the first always has room."""
        while self._sum and self._sum + size > MAX_OPEN:
            await self._shrinks()
        self._sizes.setdefault(request_id, []).append(size)
        self._sum += size

    def settle(self, request_id: RequestId | None) -> None:
        sizes = self._sizes.get(request_id) if request_id is not None else None
        if request_id is not None and sizes:
            self._sum -= sizes.pop()
            if not sizes:
                del self._sizes[request_id]
            self._shrunk.set()

    async def nothing(self) -> None:
        while self._sum:
            await self._shrinks()

    async def _shrinks(self) -> None:
        self._shrunk.clear()
        await self._shrunk.wait()


class Wire:
    """One client on a pair of descriptors."""

    def __init__(self, descriptor_in: int, descriptor_out: int) -> None:
        self._in, self._out = descriptor_in, descriptor_out
        self._reading, self._writing = Lane(1), Lane(1)
        self._unanswered = _Unanswered()
        self._input = anyio.CancelScope()
        self._all_sent = asyncio.Event()

    def close(self) -> None:
        """Take nothing more from the client."""
        self._input.cancel()

    async def receive(self, server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass the client's messages on until it closes its end."""
        async with server:
            with self._input:
                async for line in self._lines():
                    try:
                        message = message_in(line)
                    except Malformed as problem:
                        await self._write(problem.answer)
                        continue
                    if message is not None:
                        await server.send(
                            await self._admitted(message, len(line) if isinstance(line, bytes) else 0)
                        )
                with anyio.move_on_after(GRACE_S):
                    await self._unanswered.nothing()

    async def send(self, server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Pass the server's messages on."""
        async with server:
            async for item in server:
                await self._write(item.message)
                if isinstance(item.message, (JSONRPCResponse, JSONRPCError)):
                    self._unanswered.settle(item.message.id)
        self._all_sent.set()

    async def sent(self) -> None:
        """Returns when everything that the server had to say has been written."""
        await self._all_sent.wait()

    async def _lines(self) -> AsyncIterator[bytes | TooLong]:
        cutter = LineCutter()
        while data := await self._reading.run(self._read):
            for line in cutter.feed(data):
                yield line
        yield cutter.take()

    def _read(self) -> bytes:
        try:
            return os.read(self._in, _CHUNK)
        except OSError:
            return b""

    async def _admitted(self, message: JSONRPCMessage, size: int) -> SessionMessage:
        if not isinstance(message, JSONRPCRequest):
            return SessionMessage(message)
        await self._unanswered.add(message.id, min(1 + size // _OPEN_UNIT, MAX_OPEN))
        given_up = partial(self._given_up, message.id)
        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=given_up))

    async def _given_up(self, request_id: RequestId) -> None:
        self._unanswered.settle(request_id)

    async def _write(self, message: JSONRPCMessage) -> None:
        try:
            text = message.model_dump_json(by_alias=True, exclude_unset=True)
        except ValueError:  # a text that is no Unicode
            answer = _error(getattr(message, "id", None), INTERNAL_ERROR, "internal error")
            text = answer.model_dump_json(exclude_unset=True)
        if not await self._writing.run(partial(self._write_all, text.encode("utf-8") + b"\n")):
            self.close()

    def _write_all(self, data: bytes) -> bool:
        """False where the client no longer reads."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._out, view) :]
        except OSError:
            return False
        return True
