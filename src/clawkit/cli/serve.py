"""`claw serve`: run the server in a Python file, over stdio or HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from clawkit.errors import ClawError
from clawkit.tools.loader import load_server
from clawkit.wire.input_requests import StateSeal
from clawkit.wire.line_io import claim_stdio
from clawkit.wire.server import ServerCore
from clawkit.wire.stdio import serve_stdio

if TYPE_CHECKING:
    from clawkit.login.options import LoginOptions
    from clawkit.wire.http.page import PageMaker, ServerPage

_HINT = """{name} speaks MCP on stdin and stdout, one JSON message a line: for a client to start.
Try {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}; Ctrl-D ends it.
`claw tools {target}` shows what it offers, --http PORT serves it over HTTP."""


_OPEN = "Anybody who reaches this address can call these tools: put authentication in front of it."


def serve_file(target: str, *, reload: bool = False) -> int:
    """Serve a file over stdio. stdout is claimed first: nothing the file prints can reach it."""
    try:
        fds = claim_stdio()
        server = _reloaded(target) if reload else load_server(target)
        if os.isatty(fds[0]):
            print(_HINT.format(name=server.name, target=target), file=sys.stderr)
        serve_stdio(server, fds=fds)
    except ClawError as error:
        print(f"claw serve: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _reloaded(target: str) -> ServerCore:
    from clawkit.text.normalization import visible
    from clawkit.tools.reload import ReloadedServer

    def say(text: str) -> None:
        print(f"claw serve: {visible(text)}", file=sys.stderr, flush=True)

    server = ReloadedServer(target, say)
    server.watch()
    return server.as_server


def _page_of(server: ServerCore, *, login: bool) -> PageMaker:
    """What a browser is shown: made anew for each request, as the tools may change."""
    from clawkit.cli.tools import server_page
    from clawkit.hosts.paste import pastes_for_url

    def page(origin: str, may_see: bool) -> ServerPage:
        token = "" if login or server.authenticate is None else "YOUR_TOKEN"
        url = f"{origin}/mcp"
        pastes = pastes_for_url(server.name, url, token)
        return server_page(server, f"at {url}", pastes, with_tools=may_see)

    return page


def serve_file_http(
    target: str,
    host: str,
    port: int,
    *,
    hosts: list[str] | None,
    max_connections: int,
    sessions: bool,
    reload: bool = False,
    login: LoginOptions | None = None,
    trusted_proxies: Sequence[str] = (),
) -> int:
    """Serve a file over HTTP until interrupted; processes with one `CLAW_SECRET` share clients."""
    from clawkit.cli.server_logins import hint, hosts_behind, login_for
    from clawkit.settings import settings
    from clawkit.system.addresses import is_loopback_host
    from clawkit.wire.http.endpoint import HttpAppOptions
    from clawkit.wire.http.uvicorn_server import HttpLimits, serve_http

    def announce(url: str) -> None:
        print(f"{server.name} is at {url}", file=sys.stderr, flush=True)
        if login is not None:
            print(hint(login), file=sys.stderr, flush=True)
        elif not is_loopback_host(host):
            print(_OPEN, file=sys.stderr, flush=True)

    try:
        server = _reloaded(target) if reload else load_server(target)
        secret = settings().secret
        if secret is not None:
            server.seal = StateSeal(secret)
        options: HttpAppOptions = {
            "sessions": sessions,
            "page": _page_of(server, login=login is not None),
        }
        public_url = login.public_url if login else ""
        hosts = hosts_behind(public_url, hosts, on_loopback=is_loopback_host(host))
        if hosts is not None:
            options["hosts"] = hosts
        limits = HttpLimits(connections=max_connections)
        run = partial(serve_http, server, host, port, on_ready=announce, limits=limits, **options)
        if login is None:
            run()
            return 0
        with login_for(server, server.name, login, trusted_proxies) as made:
            run(login=made)
    except ClawError as error:
        print(f"claw serve: {error}", file=sys.stderr)
        return 1
    return 0
