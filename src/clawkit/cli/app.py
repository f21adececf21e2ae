"""The command line: one function a verb, each a few lines that call the room behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import clawkit
from clawkit.cli import guard, pins
from clawkit.cli.approvals.command import app as approvals_app
from clawkit.cli.ask import ask
from clawkit.cli.being.command import app as being_app
from clawkit.cli.chat.command import chat
from clawkit.cli.doctor.command import doctor
from clawkit.cli.http_options import MAX_CONNECTIONS, AllowHost, Host, MaxConnections
from clawkit.cli.install import install
from clawkit.cli.log.command import app as log_app
from clawkit.cli.memory.command import app as memory_app
from clawkit.cli.policy.command import app as policy_app
from clawkit.cli.remember import recall, remember
from clawkit.cli.sessions.command import app as sessions_app
from clawkit.cli.setup.command import setup
from clawkit.cli.status.command import status
from clawkit.cli.wrap import unwrap, wrap

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


for command in (ask, chat, remember, recall, setup, install, status, doctor, wrap, unwrap):
    app.command()(command)
app.add_typer(sessions_app, name="sessions")
app.add_typer(memory_app, name="memory")
app.add_typer(being_app, name="being")
app.add_typer(policy_app, name="policy")
app.add_typer(approvals_app, name="approvals")
app.add_typer(log_app, name="log")
app.add_typer(pins.app, name="pins")
app.add_typer(guard.app, name="guard")


def run() -> None:
    from clawkit.cli.mcp_server import program

    app(prog_name=program())


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
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
    max_connections: MaxConnections = MAX_CONNECTIONS,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Keep sessions for clients of the handshake era.")
    ] = False,
) -> None:
    """Run the tools in a Python file as an MCP server, over stdio or HTTP."""
    from clawkit.cli.serve import serve_file, serve_file_http

    listening = host != "127.0.0.1" or allow_host or max_connections != MAX_CONNECTIONS
    if http is None and (listening or sessions):
        raise typer.BadParameter("options of HTTP need --http PORT")
    code = (
        serve_file(target)
        if http is None
        else serve_file_http(
            target,
            host,
            http,
            hosts=allow_host,
            max_connections=max_connections,
            sessions=sessions,
        )
    )
    raise typer.Exit(code)


@app.command("mcp-server")
def mcp_server(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Enable verbose logging for debugging")
    ] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print MCP server version and exit",
        ),
    ] = False,
) -> None:
    """Serve the assistant to an MCP client over stdio: one tool that takes a message."""
    from clawkit.cli.mcp_server import mcp_server as serve_assistant

    raise typer.Exit(serve_assistant(verbose=verbose))


@app.command()
def tools(
    target: Target,
    as_json: Annotated[bool, typer.Option("--json", help="Print the definitions as JSON.")] = False,
) -> None:
    """List what a Python file would offer: its tools, resources and prompts."""
    from clawkit.cli.tools import show

    raise typer.Exit(show(target, as_json=as_json))


@app.command()
def proxy(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="The server to start behind the guard."),
    ] = None,
    url: Annotated[str, typer.Option(help="A remote server to stand in front of.")] = "",
    listen: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="With --url: serve HTTP on this port instead of stdio; 0 takes a free one.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    max_connections: MaxConnections = MAX_CONNECTIONS,
    name: Annotated[
        str, typer.Option(help="The server's name, for `server` in rules and for the log.")
    ] = "",
    entry: Annotated[
        str, typer.Option(help="The ledger's entry with this server's headers; `wrap` writes it.")
    ] = "",
    policy_file: Annotated[
        Path | None, typer.Option("--policy", help="A policy file in another place.")
    ] = None,
) -> None:
    """Stand guard in front of a server: what a wrapped entry starts."""
    from clawkit.cli.proxy import ProxyRequest
    from clawkit.cli.proxy import proxy as run_proxy

    if bool(command) == bool(url):
        raise typer.BadParameter("give either -- COMMAND or --url URL")
    if listen is not None and not url:
        raise typer.BadParameter("--listen needs --url URL")
    request = ProxyRequest(
        command=tuple(command or ()),
        url=url,
        entry=entry,
        name=name,
        policy=policy_file,
        listen=listen,
        host=host,
        max_connections=max_connections,
    )
    raise typer.Exit(run_proxy(request))
