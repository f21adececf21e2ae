"""`openclaw mcp-server`: the assistant on stdin and stdout, as an MCP client starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clawkit import __version__
from clawkit.assistant.server import Brand, LateTasks, brand_of, order_server
from clawkit.errors import ClawError
from clawkit.wire.line_io import claim_stdio
from clawkit.wire.server import ServerCore
from clawkit.wire.stdio import serve_stdio

if TYPE_CHECKING:
    from clawkit.wire.jsonrpc import Message
    from clawkit.wire.server import Reply
    from clawkit.wire.session import Principal, Send, Session

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


def mcp_server(*, verbose: bool) -> int:
    """Serve until end of input."""
    try:
        fds = claim_stdio()
        brand = brand_of(program())
        if os.isatty(fds[0]):
            print(_HINT.format(name=program()), file=sys.stderr)
        tasks = LateTasks()
        server = _server(brand, tasks, verbose=verbose)
        serve_stdio(server, fds=fds, max_line=LONGEST_ORDER, on_end=tasks.close)
    except ClawError as error:
        print(f"{program()} mcp-server: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def program() -> str:
    """The name this was started by; a module run by Python is `claw`."""
    name = Path(sys.argv[0]).stem.lower()
    return "claw" if name == "__main__" else name


class _OrderServer(ServerCore):
    """A server that logs only what goes wrong; before there is an order, nothing can."""

    def begin(
        self,
        message: Message,
        session: Session,
        send: Send | None = None,
        principal: Principal | None = None,
    ) -> Reply:
        if message.get("method") not in _BEFORE_ORDERS:
            _log_to_stderr()
        return super().begin(message, session, send, principal)


@cache
def _log_to_stderr() -> None:
    """Once; without this, Python itself would write to stderr, with every key that is in it."""
    from clawkit.assistant.stderr_log import log_to_stderr

    log_to_stderr()


def _server(brand: Brand, tasks: LateTasks, *, verbose: bool) -> ServerCore:
    if not verbose:
        return order_server(brand, __version__, tasks, _OrderServer)
    from clawkit.assistant.stderr_log import LoggingServer, log_to_stderr

    log_to_stderr(everything=True)
    return order_server(brand, __version__, tasks, LoggingServer)
