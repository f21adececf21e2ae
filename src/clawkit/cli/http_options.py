"""Command-line options of every command that serves HTTP: address, hosts, connections."""

from __future__ import annotations

from typing import Annotated

import typer

Host = Annotated[
    str, typer.Option(help="Address to listen on. Anything but loopback opens it to others.")
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A host name it may be reached by; can be given again. "
        "Without, loopback names only, or any if --host is not loopback.",
    ),
]
MaxConnections = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Connections at a time. When there are more, those that wait for their client "
        "are closed; further requests get 503.",
    ),
]
MAX_CONNECTIONS = 1000
