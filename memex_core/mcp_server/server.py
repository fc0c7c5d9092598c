"""The SDK's server over our wire: who answers what, and how a failure ends.

Nothing here blocks: every call runs in a lane of threads, a consolidation in one of its own.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from memex_core import __version__
from memex_core.config import MemexConfig
from memex_core.errors import BrokenLinkWarning
from memex_core.files.operation_log import log_operation, where
from memex_core.mcp_server import tools
from memex_core.mcp_server.faults import INTERNAL, told
from memex_core.mcp_server.lanes import Lane
from memex_core.mcp_server.wire import Wire
from memex_core.paths import NODE_TYPES
from memex_core.text.clean import clean_text

if TYPE_CHECKING:
    from memex_core.memex import Memex
    from memex_core.model.node import WikiNode

WIDTH = 4
"""How many calls are worked on at once. Changes wait for one another at the memory lock anyway."""
END_S = 1.0
"""How long the end waits for a change that has begun; then it is cut off as by a crash: nothing is harmed."""

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


def run(root: Path, config: MemexConfig, wire_in: int, wire_out: int) -> None:
    """Serve until the client closes `wire_in`, or until SIGTERM or SIGINT."""
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("mcp").propagate = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrokenLinkWarning)  # told in the result of the call
        anyio.run(_serve, MemexServer(root, config), wire_in, wire_out)


def _handled_signals() -> tuple[signal.Signals, ...]:
    """The signals that end the server in order: an event loop can take them in the main thread of a POSIX
    process only.
    """
    is_able = sys.platform != "win32" and threading.current_thread() is threading.main_thread()
    return (signal.SIGTERM, signal.SIGINT) if is_able else ()


async def _serve(memory: MemexServer, wire_in: int, wire_out: int) -> None:
    wire = Wire(wire_in, wire_out)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()
    for number in _handled_signals():
        loop.add_signal_handler(number, wire.close)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.receive, to_server)
        tasks.start_soon(wire.send, from_server)
        server = memory.server()
        await server.run(from_client, to_client, server.create_initialization_options())
        with anyio.move_on_after(END_S):
            await memory.idle()
            await wire.sent()
        tasks.cancel_scope.cancel()


class MemexServer:
    """One memory root, opened at the first call."""

    def __init__(self, root: Path, config: MemexConfig) -> None:
        self._root, self._config = root, config
        self._opened: Memex | None = None
        self._opening = threading.Lock()
        self._calls = Lane(WIDTH)
        self._consolidating = Lane(1, stops=True)

    def server(self) -> Server[Any]:
        return Server(
            "memex",
            version=__version__,
            title="memex: memory of earlier sessions",
            instructions=tools.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def idle(self) -> None:
        """Returns when no call is worked on."""
        await self._calls.idle()
        await self._consolidating.idle()

    # --- tools

    async def _list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name, offer) for name, offer in tools.TOOLS.items()])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in tools.TOOLS:
            raise MCPError(types.INVALID_PARAMS, "no such tool: tools/list names them")
        lane = self._calls
        if params.name == "memex_consolidate":
            lane = self._consolidating
            if lane.busy:
                return _failed("a consolidation is running: wait for its result")
        return await lane.run(partial(self._answer, params.name, params.arguments or {}))

    def _answer(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        try:
            from memex_core.mcp_server.calls import call

            answer = call(self._memex(), name, arguments)
        except Exception as error:
            return _failed(self._told(name, error))
        content: list[types.ContentBlock] = [types.TextContent(text=text) for text in answer.texts]
        return types.CallToolResult(content=content, structured_content=answer.structured)

    # --- resources

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        def work() -> types.ListResourcesResult:
            from memex_core.mcp_server import resources

            pages, cursor = resources.listed(self._memex(), params.cursor if params else None)
            return types.ListResourcesResult(
                resources=[_resource(page) for page in pages], next_cursor=cursor
            )

        return await self._or_error("resources/list", work)

    async def _list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        from memex_core.mcp_server.resources import MIME_TYPE, TEMPLATE

        page = types.ResourceTemplate(
            name="page",
            title="A page of the memory",
            uri_template=TEMPLATE,
            description=f"type is one of {', '.join(NODE_TYPES)}; slug as memex_recall gives it.",
            mime_type=MIME_TYPE,
        )
        return types.ListResourceTemplatesResult(resource_templates=[page])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        def work() -> types.ReadResourceResult:
            from memex_core.mcp_server import resources

            text = resources.text_at(self._memex(), params.uri)
            contents = types.TextResourceContents(uri=params.uri, mime_type=resources.MIME_TYPE, text=text)
            return types.ReadResourceResult(contents=[contents])

        return await self._or_error("resources/read", work)

    async def _or_error(self, what: str, work: Callable[[], T]) -> T:
        """Do it; a failure is an error of the protocol, because a resource has no other way to tell of it."""

        def attempt() -> T:
            try:
                return work()
            except Exception as error:
                said = self._told(what, error)
                code = types.INTERNAL_ERROR if said == INTERNAL else types.INVALID_PARAMS
                raise MCPError(code, said) from None

        return await self._calls.run(attempt)

    # --- the memory

    def _memex(self) -> Memex:
        with self._opening:
            if self._opened is None:
                from memex_core.memex import Memex

                self._opened = Memex(self._root, self._config)
            return self._opened

    def _told(self, what: str, error: Exception) -> str:
        """What the client is told; what nobody expected is told to the log."""
        said = told(error)
        if said is None:
            log_operation(self._root, "mcp", what, "failed", detail=where(error))
        return said or INTERNAL


def _failed(said: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said)], is_error=True)


def _tool(name: str, offer: tools.ToolOffer) -> types.Tool:
    hints = types.ToolAnnotations(
        title=offer.title,
        read_only_hint=offer.read_only,
        destructive_hint=offer.destructive,
        idempotent_hint=offer.repeatable or offer.read_only,
        open_world_hint=offer.outward,
    )
    return types.Tool(
        name=name,
        title=offer.title,
        description=offer.description,
        input_schema=offer.input_schema(),
        output_schema=offer.output_schema(),
        annotations=hints,
    )


def _resource(page: WikiNode) -> types.Resource:
    from memex_core.mcp_server.resources import MIME_TYPE, uri_of

    return types.Resource(
        uri=uri_of(page),
        name=f"{page.type}/{page.slug}",
        title=clean_text(page.title),
        mime_type=MIME_TYPE,
        annotations=types.Annotations(
            priority=min(max(page.importance, 0.0), 1.0), last_modified=clean_text(page.updated)
        ),
    )
