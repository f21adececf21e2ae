"""`claw being serve`: Beings over HTTP; in a terminal it speaks to a person, else in JSON lines."""

from __future__ import annotations

import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.options import EmbedderOption, StoreOption
from clawkit.cli.commands import (
    MAX_CONNECTIONS,
    AllowHost,
    Host,
    MaxConnections,
    TrustedProxy,
    port_option,
)
from clawkit.cli.server_logins import with_login_options
from clawkit.cli.tables import table_lines
from clawkit.memory.being_store import DEFAULT_BEING, BeingStore
from clawkit.memory.http.served_address import PORT, ServedAddress, address_for, noted
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.login.options import LoginOptions

_SHOWN = 10
_OPEN = "Tokens travel in the clear over HTTP: put a proxy with TLS in front of this address."
_WIDE = 16


@with_login_options
def serve(
    port: Annotated[int, port_option("Port to listen on; 0 takes a free one.")] = PORT,
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
    trusted_proxy: TrustedProxy = None,
    login: LoginOptions | None = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No line of the log for each request.")
    ] = False,
    store_address: StoreOption = "",
    embedder: EmbedderOption = "",
) -> None:
    """Serve the Beings of a store over Streamable HTTP; stderr has the log."""
    # One question is small: threads for its arithmetic cost more than they bring.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with opened(MemoryPlace(store_address, embedder)) as store, ExitStack() as until_end:
        from clawkit.memory.http.app import serve as run
        from clawkit.memory.http.authentication import RequestLimits
        from clawkit.memory.http.request_log import json_line

        given = {"rate": rate, "burst": burst}
        limits = RequestLimits(
            **{name: value for name, value in given.items() if value is not None}  # pyright: ignore[reportArgumentType]
        )
        http = msgspec.structs.replace(limits.http, connections=max_connections)
        to_person = sys.stderr.isatty()

        def announce(url: str) -> None:
            public = reachable(url, allow_host or ())
            if login is not None and login.public_url:
                public = f"{login.public_url.rstrip('/')}/mcp"
            address = ServedAddress(store.database.address, public, url)
            until_end.enter_context(noted(address))
            lines = _facts(store, url, host)
            if to_person:
                lines = _greeting(store, public, host, login)
            print("\n".join(lines), file=sys.stderr, flush=True)

        warm(store)
        run(
            store,
            host,
            port,
            on_ready=announce,
            limits=msgspec.structs.replace(limits, http=http),
            hosts=allow_host or None,
            log_requests=not quiet,
            log_line=_plain_line if to_person else json_line,
            trusted_proxies=trusted_proxy or (),
            login=login,
        )


def warm(store: BeingStore) -> None:
    """Load the embedder while nobody waits for it; an unknown one is an error now, not later."""
    load = getattr(store.embedder, "warm", None)
    if load is not None:
        load()


def reachable(url: str, names: list[str] | tuple[str, ...] = ()) -> str:
    """The address as others can use it, where it listens on all that this machine has."""
    for everywhere in ("//0.0.0.0:", "//[::]:"):
        if everywhere in url:
            return url.replace(everywhere, f"//{names[0] if names else socket.gethostname()}:")
    return url


def _facts(store: BeingStore, url: str, host: str) -> Iterator[str]:
    """The first lines of the log, for programs."""
    from clawkit.memory.http.request_log import json_line, timed
    from clawkit.system.addresses import is_loopback_host

    about = {"message": "serving", "url": url, "store": store.database.address}
    yield json_line(timed({**about, "beings": len(store.every())}))
    if not is_loopback_host(host):
        yield json_line(timed({"level": "warning", "message": _OPEN}))


def _greeting(store: BeingStore, url: str, host: str, login: LoginOptions | None) -> Iterator[str]:
    from clawkit.system.addresses import is_loopback_host

    beings = store.every()
    yield f"Serving {counted(len(beings), 'Being')} at {url}; Ctrl-C ends it."
    yield f"They are kept in {store.database.address}."
    yield ""
    rows = [(visible(one.name), address_for(url, one)) for one in beings[:_SHOWN]]
    for line in table_lines(rows) if rows else ():
        yield f"  {line}"
    if len(beings) > _SHOWN:
        yield f"  … and {len(beings) - _SHOWN} more: `claw being list`"
    yield from ("", "In another terminal:") if beings else ("In another terminal:",)
    # What the person told their own assistant is nobody else's to begin with.
    shared = next((one for one in beings if one.name != DEFAULT_BEING), None)
    if shared is not None:
        name = visible(shlex.quote(shared.name))
        yield f"  claw being share {name} --person NAME --for cursor    lets somebody in"
    else:
        yield "  claw being create NAME    makes one that can be shared"
    if login is not None:
        more = " --subject SUB" if login.jwt_issuer else ""
        yield f"  claw user add NAME{more}    lets somebody log in, from any client"
    yield f"In a browser, {url.removesuffix('/mcp')}/ says how to connect."
    if not is_loopback_host(host):
        yield _OPEN
    yield ""


def _plain_line(fields: dict[str, Any]) -> str:
    """A line of the log as a person reads it: when, what, how it went, and who asked."""
    moment = datetime.fromisoformat(fields["time"]).astimezone().strftime("%H:%M:%S")
    if "status" not in fields:
        told = " ".join(str(fields[name]) for name in ("message", "error") if name in fields)
        return f"{moment}  {fields.get('level', 'note')}: {visible(told)}"
    what = fields.get("tool") or fields.get("method") or fields.get("http", "")
    status = fields["status"]
    how = "ok" if status < 400 else f"refused ({status})"
    if status >= 500:
        how = f"failed ({status})"
    who = " ".join(filter(None, (fields.get("_being"), fields.get("_person"))))
    return f"{moment}  {what:<{_WIDE}} {how:<13} {fields['ms']:>7.0f} ms  {visible(who)}".rstrip()
