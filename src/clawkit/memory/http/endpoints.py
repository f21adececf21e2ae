"""The endpoints of Beings: MCP over HTTP, and the WebSocket of bridges, `/bridge/{being_id}`.

Tokens are checked before a body is read. What a read-only token may not call is refused as soon as
the message is known, with the status 403.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from clawkit.errors import (
    AccessError,
    BeingError,
    InternalError,
    InvalidRequestError,
    ProtocolError,
)
from clawkit.memory import tokens
from clawkit.memory.bridges import Bridge, Bridges
from clawkit.memory.http.authentication import Authenticator, RequestLimits, bearer
from clawkit.memory.http.request_log import KEY, RequestTrace, TraceOutputs
from clawkit.memory.mcp_server import principal_of
from clawkit.memory.tokens import Access
from clawkit.memory.tools import ACT
from clawkit.system.rate_limiter import TokenBucket
from clawkit.wire import jsonrpc
from clawkit.wire.http.endpoint import Endpoint, HttpRefusal
from clawkit.wire.http.request_checks import Headers, Origins, read_headers
from clawkit.wire.http.response import Asgi, HeaderList, Receive, SendAsgi, respond
from clawkit.wire.jsonrpc import Message
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Principal

if TYPE_CHECKING:
    from clawkit.memory.http.logins import LoginGate

FRAMES_A_SECOND = 100.0
FRAMES_AT_ONCE = 500

_log = logging.getLogger("clawkit.memory")
_POLICY = 1008
_SWITCHED = 101


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
        logins: LoginGate | None = None,
    ) -> None:
        self._server = server
        self._gate = gate
        self._logins = logins
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
            ends = (self._until_stopped(),) if scope["method"] == "GET" else ()
            while_open = self._while_open(receive, headers, access, scope["path"], *ends)
            receive = while_open if ends else until_whole(receive, while_open)
            with self._gate.callers.here(access.caller.token):
                await self._endpoint(scope, receive, send, headers)
        except AccessError as problem:
            await refuse(send, self._pointed_out(problem, scope))
        except (HttpRefusal, ProtocolError) as problem:
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
        self,
        receive: Receive,
        headers: Headers,
        access: Access,
        path: str,
        *ends: asyncio.Future[None],
    ) -> Receive:
        """Receives what comes after the body: that the caller left, or has to.

        A stream, or slow work, is over at one of the `ends`, or when its token is no longer good.
        """
        loop = asyncio.get_running_loop()

        async def received() -> Asgi:
            event = loop.create_task(_as_coroutine(receive))
            bad = self._gate.until_bad(bearer(headers), access.being.id, path)
            refused = loop.create_task(bad)
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
        try:
            return principal_of(access, exchange.asks(message, {*self._server.tools, ACT}))
        except AccessError as problem:
            raise self._pointed_out(problem, request.scope) from None

    def _pointed_out(self, problem: AccessError, scope: Any) -> AccessError:
        """A refusal that says where a login is to be had, where there is one."""
        if self._logins is None:
            return problem
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        return self._logins.pointed_out(problem, host.decode("latin-1"), scope["path"])


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


def until_whole(receive: Receive, afterwards: Receive) -> Receive:
    """Receives a request's body, and then what comes after it."""
    whole = False

    async def received() -> Any:
        nonlocal whole
        if whole:
            return await afterwards()
        event = await receive()
        whole = not event.get("more_body")
        return event

    return received


class BridgeEndpoint:
    """Lets bridges in that have a full token, and carries what they say."""

    def __init__(
        self,
        gate: Authenticator,
        bridges: Bridges,
        *,
        origins: Origins,
        record: TraceOutputs,
    ) -> None:
        self._gate = gate
        self._bridges = bridges
        self._origins = origins
        self._record = record

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        exchange, socket = RequestTrace(scope), WebSocket(scope, receive, send)
        exchange.method = "bridge"
        try:
            exchange.access = access = await self._admit(scope)
            bridge = self._join(access, socket)
        except (HttpRefusal, AccessError, ProtocolError) as problem:
            exchange.status, headers = refusal_of(problem)
            await _deny(socket, exchange, problem, headers)
            exchange.end(self._record)
            return
        exchange.status = _SWITCHED
        self._record.metrics.bridges_opened += 1
        try:
            await socket.accept(headers=[(b"x-request-id", exchange.id.encode())])
            await self._carry(socket, bridge, access)
        finally:
            self._bridges.leave(bridge)
            exchange.end(self._record)

    async def _admit(self, scope: Any) -> Access:
        headers = read_headers(scope["headers"])
        reason = self._origins.refuse(headers)
        if reason is not None:
            raise HttpRefusal(403, reason)
        access = await self._gate.admit(scope, headers)
        if not access.caller.may_write:
            raise tokens.forbidden("A read-only token may not connect a bridge", "full")
        return access

    def _join(self, access: Access, socket: WebSocket) -> Bridge:
        try:
            return self._bridges.join(access.being.n, partial(_say, socket))
        except BeingError as error:
            raise HttpRefusal(429, str(error), (b"retry-after", b"60")) from None

    async def _carry(self, socket: WebSocket, bridge: Bridge, access: Access) -> None:
        watching = asyncio.get_running_loop().create_task(self._watch(socket, access))
        rate = TokenBucket(FRAMES_A_SECOND, FRAMES_AT_ONCE)
        try:
            while not bridge.unbearable:
                event = await socket.receive()
                if event["type"] == "websocket.disconnect":
                    return
                if wait := rate.take():
                    await asyncio.sleep(wait)  # nothing more is read meanwhile
                    rate.take()
                await self._bridges.hear(bridge, event.get("text") or event.get("bytes") or b"")
            await _close(socket, "too many frames that cannot be used")
        except ConnectionError:
            return
        finally:
            watching.cancel()

    async def _watch(self, socket: WebSocket, access: Access) -> None:
        """Close the connection when its token is no longer good."""
        path = socket.scope["path"]
        problem = await self._gate.until_bad(bearer(socket.headers), access.being.id, path)
        await _close(socket, str(problem))


async def _say(socket: WebSocket, text: str) -> None:
    try:
        await socket.send_text(text)
    except (WebSocketDisconnect, RuntimeError) as error:
        raise ConnectionError("the bridge has left") from error


async def _close(socket: WebSocket, why: str) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # it has left already
        await socket.close(_POLICY, why)


async def _deny(
    socket: WebSocket,
    exchange: RequestTrace,
    problem: Exception,
    headers: list[tuple[bytes, bytes]],
) -> None:
    error = jsonrpc.failure(None, InvalidRequestError(str(problem)))
    response = Response(jsonrpc.encode(error), exchange.status, media_type="application/json")
    response.raw_headers += [*headers, (b"x-request-id", exchange.id.encode())]
    await socket.receive()
    await socket.send_denial_response(response)
