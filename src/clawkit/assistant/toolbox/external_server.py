"""Another MCP server as a source of tools: connects when needed, reconnects when lost."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clawkit.assistant.redaction import redact
from clawkit.assistant.toolbox.tool_source import (
    Ask,
    NotTakenError,
    OfferedTool,
    Tell,
    UnreachableError,
)
from clawkit.errors import SettingsError
from clawkit.wire.calls import Workers

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import McpServer
    from clawkit.assistant.toolbox.mcp_connection import McpConnection
    from clawkit.wire.input_requests import InputRequest

log = logging.getLogger("clawkit.assistant.toolbox")

_now = time.monotonic
_FIRST_WAIT = 5.0
_LONGEST_WAIT = 300.0
_importer = Workers(1)
"""The official client takes a second to import, which must not hold up anybody else."""


class ExternalServer:
    """One entry of `[mcp.servers]`. At most one connection at a time."""

    def __init__(self, name: str, server: McpServer, keys: Keys) -> None:
        self.name = name
        self.problem = ""
        self._server = server
        self._keys = keys
        self._connection: McpConnection | None = None
        self._turn = asyncio.Lock()
        self._listing: asyncio.Task[list[OfferedTool]] | None = None
        self._asked = 0.0
        self._left_out: tuple[str, ...] = ()
        self._failures = 0
        self._wait_until = 0.0
        self._is_closed = False
        self._answers: frozenset[str] = frozenset()

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it has no tools, or which of them it does not have."""
        return (self.problem,) if self.problem else self._left_out

    async def offers(self, answers: frozenset[str] = frozenset()) -> list[OfferedTool]:
        """Its tools, or none and a `problem` if they are not known within `start_timeout`.

        The server goes on starting, and nobody waits for that a second time. After a failure it is
        left alone for a while. When it starts it is told that it may ask what `answers` has.
        """
        self._answers = answers
        if self._listing is None:
            if self._wait_until > _now():
                return []
            self._know_secrets()
            self._asked = _now()
            self._listing = asyncio.get_running_loop().create_task(self._list())
        listing, seconds = self._listing, self._server.start_timeout
        await asyncio.wait({listing}, timeout=max(0.0, self._asked + seconds - _now()))
        if listing.done():
            return listing.result()
        self.problem = (
            f"mcp.servers.{self.name}: left out: it has not listed its tools within {seconds:g} s "
            "(`start_timeout`); they can be used as soon as it has"
        )
        return []

    def _know_secrets(self) -> None:
        """Registers the server's secrets for redaction before it has started."""
        server = self._server
        for value in (server.url, *server.env.values(), *server.headers.values()):
            # What is wrong in the config is told when the server is started with it.
            with suppress(SettingsError):
                self._keys.expand(value)

    async def _list(self) -> list[OfferedTool]:
        try:
            found, left_out = await self._listed()
        except UnreachableError:
            return []
        except Exception as error:  # noqa: BLE001 - one server must not keep the others from working
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            text = f"mcp.servers.{self.name}: its tools cannot be listed: {reason}"
            self._remember(redact(text, self._keys))
            return []
        finally:
            self._listing = None
        self.problem = ""
        self._failures = 0
        self._left_out = tuple(
            redact(f"mcp.servers.{self.name}: {tool!r} is left out: {reason}", self._keys)
            for tool, reason in left_out.items()
        )
        return found

    async def _listed(self) -> tuple[list[OfferedTool], dict[str, str]]:
        connection = await self._connect()
        try:
            return await connection.offers()
        except Exception:
            if connection.is_usable():
                raise
            # It had ended, and nobody had noticed.
            connection = await self._connect()
            return await connection.offers()

    async def call(
        self, tool: str, arguments: dict[str, Any], tell: Tell, ask: Ask | None = None
    ) -> dict[str, Any]:
        ask = None if ask is None else self._asking(ask)
        connection = await self._connect()
        try:
            return await connection.call(tool, arguments, tell, ask)
        except NotTakenError:
            # The server was started anew behind its address; it has not begun the call.
            await connection.close()
            connection = await self._connect()
            return await connection.call(tool, arguments, tell, ask)

    def _asking(self, ask: Ask) -> Ask:
        """A person is told which server asks."""

        async def put(question: InputRequest) -> dict[str, Any]:
            if "message" in question.params:
                message = f"{self.name} asks: {question.params['message']}"
                question = replace(question, params={**question.params, "message": message})
            return await ask(question)

        return put

    async def close(self) -> None:
        """Stop the server; a call that needs it from now on fails."""
        self._is_closed = True
        if self._listing is not None:
            self._listing.cancel()
        if self._connection is not None:
            await self._connection.close()

    async def _connect(self) -> McpConnection:
        """The connection, open; raises UnreachableError."""
        async with self._turn:
            connection = self._connection
            if connection is None or not connection.is_usable():
                if connection is not None:
                    await connection.close()
                connection = self._connection = await self._begin()
            try:
                await connection.open()
            except UnreachableError as error:
                self._failed(str(error))
                raise
            return connection

    async def _begin(self) -> McpConnection:
        if self._is_closed:
            raise UnreachableError(f"{self.name} is closed")
        left = self._wait_until - _now()
        if left > 0:
            raise UnreachableError(f"{self.problem} (tried again in {left:.0f} s)")
        try:
            kind = await _importer.start(_import_connection, {}).outcome
        except ImportError as error:
            self._failed(
                f"mcp.servers.{self.name}: tools of other servers need the package `mcp` "
                f"({error}): pip install 'clawkit[servers]'"
            )
            raise UnreachableError(self.problem) from None
        if self._is_closed:
            raise UnreachableError(f"{self.name} is closed")
        return kind(self.name, self._server, self._keys, self._answers)

    def _failed(self, problem: str) -> None:
        self._connection = None
        self._remember(problem)

    def _remember(self, problem: str) -> None:
        self.problem = problem
        self._wait_until = _now() + min(_FIRST_WAIT * 2**self._failures, _LONGEST_WAIT)
        self._failures += 1


async def stop_all(servers: list[ExternalServer]) -> None:
    """Stop them side by side; one that fails to stop does not keep the others running."""
    ends = await asyncio.gather(*(server.close() for server in servers), return_exceptions=True)
    for server, end in zip(servers, ends, strict=True):
        if isinstance(end, Exception):
            log.warning("mcp.servers.%s did not stop cleanly: %r", server.name, end)


def _import_connection() -> type[McpConnection]:
    from clawkit.assistant.toolbox.mcp_connection import McpConnection

    return McpConnection
