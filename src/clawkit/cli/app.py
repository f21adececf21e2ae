"""The command line: the table of commands, and those that an MCP client starts."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand
from typer.main import get_command

import clawkit
from clawkit.cli.commands import (
    MAX_CONNECTIONS,
    AllowHost,
    CommandGroup,
    Host,
    MaxConnections,
    Target,
    TrustedProxy,
)
from clawkit.cli.login_options import Login, with_login_options
from clawkit.cli.mcp_server import program

if TYPE_CHECKING:
    from clawkit.login.options import LoginOptions

COMMANDS = {
    "ask": "Ask the assistant one question.",
    "chat": "Talk with the assistant. In a pipe: one message a line, plain answers.",
    "remember": 'Remember something, from now on: `claw remember "Anna is allergic to nuts"`.',
    "recall": "Recall what is relevant to a sentence, as the assistant would, or nothing.",
    "setup": "Find what could answer, choose it, try it; then add it to MCP clients.",
    "install": "Add the assistant, a memory or your tools to a client; without CLIENT, list where.",
    "console": "Show on one local page what your agents did, remember and ask for.",
    "ui": "The same as `claw console`.",
    "login": "Log in to a server of others, for guards and the assistant: in a browser, anywhere.",
    "logout": "Forget the login to a server, and revoke it there if that can be done.",
    "status": "Show assistant, memory, guard, logins: model, tools; Beings; servers, policy, pins.",
    "doctor": "Check the installation, the config and the store; without --deep, nothing is sent.",
    "wrap": "Put the guard before a server in the clients' files that start it.",
    "unwrap": "Take the guard away again and put the entry back as it was.",
    "call": "Call one tool: `claw call weather.py forecast city=Oslo`, or any MCP server's.",
    "new": "Write a Python file with one tool and its test, and say what to do next.",
    "tools": "List what a Python file would offer: its tools, resources and prompts.",
    "sessions": "List what the assistant was told, session by session.",
    "memory": "What your Being remembers.",
    "being": "Beings: memories that any MCP client can use, each with its own walls.",
    "user": "People who log in to Beings, tools and the assistant, and their logins.",
    "policy": "Make, test and understand the guard's policy.",
    "approvals": "Answer the calls that a `prompt` rule holds, in a live view.",
    "log": "Show what passed the guard and what it stopped.",
    "pins": "Show what each server was seen with, and accept what changed.",
    "guard": "Try the guard out.",
    "uninstall": "Take everything of ours out of every MCP client again.",
    "completion": "Print the script with which your shell completes this program's commands.",
    "help": "Explain a concept, such as sessions, memory or policy; without TOPIC, list them.",
}
"""What the list of commands says about each that is imported only when it is run."""
GROUPS = {
    "Assistant": ("ask", "chat", "sessions", "mcp-server"),
    "Tools": ("new", "call", "tools", "serve"),
    "Memory": ("remember", "recall", "memory", "being", "user"),
    "Guard": ("wrap", "unwrap", "approvals", "log", "policy", "pins", "guard", "proxy"),
    "Setup": (
        *("setup", "install", "uninstall", "login", "logout", "console", "ui"),
        *("status", "doctor", "completion", "help"),
    ),
}
"""How the list of commands is divided, and its order."""
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
_FILES = {"logout": "login", "recall": "remember", "ui": "console", "unwrap": "wrap"}
_FOLDERS = (
    "call",
    "chat",
    "setup",
    "status",
    "doctor",
    "memory",
    "being",
    "approvals",
    "completion",
    "help",
)


class _LazyGroup(CommandGroup):
    """Imports a command when it is run: the list of commands needs none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        order = list(_GROUP_OF)
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: order.index(name) if name in order else len(order))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            cast("TyperCommand", command).rich_help_panel = _GROUP_OF.get(cmd_name)
        return command

    def loaded(self, name: str, command: Any) -> Any:
        if name in COMMANDS:
            command = get_command(imported(name))
            command.name = name
        return command


def imported(name: str) -> typer.Typer:
    """The command of this name, from its file."""
    file = f"{name}.command" if name in _FOLDERS else _FILES.get(name, name)
    module = import_module(f"clawkit.cli.{file}")
    if hasattr(module, "app"):
        return module.app
    one = typer.Typer(add_completion=False)
    one.command()(getattr(module, name))
    return one


