"""The MCP endpoint of Beings: token first, then limits, then the read-only check.

Tokens are checked before a body is read. What a read-only token may not call is refused as soon as
the message is known, with the status 403.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Any

from starlette.requests import Request as HttpRequest

from clawkit.errors import AccessError, InternalError, InvalidRequestError, ProtocolError
from clawkit.memory import tokens
from clawkit.memory.http.authentication import Authenticator, bearer
from clawkit.memory.http.client_limits import RequestLimits, until_whole
from clawkit.memory.http.request_log import KEY, RequestTrace, TraceOutputs
from clawkit.memory.tools.being_tool import ACT, WRITE_TOOLS
from clawkit.wire import jsonrpc
from clawkit.wire.http.endpoint import Endpoint, HttpRefusal
from clawkit.wire.http.request_checks import Origins, read_headers
from clawkit.wire.http.response import Asgi, HeaderList, Receive, SendAsgi, respond
from clawkit.wire.jsonrpc import Message
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Principal

CHANGING = WRITE_TOOLS | {ACT}
"""The tools that a read-only token may not call."""

_log = logging.getLogger("clawkit.memory")


class McpEndpoint:
    """`/mcp`: takes a request in, sees to it that it is allowed, and writes down how it went."""

    def __init__(
        self,
        server: ServerCore,
        gate: Authenticator,
        *,
        origins: Origins,
        limits: RequestLimits,
        record: TraceOutputs,
    ) -> None:
        self._server = server
        self._gate = gate
        self._record = record
        self._stopping: asyncio.Future[None] | None = None
        self._endpoint = Endpoint(server, origins, False, limits.body, self._principal)

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        exchange = scope[KEY] = RequestTrace(scope)
        send = exchange.watching(send)
        try:
            headers = read_headers(scope["headers"])
            access = await self._gate.admit(scope, headers)
            exchange.access = access
            open_for = (bearer(headers), access.being.id)
            if scope["method"] == "GET":
                receive = self._while_open(receive, open_for, self._until_stopped())
            else:
                receive = until_whole(receive, self._while_open(receive, open_for))
            with self._gate.callers.here(access.caller.token):
                await self._endpoint(scope, receive, send)
        except (HttpRefusal, AccessError, ProtocolError) as problem:
            await refuse(send, problem)
        except Exception:  # noqa: BLE001 - every request gets an answer
            _log.exception("a request failed")
            if not exchange.status:
                error = jsonrpc.failure(None, InternalError("Internal error"))
                await respond(send, 500, jsonrpc.encode(error))
        finally:
            exchange.end(self._record)

    def stop(self) -> None:
        """End the streams that wait for notices: the server is about to go."""
        if self._stopping is not None and not self._stopping.done():
            self._stopping.set_result(None)

    def _until_stopped(self) -> asyncio.Future[None]:
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_future()
        return self._stopping

    def _while_open(
        self, receive: Receive, token: tuple[str, str], *ends: asyncio.Future[None]
    ) -> Receive:
        """Receives what comes after the body: that the caller left, or has to.

        A stream, or slow work, is over at one of the `ends`, or when its token is no longer good.
        """
        loop = asyncio.get_running_loop()

        async def received() -> Asgi:
            event = loop.create_task(_as_coroutine(receive))
            refused = loop.create_task(self._gate.until_bad(*token))
            try:
                done, _ = await asyncio.wait(
                    (event, refused, *ends), return_when=asyncio.FIRST_COMPLETED
                )
                return event.result() if event in done else {"type": "http.disconnect"}
            finally:
                event.cancel()
                refused.cancel()

        return received

    def _principal(self, request: HttpRequest, message: Message | None) -> Principal:
        exchange: RequestTrace = request.scope[KEY]
        access = exchange.access
        assert access is not None
        tool = exchange.asks(message, self._known())
        if tool in CHANGING and not access.caller.may_write:
            raise tokens.forbidden(f"A read-only token may not call {tool}", "full")
        return Principal(access.caller.token, frozenset({access.caller.scope}), access)

    def _known(self) -> Collection[str]:
        return {*self._server.tools, ACT}


async def _as_coroutine(receive: Receive) -> Asgi:
    return await receive()


async def refuse(send: SendAsgi, problem: HttpRefusal | AccessError | ProtocolError) -> None:
    """Answer a request that came no further than the gate."""
    status, headers = refusal_of(problem)
    error = jsonrpc.failure(None, InvalidRequestError(str(problem)))
    await respond(send, status, jsonrpc.encode(error), headers)


def refusal_of(problem: HttpRefusal | AccessError | ProtocolError) -> tuple[int, HeaderList]:
    """The status and the headers that say no."""
    if isinstance(problem, HttpRefusal):
        return problem.status, problem.headers
    if isinstance(problem, AccessError):
        challenge = problem.challenge.encode("latin-1", "replace")
        return problem.status, [(b"www-authenticate", challenge)] if challenge else []
    return 400, []
