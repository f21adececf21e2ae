"""The command line: one function a verb, each a few lines that call the room behind it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import clawkit

app = typer.Typer(
    name="claw",
    help="Make an agent reachable, capable, remembering and safe over MCP.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

Target = Annotated[
    str,
    typer.Argument(metavar="FILE[:SERVER]", help="A Python file, and the variable of its server."),
]


def run() -> None:
    app(prog_name=Path(sys.argv[0]).stem)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"clawkit {clawkit.__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options that stand before the command."""


@app.command()
def serve(
    target: Target,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve Streamable HTTP on this port; 0 takes a free one.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Anything but loopback opens it to others.")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A host name it may be reached by; can be given again. "
            "Without, loopback names only, or any if --host is not loopback.",
        ),
    ] = None,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Keep sessions for clients of the handshake era.")
    ] = False,
) -> None:
    """Run the tools in a Python file as an MCP server, over stdio or HTTP."""
    from clawkit.cli.serve import serve_file, serve_file_http

    if http is None and (host != "127.0.0.1" or allow_host or sessions):
        raise typer.BadParameter("--host, --allow-host and --sessions need --http PORT")
    code = (
        serve_file(target)
        if http is None
        else serve_file_http(target, host, http, hosts=allow_host, sessions=sessions)
    )
    raise typer.Exit(code)


@app.command()
def tools(
    target: Target,
    as_json: Annotated[bool, typer.Option("--json", help="Print the definitions as JSON.")] = False,
) -> None:
    """List what a Python file would offer: its tools, resources and prompts."""
    from clawkit.cli.tools import show

    raise typer.Exit(show(target, as_json=as_json))
