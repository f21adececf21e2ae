"""Running an HTTP server: the one way to run uvicorn, with the limits that every door has."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn

from clawkit.errors import LoadError
from clawkit.wire.http.connections import (
    Connection,
    Connections,
    HttpLimits,
    within_file_limit,
)
from clawkit.wire.http.endpoint import http_app
from clawkit.wire.http.rules import LOOPBACK

if TYPE_CHECKING:
    from clawkit.wire.server import Server

_SHUTDOWN_SECONDS = 3
_BACKLOG = 2048
_ACCEPTED_AT_ONCE = 32
"""asyncio accepts so many before it tells us of one: the limit is exceeded by a few times that."""
_NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class HttpServer(uvicorn.Server):
    """uvicorn with limits; `on_stop` ends what would wait for ever, before connections close."""

    def __init__(
        self,
        app: Any,
        *,
        limits: HttpLimits | None = None,
        on_stop: Callable[[], None],
        on_end: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> None:
        """`on_end` is called at the very end; `options` are uvicorn's."""
        fitted = within_file_limit(limits or HttpLimits())
        common: dict[str, Any] = {
            "http": Connection,
            "loop": "asyncio",
            "ws": "none",
            "log_level": "error",
            "access_log": False,
            "server_header": False,
            "backlog": _ACCEPTED_AT_ONCE,
            "limit_concurrency": fitted.connections + 1,
        }
        super().__init__(uvicorn.Config(app, **{**common, **options}))
        self.server_state: Connections = Connections(fitted)
        self._on_stop = on_stop
        self._on_end = on_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._loop_failed)
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        self.server_state.close_late(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)
        # uvicorn sends itself the signal again, which ends the process without more ado.
        self._on_end()

    def _loop_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """asyncio would log each connection that it cannot accept, thousands in a second."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_RESOURCES:
            self.server_state.make_room(1, f"no connection is accepted: {error}", loop.time())
        else:
            loop.default_exception_handler(context)


def serve_http(
    server: Server,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    on_ready: Callable[[str], None] | None = None,
    limits: HttpLimits | None = None,
    **options: Any,
) -> None:
    """Serve `server` at `http://host:port/mcp` until interrupted; `options` are `http_app`'s."""
    listening = listen(host, port)
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    options.setdefault("hosts", (*LOOPBACK, shown) if is_loopback(address[0]) else None)
    app = http_app(server, **options)
    running = HttpServer(
        app,
        limits=limits,
        on_stop=server.hub.close,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    if on_ready is not None:
        on_ready(f"http://{shown}:{address[1]}{options.get('path', '/mcp')}")
    running.run(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections there; raises LoadError if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's delay off for every connection.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        advice = ": choose another port" if error.errno == errno.EADDRINUSE else ""
        raise LoadError(f"cannot listen on {host}:{port}: {error.strerror}{advice}") from None
    return listening
