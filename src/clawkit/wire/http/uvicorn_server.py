"""Runs uvicorn with limits on connections, header size and the time a request takes to arrive.

When there are too many connections, the one that has waited longest for its client is closed: it
is idle, or its request has not arrived whole. So clients that send nothing cannot block others.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import socket
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Unpack, cast

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from clawkit.errors import InvalidRequestError, LoadError, SettingsError
from clawkit.system.addresses import has_no_such_address, is_loopback_host
from clawkit.wire import jsonrpc
from clawkit.wire.http.endpoint import HttpAppOptions, HttpLogin, http_app
from clawkit.wire.http.request_checks import LOOPBACK, Origins

if TYPE_CHECKING:
    from types import FrameType

    from clawkit.wire.server import ServerCore

_SPARE_FILES = 256

_log = logging.getLogger("clawkit.http")


class HttpLimits(msgspec.Struct, frozen=True):
    """The limits of an HTTP server.

    `connections` is also limited to half of the files that the process may open. `head` is the size
    of a request's headers in bytes.
    """

    connections: int = 1000
    head: int = 64 * 1024
    head_seconds: float = 20.0
    body_seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.connections < 1 or self.head < 1:
            raise SettingsError(f"{self}: connections and head must be at least 1")
        if self.head_seconds <= 0 or self.body_seconds <= 0:
            raise SettingsError(f"{self}: head_seconds and body_seconds must be more than 0")


def within_file_limit(limits: HttpLimits) -> HttpLimits:
    """Raise the limit of open files as far as needed and allowed; fit `connections` to it."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * limits.connections + _SPARE_FILES
        if soft != resource.RLIM_INFINITY and soft < wanted:
            soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft != resource.RLIM_INFINITY:
            most = max(1, min(limits.connections, soft // 2))
            return msgspec.structs.replace(limits, connections=most)
    return limits


class HttpConnections(ServerState):
    def __init__(self, limits: HttpLimits) -> None:
        super().__init__()
        self.limits = limits
        self.waiting: dict[HttpConnection, None] = {}
        """The connections that wait for their client, longest first."""
        self._said = -math.inf

    def make_room(self, why: str, now: float) -> None:
        """Close the one that has waited longest; log it once a minute."""
        if self.waiting:
            next(iter(self.waiting)).abort()
        if now - self._said > 60:
            self._said = now
            _log.warning("%s: connections that wait for their client are closed", why)

    def close_late(self, now: float) -> None:
        for connection in list(self.waiting):
            connection.close_if_late(now)


class HttpConnection(HttpToolsProtocol):
    """uvicorn's HTTP connection, with limits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._all = cast(HttpConnections, self.server_state)
        self._limits = self._all.limits
        self._deadline = math.inf
        self._idle = False
        self._in_body = False
        self._head = 0
        self._unparsed = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        most = self._limits.connections
        if len(self.connections) > most:
            self._all.make_room(f"there are more than {most} connections", self.loop.time())
        self._expect(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._idle:
            self._expect(self._limits.head_seconds)
        self._unparsed += len(data)
        super().data_received(data)
        # A header, a trailer or the size of a chunk is seen only when it is whole.
        if self._deadline < math.inf and self._unparsed > self._limits.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, self._too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = self._unparsed = 0
        if self._deadline == math.inf:
            self._expect(self._limits.head_seconds)

    def on_url(self, url: bytes) -> None:
        self._grow(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._in_body = True
        self._expect(self._limits.body_seconds)

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._arrived()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        arriving = self._deadline < math.inf
        if self.cycle.response_complete and not arriving and not self.transport.is_closing():
            self._idle = True
            self._all.waiting[self] = None

    def handle_websocket_upgrade(self) -> None:
        self._arrived()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        if self._head > self._limits.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, self._too_large())
        else:
            super().send_400_response(msg)

    def close_if_late(self, now: float) -> None:
        """Close the connection if its request takes too long to arrive."""
        if now < self._deadline:
            return
        if not self._in_body:
            self.transport.close()
        elif self.flow.read_paused:  # it is us who do not read
            self._expect(self._limits.body_seconds)
        else:
            seconds = self._limits.body_seconds
            why = f"The request took longer than {seconds:g} s to arrive"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, why)

    def abort(self) -> None:
        self._arrived()
        self.transport.abort()

    def _expect(self, seconds: float) -> None:
        self._idle = False
        self._deadline = self.loop.time() + seconds
        self._all.waiting[self] = None

    def _arrived(self) -> None:
        self._idle = self._in_body = False
        self._deadline = math.inf
        self._all.waiting.pop(self, None)

    def _grow(self, size: int) -> None:
        self._head += size
        if self._head > self._limits.head:
            raise ValueError("the head is too long")

    def _too_large(self) -> str:
        most = self._limits.head
        return (
            f"The head of a request may have at most {most} bytes, with its address and its "
            "cookies: in a browser, delete the cookies of this site"
        )

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        """Close the connection, with a response if none has begun."""
        if self.transport.is_closing():
            return
        if self._may_answer():
            body = jsonrpc.encode(jsonrpc.failure(None, InvalidRequestError(why)))
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def _may_answer(self) -> bool:
        """Whether the client would take a response for that to its latest request."""
        latest = cast("RequestResponseCycle | None", self.cycle)
        if self._in_body and latest is not None:
            return not latest.response_started and not self.pipeline
        return latest is None or latest.response_complete


_SHUTDOWN_SECONDS = 3
_DRAIN_TICK = 0.005
_BACKLOG = 2048
_ACCEPTED_AT_ONCE = 32
"""asyncio accepts so many before it tells us of one: the limit is exceeded by a few times that."""
_OTHER_LOOPBACK = {"127.0.0.1": "::1", "localhost": "::1", "::1": "127.0.0.1"}
_TRIES = 16
"""How many ports are tried that are free at one address."""

_ADVICE = {
    errno.EACCES: ": choose a port from 1024 on",
    errno.EADDRINUSE: ": choose another port",
}
_NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class UvicornServer(uvicorn.Server):
    """uvicorn with limits; `on_stop` ends endless streams before connections close."""

    def __init__(
        self,
        app: Any,
        *,
        limits: HttpLimits | None = None,
        on_stop: Callable[[], None],
        on_ready: Callable[[], None] | None = None,
        on_end: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> None:
        """`on_ready` is called when it accepts requests, `on_end` last; `options` are uvicorn's."""
        fitted = within_file_limit(limits or HttpLimits())
        common: dict[str, Any] = {
            "http": HttpConnection,
            "loop": "asyncio",
            "ws": "none",
            "log_level": "error",
            "access_log": False,
            "server_header": False,
            "backlog": _ACCEPTED_AT_ONCE,
            "limit_concurrency": fitted.connections + 1,
        }
        super().__init__(uvicorn.Config(app, **{**common, **options}))
        self.server_state: HttpConnections = HttpConnections(fitted)
        self._on_stop = on_stop
        self._on_ready = on_ready
        self._on_end = on_end
        self._wake: Callable[[], object] = lambda: None

    def stop(self) -> None:
        """Stop the server; safe to call from any thread and from signal handlers."""
        self.should_exit = True
        self._wake()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._wake()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._loop_failed)
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_BACKLOG)
        if self.started and self._on_ready is not None:
            self._on_ready()

    async def main_loop(self) -> None:
        """uvicorn's main loop, but stopped at once instead of at its next tick."""
        ticking = asyncio.create_task(super().main_loop())
        loop = asyncio.get_running_loop()
        self._wake = lambda: loop.call_soon_threadsafe(ticking.cancel)
        await asyncio.wait([ticking])
        self._wake = lambda: None
        if not ticking.cancelled():
            ticking.result()

    async def on_tick(self, counter: int) -> bool:
        self.server_state.close_late(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Like uvicorn's, without its pauses of a tenth of a second."""
        self._on_stop()
        for one in (*self.servers, *(sockets or ())):
            one.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                await self._drained()
        except TimeoutError:
            left = self.server_state.tasks
            _log.error("requests are cut off, because they take too long: %d", len(left))
            for task in left:
                task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()
        # uvicorn sends itself the signal again, which ends the process without more ado.
        self._on_end()

    async def _drained(self) -> None:
        """Wait until all responses are sent, or for a second Ctrl-C."""
        state = self.server_state
        while (state.connections or state.tasks) and not self.force_exit:  # noqa: ASYNC110 - uvicorn's sets tell nobody
            await asyncio.sleep(_DRAIN_TICK)

    def _loop_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Closes idle connections when accepting fails; asyncio would log each failure."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_RESOURCES:
            self.server_state.make_room(f"no connection is accepted: {error}", loop.time())
        else:
            loop.default_exception_handler(context)


def serve_http(
    server: ServerCore,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    on_ready: Callable[[str], None] | None = None,
    limits: HttpLimits | None = None,
    login: Callable[[str, int, Origins], HttpLogin] | None = None,
    **options: Unpack[HttpAppOptions],
) -> None:
    """Serve `server` at `http://host:port/mcp` until interrupted; `options` are `http_app`'s.

    `login` makes what lets people log in, once it is known where that is.
    """
    with listening(host, port) as sockets:  # Ctrl-C may come before uvicorn looks after them
        address = sockets[0].getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        options.setdefault("hosts", (*LOOPBACK, shown) if is_loopback_host(address[0]) else None)
        if login is not None:
            origins = Origins(options.get("hosts"), options.get("origins", ()))
            made = login(address[0], address[1], origins)
            options.update(admit=made.admit, authenticate=made.authenticate, routes=made.routes)
        url = f"http://{shown}:{address[1]}{options.get('path', '/mcp')}"
        running = UvicornServer(
            http_app(server, **options),
            limits=limits,
            on_stop=server.hub.close,
            on_ready=partial(on_ready, url) if on_ready is not None else None,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        running.run(sockets=sockets)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises LoadError if that is not possible."""
    try:
        return _bound(host, port)
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "")
        raise LoadError(f"cannot listen on {host}:{port}: {error.strerror}{advice}") from None


@contextmanager
def listening(host: str, port: int) -> Generator[list[socket.socket]]:
    """Listening sockets for an address; a loopback address gets both 127.0.0.1 and ::1.

    Clients may take either for `localhost`: another program on the other one would receive the
    secrets that are meant for this server.
    """
    with ExitStack() as until_end:
        yield [until_end.enter_context(one) for one in _sockets(host, port)]


def _sockets(host: str, port: int, tries: int = _TRIES) -> list[socket.socket]:
    first = listen(host, port)
    other = _OTHER_LOOPBACK.get(host)
    if other is None:
        return [first]
    try:
        second = listen_also(other, first.getsockname()[1])
    except LoadError:
        first.close()
        if port or tries == 1:
            raise
        return _sockets(host, port, tries - 1)
    return [first] if second is None else [first, second]


def listen_also(host: str, port: int) -> socket.socket | None:
    """Like `listen`, but None if this machine does not have the address."""
    try:
        return _bound(host, port)
    except OSError as error:
        if has_no_such_address(error):
            return None
        raise LoadError(
            f"cannot listen on [{host}]:{port}: {error.strerror}: a browser that is sent to "
            "localhost could reach another program there; choose another port"
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's delay off for every connection.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows it would let others listen there, too
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    return made
