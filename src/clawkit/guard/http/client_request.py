"""One HTTP request of a client, and the response to it while that client is connected."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request as HttpRequest

from clawkit.guard.http.upstream import Response
from clawkit.wire.http.endpoint import HttpRefusal, read_body
from clawkit.wire.http.page import ServerPage, send_page
from clawkit.wire.http.response import (
    EVENT_HEADERS,
    HeaderList,
    Receive,
    SendAsgi,
    disconnected,
    respond,
)

_PASSED_BACK = (
    "mcp-session-id",
    "mcp-protocol-version",
    "www-authenticate",
    "retry-after",
    "allow",
)
_KEPT_BACK = frozenset(
    (
        *("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
        *("accept-encoding", "expect"),
        # What a browser adds for this address is nothing to another one.
        *("cookie", "origin", "referer"),
    )
)
_KEPT_BACK_KINDS = ("proxy-", "sec-", "content-")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""No underscores: servers that turn headers into variables take them for dashes."""
# With these a server takes a request for another: its address, method, sender, or path.
_STEERING = re.compile(
    r"(x-)?(accel|envoy|forwarde[dr]|host|http|method|middleware|original|proto|proxy|real|remote"
    r"|rewrite|scheme|sendfile|url-scheme)(-.*)?"
    r"|.*-override|.*-(client|connecting|originating)-ip|front-end-https"
)

RELAY = "/claw-login/"


class ClientPlace(NamedTuple):
    """Where clients and browsers find the guard."""

    public_url: str
    host: str
    port: int


class HttpReply:
    """The response, written by one task at a time; once it is a stream, it stays one."""

    def __init__(self, send: SendAsgi) -> None:
        self._send = send
        self._lock = asyncio.Lock()
        self._over = False
        self.streaming = False

    async def whole(
        self, status: int, body: bytes = b"", headers: HeaderList | None = None
    ) -> None:
        """All of it at once; a stream that has begun can only end."""
        if self.streaming:
            await self.end()
            return
        self._over = True
        await respond(self._send, status, body, headers)

    async def page(self, page: ServerPage, method: str) -> None:
        """A page for a person instead of a message."""
        self._over = True
        await send_page(self._send, page, method)

    async def begin(self, headers: HeaderList | None = None) -> None:
        """From here on it is a stream of events."""
        async with self._lock:
            if not self.streaming:
                self.streaming = True
                fields = [*EVENT_HEADERS, *(headers or ())]
                await self._send({"type": "http.response.start", "status": 200, "headers": fields})

    async def event(self, event: bytes) -> None:
        async with self._lock:
            if not self._over:
                await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self) -> None:
        async with self._lock:
            self._over = True
            await self._send({"type": "http.response.body", "body": b""})

    async def give_up(self) -> None:
        """End it wherever it is: its client is gone, or the guard is about to be."""
        if self._over:
            return
        if self.streaming:
            await self.end()
        else:
            await self.whole(503)


class ConnectedWork:
    """Runs work only as long as the client that wants it is connected."""

    def __init__(self) -> None:
        self._working: set[asyncio.Future[None]] = set()

    async def run(self, work: Coroutine[Any, Any, None], incoming_ends: Receive) -> bool:
        """Run the work; whether its client stayed until the end."""
        working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(disconnected(incoming_ends))
        self._working.add(working)
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            stayed = working.done() and not working.cancelled()
            if stayed:
                working.result()
            return stayed
        finally:
            self._working.discard(working)
            working.cancel()
            leaving.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)

    def close(self) -> None:
        for working in self._working:
            working.cancel()


def onward(headers: Mapping[str, str]) -> dict[str, str]:
    """What of a client's headers is meant for the server behind."""
    only_here = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    return {
        name: value
        for name, value in headers.items()
        if name not in _KEPT_BACK and name not in only_here
        if not name.startswith(_KEPT_BACK_KINDS)
        if _NAME.fullmatch(name) and not _STEERING.fullmatch(name)
    }


def passed_back(response: Response) -> HeaderList:
    """What of a server's headers is meant for the client."""
    fields: list[tuple[bytes, bytes]] = response.headers.raw
    names = [name.encode() for name in _PASSED_BACK]
    return [(name.lower(), value) for name, value in fields if name.lower() in names]


_UTF_8 = ("utf-8", "utf8")


class Incoming(NamedTuple):
    """One HTTP request of a client; its headers by name, in lower case."""

    headers: dict[str, str]
    peer: str
    receive: Receive
    reply: HttpReply
    request: HttpRequest
    refused: Callable[[Response], Awaitable[HeaderList]]
    """The headers with which a refusal of the server goes on; raises UpstreamError if it cannot."""
    owner: str = ""
    """Who logged in, where people do: sessions are theirs alone."""

    @property
    def session_id(self) -> str | None:
        return self.headers.get("mcp-session-id")

    async def body(self, limit: int) -> bytes:
        """All of it. Raises Refusal if that is no JSON, or more than `limit` bytes."""
        kind, *parameters = self.headers.get("content-type", "").lower().split(";")
        if kind.strip() != "application/json":
            raise HttpRefusal(415, "Content-Type must be application/json")
        for name, _, value in (parameter.partition("=") for parameter in parameters):
            if name.strip() == "charset" and value.strip(' \t"') not in _UTF_8:
                raise HttpRefusal(
                    415, f"JSON is UTF-8; charset={value.strip()[:40]} is not understood"
                )
        if "content-encoding" in self.headers:
            raise HttpRefusal(415, "Content-Encoding is not understood; send the body as it is")
        return await read_body(self.headers, self.receive, limit)
