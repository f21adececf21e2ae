"""`claw console`: one local page that shows what your agents did, remember and ask for."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from clawkit.cli.commands import (
    has_screen,
    open_privately,
    refuse_guarded_servers,
)

if TYPE_CHECKING:
    from clawkit.console.access import ConsoleAccess

Port = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        metavar="N",
        help="Port to listen on; 0 takes a free one. Without: another one at each start.",
    ),
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Print the link and open no browser.")]


def console(port: Port = None, no_open: NoOpen = False) -> None:
    """Show on one local page what your agents did, remember and ask for."""
    refuse_guarded_servers()
    from clawkit.console.access import BY_RESTART, FROM_TERMINAL
    from clawkit.console.app import serve
    from clawkit.system.processes import close_to_others

    close_to_others()

    def announce(bound: int, access: ConsoleAccess) -> None:
        _greet(bound, access, opens=not no_open and has_screen())

    another_link = FROM_TERMINAL if sys.stdin.isatty() else BY_RESTART
    serve(port, on_ready=announce, another_link=another_link)


def ui(port: Port = None, no_open: NoOpen = False) -> None:
    """The same as `claw console`."""
    console(port, no_open)


def _greet(port: int, access: ConsoleAccess, *, opens: bool) -> None:
    link = _link(port, access)
    print(f"The console is at {link}", flush=True)
    print("The link works once, within ten minutes. Ctrl-C ends the console.", flush=True)
    if "SSH_CONNECTION" in os.environ:
        from clawkit.console.app import HOST

        # Browsers look for names below `localhost` at ::1, too: it must not be left to others.
        ends = f'-L {HOST}:{port}:{HOST}:{port} -L "[::1]:{port}:{HOST}:{port}"'
        print("From the machine you sit at, first open a tunnel, then the link:")
        print(f"  ssh -o ExitOnForwardFailure=yes {ends} {socket.gethostname()}", flush=True)
    if sys.stdin.isatty():
        print("Press Enter for another link.", flush=True)
        if hasattr(signal, "SIGTTIN"):
            # In the background, reading is an error then, and does not stop the program.
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)
        threading.Thread(target=_print_more, args=(port, access), daemon=True).start()
    if opens:
        open_privately(link, "console.html")


def _link(port: int, access: ConsoleAccess) -> str:
    from clawkit.console.app import link_host

    return f"http://{link_host(access)}:{port}/#open={access.new_link()}"


def _print_more(port: int, access: ConsoleAccess) -> None:
    # Not by way of sys.stdin: a thread that waits there is in the way when the program ends.
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            print(_link(port, access), flush=True)