app = typer.Typer(
    name="claw",
    cls=_LazyGroup,
    help="Make an agent reachable, capable, remembering and safe over MCP.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _listed() -> None:
    """Stands in the list for a command that is not imported yet."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_listed)


def run() -> None:
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
@with_login_options
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
    reload: Annotated[
        bool,
        typer.Option(
            "--reload", help="Load the file again when it changes; clients stay connected."
        ),
    ] = False,
    login: LoginOptions | None = None,
    trusted_proxy: TrustedProxy = None,
) -> None:
    """Run the tools in a Python file as an MCP server, over stdio or HTTP."""
    from clawkit.cli.serve import serve_file, serve_file_http

    listening = host != "127.0.0.1" or allow_host or max_connections != MAX_CONNECTIONS
    if http is None and (listening or sessions or login is not None or trusted_proxy):
        raise typer.BadParameter("options of HTTP need --http PORT")
    code = (
        serve_file(target, reload=reload)
        if http is None
        else serve_file_http(
            target,
            host,
            http,
            hosts=allow_host,
            max_connections=max_connections,
            sessions=sessions,
            reload=reload,
            login=login,
            trusted_proxies=trusted_proxy or (),
        )
    )
    raise typer.Exit(code)


@app.command("mcp-server")
@with_login_options
def mcp_server(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Enable verbose logging for debugging")
    ] = False,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve Streamable HTTP on this port, to people who log in (--login) or to who "
            "has the token (--token-file); 0 takes a free one.",
        ),
    ] = None,
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
    login: LoginOptions | None = None,
    members: Annotated[
        bool,
        typer.Option(
            "--members",
            help="With --login: members may log in too. They order what the assistant can do, "
            "with your models and tools.",
        ),
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --http: a file with the token to ask for."),
    ] = None,
    trusted_proxy: TrustedProxy = None,
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
    from clawkit.cli.mcp_server import HttpPlace, mcp_server_http
    from clawkit.cli.mcp_server import mcp_server as serve_assistant

    if http is None:
        if (
            login is not None
            or members
            or token_file
            or allow_host
            or trusted_proxy
            or host != "127.0.0.1"
        ):
            raise typer.BadParameter("options of HTTP need --http PORT")
        raise typer.Exit(serve_assistant(verbose=verbose))
    if (login is None) == (token_file is None):
        raise typer.BadParameter(
            "over HTTP give either --login, --jwt-issuer ISSUER or --token-file FILE"
        )
    place = HttpPlace(
        http,
        host,
        hosts=allow_host,
        token_file=token_file,
        login=login,
        members=members,
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    raise typer.Exit(mcp_server_http(place, verbose=verbose))


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
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Anything but loopback needs --token-file or --login; on "
            "loopback, without these, it is for programs of your user only."
        ),
    ] = "127.0.0.1",
    max_connections: MaxConnections = MAX_CONNECTIONS,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --listen: a file with the token to ask for, in the header X-Claw-Token or "
            "as the bearer token.",
        ),
    ] = None,
    login: Login = False,
    members: Annotated[
        bool,
        typer.Option(
            "--members",
            help="With --login: members may log in too. They use the server with the guard's "
            "credentials.",
        ),
    ] = False,
    public_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="With --login or --token-file: the address that browsers and clients use, if a "
            "proxy is in front.",
        ),
    ] = "",
    trusted_proxy: TrustedProxy = None,
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
    if listen is None and (token_file or login or public_url or host != "127.0.0.1"):
        raise typer.BadParameter("options of HTTP need --listen PORT")
    if login and token_file:
        raise typer.BadParameter("give either --login or --token-file FILE")
    if (members or trusted_proxy) and not login:
        raise typer.BadParameter("--members and --trusted-proxy need --login")
    if public_url and not (login or token_file):
        raise typer.BadParameter("--public-url needs --login or --token-file FILE")
    request = ProxyRequest(
        command=tuple(command or ()),
        url=url,
        entry=entry,
        name=name,
        policy=policy_file,
        listen=listen,
        host=host,
        max_connections=max_connections,
        token_file=token_file,
        login=login,
        members=members,
        public_url=public_url,
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    raise typer.Exit(run_proxy(request))
