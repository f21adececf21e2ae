"""`claw proxy --listen`: the guard as a reverse proxy in front of a remote server."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from clawkit.guard.http.gate import OUR_PATH, Gate
from clawkit.guard.http.target import find_target
from clawkit.guard.http.upstream import Upstream
from clawkit.guard.opening import open_warden
from clawkit.guard.policy.policy import Paths
from clawkit.guard.warden import Warden
from clawkit.wire.http.connections import HttpLimits
from clawkit.wire.http.rules import LOOPBACK, Origins
from clawkit.wire.http.serving import HttpServer, is_loopback, listen

_SHUTDOWN_SECONDS = 1
_OPEN = "Anybody who reaches this address can use that server and its credentials."

Say = Callable[[str], object]


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"claw proxy: {text}\n")
    sys.stderr.flush()


def serve_reverse_proxy(
    url: str,
    entry: str = "",
    name: str = "",
    policy: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    hosts: Sequence[str] = (),
    limits: HttpLimits | None = None,
    say: Say = _to_stderr,
) -> int:
    """Serve until interrupted. `hosts` are further names that it may be reached by."""
    target = find_target(url, entry, name)
    # A file of the server's is on another machine: a path can be compared as text only.
    warden = open_warden(policy, (target.name,), Paths())
    listening = listen(host, port)
    problem = warden.policy.current().problem
    if problem:
        say(problem)
    try:
        asyncio.run(_serve(warden, Upstream(target), listening, hosts, limits, say))
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(
    warden: Warden,
    upstream: Upstream,
    listening: socket.socket,
    hosts: Sequence[str],
    limits: HttpLimits | None,
    say: Say,
) -> None:
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    known = (*LOOPBACK, shown, *hosts) if hosts or is_loopback(address[0]) else None
    gate = Gate(warden, upstream, Origins(known, ()))
    running = HttpServer(
        gate,
        limits=limits,
        on_stop=gate.close,
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    where = f"http://{shown}:{address[1]}{OUR_PATH}"
    say(f"{warden.server} ({upstream.target.origin}) is at {where}")
    if not is_loopback(address[0]):
        say(_OPEN)
    try:
        await running.serve(sockets=[listening])
    finally:
        await upstream.close()
