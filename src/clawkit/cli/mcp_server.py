"""`openclaw mcp-server`: the assistant on stdin and stdout, as an MCP client starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clawkit import __version__
from clawkit.assistant.server import LateTasks, brand_of, order_server
from clawkit.errors import ClawError
from clawkit.system.processes import program
from clawkit.wire.jsonrpc import Message
from clawkit.wire.line_io import claim_stdio
from clawkit.wire.server import Reply, ServerCore, ServerObserver
from clawkit.wire.stdio import serve_stdio

if TYPE_CHECKING:
    from clawkit.login.options import LoginOptions
    from clawkit.wire.http.endpoint import HttpAppOptions

LONGEST_ORDER = 320 * 1024 * 1024
"""15 attachments of 15 MB each, in base64, and what is said about them."""

# These are answered at once, by what is loaded anyway.
_BEFORE_ORDERS = (
    "initialize",
    "notifications/initialized",
    "ping",
    "server/discover",
    "tools/list",
)
_HINT = """{name} speaks MCP on stdin and stdout, one JSON message a line: for a client to start.
`{name} install` adds it to a client, `{name} ask "…"` asks from here. Ctrl-D ends it."""


def quick_verbose(arguments: Sequence[str]) -> bool | None:
    """Whether it should log, from what a client's config says; None for any other command line."""
    if not arguments:
        return False
    return True if len(arguments) == 1 and arguments[0] in ("-v", "--verbose") else None


def serve_assistant(*, verbose: bool) -> int:
    """Serve until end of input."""
    try:
        fds = claim_stdio()
        brand = brand_of(program())
        if os.isatty(fds[0]):
            print(_HINT.format(name=program()), file=sys.stderr)
        tasks = LateTasks()
        server = order_server(brand, __version__, tasks)
        server.observer = _observer(server, verbose=verbose)
        serve_stdio(server, fds=fds, max_line=LONGEST_ORDER, on_end=tasks.close)
    except ClawError as error:
        print(f"{program()} mcp-server: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


class HttpPlace(Struct, frozen=True):
    """Where and for whom the assistant is served over HTTP: for people who log in, or by a token.

    `members` says whether those people may be others than the owners.
    """

    port: int
    host: str = "127.0.0.1"
    hosts: list[str] | None = None
    token_file: Path | None = None
    login: LoginOptions | None = None
    members: bool = False
    trusted_proxies: tuple[str, ...] = ()


def mcp_server_http(place: HttpPlace, *, verbose: bool) -> int:
    """Serve over HTTP until interrupted, to nobody without a login or the token."""
    from clawkit.assistant.redaction import RequestLog, log_to_stderr
    from clawkit.cli.server_logins import hint, hosts_behind, login_for, read_token
    from clawkit.system.addresses import is_loopback_host
    from clawkit.wire.http.token_login import token_login
    from clawkit.wire.http.uvicorn_server import serve_http

    def announce(url: str) -> None:
        print(f"{brand.product} is at {url}", file=sys.stderr, flush=True)
        if place.login is not None:
            print(hint(place.login), file=sys.stderr, flush=True)

    try:
        brand = brand_of(program())
        tasks = LateTasks()
        server = order_server(brand, __version__, tasks)
        log_to_stderr(everything=verbose)
        server.observer = RequestLog() if verbose else None
        public_url = place.login.public_url if place.login else ""
        hosts = hosts_behind(public_url, place.hosts, on_loopback=is_loopback_host(place.host))
        options: HttpAppOptions = {"sessions": True, "max_body": LONGEST_ORDER}
        if hosts is not None:
            options["hosts"] = hosts
        run = partial(serve_http, server, place.host, place.port, on_ready=announce)
        try:
            if place.token_file is not None:
                admit, authenticate, _ = token_login(read_token(place.token_file))
                options.update(admit=admit, authenticate=authenticate)
                run(**options)
            elif place.login is not None:
                with login_for(
                    server,
                    "your assistant",
                    place.login,
                    place.trusted_proxies,
                    kind="assistant",
                    members=place.members,
                ) as login:
                    run(**options, login=login)
        finally:
            tasks.close()
    except ClawError as error:
        print(f"{program()} mcp-server: {error}", file=sys.stderr)
        return 1
    return 0


class _BeforeOrders:
    """Has errors logged from the first order on; before it nothing can go wrong.

    Without that, Python itself would write to stderr, with every key that is in it.
    """

    def __init__(self, server: ServerCore) -> None:
        self._server = server

    def received(self, message: Message) -> None:
        if message.get("method") not in _BEFORE_ORDERS:
            from clawkit.assistant.redaction import log_to_stderr

            log_to_stderr()
            self._server.observer = None

    def replied(self, reply: Reply) -> Reply:
        return reply


def _observer(server: ServerCore, *, verbose: bool) -> ServerObserver:
    if not verbose:
        return _BeforeOrders(server)
    from clawkit.assistant.redaction import RequestLog, log_to_stderr

    log_to_stderr(everything=True)
    return RequestLog()
