"""`claw serve`: run the server in a Python file, over stdio or HTTP."""

from __future__ import annotations

import os
import sys

from clawkit.errors import ClawError
from clawkit.tools.loader import load_server
from clawkit.wire.line_io import claim_stdio
from clawkit.wire.stdio import serve_stdio

_HINT = """{name} speaks MCP on stdin and stdout, one JSON message a line: for a client to start.
Try {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}; Ctrl-D ends it.
`claw tools {target}` shows what it offers, --http PORT serves it over HTTP."""


_OPEN = "Anybody who reaches this address can call these tools: put authentication in front of it."


def serve_file(target: str) -> int:
    """Serve a file over stdio. stdout is claimed first: nothing the file prints can reach it."""
    try:
        fds = claim_stdio()
        server = load_server(target)
        if os.isatty(fds[0]):
            print(_HINT.format(name=server.name, target=target), file=sys.stderr)
        serve_stdio(server, fds=fds)
    except ClawError as error:
        print(f"claw serve: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def serve_file_http(
    target: str,
    host: str,
    port: int,
    *,
    hosts: list[str] | None,
    max_connections: int,
    sessions: bool,
) -> int:
    """Serve a file over HTTP until interrupted; processes with one `CLAW_SECRET` share clients."""
    from clawkit.settings import settings
    from clawkit.wire.http import HttpAppOptions
    from clawkit.wire.http.uvicorn_server import HttpLimits, is_loopback, serve_http
    from clawkit.wire.input_requests import StateSeal

    def announce(url: str) -> None:
        print(f"{server.name} is at {url}", file=sys.stderr, flush=True)
        if not is_loopback(host):
            print(_OPEN, file=sys.stderr, flush=True)

    try:
        server = load_server(target)
        secret = settings().secret
        if secret is not None:
            server.seal = StateSeal(secret)
        options: HttpAppOptions = {"sessions": sessions}
        if hosts is not None:
            options["hosts"] = hosts
        limits = HttpLimits(connections=max_connections)
        serve_http(server, host, port, on_ready=announce, limits=limits, **options)
    except ClawError as error:
        print(f"claw serve: {error}", file=sys.stderr)
        return 1
    return 0
