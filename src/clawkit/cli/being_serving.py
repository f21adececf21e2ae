"""`claw being serve` and `claw being stdio`: Beings for MCP clients."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from clawkit.cli.being_opening import (
    BeingArgument,
    EmbedderOption,
    Place,
    StoreOption,
    opened,
    reported,
)
from clawkit.cli.listening import MAX_CONNECTIONS, AllowHost, Host, MaxConnections

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

_PORT = 8765
_HINT = """{name} speaks MCP on stdin and stdout, one JSON message a line: for a client to start.
Ctrl-D ends it. `claw being serve` serves it over HTTP."""
_OPEN = "Tokens travel in the clear over HTTP: put a proxy with TLS in front of this address."


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = _PORT,
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
    max_connections: MaxConnections = MAX_CONNECTIONS,
    rate: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Requests a second for each token; 0 for no limit."),
    ] = None,
    burst: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Requests of a token at once.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CIDR",
            help="A proxy whose X-Forwarded-For says who asks: an address or a network; can be "
            "given again. Without, none.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No line of the log for each request.")
    ] = False,
    store: StoreOption = "",
    embedder: EmbedderOption = "",
) -> None:
    """Serve the Beings of a store over Streamable HTTP; stderr has the address, then a JSON log."""
    # One question is small: threads for its arithmetic cost more than they bring.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with opened("being serve", Place(store, embedder)) as keeper:
        from clawkit.memory.http.limits import Limits
        from clawkit.memory.http.serving import serve as run

        given = {"rate": rate, "burst": burst}
        limits = Limits(**{name: value for name, value in given.items() if value is not None})  # pyright: ignore[reportArgumentType]
        http = msgspec.structs.replace(limits.http, connections=max_connections)
        _warm(keeper)
        run(
            keeper,
            host,
            port,
            on_ready=lambda url: _announce(keeper, url, host),
            limits=msgspec.structs.replace(limits, http=http),
            hosts=allow_host or None,
            log_requests=not quiet,
            trusted_proxies=trusted_proxy or (),
        )


def _announce(keeper: Keeper, url: str, host: str) -> None:
    from clawkit.cli.being_text import connecting
    from clawkit.wire.http.serving import is_loopback

    beings = keeper.every()
    print(f"Beings are served at {url}", file=sys.stderr)
    print(f"They are kept in {keeper.database.address}.", file=sys.stderr)
    if not beings:
        print("There is none yet: `claw being create NAME` makes one.", file=sys.stderr)
    for line in connecting(url, beings[0] if len(beings) == 1 else None):
        print(line, file=sys.stderr)
    if not is_loopback(host):
        print(_OPEN, file=sys.stderr)
    sys.stderr.flush()


def _warm(keeper: Keeper) -> None:
    """Load the embedder while nobody waits for it; an unknown one is an error now, not later."""
    warm = getattr(keeper.embedder, "warm", None)
    if warm is not None:
        warm()


def stdio(being: BeingArgument, store: StoreOption = "", embedder: EmbedderOption = "") -> None:
    """Serve one Being on stdin and stdout, for clients without HTTP."""
    from clawkit.wire.lines import claim_stdio
    from clawkit.wire.stdio import serve_stdio

    with reported("being stdio"):
        fds = claim_stdio()
    with opened("being stdio", Place(store, embedder)) as keeper:
        from clawkit.memory.server import being_server

        found = keeper.find(being)
        if os.isatty(fds[0]):
            print(_HINT.format(name=found.name), file=sys.stderr)
        _warm(keeper)
        keeper.worker.start()
        serve_stdio(being_server(keeper, being=found), fds=fds, on_end=keeper.close)
