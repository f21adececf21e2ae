"""The WebSocket of bridges, `/bridge/{being_id}`, which a full token opens."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from clawkit.errors import AccessError, BeingError, InvalidRequestError, ProtocolError
from clawkit.memory import tokens
from clawkit.memory.bridges import Bridge, Bridges
from clawkit.memory.http.authentication import Authenticator, bearer
from clawkit.memory.http.request_log import RequestTrace, TraceOutputs
from clawkit.memory.tokens import Access
from clawkit.system.rate_limiter import TokenBucket
from clawkit.wire import jsonrpc
from clawkit.wire.http.endpoint import HttpRefusal, allowed_headers, as_refusal
from clawkit.wire.http.request_checks import Origins
from clawkit.wire.http.response import Receive, SendAsgi

FRAMES_A_SECOND = 100.0
FRAMES_AT_ONCE = 500

_POLICY = 1008
_SWITCHED = 101


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
            malformed = isinstance(problem, ProtocolError)
            refusal = HttpRefusal(400, str(problem)) if malformed else as_refusal(problem)
            await _deny(socket, exchange, refusal)
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
        headers = allowed_headers(scope, self._origins)
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


async def _deny(socket: WebSocket, exchange: RequestTrace, refusal: HttpRefusal) -> None:
    exchange.status = refusal.status
    error = jsonrpc.failure(None, InvalidRequestError(refusal.message))
    response = Response(jsonrpc.encode(error), refusal.status, media_type="application/json")
    response.raw_headers += [*refusal.headers, (b"x-request-id", exchange.id.encode())]
    await socket.receive()
    await socket.send_denial_response(response)
