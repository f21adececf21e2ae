"""Running the HTTP door: uvicorn on a socket of ours, so that the port is known at once."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn

from clawkit.errors import LoadError
from clawkit.wire.http.endpoint import http_app
from clawkit.wire.http.rules import LOOPBACK

if TYPE_CHECKING:
    from clawkit.wire.server import Server

_SHUTDOWN_SECONDS = 3


class _Uvicorn(uvicorn.Server):
    """Ends open `subscriptions/listen` streams before it waits for connections to close."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._mcp = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._mcp.hub.close()
        await super().shutdown(sockets)


def serve_http(
    server: Server,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    on_ready: Callable[[str], None] | None = None,
    **options: Any,
) -> None:
    """Serve `server` at `http://host:port/mcp` until interrupted; `options` are `http_app`'s."""
    listening = listen(host, port)
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    options.setdefault("hosts", (*LOOPBACK, shown) if is_loopback(address[0]) else None)
    app = http_app(server, **options)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    if on_ready is not None:
        on_ready(f"http://{shown}:{address[1]}{options.get('path', '/mcp')}")
    _Uvicorn(config, server).run(sockets=[listening])


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
        listening.listen(2048)
    except OSError as error:
        listening.close()
        advice = ": choose another port" if error.errno == errno.EADDRINUSE else ""
        raise LoadError(f"cannot listen on {host}:{port}: {error.strerror}{advice}") from None
    return listening
