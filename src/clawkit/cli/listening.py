"""The options of every command that serves HTTP: where it listens, and by which names."""

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
